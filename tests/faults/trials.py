"""Running one operation again and again, each time killed at the next step.

A server of this module forks a process for each trial, so that none has to start an
interpreter. A step is a call into the system: writing, flushing,
renaming, linking, removing, locking, or a statement for SQLite. Reading is none.
"""

import fcntl
import io
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import filelock  # noqa: F401 - what is imported later would count as steps
import watchfiles  # noqa: F401

from gitmail import Mailbox
from gitmail.store.discovery import find_project
from gitmail.store.store import Store
from tests.faults.remembering import ACTS

CALLS = (
    *("write", "fsync", "mkdir", "rmdir", "unlink"),
    *("replace", "rename", "link", "chmod", "truncate"),
)
"""What of `os` can change something, besides opening to write."""
LONGEST_S = 20


def send(box: Path, name: str) -> None:
    """Send a message; the body is the name."""
    with Mailbox.open(box, folds=False) as mailbox:
        mailbox.agent("builder").send(to="reviewer", bcc="lead", body=name)


def send_many(box: Path, name: str) -> None:
    """Send 300 messages in one commit."""
    with Mailbox.open(box, folds=False) as mailbox:
        drafts = [{"to": "reviewer", "body": f"{name} {n}"} for n in range(300)]
        mailbox.agent("builder").send_many(drafts)


def ack(box: Path, name: str) -> None:
    """Acknowledge all that is pending."""
    del name
    with Mailbox.open(box, folds=False) as mailbox:
        mailbox.agent("reviewer").poll(ack=True, limit=3)


def register(box: Path, name: str) -> None:
    """Change builder's profile, which is a file that is there."""
    with Mailbox.open(box, folds=False) as mailbox:
        mailbox.register("builder", description=name)


def init(box: Path, name: str) -> None:
    """Make a mailbox in a project."""
    Mailbox.init(box, project=name).close()
    project = find_project(box.parent)
    assert project
    project.exclude()


def fold(box: Path, name: str) -> None:
    """Fold packs and cut the index's log."""
    del name
    store = Store(box, folds=False)
    store.housekeeping()
    store.close()


def rebuild(box: Path, name: str) -> None:
    """Make the index anew."""
    del name
    for file in (box / ".git" / "gitmail").glob("index.sqlite*"):
        file.unlink()
    with Mailbox.open(box, folds=False) as mailbox:
        mailbox.agent("reviewer").poll()


def apply(box: Path, name: str) -> None:
    """Apply a bundle; the name is its path."""
    with Mailbox.open(box, folds=False) as mailbox:
        mailbox.apply_bundle(name)


def start(box: Path, name: str) -> None:
    """Make a mailbox from a bundle; the name is its path."""
    Mailbox.clone(box, name).close()


def remember(act: str, box: Path, name: str) -> None:
    """Do something to memory; the name does not matter."""
    del name
    with Mailbox.open(box, folds=False) as mailbox:
        ACTS[act](mailbox.agent("builder"))


OPERATIONS: dict[str, Callable[[Path, str], None]] = {
    function.__name__: function
    for function in (send, send_many, ack, register, init, fold, rebuild, apply, start)
} | {act: partial(remember, act) for act in ACTS}


def serve() -> None:
    """Run a trial for each line of input, and say how each ended."""
    for line in sys.stdin:
        said = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _run(writing, **said)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as stream:
            text = stream.read()
        _, status = os.waitpid(child, 0)
        is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": is_killed, "said": text}), flush=True)


def _run(
    writing: int, *, operation: str, mailbox: str, name: str, step: int, torn: bool
) -> NoReturn:
    """Run one operation in this process, and end it at the step or after it."""
    signal.alarm(LONGEST_S)
    steps = Steps(step, _kill)
    said = "done"
    try:
        with steps.torn_writes() if torn else steps.counted():
            OPERATIONS[operation](Path(mailbox), name)
    except BaseException as error:  # noqa: BLE001 - the test shall see it
        said = repr(error)
    os.write(writing, said.encode())
    os._exit(0)


class Steps:
    """Counts the steps of this process, and strikes before one of them.

    Args:
        chosen: The number of that step, from 1; 0 for none.
        strike: What happens; it gets the name of the step.
        goes_on: Whether it happens at each later step too.
    """

    def __init__(
        self, chosen: int, strike: Callable[[str], None], *, goes_on: bool = False
    ) -> None:
        self._chosen = chosen
        self._strike = strike
        self._goes_on = goes_on
        self.count = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count for the block whatever changes something on the disk."""
        step = self._step
        is_writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT

        class Connection(sqlite3.Connection):
            def execute(self, *said: Any) -> sqlite3.Cursor:
                step("execute")
                return super().execute(*said)

            def executemany(self, *said: Any) -> sqlite3.Cursor:
                step("execute")
                return super().executemany(*said)

            def executescript(self, *said: Any) -> sqlite3.Cursor:
                step("execute")
                return super().executescript(*said)

        def connect(where: str, **said: Any) -> sqlite3.Connection:
            if where == ":memory:":  # no disk can fail there
                return plain_connect(where, **said)
            step("connect")
            return plain_connect(where, factory=Connection, **said)

        plain_connect = sqlite3.connect
        with ExitStack() as patches:

            def count(module: Any, name: str, is_step: Callable[..., bool]) -> None:
                call = _counting(getattr(module, name), is_step, lambda: step(name))
                patches.enter_context(mock.patch.object(module, name, call))

            for name in CALLS:
                count(os, name, lambda *_, **__: True)
            count(fcntl, "flock", lambda *_: True)
            count(os, "open", lambda _, flags, *__, **___: bool(flags & is_writing))
            count(io, "open", lambda _, mode="r", *__, **___: mode[0] in "wax")
            patches.enter_context(mock.patch.object(sqlite3, "connect", connect))
            yield

    @contextmanager
    def torn_writes(self) -> Iterator[None]:
        """Count writes for the block, of which the chosen is cut in the middle."""
        plain = os.write

        def write(handle: int, data: bytes) -> int:
            if self._is_chosen():
                plain(handle, bytes(data)[: len(data) // 2])
                self._strike("write")
            return plain(handle, data)

        with mock.patch.object(os, "write", write):
            yield

    def _step(self, name: str) -> None:
        if self._is_chosen():
            self._strike(name)

    def _is_chosen(self) -> bool:
        self.count += 1
        if self._goes_on:
            return 0 < self._chosen <= self.count
        return self.count == self._chosen


def _counting(
    call: Callable[..., Any], is_step: Callable[..., bool], step: Callable[[], None]
) -> Any:
    def counted(*words: Any, **said: Any) -> Any:
        if is_step(*words, **said):
            step()
        return call(*words, **said)

    return counted


def _kill(step: str) -> None:
    del step
    os.kill(os.getpid(), signal.SIGKILL)
