"""Sending: whom addresses reach, and the answer (CAPABILITIES A, S2)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AgentNotFoundError,
    FanoutTooLargeError,
    InvalidArgumentError,
    InvalidNameError,
    NoRecipientsError,
    NotRegisteredError,
    RetiredRecipientError,
    UnknownRecipientError,
)
from gitmail.mailbox.values import Availability
from tests.helpers import SettableClock
from tests.mailboxes import bodies, pending, reached, refused, team


@pytest.mark.parametrize(
    "to",
    [
        ["reviewer", "lead"],
        "reviewer,lead",
        " reviewer , LEAD ,",
        ("Reviewer", "reviewer", "lead", "LEAD"),
        iter(["reviewer", "lead"]),
    ],
    ids=["list", "text", "spaces", "twice", "iterator"],
)
def test_addresses_come_as_a_list_or_as_text(builder: Agent, to: Any) -> None:
    """Case does not count, and who is named twice gets the message once (A1)."""
    sent = builder.send(to=to, body="Hello.")

    assert sent.message.message.to == ("reviewer", "lead")
    assert reached(sent) == [("reviewer", "to"), ("lead", "to")]


def test_who_is_in_to_and_cc_and_bcc_gets_the_message_once(
    builder: Agent, reviewer: Agent
) -> None:
    """The most open of the addresses counts, whatever the case (A1)."""
    sent = builder.send(
        to="reviewer", cc=["Reviewer", "lead"], bcc="REVIEWER,lead", body="Hello."
    )

    assert reached(sent) == [("reviewer", "to"), ("lead", "cc")]
    assert pending(reviewer) == ["Hello."]
    assert [line.kind for line in reviewer.receipts(sent.message.id).lines] == [
        "to",
        "cc",
    ]


def test_a_message_may_have_blind_copies_alone(builder: Agent, reviewer: Agent) -> None:
    """What nobody else knows of needs no open recipient (A2)."""
    sent = builder.send(to=[], bcc="reviewer", body="Hello.")

    assert reached(sent) == [("reviewer", "bcc")]
    assert pending(reviewer) == ["Hello."]


def test_a_team_is_its_members_at_the_time_of_sending(
    mailbox: Mailbox, builder: Agent
) -> None:
    """They stand in the file; who joins later finds the message in history (A3)."""
    team(mailbox, "core", "lead")

    sent = builder.send(to="team:Core", body="Hello.")
    team(mailbox, "core", "late")

    late = mailbox.agent("late")
    assert sent.message.message.recipients == ("lead", "reviewer")
    assert pending(late) == []
    assert bodies(late.history().items) == ["Hello."]
    assert late.read(sent.message.id).state is None


def test_who_left_a_team_keeps_what_was_delivered(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Mail is addressed for good when it is sent (A3)."""
    before = builder.send(to="team:core", body="Before.")
    mailbox.register("reviewer", teams=["other"])
    team(mailbox, "core", "lead")
    builder.send(to="team:core", body="After.")

    assert pending(reviewer) == ["Before."]
    assert bodies(reviewer.history().items) == ["Before."]
    assert reviewer.ack(before.message.id).commit


def test_a_team_is_without_its_sender_and_its_retired_members(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """Fan-out reaches the others that are active (A3, A7)."""
    team(mailbox, "core", "lead", "gone")
    mailbox.retire("gone")

    sent = reviewer.send(to="team:core", body="Hello.")

    assert reached(sent) == [("lead", "to")]


def test_a_member_that_is_named_too_is_reached_once(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """A name in cc says more than a team in to does (A1, A3)."""
    team(mailbox, "core", "lead")

    sent = builder.send(to="team:core", cc="reviewer", body="Hello.")

    assert sorted(reached(sent)) == [("lead", "to"), ("reviewer", "cc")]
    assert pending(reviewer) == ["Hello."]


def test_all_is_everybody_active_but_the_sender(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Who has retired gets nothing (A4)."""
    mailbox.register("gone")
    mailbox.retire("gone")

    sent = builder.send(to="ALL", body="Hello.")

    assert sent.message.message.to == ("all",)
    assert reached(sent) == [("lead", "to"), ("reviewer", "to")]
    assert pending(builder) == []


def test_who_registers_later_sees_mail_to_all_in_history_only(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Everybody may read it; nobody new is asked to act on it (A4, R16)."""
    sent = builder.send(to="all", body="Hello.")
    mailbox.register("late")

    late = mailbox.agent("late")
    assert pending(late) == []
    assert bodies(late.history().items) == ["Hello."]
    assert late.read(sent.message.id).text == "Hello."


def test_all_reaches_fifty_agents_and_no_more(mailbox: Mailbox, builder: Agent) -> None:
    """One too many is refused with the count, and nobody gets it (A4)."""
    for number in range(48):
        mailbox.register(f"agent{number}")
    assert len(builder.send(to="all", body="Hello.").deliveries) == 50
    mailbox.register("one-more")

    problem = refused(mailbox, builder.send, to="all", body="Again.")

    assert isinstance(problem, FanoutTooLargeError)
    assert problem.details == {"address": "all", "count": 51, "limit": 50}
    assert pending(mailbox.agent("agent0")) == ["Hello."]


def test_a_message_reaches_two_hundred_agents_and_no_more(
    mailbox: Mailbox, builder: Agent
) -> None:
    """By whatever addresses, also by blind ones."""
    names = [f"agent{number}" for number in range(200)]
    for name in names:
        mailbox.register(name, teams=["large"])
    sent = builder.send(to=names[:100], cc="team:large", bcc=names[:9], body="x")
    assert len(sent.deliveries) == 200

    for copies in ({"cc": "lead"}, {"bcc": "lead"}):
        said: dict[str, Any] = {"to": "team:large", "body": "x", **copies}
        problem = refused(mailbox, builder.send, **said)
        assert isinstance(problem, FanoutTooLargeError)
        assert (problem.details["count"], problem.details["limit"]) == (201, 200)
    mailbox.register("one-more", teams=["large"])
    problem = refused(mailbox, builder.send, to=[], bcc="team:large", body="x")
    assert isinstance(problem, FanoutTooLargeError)


def test_a_header_that_nobody_could_read_again_is_refused(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Two hundred names of the longest kind are too many for one file (DESIGN 5)."""
    names = [f"{'n' * 59}-{number:03}" for number in range(150)]
    for name in names:
        mailbox.register(name)

    problem = refused(mailbox, builder.send, to=names, body="x")

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "header"
    assert len(builder.send(to=names[:100], body="x").deliveries) == 100


def test_all_of_nobody_is_refused(mailbox: Mailbox, builder: Agent) -> None:
    """A sender alone in the mailbox reaches nobody (A4)."""
    mailbox.retire("reviewer")
    mailbox.retire("lead")

    problem = refused(mailbox, builder.send, to="all", body="Hello.")

    assert isinstance(problem, NoRecipientsError)


def test_a_team_of_only_yourself_is_refused(mailbox: Mailbox, reviewer: Agent) -> None:
    """Fan-out never reaches its sender (A7)."""
    problem = refused(mailbox, reviewer.send, to="team:core", body="Hello.")

    assert isinstance(problem, NoRecipientsError)
    assert problem.details == {"addresses": ["team:core"]}


def test_a_team_whose_members_have_all_retired_is_refused(
    mailbox: Mailbox, builder: Agent
) -> None:
    """The team is known, so no other one is suggested in its place (A4)."""
    mailbox.retire("reviewer")

    problem = refused(mailbox, builder.send, to="team:core", body="Hello.")

    assert isinstance(problem, NoRecipientsError)


def test_an_unknown_team_is_refused_with_near_ones(
    mailbox: Mailbox, builder: Agent
) -> None:
    """A typist learns which team was meant (A5)."""
    problem = refused(mailbox, builder.send, to="lead,team:cor", body="Hello.")

    assert isinstance(problem, UnknownRecipientError)
    assert problem.details == {"names": ["team:cor"], "similar": ["team:core"]}


def test_no_address_at_all_is_refused(mailbox: Mailbox, builder: Agent) -> None:
    """A message goes to somebody (A4)."""
    nothing: list[Any] = [[], "", " , "]
    for to in nothing:
        problem = refused(mailbox, builder.send, to=to, body="x")
        assert isinstance(problem, NoRecipientsError)


def test_an_unknown_recipient_stops_the_whole_send(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Nobody gets it, and near names are suggested (A5)."""
    problem = refused(
        mailbox, builder.send, to="reviewer", cc="Revewer", bcc="lead", body="Hello."
    )

    assert isinstance(problem, UnknownRecipientError)
    assert problem.details == {"names": ["revewer"], "similar": ["reviewer"]}
    assert pending(reviewer) == []


def test_a_retired_recipient_stops_the_whole_send(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Nobody gets it, wherever the retired one stands (A5)."""
    mailbox.retire("lead")

    for field in ("cc", "bcc"):
        copies: dict[str, Any] = {field: "lead"}
        problem = refused(mailbox, builder.send, to="reviewer", body="x", **copies)
        assert isinstance(problem, RetiredRecipientError)
        assert problem.details == {"names": ["lead"]}
    assert pending(reviewer) == []


@pytest.mark.parametrize(
    "name",
    ["a b", "../lead", "le\nad", "-lead", "team:", "gitmail", "con", "\uff4cead"],
)
def test_a_malformed_recipient_stops_the_whole_send(
    mailbox: Mailbox, builder: Agent, name: str
) -> None:
    """A name is never cleaned up and then guessed at (A5)."""
    problem = refused(mailbox, builder.send, to=["reviewer", name], body="Hello.")

    assert isinstance(problem, InvalidNameError)


@pytest.mark.parametrize("to", [5, {"reviewer": 1}, [5], [["reviewer"]], b"lead"])
def test_addresses_of_another_type_are_refused(
    mailbox: Mailbox, builder: Agent, to: Any
) -> None:
    """What is no text is no name (A5)."""
    problem = refused(mailbox, builder.send, to=to, body="Hello.")

    assert isinstance(problem, InvalidArgumentError)


def test_one_may_write_to_oneself_by_name(builder: Agent) -> None:
    """A note to oneself is mail like any other (A7)."""
    sent = builder.send(to="builder", body="Remember.")

    assert reached(sent) == [("builder", "to")]
    assert sent.message.state == "pending"
    assert pending(builder) == ["Remember."]
    assert builder.ack(sent.message.id).commit
    assert pending(builder) == []


def test_one_may_name_oneself_beside_a_fan_out(builder: Agent) -> None:
    """By name one is reached, though never by fan-out (A7)."""
    sent = builder.send(to="all", cc="builder", body="Hello.")

    assert sorted(reached(sent)) == [
        ("builder", "cc"),
        ("lead", "to"),
        ("reviewer", "to"),
    ]


def test_an_unregistered_sender_is_refused(mailbox: Mailbox) -> None:
    """Nobody registers by accident; the error says how to."""
    problem = refused(mailbox, mailbox.agent("bilder").send, to="lead", body="Hello.")

    assert isinstance(problem, NotRegisteredError)
    assert problem.hint == "Register it first: gitmail register bilder"
    assert problem.details == {"name": "bilder", "similar": ["builder"]}
    with pytest.raises(AgentNotFoundError):
        mailbox.whois("bilder")


def test_the_sender_is_stamped_in_lower_case(mailbox: Mailbox) -> None:
    """Who acts as Builder is builder, in the file and in the commit (A1)."""
    sent = mailbox.agent("BUILDER").send(to="lead", body="Hello.")

    assert sent.message.message.sender == "builder"
    assert mailbox.log(limit=1)[0].agent == "builder"


def test_each_delivery_tells_how_likely_it_is_to_be_read_soon(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Active within two hours of the last commit, then idle (S2)."""
    mailbox.register("idler")
    clock.advance(hours=1)
    mailbox.register("busy")
    clock.advance(hours=1)

    sent = builder.send(to="busy,idler", body="x")

    found = {d.name: (d.availability, d.last_seen) for d in sent.deliveries}
    assert found == {
        "busy": (Availability.ACTIVE, datetime(2026, 11, 30, 15, tzinfo=UTC)),
        "idler": (Availability.IDLE, datetime(2026, 11, 30, 14, tzinfo=UTC)),
    }


def test_a_name_that_a_server_holds_is_active(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """A running server counts more than an old commit (S2)."""
    clock.advance(days=2)
    with Mailbox.open(mailbox.path, clock=clock) as server:
        server.liveness.hold(server.agent("lead").name)
        held = builder.send(to="lead", body="x").deliveries[0]
    let_go = builder.send(to="lead", body="x").deliveries[0]

    assert (held.availability, let_go.availability) == (
        Availability.ACTIVE,
        Availability.IDLE,
    )


def test_a_retired_sender_comes_back_by_sending(
    mailbox: Mailbox, builder: Agent
) -> None:
    """It is one commit with the message, and others can write to it again (G3)."""
    mailbox.retire("builder")
    count = mailbox.status().commit_count

    builder.send(to="reviewer", body="I am back.")

    assert mailbox.whois("builder").profile.is_retired is False
    assert mailbox.status().commit_count == count + 1


def test_a_retry_of_a_retired_sender_writes_nothing(
    mailbox: Mailbox, builder: Agent
) -> None:
    """A replay is no activity (S1, G3)."""
    said: dict[str, Any] = {"to": "lead", "body": "x", "request_id": "r1"}
    builder.send(**said)
    mailbox.retire("builder")

    assert builder.send(**said).is_replayed
    assert mailbox.whois("builder").profile.is_retired is True


def test_a_refused_send_brings_nobody_back(mailbox: Mailbox, builder: Agent) -> None:
    """A failure changes nothing (I5, G3)."""
    mailbox.retire("builder")

    refused(mailbox, builder.send, to="nobody", body="x")

    assert mailbox.whois("builder").profile.is_retired is True
