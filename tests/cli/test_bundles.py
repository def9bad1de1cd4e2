"""`bundle`: what the command prints, and how it ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmail.mailbox import bundles
from tests.cli.conftest import CommandLine


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> str:
    """Return where a bundle goes."""
    return str(tmp_path / "carried.bundle")


@pytest.fixture(name="far")
def _far(cli: CommandLine, file: str, tmp_path: Path) -> str:
    """Return the folder of the same mailbox on a second machine."""
    cli.ok("bundle", "create", file)
    bundles.start(tmp_path / "far", file)
    return str(tmp_path / "far")


def test_a_bundle_is_made_and_applied(
    cli: CommandLine, send: Callable[..., str], file: str, far: str
) -> None:
    """The answers say what was in it, and what became of it."""
    message = send()

    made = cli.ok("bundle", "create", file)
    applied = cli.ok("--mailbox", far, "bundle", "apply", file)
    again = cli.ok("--mailbox", far, "bundle", "apply", file)

    counts = {"commits": 1, "messages": 1, "receipts": 0, "records": 0}
    size = Path(file).stat().st_size
    assert made | {"since": ""} == {
        "file": file,
        "tip": cli.ok("status")["tip"],
        "since": "",
        **counts,
        "bytes": size,
    }
    assert applied == {
        "file": file,
        "step": "fast_forward",
        "tip": made["tip"],
        **counts,
        "notes": [],
    }
    assert again == applied | {"step": "nothing"} | dict.fromkeys(counts, 0)
    mail = cli.ok("--mailbox", far, "--as", "reviewer", "poll")["messages"]
    assert [each["id"] for each in mail] == [message]


def test_nothing_new_is_no_failure(cli: CommandLine, file: str) -> None:
    """And no file is named that was not written."""
    cli.ok("bundle", "create", file)
    Path(file).unlink()

    plain = cli.ok("bundle", "create", file)
    ran = cli("bundle", "create", file)

    assert (plain["file"], plain["commits"], plain["bytes"]) == (None, 0, 0)
    assert (ran.code, ran.err) == (0, "")
    assert "no bundle was written" in ran.out
    assert not Path(file).exists()


@pytest.mark.parametrize("program", ["git", "off"])
def test_a_bundle_is_made_with_git_and_without(
    cli: CommandLine, file: str, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """The setting of the environment decides."""
    monkeypatch.setenv("GITMAIL_GIT", program)

    cli.ok("bundle", "create", file, "--since", "all")

    assert cli.ok("bundle", "inspect", file)["known"] is True


def test_people_read_sentences(
    cli: CommandLine, send: Callable[..., str], file: str, far: str
) -> None:
    """About making, looking and applying."""
    send()

    made = cli("bundle", "create", file)
    seen = cli("--mailbox", far, "bundle", "inspect", file)
    applied = cli("--mailbox", far, "bundle", "apply", file)
    again = cli("--mailbox", far, "bundle", "apply", file)

    assert made.out.startswith(f"Wrote {file}: what is new since ")
    assert "1 commit, 1 message, 0 receipts, 0 records, " in made.out
    assert "Applies:   yes\n" in seen.out
    assert "Stands on: " in seen.out
    assert applied.out.startswith(f"Applied {file}: 1 commit, 1 message, ")
    assert again.out == f"All that {file} has was here already\n"
    assert [each.code for each in (made, seen, applied, again)] == [0] * 4


def test_a_merge_is_told_with_what_did_not_go_by_itself(
    cli: CommandLine, file: str, far: str
) -> None:
    """By path and reason, and as who did it."""
    fact = ("memory", "set", "fact", "parser", "owner")
    cli.ok("--as", "builder", *fact, "here")
    cli.ok("--mailbox", far, "--as", "reviewer", *fact, "there")
    cli.ok("bundle", "create", file)

    ran = cli("--mailbox", far, "--as", "reviewer", "bundle", "apply", file)

    assert "\nMerged, the tip is " in ran.out
    assert "\nmemory/facts/parser/owner.md: " in ran.out
    (entry,) = cli.ok("--mailbox", far, "log", "--limit", "1")["log"]
    assert entry["agent"] == "reviewer"


def test_a_bundle_that_does_not_apply_says_why(
    cli: CommandLine, send: Callable[..., str], file: str, far: str, tmp_path: Path
) -> None:
    """Looking at it goes well all the same; a damaged one is no bundle at all."""
    for _ in range(2):
        send()
        last = cli.ok("bundle", "create", file)

    seen = cli.ok("--mailbox", far, "bundle", "inspect", file)
    text = cli("--mailbox", far, "bundle", "inspect", file)
    ran = cli("--json", "--mailbox", far, "bundle", "apply", file)
    Path(file).write_bytes(Path(file).read_bytes()[:-1])
    damaged = cli("--json", "bundle", "inspect", file)

    assert seen["applies"] is False
    assert seen["error"]["code"] == "bundle_incomplete"
    assert seen["error"]["missing"] == seen["prerequisites"] == [last["since"]]
    assert last["since"] in text.out
    assert (ran.code, ran.error) == (1, seen["error"])
    assert (damaged.code, damaged.error["code"]) == (2, "bundle_invalid")
    assert tmp_path.joinpath("far").is_dir()


def test_a_bundle_can_be_looked_at_where_there_is_no_mailbox(
    cli: CommandLine, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To see what a new machine would start with."""
    cli.ok("bundle", "create", file)
    (tmp_path / "nowhere").mkdir()
    monkeypatch.chdir(tmp_path / "nowhere")

    ran = cli.here("--json", "bundle", "inspect", file)

    assert ran.json["id"] == cli.ok("status")["id"]
    assert (ran.json["applies"], ran.json["known"]) == (True, False)


def test_a_bundle_of_another_mailbox_is_refused(
    cli: CommandLine, file: str, tmp_path: Path
) -> None:
    """With the ids of both."""
    cli.ok("bundle", "create", file)
    other = str(tmp_path / "other")
    cli.ok("--mailbox", other, "init")

    ran = cli("--json", "--mailbox", other, "bundle", "apply", file)

    assert (ran.code, ran.error["code"]) == (1, "other_mailbox")
    assert ran.error["theirs"] == cli.ok("status")["id"]
    assert ran.error["ours"] == cli.ok("--mailbox", other, "status")["id"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("create",),
        ("apply",),
        ("inspect", ""),
        ("create", "--since", "", "x"),
        ("y",),
    ],
)
def test_a_command_that_lacks_something_is_refused(
    cli: CommandLine, words: tuple[str, ...]
) -> None:
    """As bad input."""
    assert cli("bundle", *words).code == 2
