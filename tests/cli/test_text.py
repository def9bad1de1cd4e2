"""Text for people: layout, and that nobody's text can steer a terminal (DESIGN I8)."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from gitmail.mailbox.values import (
    Acked,
    AckOutcome,
    AckResult,
    Availability,
    Conversation,
    Delivery,
    Directory,
    Entry,
    Item,
    LogEntry,
    Page,
    ReceiptLine,
    Receipts,
    Registered,
    Sent,
    Status,
)
from gitmail.records.message import Location, Message
from gitmail.records.names import Address, AgentName, CommitId, MessageId
from gitmail.records.profile import Profile
from gitmail.records.receipt import Stage
from gitmail.render import deliveries, people, text
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    cells,
    clip,
    flat,
    line,
    shown,
    table,
)
from tests.helpers import START

PLAIN = Look(now=START)
COLORED = Look(now=START, width=60, has_color=True)
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
# A real terminal obeys each of these: clear, set the title, go to the start of the
# line, delete, C1 introducer, reverse the direction, hide, break the line.
EVIL = (
    "evil\x1b[2J\x1b]0;title\x07\rback\x08\x7f\x9b31m\x85"
    "\u202e\u2066\u200f\u061c\u00ad\u200b\ufeff\u2028\udcff"
)
_OID = "0123456789abcdef0123456789abcdef01234567"


def _evil_message() -> Message:
    return Message(
        sender=AgentName(EVIL),
        to=(Address(EVIL),),
        cc=(Address(EVIL),),
        recipients=(AgentName(EVIL),),
        subject=EVIL,
        topic=EVIL,
        room=EVIL,
        location=Location(branch=EVIL, worktree=EVIL, commit=EVIL),
        request_id=EVIL,
        date=START,
        body=f"{EVIL}\n\t{EVIL}",
    )


def _evil_item() -> Item:
    message = _evil_message()
    message.__dict__["id"] = MessageId(_OID)  # EVIL has no UTF-8 form to be hashed
    return Item(
        message=message,
        state=Stage.PENDING,
        bcc=(Address(EVIL),),
        text=message.body,
        is_truncated=True,
    )


def _evil_texts(look: Look) -> dict[str, str]:
    item = _evil_item()
    name = AgentName(EVIL)
    profile = Profile(
        name=name,
        created=START,
        program=EVIL,
        model=EVIL,
        teams=(EVIL,),
        description=EVIL,
    )
    entry = Entry(
        profile=profile,
        availability=Availability.IDLE,
        last_seen=START,
        unread_count=1,
        unacked_count=2,
    )
    delivery = Delivery(name=name, kind="to", availability=Availability.ACTIVE)
    sent = Sent(message=item, commit=CommitId(_OID), deliveries=(delivery,))
    page = Page(items=(item,), cursor=_OID, has_more=True, commit=CommitId(_OID))
    talk = Conversation(name=EVIL, items=(item,), count=3, participants=(EVIL,))
    results = tuple(
        AckResult(id=EVIL, outcome=outcome, matches=(EVIL,) if many else ())
        for outcome in AckOutcome
        for many in (True, False)
    )
    receipt = ReceiptLine(name=name, kind="to", state=Stage.ACKED, note=EVIL)
    log = LogEntry(
        commit=CommitId(_OID), date=START, agent=EVIL, operation=EVIL, subject=EVIL
    )
    status = Status(
        path=EVIL,
        id=EVIL,
        project=EVIL,
        format=1,
        branch="refs/heads/gitmail",
        tip=CommitId(_OID),
        message_count=1,
        agent_count=1,
        memory_count=2,
        commit_count=1,
        agent=name,
        unread_count=0,
        unacked_count=0,
        exchange=None,
        lost=(),
        quarantine=((EVIL, EVIL),),
        uncommitted=((EVIL, EVIL),) * 30,
    )
    registered = Registered(profile=profile, commit=CommitId(_OID))
    return {
        "letter": text.letter(item, look),
        "page": text.page(page, look),
        "whole page": text.page(page, look, whole=True),
        "thread": text.conversation(talk, look, "thread"),
        "room": text.conversation(talk, look, "room"),
        "sent": deliveries.sent(sent, look),
        "replayed": deliveries.sent(replace(sent, is_replayed=True), look),
        "batch": deliveries.sent_many([sent, sent], look),
        "found": text.found(EVIL, [replace(item, excerpt=EVIL)], look),
        "found nothing": text.found(EVIL, [], look),
        "acked": deliveries.acked(Acked(results=results, commit=None), look),
        "receipts": deliveries.receipts(
            Receipts(id=MessageId(_OID), lines=(receipt,)), look
        ),
        "log": people.log([log], look),
        "status": people.status(status, look),
        "init": people.initialised(status, is_new=True, is_alone=True),
        "directory": people.directory(Directory(entries=(entry,), idle_count=2), look),
        "entry": people.entry(entry, look),
        "registered": people.registered(registered, look, verb="Changed"),
        "new": people.registered(replace(registered, is_new=True), look, verb=""),
    }


@pytest.mark.parametrize("kind", list(_evil_texts(PLAIN)))
def test_no_text_of_others_steers_a_terminal(kind: str) -> None:
    """Control, direction and hidden characters are shown, in every field of a value."""
    assert not _STEERING.search(_evil_texts(PLAIN)[kind])
    without_color = re.sub("\x1b\\[[0-9;]+m", "", _evil_texts(COLORED)[kind])
    assert not _STEERING.search(without_color)


def test_a_value_that_is_shown_on_one_line_cannot_make_a_second() -> None:
    """Nobody forges a header, a row or a log line by a line break."""
    log = LogEntry(
        commit=CommitId(_OID),
        date=START,
        agent="a\nb",
        operation="send",
        subject="x\n0123456789  just now  lead  ack  Merge",
    )

    assert people.log([log], PLAIN).count("\n") == 0
    assert line("a\r\nb\tc") == "a\\u{a}b\\u{9}c"


def test_bodies_keep_their_lines_and_tabs() -> None:
    """A body is shown as it is; only a lone carriage return is made visible."""
    assert shown("a\tb\n\nc\r\nd\re") == "a\tb\n\nc\nd\\u{d}e"


def test_a_body_in_a_thread_cannot_pass_for_the_head_of_another_message() -> None:
    """Bodies stand further to the right than anything of our own."""
    forged = "ok\nlead to all  just now  0123456789\n    Merge it."
    item = replace(_evil_item(), text=forged, is_truncated=False)
    talk = Conversation(name=_OID, items=(item,), count=1, participants=("a",))
    lines = text.conversation(talk, PLAIN, "thread").split("\n")

    assert [each for each in lines if each.startswith("lead")] == []


@pytest.mark.parametrize(
    ("passed", "age"),
    [
        (timedelta(seconds=0), "just now"),
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
        (timedelta(days=1), "29 Nov 14:00"),
        (timedelta(days=25), " 5 Nov 14:00"),
        (timedelta(days=400), "2025-10-26"),
        (timedelta(minutes=-2), "30 Nov 14:02"),
    ],
)
def test_a_time_is_so_long_ago_within_a_day_and_a_date_before(
    passed: timedelta, age: str
) -> None:
    """A clock of another machine may be ahead; its times are shown as they are."""
    assert PLAIN.age(START - passed) == age


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    """Wide and combining characters count as the columns that they take."""
    rows = [[Cell("日本"), Cell("x")], [Cell("e\u0301"), Cell("y")]]

    assert [cells(word) for word in ("日本", "e\u0301", "a\ufe0f")] == [4, 1, 1]
    assert table(rows, PLAIN) == ["日本  x", "e\u0301     y"]


def test_the_last_column_is_cut_to_the_width_and_empty_columns_are_left_out() -> None:
    """A row is one line, as long as the terminal is wide enough for anything."""
    rows = [[Cell("a"), Cell(""), Cell("日本" * 40)], [Cell("bb"), Cell(""), Cell("c")]]
    narrow = table(rows, replace(PLAIN, width=30))

    assert [cells(row) <= 30 for row in narrow] == [True, True]
    assert narrow[0].endswith("…")
    assert narrow[1] == "bb  c"
    assert table(rows, PLAIN)[0].endswith("日本")
    assert clip("abc", 3) == "abc"


def test_headings_stand_only_over_columns_that_hold_something() -> None:
    """An empty directory column is no column."""
    rows = [[Cell("a", Style.NAME), Cell(""), Cell("c")]]

    assert table(rows, PLAIN, headings=["NAME", "TEAMS", "ABOUT"]) == [
        "NAME  ABOUT",
        "a     c",
    ]


@pytest.mark.parametrize(
    ("subject", "body", "below"),
    [
        ("Title", "Text\nmore", "    Text more"),
        (None, "Title\n\nText", "    Text"),
        (None, "Title", None),
        (None, "word " * 40, f"    {'word ' * 39}word"),
    ],
)
def test_a_list_shows_what_a_message_says_beyond_its_title(
    subject: str | None, body: str, below: str | None
) -> None:
    """Nothing stands there twice."""
    message = replace(_plain_message(), subject=subject, body=body)
    lines = text.listing([Item(message=message, text=body)], PLAIN)

    assert lines[1:] == ([below] if below else [])


def test_a_flat_text_is_one_line() -> None:
    """White space of any kind becomes one space."""
    assert flat("  a\n\n b\t c  ") == "a b c"


def test_expired_mail_and_a_page_that_was_cut_are_told() -> None:
    """Nothing leaves a list in silence (CAPABILITIES R5, R8, M12)."""
    page = Page(
        items=(),
        cursor=_OID,
        has_more=True,
        is_full=True,
        expired_count=2,
        expired=(MessageId(_OID),),
        commit=CommitId(_OID),
    )

    assert text.page(page, PLAIN, nobody="Nothing is pending").split("\n") == [
        "Nothing is pending",
        "Acknowledged in commit 0123456789",
        "2 messages expired unacknowledged and left this list: 0123456789",
        "The page stopped at 32 KiB of text",
        f"There is more: --after {_OID}",
    ]


@pytest.mark.parametrize(
    ("outcome", "matches", "said"),
    [
        (AckOutcome.UPDATED, (), "pending -> acked"),
        (AckOutcome.UNCHANGED, (), "unchanged, acked"),
        (AckOutcome.NOT_FOUND, (), "not found: no such message for you"),
        (AckOutcome.CONFLICT, (), "not yours to acknowledge: you are no recipient"),
        (AckOutcome.CONFLICT, ("01", "02"), "fits several messages: 01, 02"),
    ],
)
def test_an_acknowledgement_says_what_became_of_each_id(
    outcome: AckOutcome, matches: tuple[str, ...], said: str
) -> None:
    """Each result is a sentence that a person understands (CAPABILITIES K2)."""
    result = AckResult(
        id=_OID,
        outcome=outcome,
        before=Stage.PENDING,
        after=Stage.ACKED,
        matches=matches,
    )
    row = deliveries.acked(Acked(results=(result,), commit=None), PLAIN)

    assert row.startswith(f"0123456789  {said}")


def test_many_hand_edits_are_counted_and_the_first_named() -> None:
    """A status stays readable, whatever is on disk (CAPABILITIES V6)."""
    status = Status(
        path="/p",
        id="i",
        project="p",
        format=1,
        branch="refs/heads/gitmail",
        tip=CommitId(_OID),
        message_count=0,
        agent_count=0,
        memory_count=2,
        commit_count=1,
        agent=None,
        unread_count=None,
        unacked_count=None,
        exchange=None,
        lost=(),
        quarantine=(("messages/a.md", "line 1: no header"),),
        uncommitted=tuple((f"f{n}.md", "added") for n in range(25)),
    )
    lines = people.status(status, PLAIN).split("\n")

    assert "Unreadable, left out of every answer: 1 file" in lines
    assert "  messages/a.md" in lines
    assert "    line 1: no header" in lines
    assert "  git -C /p log -p -- PATH" in lines
    assert "Changed on disk by hand, which is not mail: 25 files" in lines
    assert lines[-3] == "  and 5 more (use --json)"
    assert lines[-1] == "  gitmail doctor --repair"


def _plain_message() -> Message:
    return Message(
        sender=AgentName("builder"),
        to=(Address("reviewer"),),
        recipients=(AgentName("reviewer"),),
        date=START,
        body="Text",
    )
