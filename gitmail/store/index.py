"""The derived index: what SQLite knows about the commit at the tip; owns sqlite3.

It can be deleted at any time. It names the commit it reflects, and nobody reads it
before it has been brought up to the tip (DESIGN 7). Message bodies are not in it.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from unicodedata import normalize

from gitmail.errors import InvalidFileError
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.message import Kind, Message, parse_message
from gitmail.records.names import CommitId, MessageId
from gitmail.records.paths import (
    Family,
    Place,
    copy_path,
    hour_folder,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
)
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import BlindCopy, Receipt, parse_blind_copy, parse_receipt
from gitmail.records.times import from_microseconds, to_microseconds
from gitmail.store.lineage import Activity
from gitmail.store.memory_index import MemoryIndex
from gitmail.store.numbers import label_key, request_number, thread_number
from gitmail.store.schema import SCHEMA, marks
from gitmail.store.schema import TABLES as _TABLES
from gitmail.store.words import WORD

_KINDS = list(Kind)
_ANYTHING = (Family.FIXED, Family.ASIDE, Family.UNKNOWN)
_LAST_PLACE = 2**38  # in the year 10680; leaves room for as many commits behind it
PATIENCE_S = 120.0  # somebody else may be making a large index anew


class Role(IntFlag):
    """What a name has to do with a message."""

    SENDER = 1
    TO = 2
    CC = 4
    BCC = 8
    AUDIENCE = 16
    """A team or everybody: its members may see the message."""


_ROLES = {"to": Role.TO, "cc": Role.CC}
DELIVERED = Role.TO | Role.CC | Role.BCC


Record = Message | Receipt | BlindCopy | MemoryRecord
"""What a writer hands over as it made it, so that it need not be parsed again."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A path of the tip that changed, with what stands there now.

    Attributes:
        data: The bytes, None where the path was removed.
        record: The record, where the caller made it and so knows it to be sound.
    """

    path: str
    data: bytes | None
    record: Record | None = None
    is_plain: bool = True
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A path of the tip that is not what it should be, and why."""

    path: str
    reason: str


class NeedsRebuildError(Exception):
    """A change cannot be applied step by step; the index must be made anew."""


class Index:
    """One connection to the index; the caller lets one thread at a time use it.

    Args:
        path: The database file, which may be empty, or None for one in memory.
    """

    def __init__(self, path: Path | None) -> None:
        # SQLite must not make the file: the keeper does, when no old log is beside it.
        self._db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw" if path else ":memory:",
            uri=True,
            timeout=PATIENCE_S,
            isolation_level=None,
            check_same_thread=False,
        )
        self._names: dict[str, int] = {}
        self._memory = MemoryIndex(self._db, self._number)
        try:
            # The write-ahead log lets readers go on while somebody writes, and
            # flushes only now and then: losing the index loses nothing.
            self._db.executescript(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000;"
                "CREATE TEMP TABLE fresh (n INTEGER PRIMARY KEY)"
            )
        except sqlite3.Error:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def shrink(self) -> None:
        """Write the log back into the database and cut it, unless it is in use."""
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {int(PATIENCE_S * 1000)}")

    @property
    def commit(self) -> CommitId | None:
        """The commit that the index reflects, None where it must be made anew."""
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA:
            return None
        row = self._db.execute("SELECT value FROM meta WHERE key = 'commit'").fetchone()
        return CommitId(row[0]) if row and row[0] else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the block one transaction that no other writer interrupts."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._names.clear()  # numbers given in the block are void
            if self._db.in_transaction:  # SQLite ends some by itself
                self._db.execute("ROLLBACK")
            raise

    def clear(self) -> None:
        """Drop everything, inside `writing`."""
        self._names.clear()
        for row in self._db.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%words\\_%' ESCAPE '\\'"
        ).fetchall():
            self._db.execute(f'DROP {row[0]} IF EXISTS "{row[1]}"')
        for statement in _TABLES.split(";\n"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def set_commit(self, commit: CommitId) -> None:
        """Say which commit the index reflects, inside `writing`."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (commit,))

    def knows_commit(self, commit: CommitId) -> bool:
        """Tell whether a commit is in the history of the one reflected."""
        row = self._db.execute(
            "SELECT 1 FROM commits WHERE id = ?", (bytes.fromhex(commit),)
        ).fetchone()
        return row is not None

    def _place_of(self, commit: CommitId, new: Mapping[CommitId, int]) -> int:
        if commit in new:
            return new[commit]
        row = self._db.execute(
            "SELECT place FROM commits WHERE id = ?", (bytes.fromhex(commit),)
        ).fetchone()
        return int(row[0])

    def add_commits(self, commits: Iterable[Activity]) -> None:
        """Record commits and what they did, oldest first, inside `writing`."""
        last: dict[str, int] = {}
        places: dict[CommitId, int] = {}
        revisions = []
        for item in commits:
            before = (self._place_of(each, places) for each in item.parents)
            # Its second, whatever a commit says that is.
            second = min(max(item.time, 0), _LAST_PLACE)
            place = max([second, *(each + 1 for each in before)])
            places[item.commit] = place
            last[item.author] = max(item.time, last.get(item.author, 0))
            if item.memory:
                revisions.append((item.commit, place, item.memory))
        self._db.executemany(
            "INSERT OR IGNORE INTO commits VALUES (?, ?)",
            ((bytes.fromhex(commit), place) for commit, place in places.items()),
        )
        self._memory.add_revisions(revisions)
        self._db.executemany(
            "INSERT INTO author VALUES (?, ?) ON CONFLICT DO UPDATE"
            " SET last = max(last, excluded.last)",
            last.items(),
        )

    def apply(self, changes: Iterable[Loaded], *, is_first: bool = False) -> None:
        """Take in what changed, inside `writing`.

        Whether in one step or in many, the same tree makes the same index.

        Args:
            changes: Messages before copies before receipts: a copy delivers, and only
                who had a delivery can have a receipt.
            is_first: Whether the index was empty.

        Raises:
            NeedsRebuildError: Something was removed or replaced that never should be,
                or counts only where nothing else does.
        """
        for change in changes:
            place = parse_path(change.path)
            if change.data is None or change.is_replaced:
                self._forget(place, change)
            if change.data is not None:
                self._take(place, change, is_first=is_first)

    def waiting_for(self, messages: Iterable[MessageId]) -> list[str]:
        """Return quarantined paths that only lacked one of these messages."""
        if not self._db.execute(
            "SELECT 1 FROM quarantine WHERE waits_for IS NOT NULL LIMIT 1"
        ).fetchone():
            return []
        found: set[str] = set()
        for message in messages:
            rows = self._db.execute(
                "SELECT path FROM quarantine WHERE waits_for = ?",
                (bytes.fromhex(message),),
            )
            found.update(row[0] for row in rows)
        return sorted(found)  # copies before receipts

    def _forget(self, place: Place, change: Loaded) -> None:
        known = self._db.execute(
            "DELETE FROM quarantine WHERE path = ?", (change.path,)
        ).rowcount
        if place.family is Family.PROFILE:
            name = (place.agent,)
            self._db.execute("DELETE FROM registered WHERE name = ?", name)
        elif place.family is Family.MEMORY:
            self._memory.drop(change.path)
        elif not known and place.family not in _ANYTHING:
            raise NeedsRebuildError

    def _take(self, place: Place, change: Loaded, *, is_first: bool) -> None:
        waits_for = None
        try:
            self._take_record(place, change)
        except InvalidFileError as error:
            reason = f"line {error.line}: {error.reason}"
        except _MisplacedError as error:
            reason, waits_for = error.reason, error.waits_for
            if error.is_second and not is_first:
                raise NeedsRebuildError from error
        else:
            return
        self._quarantine(change.path, reason, waits_for)

    def _take_record(self, place: Place, change: Loaded) -> None:
        if not change.is_plain:
            raise _MisplacedError("is no regular file")
        data = change.data or b""
        record = change.record
        match place.family:
            case Family.MESSAGE:
                message = record if isinstance(record, Message) else None
                self._take_message(message, data, place, change.path)
            case Family.COPY:
                copy = (
                    record if isinstance(record, BlindCopy) else parse_blind_copy(data)
                )
                self._take_copy(copy, change.path)
            case Family.RECEIPT:
                receipt = record if isinstance(record, Receipt) else parse_receipt(data)
                self._take_receipt(receipt, change.path)
            case Family.PROFILE:
                self._take_profile(data, change.path)
            case Family.MEMORY:
                known = record if isinstance(record, MemoryRecord) else None
                self._take_memory(known, data, place, change.path)
            case Family.ASIDE:
                raise _MisplacedError("was in the way of another file in a merge")
            case Family.UNKNOWN:
                raise _MisplacedError("is no path of a mailbox")
            case Family.FIXED:
                pass

    def _take_message(
        self, message: Message | None, data: bytes, place: Place, path: str
    ) -> None:
        if message is None:
            message = parse_message(data)
            if message_path(message, place.part) != path:
                raise _MisplacedError("the name does not fit the content")
        self._add_message(message, place.part)

    def _add_message(self, message: Message, part: int) -> None:
        date = to_microseconds(message.date)
        sender = self._number(message.sender)
        request = message.request_id
        cursor = self._db.execute(
            "INSERT OR IGNORE INTO message VALUES"
            " (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                bytes.fromhex(message.id),
                date,
                sender,
                thread_number(message.thread_id),
                part,
                _KINDS.index(message.kind),
                message.importance.rank,
                message.ack_required,
                self._label("topic", message.topic and message.topic.casefold()),
                self._label("room", message.room),
                to_microseconds(message.expires) if message.expires else None,
                request_number(message.sender, request) if request else None,
            ),
        )
        if not cursor.rowcount:
            what = "the same message stands at another path"
            raise _MisplacedError(what, is_second=True)
        n = cursor.lastrowid or 0
        roles: dict[int, Role] = {sender: Role.SENDER}
        for recipient, kind in message.deliveries:
            who = self._number(recipient)
            roles[who] = roles.get(who, Role(0)) | _ROLES[kind]
        for address in message.groups:
            roles[self._number(address)] = Role.AUDIENCE
        self._db.executemany(
            "INSERT INTO mail VALUES (?, ?, ?, ?, ?)",
            [
                (who, date, n, int(role), 0 if role & DELIVERED else 2)
                for who, role in roles.items()
            ],
        )
        self._db.execute(
            "INSERT INTO words (rowid, text) VALUES (?, ?)",
            (n, " ".join(WORD.findall(searchable(message)))),
        )

    def _take_copy(self, copy: BlindCopy, path: str) -> None:
        n, date, folder = self._message_of(copy.message)
        if copy_path(copy, folder) != path:
            raise _MisplacedError("the name does not fit the content")
        self._db.execute(
            "INSERT INTO mail VALUES (?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET"
            " role = role | excluded.role, stage = CASE WHEN role & 14 THEN stage"
            " ELSE 0 END",
            (self._number(copy.agent), date, n, int(Role.BCC)),
        )

    def _take_receipt(self, receipt: Receipt, path: str) -> None:
        n, date, folder = self._message_of(receipt.message)
        if receipt_path(receipt, folder) != path:
            raise _MisplacedError("the name does not fit the content")
        raised = self._db.execute(
            "UPDATE mail SET stage = max(stage, ?) WHERE who = ? AND date = ? AND n = ?"
            " AND role & 14",
            (receipt.stage.rank, self._number(receipt.agent), date, n),
        ).rowcount
        if not raised:
            what = "the agent is no recipient of the message"
            raise _MisplacedError(what, receipt.message)  # its copy may come

    def _take_profile(self, data: bytes, path: str) -> None:
        profile = parse_profile(data)
        if profile_path(profile.name) != path:
            raise _MisplacedError("the name does not fit the content")
        self._db.execute(
            "INSERT OR REPLACE INTO registered VALUES (?, ?)", (profile.name, data)
        )

    def _take_memory(
        self, record: MemoryRecord | None, data: bytes, place: Place, path: str
    ) -> None:
        if record is None:
            record = parse_memory(data)
            if memory_path(record, place.part) != path:
                raise _MisplacedError("the name does not fit the content")
        self._memory.put(path, record)

    def _message_of(self, message: MessageId) -> tuple[int, int, str]:
        row = self._db.execute(
            "SELECT n, date, part FROM message WHERE id = ?", (bytes.fromhex(message),)
        ).fetchone()
        if row is None:
            raise _MisplacedError("names no message of this mailbox", message)
        return row[0], row[1], hour_folder(from_microseconds(row[1]), row[2])

    def _quarantine(self, path: str, reason: str, waits_for: str | None = None) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?)",
            (path, reason, bytes.fromhex(waits_for) if waits_for else None),
        )

    def has_in_the_way(self, paths: Iterable[str]) -> bool:
        """Tell whether a quarantined file stood where these paths have a folder."""
        folders: set[str] = set()
        for path in paths:
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        return bool(
            self._db.execute(
                f"SELECT 1 FROM quarantine WHERE path IN ({marks(folders)})",
                tuple(folders),
            ).fetchone()
        )

    def quarantined_count(self) -> int:
        """Return how many paths of the tip are not what they should be."""
        row = self._db.execute("SELECT count(*) FROM quarantine").fetchone()
        return int(row[0])

    def quarantined(self) -> list[Quarantined]:
        """Return the paths of the tip that are not what they should be."""
        rows = self._db.execute("SELECT path, reason FROM quarantine ORDER BY path")
        return [Quarantined(*row) for row in rows]

    def execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run a query of the modules that ask; they never write."""
        return self._db.execute(statement, values)

    def set_fresh(self, messages: Iterable[str]) -> None:
        """Fill the temporary table `fresh` with the numbers of these messages."""
        self._db.execute("DELETE FROM temp.fresh")
        self._db.executemany(
            "INSERT OR IGNORE INTO temp.fresh SELECT n FROM message WHERE id = ?",
            ((bytes.fromhex(message),) for message in messages),
        )

    def number_of(self, text: str) -> int:
        """Return the number of a known name or label, -1 where it is new."""
        row = self._db.execute("SELECT n FROM name WHERE text = ?", (text,)).fetchone()
        return row[0] if row else -1

    def _label(self, what: str, text: str | None) -> int | None:
        return self._number(label_key(what, text)) if text else None

    def _number(self, text: str) -> int:
        number = self._names.get(text)
        if number is None:
            self._db.execute("INSERT OR IGNORE INTO name (text) VALUES (?)", (text,))
            number = self._names[text] = self.number_of(text)
        return number


class _MisplacedError(Exception):
    """A file is sound, but does not belong where it stands.

    Attributes:
        waits_for: What would put it right if it came.
        is_second: Whether it would belong there if another did not stand elsewhere.
    """

    def __init__(
        self,
        reason: str,
        waits_for: MessageId | None = None,
        *,
        is_second: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.waits_for = waits_for
        self.is_second = is_second


def searchable(message: Message) -> str:
    """Return the text of a message that search looks at, composed."""
    return normalize("NFC", f"{message.subject or ''}\n{message.body}")
