"""Replying: threads, what carries over, and who may answer (CAPABILITIES M8, M9)."""

from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    InvalidArgumentError,
    InvalidNameError,
    MessageNotFoundError,
    NoRecipientsError,
    NotParticipantError,
    RequestConflictError,
    RetiredRecipientError,
)
from gitmail.mailbox.values import Sent
from gitmail.records.message import Importance, Kind
from tests.helpers import SettableClock
from tests.mailboxes import bodies, pending, reached, refused, reopened, team


@pytest.fixture(name="lead")
def _lead(mailbox: Mailbox) -> Agent:
    """Return the verbs of lead."""
    return mailbox.agent("lead")


@pytest.fixture(name="brief")
def _brief(builder: Agent) -> Sent:
    """Return a message of builder to reviewer that says all there is to inherit."""
    return builder.send(
        to="reviewer",
        cc="lead",
        body="Please review.",
        subject="Parser",
        kind="brief",
        importance="high",
        ack_required=True,
        topic="parsing",
        room="Parser",
        expires_in="1d",
    )


def test_a_reply_goes_to_the_sender_alone(reviewer: Agent, brief: Sent) -> None:
    """Who had a copy gets none of the answer unless it says so (M9)."""
    reply = reviewer.reply(brief.message.id, "Done.")

    assert reached(reply) == [("builder", "to")]


def test_a_reply_inherits_topic_importance_and_room_only(
    reviewer: Agent, brief: Sent
) -> None:
    """Kind, request for an ack and expiry are the answer's own (M5, M9)."""
    message = reviewer.reply(brief.message.id, "Done.").message.message

    assert (message.topic, message.room) == ("parsing", "Parser")
    assert message.importance is Importance.HIGH
    assert message.kind is Kind.NOTE
    assert message.ack_required is False
    assert message.expires is None


def test_a_reply_may_say_otherwise(reviewer: Agent, brief: Sent) -> None:
    """What is given counts more than what would be inherited (M9)."""
    reply = reviewer.reply(
        brief.message.id,
        "Done.",
        to="lead",
        cc="builder",
        bcc="reviewer",
        subject="Other",
        subject_prefix="Fwd:",
        kind="review",
        importance="low",
        ack_required=True,
        topic="other",
        room="Other",
        expires_in="2h",
    )

    message = reply.message.message
    assert reached(reply) == [("lead", "to"), ("builder", "cc"), ("reviewer", "bcc")]
    assert (message.subject, message.topic, message.room) == ("Other", "other", "Other")
    assert (message.kind, message.importance) == (Kind.REVIEW, Importance.LOW)
    assert message.ack_required is True
    assert message.expires is not None


def test_copies_of_a_reply_are_beside_the_sender(reviewer: Agent, brief: Sent) -> None:
    """Naming copies does not take the answer away from who asked (M9)."""
    reply = reviewer.reply(brief.message.id, "Done.", cc="lead")

    assert reached(reply) == [("builder", "to"), ("lead", "cc")]


@pytest.mark.parametrize(
    ("subject", "prefix", "expected"),
    [
        ("Parser", None, "Re: Parser"),
        ("Re: Parser", None, "Re: Parser"),
        ("RE: Parser", None, "RE: Parser"),
        ("re:Parser", None, "re:Parser"),
        ("Re:", None, "Re:"),
        ("Review", None, "Re: Review"),
        ("Fwd: Parser", None, "Re: Fwd: Parser"),
        ("Parser", "Fwd:", "Fwd: Parser"),
        ("Re: Parser", "Fwd:", "Fwd: Re: Parser"),
        ("fwd: Parser", "FWD:", "fwd: Parser"),
        ("Review", "Re", "Re Review"),
        ("RE Parser", "Re", "RE Parser"),
        ("Parser", " Re: ", "Re: Parser"),
        ("Parser", "", "Re: Parser"),
        ("STRASSE: x", "straße:", "STRASSE: x"),
    ],
)
def test_a_prefix_is_added_once(
    builder: Agent, reviewer: Agent, subject: str, prefix: str | None, expected: str
) -> None:
    """A subject that starts with it, in whatever case, stays as it is (M9)."""
    first = builder.send(to="reviewer", body="x", subject=subject)

    reply = reviewer.reply(first.message.id, "y", subject_prefix=prefix)

    assert reply.message.message.subject == expected


def test_a_long_conversation_has_one_prefix(builder: Agent, reviewer: Agent) -> None:
    """However often it goes back and forth (M9)."""
    last = builder.send(to="reviewer", body="0", subject="Parser")
    for turn in range(1, 6):
        writer = reviewer if turn % 2 else builder
        last = writer.reply(last.message.id, str(turn))

    assert last.message.message.subject == "Re: Parser"
    assert bodies(builder.thread(last.message.id).items) == list("012345")


@pytest.mark.parametrize("space_at", [194, 195, 196, 197])
def test_a_subject_that_leaves_no_room_for_the_prefix_is_cut(
    builder: Agent, reviewer: Agent, space_at: int
) -> None:
    """What is left can be read again, wherever the cut falls (M9, I1)."""
    subject = "x" * space_at + " " + "y" * (199 - space_at)
    first = builder.send(to="reviewer", body="x", subject=subject)

    reply = reviewer.reply(first.message.id, "y")

    expected = f"Re: {subject}"[:200].strip()
    assert builder.read(reply.message.id).message.subject == expected
    assert pending(builder) == ["y"]


def test_an_answer_to_a_message_without_subject_has_none(
    builder: Agent, reviewer: Agent
) -> None:
    """Nothing is made up (M2, M9)."""
    first = builder.send(to="reviewer", body="Hello.")

    reply = reviewer.reply(first.message.id, "Hi.", subject_prefix="Fwd:")

    assert reply.message.message.subject is None


def test_a_thread_is_named_by_its_first_message(
    builder: Agent, reviewer: Agent, lead: Agent, brief: Sent
) -> None:
    """Answers to answers join it, and so do answers to its middle (M8)."""
    first = brief.message.id
    second = reviewer.reply(first, "One.").message.message
    third = builder.reply(second.id, "Two.").message.message
    branch = lead.reply(first, "Three.").message.message

    assert (second.thread, second.reply_to) == (first, first)
    assert (third.thread, third.reply_to) == (first, second.id)
    assert (branch.thread, branch.reply_to) == (first, first)
    assert brief.message.message.thread is None
    assert brief.message.message.thread_id == first


def test_a_reply_may_name_the_message_by_the_start_of_its_id(
    reviewer: Agent, brief: Sent
) -> None:
    """The file has the whole id (A8)."""
    reply = reviewer.reply(brief.message.id[:8].upper(), "Done.")

    assert reply.message.message.reply_to == brief.message.id


def test_replying_neither_reads_nor_acks(
    builder: Agent, reviewer: Agent, brief: Sent
) -> None:
    """The message stays pending until it is acknowledged (M9)."""
    reviewer.reply(brief.message.id, "Done.")

    assert pending(reviewer) == ["Please review."]
    states = [line.state for line in builder.receipts(brief.message.id).lines]
    assert states == ["pending", "pending"]


def test_who_goes_on_in_their_own_thread_writes_to_the_same(
    builder: Agent, brief: Sent
) -> None:
    """An answer to one's own message is for whom it was addressed to (M9)."""
    more = builder.reply(brief.message.id, "One thing more.")

    assert reached(more) == [("reviewer", "to")]
    assert more.message.message.thread == brief.message.id


def test_an_answer_to_a_note_to_oneself_goes_to_oneself(builder: Agent) -> None:
    """Its sender is the recipient (M9, A7)."""
    note = builder.send(to="builder", cc="lead", body="Remember.")

    assert reached(builder.reply(note.message.id, "Done.")) == [("builder", "to")]


def test_going_on_after_a_blind_copy_alone_needs_an_address(
    mailbox: Mailbox, builder: Agent
) -> None:
    """There is nobody that it was openly addressed to (M9, A2)."""
    sent = builder.send(to=[], bcc="reviewer", body="Hello.")

    problem = refused(mailbox, builder.reply, sent.message.id, "More.")

    assert isinstance(problem, NoRecipientsError)
    assert reached(builder.reply(sent.message.id, "More.", to="reviewer"))


def test_a_blind_recipient_answers_to_the_sender(
    builder: Agent, reviewer: Agent, lead: Agent
) -> None:
    """The open recipients learn nothing of it (A2, M9)."""
    sent = builder.send(to="lead", bcc="reviewer", body="Hello.")

    reply = reviewer.reply(sent.message.id, "Thanks.")

    assert reached(reply) == [("builder", "to")]
    assert bodies(lead.thread(sent.message.id).items) == ["Hello."]


def test_who_may_only_see_a_message_cannot_answer_it(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Who joined a team later neither sent nor received its mail (M9)."""
    sent = builder.send(to="team:core", body="Hello.")
    team(mailbox, "core", "late")
    late = mailbox.agent("late")

    problem = refused(mailbox, late.reply, sent.message.id, "Hi.")

    assert late.read(sent.message.id).text == "Hello."
    assert isinstance(problem, NotParticipantError)


def test_what_one_may_not_see_cannot_be_answered(
    mailbox: Mailbox, builder: Agent, lead: Agent
) -> None:
    """Not yours and not there are the same answer (R16)."""
    sent = builder.send(to="reviewer", body="Hello.")

    hidden = refused(mailbox, lead.reply, sent.message.id, "Hi.")
    missing = refused(mailbox, lead.reply, "0" * 40, "Hi.")

    assert isinstance(hidden, MessageNotFoundError)
    assert isinstance(missing, MessageNotFoundError)
    assert hidden.message.replace(sent.message.id, "0" * 40) == missing.message


@pytest.mark.parametrize("text", ["", "abc", "0" * 7, "0" * 41, "not an id", "g" * 40])
def test_what_is_no_id_is_refused(mailbox: Mailbox, reviewer: Agent, text: str) -> None:
    """A message has an id of 8 to 40 hex digits (A8)."""
    problem = refused(mailbox, reviewer.reply, text, "Hi.")

    assert isinstance(problem, InvalidNameError)


def test_an_answer_to_somebody_retired_is_refused(
    mailbox: Mailbox, reviewer: Agent, brief: Sent
) -> None:
    """As with any other recipient (A5)."""
    mailbox.retire("builder")

    problem = refused(mailbox, reviewer.reply, brief.message.id, "Done.")

    assert isinstance(problem, RetiredRecipientError)
    assert reviewer.reply(brief.message.id, "Done.", to="lead").commit


def test_answering_ends_ones_own_retirement(
    mailbox: Mailbox, reviewer: Agent, brief: Sent
) -> None:
    """A reply is activity like a send (G3)."""
    mailbox.retire("reviewer")

    reviewer.reply(brief.message.id, "Done.")

    assert mailbox.whois("reviewer").profile.is_retired is False


def test_a_retry_of_a_reply_sends_once(
    mailbox: Mailbox, reviewer: Agent, brief: Sent, clock: SettableClock
) -> None:
    """What was inherited is part of the request, prefix or whole id alike (S1)."""
    said: dict[str, Any] = {"body": "Done.", "request_id": "r1"}
    first = reviewer.reply(brief.message.id, **said)

    with reopened(mailbox, clock) as other:
        again = other.agent("reviewer").reply(brief.message.id[:12], **said)

    assert (again.message.id, again.is_replayed) == (first.message.id, True)


def test_a_request_id_does_not_answer_another_message(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, brief: Sent
) -> None:
    """What is answered is part of the content, and a send is no reply (S1)."""
    other = builder.send(to="reviewer", body="Another.")
    said: dict[str, Any] = {"body": "Done.", "request_id": "r1"}
    reviewer.reply(brief.message.id, **said)

    problems = [
        refused(mailbox, reviewer.reply, other.message.id, **said),
        refused(mailbox, reviewer.send, to="builder", **said),
    ]

    assert [type(problem) for problem in problems] == [RequestConflictError] * 2
    assert "reply_to" in problems[0].details["fields"]  # type: ignore[operator]
    assert "reply_to" in problems[1].details["fields"]  # type: ignore[operator]


def test_what_a_reply_says_is_checked_like_a_send(
    mailbox: Mailbox, reviewer: Agent, brief: Sent
) -> None:
    """The rules of the parts are the same (M9)."""
    for said in ({"kind": "memo"}, {"importance": "x"}, {"subject_prefix": "x" * 65}):
        problem = refused(mailbox, reviewer.reply, brief.message.id, "x", **said)
        assert isinstance(problem, InvalidArgumentError)


def test_a_conversation_is_the_same_without_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, brief: Sent, clock: SettableClock
) -> None:
    """A thread stands in the messages alone (I1, M8)."""
    second = reviewer.reply(brief.message.id, "One.")
    builder.reply(second.message.id, "Two.")

    expected = builder.thread(brief.message.id)
    with reopened(mailbox, clock) as other:
        assert other.agent("builder").thread(second.message.id) == expected
