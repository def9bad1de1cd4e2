"""`init`, `register`, `format`, and housekeeping (DESIGN 3)."""

import sys
from importlib.resources import files
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.cli.conftest import CommandLine
from tests.helpers import files_in_tip, files_on_disk, git


def test_init_makes_a_mailbox_once(gitmail: CommandLine) -> None:
    """Doing it again changes nothing and says so."""
    first = gitmail.ok("init", "--project", "demo")
    second = gitmail.ok("init", "--project", "another")

    assert first == {
        "mailbox": str(gitmail.folder / ".gitmail"),
        "id": first["id"],
        "project": "demo",
        "tip": first["tip"],
        "created": True,
    }
    assert second == {**first, "created": False}


def test_init_says_where_it_is_in_no_git_project(
    gitmail: CommandLine, git_project: Path, tmp_path: Path
) -> None:
    """A typing error of the folder is seen at once; a path that was named is meant."""
    alone, said = "is in no git project", str(tmp_path / "named")
    gitmail.folder = git_project
    assert alone not in gitmail("init").out
    gitmail.folder = tmp_path
    assert alone in gitmail("init").out
    assert alone not in gitmail("--mailbox", said, "init").out


def test_who_retires_an_agent_is_told_how_it_comes_back(cli: CommandLine) -> None:
    """Acting ends a retirement, which nobody guesses (CAPABILITIES G3)."""
    back = "It comes back by acting, or with: gitmail unretire lead"

    assert back in cli("--as", "builder", "retire", "lead").out
    assert back in cli("--as", "builder", "retire", "lead").out
    assert back not in cli("--as", "builder", "unretire", "lead").out
    assert "acts" in cli("retire", "--help").out


def test_init_names_the_mailbox_after_the_project(gitmail: CommandLine) -> None:
    """The project's folder is what people know it by."""
    assert gitmail.ok("init")["project"] == "project"


def test_init_leaves_the_projects_repository_alone_but_for_one_line(
    gitmail: CommandLine, git_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's own git sees nothing of the mailbox (DESIGN I10)."""
    (git_project / "below").mkdir()
    monkeypatch.setattr(gitmail, "folder", git_project / "below")
    exclude = git_project / ".git" / "info" / "exclude"
    own = [".git/config", ".git/HEAD", ".git/index"]
    lines = exclude.read_text("utf-8")
    status = git(git_project, "status", "--porcelain")
    before = [(git_project / name).read_bytes() for name in own]
    gitmail.ok("init")
    gitmail.ok("init")
    gitmail.ok("register", "builder")

    assert [(git_project / name).read_bytes() for name in own] == before
    assert exclude.read_text("utf-8") == f"{lines}/.gitmail/\n"
    assert git(git_project, "status", "--porcelain") == status
    assert git(git_project / ".gitmail", "fsck", "--strict") == ""
    assert files_on_disk(git_project / ".gitmail") == files_in_tip(
        git_project / ".gitmail"
    )


def test_a_mailbox_outside_of_any_project_is_made_where_the_option_says(
    gitmail: CommandLine, tmp_path: Path
) -> None:
    """A folder that is no git project works too, and no project's git is told."""
    place = tmp_path / "elsewhere" / "mail"
    made = gitmail.ok("--mailbox", str(place), "init")

    assert (made["mailbox"], made["project"]) == (str(place), "elsewhere")
    assert not (gitmail.folder / ".git" / "info" / "exclude").exists()
    assert gitmail.ok("status", "--mailbox", str(place))["id"] == made["id"]


def test_a_project_whose_mailbox_is_named_by_path_ignores_it_all_the_same(
    gitmail: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is where the mailbox stands, not where the command is given."""
    place = gitmail.folder / ".gitmail"
    monkeypatch.chdir(tmp_path)
    gitmail.here("--mailbox", str(place), "init")

    assert (gitmail.folder / ".git" / "info" / "exclude").read_text("utf-8") == (
        "/.gitmail/\n"
    )


def test_a_name_comes_from_the_argument_then_from_as_then_from_chance(
    gitmail: CommandLine,
) -> None:
    """`register [NAME]` falls back step by step."""
    gitmail.ok("init")
    said = gitmail.ok("register", "Builder", "--as", "lead")["agent"]["name"]
    acting = gitmail.ok("register", "--as", "lead")["agent"]["name"]
    generated = gitmail.ok("register")["agent"]["name"]

    assert (said, acting) == ("builder", "lead")
    assert generated not in ("builder", "lead")
    assert [a["name"] for a in gitmail.ok("agents")["agents"]] == sorted(
        ["builder", "lead", generated]
    )


def test_format_prints_the_document_of_the_package(gitmail: CommandLine) -> None:
    """The format is documented where the program is, and needs no mailbox."""
    document = files("gitmail").joinpath("FORMAT.md").read_text("utf-8")

    assert gitmail("format").out == document
    assert gitmail.ok("format") == {"format": document}


def test_housekeeping_folds_packs_and_loses_nothing(cli: CommandLine) -> None:
    """The hidden command does what a write starts in the background."""
    packs = cli.folder / ".gitmail" / ".git" / "objects" / "pack"
    before = len(list(packs.glob("*.pack")))
    ran = cli("housekeeping")

    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert len(list(packs.glob("*.pack"))) < before
    assert len(cli.ok("log")["log"]) == 4


def test_a_write_starts_housekeeping_where_it_is_due_and_a_look_does_not(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command does not wait for it: another process does it (DESIGN 6)."""
    started: list[list[str]] = []

    class _Process:
        def __init__(self, command: list[str], **_: object) -> None:
            started.append(command)

    monkeypatch.setattr("subprocess.Popen", _Process)
    monkeypatch.setattr("gitmail.store.store.PACKS_BEFORE_FOLDING", 1)
    cli.ok("--as", "builder", "poll")
    cli.ok("register", "builder")
    assert started == []
    cli.ok("--as", "builder", "send", "--to", "reviewer", "Hello.")

    assert [command[-3:] for command in started] == [
        ["--mailbox", str(Mailbox.open(cli.folder / ".gitmail").path), "housekeeping"]
    ]


def test_housekeeping_that_cannot_be_started_leaves_the_send_as_it_is(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is sent; that the store stays untidy is a warning."""
    monkeypatch.setattr("gitmail.store.store.PACKS_BEFORE_FOLDING", 1)
    monkeypatch.setattr(sys, "executable", str(cli.folder / "no-python"))
    ran = cli("--json", "--as", "builder", "send", "--to", "reviewer", "Hello.")

    assert (ran.code, ran.json["replayed"]) == (0, False)
    assert ran.err.startswith("gitmail: warning: housekeeping could not be started")
