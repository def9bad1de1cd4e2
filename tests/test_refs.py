"""The branch: reading it and moving it by compare-and-set (DESIGN 6)."""

import gc
import os
import shutil
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import (
    BranchCheckedOutError,
    CorruptMailboxError,
    DiskError,
    DiskFullError,
    ReadOnlyError,
    RefLockedError,
)
from gitmail.store import refs, slots
from gitmail.store.creation import create_repository
from gitmail.store.refs import REF, Branch
from tests.helpers import git
from tests.mailboxes import tip
from tests.processes import (
    assert_sound,
    make_mailbox_with_mail,
    needs_git,
    posix_only,
)

ONE, TWO, THREE = ("1" * 40, "2" * 40, "3" * 40)


@pytest.fixture(name="git_dir")
def _git_dir(tmp_path: Path) -> Path:
    """Return an empty repository."""
    create_repository(tmp_path)
    return tmp_path / ".git"


@pytest.fixture(name="branch")
def _branch(git_dir: Path) -> Branch:
    """Return its branch, which has no commit yet."""
    return Branch(git_dir, git_dir / "gitmail")


def locks(git_dir: Path) -> list[Path]:
    """Return the locks on the branch."""
    return list((git_dir / REF).parent.glob("*.lock"))


def test_a_branch_without_commits_is_nothing(branch: Branch) -> None:
    """As in a repository that was just made."""
    assert branch.read() is None


def test_a_branch_moves_from_what_it_is(branch: Branch, git_dir: Path) -> None:
    """From nothing, and then from commit to commit."""
    for old, new in ((None, ONE), (ONE, TWO), (TWO, THREE), (THREE, ONE)):
        assert branch.move(old, new)
        assert branch.read() == new
        assert (git_dir / REF).read_text("ascii") == f"{new}\n"
        assert locks(git_dir) == []


def test_a_branch_does_not_move_from_what_it_is_not(
    branch: Branch, git_dir: Path
) -> None:
    """Somebody else was quicker, and nothing was changed."""
    assert not branch.move(ONE, TWO)
    assert branch.read() is None
    assert branch.move(None, ONE)
    for old in (None, TWO):
        assert not branch.move(old, THREE)
        assert branch.read() == ONE
        assert locks(git_dir) == []


@needs_git
def test_git_and_gitmail_move_the_branch_in_turns(
    branch: Branch, git_dir: Path
) -> None:
    """Whether it stands in a file of its own or with others (DESIGN 6)."""
    commits = [_commit(git_dir, str(number)) for number in range(8)]
    known = None
    for number, commit in enumerate(commits):
        if number % 2:
            assert branch.move(known, commit)
        else:
            git(git_dir, "update-ref", REF, commit, known or "")
        assert branch.read() == git(git_dir, "rev-parse", REF).strip() == commit
        if number % 3 == 0:
            git(git_dir, "pack-refs", "--all")
            assert not (git_dir / REF).exists()
        assert branch.read() == commit
        assert not branch.move(commits[number - 1], commits[0])
        known = commit


@needs_git
def test_a_packed_branch_is_found_among_others(branch: Branch, git_dir: Path) -> None:
    """Names that only end like it are others, and so are tags' targets."""
    commit, other = _commit(git_dir, "one"), _commit(git_dir, "two")
    git(git_dir, "update-ref", f"refs/x/{REF}", other)
    git(git_dir, "update-ref", f"{REF}-more", other)
    git(git_dir, "tag", "-a", "-m", "A tag", "tag", other)
    git(git_dir, "pack-refs", "--all")
    assert branch.read() is None
    git(git_dir, "update-ref", REF, commit)
    git(git_dir, "pack-refs", "--all")
    assert branch.read() == commit


def test_a_lock_of_a_running_git_is_waited_for_and_left_alone(
    branch: Branch, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was changed; the path says what is in the way."""
    monkeypatch.setattr(refs, "_PATIENCE_S", 0.02)
    lock = git_dir / f"{REF}.lock"
    for content in ("", f"{TWO}\n", f"{ONE}\n"):
        lock.write_text(content, "ascii")
        with pytest.raises(RefLockedError) as caught:
            branch.move(None, ONE)
        assert caught.value.details == {"path": str(lock)}
        assert lock.read_text("ascii") == content
        assert branch.read() is None
    lock.unlink()
    assert branch.move(None, ONE)


def test_a_lock_that_is_released_while_we_wait_is_taken(
    branch: Branch, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `git push` holds it for milliseconds."""
    lock = git_dir / f"{REF}.lock"
    lock.touch()
    monkeypatch.setattr("time.sleep", lambda _: lock.unlink(missing_ok=True))
    assert branch.move(None, ONE)


def own_slots(git_dir: Path) -> list[Path]:
    """Return the slots of this process."""
    return sorted((git_dir / "gitmail").glob(f"ref-*-{os.getpid()}-*"))


def slot_of(
    git_dir: Path, *, host: str = slots._host(), pid: int, instance: str
) -> Path:
    """Make a slot of another process."""
    slot = git_dir / "gitmail" / f"ref-{host}-{pid}-{instance}-0a"
    slot.write_text(f"{THREE}\n", "ascii")
    return slot


@pytest.fixture(name="dead")
def _dead() -> int:
    """Return the id of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_the_lock_of_a_killed_writer_is_taken_away(
    branch: Branch, git_dir: Path, dead: int
) -> None:
    """It is another name for a slot of a process that is no more, and that goes too."""
    slot = slot_of(git_dir, pid=dead, instance="0123")
    os.link(slot, git_dir / f"{REF}.lock")
    assert branch.move(None, ONE)
    assert branch.read() == ONE
    assert locks(git_dir) == []
    assert Branch(git_dir, git_dir / "gitmail").move(ONE, TWO)
    assert not slot.exists()


def test_the_lock_of_an_earlier_process_with_our_number_is_taken_away(
    branch: Branch, git_dir: Path
) -> None:
    """In a container the first process has the same number each time."""
    slot = slot_of(git_dir, pid=os.getpid(), instance="0123")
    os.link(slot, git_dir / f"{REF}.lock")
    assert branch.move(None, ONE)


@pytest.mark.parametrize("who", ["another process", "another host"])
def test_the_lock_of_a_living_writer_is_waited_for(
    branch: Branch, git_dir: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """Even if it holds no writer lock, as where that does not work."""
    monkeypatch.setattr(refs, "_PATIENCE_S", 0.02)
    host = slots._host() if who == "another process" else "12345678"
    slot = slot_of(git_dir, host=host, pid=os.getppid(), instance="0123")
    lock = git_dir / f"{REF}.lock"
    os.link(slot, lock)
    with pytest.raises(RefLockedError):
        branch.move(None, ONE)
    assert lock.samefile(slot)
    assert lock.read_text("ascii") == f"{THREE}\n"

    # Nobody holds it for so long: the number was given to somebody else.
    monkeypatch.setattr(slots, "_LONGEST_S", -1)
    assert branch.move(None, ONE)
    assert slot.exists()


def test_slots_are_removed_with_their_branch(git_dir: Path) -> None:
    """And those that nobody closed with their process."""
    closed, forgotten = (Branch(git_dir, git_dir / "gitmail") for _ in range(2))
    assert closed.move(None, ONE)
    assert closed.move(ONE, TWO)
    assert forgotten.move(TWO, THREE)
    assert len(own_slots(git_dir)) == 3
    closed.close()
    assert len(own_slots(git_dir)) == 1
    del forgotten
    gc.collect()
    assert own_slots(git_dir) == []
    assert Branch(git_dir, git_dir / "gitmail").read() == THREE


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "goes on"])
def test_a_lock_that_could_not_be_removed_holds_nobody_up(
    branch: Branch, git_dir: Path, monkeypatch: pytest.MonkeyPatch, *, is_closed: bool
) -> None:
    """A disk that became read-only kept it; without its slot it looks like git's."""
    assert branch.move(None, ONE)
    assert branch.move(ONE, TWO)

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        patch.setattr(os, "unlink", fail)
        with pytest.raises(ReadOnlyError):
            branch.move(TWO, THREE)
    assert len(locks(git_dir)) == 1
    if is_closed:
        branch.close()
        assert locks(git_dir) == []
        branch = Branch(git_dir, git_dir / "gitmail")
    assert branch.move(TWO, THREE)
    assert locks(git_dir) == []


def test_who_slept_for_so_long_that_the_lock_was_taken_away_moves_nothing(
    branch: Branch, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock that is there now is another's."""
    lock = git_dir / f"{REF}.lock"
    plain = refs._write

    def write(slot: str, data: bytes) -> None:
        plain(slot, data)
        lock.unlink()
        lock.write_text(f"{TWO}\n", "ascii")

    with monkeypatch.context() as patch:
        patch.setattr(refs, "_write", write)
        with pytest.raises(RefLockedError):
            branch.move(None, ONE)
    assert branch.read() is None
    assert lock.read_text("ascii") == f"{TWO}\n"
    lock.unlink()
    assert branch.move(None, ONE)


@pytest.mark.parametrize("left", ["", "2" * 20, "2" * 40 + "\n" + "x" * 2000])
def test_what_was_left_half_written_is_never_read(
    branch: Branch, git_dir: Path, left: str
) -> None:
    """It stands in a file that is not the branch yet."""
    assert branch.move(None, ONE)
    assert branch.move(ONE, TWO)
    (slot,) = (s for s in own_slots(git_dir) if not s.samefile(git_dir / REF))
    slot.write_text(left, "ascii")
    assert branch.read() == TWO
    assert branch.move(TWO, THREE)
    assert branch.read() == THREE


@posix_only
def test_a_copy_with_hard_links_keeps_its_branch(branch: Branch, git_dir: Path) -> None:
    """`cp -al` and some backups share files; what is shared never changes."""
    assert branch.move(None, ONE)
    assert branch.move(ONE, TWO)
    kept = {}
    for file in (git_dir / REF, *own_slots(git_dir)):
        copy = git_dir / f"copy of {file.name}"
        os.link(file, copy)
        kept[copy] = copy.read_bytes()
    old = TWO
    for number in range(6):
        new = f"{number:040x}"
        assert branch.move(old, new)
        old = new
    assert {copy: copy.read_bytes() for copy in kept} == kept


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(28, "No space"), DiskFullError),
        (OSError(30, "Read-only"), ReadOnlyError),
    ],
)
@pytest.mark.parametrize("call", ["link", "replace", "fsync"])
def test_a_move_that_fails_leaves_no_lock(
    branch: Branch,
    git_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: OSError,
    expected: type[Exception],
) -> None:
    """The branch is where it was, and the next move works at once."""
    assert branch.move(None, ONE)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(expected):
            branch.move(ONE, TWO)
    assert branch.read() == ONE
    assert locks(git_dir) == []
    assert branch.move(ONE, TWO)


def test_a_failure_behind_the_move_says_that_it_may_have_happened(
    branch: Branch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk did not confirm it (I5)."""

    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(refs, "flush_folder", fail)
    with pytest.raises(DiskError) as caught:
        branch.move(None, ONE)
    assert "may have been written" in caught.value.message
    assert branch.read() == ONE


@pytest.mark.parametrize(
    "content", ["", "\n", "ref: refs/heads/other\n", "1" * 39, "G" * 40, "1" * 41]
)
def test_a_branch_that_holds_no_commit_is_damage(
    branch: Branch, git_dir: Path, content: str
) -> None:
    """It is not taken for an older one that git keeps elsewhere."""
    (git_dir / "packed-refs").write_text(f"{TWO} {REF}\n", "ascii")
    (git_dir / REF).write_text(content, "ascii")
    with pytest.raises(CorruptMailboxError):
        branch.read()
    with pytest.raises(CorruptMailboxError):
        branch.move(TWO, THREE)
    assert locks(git_dir) == []


def test_the_folder_of_branches_is_made_anew(branch: Branch, git_dir: Path) -> None:
    """Some tools remove empty folders."""
    (git_dir / REF).parent.rmdir()
    assert branch.read() is None
    assert branch.move(None, ONE)


def test_a_reader_sees_no_commit_that_was_not_the_tip(
    branch: Branch, git_dir: Path
) -> None:
    """And never an older one after a newer, however often the branch moves."""
    ids = [f"{number:040x}" for number in range(400)]
    assert branch.move(None, ids[0])
    stop = threading.Event()
    seen: list[list[int]] = [[], []]

    def look(numbers: list[int]) -> None:
        own = Branch(git_dir, git_dir / "gitmail")
        while not stop.is_set() or not numbers:
            numbers.append(int(own.read() or "0", 16))

    readers = [threading.Thread(target=look, args=(numbers,)) for numbers in seen]
    for reader in readers:
        reader.start()
    for old, new in pairwise(ids):
        assert not branch.move("f" * 40, "e" * 40)
        assert branch.move(old, new)
    stop.set()
    for reader in readers:
        reader.join()

    for numbers in seen:
        assert numbers == sorted(numbers)
        assert numbers[-1] < len(ids)


def _commit(git_dir: Path, message: str) -> str:
    tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    git(git_dir, "hash-object", "-w", "-t", "tree", os.devnull)
    return git(git_dir, "commit-tree", tree, "-m", message).strip()


@needs_git
def test_a_branch_that_a_worktree_has_is_not_moved_under_it(tmp_path: Path) -> None:
    """Its next commit would undo all mail since; the error's command lets it go."""
    box = make_mailbox_with_mail(tmp_path / ".gitmail")
    work = tmp_path / "a folder"
    git(box, "worktree", "add", "-q", str(work), "gitmail")
    with Mailbox.open(box) as mailbox:
        builder, before = mailbox.agent("builder"), tip(mailbox)
        with pytest.raises(BranchCheckedOutError) as caught:
            builder.send(to="reviewer", body="Not yet.")

        (found,) = mailbox.doctor(repair=True).findings
        assert found.advice == caught.value.hint
        assert caught.value.details["path"] == str(work)
        assert tip(mailbox) == before
        assert mailbox.agent("reviewer").poll().items
        assert caught.value.hint.endswith(f"git -C '{work}' switch --detach")
        git(work, "switch", "-q", "--detach")
        builder.send(to="reviewer", body="Sent.")
        git(work, "switch", "-q", "gitmail")
        shutil.rmtree(work)  # git remembers it until it is pruned
        builder.send(to="reviewer", body="Sent, too.")
    assert_sound(box)


def test_empty_folders_in_the_refs_place_are_no_ref(
    branch: Branch, git_dir: Path
) -> None:
    """Git leaves them where refs below were deleted; they make room for the branch."""
    (git_dir / REF / "below" / "it").mkdir(parents=True)
    (git_dir / "packed-refs").write_text(f"{ONE} {REF}\n", "ascii")

    assert branch.read() == ONE
    assert branch.move(ONE, TWO)
    assert branch.read() == TWO
    assert (git_dir / REF).read_text("ascii") == f"{TWO}\n"


def test_a_folder_with_a_ref_in_the_refs_place_is_left(
    branch: Branch, git_dir: Path
) -> None:
    """Whose ref it is would lose it."""
    (git_dir / REF).mkdir(parents=True)
    (git_dir / REF / "below").write_text(f"{ONE}\n", "ascii")
    with pytest.raises(DiskError):
        branch.move(None, TWO)

    assert (git_dir / REF / "below").read_text("ascii") == f"{ONE}\n"
    assert branch.read() is None
