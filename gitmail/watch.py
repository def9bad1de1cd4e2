"""Waiting until the branch may have moved; owns watchfiles.

A watch only shortens a poll: whoever is woken looks at the mailbox, and looks again now
and then in any case, since network and container mounts deliver no events (DESIGN 8).
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

logger = logging.getLogger("gitmail")

# Two milliseconds a step cost 1.6 % of a core while waiting; one costs twice that.
_STEP_MS = 2
_DEBOUNCE_MS = 10
_TURN_MS = 200
BLIND_RESCAN_S = 0.1
"""How often to look where no watch can be had."""
RESCAN_S = 2.0
"""How often to look in any case."""


class Watch:
    """One watch on some folders, shared by all threads that wait.

    It runs only while somebody waits.

    Args:
        folders: The folders; what is below them is not watched.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [str(folder) for folder in folders]
        self._changed = threading.Condition()
        self._count = 0
        self._waiters = 0
        self._thread: threading.Thread | None = None
        self._rescan_s = RESCAN_S

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Watch for the block; what happens from its start on is noticed."""
        with self._changed:
            self._waiters += 1
            if self._thread is None:
                self._start()
        try:
            yield
        finally:
            with self._changed:
                self._waiters -= 1

    def position(self) -> int:
        """Return a number that rises with each change; look at it before looking."""
        with self._changed:
            return self._count

    def wait(self, position: int, timeout_s: float) -> None:
        """Sleep until a change after `position`, at most for a rescan's time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._count != position, min(timeout_s, self._rescan_s)
            )

    def wake(self) -> None:
        """Wake all who wait, so that they look for themselves."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def _start(self) -> None:
        notify = self._notifier()
        if notify is None:
            self._rescan_s = BLIND_RESCAN_S
            return
        self._rescan_s = RESCAN_S
        self._thread = threading.Thread(
            target=self._run, args=(notify,), name="gitmail-watch", daemon=True
        )
        self._thread.start()

    def _notifier(self) -> "RustNotify | None":
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - 50 ms

        with suppress(OSError, RuntimeError):
            return RustNotify(
                self._folders,
                debug=False,
                force_polling=False,
                poll_delay_ms=300,
                recursive=False,
                ignore_permission_denied=True,
            )
        return None  # out of watches, or a file system that has none

    def _run(self, notify: "RustNotify") -> None:
        try:
            while True:
                changes = notify.watch(_DEBOUNCE_MS, _STEP_MS, _TURN_MS, None)
                with self._changed:
                    if not isinstance(changes, str):
                        self._count += 1
                        self._changed.notify_all()
                    if not self._waiters:
                        self._thread = None  # the next to wait starts another
                        return
        except (OSError, RuntimeError):
            logger.warning("the watch on %s ended", self._folders, exc_info=True)
            with self._changed:
                self._thread, self._rescan_s = None, BLIND_RESCAN_S
                self._changed.notify_all()
        finally:
            notify.close()
