"""The derived index: mended, made anew, and always the one of the tip (DESIGN 7)."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.errors import GitmailError, LockTimeoutError
from gitmail.records.memory import Scope
from gitmail.records.paths import memory_path
from gitmail.records.receipt import Stage
from gitmail.store import index as indexing
from gitmail.store.index import Index
from tests.helpers import blob_id, git
from tests.indexes import (
    contents,
    contents_made_anew,
    delete_index,
    index_file,
)
from tests.mailfiles import (
    EXECUTABLE,
    LINK,
    MOMENT,
    Clone,
    Entry,
    copy_file,
    message_file,
    note_file,
    receipt_file,
    slot_file,
    unguard,
)
from tests.processes import (
    assert_sound,
    children,
    make_mailbox,
    needs_git,
    posix_only,
    release,
)

CHILDREN = "tests.concurrency.children"
BODIES = [f"Message {number}." for number in range(30)]


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail, which nobody has open."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send_many(
            [{"to": "reviewer", "body": body} for body in BODIES]
        )
    return box


def texts(mailbox: Mailbox) -> list[str]:
    """Return the texts of what reviewer has to read."""
    found = mailbox.agent("reviewer").poll(limit=200).items
    return [item.message.body for item in found]


def overwrite(file: Path, data: bytes, start: int = 0) -> None:
    """Put bytes into a file that is there."""
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(data)


def statement(file: Path, text: str) -> None:
    """Run a statement, as another program would."""
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA writable_schema = ON")
    database.execute(text)
    database.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(os.urandom(40_000)),
    "text": lambda file: file.write_text("no database", "ascii"),
    "garbage behind the head": lambda file: overwrite(file, os.urandom(60_000), 1000),
    "garbage in the middle": lambda file: overwrite(file, b"\xff" * 8192, 8192),
    "head of another version": lambda file: overwrite(file, b"\x09\x09", 18),
    "empty": lambda file: file.write_bytes(b""),
    "cut in the middle": lambda file: os.truncate(file, file.stat().st_size // 2),
    "cut in a page": lambda file: os.truncate(file, file.stat().st_size - 100),
    "cut to its head": lambda file: os.truncate(file, 4096),
    "deleted": lambda file: file.unlink(),
    "deleted with all beside": lambda file: delete_index(file.parents[2]),
    "another schema": lambda file: statement(file, "PRAGMA user_version = 999"),
    "another schema and tables": lambda file: (
        statement(file, "PRAGMA user_version = 1"),
        statement(file, "CREATE TABLE other (x)"),
        statement(file, "CREATE VIEW seen AS SELECT x FROM other"),
        statement(file, "CREATE VIRTUAL TABLE found USING fts5 (x)"),
    ),
    "a table is missing": lambda file: statement(file, "DROP TABLE mail"),
    "a column is missing": lambda file: statement(
        file, "ALTER TABLE message RENAME COLUMN date TO day"
    ),
    "words are missing": lambda file: statement(file, "DROP TABLE words_data"),
    "of no commit": lambda file: statement(file, "DELETE FROM meta"),
    "of an unknown commit": lambda file: statement(
        file, f"UPDATE meta SET value = '{'1' * 40}'"
    ),
    "rows that are there already": lambda file: (
        statement(file, "UPDATE meta SET value = (SELECT lower(hex(id)) FROM commits"
                        " WHERE lower(hex(id)) != value LIMIT 1)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
def test_a_damaged_index_is_made_anew_and_no_answer_is_wrong(
    box: Path, damage: Callable[[Path], object], *, is_open: bool
) -> None:
    """Also where a process has it open while that happens, as a server has."""
    file = index_file(box)
    with Mailbox.open(box) as server:
        if is_open:
            assert texts(server) == BODIES
        damage(file)

        assert texts(server) == BODIES
        server.agent("builder").send(to="reviewer", body="Sent after.")
        assert texts(server) == [*BODIES, "Sent after."]
        assert contents(server) == contents_made_anew(server)
        with Mailbox.open(box) as other:
            assert texts(other) == [*BODIES, "Sent after."]
            other.agent("builder").send(to="reviewer", body="From another.")
        assert texts(server)[-1] == "From another."

    with Mailbox.open(box) as mailbox:
        assert texts(mailbox)[-1] == "From another."
        assert mailbox.store._keeper.index()._db.execute(
            "PRAGMA integrity_check"
        ).fetchall() == [("ok",)]
        assert mailbox.store._keeper._file is not None


def test_the_index_of_another_mailbox_is_not_believed(
    box: Path, tmp_path: Path
) -> None:
    """It names a commit that is not in the history of the tip."""
    other = make_mailbox(tmp_path / "other" / ".gitmail")
    index_file(other).replace(index_file(box))
    with Mailbox.open(box) as mailbox:
        assert texts(mailbox) == BODIES
        assert contents(mailbox) == contents_made_anew(mailbox)


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("data", [b"", b"x" * 100, b"\0" * 40_000, b"\xff" * 40_000])
def test_garbage_beside_the_index_does_no_harm(
    box: Path, ending: str, data: bytes
) -> None:
    """As a crash of the machine can leave it."""
    index_file(box).with_name(f"index.sqlite{ending}").write_bytes(data)
    with Mailbox.open(box) as mailbox:
        assert texts(mailbox) == BODIES
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert contents(mailbox) == contents_made_anew(mailbox)


def test_what_is_left_beside_a_deleted_index_is_not_taken_for_its_own(
    box: Path,
) -> None:
    """A process that still has the old one must not share anything with the new."""
    with Mailbox.open(box) as old:
        assert texts(old) == BODIES
        index_file(box).unlink()
        with Mailbox.open(box) as new:
            for number in range(5):
                new.agent("builder").send(to="reviewer", body=f"new {number}")
                old.agent("builder").send(to="reviewer", body=f"old {number}")
                assert texts(new) == texts(old)
                assert contents(new) == contents(old) == contents_made_anew(new)


def test_a_new_index_shares_no_memory_with_one_that_was_deleted(box: Path) -> None:
    """SQLite finds by its name what processes share of a database."""
    shared = index_file(box).with_name("index.sqlite-shm")
    with Mailbox.open(box) as old:
        assert texts(old) == BODIES
        before = shared.stat().st_ino
        index_file(box).unlink()
        with Mailbox.open(box) as new:
            assert texts(new) == BODIES
            assert shared.stat().st_ino != before


def test_who_comes_second_to_a_damaged_index_takes_the_new_one(box: Path) -> None:
    """And does not throw it away again."""
    with Mailbox.open(box) as one, Mailbox.open(box) as two:
        assert texts(one) == texts(two) == BODIES
        DAMAGE["cut in the middle"](index_file(box))
        assert texts(one) == BODIES
        made = index_file(box).stat().st_ino
        assert texts(two) == BODIES
        assert index_file(box).stat().st_ino == made
        assert two.store._keeper._file == one.store._keeper._file


def test_a_commit_that_somebody_else_took_in_first_is_not_taken_in_twice(
    box: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader may be quicker than the writer, and others may write on."""
    with Mailbox.open(box) as mailbox, Mailbox.open(box) as other:
        keeper, plain = mailbox.store._keeper, mailbox.store._keeper.note
        rebuilt = []
        monkeypatch.setattr(keeper, "_rebuild", lambda *said: rebuilt.append(said))

        def note(*said: Any) -> None:
            assert texts(other)[-1] == "Sent."
            plain(*said)

        monkeypatch.setattr(keeper, "note", note)
        mailbox.agent("builder").send(to="reviewer", body="Sent.")
        assert texts(mailbox) == [*BODIES, "Sent."]
        assert contents(other) == contents(mailbox) == contents_made_anew(other)
    assert rebuilt == []
    assert caplog.records == []


def test_who_is_overtaken_while_catching_up_does_not_begin_anew(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making a large index anew takes seconds, and would set it back."""
    with Mailbox.open(box) as mailbox, Mailbox.open(box) as other:
        assert texts(mailbox) == BODIES
        keeper, plain = mailbox.store._keeper, mailbox.store._keeper.catch_up
        rebuilt: list[object] = []
        monkeypatch.setattr(keeper, "_rebuild", lambda *said: rebuilt.append(said))

        with monkeypatch.context() as patch:
            patch.setattr(other.store._keeper, "note", lambda *_: None)
            other.agent("builder").send(to="reviewer", body="Sent again.")

        def overtaken(*said: Any) -> None:
            other.agent("builder").send(to="reviewer", body="Sent by another.")
            monkeypatch.setattr(keeper, "catch_up", plain)
            plain(*said)

        monkeypatch.setattr(keeper, "catch_up", overtaken)
        assert texts(mailbox)[-2:] == ["Sent again.", "Sent by another."]
        assert contents(mailbox) == contents(other) == contents_made_anew(other)
    assert rebuilt == []


def test_a_folder_in_the_place_of_the_index_is_worked_around(box: Path) -> None:
    """Reading and writing go on without it."""
    delete_index(box)
    index_file(box).mkdir()
    with Mailbox.open(box) as mailbox:
        assert texts(mailbox) == BODIES
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert texts(mailbox) == [*BODIES, "Sent after."]


def test_an_index_that_somebody_else_writes_for_long_is_busy(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not damaged, so it is not thrown away (exit code 4: try again)."""
    monkeypatch.setattr(indexing, "PATIENCE_S", 0.05)
    with Mailbox.open(box) as mailbox:
        assert texts(mailbox) == BODIES
        before = index_file(box).stat().st_ino
        other = sqlite3.connect(index_file(box), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        # What was sent has been sent; only the index stays behind.
        mailbox.agent("builder").send(to="reviewer", body="Sent.")
        with pytest.raises(LockTimeoutError):
            texts(mailbox)
        other.execute("ROLLBACK")
        other.close()
        assert texts(mailbox) == [*BODIES, "Sent."]
        assert index_file(box).stat().st_ino == before


def test_shrinking_does_not_wait_for_who_reads(box: Path) -> None:
    """Housekeeping must not stop a server for minutes."""
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Sent.")
        other = sqlite3.connect(index_file(box), isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM message").fetchone()
        mailbox.agent("builder").send(to="reviewer", body="Sent later.")
        mailbox.store._keeper.shrink()
        assert other.execute("SELECT count(*) FROM message").fetchone() == (31,)
        other.execute("COMMIT")
        other.close()
        mailbox.store._keeper.shrink()
        assert index_file(box).with_name("index.sqlite-wal").stat().st_size == 0


@pytest.mark.parametrize("damage", ["garbage", "deleted", "cut in the middle"])
def test_processes_that_find_a_damaged_index_at_once_agree_on_a_new_one(
    box: Path, damage: str
) -> None:
    """None deletes what another has just made."""
    DAMAGE[damage](index_file(box))
    calls = [(f"{CHILDREN}:send", box, name, 5, "fresh") for name in range(3)]
    with children(*calls, (f"{CHILDREN}:spoil", box)) as started:
        spoiler = started.pop()
        release([*started, spoiler])
        for child in started:
            child.answer()
            child.finish()
        spoiler.ask("enough")
        assert spoiler.answer() > 0
        spoiler.finish()

    with Mailbox.open(box) as mailbox:
        assert len(texts(mailbox)) == len(BODIES) + 15
        assert contents(mailbox) == contents_made_anew(mailbox)
    with Mailbox.open(box) as mailbox:
        assert mailbox.store._keeper.index()._db.execute(
            "PRAGMA integrity_check"
        ).fetchall() == [("ok",)]


def test_two_that_open_a_new_index_at_once_both_get_it(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says at once that it is locked while the other sets its mode."""
    delete_index(box)
    index_file(box).touch()
    other = sqlite3.connect(index_file(box), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(indexing, "PATIENCE_S", 0.0)
    monkeypatch.setattr("time.sleep", lambda _: other.close())
    with Mailbox.open(box) as mailbox:
        assert texts(mailbox) == BODIES
        assert mailbox.store._keeper._file is not None


def test_a_rebuild_tells_how_far_it_is(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who waits for seconds wants to know."""
    monkeypatch.setattr("gitmail.store.keeper._PROGRESS_STEP", 10)
    delete_index(box)
    told = []
    with Mailbox.open(box, progress=lambda *said: told.append(said)) as mailbox:
        texts(mailbox)
    assert told == [("records read", 10), ("records read", 20), ("records read", 30)]


def test_an_error_in_a_transaction_takes_it_back() -> None:
    """And the next one works."""
    index = Index(None)

    def fail() -> None:
        with index.writing():
            index.clear()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    with index.writing():
        index.clear()
    assert index.commit is None
    index.close()


# Whatever comes in whatever order makes the index that is made in one step.

MESSAGES = [
    message_file("builder", ["reviewer"], "One."),
    message_file("reviewer", ["builder", "reviewer"], "Two.", part=2),
    message_file("builder", ["reviewer"], "Three.", room="parser", topic="A topic"),
]
DATA = [data for _, data in MESSAGES]
POOL = dict(
    [
        *MESSAGES,
        message_file("builder", ["reviewer"], "One.", part=7),
        message_file("nobody", ["lead"], "From nobody."),
        receipt_file("reviewer", DATA[0]),
        receipt_file("reviewer", DATA[0], Stage.READ),
        receipt_file("reviewer", DATA[0], part=7),
        receipt_file("builder", DATA[1], part=2),
        receipt_file("builder", DATA[0]),
        receipt_file("lead", DATA[2]),
        copy_file("lead", DATA[2]),
        copy_file("builder", DATA[0]),
        copy_file("reviewer", DATA[0]),
        ("messages", b"A file."),
        ("receipts/reviewer", b"A file."),
        ("agents/lead.md", b"Unreadable."),
        ("agents/zoe.md", b"Unreadable."),
        ("unknown.txt", b"Text."),
        (MESSAGES[2][0].replace(".md", "x.md"), DATA[2]),
    ]
)
CHANGES = st.lists(
    st.dictionaries(
        st.sampled_from(sorted(POOL)), st.booleans(), min_size=1, max_size=5
    ),
    min_size=2,
    max_size=5,
)


@needs_git
@given(CHANGES)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_an_index_does_not_tell_how_it_came_about(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, bool]]
) -> None:
    """Files come, go and come back, at once or one by one, before what they need."""
    folder = tmp_path_factory.mktemp("index")
    box = make_mailbox(folder / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.register("lead")
        profile = (box / "agents" / "lead.md").read_bytes()
        clone = Clone(box, folder / "clone")
        for pushed in changes:
            clone.push(
                {
                    path: POOL[path] if is_there else None
                    for path, is_there in pushed.items()
                }
            )
            assert contents(mailbox) == contents_made_anew(mailbox)
            mailbox.agent("builder").send(to="reviewer", bcc="builder", body="Sent.")
            assert contents(mailbox) == contents_made_anew(mailbox)
        clone.push({"agents/lead.md": profile})
        mailbox.agent("lead").poll()
        assert contents(mailbox) == contents_made_anew(mailbox)
    shutil.rmtree(folder)


# Slots and notes, in force and not, and what stands in their place.

OWNER, DATA_OF_OWNER = slot_file("Parser", "builder", tags=("people",))
NOTE, DATA_OF_NOTE = note_file("The cache is cold.", tags=("perf",), episode="cache")
RETIRED = {"retired_by": "reviewer", "retired_at": MOMENT, "reason": "Old."}
SLOTS = [
    DATA_OF_OWNER,
    slot_file("parser", "reviewer", confidence=0.5, source="file:a.md")[1],
    slot_file("Parser", "builder", **RETIRED)[1],
    slot_file("Lexer", "builder")[1],
    b"Unreadable.",
]
MEMORY: dict[str, list[Entry | bytes | None]] = {
    OWNER: [*SLOTS, Entry(DATA_OF_OWNER, EXECUTABLE), None],
    slot_file("Parser", "x", attribute="state")[0]: [
        slot_file("Parser", "stable", attribute="state")[1],
        None,
    ],
    slot_file("Python", "x", scope=Scope.WORLD)[0]: [
        slot_file("Python", "Guido", scope=Scope.WORLD)[1],
        slot_file("Python", "Nobody", scope=Scope.WORLD, **RETIRED)[1],
        DATA_OF_OWNER,
    ],
    NOTE: [DATA_OF_NOTE, note_file("Another.")[1], None],
    note_file("Another.")[0]: [note_file("Another.")[1], None],
    "memory/facts/parser": [b"A file.", None],
    "memory/facts/unknown.txt": [b"Text.", None],
    "memory": [b"A file.", Entry(b"facts", LINK), None],
}
EDITS = st.lists(
    st.lists(
        st.sampled_from(
            [(path, content) for path, each in MEMORY.items() for content in each]
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda change: change[0],
    ).map(lambda changes: dict(sorted(changes, key=lambda change: change[0]))),
    min_size=2,
    max_size=5,
)


@needs_git
@given(EDITS)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
def test_the_index_of_memory_does_not_tell_how_it_came_about(
    tmp_path_factory: pytest.TempPathFactory,
    edits: list[dict[str, Entry | bytes | None]],
) -> None:
    """Whatever people push, also where what gitmail would write stands already."""
    folder = tmp_path_factory.mktemp("memory")
    box = make_mailbox(folder / ".gitmail")
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        clone = Clone(box, folder / "clone")
        for pushed in edits:
            clone.push(pushed)
            assert contents(mailbox) == contents_made_anew(mailbox)
            with suppress(GitmailError):  # what is quarantined is not replaced
                memory.set("fact", "PARSER", "owner", "lead")
            memory.forget("note", memory.add("A note.").record.id)
            assert contents(mailbox) == contents_made_anew(mailbox)
    shutil.rmtree(folder)


def known(mailbox: Mailbox) -> dict[str, str]:
    """Return path and value of what is in force."""
    found = mailbox.agent("reviewer").memory.list(limit=200).records
    return {memory_path(each.record): each.record.value for each in found}


def revisions(mailbox: Mailbox, path: str) -> list[tuple[str, str]]:
    """Return commit and blob of each version of a path, oldest first."""
    found: dict[str, list[tuple[str, str]]] = dict(contents(mailbox)["revision"])
    return found.get(path, [])


@needs_git
@pytest.mark.parametrize(
    ("edit", "expected", "quarantined"),
    [
        ({OWNER: SLOTS[1]}, {OWNER: "reviewer", NOTE: "The cache is cold."}, []),
        ({OWNER: None}, {NOTE: "The cache is cold."}, []),
        ({NOTE: None}, {OWNER: "builder"}, []),
        ({OWNER: SLOTS[2]}, {NOTE: "The cache is cold."}, []),
        ({OWNER: b"Nonsense."}, {NOTE: "The cache is cold."}, [OWNER]),
        ({OWNER: SLOTS[3]}, {NOTE: "The cache is cold."}, [OWNER]),
        (
            {OWNER: None, "memory/facts/lexer/owner.md": DATA_OF_OWNER},
            {NOTE: "The cache is cold."},
            ["memory/facts/lexer/owner.md"],
        ),
        (
            {OWNER: None, slot_file("Lexer", "")[0]: SLOTS[3]},
            {slot_file("Lexer", "")[0]: "builder", NOTE: "The cache is cold."},
            [],
        ),
        ({NOTE: note_file("Another.")[1]}, {OWNER: "builder"}, [NOTE]),
        ({"memory": None}, {}, []),
        ({"memory": b"A file."}, {}, ["memory"]),
    ],
    ids=[
        *("replaced", "removed", "note removed", "retired", "nonsense", "of another"),
        *("moved", "renamed", "note rewritten", "all removed", "a file instead"),
    ],
)
def test_what_people_push_is_what_is_known(
    box: Path,
    tmp_path: Path,
    edit: dict[str, bytes | None],
    expected: dict[str, str],
    quarantined: list[str],
) -> None:
    """And when it is put right again, so is the index (DESIGN 7, 11)."""
    sound = {OWNER: DATA_OF_OWNER, NOTE: DATA_OF_NOTE}
    with Mailbox.open(box) as mailbox:
        clone = Clone(box, tmp_path / "clone")
        clone.push(sound)
        assert known(mailbox) == {OWNER: "builder", NOTE: "The cache is cold."}

        made = clone.push(edit)
        assert known(mailbox) == expected
        assert [path for path, _ in mailbox.status().quarantine] == quarantined
        assert contents(mailbox) == contents_made_anew(mailbox)
        touched = [path for path in sound if path in edit or "memory" in edit]
        assert {revisions(mailbox, path)[-1][0] for path in touched} == {made}

        clone.push({"memory": None})
        clone.push(sound)
        assert known(mailbox) == {OWNER: "builder", NOTE: "The cache is cold."}
        assert mailbox.status().quarantine == ()
        assert contents(mailbox) == contents_made_anew(mailbox)


@needs_git
def test_each_version_is_recorded_once_with_the_commit_that_made_it(
    box: Path, tmp_path: Path
) -> None:
    """The same value twice, a removal, and what others did meanwhile (Y8)."""
    values = [DATA_OF_OWNER, SLOTS[1], None, DATA_OF_OWNER]
    with Mailbox.open(box) as mailbox:
        clone = Clone(box, tmp_path / "clone")
        made = []
        for value in values:
            made.append(clone.push({OWNER: value}))
            clone.push({"memory/facts/lexer/owner.md": value})
            mailbox.agent("builder").send(to="reviewer", body="Meanwhile.")

        assert revisions(mailbox, OWNER) == [
            (commit, blob_id(value) if value else "")
            for commit, value in zip(made, values, strict=True)
        ]
        delete_index(box)
    with Mailbox.open(box) as mailbox:
        assert [commit for commit, _ in revisions(mailbox, OWNER)] == made


@needs_git
def test_a_merge_brings_what_both_sides_have(box: Path, tmp_path: Path) -> None:
    """Its second parent is walked as well as its first (DESIGN 10)."""
    unguard(box)  # a person pushes mail of builder's
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(box), str(clone))
    for number in range(3):
        path, data = message_file("builder", ["reviewer"], f"Pushed {number}.")
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_bytes(data)
        git(clone, "add", path)
        git(clone, "commit", "-q", "-m", f"Pushed {number}")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Sent meanwhile.")
        cursor = mailbox.status().tip
        git(clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "gitmail")
        git(clone, "push", "-q", "origin", "HEAD:gitmail")

        page = mailbox.agent("reviewer").poll(after=cursor)
        assert sorted(item.message.body for item in page.items) == [
            *(f"Pushed {number}." for number in range(3))
        ]
        assert contents(mailbox) == contents_made_anew(mailbox)
    assert_sound(box)


@posix_only
def test_a_path_with_any_characters_holds_an_index(tmp_path: Path) -> None:
    """SQLite takes it as an address, in which some characters have a meaning."""
    for name in ("a b", "100%", "a?b#c", "%41", "file:x", "ä", "'\""):
        box = make_mailbox(tmp_path / name / ".gitmail")
        with Mailbox.open(box) as mailbox:
            assert texts(mailbox) == []
            assert index_file(box).stat().st_size > 0
            assert mailbox.store._keeper._file is not None


def test_nothing_but_the_index_is_left_of_it(box: Path) -> None:
    """Who closes last takes the log away."""
    files = index_file(box).parent.glob("index.sqlite*")
    assert [file.name for file in files] == ["index.sqlite"]
