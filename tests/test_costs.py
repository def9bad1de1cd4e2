"""What a verb asks of the index does not grow with the mailbox (DESIGN I9)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from tests.helpers import SettableClock

SMALL, LARGE = 300, 3_000
BOUNDED = {"profile", "registered", "author", "meta", "quarantine", "fresh", "CONSTANT"}
"""Tables that do not grow with the mail, as SQLite names them in a plan."""

Verb = Callable[[Agent, list[str]], object]
VERBS: dict[str, Verb] = {
    "send": lambda agent, _: agent.send(to="lead", body="x"),
    "send to all": lambda agent, _: agent.send(to="all", body="x"),
    "send blind": lambda agent, _: agent.send(to="lead", bcc="team:core", body="x"),
    "send once": lambda agent, _: agent.send(to="lead", body="x", request_id="r"),
    "send again": lambda agent, _: agent.send(to="lead", body="x", request_id="r"),
    "reply": lambda agent, ids: agent.reply(ids[0], "x"),
    "poll": lambda agent, _: agent.poll(),
    "poll unread": lambda agent, _: agent.poll(show="unread"),
    "poll any": lambda agent, _: agent.poll(show="any"),
    "poll a room": lambda agent, _: agent.poll(room="parser"),
    "poll a thread": lambda agent, ids: agent.poll(thread=ids[0]),
    "poll from": lambda agent, _: agent.poll(sender="builder", overdue=True),
    "poll since": lambda agent, _: agent.poll(since="1h"),
    "poll after": lambda agent, _: agent.poll(after=agent.poll(limit=1).cursor),
    "wait": lambda agent, _: agent.wait(0),
    "ack": lambda agent, ids: agent.ack(ids[2:6]),
    "ack in vain": lambda agent, ids: agent.ack(["f" * 40, ids[2][:8]]),
    "take": lambda agent, _: agent.poll(limit=2, ack=True),
    "read": lambda agent, ids: agent.read(ids[0][:10]),
    "read in vain": lambda agent, _: agent.ack("f" * 8),
    "receipts": lambda agent, ids: agent.receipts(ids[0]),
    "thread": lambda agent, ids: agent.thread(ids[0]),
    "history": lambda agent, _: agent.history(limit=5),
    "history with": lambda agent, _: agent.history(peer="builder", limit=5),
}


def make_mailbox(folder: Path, count: int) -> Mailbox:
    """Return a mailbox of many messages, twenty of them for reader.

    Of the others some are to teams, copied blindly, in a room, or have expired.
    """
    clock = SettableClock()
    mailbox = Mailbox.init(folder / ".gitmail", clock=clock)
    for name in ("builder", "reviewer", "lead"):
        mailbox.register(name, teams=["core"])
    drafts: list[dict[str, Any]] = [
        {
            "to": ("reviewer", "lead", "team:core")[number % 3],
            "bcc": "builder" if number % 7 == 0 else None,
            "body": f"Message {number}.",
            "room": "parser" if number % 5 == 0 else None,
            "request_id": str(number),
            "expires_in": "1h" if number % 2 == 0 else None,
        }
        for number in range(count)
    ]
    builder = mailbox.agent("builder")
    builder.send_many(drafts)
    mailbox.register("reader")
    clock.advance(hours=2)
    said = {"to": "reader", "room": "parser", "ack_required": True}
    builder.send_many({**said, "body": f"To reader {n}."} for n in range(20))
    return mailbox


@pytest.fixture(name="mailboxes", scope="module")
def _mailboxes(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Mailbox, Mailbox]]:
    """Return a small mailbox and a large one that are alike to reader."""
    small, large = (
        make_mailbox(tmp_path_factory.mktemp(f"of-{count}"), count)
        for count in (SMALL, LARGE)
    )
    with small, large:
        yield small, large


@contextmanager
def statements(mailbox: Mailbox) -> Iterator[list[str]]:
    """Gather the statements that the index is asked, with their values."""
    found: list[str] = []
    database = mailbox.store._keeper.index()._db
    database.set_trace_callback(found.append)
    try:
        yield found
    finally:
        database.set_trace_callback(None)


@contextmanager
def steps(mailbox: Mailbox) -> Iterator[list[None]]:
    """Gather an entry for each instruction that SQLite's machine carries out."""
    found: list[None] = []
    database = mailbox.store._keeper.index()._db
    database.set_progress_handler(lambda: found.append(None), 1)
    try:
        yield found
    finally:
        database.set_progress_handler(None, 1)


def scans(mailbox: Mailbox, asked: list[str]) -> list[str]:
    """Return the steps that read a table from its start."""
    found = []
    for statement in asked:
        if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE")):
            plan = mailbox.store._keeper.index().execute(
                f"EXPLAIN QUERY PLAN {statement}"
            )
            found += [
                f"{step}: {statement}"
                for *_, step in plan
                if step.startswith("SCAN") and step.split()[1] not in BOUNDED
            ]
    return found


def for_reader(mailbox: Mailbox) -> list[str]:
    """Return ids of messages that are pending for reader."""
    return [item.id for item in mailbox.agent("reader").poll(limit=9).items]


@pytest.mark.parametrize("verb", [*VERBS])
def test_no_verb_reads_a_table_from_its_start(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Each statement finds its rows by a key (I9)."""
    _, large = mailboxes
    ids = for_reader(large)

    with statements(large) as asked:
        VERBS[verb](large.agent("reader"), ids)

    assert len(asked) > 2
    assert scans(large, asked) == []


def test_a_scan_would_be_noticed(mailboxes: tuple[Mailbox, Mailbox]) -> None:
    """What the test above looks for can be found."""
    asked = [
        "SELECT * FROM message m WHERE m.kind = 1",
        "SELECT * FROM mail WHERE stage = 0",
        "SELECT count(*) FROM message",
    ]

    assert len(scans(mailboxes[1], asked)) == 3


@pytest.mark.parametrize("verb", [*VERBS])
def test_a_verb_takes_as_many_steps_in_a_large_mailbox(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Ten times the mail of others makes no difference to one's own (I9)."""
    taken = []
    for mailbox in mailboxes:
        ids = for_reader(mailbox)
        with steps(mailbox) as found:
            VERBS[verb](mailbox.agent("reader"), ids)
        taken.append(len(found))

    small, large = taken
    assert small > 0
    assert large < small * 1.2 + 100
