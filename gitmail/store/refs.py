"""The branch: read it, and move it by compare-and-set as git's own programs do.

Git locks a ref by creating `<ref>.lock` and publishes by renaming it. Ours is a hard
link to one of two slots, files of gitmail's own that take turns. So the lock that a
killed writer left can be told from one that a running git holds, and is taken away by
the next writer. And no commit makes or frees a file: where that was done many times in
the last seconds, ext4 takes 0.2 to 3 ms for it, and 0.03 ms so.

A slot is written in place, so never one that has a second name: that would change the
branch itself, or a copy that somebody made of the mailbox with hard links.
"""

import os
import time
from pathlib import Path

from gitmail.errors import CorruptMailboxError, DiskError, RefLockedError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import (
    flush_folder,
    remove_quietly,
    replace,
    translated,
    translation,
    write_all,
)

BRANCH = "gitmail"
REF = f"refs/heads/{BRANCH}"
_SIZE = 41  # of a commit id and a line end, which replace one another in place
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
        value = self._loose()
        if value is None:
            # `git pack-refs` writes the packed file before it removes the loose one,
            # and a push may write a new loose one between our two looks.
            value = self._from_packed() or self._loose()
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
            DiskError: Nothing was changed, unless the reason says that it may have.
        """
        with translated(self._ref):
            slot = self._free_slot()
            self._acquire(slot)
            try:
                if self.read() != old:
                    return False
                _write(slot, f"{new}\n".encode())
                replace(self._lock, self._ref)  # the moment it happened
            finally:
                self._drop_own_lock()
        try:
            flush_folder(self._heads)
        except OSError as error:
            reason = f"{error.strerror}; it may have been written all the same"
            raise DiskError(self._ref, reason) from error
        return True

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
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translation(error, self._ref) from error

    def _from_packed(self) -> str | None:
        try:
            lines = Path(self._packed).read_text("ascii", "replace").splitlines()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise translation(error, self._packed) from error
        found = (line.split(" ", 1)[0] for line in lines if line.endswith(f" {REF}"))
        return next(found, None)

    def _free_slot(self) -> str:
        """Return a slot that has no other name; the other one may be the ref."""
        self._drop_own_lock()  # a killed writer's: we hold the writer lock
        for slot in self._slots:
            found = _stat(slot)
            if found and found.st_nlink == 1 and found.st_size <= _SIZE:
                return slot
        ref = _stat(self._ref)
        slot = next(s for s in self._slots if not _is_same(_stat(s), ref))
        remove_quietly(slot)
        _write(slot, b"")
        return slot

    def _acquire(self, slot: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                os.link(slot, self._lock)
            except FileNotFoundError:
                os.makedirs(self._heads, exist_ok=True)
            except FileExistsError:
                pass
            else:
                return
            if time.monotonic() > deadline:
                raise RefLockedError(self._lock)
            time.sleep(_PAUSE_S)

    def _drop_own_lock(self) -> None:
        lock = _stat(self._lock)
        if lock and any(_is_same(_stat(slot), lock) for slot in self._slots):
            remove_quietly(self._lock)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_same(a: os.stat_result | None, b: os.stat_result | None) -> bool:
    return bool(a and b and os.path.samestat(a, b))


def _write(slot: str, data: bytes) -> None:
    handle = os.open(slot, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
