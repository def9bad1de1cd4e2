"""The part of the index that is about memory: what is there, and how it came about.

The tables belong to one `Index`, which alone opens and commits.
"""

import sqlite3
from collections.abc import Callable, Iterable
from unicodedata import normalize

from gitmail.records.keys import key_of
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.times import to_microseconds
from gitmail.store.numbers import scope_number, text_number
from gitmail.store.words import WORD

MemoryChange = tuple[str, str | None]
"""A path below `memory/`, and the blob there now, None where it was removed."""


class MemoryIndex:
    """Fills the tables `memory`, `memory_tag`, `memory_words` and `revision`.

    Args:
        database: The index's connection.
        number: Returns the number of a name, a new one where it is new.
    """

    def __init__(
        self, database: sqlite3.Connection, number: Callable[[str], int]
    ) -> None:
        self._db = database
        self._number = number

    def put(self, path: str, record: MemoryRecord) -> None:
        """Take in the record that stands at a path now."""
        self.drop(path)
        is_note = record.scope is Scope.NOTE
        cursor = self._db.execute(
            "INSERT INTO memory VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._number(path),
                bytes.fromhex(record.id),
                scope_number(record.scope),
                None if is_note else key_of(record.entity),
                None if is_note else key_of(record.attribute),
                record.is_retired,
                to_microseconds(record.changed_at),
                self._number(record.set_by),
                text_number(record.source) if record.source else None,
                text_number(record.episode) if record.episode else None,
                text_number(record.value) if is_note else None,
                record.value if is_note else None,
            ),
        )
        n = cursor.lastrowid
        self._db.executemany(
            "INSERT INTO memory_tag VALUES (?, ?)",
            [(text_number(tag), n) for tag in record.tags],
        )
        self._db.execute(
            "INSERT INTO memory_words (rowid, text) VALUES (?, ?)",
            (n, " ".join(WORD.findall(searchable_memory(record)))),
        )

    def drop(self, path: str) -> None:
        """Forget the record at a path, if one was known."""
        row = self._db.execute(
            "SELECT memory.n FROM name JOIN memory ON memory.path = name.n"
            " WHERE name.text = ?",
            (path,),
        ).fetchone()
        if row is None:
            return
        self._db.execute("DELETE FROM memory WHERE n = ?", row)
        self._db.execute("DELETE FROM memory_tag WHERE n = ?", row)
        self._db.execute("DELETE FROM memory_words WHERE rowid = ?", row)

    def add_revisions(
        self, commits: Iterable[tuple[str, int, Iterable[MemoryChange]]]
    ) -> None:
        """Record what commits changed.

        Args:
            commits: Id, place and changes of each.
        """
        self._db.executemany(
            "INSERT INTO revision VALUES (?, ?, ?, ?)",
            (
                (
                    _revision_number(commit, place, count),
                    self._number(path),
                    bytes.fromhex(commit),
                    bytes.fromhex(blob) if blob else None,
                )
                for commit, place, changes in commits
                for count, (path, blob) in enumerate(changes)
            ),
        )


def _revision_number(commit: str, place: int, count: int) -> int:
    """Return what revisions are ordered by, whenever the index learns of them.

    Commits at one place are ordered by their ids, changes of one commit by their paths.
    """
    return place << 24 | int(commit[:4], 16) << 8 | min(count, 255)


def searchable_memory(record: MemoryRecord) -> str:
    """Return the text of a record that search looks at, composed."""
    words = (record.entity, record.attribute, *record.tags, record.value)
    return normalize("NFC", "\n".join(words))
