"""Whether somebody is likely to read soon, and who holds a name."""

import threading
from datetime import datetime, timedelta
from pathlib import Path

from gitmail.errors import NameInUseError
from gitmail.mailbox.lookup import Member
from gitmail.mailbox.values import Availability
from gitmail.records.names import AgentName
from gitmail.store.lock import Lock

ACTIVE_FOR = timedelta(hours=2)
"""How long after its last commit an agent counts as active."""
_PATIENCE_S = 0.2  # a look at a lock holds it for an instant


class Liveness:
    """Which names are held by a running server of this machine (DESIGN 9).

    A held name is an operating system's lock, so a killed server holds nothing.

    Args:
        folder: The folder of the lock files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[AgentName, Lock] = {}
        self._mutex = threading.Lock()

    def hold(self, name: AgentName, *, take_over: bool = False) -> None:
        """Hold a name until `release` or the end of the process.

        Args:
            take_over: Go on without the lock where another server has it.

        Raises:
            NameInUseError: Another server holds it.
        """
        with self._mutex:
            if name in self._held:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = Lock(self._folder / f"{name}.lock")
            if lock.take(_PATIENCE_S):
                self._held[name] = lock
            elif not take_over:
                raise NameInUseError(name)

    def release(self) -> None:
        """Let go of all names."""
        with self._mutex:
            for lock in self._held.values():
                lock.free()
            self._held.clear()

    def is_live(self, name: str) -> bool:
        """Tell whether a running server holds a name."""
        with self._mutex:
            if name in self._held:
                return True
            file = self._folder / f"{name}.lock"
            if not file.exists():
                return False
            lock = Lock(file)
            if lock.take():
                lock.free()
                return False
            return True


def availability(member: Member | None, now: datetime, live: Liveness) -> Availability:
    """Return how likely an agent is to read soon (CAPABILITIES S2)."""
    if member is None:
        return Availability.UNKNOWN
    if member.profile.is_retired:
        return Availability.RETIRED
    if live.is_live(member.profile.name):
        return Availability.ACTIVE
    if member.last_seen is None:
        return Availability.UNKNOWN
    recent = now - member.last_seen < ACTIVE_FOR
    return Availability.ACTIVE if recent else Availability.IDLE
