"""What a message may say (CAPABILITIES M)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    BlankBodyError,
    BodyTooLargeError,
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
)
from gitmail.records.message import Importance, Kind, Location
from tests.helpers import START, SettableClock, blob_id, files_in_tip, git
from tests.mailboxes import edit, pending, refused, still, tip


@pytest.mark.parametrize(
    "body",
    [
        "One line.",
        "  indented, with space behind  ",
        "a\r\nb\rc\n\n\n",
        "---\nfrom: somebody\n---\n\nNot a header.",
        "\ufeffa mark, \u202ea turn, \x1b[31mred\x1b[0m, \x7f",
        "\n\nleading lines",
        "a\u2028b\x85c\x0bd",
    ],
)
def test_a_body_is_kept_byte_for_byte(
    builder: Agent, reviewer: Agent, mailbox: Mailbox, body: str
) -> None:
    """Nothing is added, taken off or changed, in the file too (M1, I2)."""
    sent = builder.send(to="reviewer", body=body)

    assert reviewer.read(sent.message.id).text == body
    (file,) = (mailbox.path / "messages").rglob("*.md")
    assert file.read_bytes().split(b"\n---\n\n", 1)[1] == f"{body}\n".encode()
    assert blob_id(file.read_bytes()) == sent.message.id


def test_a_body_may_have_as_many_bytes_as_the_limit_says(
    mailbox: Mailbox, builder: Agent
) -> None:
    """It is counted in UTF-8 bytes, and the error says how many there were (M1)."""
    limit = 65_536
    builder.send(to="lead", body="é" * (limit // 2))

    problem = refused(mailbox, builder.send, to="lead", body="é" * (limit // 2) + "a")

    assert isinstance(problem, BodyTooLargeError)
    assert problem.details == {
        "field": "body",
        "size_bytes": limit + 1,
        "limit_bytes": limit,
    }


def test_the_limit_of_a_body_is_the_mailboxes_own(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It is set in mailbox.md, in an ordinary clone, and holds at once (M1)."""
    charter = (mailbox.path / "mailbox.md").read_text("utf-8")
    changed = charter.replace("max_body_bytes: 65536", "max_body_bytes: 10")
    edit(mailbox.path, tmp_path / "clone", {"mailbox.md": changed})

    problem = refused(mailbox, builder.send, to="lead", body="x" * 11)

    assert problem.details == {
        "field": "body",
        "size_bytes": 11,
        "limit_bytes": 10,
    }
    assert builder.send(to="lead", body="x" * 10).commit


@pytest.mark.parametrize("body", ["", " ", "\n\t\r\n", "\u2003\u3000", "\x0c"])
def test_a_blank_body_is_refused(mailbox: Mailbox, builder: Agent, body: str) -> None:
    """White space of any kind says nothing (M1)."""
    problem = refused(mailbox, builder.send, to="lead", body=body)

    assert isinstance(problem, BlankBodyError)


@pytest.mark.parametrize(
    ("body", "character"), [("ab\0c", "U+0000"), ("ab\ud800c", "U+D800")]
)
def test_a_body_that_no_file_can_hold_is_refused(
    mailbox: Mailbox, builder: Agent, body: str, character: str
) -> None:
    """The error names the character and where it stands (M1)."""
    problem = refused(mailbox, builder.send, to="lead", body=body)

    assert isinstance(problem, InvalidTextError)
    assert problem.details == {"field": "body", "character": character, "position": 3}


def test_a_message_without_a_subject_shows_its_first_line_in_lists(
    builder: Agent, reviewer: Agent
) -> None:
    """The message itself stays without one (M2)."""
    long = "word " * 30
    sent = builder.send(to="reviewer", body=f"\n# {long}\n\nMore.")

    listed = reviewer.poll().items[0].message

    assert listed.subject is None
    assert listed.title == ("word " * 14)[:69] + "..."
    assert reviewer.read(sent.message.id).message.subject is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("subject", "two\nlines"),
        ("subject", "a\u2028b"),
        ("subject", "a\0b"),
        ("topic", "a\tb"),
        ("request_id", "a\x1bb"),
    ],
)
def test_a_label_of_several_lines_is_refused(
    mailbox: Mailbox, builder: Agent, field: str, value: str
) -> None:
    """What stands on one line of the header is one line (M2, M6, S1)."""
    said: dict[str, Any] = {field: value}
    problem = refused(mailbox, builder.send, to="lead", body="x", **said)

    assert isinstance(problem, InvalidTextError)
    assert problem.details["field"] == field


@pytest.mark.parametrize(
    ("field", "longest"), [("subject", 200), ("topic", 64), ("request_id", 120)]
)
def test_a_label_has_a_longest_length(
    mailbox: Mailbox, builder: Agent, field: str, longest: int
) -> None:
    """The longest is taken, one character more is refused (M2, M6, S1)."""
    said: dict[str, Any] = {field: "é" * longest}
    sent = builder.send(to="lead", body="x", **said)
    more: dict[str, Any] = {field: "é" * (longest + 1)}
    problem = refused(mailbox, builder.send, to="lead", body="x", **more)

    assert getattr(sent.message.message, field) == "é" * longest
    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == field


def test_what_is_not_said_has_its_default(builder: Agent, reviewer: Agent) -> None:
    """A message that says little is a normal note (M3, M4, M5)."""
    builder.send(to="reviewer", body="Hello.", subject=" ", topic="")

    message = reviewer.poll().items[0].message
    assert (message.kind, message.importance) == (Kind.NOTE, Importance.NORMAL)
    assert (message.subject, message.topic, message.room) == (None, None, None)
    assert message.ack_required is False
    assert (message.thread, message.reply_to, message.expires) == (None, None, None)


def test_all_that_is_said_is_kept(builder: Agent, reviewer: Agent) -> None:
    """Words of a list count in any case; free text stays as it is (M2 to M7)."""
    sent = builder.send(
        to="reviewer",
        body="Hello.",
        subject=" Parser: handoff ",
        kind="BRIEF",
        importance=" Urgent",
        ack_required=True,
        topic="Parser",
        room="Room.1_a-B",
        expires_in="2h",
    )

    message = reviewer.read(sent.message.id).message
    assert message.subject == "Parser: handoff"
    assert (message.kind, message.importance) == (Kind.BRIEF, Importance.URGENT)
    assert (message.topic, message.room) == ("Parser", "Room.1_a-B")
    assert message.ack_required is True
    assert message.expires == message.date + timedelta(hours=2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "memo"),
        ("kind", ""),
        ("kind", 5),
        ("importance", "hi"),
        ("ack_required", "yes"),
        ("ack_required", 1),
        ("request_id", ""),
        ("request_id", " "),
        ("expires_in", "soon"),
        ("expires_in", "-2h"),
        ("expires_in", "0"),
        ("expires_in", "11y"),
        ("expires_in", "4000d"),
        ("expires_in", 60),
        ("expires_in", timedelta(0)),
        ("subject", 5),
        ("body", 5),
    ],
)
def test_a_value_outside_of_what_is_accepted_is_refused(
    mailbox: Mailbox, builder: Agent, field: str, value: Any
) -> None:
    """The error names the argument and what is accepted (M3, M4, M5, M12, S1)."""
    said: dict[str, Any] = {"to": "lead", "body": "x", field: value}
    problem = refused(mailbox, builder.send, **said)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == field
    assert problem.details["accepted"]


@pytest.mark.parametrize("room", ["", " ", "a b", "a/b", "é", "x" * 65, "a\n"])
def test_a_room_has_a_grammar(mailbox: Mailbox, builder: Agent, room: str) -> None:
    """1 to 64 of the letters that a resource's address can hold (M7)."""
    problem = refused(mailbox, builder.send, to="lead", body="x", room=room)

    assert isinstance(problem, InvalidNameError)


def test_the_place_of_the_sender_is_stamped(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """It is looked up for each message, and absent where nothing tells (M10)."""
    places = [
        Location(branch="feature/\x1b[31mred\n", worktree="compiler", commit="a" * 40),
        None,
    ]
    with Mailbox.open(
        mailbox.path, clock=clock, location=lambda: places.pop(0)
    ) as other:
        sent = [other.agent("builder").send(to="lead", body="x") for _ in range(2)]

    found = [mailbox.agent("lead").read(s.message.id).message.location for s in sent]
    assert found == [
        Location(branch="feature/?[31mred?", worktree="compiler", commit="a" * 40),
        None,
    ]


def test_a_message_expires_by_the_mailboxes_clock(
    builder: Agent, clock: SettableClock
) -> None:
    """The duration counts from the time of sending (M12)."""
    before = clock.now
    said: dict[str, Any] = {"expires_in": timedelta(days=3660)}
    sent = builder.send(to="lead", body="x", **said)

    expires = sent.message.message.expires
    assert expires is not None
    assert expires - timedelta(days=3660) == sent.message.message.date
    assert timedelta(0) < sent.message.message.date - before < timedelta(seconds=1)


def test_one_message_is_one_file_and_one_commit(
    mailbox: Mailbox, builder: Agent
) -> None:
    """The id is the blob id, and the commit has that one path (I2, I5)."""
    before = files_in_tip(mailbox.path)

    sent = builder.send(to="all", subject="Hello there", body="x")

    added = files_in_tip(mailbox.path).items() - before.items()
    assert [blob for _, blob in added] == [sent.message.id]
    (path,) = (path for path, _ in added)
    assert path == (
        f"messages/2026-11/30/14/140000-builder-hello-there-{sent.message.id[:8]}.md"
    )
    assert sent.commit == tip(mailbox)
    assert (
        git(mailbox.path, "rev-list", "--count", f"{sent.commit}~1..gitmail") == "1\n"
    )


def test_two_messages_of_one_moment_and_content_are_two(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """A clock that stands still makes no message vanish (I2)."""
    with Mailbox.open(mailbox.path, clock=still(START)) as other:
        sent = [other.agent("builder").send(to="reviewer", body="x") for _ in range(3)]

    assert len({each.message.id for each in sent}) == 3
    assert pending(reviewer) == ["x", "x", "x"]
    assert pending(builder) == []
