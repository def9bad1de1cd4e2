"""Restoring what was retired, removed or superseded, from git's history (Y7)."""

from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AlreadyInForceError,
    AmbiguousIdError,
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
    MemoryNotFoundError,
)
from gitmail.mailbox.memory_values import Outcome
from tests.helpers import SettableClock, files_in_tip, git
from tests.mailboxes import by_hand, copied, edit, refused, reopened, steps, tip, values

SCOPES = ("fact", "world", "lesson")


def pass_time(mailbox: Mailbox, clock: SettableClock, months: int = 3) -> None:
    """Let other things happen: mail, and memory of other names."""
    lead = mailbox.agent("lead")
    for month in range(months):
        clock.advance(days=30)
        for number in range(4):
            lead.send(to="builder", body=f"Message {month}.{number}")
            lead.memory.add(f"Other note {month}.{number}")
            lead.memory.set("fact", "other", "x", f"{month}.{number}")


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_forgotten_comes_back(
    mailbox: Mailbox,
    builder: Agent,
    reviewer: Agent,
    clock: SettableClock,
    scope: str,
) -> None:
    """A deleted fact and a retired slot alike, months and commits later (Y7)."""
    said: Any = {"source": "s", "confidence": 0.5, "tags": "t"}
    before = builder.memory.set(scope, "Parser X", "Owner", "builder", **said).record
    builder.memory.forget(scope, "parser x", reason="a mistake")
    pass_time(mailbox, clock)

    with reopened(mailbox, clock) as other:
        stored = other.agent("reviewer").memory.restore(
            scope, "parser x", "owner", reason="it was right"
        )

    record = reviewer.memory.get(scope, "PARSER X", "owner").record
    assert stored.outcome is Outcome.RESTORED
    assert stored.record == record
    assert (record.entity, record.attribute, record.value) == (
        before.entity,
        before.attribute,
        before.value,
    )
    assert (record.source, record.confidence, record.tags) == ("s", 0.5, ("t",))
    assert (record.set_by, record.reason) == ("reviewer", "it was right")
    assert record.set_at > before.set_at
    assert not record.is_retired
    assert record.retired_by is None
    assert values(builder.memory.search("builder", scopes=[scope])) == ["builder"]
    assert mailbox.log(limit=1)[0].operation == "memory-restore"


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("digits", [8, 40])
def test_any_earlier_revision_comes_back(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, scope: str, digits: int
) -> None:
    """By its id or a prefix, over the value that is in force (Y7)."""
    records = [
        builder.memory.set(scope, "x", "y", value, tags=value).record
        for value in ("1", "2", "3")
    ]
    pass_time(mailbox, clock)

    stored = builder.memory.restore(
        scope, "X", "Y", revision=records[0].id[:digits].upper()
    )

    assert stored.outcome is Outcome.RESTORED
    assert (stored.record.value, stored.record.tags) == ("1", ("1",))
    assert stored.record.supersedes == records[2].id
    assert builder.memory.get(scope, "x", "y").record == stored.record


def test_each_version_of_a_deleted_fact_comes_back(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Not only the last one (Y7)."""
    ids = [builder.memory.set("fact", "x", "y", v).record.id for v in ("1", "2")]
    builder.memory.forget("fact", "x")
    pass_time(mailbox, clock, 1)

    for revision, value in zip(ids, ("1", "2"), strict=True):
        stored = builder.memory.restore("fact", "x", "y", revision=revision)
        assert stored.record.value == value
        builder.memory.forget("fact", "x")
    # The last one that was in force, whatever came back before.
    assert builder.memory.restore("fact", "x", "y").record.value == "2"


def test_the_version_from_before_a_retirement_comes_back(builder: Agent) -> None:
    """And so does the retired one itself: it has the same value (Y7)."""
    memory = builder.memory
    first = memory.set("world", "x", "y", "1").record.id
    memory.set("world", "x", "y", "2")
    memory.forget("world", "x")
    (retired,) = memory.list(retired=True).records

    for revision, value in ((first, "1"), (retired.record.id, "2")):
        record = memory.restore("world", "x", "y", revision=revision).record
        assert (record.value, record.is_retired) == (value, False)
        assert memory.get("world", "x", "y").record == record


@pytest.mark.parametrize("scope", SCOPES)
def test_a_value_in_force_is_only_replaced_by_a_named_revision(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """The error names what is in force (Y7)."""
    builder.memory.set(scope, "x", "y", "1")
    builder.memory.forget(scope, "x")
    newer = builder.memory.set(scope, "x", "y", "2").record

    problem = refused(mailbox, builder.memory.restore, scope, "X", "y")

    assert isinstance(problem, AlreadyInForceError)
    assert problem.code == "already_in_force"
    assert problem.details == {"name": f"{scope} X y", "revision": newer.id}
    assert builder.memory.get(scope, "x", "y").record == newer


def test_restoring_the_revision_in_force_is_confirmed(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Without a commit, so that it may be repeated (Y3)."""
    revision = builder.memory.set("fact", "x", "y", "1").record.id
    before = tip(mailbox)

    stored = builder.memory.restore("fact", "x", "y", revision=revision)

    assert (stored.outcome, stored.commit) == (Outcome.CONFIRMED, None)
    assert tip(mailbox) == before


def test_what_was_restored_can_be_forgotten_again(builder: Agent) -> None:
    """As often as people change their minds (Y7)."""
    memory = builder.memory
    for scope in SCOPES:
        memory.set(scope, "x", "y", "1")
        for _ in range(3):
            memory.forget(scope, "x", "y")
            assert memory.restore(scope, "x", "y").commit
        assert memory.get(scope, "x", "y").record.value == "1"
        assert len(memory.history(scope, "x", "y").revisions) == 7


def test_a_restored_slot_is_not_contested(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Somebody has decided (DESIGN 10)."""
    record = builder.memory.set("world", "x", "y", "1").record
    text = record.data.decode().replace("\n---\n", f"\ncontested: [{'a' * 40}]\n---\n")
    edit(mailbox.path, tmp_path / "work", {"memory/world/x/y.md": text})
    contested = builder.memory.get("world", "x", "y").record
    builder.memory.forget("world", "x")

    restored = builder.memory.restore("world", "x", "y", revision=contested.id)

    assert contested.contested
    assert restored.record.contested == ()


@pytest.mark.parametrize("scope", SCOPES)
def test_what_was_never_there_cannot_be_restored(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """Neither a slot nor a revision; that of another slot is none of this (Y7)."""
    builder.memory.set(scope, "x", "y", "1")
    other = builder.memory.set(scope, "x", "other", "1").record.id
    mail = builder.send(to="lead", body="mail").message.id
    restore = builder.memory.restore

    problem = refused(mailbox, restore, scope, "x", "z")
    assert isinstance(problem, MemoryNotFoundError)
    assert problem.details["was_there"] is False
    for revision in ("0" * 40, other, other[:8], mail, tip(mailbox)):
        problem = refused(mailbox, restore, scope, "x", "y", revision=revision)
        assert isinstance(problem, MemoryNotFoundError)
        assert problem.details["what"] == f"revision of {scope} x y"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"revision": ""}, InvalidNameError),
        ({"revision": "abc"}, InvalidNameError),
        ({"revision": "HEAD~1"}, InvalidNameError),
        ({"revision": "a" * 41}, InvalidNameError),
        ({"revision": 5}, InvalidNameError),
        ({"reason": ""}, InvalidArgumentError),
        ({"reason": "x" * 201}, InvalidArgumentError),
        ({"reason": "a\nb"}, InvalidTextError),
    ],
)
def test_what_is_said_about_restoring_is_checked(
    mailbox: Mailbox, builder: Agent, said: dict[str, Any], error: type
) -> None:
    """The error says what is accepted (Y7)."""
    builder.memory.set("fact", "x", "y", "1")
    builder.memory.forget("fact", "x")

    problem = refused(mailbox, builder.memory.restore, "fact", "x", "y", **said)

    assert isinstance(problem, error)


def test_a_revision_that_fits_two_is_ambiguous(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Where only the first digits are given (A8)."""
    one, two = (builder.memory.set("fact", "x", "y", v).record.id for v in "12")
    like = bytes.fromhex(one[:10] + "0" * 30)
    index = mailbox.store._keeper.index()
    index.execute("UPDATE revision SET id = ? WHERE id = ?", (like, bytes.fromhex(two)))

    problem = refused(
        mailbox, builder.memory.restore, "fact", "x", "y", revision=one[:8]
    )

    assert isinstance(problem, AmbiguousIdError)
    assert "2 revisions" in problem.message


@pytest.mark.parametrize("digits", [8, 40])
def test_a_forgotten_note_comes_back(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, digits: int
) -> None:
    """As it was, at its path, with its id, months and commits later (Y7)."""
    note = builder.memory.add("a word", tags="t", episode="e", source="s").record
    before = files_in_tip(mailbox.path)
    builder.memory.forget("note", note.id, reason="junk")
    pass_time(mailbox, clock)

    with reopened(mailbox, clock) as other:
        stored = other.agent("lead").memory.restore(
            "note", note.id[:digits], reason="no junk"
        )

    assert (stored.outcome, stored.record) == (Outcome.RESTORED, note)
    assert before.items() <= files_in_tip(mailbox.path).items()
    assert values(builder.memory.search("word", tags="t")) == ["a word"]
    entry = mailbox.log(limit=1)[0]
    assert (entry.agent, entry.operation) == ("lead", "memory-restore")
    assert entry.subject.endswith(": no junk")


def test_a_superseded_note_comes_back_beside_the_new_one(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Months later, with its id as its revision (Y7)."""
    old = builder.memory.add("old").record.id
    new = builder.memory.supersede(old, "new").record.id
    pass_time(mailbox, clock)

    assert builder.memory.restore("note", old).record.id == old

    found = builder.memory.list("note", limit=200).records
    assert {old, new} <= {each.record.id for each in found}
    assert builder.memory.supersede(old, "newer").commit


def test_many_forgotten_notes_come_back_one_by_one(builder: Agent) -> None:
    """A single commit took them (Y4, Y7)."""
    ids = [builder.memory.add(str(n), tags="x").record.id for n in range(5)]
    builder.memory.forget("note", tag="x")

    for note in ids[1:4]:
        builder.memory.restore("note", note)

    assert values(builder.memory.list("note")) == ["3", "2", "1"]


def test_a_note_in_force_is_not_restored(mailbox: Mailbox, builder: Agent) -> None:
    """Also when it is for the second time (Y7)."""
    note = builder.memory.add("a note").record.id
    builder.memory.forget("note", note)
    builder.memory.restore("note", note)

    problem = refused(mailbox, builder.memory.restore, "note", note[:8])

    assert isinstance(problem, AlreadyInForceError)
    assert problem.details["revision"] == note


@pytest.mark.parametrize(
    ("note", "error"),
    [
        ("0" * 40, MemoryNotFoundError),
        ("deadbeef", MemoryNotFoundError),
        ("abc", InvalidNameError),
        ("", InvalidNameError),
        (None, InvalidNameError),
    ],
)
def test_a_note_that_never_was_cannot_be_restored(
    mailbox: Mailbox, builder: Agent, note: Any, error: type
) -> None:
    """The error says whether it is no id or none of memory's (Y7)."""
    builder.memory.forget("note", builder.memory.add("a note").record.id)

    assert isinstance(refused(mailbox, builder.memory.restore, "note", note), error)


def test_a_note_has_no_other_revision(mailbox: Mailbox, builder: Agent) -> None:
    """Its id is its only one (Y7)."""
    note = builder.memory.add("a note").record.id
    builder.memory.forget("note", note)

    problem = refused(mailbox, builder.memory.restore, "note", note, revision=note)

    assert problem.details["argument"] == "revision"


@pytest.mark.parametrize("scope", ["fact", "world"])
def test_what_a_person_deleted_by_hand_comes_back(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, scope: str
) -> None:
    """Whichever way it left the tree, git has it (Y7)."""
    builder.memory.set(scope, "x", "y", "1")
    note = builder.memory.add("a note").record.id
    by_hand(
        mailbox.path, tmp_path / "work", lambda work: git(work, "rm", "-rq", "memory")
    )
    assert builder.memory.list(retired=True).records == ()

    builder.memory.restore(scope, "x", "y")
    builder.memory.restore("note", note)

    assert sorted(values(builder.memory.list())) == ["1", "a note"]


def test_a_version_that_a_person_wrote_comes_back(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It is a version like any other, with its unknown keys (DESIGN 5)."""
    text = (
        "---\nscope: fact\nentity: x\nattribute: y\nset_by: lead\n"
        "set_at: 2026-11-30T14:00:00Z\nx-mine: 1\n---\n\nby hand\n"
    )
    edit(mailbox.path, tmp_path / "work", {"memory/facts/x/y.md": text})
    revision = builder.memory.get("fact", "x", "y").record.id
    builder.memory.set("fact", "x", "y", "by an agent")

    stored = builder.memory.restore("fact", "x", "y", revision=revision[:8])

    assert stored.record.value == "by hand"
    assert stored.record.set_by == "builder"
    assert "x-mine: 1" in stored.record.data.decode()


def test_a_nonsense_version_is_passed_over(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """The last one that can be read comes back; asked for by id it is none (Y7)."""
    path = "memory/facts/x/y.md"
    builder.memory.set("fact", "x", "y", "sense")
    edit(mailbox.path, tmp_path / "one", {path: "nonsense"})
    nonsense = files_in_tip(mailbox.path)[path]
    edit(mailbox.path, tmp_path / "two", {path: None})

    problem = refused(
        mailbox, builder.memory.restore, "fact", "x", "y", revision=nonsense
    )
    assert isinstance(problem, MemoryNotFoundError)
    assert builder.memory.restore("fact", "x", "y").record.value == "sense"


@pytest.mark.parametrize("scope", ["fact", "world"])
def test_what_was_in_force_comes_back_also_where_a_merge_took_the_older_value(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, clock: SettableClock, scope: str
) -> None:
    """A person settled a conflict; the newer value was never in force after it."""
    builder.memory.set(scope, "x", "y", "1")
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    clock.advance(minutes=1)
    with Mailbox.open(twin, clock=clock) as other:
        other.agent("lead").memory.set(scope, "x", "y", "older")
    clock.advance(minutes=1)
    builder.memory.set(scope, "x", "y", "newer")
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(mailbox.path), str(work))
    git(work, "pull", "-q", "--no-rebase", str(twin), "gitmail", check=False)
    git(work, "checkout", "-q", "--theirs", "memory")
    git(work, "commit", "-q", "-a", "-m", "The older one is right")
    git(work, "push", "-q", "origin", "HEAD:gitmail")
    assert builder.memory.get(scope, "x", "y").record.value == "older"
    builder.memory.forget(scope, "x")

    assert builder.memory.restore(scope, "x", "y").record.value == "older"


def test_a_slot_that_never_made_sense_cannot_be_restored(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Nothing in its history is a value (Y7)."""
    path = "memory/facts/x/y.md"
    edit(mailbox.path, tmp_path / "one", {path: "nonsense"})
    edit(mailbox.path, tmp_path / "two", {path: None})

    problem = refused(mailbox, builder.memory.restore, "fact", "x", "y")
    assert isinstance(problem, MemoryNotFoundError)
    assert steps(builder.memory.history("fact", "x", "y")) == [
        (None, None),
        (None, None),
    ]


def test_restoring_what_is_in_force_already_writes_nothing(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Also where it came into force again since: a retry makes no second commit."""
    memory = builder.memory
    first = memory.set("fact", "parser", "owner", "1").record.id
    memory.set("fact", "parser", "owner", "2")
    memory.restore("fact", "parser", "owner", revision=first)
    before = tip(mailbox)

    again = memory.restore("fact", "parser", "owner", revision=first)

    assert again.outcome == "confirmed"
    assert tip(mailbox) == before
