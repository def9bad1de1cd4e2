"""`remote`, `sync` and `init --from` on the command line (CAPABILITIES V3)."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.cli.conftest import CommandLine
from tests.exchanges import by, in_clone, install_hook, make_remote
from tests.helpers import environment, files_in_tip, git
from tests.processes import LIMIT_S, needs_git, posix_only

pytestmark = needs_git
both = pytest.mark.parametrize("switch", ["git", "off"], ids=["git", "dulwich"])


@pytest.fixture(name="remote")
def _remote(tmp_path: Path) -> Path:
    """Return an empty remote."""
    (tmp_path / "host").mkdir()
    return make_remote(tmp_path / "host" / "remote.git")


@pytest.fixture(name="other")
def _other(cli: CommandLine, remote: Path, tmp_path: Path) -> Path:
    """Return the folder of a clone; the command line's mailbox has the remote."""
    cli.ok("remote", "add", str(remote))
    cli.ok("sync")
    folder = tmp_path / "other"
    Mailbox.clone(folder, str(remote), git=by("git"), clock=cli.clock).close()
    return folder


def test_a_remote_is_named_shown_and_removed(cli: CommandLine, remote: Path) -> None:
    """In text and as JSON; naming another takes its place."""
    none = cli.ok("remote", "show")
    added = cli.ok("remote", "add", str(remote), "--branch", "mail")
    text = cli("remote", "show").out
    again = cli.ok("remote", "add", str(remote))
    shown = cli.ok("remote", "show")
    removed = cli.ok("remote", "remove")

    assert none == {"remote": None}
    assert added == {"remote": {"url": str(remote), "branch": "mail"}}
    assert text == f"{remote}, branch mail\n"
    assert (
        again
        == shown
        == removed
        == {"remote": {"url": str(remote), "branch": "gitmail"}}
    )
    assert "gitmail remote add URL" in cli("remote", "show").out


def test_a_password_in_a_url_is_never_shown(cli: CommandLine) -> None:
    """Neither when it is added nor later, and not in an error either."""
    url = "http://alice:w0rd@127.0.0.1:1/x"
    runs = [
        cli("remote", "add", url),
        cli("remote", "show"),
        cli("--json", "remote", "show"),
        cli("status"),
        cli("--json", "status"),
        cli("sync"),
        cli("--json", "sync"),
        cli("remote", "remove"),
    ]

    assert {run.code for run in runs} == {0, 1}
    assert not [run for run in runs if "w0rd" in run.out + run.err]
    assert "127.0.0.1:1/x" in runs[1].out


@both
def test_sync_tells_what_moved_in_each_direction(
    cli: CommandLine,
    remote: Path,
    other: Path,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And how durable it is here and there, apart from one another."""
    monkeypatch.setenv("GITMAIL_GIT", switch)
    with Mailbox.open(other) as mailbox:
        mailbox.agent("lead").send(to="reviewer", body="There.")
        mailbox.sync(git=by("dulwich"))
    cli.ok("--as", "builder", "send", "--to", "reviewer", "Here.")
    pulled = cli.ok("sync", "--no-push")
    synced = cli.ok("sync")
    text = cli("sync").out
    head = git(remote, "rev-parse", "gitmail").strip()

    assert pulled == {
        "fetched": 1,
        "pushed": 0,
        "step": "merged",
        "local": {"tip": pulled["local"]["tip"], "durable": True},
        "remote": {"tip": pulled["remote"]["tip"], "same": False},
        "rounds": 1,
        "notes": [],
    }
    assert synced == {
        "fetched": 0,
        "pushed": 2,
        "step": "nothing",
        "local": {"tip": head, "durable": True},
        "remote": {"tip": head, "same": True},
        "rounds": 1,
        "notes": [],
    }
    assert "Fetched: 0 commits, nothing new came" in text
    assert "Remote:  has the same" in text
    assert {m["from"] for m in cli.ok("--as", "reviewer", "poll")["messages"]} == {
        "builder",
        "lead",
    }


def test_status_tells_how_the_mailbox_stands_to_its_remote(
    cli: CommandLine, remote: Path
) -> None:
    """In one line, and as data."""
    assert "remote" not in cli.ok("status")
    cli.ok("remote", "add", str(remote))
    assert "never synced" in cli("status").out
    cli.ok("sync")
    cli.ok("--as", "builder", "send", "--to", "reviewer", "Here.")
    cli.clock.advance(minutes=5)
    found = cli.ok("status")["remote"]

    assert found.pop("last_exchange").startswith("2026-11-30T14:")
    assert found == {
        "url": str(remote),
        "branch": "gitmail",
        "relation": "ahead",
        "ahead": 1,
        "behind": 0,
    }
    assert "1 commit ahead, last exchange 5 min" in cli("status").out
    remote.rename(remote.with_name("away"))
    assert cli("sync").code == 1
    failure = cli.ok("status")["remote"]["failure"]
    assert failure["code"] == "remote_failed"
    assert failure["date"].startswith("2026-11-30T14:")
    assert "; the last sync failed just now: remote_failed" in cli("status").out
    remote.with_name("away").rename(remote)
    cli.ok("sync")
    assert "failure" not in cli.ok("status")["remote"]


@both
def test_a_refused_push_fails_and_says_why(
    cli: CommandLine,
    remote: Path,
    other: Path,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is here is safe, and the exit code tells that not all went well."""
    assert other.exists()
    monkeypatch.setenv("GITMAIL_GIT", switch)
    install_hook(remote, "printf 'Only on Mondays.\\033[2J' >&2; exit 1")
    sent = cli.ok("--as", "builder", "send", "--to", "reviewer", "Here.")
    ran, told = cli("sync"), cli("--json", "sync").error

    assert (ran.code, ran.out) == (1, "")
    assert "refused the push" in ran.err
    assert "Only on Mondays." in ran.err
    assert "\x1b" not in ran.err
    assert told["code"] == "push_refused"
    assert "Only on Mondays." in told["reason"]
    assert cli.ok("status")["tip"] == sent["commit"]


def test_a_rewritten_remote_is_explained(
    cli: CommandLine, remote: Path, other: Path, tmp_path: Path
) -> None:
    """With the commands that keep what both have."""
    assert other.exists()

    def amend(work: Path) -> None:
        git(work, "commit", "-q", "--amend", "-m", "Rewritten")
        git(work, "push", "-q", "--force", "origin", "HEAD:gitmail")

    in_clone(remote, tmp_path / "work", amend)
    ran = cli("sync")

    assert ran.code == 1
    assert "nothing was taken from there" in ran.err
    assert "committed by A Person <person@example.org> at " in ran.err
    assert f"remote add {remote} --branch gitmail && gitmail --mailbox " in ran.err
    assert "diverged" in cli.ok("status")["remote"]["relation"]


@pytest.mark.parametrize(
    "words",
    [
        ["remote", "add"],
        ["remote", "add", ""],
        ["remote", "add", "ext::sh"],
        ["remote", "add", "/x", "--branch", "main"],
        ["remote"],
        ["sync", "--watch", "0"],
        ["sync", "--watch", "x"],
        ["init", "--from", ""],
        ["mcp", "--sync", "0"],
    ],
)
def test_what_cannot_be_meant_is_bad_usage(cli: CommandLine, words: list[str]) -> None:
    """And changes nothing."""
    assert cli(*words).code == 2
    assert cli.ok("remote", "show") == {"remote": None}


def test_without_a_remote_a_sync_names_the_command_that_names_one(
    cli: CommandLine,
) -> None:
    """Also where it is to go on and on, for that would not mend it."""
    for words in (["sync"], ["sync", "--watch", "1"], ["remote", "remove"]):
        told = cli("--json", *words).error
        assert told["code"] == "no_remote"
        assert "gitmail remote add URL" in told["hint"]


@both
def test_a_mailbox_starts_from_a_remote_on_a_machine_without_a_project(
    gitmail: CommandLine,
    tmp_path: Path,
    remote: Path,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mailbox is there, and its next sync goes where it came from."""
    monkeypatch.setenv("GITMAIL_GIT", switch)
    gitmail.ok("init")
    gitmail.ok("register", "builder")
    gitmail.ok("remote", "add", str(remote))
    gitmail.ok("sync")
    made = gitmail.ok("status")
    gitmail.folder = tmp_path / "machine"
    gitmail.folder.mkdir()
    said = gitmail.ok("init", "--from", str(remote))
    gitmail.ok("--as", "builder", "send", "--to", "builder", "A note.")

    assert said == {
        "mailbox": str(gitmail.folder / ".gitmail"),
        "id": made["id"],
        "project": "project",
        "tip": made["tip"],
        "created": True,
        "remote": {"url": str(remote), "branch": "gitmail", "found": True},
    }
    assert gitmail.ok("sync")["pushed"] == 1
    assert files_in_tip(gitmail.folder / ".gitmail") == files_in_tip(remote)


def test_a_project_that_starts_from_its_own_origin_ignores_the_mailbox(
    gitmail: CommandLine, git_project: Path, tmp_path: Path
) -> None:
    """The branch lies beside the code, and the project's git sees nothing of it."""
    origin = make_remote(tmp_path / "origin.git")
    git(git_project, "push", "-q", str(origin), "main")
    gitmail.ok("init")
    gitmail.ok("remote", "add", str(origin))
    gitmail.ok("sync")
    status = git(git_project, "status", "--porcelain")
    gitmail.folder = git_project
    gitmail.ok("init", "--from", str(origin))

    assert git(git_project, "status", "--porcelain") == status
    assert git(git_project, "branch", "--all").split() == ["*", "main"]
    assert gitmail.ok("status")["remote"]["relation"] == "same"


def test_init_from_an_empty_remote_makes_a_mailbox_that_the_first_sync_takes_there(
    gitmail: CommandLine, remote: Path
) -> None:
    """The project's name is that of the project here, and nothing was found there."""
    made = gitmail.ok("init", "--from", str(remote), "--branch", "mail")
    told = made["remote"]

    assert made["project"] == "project"
    assert told == {
        "url": str(remote),
        "branch": "mail",
        "found": False,
        "branches": [],
    }
    assert gitmail.ok("sync")["pushed"] == 1
    assert git(remote, "rev-parse", "mail").strip() == made["tip"]


@both
def test_init_from_a_branch_that_is_not_there_says_that_the_mailbox_is_new(
    gitmail: CommandLine,
    git_project: Path,
    remote: Path,
    tmp_path: Path,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have been mistyped, so the branches that are there are named."""
    monkeypatch.setenv("GITMAIL_GIT", switch)
    gitmail.folder = tmp_path / "machine"
    gitmail.folder.mkdir()
    empty = gitmail("init", "--from", str(remote)).out
    git(git_project, "push", "-q", str(remote), "main", "main:gitmail")
    words = ["init", "--from", str(remote), "--branch", "gitmial"]
    text = gitmail("--mailbox", str(tmp_path / "a"), *words).out
    told = gitmail.ok("--mailbox", str(tmp_path / "b"), *words)["remote"]

    assert "has no branch gitmail, so this is a new mailbox" in empty
    assert "It has no branches at all" in empty
    assert "has no branch gitmial, so this is a new mailbox" in text
    assert "Branches there: gitmail, main\n" in text
    assert f"gitmail init --from {remote} --branch B" in text
    assert (told["found"], told["branches"]) == (False, ["gitmail", "main"])


def test_init_from_a_bundle_makes_the_mailbox_of_it_without_a_remote(
    cli: CommandLine, tmp_path: Path
) -> None:
    """On a machine that no network reaches."""
    cli.ok("bundle", "create", str(tmp_path / "mail.bundle"), "--since", "all")
    made = cli.ok("status")
    cli.folder = tmp_path / "machine"
    cli.folder.mkdir()
    said = cli.ok("init", "--from", str(tmp_path / "mail.bundle"))

    assert (said["id"], said["tip"], said["created"]) == (made["id"], made["tip"], True)
    assert cli.ok("remote", "show") == {"remote": None}


def test_a_mailbox_that_is_there_is_not_replaced(
    cli: CommandLine, remote: Path, other: Path
) -> None:
    """Whatever it has in common with what it should start from."""
    before = cli.ok("status")["tip"]
    for source in (str(remote), str(other), "/no/such"):
        told = cli("--json", "init", "--from", source).error
        assert told["code"] == "folder_in_use"

    assert cli.ok("status")["tip"] == before


def test_a_failed_init_leaves_nothing_behind(
    gitmail: CommandLine, tmp_path: Path
) -> None:
    """So that it can be done again."""
    told = gitmail("--json", "init", "--from", str(tmp_path / "nowhere")).error

    assert told["code"] == "remote_failed"
    assert not (gitmail.folder / ".gitmail").exists()
    gitmail.ok("init")


@posix_only
def test_a_watching_sync_goes_on_until_it_is_interrupted(
    cli: CommandLine, remote: Path, other: Path
) -> None:
    """Through a remote that is away for a while; each round is a line of JSON."""
    box = cli.folder / ".gitmail"
    command = [sys.executable, "-P", "-m", "gitmail", "--json", "--mailbox", str(box)]
    with subprocess.Popen(
        [*command, "sync", "--watch", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        encoding="utf-8",
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            first = json.loads(process.stdout.readline())
            remote.rename(remote.with_name("away"))
            away = process.stderr.readline()
            remote.with_name("away").rename(remote)
            with Mailbox.open(other) as mailbox:
                mailbox.agent("lead").send(to="reviewer", body="There.")
                mailbox.sync(git=by("git"))
            rounds = (json.loads(line) for line in process.stdout)
            later = next(each for each in rounds if each["fetched"])
            process.send_signal(signal.SIGINT)
            code = process.wait(LIMIT_S)
        finally:
            process.kill()

    assert first["fetched"] == 0
    assert "it is tried again" in away
    assert later["step"] == "fast_forward"
    assert code == 130
