"""The files through which the branch is moved: two for each process, in turns.

A writer locks the branch by a hard link to a slot of its own, writes the new commit
into it, and renames the link over the branch. The slot's name says whose it is. So the
lock that a killed writer left can be told from one that a running git or gitmail
holds, even where the writer lock does not work, as on some network file systems. And
no commit makes or frees a file: where that was done many times in the last seconds,
ext4 takes 0.2 to 3 ms for it, and 0.03 ms so.

A slot is written in place, so never one that has a second name: that would change the
branch itself, or a copy that somebody made of the mailbox with hard links.
"""

import hashlib
import os
import socket
import weakref
from contextlib import suppress
from itertools import count
from uuid import uuid4

from gitmail.store.disk import remove_quietly

_PREFIX = "ref-"
_SIZE = 41  # of a commit id and a line end, which replace one another in place
_LONGEST_S = 60.0  # longer than anybody holds the lock
_PROCESS = uuid4().hex[:8]
_NUMBERS = count()


class Slots:
    """The slots of one branch and process, and what can be told of those of others.

    Args:
        folder: The folder of everybody's slots, on the branch's file system.
        ref: The branch's file.
        lock: The lock on it.
    """

    def __init__(self, folder: str, ref: str, lock: str) -> None:
        self._folder = folder
        self._ref = ref
        self._lock = lock
        self._own: list[str] = []
        self.close = weakref.finalize(self, _remove, self._own, lock)

    def free(self) -> str:
        """Return the path of a slot that may be written; the other may be the ref."""
        if not self._own:
            self._remove_dead()
            owner = f"{_host()}-{os.getpid()}-{_PROCESS}"
            name = f"{self._folder}/{_PREFIX}{owner}-{next(_NUMBERS)}"
            self._own += [f"{name}a", f"{name}b"]
        for slot in self._own:
            if self.is_locked_by(slot):  # a disk that failed kept it there
                remove_quietly(self._lock)
            found = _stat(slot)
            if found and found.st_nlink == 1 and found.st_size <= _SIZE:
                return slot
        slot = next(slot for slot in self._own if not _is_same(slot, self._ref))
        remove_quietly(slot)
        os.close(os.open(slot, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        return slot

    def is_locked_by(self, slot: str) -> bool:
        """Tell whether the lock is a link to a slot."""
        return _is_same(self._lock, slot)

    def is_left_behind(self, slot: str) -> bool:
        """Tell whether the lock is that of a gitmail which is no more.

        The caller holds the writer lock.

        Args:
            slot: A free slot, by which the file system tells its time.
        """
        for owner, path in self._of_everybody():
            if self.is_locked_by(path):
                os.utime(slot)
                now, found = _stat(slot), _stat(self._lock)
                is_old = now and found and now.st_mtime - found.st_ctime > _LONGEST_S
                return bool(is_old) or path in self._own or not is_alive(owner)
        return False  # git's

    def _remove_dead(self) -> None:
        for owner, path in self._of_everybody():
            # Without its slot the lock would look like git's.
            if not is_alive(owner) and not self.is_locked_by(path):
                remove_quietly(path)

    def _of_everybody(self) -> list[tuple[str, str]]:
        """Return owner and path of each slot."""
        return [
            (name.removeprefix(_PREFIX).rpartition("-")[0], f"{self._folder}/{name}")
            for name in os.listdir(self._folder)
            if name.startswith(_PREFIX)
        ]


def _host() -> str:
    name = socket.gethostname().encode("utf-8", "replace")
    return hashlib.sha256(name).hexdigest()[:8]


def is_alive(owner: str) -> bool:
    """Tell whether the process that a slot names may still be at work."""
    host, _, process = owner.partition("-")
    pid, _, token = process.partition("-")
    if host != _host():
        return True  # who knows
    if os.name == "nt" or not pid.isdecimal() or int(pid) == os.getpid():
        # Where no process can be asked for, the writer lock, which we hold, tells.
        return token == _PROCESS
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove(slots: list[str], lock: str) -> None:
    with suppress(OSError):  # whoever writes next removes what is left
        for slot in slots:
            if f"-{os.getpid()}-" in slot:  # and not those of who forked us
                if _is_same(lock, slot):  # a disk that failed kept it there
                    remove_quietly(lock)
                remove_quietly(slot)
    slots.clear()


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_same(path: str, other: str) -> bool:
    one = _stat(path)
    two = _stat(other) if one else None
    return bool(one and two and os.path.samestat(one, two))
