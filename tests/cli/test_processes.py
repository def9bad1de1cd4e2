"""What only a real process shows: pipes, terminals, signals and what is imported."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine
from tests.helpers import environment

_GITMAIL = [sys.executable, "-m", "gitmail"]
_HEAVY = {
    "dulwich", "yaml", "sqlite3", "mcp", "pydantic", "watchfiles", "filelock", "anyio",
    "asyncio",
}  # fmt: skip
_POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")
_FULL_DISK = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full"
)


def _run(cli: CommandLine, *argv: str, **options: object) -> subprocess.Popen[bytes]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [*_GITMAIL, *argv],
        cwd=cli.folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        **options,
    )


def test_the_module_runs_as_a_command(cli: CommandLine) -> None:
    """`python -m gitmail` answers as the function does."""
    with _run(cli, "--json", "status") as process:
        out, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, b"")
    assert json.loads(out) == cli.ok("status")


def test_a_reader_that_stops_early_is_no_error(cli: CommandLine) -> None:
    """`gitmail log | head` ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    with _run(cli, "log", stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (0, b"")


@_FULL_DISK
def test_an_answer_that_cannot_be_written_is_an_error(cli: CommandLine) -> None:
    """Nobody is told that all went well where the answer was lost."""
    with Path("/dev/full").open("wb") as full, _run(cli, "log", stdout=full) as process:
        _, err = process.communicate(timeout=30)

    assert process.returncode == 1
    assert err.startswith(b"gitmail: standard output: ")
    assert b"Nothing was changed" in err


_WRITING = [
    ("builder", "send", "--to", "reviewer", "Hello."),
    ("builder", "send", "--batch", "batch.jsonl"),
    ("reviewer", "reply", "ID", "Hello."),
    ("reviewer", "ack", "ID"),
    ("reviewer", "poll", "--ack"),
    ("reviewer", "wait", "--ack"),
    ("reviewer", "register", "newcomer"),
    ("reviewer", "retire", "lead"),
]


@_FULL_DISK
@pytest.mark.parametrize("argv", _WRITING, ids=" ".join)
def test_what_was_done_is_not_told_as_failed_where_the_answer_is_lost(
    argv: tuple[str, ...], cli: CommandLine, send: Callable[..., str]
) -> None:
    """The error says so and names commit and messages: a retry would double it (I5)."""
    message = send()
    (cli.folder / "batch.jsonl").write_text('{"to": "lead", "body": "x"}', "utf-8")
    words = [message if word == "ID" else word for word in argv]
    with (
        Path("/dev/full").open("wb") as full,
        _run(cli, "--json", "--as", *words, stdout=full) as process,
    ):
        _, err = process.communicate(timeout=30)
    error = json.loads(err)["error"]
    (latest,) = cli.ok("log", "--limit", "1")["log"]

    assert (process.returncode, error["code"]) == (1, "answer_lost")
    assert error["commit"] == latest["commit"]
    assert error.get("ids") == latest.get("messages")
    assert error["hint"].startswith("Do not run it again")


def test_what_was_done_is_told_where_the_reader_of_the_answer_has_gone(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """Mail that was acknowledged and never shown must not vanish without a word."""
    message = send()
    reading, writing = os.pipe()
    os.close(reading)
    with _run(cli, "--as", "reviewer", "poll", "--ack", stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate(timeout=30)

    assert process.returncode == 1
    assert err.startswith(b"gitmail: It was done in commit ")
    assert message.encode() in err


@_FULL_DISK
@pytest.mark.parametrize(
    ("argv", "code"), [(["no-such-command"], 2), (["whois", "nobody"], 1), ([], 2)]
)
def test_an_error_that_cannot_be_written_keeps_its_exit_code(
    argv: list[str], code: int, cli: CommandLine
) -> None:
    """The exit code is then all that tells of it."""
    with Path("/dev/full").open("wb") as full, _run(cli, *argv, stderr=full) as process:
        out, _ = process.communicate(timeout=30)

    assert (process.returncode, out) == (code, b"")


@_POSIX_ONLY
def test_a_command_without_standard_streams_still_works(cli: CommandLine) -> None:
    """Who starts a process may have closed all three streams."""
    script = 'exec "$@" <&- >&- 2>&-'
    argv = ["sh", "-c", script, "sh", *_GITMAIL, "--as", "builder"]
    send = [*argv, "send", "--to", "reviewer", "Hello."]
    done = subprocess.run(
        send, cwd=cli.folder, env=environment(), check=False, timeout=30
    )

    assert done.returncode == 0
    assert len(cli.ok("--as", "reviewer", "poll")["messages"]) == 1


@_POSIX_ONLY
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_server_without_its_streams_does_not_start(
    closed: str, cli: CommandLine
) -> None:
    """It is told as what it is, on standard error."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *_GITMAIL, "mcp"],
        cwd=cli.folder,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=30,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gitmail: the server needs standard input and")


@_POSIX_ONLY
@pytest.mark.parametrize("argv", [["no-such-command"], [], ["whois", "nobody"]])
def test_an_error_that_nobody_reads_does_not_go_to_standard_output(
    argv: list[str], cli: CommandLine
) -> None:
    """Standard output is for answers, even where standard error is closed."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *_GITMAIL, *argv],
        cwd=cli.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        check=False,
        timeout=30,
    )

    assert done.returncode > 0
    assert done.stdout == b""


@_POSIX_ONLY
def test_an_interrupted_wait_exits_with_130_and_marks_nothing(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """Control-C ends a wait at once (CAPABILITIES R11)."""
    script = (
        "import os, signal, sys, threading\n"
        "from gitmail import watch\n"
        "from gitmail.cli import main\n"
        "wait = watch.Watch.wait\n"
        "def interrupt(*arguments):\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    return wait(*arguments)\n"
        "watch.Watch.wait = interrupt\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    argv = ["--as", "reviewer", "wait", "--ack", "--timeout", "50"]
    done = subprocess.run(
        [sys.executable, "-c", script, *argv],
        cwd=cli.folder,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=30,
    )
    message = send()

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    pending = cli.ok("--as", "reviewer", "poll")["messages"]
    assert [m["id"] for m in pending] == [message]


@_POSIX_ONLY
@pytest.mark.parametrize("no_color", ["", "1"])
def test_colour_is_for_terminals_and_no_color_switches_it_off(
    no_color: str, cli: CommandLine, send: Callable[..., str]
) -> None:
    """On a terminal the only escape sequences are those of our own colours."""
    import pty  # noqa: PLC0415 - there is none on Windows

    body = "\x1b[2J\x1b]0;mine\x07 \u202ereversed"
    send("--importance", "urgent", "--subject", "Look", body=body)
    main, side = pty.openpty()
    argv = [*_GITMAIL, "--as", "reviewer", "poll"]
    with os.fdopen(main, "rb", buffering=0) as terminal:
        done = subprocess.run(
            argv,
            cwd=cli.folder,
            env=environment(NO_COLOR=no_color),
            stdin=subprocess.DEVNULL,
            stdout=side,
            stderr=subprocess.PIPE,
            check=False,
            timeout=30,
        )
        os.close(side)
        seen = _all_of(terminal).decode()

    assert (done.returncode, done.stderr) == (0, b"")
    assert "\\u{1b}[2J" in seen
    assert bool(re.search("\x1b\\[[0-9;]+m", seen)) is not bool(no_color)
    rest = re.sub("\x1b\\[[0-9;]+m", "", seen)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", rest)


def _all_of(terminal: object) -> bytes:
    pieces = []
    try:
        while piece := terminal.read(65_536):  # type: ignore[attr-defined]
            pieces.append(piece)
    except OSError:  # how Linux tells that the other side has closed
        return b"".join(pieces)
    return b"".join(pieces)


def test_an_encoding_that_lacks_a_character_is_no_bug(cli: CommandLine) -> None:
    """Text becomes escapes, and JSON stays JSON in UTF-8."""
    cli.ok("--as", "builder", "send", "--to", "reviewer", "héllo 日本")
    for option, encoding in (("--full", "ascii"), ("--json", "ascii")):
        argv = [*_GITMAIL, "--as", "reviewer", "poll", option]
        done = subprocess.run(
            argv,
            cwd=cli.folder,
            env=environment(PYTHONIOENCODING=encoding),
            capture_output=True,
            check=True,
            timeout=30,
        )
        if option == "--json":
            assert json.loads(done.stdout)["messages"][0]["body"] == "héllo 日本"
        else:
            assert b"h\\xe9llo \\u65e5\\u672c" in done.stdout


@pytest.mark.parametrize(
    ("argv", "allowed"),
    [
        (["--help"], set()),
        (["poll", "--help"], set()),
        (["--version"], set()),
        (["no-such-command"], set()),
        (["poll", "--no-such-option"], set()),
        (["--as", "builder", "poll"], {"dulwich", "yaml", "sqlite3"}),
        (["--as", "builder", "--json", "poll"], {"dulwich", "yaml", "sqlite3"}),
        (["log"], {"dulwich", "yaml", "sqlite3"}),
    ],
)
def test_a_command_imports_nothing_heavy_that_it_does_not_need(
    argv: list[str], allowed: set[str], cli: CommandLine
) -> None:
    """Help and errors are immediate, and looking at mail loads no server (STYLE)."""
    script = (
        "import sys\n"
        "from gitmail.cli import main\n"
        "main(sys.argv[1:])\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *argv],
        cwd=cli.folder,
        env=environment(),
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=30,
    )
    imported = set(done.stderr.splitlines()[-1].split())

    assert "gitmail" in imported
    assert imported & _HEAVY <= allowed
