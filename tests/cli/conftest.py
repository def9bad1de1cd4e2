"""Running the command line in the test's own process."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gitmail.cli import main
from tests.helpers import SettableClock


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error on standard error."""
        assert self.out == ""
        assert self.err.count("\n") == 1
        return json.loads(self.err)["error"]


class CommandLine:
    """The command line, run in a folder with a settable clock."""

    def __init__(
        self,
        folder: Path,
        clock: SettableClock,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *argv: str, stdin: bytes | str = b"") -> Ran:
        """Run a command in the folder; text on standard input is UTF-8."""
        self._monkeypatch.chdir(self.folder)
        return self.here(*argv, stdin=stdin)

    def here(self, *argv: str, stdin: bytes | str = b"") -> Ran:
        """Run a command in the folder where the test is."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        )
        self._capsys.readouterr()
        code = main([str(each) for each in argv], clock=self.clock)
        seen = self._capsys.readouterr()
        return Ran(code, seen.out, seen.err)

    def ok(self, *argv: str, stdin: bytes | str = b"") -> Any:
        """Run a command with --json that must go well, and return its answer."""
        ran = self("--json", *argv, stdin=stdin)
        assert (ran.code, ran.err) == (0, "")
        return ran.json


@pytest.fixture(name="gitmail")
def _gitmail(
    project: Path,
    clock: SettableClock,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return the command line, in a project without a mailbox."""
    return CommandLine(project, clock, capsys, monkeypatch)


@pytest.fixture(name="cli")
def _cli(gitmail: CommandLine) -> CommandLine:
    """Return the command line, with a mailbox, builder, reviewer (core) and lead."""
    gitmail.ok("init")
    gitmail.ok("register", "builder")
    gitmail.ok("register", "reviewer", "--team", "core")
    gitmail.ok("register", "lead", "--kind", "human")
    return gitmail


@pytest.fixture(name="send")
def _send(cli: CommandLine) -> Callable[..., str]:
    """Return a function that sends from builder to reviewer and returns the id."""

    def send(*argv: str, body: str = "The parser is ready.") -> str:
        answer = cli.ok("--as", "builder", "send", "--to", "reviewer", *argv, body)
        return str(answer["message"]["id"])

    return send
