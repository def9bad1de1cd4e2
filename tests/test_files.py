"""The files beside the repository, a copy of the tip (DESIGN 6)."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import DiskFullError
from gitmail.records.names import CommitId
from gitmail.store.files import Files
from gitmail.store.repository import Repository
from tests.helpers import files_in_tip, files_on_disk, git
from tests.mailfiles import EXECUTABLE, LINK, SUBMODULE, Clone, Entry, message_file
from tests.processes import make_mailbox_with_mail, needs_git, posix_only

pytestmark = needs_git


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail, which nobody has open."""
    return make_mailbox_with_mail(tmp_path / ".gitmail")


@pytest.fixture(name="files")
def _files(box: Path) -> Iterator[Files]:
    """Return the files of that mailbox."""
    repository = Repository(box / ".git")
    yield Files(box, box / ".git" / "gitmail" / "shown", repository)
    repository.close()


def commits(box: Path) -> list[CommitId]:
    """Return the commits of a mailbox, the oldest first."""
    rows = git(box, "rev-list", "--reverse", "gitmail").split()
    return [CommitId(row) for row in rows]


def test_the_files_are_those_of_the_tip_and_read_only(box: Path) -> None:
    """They are a copy, and editing one changes nothing (DESIGN 6)."""
    assert files_on_disk(box) == files_in_tip(box)
    for name in files_on_disk(box):
        mode = (box / name).stat().st_mode
        assert stat.S_ISREG(mode)
        assert mode & 0o111 == 0
        assert mode & 0o222 == 0


def test_the_files_follow_to_any_commit_and_back(box: Path, files: Files) -> None:
    """Folders that become empty go too."""
    history = commits(box)
    for commit in (history[0], history[-1], history[3], history[1], history[-1]):
        files.roll_to(commit)
        assert files_on_disk(box) == files_in_tip(box, commit)
        assert files.shown() == commit
        assert files.hand_edits(commit) == []
    files.roll_to(history[0])
    assert sorted(path.name for path in box.iterdir()) == [
        *(".git", ".gitattributes", "README.md", "mailbox.md")
    ]


@pytest.mark.parametrize("mark", [None, "", "1234", "0" * 40, "g" * 40, "\xff" * 40])
def test_a_mark_that_says_nothing_makes_all_files_be_looked_at(
    box: Path, files: Files, mark: str | None
) -> None:
    """What a killed writer began is finished, what is one's own stays."""
    message = next((box / "messages").rglob("*.md"))
    message.chmod(0o644)
    message.write_bytes(message.read_bytes()[:20])
    next((box / "agents").glob("*.md")).unlink()
    (box / "notes.txt").write_text("Mine.", "ascii")
    shown = box / ".git" / "gitmail" / "shown"
    if mark is None:
        shown.unlink()
    else:
        shown.write_bytes(mark.encode("latin-1"))
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").poll()
        assert mailbox.status().uncommitted == (("notes.txt", "added"),)
    assert files.shown() == commits(box)[-1]


def test_a_draft_that_a_killed_writer_left_is_no_hindrance(
    box: Path, files: Files
) -> None:
    """Nor one that is a copy of what is shown."""
    draft = box / ".git" / "gitmail" / "file.draft"
    for content in (b"", b"half a fi", (box / "agents" / "builder.md").read_bytes()):
        draft.write_bytes(content)
        draft.chmod(0o444)
        with Mailbox.open(box) as mailbox:
            mailbox.register("builder", description=f"After {len(content)} bytes.")
            assert mailbox.status().uncommitted == ()
    assert files.shown() == commits(box)[-1]


def test_a_file_that_was_begun_is_finished(box: Path, files: Files) -> None:
    """It was killed between making the file and filling it."""
    history = commits(box)
    files.roll_to(history[-2])
    (name,) = files_in_tip(box, history[-1]).keys() - files_on_disk(box).keys()
    (box / name).parent.mkdir(parents=True, exist_ok=True)
    (box / name).write_bytes(b"---\nfrom: bui")
    with Mailbox.open(box) as mailbox:
        assert mailbox.status().uncommitted == ()
    assert files_on_disk(box) == files_in_tip(box)


def test_what_is_no_plain_file_of_a_mailbox_is_never_shown(
    box: Path, tmp_path: Path
) -> None:
    """Links, executables, submodules and unknown paths stay in git (DESIGN 11)."""
    path, data = message_file("builder", ["reviewer"], "Pushed.")
    clone = Clone(box, tmp_path / "clone")
    before = files_on_disk(box)
    odd = {
        path: Entry(data, EXECUTABLE),
        "agents/link.md": Entry(b"../mailbox.md", LINK),
        "agents/module.md": Entry(mode=SUBMODULE, sha="1" * 40),
        "bin/run": Entry(b"#!/bin/sh\n", EXECUTABLE),
    }
    with Mailbox.open(box) as mailbox:
        clone.push(odd)
        assert len(mailbox.status().quarantine) == len(odd)
        assert mailbox.status().uncommitted == ()
        assert files_on_disk(box) == before
        # A plain file that becomes one of these goes from the disk.
        clone.push({"agents/builder.md": Entry(b"reviewer.md", LINK)})
        assert mailbox.status().uncommitted == ()
        assert not (box / "agents" / "builder.md").exists()
        clone.push(dict.fromkeys(odd))
        clone.push({path: data})
        assert mailbox.status().uncommitted == ()
        assert (box / path).read_bytes() == data


def test_a_disk_that_is_full_leaves_the_mark_behind(
    box: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the next call goes on from there."""
    history = commits(box)
    files.roll_to(history[1])
    plain, count = os.write, 0

    def write(handle: int, data: bytes) -> int:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(28, "No space left on device")
        return plain(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(DiskFullError):
            files.roll_to(history[-1])
    assert files.shown() == history[1]
    files.roll_to(history[-1])
    assert files_on_disk(box) == files_in_tip(box)


@posix_only
def test_files_that_were_found_clean_are_not_read_again(
    box: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what changed since, in the tip or on the disk, is worth a look."""
    tip = commits(box)[-1]
    read = []
    plain = files._edit
    monkeypatch.setattr(
        files, "_edit", lambda path, key: read.append(path) or plain(path, key)
    )
    assert files.hand_edits(tip) == []
    assert len(read) == len(files_on_disk(box))

    checked = box / ".git" / "gitmail" / "checked"
    commit, _, moment = checked.read_text("ascii").partition(" ")
    assert commit == tip
    # As if the look had been a minute later than the files.
    later = f"{commit} {int(moment) + 60 * 10**9}\n"
    checked.write_text(later, "ascii")
    read.clear()
    assert files.hand_edits(tip) == []
    assert read == []

    checked.write_text(later, "ascii")
    (box / "README.md").unlink()
    (box / "README.md").symlink_to("mailbox.md")
    assert files.hand_edits(tip) == [("README.md", "modified")]
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="One more.")
    newest = commits(box)[-1]
    (name,) = files_in_tip(box).keys() - files_in_tip(box, tip).keys()
    (box / name).chmod(0o644)
    (box / name).write_text("Mine.", "ascii")
    assert ("README.md", "modified") in files.hand_edits(newest)
    assert (name, "modified") in files.hand_edits(newest)


@pytest.mark.parametrize(
    "content", ["", "x", "0" * 40, "0" * 40 + " 99999999999999999999"]
)
def test_a_note_of_the_last_look_that_says_nothing_is_passed_by(
    box: Path, files: Files, content: str
) -> None:
    """It only saves time."""
    (box / ".git" / "gitmail" / "checked").write_text(content, "ascii")
    assert files.hand_edits(commits(box)[-1]) == []
    (box / "README.md").unlink()
    (box / ".git" / "gitmail" / "checked").write_text(content, "ascii")
    assert files.hand_edits(commits(box)[-1]) == [("README.md", "deleted")]


def test_a_writer_at_work_is_no_hand_edit(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look between its commit and its files must not call them deleted."""
    with Mailbox.open(box) as mailbox:
        assert mailbox.status().uncommitted == ()
        store = mailbox.store
        files, plain = store._files, store._files.hand_edits
        looks = []

        def look(tip: CommitId) -> list[tuple[str, str]]:
            with Mailbox.open(box) as other:
                monkeypatch.setattr(other.store._files, "show", lambda *_: None)
                other.agent("builder").send(to="reviewer", body="Sent meanwhile.")
            looks.append(tip)
            return plain(store.branch.read() or tip)

        monkeypatch.setattr(files, "hand_edits", look)
        assert mailbox.status().uncommitted == ()
        assert len(looks) == 1
    assert files_on_disk(box) == files_in_tip(box)


@posix_only
def test_nothing_is_written_or_removed_through_a_link(
    box: Path, tmp_path: Path
) -> None:
    """A folder that somebody replaced may lead anywhere; mail goes on without it."""
    outside = tmp_path / "outside"
    with Mailbox.open(box) as mailbox:
        builder = mailbox.agent("builder")
        builder.memory.set("fact", "parser", "owner", "builder")
        (box / "memory").rename(outside)
        for name in ("memory", "receipts"):
            (box / name).symlink_to(outside)
        before = files_on_disk(outside)
        mailbox.agent("reviewer").poll(ack=True)
        builder.memory.forget("fact", "parser")

        assert before
        assert files_on_disk(outside) == before
        assert any(path.startswith("receipts/") for path in files_in_tip(box))
        assert ("memory", "added") in mailbox.status().uncommitted
