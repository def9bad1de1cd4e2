"""What the processes of the concurrency tests do; each function is one of them."""

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from gitmail import Mailbox
from gitmail.errors import BusyError


def send(mailbox: str, name: str, count: str, how: str) -> None:
    """Send messages as soon as told, from one Mailbox or each from a `fresh` one."""
    with Mailbox.open(mailbox) as one:
        one.agent("builder").poll()
        wait_for_go()
        ids = []
        for number in range(int(count)):
            box: AbstractContextManager[Mailbox] = nullcontext(one)
            if how == "fresh":
                box = Mailbox.open(mailbox)
            with box as opened:
                body = f"{name} {number}"
                sent = opened.agent("builder").send(to="reviewer", body=body)
            ids.append(sent.message.id)
        say(ids)


def send_unlocked(mailbox: str, name: str, count: str) -> None:
    """Send as on a file system whose locks everybody gets at once."""
    from gitmail.store.lock import Lock  # noqa: PLC0415 - only here

    Lock.take = lambda *_: True  # type: ignore[method-assign]
    Lock.free = lambda *_: None  # type: ignore[method-assign]
    with Mailbox.open(mailbox, folds=False) as box:
        agent = box.agent("builder")
        wait_for_go()
        ids = []
        for number in range(int(count)):
            while len(ids) == number:
                with suppress(BusyError):  # it says that nothing was changed
                    sent = agent.send(to="reviewer", body=f"{name} {number}")
                    ids.append(sent.message.id)
        say(ids)


def take(mailbox: str) -> None:
    """Take mail three at a time until told that no more comes and none is left."""
    taken: list[str] = []
    with Mailbox.open(mailbox) as box:
        agent = box.agent("reviewer")
        wait_for_go()
        told = told_later()
        while True:
            is_last = told.is_set()
            page = agent.poll(ack=True, limit=3)
            taken += [item.id for item in page.items]
            if is_last and not page.items:
                break
    say(taken)


def look(mailbox: str) -> None:
    """Read all the time until told to stop; each answer must be of one moment."""
    with Mailbox.open(mailbox) as box:
        agent = box.agent("reviewer")
        wait_for_go()
        told = told_later()
        seen: set[str] = set()
        cursor = None
        is_last = False
        while not is_last:
            is_last = told.is_set()
            page = agent.poll(show="any", after=cursor, limit=200)
            ids = {item.id for item in page.items}
            if ids & seen:
                msg = "a message came twice after a cursor"
                raise AssertionError(msg)
            seen |= ids
            cursor = page.cursor
            status = box.status("reviewer")
            if status.uncommitted or status.quarantine:
                raise AssertionError(status)
            if status.unacked_count != status.message_count:
                raise AssertionError(status)
    say(sorted(seen))


def make(mailbox: str, name: str) -> None:
    """Make the mailbox, register, and say which mailbox it is."""
    wait_for_go()
    with Mailbox.init(mailbox, project="box") as box:
        box.register(name)
        say(box.charter().id)


def spoil(mailbox: str) -> None:
    """Spoil the index again and again, a different way each time."""
    file = Path(mailbox) / ".git" / "gitmail" / "index.sqlite"
    wait_for_go()
    told = told_later()
    count = 0
    while not told.is_set() or not count:
        with suppress(FileNotFoundError):
            match count % 3:
                case 0:
                    file.unlink()
                case 1:
                    os.truncate(file, file.stat().st_size // 2)
                case _:
                    with file.open("r+b") as stream:
                        stream.write(b"garbage" * 100)
        count += 1
        with Mailbox.open(mailbox) as box:
            box.agent("reviewer").poll()
    say(count)


def fold(mailbox: str) -> None:
    """Fold packs all the time until told to stop."""
    with Mailbox.open(mailbox) as box:
        wait_for_go()
        told = told_later()
        while not told.is_set():
            box.store.housekeeping()


def answer(mailbox: str) -> None:
    """Send a message for each line that comes."""
    with Mailbox.open(mailbox) as box:
        agent = box.agent("builder")
        for line in sys.stdin:
            say(agent.send(to="reviewer", body=json.loads(line)).message.id)


def wait(mailbox: str, count: str) -> None:
    """Wait for that many messages, one after the other, and say their bodies."""
    with Mailbox.open(mailbox) as box:
        agent = box.agent("reviewer")
        wait_for_go()
        bodies: list[str] = []
        while len(bodies) < int(count):
            page = agent.wait(30, ack=True, limit=1)
            bodies += [item.message.body for item in page.items]
    say(bodies)


def say(what: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(what), flush=True)


def wait_for_go() -> None:
    """Say that we are ready, and wait until all others are."""
    say("ready")
    sys.stdin.readline()


def told_later() -> threading.Event:
    """Return an event that the next line, or the end of input, sets."""
    told = threading.Event()
    read: Callable[[], None] = lambda: (sys.stdin.readline(), told.set())[1]  # noqa: E731
    threading.Thread(target=read, daemon=True).start()
    return told
