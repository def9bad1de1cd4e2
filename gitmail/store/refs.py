"""The branch: read it, and move it by compare-and-set as git's own programs do.

Git locks a ref by creating `<ref>.lock` and publishes by renaming it; ours is a hard
link to a slot. What is right rests on that lock alone, for the writer lock does not
work on every file system; it only helps to tell what a killed writer left behind.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from gitmail.errors import (
    BranchCheckedOutError,
    CorruptMailboxError,
    DiskError,
    RefLockedError,
)
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import (
    flush_folder,
    read_small,
    remove_quietly,
    replace,
    translated,
    translation,
    write_all,
)
from gitmail.store.slots import Slots

BRANCH = "gitmail"
REF = f"refs/heads/{BRANCH}"
_PATIENCE_S = 2.0
_PAUSE_S = 0.005


class Branch:
    """The ref `refs/heads/gitmail` of one repository.

    Args:
        git_dir: The repository.
        local_dir: The folder for local state, on the same file system.
    """

    def __init__(self, git_dir: Path, local_dir: Path) -> None:
        # Text, for each call uses most of them, and `Path` would take a tenth of it.
        self._git_dir = str(git_dir)
        self._ref = str(git_dir / REF)
        self._heads = str((git_dir / REF).parent)
        self._lock = f"{self._ref}.lock"
        self._packed = str(git_dir / "packed-refs")
        self._slots = Slots(str(local_dir), self._ref, self._lock)
        self.close = self._slots.close

    @property
    def watched(self) -> tuple[Path, Path]:
        """The folders in which every move of the branch shows."""
        return Path(self._heads), Path(self._git_dir)

    def read(self) -> CommitId | None:
        """Return the commit at the tip, None where the branch has none yet.

        Raises:
            CorruptMailboxError: The ref holds something else than a commit id.
        """
        value = self._loose()
        if value is None:
            # `git pack-refs` writes the packed file before it removes the loose one,
            # and a push may write a new loose one between our two looks.
            value = self._from_packed() or self._loose()
        if value is None or is_hex(value):
            return CommitId(value) if value else None
        where = os.path.dirname(self._git_dir)
        raise CorruptMailboxError(f"{REF} holds {value[:40]!r}", where)

    def move(self, old: CommitId | None, new: CommitId) -> bool:
        """Point the branch at `new` if it still points at `old`; durable on return.

        The caller holds the writer lock. A crash leaves the branch at one of the two.

        Returns:
            False where somebody else moved the branch first; nothing was changed.

        Raises:
            BranchCheckedOutError: A linked worktree would be left behind.
            RefLockedError: A running git held the ref's lock for two seconds.
            DiskError: Nothing was changed, unless the reason says that it may have.
        """
        with translated(self._ref):
            for worktree in self.checkouts():
                raise BranchCheckedOutError(worktree)
            slot = self._slots.free()
            self._acquire(slot)
            try:
                if self.read() != old:
                    return False
                _write(slot, f"{new}\n".encode())
                if not self._slots.is_locked_by(slot):  # we slept for too long
                    raise RefLockedError(self._lock)
                self._make_room()
                replace(self._lock, self._ref)  # the moment it happened
            finally:
                if self._slots.is_locked_by(slot):
                    remove_quietly(self._lock)
        try:
            flush_folder(self._heads)
        except OSError as error:
            reason = f"{error.strerror}; it may have been written all the same"
            raise DiskError(self._ref, reason) from error
        return True

    def checkouts(self) -> Iterator[str]:
        """Yield the linked worktrees that have the branch (gitrepository-layout(5))."""
        folder = f"{self._git_dir}/worktrees"
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            if read_small(f"{folder}/{name}/HEAD") == f"ref: {REF}":
                said = Path(folder, name, "gitdir").read_bytes()
                git_file = os.fsdecode(said.rstrip(b"\n"))
                if os.path.exists(git_file):  # or somebody just removed its folder
                    yield os.path.dirname(git_file)

    def _loose(self) -> str | None:
        try:
            while True:
                handle = os.open(self._ref, os.O_RDONLY)
                try:
                    value = os.read(handle, 1024).decode("ascii", "replace").strip()
                    # Two commits later the file is a slot that is written again.
                    if os.path.samestat(os.fstat(handle), os.stat(self._ref)):
                        return value
                finally:
                    os.close(handle)
        except (FileNotFoundError, IsADirectoryError):
            return None
        except OSError as error:
            raise translation(error, self._ref) from error

    def _make_room(self) -> None:
        """Remove folders of refs below this one that are gone, as git does."""
        if os.path.isdir(self._ref):
            for folder, _, _ in os.walk(self._ref, topdown=False):
                os.rmdir(folder)

    def _from_packed(self) -> str | None:
        try:
            lines = Path(self._packed).read_text("ascii", "replace").splitlines()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translation(error, self._packed) from error
        found = (line.split(" ", 1)[0] for line in lines if line.endswith(f" {REF}"))
        return next(found, None)

    def _acquire(self, slot: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                os.link(slot, self._lock)
            except FileNotFoundError:
                os.makedirs(self._heads, exist_ok=True)
            except FileExistsError:
                if self._slots.is_left_behind(slot):
                    remove_quietly(self._lock)
                    continue
            else:
                return
            if time.monotonic() > deadline:
                raise RefLockedError(self._lock)
            time.sleep(_PAUSE_S)


def _write(slot: str, data: bytes) -> None:
    handle = os.open(slot, os.O_WRONLY)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
