"""Acknowledging: stages, many ids at once, notes, receipts (CAPABILITIES K)."""

from pathlib import Path

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    InvalidArgumentError,
    InvalidTextError,
    MessageNotFoundError,
    NotRegisteredError,
)
from gitmail.mailbox.values import AckOutcome, AckResult
from gitmail.records.receipt import Stage
from tests.helpers import SettableClock, files_in_tip
from tests.mailboxes import edit, pending, refused, reopened, team, tip

PENDING, READ, ACKED = Stage
UPDATED, UNCHANGED, NOT_FOUND, CONFLICT = AckOutcome


def send(agent: Agent, count: int) -> list[str]:
    """Send that many messages to reviewer, and return their ids."""
    said = [{"to": "reviewer", "body": str(number)} for number in range(count)]
    return [sent.message.id for sent in agent.send_many(said)]


def test_stages_rise_and_never_fall(builder: Agent, reviewer: Agent) -> None:
    """Read, then acked; reading again afterwards changes nothing (K1)."""
    (message,) = send(builder, 1)

    steps = [reviewer.ack(message, stage=stage) for stage in ("read", "ACKED", "read")]

    results = [step.results[0] for step in steps]
    assert results == [
        AckResult(id=message, outcome=UPDATED, before=PENDING, after=READ),
        AckResult(id=message, outcome=UPDATED, before=READ, after=ACKED),
        AckResult(id=message, outcome=UNCHANGED, before=ACKED, after=ACKED),
    ]
    assert [step.commit is not None for step in steps] == [True, True, False]
    assert reviewer.read(message).state is ACKED


def test_acked_may_come_without_read(builder: Agent, reviewer: Agent) -> None:
    """Handling includes reading (K1)."""
    (message,) = send(builder, 1)

    reviewer.ack(message)

    line = builder.receipts(message).lines[0]
    assert (line.state, line.read_at) == (ACKED, None)
    assert pending(reviewer) == []


def test_mail_that_was_read_stays_pending(builder: Agent, reviewer: Agent) -> None:
    """It leaves the unread, not the unacknowledged (K1, R2)."""
    (message,) = send(builder, 1)

    reviewer.ack(message, stage="read")

    assert [item.state for item in reviewer.poll().items] == [READ]
    assert reviewer.poll(show="unread").items == ()


def test_many_ids_are_one_commit(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Up to 64 of them, each with its result (K2)."""
    messages = send(builder, 64)
    before = mailbox.status().commit_count

    acked = reviewer.ack(messages)

    assert [result.id for result in acked.results] == messages
    assert {result.outcome for result in acked.results} == {UPDATED}
    assert mailbox.status().commit_count == before + 1
    assert mailbox.log(limit=1)[0].messages == tuple(messages)
    assert pending(reviewer) == []


@pytest.mark.parametrize("count", [0, 65])
def test_fewer_than_one_and_more_than_64_ids_are_refused(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, count: int
) -> None:
    """The error names the range, and nothing is acknowledged (K2)."""
    messages = send(builder, count) if count else []

    problem = refused(mailbox, reviewer.ack, messages)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["accepted"] == "1 to 64 in one call"


def test_one_bad_id_does_not_fail_the_rest(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Each id has its own result, in the order given (K2)."""
    first, second = send(builder, 2)
    private = builder.send(to="lead", body="x").message.id
    own = reviewer.send(to="lead", body="x").message.id

    acked = reviewer.ack(
        [first, "f" * 40, private, own, "rubbish", "", second[:8].upper()]
    )

    assert acked.results == (
        AckResult(id=first, outcome=UPDATED, before=PENDING, after=ACKED),
        AckResult(id="f" * 40, outcome=NOT_FOUND),
        AckResult(id=private, outcome=NOT_FOUND),
        AckResult(id=own, outcome=CONFLICT),
        AckResult(id="rubbish", outcome=NOT_FOUND),
        AckResult(id="", outcome=NOT_FOUND),
        AckResult(id=second, outcome=UPDATED, before=PENDING, after=ACKED),
    )
    assert len([p for p in files_in_tip(mailbox.path) if p.endswith("acked.md")]) == 2


def test_nothing_but_bad_ids_writes_nothing(mailbox: Mailbox, reviewer: Agent) -> None:
    """The answer has no commit (K2)."""
    before = tip(mailbox)

    acked = reviewer.ack(["f" * 40, "rubbish"])

    assert acked.commit is None
    assert tip(mailbox) == before


def test_duplicates_collapse(builder: Agent, reviewer: Agent) -> None:
    """A prefix and the whole id are the same message (K2)."""
    (message,) = send(builder, 1)

    acked = reviewer.ack([message, message[:10], message.upper(), f" {message} "])

    assert acked.results == (
        AckResult(id=message, outcome=UPDATED, before=PENDING, after=ACKED),
    )


def test_only_recipients_may_ack(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Neither the sender nor who joined the team later (K3)."""
    message = builder.send(to="team:core", body="x").message.id
    team(mailbox, "core", "late")

    for agent in (builder, mailbox.agent("late")):
        acked = agent.ack(message)
        assert acked.results == (AckResult(id=message, outcome=CONFLICT),)
        assert acked.commit is None
    assert reviewer.ack(message).commit


def test_each_recipient_acks_for_itself(mailbox: Mailbox, builder: Agent) -> None:
    """Also for team mail, copies and blind copies (K3, K6)."""
    team(mailbox, "core", "one", "two")
    message = builder.send(to="team:core", cc="lead", bcc="builder", body="x")

    mailbox.agent("two").ack(message.message.id)
    builder.ack(message.message.id, stage="read")

    lines = builder.receipts(message.message.id).lines
    assert {line.name: (line.kind, line.state) for line in lines} == {
        "one": ("to", PENDING),
        "two": ("to", ACKED),
        "reviewer": ("to", PENDING),
        "lead": ("cc", PENDING),
        "builder": ("bcc", READ),
    }


def test_repeating_writes_nothing_and_keeps_the_first_time(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """A receipt is written once (K4, I3)."""
    (message,) = send(builder, 1)
    reviewer.ack(message, note="First.")
    line = builder.receipts(message).lines[0]
    before = tip(mailbox)
    clock.advance(hours=1)

    again = reviewer.ack(message, note="Second.")

    assert again.commit is None
    assert again.results[0].outcome is UNCHANGED
    assert tip(mailbox) == before
    assert builder.receipts(message).lines == (line,)
    assert line.note == "First."


def test_the_sender_sees_stages_times_and_notes(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Per recipient, from the receipts alone (K5, K6)."""
    (message,) = send(builder, 1)
    clock.advance(minutes=5)
    reviewer.ack(message, stage="read", note="I see it.")
    read_at = clock.now
    assert builder.receipts(message).lines[0].note == "I see it."
    clock.advance(minutes=5)
    reviewer.ack(message, note="---\nDone,\r\nwith *care*.\n")

    line = builder.receipts(message).lines[0]

    assert (line.state, line.read_at, line.acked_at) == (ACKED, read_at, clock.now)
    assert line.note == "---\nDone,\r\nwith *care*.\n"


def test_receipts_are_the_same_without_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """They are files of the tip (I1, K6)."""
    first, second, _ = send(builder, 3)
    reviewer.ack([first, second], stage="read", note="Seen.")
    reviewer.ack(first)

    expected = [builder.receipts(message) for message in (first, second)]
    with reopened(mailbox, clock) as other:
        found = [
            other.agent("builder").receipts(message) for message in (first, second)
        ]
        states = [item.state for item in other.agent("reviewer").poll(show="any").items]

    assert found == expected
    assert states == [ACKED, READ, PENDING]


@pytest.mark.parametrize("note", ["é" * 2048, "", " "])
def test_a_note_may_be_long_or_empty(
    builder: Agent, reviewer: Agent, note: str
) -> None:
    """Up to 4,096 bytes of UTF-8 (K5)."""
    (message,) = send(builder, 1)

    reviewer.ack(message, note=note)

    assert builder.receipts(message).lines[0].note == note


def test_a_note_that_is_too_long_or_cannot_be_stored_is_refused(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Nothing is acknowledged then (K5)."""
    (message,) = send(builder, 1)

    long = refused(mailbox, reviewer.ack, message, note="é" * 2049)
    foul = refused(mailbox, reviewer.ack, message, note="a\ud800")

    assert isinstance(long, InvalidArgumentError)
    assert isinstance(foul, InvalidTextError)
    assert pending(reviewer) == ["0"]


@pytest.mark.parametrize("stage", ["pending", "done", "", "withdrawn", None])
def test_there_are_two_stages_to_say(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, stage: str
) -> None:
    """Pending is where all mail starts; nobody can go back to it (K1)."""
    (message,) = send(builder, 1)

    problem = refused(mailbox, reviewer.ack, message, stage=stage)

    assert isinstance(problem, InvalidArgumentError)


def test_acknowledging_ends_ones_own_retirement(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """In the same commit; where nothing changes, nobody comes back (G3)."""
    first, second = send(builder, 2)
    reviewer.ack(first)
    mailbox.retire("reviewer")

    reviewer.ack(first)
    assert mailbox.whois("reviewer").profile.is_retired is True

    count = mailbox.status().commit_count
    reviewer.ack(second)
    assert mailbox.whois("reviewer").profile.is_retired is False
    assert mailbox.status().commit_count == count + 1


def test_a_stranger_acknowledges_nothing(mailbox: Mailbox, builder: Agent) -> None:
    """Who is not registered is told so."""
    (message,) = send(builder, 1)

    for act in (mailbox.agent("nobody").ack, mailbox.agent("nobody").receipts):
        assert isinstance(refused(mailbox, act, message), NotRegisteredError)


def test_receipts_of_a_message_that_one_may_not_see_are_not_there(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Not yours and not there are the same answer (R16)."""
    (message,) = send(builder, 1)

    problem = refused(mailbox, mailbox.agent("lead").receipts, message)

    assert isinstance(problem, MessageNotFoundError)


def test_a_file_in_the_place_of_a_receipt_is_a_conflict_and_stays(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, tmp_path: Path
) -> None:
    """What is no receipt is quarantined, never written over (I3)."""
    first, second = send(builder, 2)
    path = f"receipts/reviewer/2026-11/30/14/{first}.acked.md"
    edit(mailbox.path, tmp_path / "clone", {path: "no receipt"})

    acked = reviewer.ack([first, second])
    page = reviewer.poll(ack=True)

    assert [result.outcome for result in acked.results] == [CONFLICT, UPDATED]
    assert [(item.id, item.state) for item in page.items] == [(first, PENDING)]
    assert page.commit is None
    assert [name for name, _ in mailbox.status().quarantine] == [path]


def test_a_receipt_of_somebody_who_is_no_recipient_counts_for_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, tmp_path: Path
) -> None:
    """A forged file changes nobody's state and is named by status (K3)."""
    (message,) = send(builder, 1)
    folder = "2026-11/30/14"
    forged = f"receipts/lead/{folder}/{message}.acked.md"
    text = (
        f"---\nmessage: {message}\nagent: lead\nstage: acked\n"
        "date: 2026-11-30T15:00:00.000000Z\n---\n"
    )
    edit(mailbox.path, tmp_path / "clone", {forged: text})

    assert [line.name for line in builder.receipts(message).lines] == ["reviewer"]
    assert pending(reviewer) == ["0"]
    assert [name for name, _ in mailbox.status().quarantine] == [forged]
