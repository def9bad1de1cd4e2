"""Where records stand in the tree, and what a path says (FORMAT.md)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gitmail.records.keys import slugify
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.message import Message
from gitmail.records.names import Address, AgentName, MessageId
from gitmail.records.paths import (
    Family,
    Place,
    copy_path,
    hour_folder,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
    slot_path,
)
from gitmail.records.receipt import BlindCopy, Receipt, Stage

DATE = datetime(2026, 11, 30, 14, 37, 12, 123456, tzinfo=UTC)
ID = MessageId("7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d")
BUILDER = AgentName("builder")


def message(subject: str | None, body: str = "Hello.") -> Message:
    """Return a message with a subject."""
    return Message(
        sender=BUILDER, to=(Address("lead"),), date=DATE, subject=subject, body=body
    )


def test_a_message_stands_in_the_folder_of_its_hour() -> None:
    """Time, sender, subject and id can be read from the name."""
    sent = message("Parser: handoff!")

    assert message_path(sent) == (
        f"messages/2026-11/30/14/143712-builder-parser-handoff-{sent.id[:8]}.md"
    )


def test_a_full_hour_goes_on_in_a_numbered_folder() -> None:
    """The folder's number is in the path, so that receipts find it."""
    assert hour_folder(DATE, 1) == "2026-11/30/14.001"
    assert hour_folder(DATE, 1234) == "2026-11/30/14.1234"
    assert "/14.001/" in message_path(message("a"), 1)


def test_years_before_1000_sort_like_all_others() -> None:
    """A year has four digits whatever the platform's strftime does."""
    assert hour_folder(DATE.replace(year=33)) == "0033-11/30/14"


def test_a_subject_without_letters_leaves_no_gap_in_the_name() -> None:
    """The slug is left out where it is empty."""
    sent = message("\u65e5\u672c\u8a9e")

    assert message_path(sent).endswith(f"/143712-builder-{sent.id[:8]}.md")


def test_without_a_subject_the_first_line_gives_the_slug() -> None:
    """A listing and a folder show the same words (CAPABILITIES M2)."""
    sent = message(None, "\n## All tests pass\n\nReally.")

    assert "-builder-all-tests-pass-" in message_path(sent)


def test_what_goes_with_a_message_stands_in_the_folder_of_its_name() -> None:
    """Receipts and copies share the message's hour, and name their agent."""
    folder = hour_folder(DATE, 2)
    receipt = Receipt(message=ID, agent=BUILDER, stage=Stage.ACKED, date=DATE)
    copy = BlindCopy(message=ID, agent=BUILDER, address=Address("all"))

    assert receipt_path(receipt, folder) == (
        f"receipts/builder/2026-11/30/14.002/{ID}.acked.md"
    )
    assert copy_path(copy, folder) == f"copies/builder/2026-11/30/14.002/{ID}.md"
    assert profile_path(BUILDER) == "agents/builder.md"


def note(value: str) -> MemoryRecord:
    """Return a note with a text."""
    return MemoryRecord(scope=Scope.NOTE, value=value, set_by=BUILDER, set_at=DATE)


def test_a_note_stands_in_the_folder_of_its_day() -> None:
    """Time, author, first line and id can be read from the name."""
    made = note("\n## The cache is cold!\n\nReally.")

    assert memory_path(made) == (
        f"memory/notes/2026-11/30/143712-builder-the-cache-is-cold-{made.id[:8]}.md"
    )


def test_a_note_without_letters_leaves_no_gap_in_the_name() -> None:
    """The slug is left out where it is empty."""
    made = note("\u65e5\u672c\u8a9e")

    assert memory_path(made).endswith(f"/143712-builder-{made.id[:8]}.md")


@pytest.mark.parametrize(
    ("scope", "folder"),
    [(Scope.FACT, "facts"), (Scope.WORLD, "world"), (Scope.LESSON, "lessons")],
)
def test_a_slot_has_one_path_whatever_its_value_and_spelling(
    scope: Scope, folder: str
) -> None:
    """Value, time, author and status are no part of it (DESIGN I4)."""
    record = MemoryRecord(
        scope=scope,
        entity="The Parser",
        attribute="Owner",
        value="One.",
        set_by=BUILDER,
        set_at=DATE,
    )
    later = replace(record, value="Two.", retired_at=DATE, retired_by=BUILDER)
    path = f"memory/{folder}/the-parser-2f92c876ecee/owner.md"

    assert memory_path(record) == memory_path(later) == path
    assert slot_path(scope, "THE  parser\u2003", " oWNER") == path


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Parser handoff", "parser-handoff"),
        ("  --a__b..c//d  ", "a-b-c-d"),
        ("\u00c4ltere F\u00e4lle \u2460 \ufb01n", "altere-falle-1-fin"),
        ("../../etc/passwd", "etc-passwd"),
        ("a" * 39 + " b", "a" * 39),
        ("\u65e5\u672c\u8a9e \U0001f600", ""),
        # In Unicode since 5.2; a slug must not depend on the version of Python.
        ("\U0001f130\U0001f131", ""),
    ],
)
def test_a_slug_is_a_reminder_of_the_text(text: str, slug: str) -> None:
    """ASCII letters, digits and single dashes, at most 40 of them."""
    assert slugify(text) == slug


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("mailbox.md", Place(Family.FIXED)),
        ("README.md", Place(Family.FIXED)),
        (".gitattributes", Place(Family.FIXED)),
        ("agents/a.md", Place(Family.PROFILE, agent="a")),
        ("messages/2026-11/30/14/143712-a.md", Place(Family.MESSAGE, "2026-11/30/14")),
        (
            "messages/2026-11/30/14.001/143712-a-b-7c0f5e1d.md",
            Place(Family.MESSAGE, "2026-11/30/14.001", 1),
        ),
        (
            f"receipts/a.b/2026-11/30/14/{ID}.read.md",
            Place(Family.RECEIPT, "2026-11/30/14", 0, "a.b", ID, "read"),
        ),
        (
            f"copies/a/2026-11/30/14.1000/{ID}.md",
            Place(Family.COPY, "2026-11/30/14.1000", 1000, "a", ID),
        ),
        ("memory/facts/parser/owner.md", Place(Family.MEMORY)),
        ("memory/world/a.b/c_d-0123456789ab.md", Place(Family.MEMORY)),
        ("memory/lessons/0/1.md.md", Place(Family.MEMORY)),
        ("memory/notes/2026-11/30/143712-a-b-7c0f5e1d.md", Place(Family.MEMORY)),
    ],
)
def test_a_path_says_what_stands_there(path: str, place: Place) -> None:
    """Each family of the tree is known by its path alone."""
    assert parse_path(path) == place


@pytest.mark.parametrize(
    "path",
    [
        *("", "/", ".", "..", "mailbox.md/", "./mailbox.md", "Mailbox.md", "readme.md"),
        *(
            "agents",
            "agents/",
            "agents/.md",
            "agents/a",
            "agents/a/b.md",
            "agents/A.md",
        ),
        *(
            "agents/con.md",
            "agents/a\n.md",
            "agents/a.md\n",
            "agents/-a.md",
            "/agents/a.md",
        ),
        *(
            "agents/../agents/a.md",
            "agents//a.md",
            "agents/\u212a.md",
            f"agents/{'a' * 190}.md",
        ),
        *(
            "messages/2026-11/30/143712-a.md",
            "messages/2026-11/30/14/a.md",
            ".git/config",
        ),
        *("messages/2026-11/30/14/143712-.md", "messages/2026-11/30/14.1/143712-a.md"),
        *(
            "messages/2026-11/30/14/\u0661\u0664\u0663\u0667\u0661\u0662-a.md",
            "inbox/a.md",
        ),
        *(
            "receipts/nul/2026-11/30/14/" + ID + ".read.md",
            "memory/a.md",
            "memory/con/a/b.md",
        ),
        *("memory", "memory/", "memory/facts", "memory/facts/a.md", "memory/a/b/c.md"),
        *("memory/facts/a/b/c.md", "memory/facts/con/b.md", "memory/facts/a/nul.md"),
        *("memory/facts/a./b.md", "memory/facts/a/.md", "memory/facts/a/-b.md"),
        *("memory/facts/-a/b.md", "memory/facts/.a/b.md", "memory/facts/\u212a/b.md"),
        *("memory/facts/a/b.md\n", f"memory/facts/{'a' * 180}/{'b' * 9}.md"),
        *("memory/fact/a/b.md", "Memory/facts/a/b.md", "memory/facts/a/b.MD"),
        *("memory/notes/2026-11/143712-a.md", "memory/notes/a/b.md"),
        *("memory/notes/2026-11/30/14/143712-a.md", "memory/notes/2026-11/30/a.md"),
        *("memory/notes/2026-11/30/143712-.md", "memory/notes/2026-11/30/143712.md"),
        *("receipts/a./2026-11/30/14/" + ID + ".read.md", "memory/facts/a/b.txt"),
        *("receipts/a/2026-11/30/14/" + ID + ".pending.md", "memory/facts/A/b.md"),
        *("receipts/a/2026-11/30/14/" + ID + ".md", "copies/a/2026-11/30/14/x.md"),
        *("receipts/a/2026-11/30/14/" + ID.upper() + ".read.md", "memory/facts//b.md"),
    ],
)
def test_other_paths_are_unknown(path: str) -> None:
    """What is no path of a mailbox is neither read nor put on anybody's disk."""
    assert parse_path(path) == Place(Family.UNKNOWN)
