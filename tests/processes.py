"""Real processes for tests, started with a time-out and always reaped."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from gitmail import Mailbox
from tests.helpers import environment, files_in_tip, files_on_disk

ROOT = Path(__file__).parents[1]
LIMIT_S = 45.0
"""Longer than any child takes, however busy the machine is."""

needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="git is not installed"
)
posix_only = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX system")


class Child:
    """A process that runs a function of a module and talks in lines of JSON.

    Args:
        function: Such as `tests.faults.children:send`; it gets the words as text.
        prefix: The command that starts the interpreter, such as `unshare -m`.
        variables: Environment variables on top of the test's.
    """

    def __init__(
        self,
        function: str,
        *words: object,
        prefix: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        module, _, name = function.partition(":")
        code = f"import sys; from {module} import {name}; {name}(*sys.argv[1:])"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", code, *map(str, words)],
            cwd=ROOT,
            env=environment(**(variables or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        self._alarm = threading.Timer(LIMIT_S, self.process.kill)
        self._alarm.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, what: object) -> None:
        """Send a line."""
        assert self.process.stdin
        self.process.stdin.write(f"{json.dumps(what)}\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """Return the value of the next line."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.said()
        return json.loads(line)

    def finish(self) -> None:
        """End the child by ending its input; it must end well."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait() == 0, self.said()

    def said(self) -> str:
        """Return what the child wrote to its standard error."""
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace") or "it ended"

    def close(self) -> None:
        """Kill the child if it still runs, and reap it."""
        self._alarm.cancel()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        self._errors.close()


@contextmanager
def children(*calls: Sequence[object]) -> Iterator[list[Child]]:
    """Start several children; each call is a function's name and its words."""
    with ExitStack() as stack:
        yield [stack.enter_context(Child(str(c[0]), *c[1:])) for c in calls]


def release(started: Sequence[Child]) -> None:
    """Let all children go on at once, as soon as all are ready."""
    for child in started:
        assert child.answer() == "ready"
    for child in started:
        child.ask("go")


class Meanwhile:
    """Git commands that run in a loop beside the block, at least once each."""

    def __init__(self, folder: Path, *commands: Sequence[str]) -> None:
        self._folder = folder
        self._commands = commands
        self._stop = threading.Event()
        self.failed: list[str] = []
        self.rounds = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set() or not self.rounds:
            for command in self._commands:
                done = subprocess.run(
                    ["git", "-C", str(self._folder), *command],
                    capture_output=True,
                    check=False,
                    encoding="utf-8",
                    env=environment(),
                    timeout=LIMIT_S,
                )
                if done.returncode:
                    self.failed.append(f"{command}: {done.stderr}")
            self.rounds += 1


def make_mailbox(folder: Path) -> Path:
    """Make a mailbox with the agents builder and reviewer, and close it."""
    with Mailbox.init(folder, project="box") as mailbox:
        mailbox.register("builder")
        mailbox.register("reviewer")
    return folder


def make_mailbox_with_mail(folder: Path) -> Path:
    """Make a mailbox with three messages to reviewer, and close it."""
    box = make_mailbox(folder)
    with Mailbox.open(box) as mailbox:
        for number in range(3):
            mailbox.agent("builder").send(to="reviewer", body=f"Message {number}.")
    return box


def assert_sound(mailbox: Path) -> None:
    """Check that git finds nothing wrong and that the files are those of the tip."""
    with Mailbox.open(mailbox) as box:
        status = box.status()
    assert status.uncommitted == ()
    done = subprocess.run(
        ["git", "-C", str(mailbox), "fsck", "--strict", "--full", "--no-dangling"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(),
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert files_on_disk(mailbox) == files_in_tip(mailbox)
    assert not list((mailbox / ".git").rglob("refs/heads/*.lock"))
