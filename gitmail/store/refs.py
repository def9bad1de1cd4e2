"""The branch: read it, and move it by compare-and-set as git's own programs do.

Git locks a ref by creating `<ref>.lock` and publishes by renaming it. Ours is created
as a hard link to a file of gitmail's own, so that the lock a killed writer left can be
told from one that a running git holds, and is taken away by the next writer.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from gitmail.errors import CorruptMailboxError, RefLockedError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import (
    flush_folder,
    read_small,
    remove_quietly,
    translated,
    write_durably,
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
        self._claim = str(local_dir / "ref.claim")

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
            self._make_claim(f"{new}\n".encode())
            try:
                self._acquire()
                if self.read() != old:
                    remove_quietly(self._lock)
                    return False
                os.replace(self._lock, self._ref)  # the moment it happened
            finally:
                remove_quietly(self._claim)
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

    def _make_claim(self, data: bytes) -> None:
        try:
            write_durably(self._claim, data, 0o644)
        except FileExistsError:
            # A killed writer left it, perhaps with the lock: the writer lock, which
            # we hold, tells that it is at work no more.
            with suppress(FileNotFoundError):
                if os.path.samefile(self._claim, self._lock):
                    remove_quietly(self._lock)
            remove_quietly(self._claim)
            write_durably(self._claim, data, 0o644)

    def _acquire(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                os.link(self._claim, self._lock)
            except FileNotFoundError:
                os.makedirs(self._heads)
            except FileExistsError:
                if time.monotonic() > deadline:
                    raise RefLockedError(self._lock) from None
                time.sleep(_PAUSE_S)
            else:
                return
