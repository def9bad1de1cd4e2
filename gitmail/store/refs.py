"""The branch: read it, and move it by compare-and-set as git's own programs do.

Git locks a ref by creating `<ref>.lock` and publishes by renaming it. Ours is a hard
link to one of two slots, files of gitmail's own that take turns. So the lock that a
killed writer left can be told from one that a running git holds, and is taken away by
the next writer. And no commit makes or frees a file: where that was done many times in
the last seconds, ext4 takes 0.2 to 3 ms for it, and 0.03 ms so.
"""

import os
import time
from pathlib import Path

from gitmail.errors import CorruptMailboxError, RefLockedError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import (
    flush_folder,
    read_small,
    remove_quietly,
    translated,
    write_all,
)

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
        self._slots = (str(local_dir / "ref.0"), str(local_dir / "ref.1"))

    @property
    def watched(self) -> tuple[Path, Path]:
        """The folders in which every move of the branch shows."""
        return Path(self._heads), Path(self._git_dir)

    def read(self) -> CommitId | None:
        """Return the commit at the tip, None where the branch has none yet.

        Raises:
            CorruptMailboxError: The ref holds something else than a commit id.
        """
        # `git pack-refs` writes the packed file before it removes the loose one, and
        # a push may write a new loose one between our two looks.
        value = self._loose() or self._from_packed() or self._loose()
        if value is None or is_hex(value):
            return CommitId(value) if value else None
        raise CorruptMailboxError(f"{REF} holds {value[:40]!r}", self._git_dir)

    def move(self, old: CommitId | None, new: CommitId) -> bool:
        """Point the branch at `new` if it still points at `old`; durable on return.

        The caller holds the writer lock. A crash leaves the branch at one of the two.

        Returns:
            False where somebody else moved the branch first; nothing was changed.

        Raises:
            RefLockedError: A running git held the ref's lock for two seconds.
        """
        with translated(self._ref):
            slot = self._write_slot(f"{new}\n".encode())
            self._acquire(slot)
            if self.read() != old:
                remove_quietly(self._lock)
                return False
            os.replace(self._lock, self._ref)  # the moment it happened
            flush_folder(self._heads)
            return True

    def _loose(self) -> str | None:
        return read_small(self._ref) or None

    def _from_packed(self) -> str | None:
        try:
            lines = Path(self._packed).read_text("ascii", "replace").splitlines()
        except FileNotFoundError:
            return None
        found = (line.split(" ", 1)[0] for line in lines if line.endswith(f" {REF}"))
        return next(found, None)

    def _write_slot(self, data: bytes) -> str:
        """Write the slot that is not the ref itself, and return its path."""
        current = _inode(self._ref)
        slot = next(s for s in self._slots if current is None or _inode(s) != current)
        handle = os.open(slot, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        return slot

    def _acquire(self, slot: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                os.link(slot, self._lock)
            except FileNotFoundError:
                os.makedirs(self._heads)
            except FileExistsError:
                if _inode(self._lock) in map(_inode, self._slots):
                    # A killed writer's: the writer lock, which we hold, tells so.
                    remove_quietly(self._lock)
                elif time.monotonic() > deadline:
                    raise RefLockedError(self._lock) from None
                else:
                    time.sleep(_PAUSE_S)
            else:
                return


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None
