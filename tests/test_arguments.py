"""What the Python API does with values of the wrong type, and with empty ones."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import GitmailError, InvalidArgumentError, MailboxClosedError
from tests.helpers import SettableClock
from tests.mailboxes import refused, still

BAD = ("invalid_argument", "invalid_name")
Call = Callable[[Agent], object]
ID = "0" * 40
WRONG_TYPES: list[Call] = [
    lambda a: a._mailbox.agent(5),
    lambda a: a._mailbox.agent(None),
    lambda a: a._mailbox.whois(5),
    lambda a: a._mailbox.retire(5),
    lambda a: a._mailbox.retire("builder", by=5),
    lambda a: a._mailbox.status(5),
    lambda a: a._mailbox.agents(all="yes"),
    lambda a: a._mailbox.register(5),
    lambda a: a._mailbox.register("x", kind=5),
    lambda a: a._mailbox.register("x", program=5),
    lambda a: a._mailbox.register("x", model=0),
    lambda a: a._mailbox.register("x", description=0),
    lambda a: a._mailbox.register("x", teams=5),
    lambda a: a._mailbox.register("x", teams=[5]),
    lambda a: a._mailbox.register("x", teams={"core": 1}),
    lambda a: a.send(to=5, body="x"),
    lambda a: a.send(to="builder", body=5),
    lambda a: a.send(to="builder", body=None, subject=5),
    lambda a: a.send(to="builder", body="x", kind=5),
    lambda a: a.send(to="builder", body="x", room=5),
    lambda a: a.send(to="builder", body="x", expires_in=5),
    lambda a: a.send(to="builder", body="x", ack_required="yes"),
    lambda a: a.send(to=["builder"] * 201, body="x"),
    lambda a: a.send_many("abc"),
    lambda a: a.send_many(5),
    lambda a: a.send_many([5]),
    lambda a: a.send_many({"to": "builder", "body": "x"}),
    lambda a: a.send_many([{5: "x"}]),
    lambda a: a.reply(5, "x"),
    lambda a: a.poll(show=5),
    lambda a: a.poll(sender=5),
    lambda a: a.poll(room=5),
    lambda a: a.poll(thread=5),
    lambda a: a.poll(topic=5),
    lambda a: a.poll(since=5),
    lambda a: a.poll(since=datetime(2026, 1, 1)),  # noqa: DTZ001 - has to be refused
    lambda a: a.poll(since=datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))),
    lambda a: a.poll(after=b"x"),
    lambda a: a.poll(limit="x"),
    lambda a: a.poll(limit=2.5),
    lambda a: a.poll(limit=True),
    lambda a: a.poll(limit=10**10_000),
    lambda a: a.poll(limit=None),
    lambda a: a.poll(full="no"),
    lambda a: a.poll(overdue=1),
    lambda a: a.poll(ack="false"),
    lambda a: a.wait("x"),
    lambda a: a.wait(True),  # noqa: FBT003 - has to be refused
    lambda a: a.wait(float("nan")),
    lambda a: a.wait(0, ack="false"),
    lambda a: a.wait(0, limit=2.5),
    lambda a: a.read(5),
    lambda a: a.read(None),
    lambda a: a.receipts(5),
    lambda a: a.thread(5),
    lambda a: a.room("x", limit="x"),
    lambda a: a.history(peer=5),
    lambda a: a.history(after=5),
    lambda a: a.history(limit=2.5),
    lambda a: a.ack(5),
    lambda a: a.ack([5]),
    lambda a: a.ack(b"00000000"),
    lambda a: a.ack(ID, note=5),
    lambda a: a.ack(ID, stage=5),
    lambda a: a.search(5),
    lambda a: a.search("x", sender=5),
    lambda a: a.search("x", order=5),
    lambda a: a.search("x", limit=2.5),
    lambda a: a.search("x" * 1001),
]
EMPTY: list[Call] = [
    lambda a: a.poll(show=""),
    lambda a: a.poll(sender=""),
    lambda a: a.poll(room=""),
    lambda a: a.poll(thread="", ack=True),
    lambda a: a.poll(topic="", ack=True),
    lambda a: a.poll(topic=" "),
    lambda a: a.poll(kind=""),
    lambda a: a.poll(importance=""),
    lambda a: a.poll(since=""),
    lambda a: a.search("x", sender=""),
    lambda a: a.search("x", recipient=""),
    lambda a: a.search("x", kind=""),
    lambda a: a.search(""),
    lambda a: a.history(peer=""),
    lambda a: a._mailbox.status(""),
    lambda a: a._mailbox.retire("builder", by=""),
]
NOBODY: list[Call] = [
    lambda a: a.poll(sender="bilder"),
    lambda a: a.wait(0, sender="bilder"),
    lambda a: a.history(peer="bilder"),
    lambda a: a.search("x", sender="bilder"),
    lambda a: a.search("x to:bilder"),
]


@pytest.mark.parametrize("call", WRONG_TYPES)
def test_a_value_of_the_wrong_type_is_a_bad_argument(
    mailbox: Mailbox, builder: Agent, call: Call, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused like any bad value, and the index is not blamed."""
    problem = refused(mailbox, call, builder)

    assert problem.code in BAD
    assert len(problem.message) < 400
    assert caplog.messages == []


@pytest.mark.parametrize("call", EMPTY)
def test_an_empty_filter_is_refused(
    mailbox: Mailbox, builder: Agent, call: Call
) -> None:
    """It must not stand for all mail, which could be acknowledged with it (R2)."""
    builder.send(to="builder", body="x")

    assert refused(mailbox, call, builder).code in BAD


@pytest.mark.parametrize("call", NOBODY)
def test_a_filter_by_somebody_unknown_names_who_may_be_meant(
    mailbox: Mailbox, builder: Agent, call: Call
) -> None:
    """Nothing found would read as if nothing had been written (R2)."""
    problem = refused(mailbox, call, builder)

    assert problem.code == "agent_not_found"
    assert problem.details["similar"] == ["builder"]


@pytest.mark.parametrize("to", ["", ",", [], [" "]])
def test_a_reply_to_no_name_is_refused(
    mailbox: Mailbox, builder: Agent, to: Any
) -> None:
    """It does not go to the sender, as one without addresses does (M9)."""
    message = builder.send(to="builder", body="x").message.id

    problem = refused(mailbox, builder.reply, message, "y", to=to)

    assert problem.code == "no_recipients"


def test_mail_cannot_expire_after_the_end_of_time(mailbox: Mailbox) -> None:
    """The last year that a file can name is 9999 (M12)."""
    mailbox.register("builder")
    end = still(datetime(9999, 12, 31, 23, 59, tzinfo=UTC))
    with Mailbox.open(mailbox.path, clock=end) as late:
        send = late.agent("builder").send
        problem = refused(late, send, to="builder", body="x", expires_in="2h")

    assert isinstance(problem, InvalidArgumentError)


def test_teams_may_be_text_with_commas(mailbox: Mailbox) -> None:
    """As addresses may; a word is not taken for its letters (G1)."""
    teams = mailbox.register("builder", teams="core, alpha").profile.teams

    assert teams == ("alpha", "core")


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.poll(),
        lambda a: a.wait(0),
        lambda a: a.send(to="builder", body="x"),
        lambda a: a._mailbox.status(),
        lambda a: a._mailbox.register("builder"),
    ],
)
def test_a_closed_mailbox_says_so(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, call: Call
) -> None:
    """It neither answers nor writes, and may be closed again."""
    with Mailbox.open(mailbox.path, clock=clock) as other:
        agent = other.agent(builder.name)
    other.close()

    with pytest.raises(MailboxClosedError, match=r"was closed") as caught:
        call(agent)

    assert isinstance(caught.value, GitmailError)
    assert str(other.path) in caught.value.message
