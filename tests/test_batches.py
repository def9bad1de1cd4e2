"""Many messages in one commit (CAPABILITIES S3)."""

from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    BlankBodyError,
    BodyTooLargeError,
    GitmailError,
    InvalidArgumentError,
    RequestConflictError,
    UnknownRecipientError,
)
from tests.helpers import SettableClock
from tests.mailboxes import bodies, pending, refused, reopened, tip


def draft(body: str, **said: Any) -> dict[str, Any]:
    """Return a message to reviewer."""
    return {"to": "reviewer", "body": body, **said}


def test_all_messages_are_one_commit(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """They keep their order, whatever their content (S3)."""
    count = mailbox.status().commit_count
    texts = [str(number) for number in range(50)]

    sent = builder.send_many([draft(text) for text in texts])

    assert bodies(each.message for each in sent) == texts
    assert {each.commit for each in sent} == {tip(mailbox)}
    assert mailbox.status().commit_count == count + 1
    assert pending(reviewer) == texts
    assert bodies(reviewer.history(limit=200).items) == texts[::-1]


def test_no_message_is_no_commit(mailbox: Mailbox, builder: Agent) -> None:
    """An empty batch changes nothing (S3)."""
    before = tip(mailbox)

    assert builder.send_many([]) == []
    assert builder.send_many(iter(())) == []
    assert tip(mailbox) == before


def test_messages_may_come_from_any_iterable(builder: Agent, reviewer: Agent) -> None:
    """Such as the lines of a file, one by one (S3)."""
    builder.send_many(draft(str(number)) for number in range(3))

    assert pending(reviewer) == ["0", "1", "2"]


def test_the_same_message_twice_is_two_messages(
    builder: Agent, reviewer: Agent
) -> None:
    """Without a request id nothing makes them one (S3)."""
    sent = builder.send_many([draft("x"), draft("x")])

    assert sent[0].message.id != sent[1].message.id
    assert pending(reviewer) == ["x", "x"]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"to": "nobody", "body": "x"}, UnknownRecipientError),
        ({"to": "lead", "body": " "}, BlankBodyError),
        ({"to": "lead", "body": "x" * 65_537}, BodyTooLargeError),
        ({"to": "lead", "body": "x", "kind": "memo"}, InvalidArgumentError),
        ({"to": "lead", "body": "x", "from": "lead"}, InvalidArgumentError),
        ({"to": "lead", "body": "x", "reply_to": "0" * 40}, InvalidArgumentError),
        ({"to": "lead", "body": "x", "subject_prefix": "Re:"}, InvalidArgumentError),
        ({"to": "lead"}, BlankBodyError),
        ({"to": "lead", "body": "y", "request_id": "r1"}, RequestConflictError),
    ],
)
def test_one_bad_message_stops_all_of_them(
    mailbox: Mailbox,
    builder: Agent,
    reviewer: Agent,
    bad: dict[str, Any],
    error: type[GitmailError],
) -> None:
    """The error says which one it was (S3)."""
    builder.send(to="lead", body="x", request_id="r1")
    before = tip(mailbox)

    with pytest.raises(error) as caught:
        builder.send_many([draft("1"), draft("2"), bad, draft("4")])

    assert caught.value.details["message_number"] == 3
    assert tip(mailbox) == before
    assert pending(reviewer) == []


def test_the_only_message_has_no_number(mailbox: Mailbox, builder: Agent) -> None:
    """There is nothing to tell apart (S3)."""
    for said in ({"kind": "memo"}, {"to": "nobody"}, {"body": ""}):
        problem = refused(mailbox, builder.send, **{**draft("x"), **said})
        assert "message_number" not in problem.details


def test_a_request_id_within_one_batch_sends_once(
    builder: Agent, reviewer: Agent
) -> None:
    """Each answer is in its place (S1, S3)."""
    sent = builder.send_many(
        [
            draft("x", request_id="r1"),
            draft("y"),
            draft("x", request_id="r1"),
            draft("x", request_id="r2"),
        ]
    )

    assert [each.is_replayed for each in sent] == [False, False, True, False]
    assert sent[0].message.id == sent[2].message.id
    assert (sent[0].commit is None, sent[2].commit is None) == (False, True)
    assert pending(reviewer) == ["x", "y", "x"]


def test_a_request_id_within_one_batch_is_not_used_for_two_contents(
    mailbox: Mailbox, builder: Agent
) -> None:
    """As little as in two calls (S1, S3)."""
    said = [draft("x", request_id="r1"), draft("y", request_id="r1")]

    problem = refused(mailbox, builder.send_many, said)

    assert isinstance(problem, RequestConflictError)
    assert problem.details["fields"] == ["body"]
    assert problem.details["message_number"] == 2


def test_a_batch_that_was_cut_off_can_be_sent_again(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """What is there is a replay, the rest is sent (S1, S3)."""
    drafts = [draft(str(number), request_id=f"r{number}") for number in range(6)]
    builder.send_many(drafts[:3])

    with reopened(mailbox, clock) as other:
        sent = other.agent("builder").send_many(drafts)

    assert [each.is_replayed for each in sent] == [True] * 3 + [False] * 3
    assert len({each.commit for each in sent[3:]}) == 1
    assert [each.commit for each in sent[:3]] == [None] * 3
    assert pending(reviewer) == [str(number) for number in range(6)]


def test_a_batch_of_replays_writes_nothing(mailbox: Mailbox, builder: Agent) -> None:
    """No commit at all (S1, S3)."""
    drafts = [draft(str(number), request_id=f"r{number}") for number in range(3)]
    builder.send_many(drafts)
    before = tip(mailbox)

    sent = builder.send_many(drafts[::-1])

    assert all(each.is_replayed for each in sent)
    assert tip(mailbox) == before


def test_each_message_of_a_batch_has_its_own_recipients(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Open, blind and by team, checked one by one (S3)."""
    builder.send_many(
        [
            {"to": "team:core", "body": "1"},
            {"to": ["lead"], "bcc": ["reviewer"], "body": "2"},
            {"to": "all", "cc": "builder", "body": "3"},
        ]
    )

    assert pending(reviewer) == ["1", "2", "3"]
    assert pending(mailbox.agent("lead")) == ["2", "3"]
    assert pending(builder) == ["3"]


def test_a_batch_stays_in_order_across_folders_and_without_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """A few hundred fill several folders of one hour (S3, DESIGN 4)."""
    texts = [str(number) for number in range(450)]
    builder.send_many([draft(text) for text in texts])

    with reopened(mailbox, clock) as other:
        agent = other.agent("reviewer")
        first = agent.poll(limit=200)
        second = agent.poll(limit=200, after=first.cursor)
        third = agent.poll(limit=200, after=second.cursor)

    found = [text for page in (first, second, third) for text in bodies(page.items)]
    assert found == texts
    assert reviewer.poll(limit=200) == first


def test_a_retired_sender_of_a_batch_comes_back_once(
    mailbox: Mailbox, builder: Agent
) -> None:
    """In the same commit (G3, S3)."""
    mailbox.retire("builder")

    builder.send_many([draft("1"), draft("2")])

    assert mailbox.whois("builder").profile.is_retired is False
    assert mailbox.log(limit=1)[0].operation == "send"
