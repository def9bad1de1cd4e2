"""What a verb asks of the index does not grow with the mailbox (DESIGN I9)."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import GitmailError
from gitmail.mailbox.memory import Memory
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.names import AgentName
from gitmail.records.paths import memory_path
from gitmail.store.view import Plan
from tests.helpers import SettableClock

SMALL, LARGE = 300, 3_000
BOUNDED = {"profile", "registered", "author", "meta", "quarantine", "fresh", "CONSTANT"}
"""Tables that do not grow with the mail, as SQLite names them in a plan."""
KEY_OF_WORDS = re.compile(r"VIRTUAL TABLE INDEX \d+:\S")
"""A full text table that is asked for words or one row; SQLite calls that a scan."""
IN_ORDER = re.compile(r"SCAN m USING INDEX memory_\w+")
BUILDER = AgentName("builder")

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

TEXT = "The walrus sings."
"""A note that stands in each mailbox, and shares no word with those of others."""
MemoryVerb = Callable[[Memory, list[str]], object]
MEMORY_VERBS: dict[str, MemoryVerb] = {
    "set": lambda m, _: m.set("fact", "walrus", "owner", next(FRESH)),
    "set anew": lambda m, _: m.set("fact", next(FRESH), "owner", "x"),
    "set confirmed": lambda m, _: m.set("fact", "Walrus", " STATE", "steady"),
    "set expected": lambda m, _: m.set(
        "fact", "walrus", "owner", next(FRESH), expected=revision(m)
    ),
    "set in vain": lambda m, _: refused(
        lambda: m.set("fact", "walrus", "owner", "x", expected="none")
    ),
    "set from a message": lambda m, ids: m.set(
        "fact", "walrus", "owner", next(FRESH), source=f"message:{ids[0]}"
    ),
    "set and ack": lambda m, ids: m.set(
        "fact", "walrus", "owner", next(FRESH), source=f"message:{ids[1]}", ack=True
    ),
    "add": lambda m, _: m.add("x", tags=["sea"], source="file:a", episode="sea"),
    "get": lambda m, _: m.get("fact", "walrus", "owner"),
    "get an entity": lambda m, _: m.get_entity("fact", "walrus"),
    "list": lambda m, _: m.list(limit=5),
    "list a scope": lambda m, _: m.list("lesson", limit=5),
    "list an entity": lambda m, _: m.list("fact", entity="walrus"),
    "list an entity of any scope": lambda m, _: m.list(entity="walrus"),
    "list a tag": lambda m, _: m.list(tags=["walrus"]),
    "list with what is retired": lambda m, _: m.list(retired=True, limit=5),
    "list an entity with what is retired": lambda m, _: m.list(
        "world", entity="walrus", retired=True
    ),
    "search": lambda m, _: m.search("walrus sings"),
    "search a scope": lambda m, _: m.search("walrus", scopes=["fact", "note"]),
    "search an entity": lambda m, _: m.search("walrus", entity="walrus"),
    "search a tag": lambda m, _: m.search("walrus", tags=["walrus"]),
    "search a source": lambda m, _: m.search("walrus", source="file:walrus"),
    "search by and since": lambda m, _: m.search("walrus", by="reader", since="9h"),
    "search with what is retired": lambda m, _: m.search("walrus", retired=True),
    "supersede": lambda m, _: m.supersede(m.add(next(FRESH)).record.id, next(FRESH)),
    "supersede by text": lambda m, _: m.supersede(
        m.add(next(FRESH)).record.value, next(FRESH), by_text=True
    ),
    "supersede in vain": lambda m, _: refused(lambda: m.supersede("f" * 40, "x")),
    "history of a slot": lambda m, _: m.history("fact", "walrus", "state"),
    "history of an entity": lambda m, _: m.history("world", "walrus"),
    "history of a note": lambda m, _: m.history("note", note(m)),
    "forget a fact": lambda m, _: m.forget("fact", stored(m, "fact")),
    "forget an attribute": lambda m, _: m.forget("fact", stored(m, "fact"), "owner"),
    "retire": lambda m, _: m.forget("world", stored(m, "world"), "owner"),
    "forget a note": lambda m, _: m.forget("note", m.add(next(FRESH)).record.id),
    "forget by text": lambda m, _: m.forget("note", text=m.add("y").record.value),
    "forget by source": lambda m, _: m.forget("note", source=tagged(m, source="s")),
    "forget by episode": lambda m, _: m.forget("note", episode=tagged(m, episode="s")),
    "forget by tag": lambda m, _: m.forget("note", tag=tagged(m, tags="s")),
    "forget by any of all": lambda m, _: m.forget(
        "note", text="s", source="s", episode="s", tag=tagged(m, tags="s")
    ),
    "forget by all of all": lambda m, _: m.forget(
        "note", text="s", source="s", episode="s", tag="s", match="all", dry_run=True
    ),
    "restore a fact": lambda m, _: m.restore("fact", gone(m, "fact"), "owner"),
    "restore a lesson": lambda m, _: m.restore("lesson", gone(m, "lesson"), "owner"),
    "restore a note": lambda m, _: m.restore("note", gone_note(m)),
    "restore a revision": lambda m, _: m.restore(
        "fact", "walrus", "owner", revision=earlier(m)
    ),
}
# Any part of a text is looked for in each note: no index of SQLite's finds it.
READS_ALL_NOTES: dict[str, MemoryVerb] = {
    "forget by substring": lambda m, _: m.forget("note", substring="no such text"),
}
FRESH = (f"fresh {number}" for number in count())
"""Texts and names that nobody used before."""
_OTHERS_AT_A_TIME = 1_000


def revision(memory: Memory) -> str:
    """Return the revision that is in force in a slot."""
    return memory.get("fact", "walrus", "owner").record.id


def earlier(memory: Memory) -> str:
    """Return a revision of that slot that is not in force any more."""
    memory.set("fact", "walrus", "owner", next(FRESH))
    before = revision(memory)
    memory.set("fact", "walrus", "owner", next(FRESH))
    return before


def note(memory: Memory) -> str:
    """Return the id of the note that took over from another."""
    (found,) = memory.search("walrus sings").records
    return found.record.id


def stored(memory: Memory, scope: str) -> str:
    """Return the entity of a new slot."""
    return memory.set(scope, next(FRESH), "owner", "x").record.entity


def gone(memory: Memory, scope: str) -> str:
    """Return the entity of a slot that was forgotten."""
    entity = stored(memory, scope)
    memory.forget(scope, entity)
    return entity


def gone_note(memory: Memory) -> str:
    """Return the id of a note that was forgotten."""
    made = memory.add(next(FRESH)).record.id
    memory.forget("note", made)
    return made


def tagged(memory: Memory, **said: Any) -> str:
    """Return what a new note is found by."""
    memory.add("x", **said)
    (text,) = said.values()
    return str(text)


def refused(act: Callable[[], object]) -> None:
    """Do what is refused."""
    with pytest.raises(GitmailError):
        act()


def remember(mailbox: Mailbox, total: int, clock: SettableClock) -> None:
    """Fill memory with what others know, and with a little that reader does.

    What others know comes in a few commits, each of which changes a part of it again.
    """
    others = [other_record(number, clock) for number in range(total)]
    for start in range(0, total, _OTHERS_AT_A_TIME):
        write(mailbox, others[start : start + _OTHERS_AT_A_TIME], clock)
    again = [replace(each, value="Again.") for each in others if each.entity]
    write(mailbox, again, clock)
    mailbox.register("reader")
    memory = mailbox.agent("reader").memory
    for value in ("new", "shaky", "steady"):
        memory.set("fact", "Walrus", "state", value, tags=["walrus"])
        memory.set("fact", "Walrus", "owner", value, source="file:walrus")
        memory.set("world", "Walrus", "colour", value)
    memory.supersede(memory.add("A walrus hums.", tags=["walrus"]).record.id, TEXT)
    memory.forget("world", "walrus", reason="Extinct.")


def other_record(number: int, clock: SettableClock) -> MemoryRecord:
    """Return a slot or a note of somebody else, of any kind, some of them retired."""
    scope = list(Scope)[number % 4]
    is_note, is_retired = scope is Scope.NOTE, number % 7 == 0
    said: dict[str, Any] = {
        "entity": "" if is_note else f"entity {number // 8}",
        "attribute": "" if is_note else f"attribute {number % 8}",
        "episode": f"episode {number % 40}" if is_note else None,
        "retired_by": BUILDER if is_retired and not is_note else None,
        "retired_at": clock() if is_retired and not is_note else None,
    }
    return MemoryRecord(
        scope=scope,
        value=f"Others know {number}.",
        set_by=BUILDER,
        set_at=clock(),
        source=f"file:{number % 50}",
        tags=(f"tag {number % 30}",),
        **said,
    )


def write(
    mailbox: Mailbox, records: Sequence[MemoryRecord], clock: SettableClock
) -> None:
    """Write many records in one commit."""
    plan = Plan(
        result=None,
        files={memory_path(each): each for each in records},
        operation="memory-set",
        agent=BUILDER,
        moment=clock(),
    )
    mailbox.store.update(lambda _: plan)


def make_mailbox(folder: Path, total: int) -> Mailbox:
    """Return a mailbox of many messages, twenty of them for reader.

    Of the others some are to teams, copied blindly, in a room, or have expired. There
    are as many records of memory as messages.
    """
    clock = SettableClock()
    mailbox = Mailbox.init(folder / ".gitmail", clock=clock)
    # Folding ends by shrinking the index: its thread would be counted, or be in a
    # handler that waits for the interpreter while this one waits to take it away.
    mailbox.store._folds = False
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
        for number in range(total)
    ]
    builder = mailbox.agent("builder")
    builder.send_many(drafts)
    remember(mailbox, total, clock)
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
        make_mailbox(tmp_path_factory.mktemp(f"of-{total}"), total)
        for total in (SMALL, LARGE)
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


def gather_words(mailbox: Mailbox) -> None:
    """Put the full text in one piece, for the number of pieces rises and falls."""
    database = mailbox.store._keeper.index()._db
    for table in ("words", "memory_words"):
        database.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def scans(mailbox: Mailbox, asked: list[str]) -> list[str]:
    """Return the steps that read a table from its start.

    Reading on in the order of an index is none where a limit ends it.
    """
    found = []
    for statement in asked:
        if statement.startswith(("SELECT", "INSERT", "UPDATE", "DELETE")):
            plan = mailbox.store._keeper.index().execute(
                f"EXPLAIN QUERY PLAN {statement}"
            )
            taken = [step for *_, step in plan]
            ends = "LIMIT" in statement and "USE TEMP B-TREE FOR ORDER BY" not in taken
            found += [
                f"{step}: {statement}"
                for step in taken
                if step.startswith("SCAN")
                and step.split()[1] not in BOUNDED
                and not KEY_OF_WORDS.search(step)
                and not (ends and IN_ORDER.search(step))
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
        "SELECT * FROM memory m WHERE m.author = 1",
        "SELECT * FROM revision WHERE made = x'00'",
        "SELECT rowid FROM memory_words WHERE text LIKE '%a%'",
        "SELECT id FROM memory m ORDER BY text LIMIT 5",
    ]

    assert len(scans(mailboxes[1], asked)) == len(asked)


def assert_as_many_steps(
    mailboxes: tuple[Mailbox, Mailbox], act: Callable[[Agent, list[str]], object]
) -> None:
    """Fail where a verb takes more steps in the large mailbox than in the small."""
    taken = []
    for mailbox in mailboxes:
        ids = for_reader(mailbox)
        gather_words(mailbox)
        with steps(mailbox) as found:
            act(mailbox.agent("reader"), ids)
        taken.append(len(found))

    small, large = taken
    assert small > 0
    assert large < small * 1.2 + 100


@pytest.mark.parametrize("verb", [*VERBS])
def test_a_verb_takes_as_many_steps_in_a_large_mailbox(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Ten times the mail of others makes no difference to one's own (I9)."""
    assert_as_many_steps(mailboxes, VERBS[verb])


@pytest.mark.parametrize("verb", [*MEMORY_VERBS])
def test_no_verb_of_memory_reads_a_table_from_its_start(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Each statement finds its rows by a key (I9)."""
    _, large = mailboxes
    ids = for_reader(large)

    with statements(large) as asked:
        MEMORY_VERBS[verb](large.agent("reader").memory, ids)

    assert len(asked) > 2
    assert scans(large, asked) == []


@pytest.mark.parametrize("verb", [*READS_ALL_NOTES])
def test_what_reads_all_notes_reads_nothing_else(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Slots and messages are not looked at."""
    _, large = mailboxes

    with statements(large) as asked:
        READS_ALL_NOTES[verb](large.agent("reader").memory, [])

    assert len(asked) > 2
    assert scans(large, asked) == []


@pytest.mark.parametrize("verb", [*MEMORY_VERBS])
def test_a_verb_of_memory_takes_as_many_steps_in_a_large_one(
    mailboxes: tuple[Mailbox, Mailbox], verb: str
) -> None:
    """Ten times the memory of others makes no difference (I9)."""
    assert_as_many_steps(
        mailboxes, lambda agent, ids: MEMORY_VERBS[verb](agent.memory, ids)
    )
