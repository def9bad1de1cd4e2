"""Where a value is from, and acknowledging it in the same commit (CAPABILITIES Y11)."""

from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    GitmailError,
    InvalidArgumentError,
    InvalidNameError,
    MessageNotFoundError,
)
from gitmail.mailbox.memory_values import Outcome
from tests.helpers import SettableClock, git
from tests.mailboxes import pending, refused, reopened, tip


@pytest.fixture(name="message")
def _message(mailbox: Mailbox) -> str:
    """Return the id of a message from lead to builder."""
    lead = mailbox.agent("lead")
    return lead.send(to="builder", body="The parser is yours.").message.id


def changed(mailbox: Mailbox, commit: str) -> list[str]:
    """Return kind and path of what a commit changed, as git tells."""
    shown = git(mailbox.path, "show", "--format=", "--name-status", commit)
    return shown.replace("\t", " ").splitlines()


def trailers(mailbox: Mailbox, commit: str) -> list[str]:
    """Return the trailers of a commit, as git reads them."""
    shown = git(mailbox.path, "log", "-1", "--format=%(trailers:only)", commit)
    return shown.split("\n")[:-2]


def test_a_fact_cites_a_message_and_acknowledges_it_in_one_commit(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """Who handles mail by remembering it needs one call (Y11)."""
    commits = mailbox.status().commit_count

    stored = builder.memory.set(
        "fact", "parser", "owner", "builder", source=f"message:{message}", ack=True
    )

    assert mailbox.status().commit_count == commits + 1
    assert stored.acked == message
    assert stored.record.source == f"message:{message}"
    assert pending(builder) == []
    assert builder.read(message).state == "acked"
    commit = str(stored.commit)
    assert changed(mailbox, commit) == [
        "A memory/facts/parser/owner.md",
        f"A receipts/builder/2026-11/30/14/{message}.acked.md",
    ]
    assert trailers(mailbox, commit) == [
        "Gitmail-Op: memory-set",
        "Gitmail-Agent: builder",
        "Gitmail-Op: ack",
        f"Gitmail-Message: {message}",
    ]


def test_the_log_has_such_a_commit_under_both_operations(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """Whoever asks for acknowledgements finds it, and whoever asks for memory."""
    stored = builder.memory.set(
        "fact", "parser", "owner", "builder", source=f"message:{message}", ack=True
    )

    for operation in ("ack", "memory-set"):
        (entry,) = mailbox.log(op=operation)
        assert entry.commit == stored.commit
        assert entry.messages == (message,)
        assert entry.subject == "facts/parser/owner"


def test_confirming_a_value_and_acknowledging_writes_only_the_receipt(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """The value is in force already, the message is not yet handled (Y3, Y11)."""
    source = f"message:{message}"
    before = builder.memory.set("fact", "x", "y", "1", source=source).record

    stored = builder.memory.set("fact", "x", "y", "1", source=source, ack=True)

    assert stored.outcome is Outcome.CONFIRMED
    assert (stored.acked, stored.record) == (message, before)
    assert stored.commit == tip(mailbox)
    (path,) = changed(mailbox, str(stored.commit))
    assert path == f"A receipts/builder/2026-11/30/14/{message}.acked.md"
    assert len(builder.memory.history("fact", "x", "y").revisions) == 1


def test_a_message_that_was_acknowledged_before_is_no_obstacle(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """Nothing is acknowledged twice, and the answer does not say so (K1)."""
    builder.ack(message)
    said = {"source": f"message:{message}", "ack": True}

    stored = builder.memory.set("fact", "x", "y", "1", **said)  # type: ignore[arg-type]
    assert (stored.outcome, stored.acked) == (Outcome.INSERTED, None)
    assert changed(mailbox, str(stored.commit)) == ["A memory/facts/x/y.md"]

    before = tip(mailbox)
    again = builder.memory.set("fact", "x", "y", "1", **said)  # type: ignore[arg-type]
    assert (again.outcome, again.acked, again.commit) == (
        Outcome.CONFIRMED,
        None,
        None,
    )
    assert tip(mailbox) == before


def test_a_message_that_was_read_can_be_acknowledged(
    builder: Agent, message: str
) -> None:
    """Its stage rises (K1)."""
    builder.ack(message, stage="read")

    stored = builder.memory.set(
        "lesson", "x", "y", "1", source=f"message:{message[:8]}", ack=True
    )

    assert stored.acked == message
    assert builder.read(message).state == "acked"


def test_a_stale_set_acknowledges_nothing(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """All or nothing (I5)."""
    builder.memory.set("fact", "x", "y", "0")

    problem = refused(
        mailbox,
        builder.memory.set,
        "fact",
        "x",
        "y",
        "1",
        source=f"message:{message}",
        ack=True,
        expected="none",
    )

    assert problem.code == "stale_revision"
    assert pending(builder) == ["The parser is yours."]


def test_only_what_was_delivered_to_the_caller_can_be_acknowledged(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """Seeing is not enough: neither the sender nor a later member has it (K3)."""
    lead = mailbox.agent("lead")
    team = builder.send(to="team:core", body="To the team.").message.id
    mailbox.register("late", teams=["core"])
    late = mailbox.agent("late")
    for agent, found in ((lead, message), (late, team)):
        source = f"message:{found}"
        assert agent.memory.set("fact", "x", agent.name, "1", source=source).commit

        problem = refused(
            mailbox, agent.memory.set, "fact", "x", "z", "1", source=source, ack=True
        )

        assert isinstance(problem, InvalidArgumentError)
        assert problem.details["argument"] == "ack"
        assert problem.details["value"] == found


@pytest.mark.parametrize("source", [None, "file:a.py", "https://example.org/", "me"])
def test_only_a_message_can_be_acknowledged(
    mailbox: Mailbox, builder: Agent, source: str | None
) -> None:
    """The error says how a message is cited (Y11)."""
    problem = refused(
        mailbox, builder.memory.set, "fact", "x", "y", "1", source=source, ack=True
    )

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "ack"
    assert "message:ID" in problem.message


def test_a_message_that_the_caller_may_not_see_is_no_source(
    mailbox: Mailbox, reviewer: Agent, message: str
) -> None:
    """It is as if it were not there, by each verb that takes a source (R16)."""
    for found in (message, message[:8], "0" * 40):
        source = f"message:{found}"
        for act, args in (
            (reviewer.memory.set, ("fact", "x", "y", "1")),
            (reviewer.memory.add, ("a note",)),
        ):
            problem = refused(mailbox, act, *args, source=source)
            assert isinstance(problem, MessageNotFoundError)
            assert problem.details == {"id": found}
        problem = refused(
            mailbox, reviewer.memory.set, "fact", "x", "y", "1", source=source, ack=True
        )
        assert isinstance(problem, MessageNotFoundError)


@pytest.mark.parametrize("text", ["message:", "message:abc", "message:not an id"])
def test_a_message_is_cited_by_its_id(
    mailbox: Mailbox, builder: Agent, text: str
) -> None:
    """A slip of the pen is not taken for free text (Y2)."""
    problem = refused(mailbox, builder.memory.set, "fact", "x", "y", "1", source=text)

    assert isinstance(problem, InvalidNameError)


@pytest.mark.parametrize("prefix", ["message:", "MESSAGE:", "Message: "])
def test_the_short_id_of_a_message_is_stored_in_full(
    builder: Agent, message: str, prefix: str
) -> None:
    """What is unique today may not be tomorrow (A8)."""
    source = f"{prefix}{message[:9].upper()}"

    note = builder.memory.add("a note", source=source).record
    slot = builder.memory.set("world", "x", "y", "1", source=source).record

    assert note.source == slot.source == f"message:{message}"
    again = builder.memory.set("world", "x", "y", "1", source=source)
    assert again.outcome is Outcome.CONFIRMED


@pytest.mark.parametrize(
    "source",
    [
        "file:src/parser.py",
        "file:src/parser.py@0123abc",
        "file:src/a b@c.py",
        "file:../outside",
        "https://example.org/a?b=c#d",
        "ssh://host/x",
        "the meeting on Monday: everybody agreed",
        "# not a comment",
        "- x",
        "null",
        "x" * 1000,
        "\N{ROCKET}" * 1000,
    ],
)
def test_other_sources_are_kept_as_they_are(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, source: str
) -> None:
    """A file, a URL or free text; nothing is looked up (I8)."""
    builder.memory.add("a note", source=source)
    builder.memory.set("fact", "x", "y", "1", source=f" {source} ")

    with reopened(mailbox, clock) as other:
        memory = other.agent("builder").memory
        assert other.status().quarantine == ()
        assert memory.get("fact", "x", "y").record.source == source
        assert [r.record.source for r in memory.list("note").records] == [source]


@pytest.mark.parametrize("source", ["file:", "FILE: ", "file:@0123abc"])
def test_a_file_has_a_path(mailbox: Mailbox, builder: Agent, source: str) -> None:
    """The error says how a file is cited (Y2)."""
    problem = refused(mailbox, builder.memory.set, "fact", "x", "y", "1", source=source)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "source"
    assert problem.details["accepted"] == "file:PATH or file:PATH@COMMIT"


def test_citing_a_message_gives_nobody_a_right_to_see_it(
    builder: Agent, reviewer: Agent, message: str
) -> None:
    """Others see the id in memory, and that is all (R16)."""
    builder.memory.set("fact", "x", "y", "1", source=f"message:{message}")

    cited = reviewer.memory.get("fact", "x", "y").record.source
    assert cited == f"message:{message}"
    with pytest.raises(GitmailError) as caught:
        reviewer.read(message)
    assert caught.value.code == "not_found"


@pytest.mark.parametrize("viewer", ["reviewer", "stranger"])
def test_the_log_of_others_hides_which_mail_was_acknowledged(
    mailbox: Mailbox, builder: Agent, message: str, viewer: str
) -> None:
    """What was done to memory is everybody's, also by path (V1, R16)."""
    said: Any = {"source": f"message:{message}", "ack": True}
    stored = builder.memory.set("fact", "parser", "owner", "builder", **said)

    for filters in ({"op": "memory-set"}, {"path": "memory/facts"}):
        (entry,) = mailbox.log(viewer=viewer, **filters)  # type: ignore[arg-type]
        assert entry.commit == stored.commit
        assert entry.operation == "memory-set"
        assert (entry.subject, entry.messages) == ("facts/parser/owner", ())
    assert mailbox.log(viewer=viewer, path="receipts/builder") == []
    for knower in ("lead", "builder", None):
        (entry,) = mailbox.log(viewer=knower, op="memory-set")
        assert entry.messages == (message,)


def test_everybody_sees_in_the_log_what_is_done_to_memory(
    mailbox: Mailbox, builder: Agent
) -> None:
    """By whom, what and why, also of notes (V1)."""
    memory = builder.memory
    memory.set("fact", "parser", "owner", "builder")
    memory.forget("fact", "parser", reason="moved away")
    memory.restore("fact", "parser", "owner", reason="back again")
    memory.set("world", "python", "latest", "3.14")
    memory.forget("world", "python", "latest", reason="wrong")
    note = memory.add("a note").record.id
    memory.supersede(note, "a better note")

    entries = mailbox.log(viewer="lead", path="memory")

    assert {entry.agent for entry in entries} == {"builder"}
    shown = [(e.operation, e.subject) for e in entries]
    assert [operation for operation, _ in shown[:2]] == [
        "memory-supersede",
        "memory-add",
    ]
    assert shown[2:] == [
        ("memory-retire", "world/python/latest: wrong"),
        ("memory-set", "world/python/latest"),
        ("memory-restore", "facts/parser/owner: back again"),
        ("memory-forget", "facts/parser: moved away"),
        ("memory-set", "facts/parser/owner"),
    ]


def test_what_cites_a_message_is_found_by_a_short_id_of_it(
    mailbox: Mailbox, builder: Agent, message: str
) -> None:
    """Who may not see the mail can only name it whole."""
    lead, reviewer = mailbox.agent("lead"), mailbox.agent("reviewer")
    builder.memory.set("fact", "parser", "owner", "me", source=f"message:{message}")
    builder.memory.add("It is mine.", source=f"message:{message}")
    short, whole = f"message:{message[:8]}", f"message:{message}"

    for agent, source, count in (
        (builder, short, 2),
        (lead, f"Message:{message[:12]}", 2),
        (reviewer, short, 0),
        (reviewer, whole, 2),
    ):
        assert len(agent.memory.search(source=source).records) == count
    assert reviewer.memory.forget("note", source=short, dry_run=True).count == 0
    assert builder.memory.forget("note", source=short).count == 1
