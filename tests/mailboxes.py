"""What the tests of the verbs share: looking at answers, and other hands at work."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.clock import Clock
from gitmail.errors import GitmailError
from gitmail.mailbox.memory_values import History, Recollections
from gitmail.mailbox.values import Item, Page, Sent
from gitmail.render import plain
from tests.helpers import SettableClock, git
from tests.mailfiles import unguard

INDEX = Path(".git", "gitmail", "index.sqlite")


def bodies(items: Iterable[Item]) -> list[str]:
    """Return the bodies of messages, in their order."""
    return [item.message.body for item in items]


def pending(agent: Agent) -> list[str]:
    """Return the bodies of what is pending for an agent, oldest first."""
    return bodies(agent.poll(limit=200).items)


def reached(sent: Sent) -> list[tuple[str, str]]:
    """Return name and kind of each delivery."""
    return [(delivery.name, delivery.kind) for delivery in sent.deliveries]


def refused(
    mailbox: Mailbox, act: Callable[..., object], *args: Any, **said: Any
) -> GitmailError:
    """Return the error of a call that must have written nothing."""
    before = tip(mailbox)
    with pytest.raises(GitmailError) as caught:
        act(*args, **said)
    assert tip(mailbox) == before
    return caught.value


def tip(mailbox: Mailbox) -> str:
    """Return the commit at the tip."""
    return mailbox.status().tip


def still(moment: datetime) -> Clock:
    """Return a clock that always shows the same time."""
    return lambda: moment


def team(mailbox: Mailbox, name: str, *agents: str) -> None:
    """Register agents as the members of a team."""
    for agent in agents:
        mailbox.register(agent, teams=[name])


def pages(agent: Agent, **filters: Any) -> Iterator[Page]:
    """Yield the pages of a poll, each from the cursor of the one before."""
    while True:
        page = agent.poll(**filters)
        yield page
        if not page.has_more:
            return
        filters["after"] = page.cursor


@contextmanager
def reopened(mailbox: Mailbox, clock: SettableClock) -> Iterator[Mailbox]:
    """Open a mailbox anew, with its index deleted."""
    for ending in ("", "-wal", "-shm"):
        index = mailbox.path / f"{INDEX}{ending}"
        index.unlink(missing_ok=True)
    with Mailbox.open(mailbox.path, clock=clock) as other:
        yield other


def copied(mailbox: Mailbox, folder: Path) -> Path:
    """Return a second copy of a mailbox, from now on on its own."""
    shutil.copytree(mailbox.path, folder)
    for ending in ("", "-wal", "-shm"):
        (folder / f"{INDEX}{ending}").unlink(missing_ok=True)
    return folder


def merge_into(mailbox: Path, other: Path, work: Path) -> None:
    """Bring what another copy has into a mailbox, with plain git in a clone."""
    git(work.parent, "clone", "-q", str(mailbox), str(work))
    git(work, "pull", "-q", "--no-rebase", "--no-edit", str(other), "gitmail")
    git(work, "push", "-q", "origin", "HEAD:gitmail")


def edit(mailbox: Path, work: Path, files: dict[str, str | None]) -> None:
    """Change files of the tip as a person would, in a clone; None deletes one."""

    def change(clone: Path) -> None:
        for name, text in files.items():
            file = clone / name
            if text is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())

    by_hand(mailbox, work, change)


def by_hand(
    mailbox: Path,
    work: Path,
    change: Callable[[Path], object],
    message: str = "Edit by hand",
) -> str:
    """Do anything in a clone and push it, as a person would; return the commit."""
    unguard(mailbox)  # the guard would refuse most of it
    git(work.parent, "clone", "-q", str(mailbox), str(work))
    change(work)
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", message)
    git(work, "push", "-q", "origin", "HEAD:gitmail")
    return git(work, "rev-parse", "HEAD").strip()


def values(found: Recollections) -> list[str]:
    """Return the values of records of memory, in their order."""
    return [each.record.value for each in found.records]


def steps(history: History) -> list[tuple[str | None, str | None]]:
    """Return operation and value of each version, the oldest first."""
    return [
        (each.operation, each.shown.record.value if each.shown else None)
        for each in reversed(history.revisions)
    ]


def everything(mailbox: Mailbox, *names: str) -> dict[str, Any]:
    """Return what each agent can see of all mail, as plain values."""
    return {name: _seen_by(mailbox.agent(name)) for name in names}


def _seen_by(agent: Agent) -> dict[str, Any]:
    history = [item.id for item in agent.history(limit=200).items]
    return {
        "pending": [plain.item(item) for item in agent.poll(limit=200).items],
        "unread": [item.id for item in agent.poll(show="unread", limit=200).items],
        "any": [plain.item(item) for item in agent.poll(show="any", limit=200).items],
        "read": [plain.item(agent.read(message)) for message in history],
        "receipts": [plain.receipts(agent.receipts(message)) for message in history],
        "threads": [
            plain.conversation(agent.thread(message), "thread") for message in history
        ],
    }
