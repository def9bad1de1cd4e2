"""Keeping the derived index at the tip: step by step, or made anew (DESIGN 7)."""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gitmail.errors import GitmailError, LockTimeoutError, StorageError
from gitmail.records.names import CommitId, MessageId
from gitmail.records.paths import Family, parse_path
from gitmail.store.disk import remove_quietly, translated, translation
from gitmail.store.index import (
    PATIENCE_S,
    Index,
    Loaded,
    NeedsRebuildError,
    Record,
)
from gitmail.store.lineage import Lineage
from gitmail.store.lock import Lock
from gitmail.store.pack import NewObject
from gitmail.store.repository import Repository
from gitmail.store.view import File

logger = logging.getLogger("gitmail")

Progress = Callable[[str, int], None]
"""Told now and then what is being done and how many records are done."""
_PROGRESS_STEP = 1000
_BESIDE = ("-wal", "-shm")
_OPENINGS = 8
_PAUSE_S = 0.05
_REPLACING_S = 10.0
# Messages before copies before receipts, as the index wants them.
_ORDER = ("agents", "messages", "copies", "receipts")


class IndexKeeper:
    """Opens the index, mends it, and brings it to the tip.

    Args:
        path: The database file.
        repository: Where the truth is.
        progress: Told how far making it anew is.
    """

    def __init__(
        self, path: Path, repository: Repository, progress: Progress | None
    ) -> None:
        self._path = path
        self._repository = repository
        self._progress = progress
        self._replacing = Lock(path.with_name("index.lock"))
        self._index: Index | None = None
        self._file: tuple[int, int] | None = None

    def index(self) -> Index:
        """Return the open index, which may be behind the tip.

        Raises:
            LockTimeoutError: Another process is busy with it.
        """
        for attempt in range(_OPENINGS):
            if self._index is not None:
                return self._index
            try:
                self._index = self._open()
            except sqlite3.DatabaseError as error:
                if _is_busy(error) and attempt + 1 < _OPENINGS:
                    # Two that open a new file at once: SQLite does not let one wait.
                    time.sleep(_PAUSE_S)
                else:
                    self.recover(error, in_memory=attempt > 0)
            except StorageError as error:
                self._use_memory(error)
        return self._index or self._use_memory("it is replaced again and again")

    def end_reading(self) -> None:
        """End the transaction in which the index was read."""
        try:
            self.index().execute("COMMIT")
        except sqlite3.Error:
            self.close()  # with a transaction open it would be of no use

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            with suppress(sqlite3.Error):  # it may be what is broken
                self._index.close()
            self._index = None

    def shrink(self) -> None:
        """Cut the index's log, unless it is in use."""
        with suppress(sqlite3.Error):
            self.index().shrink()

    def recover(self, error: sqlite3.DatabaseError, *, in_memory: bool) -> None:
        """Get rid of an index that SQLite refused: for a new file, or one in memory.

        Args:
            in_memory: Whether a new file is known not to help.

        Raises:
            LockTimeoutError: Another process is busy with it.
        """
        if _is_busy(error):
            raise LockTimeoutError(str(self._path), PATIENCE_S) from error
        self.close()
        if in_memory or not _is_damage(error) or not self._remove():
            # The folder cannot be written or the disk is full: reading goes on.
            self._use_memory(error)
        else:
            logger.warning("the index is made anew: %s", error)

    def _use_memory(self, reason: object) -> Index:
        logger.warning("the index is not kept: %s", reason)
        self._index = Index(None)
        return self._index

    def _open(self) -> Index | None:
        """Open the file, or make an empty one; None where it was being replaced.

        SQLite's files belong together by their names. So only who has a lock removes
        them or makes the first, and who opens them looks whether they were the same.
        """
        self._file = _identity(self._path)
        if self._file is None:
            self._make()
            return None
        index = Index(self._path)
        if _identity(self._path) == self._file:
            return index
        index.close()
        return None

    def _make(self) -> None:
        with translated(self._path), self._replacing.held(_REPLACING_S):
            if _identity(self._path) is None:
                for ending in _BESIDE:  # of a database that somebody deleted
                    remove_quietly(f"{self._path}{ending}")
                self._path.touch(exist_ok=False)

    def _remove(self) -> bool:
        """Remove the database that was open; False where that is not allowed."""
        try:
            with translated(self._path), self._replacing.held(_REPLACING_S):
                if _identity(self._path) == self._file:  # nobody else did
                    for ending in ("", *_BESIDE):
                        remove_quietly(f"{self._path}{ending}")
        except StorageError:
            return False
        return True

    def catch_up(self, read_tip: Callable[[], CommitId | None]) -> None:
        """Bring the index to the tip."""
        index = self.index()
        with index.writing():
            # Read here, for others may have taken in what came since the last look.
            tip, at = read_tip(), index.commit
            if tip is None or at == tip:
                return
            try:
                if at is None or not self._advance(index, at, tip):
                    self._rebuild(index, tip)
            except NeedsRebuildError:
                self._rebuild(index, tip)

    def note(
        self,
        base: CommitId,
        commit: CommitId,
        files: Mapping[str, File | None],
        blobs: Mapping[str, NewObject | None],
    ) -> None:
        """Take in a commit that was just made on `base`, without reading it again."""
        try:
            index = self.index()
            with index.writing():
                if index.commit != base:  # a reader was quicker, or it is made anew
                    return
                if index.has_in_the_way(files):  # what is gone now must be looked for
                    return
                index.apply(_loaded(files, blobs))
                new = Lineage(self._repository, commit, base.__eq__, self._report)
                index.add_commits(new.oldest_first())
                index.set_commit(commit)
        except (sqlite3.DatabaseError, NeedsRebuildError, GitmailError) as error:
            logger.warning("the index stays behind the mailbox: %s", error)
            self.close()

    def _advance(self, index: Index, at: CommitId, tip: CommitId) -> bool:
        """Apply what lies between two commits; False where one is no ancestor."""
        if index.knows_commit(tip):
            return False
        new = Lineage(self._repository, tip, index.knows_commit, self._report)
        if at not in new.known:
            return False
        old_tree = self._repository.commit(at).tree
        new_tree = self._repository.commit(tip).tree
        index.apply(self._load(old_tree, new_tree))
        waiting = index.waiting_for(self._awaited(old_tree, new_tree))
        index.apply(self._reload(waiting, new_tree))
        index.add_commits(new.oldest_first())
        index.set_commit(tip)
        return True

    def _rebuild(self, index: Index, tip: CommitId) -> None:
        logger.info("making the index %s anew", self._path)
        index.clear()
        index.apply(self._load(None, self._repository.commit(tip).tree), is_first=True)
        every = Lineage(self._repository, tip, lambda _: False, self._report)
        index.add_commits(every.oldest_first())
        index.set_commit(tip)

    def _load(self, old_tree: str | None, new_tree: str) -> Iterator[Loaded]:
        changes = self._repository.changes(old_tree, new_tree, _ORDER)
        for count, change in enumerate(changes, 1):
            data = None
            family = parse_path(change.path).family
            if change.new:
                is_read = change.is_plain and family is not Family.UNKNOWN
                data = self._repository.blob(change.new) if is_read else b""
            self._report("records read", count)
            yield Loaded(
                change.path,
                data,
                is_plain=change.is_plain,
                is_replaced=bool(change.old and change.new),
            )

    def _awaited(self, old_tree: str, new_tree: str) -> Iterator[MessageId]:
        """Yield the messages that came, or came to be delivered to somebody else."""
        for change in self._repository.changes(old_tree, new_tree):
            place = parse_path(change.path)
            if change.new and place.family is Family.MESSAGE:
                yield MessageId(change.new)
            elif change.new and place.family is Family.COPY:
                yield MessageId(place.message)

    def _reload(self, paths: Sequence[str], tree: str) -> Iterator[Loaded]:
        for path in paths:
            blob = self._repository.lookup(tree, path)
            if blob:
                yield Loaded(path, self._repository.blob(blob), is_replaced=True)

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise translation(error, path) from error
    return found.st_dev, found.st_ino


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    """Tell whether SQLite only says that somebody else writes."""
    return _code(error) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Tell whether the database itself is at fault, and not the disk it is on."""
    code = _code(error)
    if code == sqlite3.SQLITE_ERROR:
        return any(words in str(error) for words in ("no such", "vtable"))
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in (
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def _code(error: sqlite3.DatabaseError) -> int:
    return getattr(error, "sqlite_errorcode", 0)


def _loaded(
    files: Mapping[str, File | None], blobs: Mapping[str, NewObject | None]
) -> Iterator[Loaded]:
    for path, file in files.items():
        blob = blobs[path]
        record = file if isinstance(file, Record) else None
        # Only profiles and memory are written again, and memory looks for itself.
        data = blob.data if blob else None
        yield Loaded(path, data, record, is_replaced=record is None)
