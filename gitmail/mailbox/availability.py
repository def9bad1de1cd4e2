"""Whether somebody is likely to read soon, and who holds a name."""

import threading
from datetime import datetime, timedelta
from pathlib import Path

from gitmail.errors import NameInUseError
from gitmail.mailbox.lookup import Member
from gitmail.mailbox.values import Availability
from gitmail.records.names import AgentName
from gitmail.store.disk import read_small, replace, translated
from gitmail.store.lock import Lock

ACTIVE_FOR = timedelta(hours=2)
"""How long after its last commit an agent counts as active."""
_PATIENCE_S = 0.2  # a look at a lock holds it for an instant


class Liveness:
    """Which names are held by a running server of this machine (DESIGN 9).

    A held name is an operating system's lock, so a killed server holds nothing. A name
    has several locks, and a file that says which of them counts: who takes a name over
    takes a free lock and makes that one count.

    Args:
        folder: The folder of the lock files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[AgentName, tuple[int, Lock]] = {}
        self._mutex = threading.Lock()

    def hold(self, name: AgentName, *, take_over: bool = False) -> None:
        """Hold a name until `release`, the end of the process, or a take-over.

        Args:
            take_over: Take it from the server that has it.

        Raises:
            NameInUseError: Another server holds it.
            StorageError: The lock cannot be written.
        """
        with self._mutex:
            place = self._place(name)
            if self._has(name, place):
                return
            self._let_go(name)
            with translated(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
            lock = Lock(self._file(name, place))
            if lock.take(_PATIENCE_S):
                self._held[name] = place, lock
            elif take_over:
                self._take_over(name)
            else:
                raise NameInUseError(name)

    def holds(self, name: AgentName) -> bool:
        """Tell whether this process holds a name and nobody has taken it over."""
        with self._mutex:
            return self._has(name, self._place(name))

    def release(self, name: AgentName | None = None) -> None:
        """Let go of a name, or of all names, as far as they are held here."""
        with self._mutex:
            for each in [*self._held] if name is None else [name]:
                self._let_go(each)

    def is_live(self, name: str) -> bool:
        """Tell whether a running server holds a name."""
        with self._mutex:
            if not self._file(name, 0).exists():  # nobody ever held it
                return False
            place = self._place(name)
            if self._has(name, place):
                return True
            lock = Lock(self._file(name, place))
            if lock.take():
                lock.free()
                return False
            return True

    def _has(self, name: str, place: int) -> bool:
        held = self._held.get(AgentName(name))
        return held is not None and held[0] == place

    def _let_go(self, name: AgentName) -> None:
        if name in self._held:
            self._held.pop(name)[1].free()

    def _take_over(self, name: AgentName) -> None:
        place = 0
        while not (lock := Lock(self._file(name, place))).take():
            place += 1
        self._held[name] = place, lock
        file = self._folder / f"{name}+"
        with translated(file):
            draft = file.with_name(f"{name}+{place}")
            draft.write_text(str(place), "ascii")
            replace(draft, file)

    def _place(self, name: str) -> int:
        """Return the number of the lock that counts."""
        return int(read_small(self._folder / f"{name}+") or 0)

    def _file(self, name: str, place: int) -> Path:
        return self._folder / (f"{name}+{place}.lock" if place else f"{name}.lock")


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
