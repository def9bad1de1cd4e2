"""A message and its file (FORMAT.md, CAPABILITIES M)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitmail.errors import (
    BlankBodyError,
    BodyTooLargeError,
    FanoutTooLargeError,
    InvalidArgumentError,
    InvalidTextError,
)
from gitmail.records.message import (
    PLACE_LIMIT,
    RECIPIENT_LIMIT,
    Importance,
    Kind,
    Location,
    Message,
    blob_id,
    check_body,
    check_header_size,
    parse_message,
    unique,
)
from gitmail.records.names import Address, AgentName, MessageId

DATE = datetime(2026, 11, 30, 14, 37, 12, 123456, tzinfo=UTC)
ID = MessageId("7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d")
SENT = Message(
    sender=AgentName("builder"),
    to=(Address("reviewer"),),
    recipients=(AgentName("reviewer"),),
    date=DATE,
    body="Hello.",
)


def named(prefix: str, count: int) -> tuple[AgentName, ...]:
    """Return that many names, each as long as a name may be."""
    return tuple(AgentName(f"{prefix}{i}".ljust(63, "x")) for i in range(count))


def test_keys_stand_in_one_order() -> None:
    """A file reads the same whoever wrote it (DESIGN 5)."""
    sent = replace(
        SENT,
        cc=(Address("team:core"),),
        subject="Parser handoff",
        kind=Kind.BRIEF,
        importance=Importance.HIGH,
        ack_required=True,
        topic="parser",
        room="Parser.2",
        thread=ID,
        reply_to=ID,
        expires=DATE,
        location=Location(branch="main", worktree="compiler", commit=ID),
        request_id="r 1",
        extra="later: x\n",
    )

    assert sent.data.decode() == (
        "---\n"
        "from: builder\n"
        "to: [reviewer]\n"
        'cc: ["team:core"]\n'
        "subject: Parser handoff\n"
        "kind: brief\n"
        "importance: high\n"
        "ack_required: true\n"
        "topic: parser\n"
        "room: Parser.2\n"
        f"thread: {ID}\n"
        f"reply_to: {ID}\n"
        "date: 2026-11-30T14:37:12.123456Z\n"
        "expires: 2026-11-30T14:37:12.123456Z\n"
        f"location: {{branch: main, worktree: compiler, commit: {ID}}}\n"
        "recipients: [reviewer]\n"
        "request_id: r 1\n"
        "later: x\n"
        "---\n"
        "\n"
        "Hello.\n"
    )


def test_an_id_is_the_git_blob_id_of_the_file() -> None:
    """`git hash-object` of an empty and of a short file are known (DESIGN I2)."""
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert SENT.id == blob_id(SENT.data)


def test_an_id_is_of_the_bytes_that_were_read() -> None:
    """A file by hand keeps its own id, however gitmail would have written it."""
    by_hand = SENT.data.replace(b"to: [reviewer]", b"to: reviewer")

    message = parse_message(by_hand)

    assert message == SENT
    assert message.id == blob_id(by_hand) != SENT.id


def test_the_first_message_names_its_thread() -> None:
    """A thread's id is the id of its first message (CAPABILITIES M8)."""
    assert SENT.thread_id == SENT.id
    assert replace(SENT, thread=ID).thread_id == ID


@pytest.mark.parametrize(
    ("to", "cc", "kinds"),
    [
        (["a", "b"], [], {"a": "to", "b": "to"}),
        (["a"], ["b"], {"a": "to", "b": "cc"}),
        (["team:core"], ["b"], {"a": "to", "b": "cc"}),
        (["b"], ["team:core"], {"a": "cc", "b": "to"}),
        (["team:core"], ["all"], {"a": "to", "b": "to"}),
        ([], ["all"], {"a": "cc", "b": "cc"}),
    ],
)
def test_a_recipient_is_reached_through_to_or_cc(
    to: list[str], cc: list[str], kinds: dict[str, str]
) -> None:
    """Who is reached through both counts as addressed directly."""
    sent = replace(
        SENT,
        to=tuple(map(Address, to)),
        cc=tuple(map(Address, cc)),
        recipients=(AgentName("a"), AgentName("b")),
    )

    assert dict(sent.deliveries) == kinds


def test_groups_are_the_addresses_whose_members_may_look() -> None:
    """Teams and all, in to and cc (CAPABILITIES R16)."""
    sent = replace(
        SENT, to=(Address("a"), Address("team:core")), cc=(Address("all"), Address("b"))
    )

    assert sent.groups == ("team:core", "all")


def test_a_title_is_the_subject_or_the_first_line() -> None:
    """Listings never have an empty line for a message (CAPABILITIES M2)."""
    assert replace(SENT, subject="A").title == "A"
    assert replace(SENT, body="\n \n## Hello\tyou\x07 \nMore").title == "Hello you"
    assert len(replace(SENT, body="x" * 100).title) == 72
    assert replace(SENT, body="###").title == ""


def test_importance_rises() -> None:
    """`importance at least` compares ranks (CAPABILITIES R2)."""
    assert [each.rank for each in Importance] == [0, 1, 2, 3]
    assert Importance.URGENT.rank > Importance.HIGH.rank


def test_a_place_with_an_odd_name_is_made_one_line() -> None:
    """A folder may be named anything; the file must be readable again all the same."""
    odd = Location(branch=" a\nb\u2028 ", worktree="w\udcff\x07" + "x" * 300)

    message = parse_message(replace(SENT, location=odd).data)

    assert message.location == odd
    assert odd.branch == "a?b?"
    assert odd.worktree == "w??" + "x" * (PLACE_LIMIT - 3)


def test_a_place_without_a_name_is_left_out() -> None:
    """An empty location has no line."""
    assert replace(SENT, location=Location(branch="", worktree=" ")).data == SENT.data


def test_the_most_recipients_with_the_longest_names_can_be_read_again() -> None:
    """The limits of recipients and of the header fit together."""
    sent = replace(SENT, recipients=named("a", RECIPIENT_LIMIT))

    check_header_size(sent)

    assert parse_message(sent.data) == sent


@pytest.mark.parametrize("count", [RECIPIENT_LIMIT + 1, 2000])
def test_more_recipients_are_refused_with_their_number(count: int) -> None:
    """The sender learns how many there were, before anything is written."""
    sent = replace(SENT, recipients=named("a", count))

    with pytest.raises(FanoutTooLargeError) as caught:
        check_header_size(sent)

    assert caught.value.details["count"] == count


def test_a_header_too_large_for_another_reason_is_refused() -> None:
    """Many addresses in to are counted like everything else."""
    sent = replace(SENT, to=tuple(map(Address, named("a", 300))))

    with pytest.raises(InvalidArgumentError):
        check_header_size(sent)


@pytest.mark.parametrize("body", ["x", "\u200b", "é" * 5, " x\n", "\x07", "x" * 10])
def test_a_body_up_to_the_limit_is_taken_as_it_is(body: str) -> None:
    """Verbatim, and counted in UTF-8 bytes (CAPABILITIES M1)."""
    assert check_body(body, 10) == body


@pytest.mark.parametrize("body", ["", " ", "\n\t\r\u3000\x85\u2028"])
def test_a_blank_body_is_refused(body: str) -> None:
    """A message needs text (CAPABILITIES M1)."""
    with pytest.raises(BlankBodyError):
        check_body(body, 10)


def test_a_body_over_the_limit_is_refused_with_its_size() -> None:
    """The error says how many bytes there were (CAPABILITIES M1)."""
    with pytest.raises(BodyTooLargeError) as caught:
        check_body("é" * 6, 10)

    assert caught.value.details == {
        "field": "body",
        "size_bytes": 12,
        "limit_bytes": 10,
    }


@pytest.mark.parametrize("body", ["a\x00", "a\ud800", "\udfffa"])
def test_a_body_that_no_file_can_hold_is_refused(body: str) -> None:
    """NUL and lone surrogates are named with their place (CAPABILITIES M1)."""
    with pytest.raises(InvalidTextError) as caught:
        check_body(body, 10)

    assert caught.value.details["position"] in (1, 2)


def test_an_address_said_twice_counts_once() -> None:
    """Duplicates collapse, in the order of the first (CAPABILITIES A1)."""
    said = [Address(name) for name in ("b", "a", "b")]

    assert unique(said) == ("b", "a")
