"""The folders of messages: an hour's is closed when it is full (DESIGN 4)."""

import re
import stat
from collections.abc import Iterator
from datetime import datetime

from gitmail.records.paths import MESSAGES, hour_folder
from gitmail.store.view import View

FOLDER_LIMIT = 200
"""Messages in one folder, since each commit writes the folder's tree again."""
_LAST_PART = 999_999
_PART = re.compile(r"(?P<hour>\d\d)(?:\.(?P<part>\d{3,6}))?", re.ASCII)


class Folders:
    """Picks the folder of an hour that still has room."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._counts: dict[str, tuple[int, int]] = {}

    def part(self, date: datetime) -> int:
        """Return the part of the hour in which the next message belongs."""
        part, count = self._current(hour_folder(date))
        is_full = count >= FOLDER_LIMIT and part < _LAST_PART
        return part + 1 if is_full else part

    def count(self, date: datetime) -> None:
        """Count one more message, in the part that `part` returns."""
        hour, picked = hour_folder(date), self.part(date)
        part, count = self._current(hour)
        self._counts[hour] = picked, count + 1 if picked == part else 1

    def _current(self, hour: str) -> tuple[int, int]:
        if hour not in self._counts:
            part, tree = max(self._parts(hour), default=(0, None))
            size = len(self._view.repository.tree(tree)) if tree else 0
            self._counts[hour] = part, size
        return self._counts[hour]

    def _parts(self, hour: str) -> Iterator[tuple[int, str]]:
        day, _, name = hour.rpartition("/")
        tree = self._view.repository.folder(self._view.tree, f"{MESSAGES}/{day}")
        for key, (mode, sha) in tree.items():
            # A push may have put anything there.
            found = _PART.fullmatch(key.decode("ascii", "replace"))
            if found and found["hour"] == name and stat.S_ISDIR(mode):
                yield int(found["part"] or 0), sha.hex()
