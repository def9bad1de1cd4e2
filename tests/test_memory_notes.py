"""Notes: adding them, and superseding one by a better one (CAPABILITIES Y1)."""

from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AmbiguousIdError,
    BlankBodyError,
    BodyTooLargeError,
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
    MemoryNotFoundError,
)
from gitmail.mailbox import folders
from gitmail.mailbox.memory_values import Outcome
from tests.helpers import START, SettableClock, blob_id, files_in_tip, git
from tests.mailboxes import edit, refused, reopened, still, tip, values

LIMIT = 65_536
UNKNOWN = "0" * 40


def notes(agent: Agent) -> list[str]:
    """Return the notes in force, newest first."""
    return values(agent.memory.list("note", limit=200))


def note_files(mailbox: Mailbox) -> dict[str, str]:
    """Return path to blob id of the notes of the tip."""
    files = files_in_tip(mailbox.path)
    return {path: blob for path, blob in files.items() if "memory/notes/" in path}


def test_a_note_says_all_that_was_said(builder: Agent, clock: SettableClock) -> None:
    """Text, tags, source, episode, who and when (Y1)."""
    before = clock.now
    stored = builder.memory.add(
        "# Caching\n\nIt helps.\n",
        tags=["Perf", "io", "perf"],
        source="https://example.org/",
        episode="the parser",
    )

    (shown,) = builder.memory.list().records
    record = shown.record
    assert stored.outcome is Outcome.INSERTED
    assert record == stored.record
    assert (record.scope, record.value) == ("note", "# Caching\n\nIt helps.\n")
    assert (record.set_by, record.source) == ("builder", "https://example.org/")
    assert (record.tags, record.episode) == (("perf", "io"), "the parser")
    assert before < record.set_at <= clock.now
    assert (record.entity, record.attribute, record.supersedes) == ("", "", None)


def test_the_id_of_a_note_is_the_blob_of_its_file(
    mailbox: Mailbox, builder: Agent
) -> None:
    """At a path that tells when, by whom and of what (DESIGN 4)."""
    stored = builder.memory.add("## Use a Cache!\n\nMore.")

    ((path, blob),) = note_files(mailbox).items()
    note = stored.record.id
    assert blob == note
    assert path == (f"memory/notes/2026-11/30/140000-builder-use-a-cache-{note[:8]}.md")
    assert git(mailbox.path, "cat-file", "-p", note).endswith("\nMore.\n")
    assert stored.commit == tip(mailbox)


@pytest.mark.parametrize("digits", [8, 40])
def test_a_note_is_got_whole_by_its_id(builder: Agent, digits: int) -> None:
    """However long it is; lists have only the start of it (Y1)."""
    record = builder.memory.add("x" * LIMIT).record

    found = builder.memory.get_entity("note", record.id[:digits])

    assert [(each.record, each.text) for each in found.records] == [
        (record, "x" * LIMIT)
    ]
    (listed,) = builder.memory.list("note").records
    assert listed.is_truncated
    assert len(listed.text) < 500


@pytest.mark.parametrize(
    ("note", "error"),
    [(UNKNOWN, MemoryNotFoundError), ("a note", InvalidNameError)],
)
def test_a_note_that_is_not_in_force_is_not_got(
    mailbox: Mailbox, builder: Agent, note: str, error: type
) -> None:
    """Nor one that was forgotten; the history has that (Y1)."""
    gone = builder.memory.add("gone").record.id
    builder.memory.forget("note", gone)

    assert isinstance(refused(mailbox, builder.memory.get_entity, "note", note), error)
    problem = refused(mailbox, builder.memory.get_entity, "note", gone)
    assert isinstance(problem, MemoryNotFoundError)


def test_the_same_text_may_be_noted_twice(mailbox: Mailbox) -> None:
    """Even in the same microsecond; each is a note of its own (Y1)."""
    with Mailbox.open(mailbox.path, clock=still(START)) as other:
        memory = other.agent("builder").memory
        ids = {memory.add("twice").record.id for _ in range(3)}

    assert len(ids) == 3
    assert set(note_files(mailbox).values()) == ids


@pytest.mark.parametrize(
    "text",
    ["x\n", "\n\nx", "  x ", "a\r\nb", "---\nscope: fact\n---\n", "\ufeff", "\u200b"],
)
def test_a_text_is_kept_to_the_byte(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, text: str
) -> None:
    """Also when the index is made anew (DESIGN 5)."""
    note = builder.memory.add(text).record.id

    with reopened(mailbox, clock) as other:
        (shown,) = other.agent("builder").memory.list("note").records
    assert (shown.record.id, shown.record.value) == (note, text)


def test_a_text_may_have_64_kib_and_no_more(mailbox: Mailbox, builder: Agent) -> None:
    """By both verbs that take one (Y1)."""
    note = builder.memory.add("x" * LIMIT).record.id

    for act, args in (
        (builder.memory.add, ("\u00e9" * (LIMIT // 2) + "x",)),
        (builder.memory.supersede, (note, "x" * (LIMIT + 1))),
    ):
        problem = refused(mailbox, act, *args)
        assert isinstance(problem, BodyTooLargeError)
        assert problem.details == {
            "field": "text",
            "size_bytes": LIMIT + 1,
            "limit_bytes": LIMIT,
        }
    assert builder.memory.supersede(note, "y" * LIMIT).commit


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", BlankBodyError),
        (" \n\t", BlankBodyError),
        ("a\0", InvalidTextError),
        ("\ud800", InvalidTextError),
        (None, InvalidArgumentError),
        (5, InvalidArgumentError),
    ],
)
def test_what_is_no_text_is_refused(
    mailbox: Mailbox, builder: Agent, text: Any, error: type
) -> None:
    """By both verbs that take one; the error names it (Y1)."""
    note = builder.memory.add("a note").record.id

    for problem in (
        refused(mailbox, builder.memory.add, text),
        refused(mailbox, builder.memory.supersede, note, text),
    ):
        assert isinstance(problem, error)
        assert "text" in (problem.details.get("field"), problem.details.get("argument"))
    assert notes(builder) == ["a note"]


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        ({"episode": ""}, "episode"),
        ({"episode": "x" * 121}, "episode"),
        ({"episode": 5}, "episode"),
        ({"source": " "}, "source"),
        ({"source": "x" * 1001}, "source"),
        ({"tags": [None]}, "tags"),
        ({"tags": ""}, "tag"),
        ({"tags": {"a": 1}}, "tags"),
        ({"tags": ["x"] * 33}, "tags"),
    ],
)
def test_what_is_said_about_a_note_is_checked(
    mailbox: Mailbox, builder: Agent, said: dict[str, Any], argument: str
) -> None:
    """The error names the argument (Y1)."""
    problem = refused(mailbox, builder.memory.add, "a note", **said)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == argument


@pytest.mark.parametrize(
    "tag",
    ["a,b", "[x]", "no", "1", "a: b", "#x", "'", '"', "\\", "- a", "&a", "*a", "!a"],
)
def test_any_line_of_text_is_a_tag(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tag: str
) -> None:
    """Also what means something to YAML (DESIGN 5)."""
    builder.memory.add("a note", tags=[tag, "other"])

    with reopened(mailbox, clock) as other:
        memory = other.agent("builder").memory
        (shown,) = memory.list(tags=[tag]).records
        assert shown.record.tags == (tag, "other")


@pytest.mark.parametrize("digits", [8, 20, 40])
def test_a_note_is_superseded_by_its_id(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, digits: int
) -> None:
    """One commit: the new one is there and the old one is not (Y1)."""
    old = builder.memory.add("old", tags="a,b", episode="e", source="s").record
    commits = mailbox.status().commit_count

    stored = reviewer.memory.supersede(old.id[:digits].upper(), "new")

    assert stored.outcome is Outcome.SUPERSEDED
    assert stored.record.supersedes == old.id
    assert (stored.record.tags, stored.record.episode) == (("a", "b"), "e")
    assert stored.record.set_by == "reviewer"
    assert notes(builder) == ["new"]
    assert list(note_files(mailbox).values()) == [stored.record.id]
    assert mailbox.status().commit_count == commits + 1


def test_a_note_is_superseded_by_its_whole_text(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Exactly as it stands there, however long (Y1)."""
    long = "line\n" * 1000
    for text in ("old", "old\n", long):
        builder.memory.add(text)

    assert builder.memory.supersede("old", "new", by_text=True).commit
    assert builder.memory.supersede(long, "short", by_text=True).commit
    assert sorted(notes(builder)) == ["new", "old\n", "short"]
    for text in ("old", "OLD\n", "ol", "line", ""):
        problem = refused(
            mailbox, builder.memory.supersede, text, "newer", by_text=True
        )
        assert isinstance(problem, MemoryNotFoundError)


def test_a_text_that_two_notes_have_is_ambiguous(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Nothing happens, and the error names them (Y1)."""
    ids = [builder.memory.add("twice").record.id for _ in range(2)]

    problem = refused(mailbox, builder.memory.supersede, "twice", "new", by_text=True)

    assert isinstance(problem, AmbiguousIdError)
    assert problem.details["matches"] == ids
    assert "2 notes" in problem.message
    assert notes(builder) == ["twice", "twice"]


def test_an_id_that_fits_two_notes_is_ambiguous(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Where only the first 8 digits are given (Y1, A8)."""
    one, two = (builder.memory.add(text).record.id for text in ("one", "two"))
    like = bytes.fromhex(one[:10] + "0" * 30)
    index = mailbox.store._keeper.index()
    index.execute("UPDATE memory SET id = ? WHERE id = ?", (like, bytes.fromhex(two)))

    for act, args in (
        (builder.memory.supersede, (one[:8], "new")),
        (builder.memory.forget, ("note", one[:8])),
    ):
        problem = refused(mailbox, act, *args)
        assert isinstance(problem, AmbiguousIdError)
        assert problem.details["matches"] == sorted([one, like.hex()])
    assert builder.memory.supersede(one[:12], "new").commit


@pytest.mark.parametrize(
    ("note", "error"),
    [
        (UNKNOWN, MemoryNotFoundError),
        ("deadbeef", MemoryNotFoundError),
        ("", InvalidNameError),
        ("abc", InvalidNameError),
        ("a note", InvalidNameError),
        ("a" * 41, InvalidNameError),
        (None, InvalidArgumentError),
        (5, InvalidArgumentError),
    ],
)
def test_superseding_what_is_no_note_does_nothing(
    mailbox: Mailbox, builder: Agent, note: Any, error: type
) -> None:
    """The error says whether it is no id or none in memory (Y1)."""
    builder.memory.add("a note")

    assert isinstance(refused(mailbox, builder.memory.supersede, note, "x"), error)
    assert notes(builder) == ["a note"]


def test_a_superseded_note_cannot_be_superseded_again(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Two that improve the same note do not both win (Y1)."""
    old = builder.memory.add("old").record.id
    builder.memory.supersede(old, "new")

    problem = refused(mailbox, builder.memory.supersede, old, "newer")

    assert isinstance(problem, MemoryNotFoundError)
    assert notes(builder) == ["new"]


def test_neither_mail_nor_a_slot_is_a_note(mailbox: Mailbox, builder: Agent) -> None:
    """Whatever has that id (Y10)."""
    mail = builder.send(to="reviewer", body="mail").message.id
    slot = builder.memory.set("fact", "x", "y", "slot").record.id

    for found in (mail, slot, tip(mailbox)):
        for act, args in (
            (builder.memory.supersede, (found, "new")),
            (builder.memory.forget, ("note", found)),
            (builder.memory.restore, ("note", found)),
            (builder.memory.history, ("note", found)),
        ):
            problem = refused(mailbox, act, *args)
            assert isinstance(problem, MemoryNotFoundError)


@pytest.mark.parametrize("by_text", ["yes", 1, None])
def test_by_text_is_true_or_false(
    mailbox: Mailbox, builder: Agent, by_text: Any
) -> None:
    """Nothing that Python takes for one of them (Y1)."""
    note = builder.memory.add("a note").record.id

    problem = refused(mailbox, builder.memory.supersede, note, "x", by_text=by_text)

    assert problem.details["argument"] == "by_text"


def test_a_note_that_was_edited_by_hand_is_quarantined(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It is not what its name says; the rest works, and it can be brought back."""
    note = builder.memory.add("a note").record
    builder.memory.add("another")
    (path,) = (path for path, blob in note_files(mailbox).items() if blob == note.id)
    edit(mailbox.path, tmp_path / "one", {path: note.data.decode() + "forged\n"})

    assert [each[0] for each in mailbox.status().quarantine] == [path]
    assert notes(builder) == ["another"]
    assert isinstance(
        refused(mailbox, builder.memory.supersede, note.id, "new"), MemoryNotFoundError
    )
    problem = refused(mailbox, builder.memory.restore, "note", note.id)
    assert problem.code == "quarantined"

    edit(mailbox.path, tmp_path / "two", {path: note.data.decode()})

    assert mailbox.status().quarantine == ()
    assert sorted(notes(builder)) == ["a note", "another"]


def test_a_person_may_write_a_note_by_hand(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """In a clone, at the path that FORMAT.md says (DESIGN 3)."""
    text = (
        "---\nscope: note\nset_by: lead\nset_at: 2026-11-30T14:00:00Z\n"
        "x-mine: 1\n---\n\n# By hand!\n"
    )
    note = blob_id(text.encode())
    path = f"memory/notes/2026-11/30/140000-lead-by-hand-{note[:8]}.md"
    edit(mailbox.path, tmp_path / "work", {path: text})

    assert mailbox.status().quarantine == ()
    (shown,) = builder.memory.list("note").records
    assert (shown.record.id, shown.record.value) == (note, "# By hand!")
    builder.memory.forget("note", note)
    assert builder.memory.restore("note", note).record.id == note
    assert git(mailbox.path, "show", f"gitmail:{path}") == text
    assert builder.memory.supersede(note, "by an agent").record.set_by == "builder"


def test_a_day_that_is_full_goes_on_in_another_folder(
    mailbox: Mailbox, builder: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit writes the folder's tree again; the notes stay where they are."""
    monkeypatch.setattr(folders, "FOLDER_LIMIT", 3)
    notes = [builder.memory.add(f"Note {n}.").record.id for n in range(8)]

    paths = {p for p in files_in_tip(mailbox.path) if p.startswith("memory/notes/")}
    assert sorted(path.split("/")[3] for path in paths) == [
        *["30"] * 3,
        *["30.001"] * 3,
        *["30.002"] * 2,
    ]
    builder.memory.supersede(notes[0], "Another.")
    builder.memory.forget("note", notes[7])
    builder.memory.restore("note", notes[7])
    builder.memory.restore("note", notes[0])
    assert paths < {*files_in_tip(mailbox.path)}
    assert mailbox.status().quarantine == ()


def test_a_note_that_is_gone_is_not_one_that_never_was(
    mailbox: Mailbox, builder: Agent
) -> None:
    """The error says that there was one, and what to do."""
    note = builder.memory.add("Once.").record.id
    builder.memory.supersede(note, "Now.")

    for act in (builder.memory.get_entity, builder.memory.forget):
        problem = refused(mailbox, act, "note", note[:10])
        assert isinstance(problem, MemoryNotFoundError)
        assert problem.details["was_there"] is True
        assert "restore" in str(problem.hint)
