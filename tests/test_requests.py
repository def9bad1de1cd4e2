"""Retries: a request id sends once (CAPABILITIES S1)."""

import threading
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    RequestConflictError,
)
from gitmail.mailbox.values import Availability, Sent
from gitmail.store.numbers import request_number
from tests.helpers import SettableClock, git
from tests.mailboxes import edit, pending, reached, refused, reopened, tip

LONG_S = 30
"""Longer than anything here takes, however busy the machine is."""
SAID: dict[str, Any] = {
    "to": "reviewer",
    "cc": "lead",
    "bcc": "builder",
    "body": "Hello.",
    "subject": "Subject",
    "kind": "brief",
    "importance": "high",
    "ack_required": True,
    "topic": "parser",
    "room": "parser",
    "expires_in": "2h",
    "request_id": "r1",
}


def test_a_retry_answers_with_the_first_message_and_writes_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """The answer tells that it is a replay, and has no commit (S1)."""
    first = builder.send(**SAID)
    before = tip(mailbox)

    again = builder.send(**SAID)

    assert again.message.message == first.message.message
    assert again.message.bcc == first.message.bcc == ("builder",)
    assert reached(again) == reached(first)
    assert (first.is_replayed, again.is_replayed, again.commit) == (False, True, None)
    assert tip(mailbox) == before
    assert pending(reviewer) == ["Hello."]


def test_a_retry_of_a_note_to_oneself_tells_how_far_one_is_with_it(
    builder: Agent,
) -> None:
    """As the sender is a recipient too (S1, A7)."""
    said: dict[str, Any] = {"to": "builder", "body": "x", "request_id": "r1"}
    first = builder.send(**said)
    again = builder.send(**said)
    builder.ack(first.message.id)

    states = [each.message.state for each in (first, again, builder.send(**said))]
    assert states == ["pending", "pending", "acked"]


def test_a_retry_is_known_after_a_restart_and_without_the_index(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """The request id stands in the message, not in a memory of the process (S1)."""
    first = builder.send(**SAID)
    clock.advance(days=400)

    with reopened(mailbox, clock) as other:
        again = other.agent("Builder").send(**SAID)

    assert (again.message.id, again.is_replayed) == (first.message.id, True)


def test_a_retry_is_known_in_another_clone(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tmp_path: Path
) -> None:
    """Whoever has the message has its request id (S1)."""
    first = builder.send(**SAID)
    with Mailbox.init(tmp_path / "other" / ".gitmail", clock=clock) as other:
        git(other.path, "fetch", "-q", str(mailbox.path), "+gitmail:refs/heads/taken")
        git(other.path, "update-ref", "refs/heads/gitmail", "refs/heads/taken")

        again = other.agent("builder").send(**SAID)

    assert (again.message.id, again.is_replayed) == (first.message.id, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("to", "reviewer,lead"),
        ("cc", None),
        ("bcc", None),
        ("bcc", "builder,lead"),
        ("body", "Hello"),
        ("subject", None),
        ("kind", None),
        ("importance", None),
        ("ack_required", False),
        ("topic", "Parser"),
        ("room", "Parser"),
        ("expires_in", "3h"),
        ("expires_in", None),
    ],
)
def test_a_request_id_is_not_used_again_for_other_content(
    mailbox: Mailbox, builder: Agent, field: str, value: object
) -> None:
    """The conflict names the message and the fields that differ (S1)."""
    first = builder.send(**SAID)

    problem = refused(mailbox, builder.send, **{**SAID, field: value})

    assert isinstance(problem, RequestConflictError)
    assert problem.details == {
        "request_id": "r1",
        "id": first.message.id,
        "fields": [field],
    }


def test_the_order_and_case_of_recipients_make_no_other_content(
    builder: Agent,
) -> None:
    """The same set of addresses is the same request (S1)."""
    said: dict[str, Any] = {"body": "x", "request_id": "r1"}
    first = builder.send(to="lead,reviewer", cc="all,team:core", bcc="builder", **said)

    again = builder.send(
        to=["Reviewer", "LEAD", "lead"], cc="TEAM:core,all", bcc="BUILDER", **said
    )

    assert (again.message.id, again.is_replayed) == (first.message.id, True)


@pytest.mark.parametrize(
    "bcc",
    [
        "reviewer,team:core",
        "team:core,reviewer",
        "team:core,team:twin",
        "all,team:core,lead",
    ],
)
def test_a_blind_copy_through_two_addresses_can_be_sent_again(
    mailbox: Mailbox, builder: Agent, bcc: str
) -> None:
    """An address that reached nobody else is part of the same request (S1, A2)."""
    mailbox.register("reviewer", teams=["core", "twin"])
    said: dict[str, Any] = {"to": "lead", "body": "x", "request_id": "r1"}
    first = builder.send(bcc=bcc, **said)

    again = builder.send(bcc=bcc, **said)

    assert (again.message.id, again.is_replayed) == (first.message.id, True)
    with pytest.raises(RequestConflictError):
        builder.send(bcc=f"{bcc},builder", **said)


def test_a_retry_is_known_when_its_recipient_has_retired(
    mailbox: Mailbox, builder: Agent
) -> None:
    """What was sent was sent, whatever happened since (S1)."""
    first = builder.send(**SAID)
    mailbox.retire("reviewer")

    again = builder.send(**SAID)

    assert again.message.id == first.message.id
    assert again.deliveries[0].availability is Availability.RETIRED


def test_request_ids_of_two_senders_have_nothing_to_do_with_each_other(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Each sender counts alone (S1)."""
    first = builder.send(to="lead", body="x", request_id="r1")
    second = reviewer.send(to="lead", body="y", request_id="r1")

    assert second.message.id != first.message.id
    assert pending(mailbox.agent("lead")) == ["x", "y"]


def test_two_request_ids_that_the_index_cannot_tell_apart_are_two(
    mailbox: Mailbox, builder: Agent
) -> None:
    """It knows them by a number; what the messages say decides (S1)."""
    first = builder.send(to="lead", body="x", request_id="r1")
    mailbox.store._keeper.index().execute(
        "UPDATE message SET request = ?", (request_number("builder", "r2"),)
    )

    second = builder.send(to="lead", body="y", request_id="r2")

    assert second.is_replayed is False
    assert second.message.id != first.message.id


def test_a_retry_is_known_when_its_recipient_is_gone(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Nobody knows any more whether it will be read (S1, S2)."""
    first = builder.send(**SAID)
    edit(mailbox.path, tmp_path / "clone", {"agents/reviewer.md": None})

    again = builder.send(**SAID)

    assert (again.message.id, again.is_replayed) == (first.message.id, True)
    assert again.deliveries[0].availability is Availability.UNKNOWN


def test_request_ids_differ_by_case_but_not_by_space_around_them(
    builder: Agent,
) -> None:
    """An id is a line of text, compared as it is (S1)."""
    first = builder.send(to="lead", body="x", request_id="Request A")
    other = builder.send(to="lead", body="x", request_id="request a")
    again = builder.send(to="lead", body="x", request_id=" Request A ")

    assert other.message.id != first.message.id
    assert (again.message.id, again.is_replayed) == (first.message.id, True)


def test_the_same_content_without_a_request_id_is_sent_twice(
    builder: Agent, reviewer: Agent
) -> None:
    """Only who asks for it is protected from saying a thing twice (S1)."""
    for _ in range(2):
        builder.send(to="reviewer", body="x")

    assert pending(reviewer) == ["x", "x"]


def test_two_messages_of_one_call_with_one_request_id_must_say_the_same(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Nothing was sent before, and the error does not say so (S1)."""
    said = {"to": "reviewer", "request_id": "r"}
    mailbox.register("reviewer")
    problem = refused(
        mailbox, builder.send_many, [{**said, "body": "a"}, {**said, "body": "b"}]
    )

    assert isinstance(problem, RequestConflictError)
    assert "another message of this call, which differs in: body" in problem.message
    assert problem.details["id"] is None


def test_retries_at_the_same_moment_send_once(
    mailbox: Mailbox, reviewer: Agent, clock: SettableClock
) -> None:
    """Whether through one mailbox object or through several (S1)."""
    barrier = threading.Barrier(6)
    answers: list[Sent] = []

    def work(box: Mailbox) -> None:
        barrier.wait(LONG_S)
        answers.append(box.agent("builder").send(**SAID))

    with Mailbox.open(mailbox.path, clock=clock) as other:
        threads = [
            threading.Thread(target=work, args=(box,)) for box in (mailbox, other) * 3
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_S)

    assert len({each.message.id for each in answers}) == 1
    assert sorted(each.is_replayed for each in answers) == [False] + [True] * 5
    assert pending(reviewer) == ["Hello."]
