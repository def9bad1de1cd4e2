"""Looking back: read, thread, room and history, and prefixes of ids (R12, R13, A8)."""

import random
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AmbiguousIdError,
    InvalidArgumentError,
    InvalidNameError,
    MessageNotFoundError,
    NotRegisteredError,
    RoomNotFoundError,
)
from gitmail.mailbox.lookup import _shortest
from gitmail.records.message import Message
from gitmail.records.names import Address, AgentName, MessageId
from gitmail.records.paths import message_path
from gitmail.records.receipt import Stage
from tests.helpers import START, SettableClock
from tests.mailboxes import bodies, edit, pending, refused, team, tip


def send(agent: Agent, *texts: str, **said: Any) -> list[str]:
    """Send a message of each text to reviewer in one commit; return the ids."""
    drafts = [{"to": "reviewer", "body": text, **said} for text in texts]
    return [sent.message.id for sent in agent.send_many(drafts)]


def test_reading_shows_the_whole_and_marks_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """However long the body is (R4)."""
    body = "long " * 10_000
    (message,) = send(builder, body)
    before = tip(mailbox)

    item = reviewer.read(message)

    assert (item.text, item.is_truncated, item.state) == (body, False, Stage.PENDING)
    assert tip(mailbox) == before
    assert builder.read(message).state is None


def test_a_message_is_named_by_the_start_of_its_id(
    builder: Agent, reviewer: Agent
) -> None:
    """From 8 digits on, in either case, with space around it (A8)."""
    (message,) = send(builder, "x")

    for text in (
        message[:8],
        message[:39],
        message,
        message[:9].upper(),
        f" {message} ",
    ):
        assert reviewer.read(text).id == message


@pytest.mark.parametrize("text", ["", "abc", "0" * 7, "0" * 41, "g" * 8, "0x000000"])
def test_what_is_no_start_of_an_id_is_refused(
    mailbox: Mailbox, reviewer: Agent, text: str
) -> None:
    """Everywhere where a message is named (A8)."""
    for act in (reviewer.read, reviewer.thread, reviewer.receipts):
        assert isinstance(refused(mailbox, act, text), InvalidNameError)


def test_a_prefix_of_two_messages_is_refused_with_both(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Cut to the shortest that tells them apart, and only if the caller sees both (A8).

    The index finds messages by their ids alone, so that two of them can be made to
    share their first digits here, which no hash will do in the time of a test.
    """
    first, second = send(builder, "1", "2")
    (hidden,) = send(builder, "3")
    twins = {first: "c0ffee01" + "a" * 32, second: "c0ffee01" + "ab" * 16}
    # What others did is read from the tip; this is about the question alone.
    index = mailbox.store._keeper.index()
    for message, twin in twins.items():
        index.execute(
            "UPDATE message SET id = ? WHERE id = ?",
            (bytes.fromhex(twin), bytes.fromhex(message)),
        )

    problem = refused(mailbox, reviewer.read, "c0ffee01")

    assert isinstance(problem, AmbiguousIdError)
    assert problem.matches == ["c0ffee01aa", "c0ffee01ab"]
    acked = reviewer.ack(["C0FFEE01", hidden]).results
    assert acked[0].matches == ("c0ffee01aa", "c0ffee01ab")
    assert (acked[0].outcome, acked[1].outcome) == ("conflict", "updated")
    with pytest.raises(MessageNotFoundError):
        mailbox.agent("lead").read("c0ffee01")


def test_candidates_are_cut_to_the_shortest_that_tells_them_apart() -> None:
    """Never to fewer than 8 digits, and whatever the number of them (A8)."""
    chance = random.Random(5)  # noqa: S311 - the same ids in each run
    for _ in range(200):
        head = "".join(chance.choices("0123456789abcdef", k=chance.randrange(6, 39)))
        ids = sorted(
            {
                (head + "".join(chance.choices("0123456789abcdef", k=40)))[:40]
                for _ in range(chance.randrange(2, 10))
            }
        )
        cut = _shortest(ids)
        length = len(cut[0])

        assert len(set(cut)) == len(ids)
        assert all(long.startswith(short) for long, short in zip(ids, cut, strict=True))
        assert length == 8 or len({each[: length - 1] for each in ids}) < len(ids)


def test_a_thread_is_shown_from_its_start_whatever_message_is_named(
    builder: Agent, reviewer: Agent
) -> None:
    """Whole bodies, oldest first, with who takes part (R13)."""
    (first,) = send(builder, "1 " + "x" * 600)
    second = reviewer.reply(first, "2", cc="lead").message.id
    third = builder.reply(second, "3").message.id

    for message in (first, second[:8], third):
        thread = builder.thread(message)
        assert thread.name == first
        assert [item.text for item in thread.items] == ["1 " + "x" * 600, "2", "3"]
        assert thread.count == 3
        assert thread.has_more is False
        assert thread.participants == ("builder", "lead", "reviewer")
    assert [item.state for item in reviewer.thread(first).items] == [
        Stage.PENDING,
        None,
        Stage.PENDING,
    ]


def test_a_thread_that_is_cut_has_all_counts_and_participants(
    builder: Agent, reviewer: Agent
) -> None:
    """What is beyond the limit counts too (R13)."""
    (first,) = send(builder, "0")
    for number in range(1, 6):
        reviewer.reply(first, str(number))
    builder.reply(first, "6", to="lead")

    thread = builder.thread(first, limit=2)

    assert bodies(thread.items) == ["0", "1"]
    assert (thread.count, thread.has_more) == (7, True)
    assert thread.participants == ("builder", "lead", "reviewer")


def test_a_long_thread_has_the_same_participants(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """However they are gathered: beyond a page, by the index (R13)."""
    mailbox.register("bystander")
    mailbox.register("blind")
    (first,) = send(builder, "0", cc="lead", bcc="blind")
    for number in range(201):
        reviewer.reply(first, str(number))

    thread = builder.thread(first, limit=200)

    assert (thread.count, len(thread.items), thread.has_more) == (202, 200, True)
    assert thread.participants == ("builder", "lead", "reviewer")


def test_a_large_message_does_not_hide_the_rest_of_its_thread(
    builder: Agent, reviewer: Agent
) -> None:
    """Where the page has no room for a body it shows the start of it (R5, R13)."""
    (first,) = send(builder, "1")
    reviewer.reply(first, "2" * 40_000)
    builder.reply(first, "3")

    thread = builder.thread(first)

    assert [(len(item.text or ""), item.is_truncated) for item in thread.items] == [
        (1, False),
        (483, True),
        (1, False),
    ]
    assert thread.has_more is False


def test_a_thread_larger_than_a_page_says_that_there_is_more(
    builder: Agent, reviewer: Agent
) -> None:
    """Even of previews not all fit (R5, R13)."""
    (first,) = send(builder, "\U0001f600" * 500)
    for _ in range(30):
        reviewer.reply(first, "\U0001f600" * 500)

    thread = builder.thread(first)

    assert thread.count == 31
    assert 10 < len(thread.items) < 31
    assert thread.has_more is True


def test_a_thread_shows_only_what_the_caller_may_see(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Counts and participants are of that part alone (R13, R16)."""
    lead = mailbox.agent("lead")
    (first,) = send(builder, "1")
    second = reviewer.reply(first, "2", to="builder", cc="lead").message.id
    builder.reply(second, "3", to="reviewer")

    thread = lead.thread(second)

    assert bodies(thread.items) == ["2"]
    assert (thread.name, thread.count) == (first, 1)
    assert thread.participants == ("builder", "lead", "reviewer")


def test_a_thread_is_found_by_its_id_though_its_first_message_is_private(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Each later message says that id, so that one can ask by it (R13)."""
    lead = mailbox.agent("lead")
    (first,) = send(builder, "1")
    second = reviewer.reply(first, "2", to="lead").message
    builder.send(to="lead", body="another thread")

    for text in (second.message.thread_id, first[:8], first[:20].upper()):
        assert bodies(lead.thread(text).items) == ["2"]
    assert isinstance(refused(mailbox, lead.read, first), MessageNotFoundError)


def test_a_thread_of_which_one_may_see_nothing_is_not_there(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Not yours and not there are the same answer (R16)."""
    (first,) = send(builder, "1")
    lead = mailbox.agent("lead")

    hidden = refused(mailbox, lead.thread, first)
    missing = refused(mailbox, lead.thread, "0" * 40)

    assert isinstance(hidden, MessageNotFoundError)
    assert isinstance(missing, MessageNotFoundError)
    assert hidden.message.replace(first, "0" * 40) == missing.message


def test_a_prefix_of_two_threads_with_private_beginnings_is_refused(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """A thread is named as clearly as a message; such ids come from elsewhere (A8)."""
    threads = [MessageId("c0ffee01" + end * 32) for end in "ab"]
    answers = [
        Message(
            sender=builder.name,
            to=(Address("lead"),),
            recipients=(AgentName("lead"),),
            date=START,
            body=thread,
            thread=thread,
        )
        for thread in threads
    ]
    files: dict[str, str | None] = {message_path(m): m.data.decode() for m in answers}
    edit(mailbox.path, tmp_path / "clone", files)
    lead = mailbox.agent("lead")

    problem = refused(mailbox, lead.thread, "c0ffee01")

    assert isinstance(problem, AmbiguousIdError)
    assert problem.matches == ["c0ffee01a", "c0ffee01b"]
    assert bodies(lead.thread("c0ffee01b").items) == [threads[1]]


@pytest.mark.parametrize("limit", [0, 201])
def test_the_limit_of_a_view_is_checked(
    mailbox: Mailbox, builder: Agent, limit: int
) -> None:
    """The same range as for a page (R3)."""
    (first,) = send(builder, "x", room="parser")

    for act, said in (
        (builder.thread, {"message": first}),
        (builder.room, {"room": "parser"}),
        (builder.history, {}),
        (builder.search, {"query": "x"}),
    ):
        problem = refused(mailbox, act, limit=limit, **said)
        assert isinstance(problem, InvalidArgumentError)
        assert problem.details["argument"] == "limit"


def test_a_room_shows_of_itself_what_the_caller_may_see(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Mail of any thread, oldest first, with counts of that part (R16)."""
    send(builder, "1", room="Parser")
    builder.send(to="lead", body="2", room="Parser")
    reviewer.send(to="all", body="3", room="Parser")
    send(builder, "4", room="parser")
    send(builder, "5")

    seen = mailbox.agent("lead").room("Parser")

    assert bodies(builder.room("Parser").items) == ["1", "2", "3"]
    assert bodies(builder.room("Parser", limit=1).items) == ["1"]
    assert bodies(reviewer.room("Parser").items) == ["1", "3"]
    assert bodies(seen.items) == ["2", "3"]
    assert (seen.name, seen.count) == ("Parser", 2)
    assert seen.participants == ("builder", "lead", "reviewer")


def test_a_room_unknown_malformed_or_invisible_is_one_answer(
    mailbox: Mailbox, builder: Agent
) -> None:
    """It tells nobody which rooms there are (O1)."""
    send(builder, "x", room="secret")
    lead = mailbox.agent("lead")

    problems = [
        refused(mailbox, lead.room, name)
        for name in ("secret", "absent", "a b", "", "../x", "x" * 65, "é")
    ]

    assert {type(problem) for problem in problems} == {RoomNotFoundError}
    shown = {
        problem.message.replace(str(problem.details["room"]), "R", 1)
        for problem in problems
        if problem.details["room"]
    }
    assert len(shown) == 1


def test_a_room_an_agent_a_team_and_a_topic_of_one_name_are_four_things(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """None is taken for another (M6, M7)."""
    team(mailbox, "lead", "one")
    send(builder, "room", room="lead")
    send(builder, "topic", topic="lead")
    builder.send(to="team:lead", body="team")
    builder.send(to="lead", body="agent")

    assert bodies(reviewer.room("lead").items) == ["room"]
    assert bodies(reviewer.poll(topic="lead").items) == ["topic"]
    assert pending(mailbox.agent("one")) == ["team"]
    assert pending(mailbox.agent("lead")) == ["agent"]


def test_history_is_what_one_sent_and_received_newest_first(
    builder: Agent, reviewer: Agent
) -> None:
    """Acknowledged or expired or not; a message to oneself once (R12)."""
    (first,) = send(builder, "1", expires_in="1s")
    reviewer.ack(first)
    builder.send(to="lead", body="not yours")
    reviewer.send(to="lead", body="2")
    reviewer.send(to="reviewer", cc="lead", body="3")
    builder.send(to="all", body="4")

    page = reviewer.history()

    assert bodies(page.items) == ["4", "3", "2", "1"]
    assert [item.state for item in page.items] == [
        Stage.PENDING,
        Stage.PENDING,
        None,
        Stage.ACKED,
    ]
    assert page.has_more is False


def test_history_with_a_peer_is_mail_between_the_two(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """From the peer or to it, whoever else took part (R12)."""
    mailbox.register("other")
    send(builder, "from peer")
    reviewer.send(to="builder", body="to peer")
    reviewer.send(to="lead", cc="builder", body="copied to peer")
    reviewer.send(to="lead", body="to another")
    mailbox.agent("lead").send(to="reviewer,builder", body="to both")
    mailbox.agent("lead").send(to="builder", body="not mine")

    assert bodies(reviewer.history(peer="BUILDER").items) == [
        "to both",
        "copied to peer",
        "to peer",
        "from peer",
    ]
    assert reviewer.history(peer="other").items == ()


def test_history_with_oneself_is_what_one_has_to_do_with(
    builder: Agent, reviewer: Agent
) -> None:
    """A peer may be the caller (R12)."""
    send(builder, "1")
    reviewer.send(to="builder", body="2")

    assert bodies(reviewer.history(peer="reviewer").items) == ["2", "1"]


@pytest.mark.parametrize("peer", ["", "a b", "team:core", "all"])
def test_a_peer_is_an_agents_name(mailbox: Mailbox, reviewer: Agent, peer: str) -> None:
    """Neither a team nor everybody is one (R12)."""
    assert isinstance(refused(mailbox, reviewer.history, peer=peer), InvalidNameError)


def test_history_shows_previews(builder: Agent, reviewer: Agent) -> None:
    """The whole is there by id (R4, R12)."""
    send(builder, "x" * 481)

    item = reviewer.history().items[0]

    assert (item.text, item.is_truncated) == ("x" * 480 + "...", True)


def test_a_stranger_can_look_at_nothing(mailbox: Mailbox, builder: Agent) -> None:
    """Who is not registered is told so, whatever they ask for."""
    (message,) = send(builder, "x", room="parser")
    nobody = mailbox.agent("nobody")

    for act, said in (
        (nobody.read, {"message": message}),
        (nobody.thread, {"message": message}),
        (nobody.room, {"room": "parser"}),
        (nobody.history, {}),
        (nobody.search, {"query": "x"}),
    ):
        assert isinstance(refused(mailbox, act, **said), NotRegisteredError)


def test_views_are_the_same_after_a_hundred_days(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Months and years make no difference to what is found (I9)."""
    ids = []
    for number in range(12):
        ids += send(builder, str(number), room="parser")
        clock.advance(days=100)

    assert bodies(reviewer.room("parser").items) == [str(n) for n in range(12)]
    assert bodies(reviewer.history().items) == [str(n) for n in reversed(range(12))]
    assert [reviewer.read(message).text for message in ids] == [
        str(number) for number in range(12)
    ]
