"""`gitmail verify` and the hidden `guard`: what people and scripts read."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gitmail.mailbox.guarding import Refusal
from gitmail.mailbox.verifying import Finding, Verified
from gitmail.records.names import CommitId
from gitmail.records.rule import Rule
from gitmail.render import verifying
from gitmail.store.refs import REF
from tests.cli.conftest import CommandLine
from tests.helpers import git
from tests.mailfiles import MOMENT, Clone
from tests.processes import needs_git
from tests.tampering import forge

COMMIT = CommitId("7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d")


def one(number: int = 1, **said: str) -> Verified:
    """Return what verifying a small mailbox found."""
    about = {"author": "lead", "path": "notes.txt", "detail": "does not belong"}
    finding = Finding(rule=Rule.PATH, commit=COMMIT, **(about | said))
    return Verified(
        tip=COMMIT,
        since=None,
        commit_count=1234,
        message_count=1,
        receipt_count=0,
        record_count=2,
        finding_count=number,
        findings=(finding,) * number,
    )


def test_a_healthy_mailbox_is_told_in_one_line(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """With what was looked at, and exit code 0."""
    send()
    tip = cli.ok("status")["tip"]
    ran = cli("verify")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "## Mailbox verified: nothing amiss\n\n"
        f"`{tip[:10]}`: 5 commits, 1 message, 0 receipts, 3 records\n"
    )
    assert cli.ok("verify") == {
        "ok": True,
        "tip": tip,
        "commits": 5,
        "messages": 1,
        "receipts": 0,
        "records": 3,
        "found": 0,
        "findings": [],
        "remarked": 0,
        "remarks": [],
    }


@needs_git
def test_what_is_amiss_is_a_row_of_a_table_and_exit_code_one(
    cli: CommandLine, send: Callable[..., str], tmp_path: Path
) -> None:
    """Fit for a pull request, and the same as JSON for programs."""
    send()
    base = cli.ok("status")["tip"]
    clone = Clone(cli.folder / ".gitmail", tmp_path / "clone")
    commit = forge(clone, {"notes|`x`.txt": b"Text."}, by="lead")
    ran = cli("verify", f"{base}..HEAD")
    answer = cli("--json", "verify", f"{base[:8]}..{commit}")

    assert (ran.code, answer.code) == (1, 1)
    assert ran.out == (
        "## Mailbox verified: 1 finding\n\n"
        f"`{base[:10]}..{commit[:10]}`: 1 commit, 0 messages, 0 receipts, 0 records\n"
        "\n"
        "| rule | commit | author | path | what is amiss |\n"
        "| --- | --- | --- | --- | --- |\n"
        f"| name | `{commit[:10]}` | `lead` | `` notes\\|`x`.txt `` |"
        " `` 'notes\\|`x`.txt' is no name that every file system can hold `` |\n"
    )
    (finding,) = answer.json["findings"]
    assert finding["path"] == "notes|`x`.txt"
    assert (finding["rule"], finding["commit"]) == ("name", commit)
    assert answer.json["since"] == base


def test_a_range_of_nothing_known_is_a_usage_error(cli: CommandLine) -> None:
    """With what is accepted."""
    ran = cli("--json", "verify", "main..feature")

    assert ran.code == 2
    assert ran.error["code"] == "invalid_argument"


def test_what_others_wrote_cannot_leave_its_code_span() -> None:
    """A path or an author is data, in a summary that a git host renders."""
    text = verifying.summary(
        one(author="x` <b>\n| a", path="a```b\x1b[2J|<script>", detail="`")
    )
    row = text.splitlines()[-1]

    assert "\x1b" not in text
    assert row.startswith("| path | `7c0f5e1d9a` | `` x` <b>\\u{a}\\| a `` |")
    assert "| ```` a```b\\u{1b}[2J\\|<script> ```` |" in row
    assert row.endswith("| `` ` `` |")


def test_a_long_list_is_cut_and_counted() -> None:
    """In the summary and in what a push is told."""
    found = one(number=130)
    refusal = Refusal(REF, "the mailbox's rules do not allow it", found.findings)

    assert verifying.summary(found).endswith("\nand 30 more (use --json)")
    assert verifying.summary(found).count("\n| path |") == 100
    told = verifying.refused([refusal])
    assert told[0] == f"{REF} is refused: the mailbox's rules do not allow it"
    assert told[1] == ("  path, commit 7c0f5e1d9a by lead: notes.txt: does not belong")
    assert told[-1] == "  and 110 more"
    assert len(told) == 22


@needs_git
def test_a_wrong_clock_is_told_apart_and_is_no_failure(
    cli: CommandLine, send: Callable[..., str], tmp_path: Path
) -> None:
    """In a table of its own, as an object, and with exit code 0."""
    send()
    tip = cli.ok("status")["tip"]
    clone = Clone(cli.folder / ".gitmail", tmp_path / "clone")
    commit = forge(clone, {}, by="lead", moment=MOMENT - timedelta(days=9))
    ran = cli("verify", f"{tip}..HEAD")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("## Mailbox verified: nothing amiss, 1 remark\n\n")
    assert "\n| rule | commit | author | path | what to know |\n" in ran.out
    assert ran.out.splitlines()[-1].startswith(f"| clock | `{commit[:10]}` | `lead` |")
    answer = cli.ok("verify")
    assert (answer["ok"], answer["found"], answer["findings"]) == (True, 0, [])
    assert answer["remarked"] == 1
    assert (answer["remarks"][0]["rule"], answer["remarks"][0]["commit"]) == (
        "clock",
        commit,
    )


@needs_git
def test_the_guard_answers_by_its_exit_code(cli: CommandLine, tmp_path: Path) -> None:
    """0 to accept, 3 where it has said why not, anything else where it cannot tell."""
    tip = cli.ok("status")["tip"]
    before = git(cli.folder / ".gitmail", "rev-parse", "gitmail~1").strip()
    none = "0" * 40

    assert cli("guard", stdin=f"{before} {tip} {REF}\n").code == 0
    assert cli("guard", stdin=f"{none} {tip} refs/heads/new\n").code == 0
    back = cli("guard", stdin=f"{tip} {before} {REF}\n")
    assert (back.code, back.out) == (3, "")
    assert "does not stand on what is there" in back.err
    assert cli("guard", stdin=f"{tip} {none} {REF}\n").code == 3
    assert cli("guard", stdin="nonsense\n").code == 2
    missing = str(tmp_path / "missing")
    assert cli("guard", "--incoming", missing, stdin="").code == 2


@pytest.mark.parametrize("command", ["guard"])
def test_what_git_calls_is_not_listed(cli: CommandLine, command: str) -> None:
    """It is no command for people."""
    assert command not in cli("--help").out
