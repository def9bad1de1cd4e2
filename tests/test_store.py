"""Reading at the tip and writing one commit at a time (DESIGN 2 and 6)."""

import inspect
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import dulwich.errors
import dulwich.object_store
import dulwich.objects
import dulwich.pack
import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    CorruptMailboxError,
    GitmailError,
    LockTimeoutError,
    MailboxNotFoundError,
    StaleWriteError,
    UnsupportedFormatError,
)
from gitmail.store import store as storing
from gitmail.store.refs import Branch
from gitmail.store.repository import UNREADABLE, Repository
from gitmail.store.store import Store
from tests.helpers import git
from tests.indexes import contents, contents_made_anew
from tests.mailfiles import Clone, message_file
from tests.processes import (
    Child,
    assert_sound,
    make_mailbox,
    make_mailbox_with_mail,
    needs_git,
    posix_only,
)


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail, which nobody has open."""
    return make_mailbox_with_mail(tmp_path / ".gitmail")


@pytest.fixture(name="opened")
def _opened(box: Path) -> Iterator[Mailbox]:
    """Return that mailbox, open."""
    with Mailbox.open(box) as mailbox:
        yield mailbox


def pending(mailbox: Mailbox) -> list[str]:
    """Return the texts of what reviewer has to read."""
    return [item.message.body for item in mailbox.agent("reviewer").poll().items]


class Rival:
    """A push that comes in the very moment in which a commit would."""

    def __init__(
        self, box: Path, clone: Clone, monkeypatch: pytest.MonkeyPatch, times: int
    ) -> None:
        self.pushed: list[str] = []
        plain = Branch.move

        def move(branch: Branch, old: object, new: object) -> bool:
            if len(self.pushed) < times:
                body = f"Pushed {len(self.pushed)}."
                clone.push(dict([message_file("builder", ["reviewer"], body)]))
                self.pushed.append(body)
            return plain(branch, old, new)  # type: ignore[arg-type]

        monkeypatch.setattr(Branch, "move", move)
        assert box.is_dir()


@needs_git
@pytest.mark.parametrize("times", [1, 3])
def test_a_send_that_loses_to_a_push_is_done_again_on_top_of_it(
    box: Path,
    opened: Mailbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    """Both are there, once, and nothing is left of the attempts (DESIGN 6)."""
    rival = Rival(box, Clone(box, tmp_path / "clone"), monkeypatch, times)
    sent = opened.agent("builder").send(to="reviewer", body="Sent.")

    assert set(pending(opened)) == {
        *(f"Message {number}." for number in range(3)),
        *rival.pushed,
        "Sent.",
    }
    assert opened.log()[0].messages == (sent.message.id,)
    assert opened.log()[0].commit == sent.commit == opened.status().tip
    assert contents(opened) == contents_made_anew(opened)
    assert_sound(box)


@needs_git
def test_a_take_that_loses_to_a_push_takes_what_came_too(
    box: Path, opened: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is the one of the tip that the receipts stand on (R7)."""
    rival = Rival(box, Clone(box, tmp_path / "clone"), monkeypatch, 1)
    page = opened.agent("reviewer").poll(ack=True)

    assert {item.message.body for item in page.items} >= set(rival.pushed)
    assert len(page.items) == 4
    assert pending(opened) == []
    assert_sound(box)


@needs_git
def test_who_always_loses_is_told_so_and_has_changed_nothing(
    box: Path, opened: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may simply try again."""
    with monkeypatch.context() as patch:
        rival = Rival(box, Clone(box, tmp_path / "clone"), patch, 100)
        with pytest.raises(StaleWriteError) as caught:
            opened.agent("builder").send(to="reviewer", body="Sent.")
    assert caught.value.details == {"attempts": len(rival.pushed)}
    assert "Sent." not in pending(opened)

    opened.agent("builder").send(to="reviewer", body="Sent.")
    assert pending(opened).count("Sent.") == 1
    assert_sound(box)


@needs_git
@pytest.mark.parametrize(
    "command", [["repack", "-a", "-d", "-q"], ["gc", "-q", "--prune=now"]]
)
def test_git_drops_nothing_between_the_objects_and_the_branch(
    box: Path, opened: Mailbox, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """What is written is kept until the branch names it."""
    plain = Branch.move

    def move(branch: Branch, old: object, new: object) -> bool:
        git(box, *command)
        return plain(branch, old, new)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Branch, "move", move)
        sent = opened.agent("builder").send(to="reviewer", body="Sent.")
    git(box, *command)
    assert git(box, "cat-file", "-t", sent.message.id) == "blob\n"
    assert not list((box / ".git" / "objects" / "pack").glob("*.keep"))
    assert_sound(box)


@posix_only
def test_a_lock_held_by_a_stopped_process_is_busy_until_it_goes_on(
    box: Path, opened: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading needs no lock, and who writes is told in time (exit code 4)."""
    monkeypatch.setattr(storing, "LOCK_TIMEOUT_S", 0.05)
    with Child("tests.faults.children:hold_lock", box) as holder:
        assert holder.answer() == "held"
        holder.process.send_signal(signal.SIGSTOP)
        with pytest.raises(LockTimeoutError) as caught:
            opened.agent("builder").send(to="reviewer", body="Not now.")
        assert caught.value.code == "busy"
        assert caught.value.exit_code == 4
        assert len(pending(opened)) == 3
        assert opened.status().uncommitted == ()

        holder.process.send_signal(signal.SIGCONT)
        holder.finish()
    opened.agent("builder").send(to="reviewer", body="Now.")
    assert pending(opened)[-1] == "Now."


@needs_git
def test_a_branch_that_is_set_back_is_followed(box: Path, opened: Mailbox) -> None:
    """Index and files show the older tip, and mail goes on from there (I1)."""
    assert len(pending(opened)) == 3
    git(box, "update-ref", "refs/heads/gitmail", "gitmail~2")

    assert pending(opened) == ["Message 0."]
    assert opened.status().uncommitted == ()
    opened.agent("builder").send(to="reviewer", body="Sent.")
    assert pending(opened) == ["Message 0.", "Sent."]
    assert contents(opened) == contents_made_anew(opened)
    assert_sound(box)


@needs_git
def test_a_branch_that_is_rewritten_is_followed(
    box: Path, opened: Mailbox, tmp_path: Path
) -> None:
    """As after a rebase that was forced through."""
    clone = Clone(box, tmp_path / "clone")
    path, data = message_file("builder", ["reviewer"], "Rewritten.")
    other = clone.commit("origin/gitmail~3", {path: data})
    assert len(pending(opened)) == 3
    git(box, "fetch", "-q", str(clone.folder), other)
    git(box, "update-ref", "refs/heads/gitmail", other)

    assert pending(opened) == ["Rewritten."]
    assert opened.status().uncommitted == ()
    assert contents(opened) == contents_made_anew(opened)
    assert_sound(box)


@needs_git
def test_a_branch_of_another_mailbox_is_followed(
    box: Path, opened: Mailbox, tmp_path: Path
) -> None:
    """The tip alone is true, wherever it came from (I1)."""
    other = make_mailbox(tmp_path / "other" / ".gitmail")
    was = opened.charter().id
    git(box, "fetch", "-q", str(other), "gitmail")
    git(box, "update-ref", "refs/heads/gitmail", "FETCH_HEAD")

    assert pending(opened) == []
    assert opened.charter().id != was
    assert opened.status().uncommitted == ()
    assert_sound(box)


@needs_git
def test_a_branch_that_is_gone_is_damage_until_it_is_back(
    box: Path, opened: Mailbox
) -> None:
    """Nothing is made anew in its place by accident."""
    tip = opened.status().tip
    git(box, "update-ref", "-d", "refs/heads/gitmail")
    for act in (lambda: pending(opened), opened.status, opened.charter):
        with pytest.raises(CorruptMailboxError):
            act()
    with pytest.raises(CorruptMailboxError):
        opened.agent("builder").send(to="reviewer", body="Sent.")

    git(box, "update-ref", "refs/heads/gitmail", tip)
    assert len(pending(opened)) == 3


def test_a_mailbox_of_a_newer_format_is_neither_read_nor_written(
    box: Path, opened: Mailbox, tmp_path: Path
) -> None:
    """The caller is told what to do: upgrade."""
    charter = (box / "mailbox.md").read_bytes()
    newer = charter.replace(b"format: 1", b"format: 2")
    Clone(box, tmp_path / "clone").push({"mailbox.md": newer})
    for act in (
        lambda: pending(opened),
        lambda: opened.agent("builder").send(to="reviewer", body="No."),
    ):
        with pytest.raises(UnsupportedFormatError) as caught:
            act()
        assert caught.value.details["found"] == "2"


def test_a_folder_without_repository_is_no_mailbox(tmp_path: Path) -> None:
    """One that lost its objects is, but a damaged one."""
    with pytest.raises(MailboxNotFoundError):
        Store(tmp_path)
    box = make_mailbox(tmp_path / ".gitmail")
    shutil.rmtree(box / ".git" / "objects")
    with pytest.raises(CorruptMailboxError, match="objects is missing"):
        Mailbox.open(box)


def test_a_closed_mailbox_leaves_nothing_open(box: Path) -> None:
    """Not even where it is closed twice, or was never used."""
    for _ in range(2):
        mailbox = Mailbox.open(box)
        mailbox.close()
        mailbox.close()


def test_an_update_without_files_writes_nothing(
    opened: Mailbox, box: Path, reviewer: Agent
) -> None:
    """Repeating what was done makes no commit (K4)."""
    del reviewer
    agent = opened.agent("reviewer")
    ids = [item.id for item in agent.poll().items]
    agent.ack(ids)
    before = sorted((box / ".git" / "objects").rglob("*"))
    assert agent.ack(ids).commit is None
    assert opened.register("builder").commit is None
    assert sorted((box / ".git" / "objects").rglob("*")) == before


# What these calls cannot raise: network, refs, work trees, hooks, and writing.
_CANNOT_HAPPEN = {
    "CommitError", "GitProtocolError", "HangupException", "HookError",
    "MissingCommitError", "NoIndexPresent", "NotBlobError", "NotCommitError",
    "NotTagError", "NotTreeError", "ObjectMissing", "PackedRefsException",
    "PackInputTooLarge", "RefFormatError", "SendPackError", "SubmoduleEncountered",
    "UnexpectedCommandError", "WorkingTreeModifiedError", "WrongObjectException",
    "MaxTreeDepthExceeded",
}  # fmt: skip


def test_every_exception_of_dulwich_is_translated_or_cannot_happen() -> None:
    """A new version of it must not bring one that nobody thought of."""
    modules = (
        dulwich.errors,
        dulwich.objects,
        dulwich.pack,
        dulwich.object_store,
    )
    known = {
        found
        for module in modules
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception) and found.__module__.startswith("dulwich")
    }
    missing = {found.__name__ for found in known if not issubclass(found, UNREADABLE)}
    assert missing <= _CANNOT_HAPPEN


@pytest.mark.parametrize("ending", ["pack", "idx"])
def test_a_damaged_object_is_a_damaged_mailbox_and_never_another_answer(
    box: Path, tmp_path: Path, ending: str
) -> None:
    """Whichever byte of a pack or its index is not what it was."""
    with Mailbox.open(box) as mailbox:
        mailbox.store.housekeeping()
        expected = pending(mailbox)
    (name,) = [
        file.name for file in (box / ".git" / "objects" / "pack").glob(f"*.{ending}")
    ]
    size = (box / ".git" / "objects" / "pack" / name).stat().st_size
    answers = set()
    for number, place in enumerate(range(0, size, max(size // 60, 1))):
        copy = tmp_path / str(number)
        shutil.copytree(box, copy)
        for file in (copy / ".git" / "gitmail").glob("index*"):
            file.unlink()
        file = copy / ".git" / "objects" / "pack" / name
        file.chmod(0o644)
        data = bytearray(file.read_bytes())
        data[place] ^= 0xFF
        file.write_bytes(data)
        with Mailbox.open(copy, folds=False) as mailbox:
            try:
                assert pending(mailbox) == expected
                answers.add("right")
            except CorruptMailboxError:
                answers.add("damaged")
        shutil.rmtree(copy)
    assert "damaged" in answers


@needs_git
@pytest.mark.parametrize("damage", ["missing", "empty", "short", "garbage"])
def test_a_loose_object_that_is_damaged_is_named(
    box: Path, tmp_path: Path, damage: str
) -> None:
    """As after a power cut, and whole again when it is put back."""
    path, data = message_file("builder", ["reviewer"], "Pushed.")
    clone = Clone(box, tmp_path / "clone")
    clone.push({path: data})
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    file = box / ".git" / "objects" / tree[:2] / tree[2:]
    content = file.read_bytes()
    file.chmod(0o644)
    if damage == "missing":
        file.unlink()
    else:
        broken = {"empty": b"", "short": content[:10], "garbage": b"x" * 99}
        file.write_bytes(broken[damage])

    with Mailbox.open(box) as mailbox:
        with pytest.raises(CorruptMailboxError) as caught:
            pending(mailbox)
        assert tree in caught.value.message
        file.write_bytes(content)
        assert len(pending(mailbox)) == 4
    assert_sound(box)


def test_a_repository_says_what_it_has(box: Path) -> None:
    """Objects that are there, and none that is not."""
    repository = Repository(box / ".git")
    tip = Branch(box / ".git", box / ".git" / "gitmail").read()
    assert tip
    assert repository.has(tip)
    assert not repository.has("0" * 40)
    for wrong in ("", "HEAD", "../HEAD", "G" * 40):
        with pytest.raises(GitmailError):
            repository.blob(wrong)
    with pytest.raises(CorruptMailboxError):
        repository.tree(tip)
    repository.close()
