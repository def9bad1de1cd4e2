"""The folders of messages and notes: one is closed when it is full (DESIGN 4)."""

import re
import stat
from collections.abc import Callable, Iterator
from datetime import datetime

from gitmail.records.paths import MESSAGES, hour_folder
from gitmail.store.view import View

FOLDER_LIMIT = 200
"""Files in one folder, since each commit writes the folder's tree again."""
_LAST_PART = 999_999
_PART = re.compile(r"(?P<name>\d\d)(?:\.(?P<part>\d{3,6}))?", re.ASCII)


class Folders:
    """Picks the folder of an hour or a day that still has room.

    Args:
        root: The folder in which all of them are.
        name: Returns the folder of a time below it.
    """

    def __init__(
        self,
        view: View,
        root: str = MESSAGES,
        name: Callable[[datetime], str] = hour_folder,
    ) -> None:
        self._view = view
        self._root = root
        self._name = name
        self._counts: dict[str, tuple[int, int]] = {}

    def part(self, date: datetime) -> int:
        """Return the part of the folder in which the next file belongs."""
        part, count = self._current(self._name(date))
        is_full = count >= FOLDER_LIMIT and part < _LAST_PART
        return part + 1 if is_full else part

    def count(self, date: datetime) -> None:
        """Count one more file, in the part that `part` returns."""
        folder, picked = self._name(date), self.part(date)
        part, count = self._current(folder)
        self._counts[folder] = picked, count + 1 if picked == part else 1

    def _current(self, folder: str) -> tuple[int, int]:
        if folder not in self._counts:
            part, tree = max(self._parts(folder), default=(0, None))
            size = len(self._view.repository.tree(tree)) if tree else 0
            self._counts[folder] = part, size
        return self._counts[folder]

    def _parts(self, folder: str) -> Iterator[tuple[int, str]]:
        above, _, name = folder.rpartition("/")
        tree = self._view.repository.folder(self._view.tree, f"{self._root}/{above}")
        for key, (mode, sha) in tree.items():
            # A push may have put anything there.
            found = _PART.fullmatch(key.decode("ascii", "replace"))
            if found and found["name"] == name and stat.S_ISDIR(mode):
                yield int(found["part"] or 0), sha.hex()
