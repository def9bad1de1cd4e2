"""What people do to the files on disk: it is named, and it is no mail (DESIGN 11)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.helpers import files_in_tip, files_on_disk
from tests.mailfiles import Clone
from tests.processes import assert_sound, make_mailbox, needs_git, posix_only

SLOT_PATH = "memory/facts/parser/owner.md"


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail, and something in memory."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="There before.")
        mailbox.agent("builder").memory.set("fact", "parser", "owner", "It is builder.")
    return box


def _message(box: Path) -> Path:
    return next((box / "messages").rglob("*.md"))


def delete_a_message(box: Path) -> dict[Path, str]:
    """Delete a file."""
    message = _message(box)
    message.unlink()
    return {message: "deleted"}


def edit_a_message(box: Path) -> dict[Path, str]:
    """Save another text in the place of a file, as editors do."""
    message = _message(box)
    (box / "draft").write_text("Mine.", "ascii")
    (box / "draft").replace(message)
    return {message: "modified"}


def edit_the_readme(box: Path) -> dict[Path, str]:
    """Write into a file that is no mail."""
    (box / "README.md").chmod(0o644)
    (box / "README.md").write_text("Mine.", "ascii")
    return {box / "README.md": "modified"}


def delete_the_charter(box: Path) -> dict[Path, str]:
    """Delete the file that says which mailbox this is."""
    (box / "mailbox.md").unlink()
    return {box / "mailbox.md": "deleted"}


def delete_all_messages(box: Path) -> dict[Path, str]:
    """Delete a folder."""
    message = _message(box)
    shutil.rmtree(box / "messages")
    return {message: "deleted"}


def add_a_note(box: Path) -> dict[Path, str]:
    """Put a file of one's own beside the mail."""
    (box / "notes.txt").write_text("Mine.", "ascii")
    return {box / "notes.txt": "added"}


def forge_an_agent(box: Path) -> dict[Path, str]:
    """Put a file where a profile would be."""
    forged = box / "agents" / "mallory.md"
    forged.write_bytes((box / "agents" / "builder.md").read_bytes())
    return {forged: "added"}


def put_a_folder_for_a_file(box: Path) -> dict[Path, str]:
    """Make a folder with the name of a message."""
    message = _message(box)
    message.unlink()
    message.mkdir()
    (message / "notes.md").write_text("Mine.", "ascii")
    return {message: "modified", message / "notes.md": "added"}


def put_a_file_for_a_folder(box: Path) -> dict[Path, str]:
    """Make a file with the name of the folder that the next message belongs in."""
    message = _message(box)
    shutil.rmtree(box / "messages")
    (box / "messages").write_text("Mine.", "ascii")
    return {message: "deleted", box / "messages": "added"}


def put_a_link_for_a_file(box: Path) -> dict[Path, str]:
    """Link to a file with the very same bytes."""
    message = _message(box)
    message.replace(box.parent / "elsewhere.md")
    message.symlink_to(box.parent / "elsewhere.md")
    return {message: "modified"}


def put_a_broken_link_for_a_file(box: Path) -> dict[Path, str]:
    """Link to nothing."""
    message = _message(box)
    message.unlink()
    message.symlink_to("nowhere")
    return {message: "modified"}


def put_a_pipe_for_a_file(box: Path) -> dict[Path, str]:
    """Make a pipe, which never ends when it is read."""
    message = _message(box)
    message.unlink()
    os.mkfifo(message)
    return {message: "modified"}


def edit_a_slot(box: Path) -> dict[Path, str]:
    """Save another value in the place of a fact."""
    slot = box / SLOT_PATH
    text = slot.read_bytes().replace(b"builder.", b"mallory.")
    slot.unlink()
    slot.write_bytes(text)
    return {slot: "modified"}


def delete_memory(box: Path) -> dict[Path, str]:
    """Delete the folder of all that is remembered."""
    shutil.rmtree(box / "memory")
    return {box / SLOT_PATH: "deleted"}


def forge_a_slot(box: Path) -> dict[Path, str]:
    """Put a file where another fact would be."""
    forged = box / "memory" / "facts" / "lexer" / "owner.md"
    forged.parent.mkdir()
    forged.write_bytes((box / SLOT_PATH).read_bytes())
    return {forged: "added"}


EDITS = [
    *(delete_a_message, edit_a_message, edit_the_readme, delete_the_charter),
    *(delete_all_messages, add_a_note, forge_an_agent),
    *(edit_a_slot, delete_memory, forge_a_slot),
    *(put_a_folder_for_a_file, put_a_file_for_a_folder),
    *(
        pytest.param(edit, marks=posix_only)
        for edit in (
            put_a_link_for_a_file,
            put_a_broken_link_for_a_file,
            put_a_pipe_for_a_file,
        )
    ),
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_on_the_disk_is_named_and_no_mail_is_lost(
    box: Path, edit: Callable[[Path], dict[Path, str]]
) -> None:
    """Nothing is answered from these files, and a send leaves them as they are."""
    edits = {
        (path.relative_to(box).as_posix(), what) for path, what in edit(box).items()
    }
    edited = _entries(box)
    with Mailbox.open(box) as mailbox:
        assert set(mailbox.status().uncommitted) == edits
        assert _texts(mailbox) == ["There before."]
        assert _remembered(mailbox) == ["It is builder."]

        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        mailbox.agent("builder").memory.set("world", "python", "latest", "3.14")
        assert _texts(mailbox) == ["There before.", "Sent after."]
        assert _remembered(mailbox) == ["3.14", "It is builder."]
        assert set(mailbox.status().uncommitted) >= edits
        assert edited.items() <= _entries(box).items()


@needs_git
def test_what_is_not_in_the_way_is_still_shown(box: Path) -> None:
    """A file for the folder of messages hides these, and no profile."""
    put_a_file_for_a_folder(box)
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        mailbox.register("newcomer")

    assert (box / "agents" / "newcomer.md").is_file()
    assert files_on_disk(box).keys() == {
        path for path in files_in_tip(box) if not path.startswith("messages/")
    } | {"messages"}


@needs_git
def test_a_push_replaces_what_it_changes_and_no_other_edit(
    box: Path, tmp_path: Path
) -> None:
    """An edit is left alone unless the tip has something newer there."""
    edit_a_message(box)
    edit_the_readme(box)
    Clone(box, tmp_path / "clone").push({"README.md": b"Pushed.\n"})
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").poll()
        assert [what for _, what in mailbox.status().uncommitted] == ["modified"]

    assert (box / "README.md").read_bytes() == b"Pushed.\n"
    assert _message(box).read_bytes() == b"Mine."


@needs_git
@pytest.mark.parametrize("edit", [put_a_folder_for_a_file, delete_a_message])
def test_a_push_that_deletes_what_was_edited_goes_on(
    box: Path, tmp_path: Path, edit: Callable[[Path], object]
) -> None:
    """What is in the way of that stays, and the rest follows the tip."""
    path = _message(box).relative_to(box).as_posix()
    edit(box)
    with Mailbox.open(box) as mailbox:
        Clone(box, tmp_path / "clone").push({path: None, "README.md": b"Pushed.\n"})
        assert _texts(mailbox) == []

    assert (box / "README.md").read_bytes() == b"Pushed.\n"


def replace_by_a_folder(box: Path) -> None:
    """Make a folder with the name of a fact."""
    (box / SLOT_PATH).unlink()
    (box / SLOT_PATH).mkdir()
    (box / SLOT_PATH / "mine.txt").write_text("Mine.", "ascii")


def delete_a_slots_folder(box: Path) -> None:
    """Delete a fact and its folder, as a killed writer may have who came no further."""
    shutil.rmtree((box / SLOT_PATH).parent)


def add_beside(box: Path) -> None:
    """Put a file of one's own beside a fact."""
    (box / SLOT_PATH).with_name("mine.txt").write_text("Mine.", "ascii")


@needs_git
@pytest.mark.parametrize("edit", [edit_a_slot, delete_memory])
def test_what_is_set_replaces_an_edit_of_its_file(
    box: Path, edit: Callable[[Path], object]
) -> None:
    """What a person wrote there was named before, and never was memory."""
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        edit(box)
        assert [path for path, _ in mailbox.status().uncommitted] == [SLOT_PATH]
        standing = memory.get("fact", "parser", "owner").record.id
        memory.set("fact", "parser", "owner", "It is lead.", expected=standing)

        assert mailbox.status().uncommitted == ()
        assert files_on_disk(box)[SLOT_PATH] == files_in_tip(box)[SLOT_PATH]
    assert_sound(box)


@pytest.mark.parametrize("edit", [edit_a_slot, delete_memory, delete_a_slots_folder])
def test_what_is_forgotten_is_gone_whatever_was_done_to_its_file(
    box: Path, edit: Callable[[Path], object]
) -> None:
    """The file goes, and its folders with it."""
    edit(box)
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").memory.forget("fact", "parser")

        assert not (box / "memory").exists()
        assert mailbox.status().uncommitted == ()


@needs_git
def test_a_file_of_ones_own_for_the_folder_of_a_slot_stays(box: Path) -> None:
    """What belongs there is remembered all the same, and only that is not shown."""
    own = box / "memory" / "facts" / "lexer"
    own.write_text("Mine.", "ascii")
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        memory.set("fact", "lexer", "owner", "It is lead.")
        memory.set("fact", "parser", "owner", "It is lead.")
        assert memory.get("fact", "lexer", "owner").text == "It is lead."
        assert mailbox.status().uncommitted == (
            ("memory/facts/lexer", "added"),
            ("memory/facts/lexer/owner.md", "deleted"),
        )
        assert files_on_disk(box)[SLOT_PATH] == files_in_tip(box)[SLOT_PATH]

        memory.forget("fact", "lexer")
        assert mailbox.status().uncommitted == (("memory/facts/lexer", "added"),)
        own.unlink()
        memory.restore("fact", "lexer", "owner")
    assert_sound(box)


@pytest.mark.parametrize("edit", [replace_by_a_folder, add_beside])
def test_what_is_forgotten_takes_no_file_of_a_persons_with_it(
    box: Path, edit: Callable[[Path], object]
) -> None:
    """Nor a folder in which one is, and the slot can be set again."""
    edit(box)
    (own,) = (path for path in box.rglob("mine.txt"))
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        memory.forget("fact", "parser")
        named = (own.relative_to(box).as_posix(), "added")
        assert mailbox.status().uncommitted == (named,)
        memory.set("fact", "parser", "owner", "It is lead.")
        assert named in mailbox.status().uncommitted
        assert _remembered(mailbox) == ["It is lead."]
    assert own.read_text("ascii") == "Mine."


@needs_git
def test_a_push_that_removes_or_replaces_slots_does_so_on_the_disk(
    box: Path, tmp_path: Path
) -> None:
    """As a set or a forget of anybody's does, edited by hand or not."""
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        memory.set("fact", "lexer", "owner", "It is lead.")
    edit_a_slot(box)
    path = "memory/facts/lexer/owner.md"
    standing = (box / path).read_bytes()
    clone = Clone(box, tmp_path / "clone")
    clone.push({path: None, SLOT_PATH: standing.replace(b"lexer", b"parser")})
    with Mailbox.open(box) as mailbox:
        assert _remembered(mailbox) == ["It is lead."]
        assert not (box / path).parent.exists()
    assert_sound(box)


@needs_git
def test_a_mailbox_may_be_moved(box: Path, tmp_path: Path) -> None:
    """Nothing in it names the place where it is (DESIGN 3)."""
    moved = tmp_path / "else where" / "mail#1?%41"
    moved.parent.mkdir()
    box.rename(moved)
    with Mailbox.open(moved) as mailbox:
        assert _texts(mailbox) == ["There before."]
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert (moved / ".git" / "gitmail" / "index.sqlite").stat().st_size
    assert_sound(moved)


@posix_only
def test_a_name_that_is_no_text_is_shown_so_that_it_can_be_printed(box: Path) -> None:
    """Other programs may name files as they like."""
    Path(os.fsdecode(os.fsencode(box) + b"/\xff.txt")).touch()
    with Mailbox.open(box) as mailbox:
        assert mailbox.status().uncommitted == (("\\xff.txt", "added"),)


def test_edits_are_seen_again_and_again(box: Path) -> None:
    """Also behind a look that found all as it should be."""
    with Mailbox.open(box) as mailbox:
        for _ in range(3):
            assert mailbox.status().uncommitted == ()
            edited = edit_the_readme(box)
            assert len(mailbox.status().uncommitted) == len(edited)
            (box / "README.md").unlink()
            assert mailbox.status().uncommitted == (("README.md", "deleted"),)
            delete_marker(box)
            mailbox.agent("reviewer").poll()


def delete_marker(box: Path) -> None:
    """Make the files on the disk be compared with the tip from the beginning."""
    (box / ".git" / "gitmail" / "shown").unlink()


def _texts(mailbox: Mailbox) -> list[str]:
    return [item.message.body for item in mailbox.agent("reviewer").poll().items]


def _remembered(mailbox: Mailbox) -> list[str]:
    return [each.text for each in mailbox.agent("reviewer").memory.list().records]


def _entries(box: Path) -> dict[Path, object]:
    """Return what each path on the disk is, and its bytes where it is a file."""
    return {
        path: path.read_bytes() if path.is_file() else path.lstat().st_mode
        for path in box.rglob("*")
        if ".git" not in path.parts
    }
