"""Locks between processes and between threads of one; owns filelock.

The operating system frees them when their holder dies, so none is ever stale. They
save work; what is right rests on the branch's compare-and-set (DESIGN 6).
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.errors import LockTimeoutError
from gitmail.store.disk import translated

if TYPE_CHECKING:
    from filelock import BaseFileLock

logger = logging.getLogger("gitmail")

_POLL_S = 0.002


class Lock:
    """A lock file that one thread of one process holds at a time.

    Args:
        path: The lock file; it is made when first needed and never removed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread_lock = threading.Lock()
        self._file_lock: BaseFileLock | None = None

    @contextmanager
    def held(self, timeout_s: float) -> Iterator[None]:
        """Hold the lock for the block.

        Raises:
            LockTimeoutError: Somebody else held it for that long.
        """
        if not self.take(timeout_s):
            raise LockTimeoutError(str(self._path), timeout_s)
        try:
            yield
        finally:
            self.free()

    def take(self, timeout_s: float = 0) -> bool:
        """Try to hold the lock until `free` is called, and tell whether it worked."""
        import filelock  # noqa: PLC0415 - it imports asyncio, 40 ms that reading saves

        deadline = time.monotonic() + timeout_s
        if not self._thread_lock.acquire(timeout=max(timeout_s, 0)):
            return False
        try:
            if self._file_lock is None:
                # Removing the file on release would let two processes hold "the" lock.
                self._file_lock = filelock.FileLock(
                    self._path,
                    thread_local=False,
                    fallback_to_soft=False,
                    preserve_lock_file=True,
                )
            left_s = max(deadline - time.monotonic(), 0)
            self._file_lock.acquire(timeout=left_s, poll_interval=_POLL_S)
        except filelock.Timeout:  # an OSError too, but no fault of the disk
            self._thread_lock.release()
            return False
        except BaseException:
            self._thread_lock.release()
            with translated(self._path):
                raise
        return True

    def free(self) -> None:
        """Let the lock go."""
        try:
            if self._file_lock is not None:
                try:
                    self._file_lock.release()
                except OSError as error:
                    # What was done under the lock has been done, so no error of it.
                    logger.warning("unlocking %s again: %s", self._path, error)
                    self._file_lock.release()
        finally:
            self._thread_lock.release()
