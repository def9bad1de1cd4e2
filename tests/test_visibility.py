"""Who sees what: blind copies, private mail, teams and everybody (A2, R16)."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import GitmailError
from gitmail.mailbox.values import Sent
from gitmail.render import plain
from tests.helpers import SettableClock
from tests.mailboxes import bodies, reopened

BLIND = "blind"


@pytest.fixture(name="sent")
def _sent(mailbox: Mailbox, builder: Agent) -> Sent:
    """Return a message to reviewer, with copies to lead and, blind, to two others."""
    mailbox.register(BLIND, teams=["hidden"])
    mailbox.register("outsider")
    return builder.send(
        to="reviewer",
        cc="lead",
        bcc="team:hidden,builder",
        body="Hello.",
        subject="Subject",
        room="room",
        request_id="r1",
    )


def answers(agent: Agent, message: str) -> Iterator[tuple[str, Any]]:
    """Yield all that an agent can get to see of a message, by the verb's name."""
    yield "poll", plain.page(agent.poll(show="any"))
    yield "full", plain.page(agent.poll(show="any", full=True))
    yield "read", plain.item(agent.read(message))
    yield "receipts", plain.receipts(agent.receipts(message))
    yield "thread", plain.conversation(agent.thread(message), "thread")
    yield "room", plain.conversation(agent.room("room"), "room")
    yield "history", plain.page(agent.history())
    yield "search", plain.found("hello", agent.search("hello"))


@pytest.mark.parametrize("name", ["reviewer", "lead"])
def test_an_open_recipient_learns_nothing_of_blind_copies(
    mailbox: Mailbox, sent: Sent, name: str
) -> None:
    """From no verb, also after the blind ones have read and answered (A2)."""
    agent = mailbox.agent(name)
    message = sent.message.id
    mailbox.agent(BLIND).ack(message, note="Seen.")
    mailbox.agent(BLIND).reply(message, "Thanks.")

    seen = dict(answers(agent, message))

    for verb, answer in seen.items():
        text = json.dumps(answer)
        assert "bcc" not in text, verb
        assert BLIND not in text, verb
        assert "hidden" not in text, verb
    assert seen["read"]["recipients"] == ["reviewer", "lead"]
    assert [line["name"] for line in seen["receipts"]["receipts"]] == [
        "reviewer",
        "lead",
    ]
    assert seen["thread"]["participants"] == ["builder", "lead", "reviewer"]
    assert seen["thread"]["count"] == 1


@pytest.mark.parametrize("name", ["reviewer", "lead"])
def test_an_open_recipient_cannot_ask_for_blind_copies(
    mailbox: Mailbox, sent: Sent, name: str
) -> None:
    """Neither by peer nor by recipient, nor by answering (A2)."""
    agent = mailbox.agent(name)

    assert agent.history(peer=BLIND).items == ()
    assert agent.search("hello", recipient=BLIND) == []
    assert agent.search(f"hello to:{BLIND}") == []
    assert agent.search("hello to:builder") == []
    answer = agent.reply(sent.message.id, "Hi.")
    assert [delivery.name for delivery in answer.deliveries] == ["builder"]


def test_a_blind_recipient_sees_itself_and_no_other_blind_one(
    mailbox: Mailbox, sent: Sent
) -> None:
    """It knows how it was reached (A2)."""
    agent = mailbox.agent(BLIND)
    message = sent.message.id
    mailbox.agent("builder").ack(message)

    seen = dict(answers(agent, message))

    assert seen["read"]["bcc"] == ["team:hidden"]
    assert seen["poll"]["messages"][0]["bcc"] == ["team:hidden"]
    lines = [(line["name"], line["kind"]) for line in seen["receipts"]["receipts"]]
    assert lines == [("reviewer", "to"), ("lead", "cc"), (BLIND, "bcc")]
    assert bodies(agent.search(f"hello to:{BLIND}")) == ["Hello."]
    assert bodies(agent.history(peer=BLIND).items) == ["Hello."]
    assert agent.search("hello to:builder") == []


def test_the_sender_sees_all_blind_copies(
    mailbox: Mailbox, builder: Agent, sent: Sent
) -> None:
    """With their receipts, in every verb, and finds them (A2, K6)."""
    mailbox.agent(BLIND).ack(sent.message.id, note="Seen.")

    seen = dict(answers(builder, sent.message.id))

    for verb in ("poll", "history", "thread", "room", "search"):
        assert seen[verb]["messages"][0]["bcc"] == ["team:hidden", "builder"], verb
    assert seen["read"]["bcc"] == ["team:hidden", "builder"]
    lines = {line["name"]: line for line in seen["receipts"]["receipts"]}
    assert list(lines) == ["reviewer", "lead", BLIND, "builder"]
    assert (lines[BLIND]["state"], lines[BLIND]["note"]) == ("acked", "Seen.")
    assert bodies(builder.search(f"hello to:{BLIND}")) == ["Hello."]
    assert bodies(builder.history(peer=BLIND).items) == ["Hello."]
    assert [(d.name, d.kind) for d in sent.deliveries] == [
        ("reviewer", "to"),
        ("lead", "cc"),
        (BLIND, "bcc"),
        ("builder", "bcc"),
    ]


def test_the_message_itself_names_no_blind_recipient(
    mailbox: Mailbox, sent: Sent
) -> None:
    """They stand in files of their own (DESIGN 4)."""
    data = mailbox.store.read(lambda view: view.repository.blob(sent.message.id))

    assert BLIND.encode() not in data
    assert b"hidden" not in data
    copies = mailbox.path / "copies"
    assert sorted(path.name for path in copies.iterdir()) == [BLIND, "builder"]


def test_a_blind_copy_to_a_team_is_no_mail_of_the_team(
    mailbox: Mailbox, sent: Sent
) -> None:
    """Who joins later does not see it (A2, A3)."""
    mailbox.register("late", teams=["hidden"])

    assert mailbox.agent("late").history().items == ()
    with pytest.raises(GitmailError, match="no message"):
        mailbox.agent("late").read(sent.message.id)


def test_a_blind_copy_to_everybody_is_mail_to_nobody_else(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Who registers later does not see it (A2, A4)."""
    message = builder.send(to=[], bcc="all", body="Hello.").message.id
    mailbox.register("late")

    lead = mailbox.agent("lead")
    assert bodies(lead.poll().items) == ["Hello."]
    assert lead.read(message).bcc == ("all",)
    assert [line.name for line in lead.receipts(message).lines] == ["lead"]
    assert lead.thread(message).participants == ("builder",)
    assert mailbox.agent("late").history().items == ()


def test_mail_of_others_is_not_there(mailbox: Mailbox, sent: Sent) -> None:
    """No verb tells it from a message that never was (R16)."""
    agent = mailbox.agent("outsider")

    verbs: list[Callable[[str], object]] = [
        agent.read,
        agent.thread,
        agent.receipts,
        lambda text: agent.reply(text, "x"),
    ]
    for verb in verbs:
        messages = []
        for text in (sent.message.id, "0" * 40):
            with pytest.raises(GitmailError) as caught:
                verb(text)
            problem = plain.error(caught.value)
            messages.append(json.dumps(problem).replace(text, "ID"))
        assert messages[0] == messages[1]
    results = agent.ack([sent.message.id, "0" * 40]).results
    assert [result.outcome for result in results] == ["not_found"] * 2
    assert agent.history(peer="builder").items == ()
    assert agent.search("hello") == []
    with pytest.raises(GitmailError, match="room"):
        agent.room("room")


def test_a_prefix_that_fits_private_mail_too_is_not_ambiguous(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """What one may not see does not get in the way (A8, R16)."""
    mine = builder.send(to="reviewer", body="mine").message.id
    other = builder.send(to="lead", body="not mine").message.id
    index = mailbox.store._keeper.index()
    index.execute(
        "UPDATE message SET id = ? WHERE id = ?",
        (bytes.fromhex(mine[:10] + "0" * 30), bytes.fromhex(other)),
    )

    assert reviewer.read(mine[:8]).text == "mine"


def test_everybody_sees_mail_to_all_and_a_team_its_mail(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Now and later, as long as one is in the team (R16)."""
    public = builder.send(to="lead", cc="all", body="public").message.id
    shared = builder.send(to="lead", cc="team:core", body="shared").message.id
    mailbox.register("late", teams=["core"])
    late = mailbox.agent("late")
    assert [late.read(message).text for message in (public, shared)] == [
        "public",
        "shared",
    ]

    mailbox.register("late", teams=[])

    assert late.read(public).text == "public"
    assert bodies(late.history().items) == ["public"]
    with pytest.raises(GitmailError, match="no message"):
        late.read(shared)


def test_who_retired_still_sees_their_mail(mailbox: Mailbox, sent: Sent) -> None:
    """Retirement takes nothing away (G3)."""
    mailbox.retire("reviewer")

    assert mailbox.agent("reviewer").read(sent.message.id).text == "Hello."


def test_visibility_is_the_same_without_the_index(
    mailbox: Mailbox, sent: Sent, clock: SettableClock
) -> None:
    """It stands in the files of the tip (I1, R16)."""
    mailbox.agent(BLIND).ack(sent.message.id)
    names = ("builder", "reviewer", "lead", BLIND)
    expected = {
        name: dict(answers(mailbox.agent(name), sent.message.id)) for name in names
    }

    with reopened(mailbox, clock) as other:
        found = {
            name: dict(answers(other.agent(name), sent.message.id)) for name in names
        }
        assert other.agent("outsider").history().items == ()

    assert found == expected


def test_memory_that_cites_a_blind_copy_tells_nobody_who_got_it(
    mailbox: Mailbox, sent: Sent
) -> None:
    """The log names the mail only to those who know of the copy (A2, Y11)."""
    source = f"message:{sent.message.id}"
    memory = mailbox.agent(BLIND).memory
    stored = memory.set("fact", "x", "y", "value", source=source, ack=True)

    for name in ("reviewer", "lead", "outsider"):
        (entry,) = mailbox.log(op="memory-set", viewer=name)
        assert (entry.commit, entry.messages) == (stored.commit, ())
        assert mailbox.log(path=f"receipts/{BLIND}", viewer=name) == []
    for name in ("builder", BLIND):
        (entry,) = mailbox.log(op="memory-set", viewer=name)
        assert entry.messages == (sent.message.id,)


def test_everybody_who_is_registered_sees_all_of_memory(
    mailbox: Mailbox, sent: Sent
) -> None:
    """Also what cites mail that they may not see, but nothing of that mail (R16)."""
    source = f"message:{sent.message.id}"
    mailbox.agent("reviewer").memory.set("fact", "x", "y", "value", source=source)
    memory = mailbox.agent("outsider").memory

    assert memory.get("fact", "x", "y").record.source == source
    assert len(memory.search("value").records) == 1
    with pytest.raises(GitmailError, match="no message"):
        memory.add("a note", source=source)
