"""Receipts, blind copies, profiles, charters and the text that they share."""

import re
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib.resources import files
from textwrap import dedent

import pytest

from gitmail.errors import (
    InvalidArgumentError,
    InvalidTextError,
    UnsupportedFormatError,
)
from gitmail.records.charter import FORMAT, Charter, parse_charter
from gitmail.records.memory import MemoryRecord
from gitmail.records.message import Message, parse_message
from gitmail.records.names import Address, AgentName, MessageId
from gitmail.records.profile import AgentKind, Profile, parse_profile
from gitmail.records.receipt import (
    RECORDED_STAGES,
    BlindCopy,
    Receipt,
    Stage,
    parse_blind_copy,
    parse_receipt,
)
from gitmail.records.text import (
    PREVIEW_LIMIT,
    as_line,
    check_line,
    check_text,
    headline,
    preview,
)

DATE = datetime(2026, 11, 30, 14, 40, tzinfo=UTC)
ID = MessageId("7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d")
BUILDER = AgentName("builder")
FORMAT_TEXT = files("gitmail").joinpath("FORMAT.md").read_text("utf-8")
UUID = "2a1b6c1e-7f0d-4a55-9a3e-0d5b1c2e3f40"


def test_a_receipt_names_message_agent_stage_and_time() -> None:
    """The note stands below, exactly as it was given (CAPABILITIES K5)."""
    receipt = Receipt(
        message=ID, agent=BUILDER, stage=Stage.ACKED, date=DATE, note=" Done.\n"
    )

    assert receipt.data.decode() == (
        f"---\nmessage: {ID}\nagent: builder\nstage: acked\n"
        "date: 2026-11-30T14:40:00.000000Z\n---\n\n Done.\n\n"
    )
    assert parse_receipt(receipt.data) == receipt


def test_stages_rise_and_pending_has_no_file() -> None:
    """State is the highest stage present (DESIGN I3, CAPABILITIES K1)."""
    assert [stage.rank for stage in Stage] == [0, 1, 2]
    assert RECORDED_STAGES == (Stage.READ, Stage.ACKED)


def test_a_blind_copy_says_through_which_address() -> None:
    """Nobody else is named in it (CAPABILITIES A2)."""
    copy = BlindCopy(message=ID, agent=BUILDER, address=Address("team:core"))

    assert copy.data.decode() == (
        f'---\nmessage: {ID}\nagent: builder\naddress: "team:core"\n---\n'
    )
    assert parse_blind_copy(copy.data) == copy


def test_a_profile_says_who_an_agent_is() -> None:
    """The description is the file's text (CAPABILITIES G1)."""
    profile = Profile(
        name=BUILDER,
        created=DATE,
        kind=AgentKind.HUMAN,
        program="editor 2",
        model="m-1",
        teams=("core", "docs"),
        is_retired=True,
        description="Builds *everything*.",
    )

    assert profile.data.decode() == (
        "---\nname: builder\nkind: human\nprogram: editor 2\nmodel: m-1\n"
        "teams: [core, docs]\nstatus: retired\ncreated: 2026-11-30T14:40:00.000000Z\n"
        "---\n\nBuilds *everything*.\n"
    )
    assert parse_profile(profile.data) == profile


def test_unknown_keys_of_a_profile_are_kept_byte_for_byte() -> None:
    """What a later version or a person wrote outlives an update of ours."""
    unknown = "x-b: [1,   'two']  # why\n# more\nx-a: |\n  ---\n   text\n\n"
    by_hand = f"---\n{unknown}name: builder\ncreated: 2026-11-30T14:40:00Z\nx-c:\n---\n"
    profile = parse_profile(by_hand.encode())

    written = replace(profile, is_retired=True).data.decode()

    assert written == (
        "---\nname: builder\nkind: agent\nstatus: retired\n"
        f"created: 2026-11-30T14:40:00.000000Z\n{unknown}x-c:\n---\n"
    )


def test_a_time_of_what_is_no_word_is_not_written_again() -> None:
    """It would be another header then."""
    times = '{program: "2026-11-30T14:50:00Z", "a: [b": 2026-11-30T14:50:00Z}'
    by_hand = (
        f"---\nname: builder\ncreated: 2026-11-30T14:40:00Z\nchanged: {times}\n---\n"
    )
    profile = parse_profile(by_hand.encode())

    assert [*profile.changed] == ["program"]
    assert parse_profile(replace(profile, model="m").data).model == "m"


def test_a_profile_that_could_not_be_read_again_is_not_written() -> None:
    """A profile that grew over the limit would lock its agent out."""
    teams = tuple(f"team-{number:058}" for number in range(300))

    with pytest.raises(InvalidArgumentError):
        _ = Profile(name=BUILDER, created=DATE, teams=teams).data


def test_a_charter_names_the_mailbox_and_its_limits() -> None:
    """A new mailbox says its format and what may be changed."""
    charter = Charter(id=UUID, project="compiler", created=DATE)

    header = charter.data.decode().split("---\n")[1]

    assert header == (
        f'format: {FORMAT}\nid: "{UUID}"\nproject: compiler\n'
        "created: 2026-11-30T14:40:00.000000Z\nmax_body_bytes: 65536\nmax_wait_s: 55\n"
    )
    assert parse_charter(charter.data, "mailbox") == charter


def test_a_newer_format_is_refused_with_both_numbers() -> None:
    """Whoever meets a newer mailbox learns to upgrade (STYLE)."""
    charter = Charter(id=UUID, project="compiler", created=DATE)
    newer = charter.data.replace(b"format: 1", b"format: 2\nnew_key: [a]")

    with pytest.raises(UnsupportedFormatError) as caught:
        parse_charter(newer, "/somewhere/.gitmail")

    assert caught.value.details == {
        "path": "/somewhere/.gitmail",
        "found": "2",
        "supported": FORMAT,
    }


@pytest.mark.parametrize(
    "record", [Message, Receipt, BlindCopy, Profile, Charter, MemoryRecord]
)
def test_the_written_format_names_every_key(record: type) -> None:
    """What is written is described: FORMAT.md lists each field under its key."""
    renamed = {"sender": "from", "is_retired": "status"}
    bodies = {"body", "note", "description", "text", "value", "extra"}
    names = {renamed.get(field.name, field.name) for field in fields(record)} - bodies

    described = set(re.findall(r"^    (\w+(?:, \w+)?)  ", FORMAT_TEXT, re.MULTILINE))

    assert names <= {name for names in described for name in names.split(", ")}


def test_the_written_format_reads_well_as_plain_text() -> None:
    """`gitmail format` prints it on a terminal: short lines, a few pages."""
    lines = FORMAT_TEXT.splitlines()

    assert max(map(len, lines)) <= 88
    assert len(lines) <= 380
    assert FORMAT_TEXT.isascii()


def test_the_example_of_the_written_format_follows_it() -> None:
    """The file shown in section 2 is one that the parser takes."""
    found = re.search(r"^    ---\n(?:(?:    .*)?\n)+", FORMAT_TEXT, re.MULTILINE)
    assert found
    example = dedent(found.group()).rstrip("\n") + "\n"
    dated = example.replace("subject", "date: 2026-11-30T14:37:12Z\nsubject")

    message = parse_message(dated.encode())

    assert message.to == ("reviewer", "team:core")
    assert message.body == "The body, in Markdown."


def test_text_that_files_can_hold_passes() -> None:
    """Control characters are the reader's business, NUL and surrogates nobody's."""
    assert (
        check_text("body", "a\x07\n\r\u2028\U0001f600") == "a\x07\n\r\u2028\U0001f600"
    )
    for text in ("\x00", "\ud800", "\udfff"):
        with pytest.raises(InvalidTextError):
            check_text("body", text)


def test_a_line_is_cut_at_its_ends_and_nowhere_else() -> None:
    """A subject is one line, whatever white space was around it."""
    assert check_line("subject", " \n a  b \t", 4) == "a  b"
    assert check_line("subject", " ", 4) == ""
    with pytest.raises(InvalidArgumentError):
        check_line("subject", "a  bc", 4)


@pytest.mark.parametrize("character", "\x00\t\n\r\x1b\x7f\x85\x9b\u2028\u2029\ud800")
def test_a_line_holds_nothing_that_breaks_or_steers(character: str) -> None:
    """The error says which character and where."""
    with pytest.raises(InvalidTextError) as caught:
        check_line("subject", f"a{character}b", 9)

    assert caught.value.details == {
        "field": "subject",
        "character": f"U+{ord(character):04X}",
        "position": 2,
    }


@pytest.mark.parametrize(
    "text", ["", "a b", " a\x00\udcff\n", "x" * 9, "abc def", "\n"]
)
def test_any_text_can_be_made_a_line(text: str) -> None:
    """What comes from the file system is shortened and cleaned, not refused."""
    line = as_line(text, 4)

    assert check_line("place", line, 4) == line


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("Hello\nyou", "Hello"),
        ("\n \n# Title\n", "Title"),
        ("a\x07b\u2028c", "a b"),
        ("# #\n---", "---"),
        ("", ""),
        ("x" * 73, "x" * 69 + "..."),
        ("x" * 72, "x" * 72),
    ],
)
def test_a_headline_is_the_first_line_that_says_something(
    body: str, title: str
) -> None:
    """One line without marks of Markdown headings, at most 72 characters."""
    assert headline(body) == title


def test_a_preview_says_whether_it_is_all() -> None:
    """The first 480 characters, then three dots (CAPABILITIES R4)."""
    assert preview("x" * PREVIEW_LIMIT) == ("x" * PREVIEW_LIMIT, False)
    assert preview("x" * (PREVIEW_LIMIT + 1)) == ("x" * PREVIEW_LIMIT + "...", True)
