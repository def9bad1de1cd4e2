"""Keeping the derived index at the tip: step by step, or made anew (DESIGN 7)."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gitmail.errors import LockTimeoutError
from gitmail.records.message import Message
from gitmail.records.names import CommitId, MessageId
from gitmail.records.paths import Family, parse_path
from gitmail.records.receipt import BlindCopy, Receipt
from gitmail.store.index import (
    PATIENCE_S,
    Activity,
    Index,
    Loaded,
    NeedsRebuildError,
)
from gitmail.store.pack import NewObject
from gitmail.store.repository import Repository
from gitmail.store.view import File

logger = logging.getLogger("gitmail")

Progress = Callable[[str, int], None]
"""Told now and then what is being done and how many records are done."""
_PROGRESS_STEP = 1000
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
        self._index: Index | None = None

    def index(self) -> Index:
        """Return the open index, which may be behind the tip."""
        if self._index is None:
            try:
                self._index = Index(self._path)
            except sqlite3.DatabaseError as error:
                self.recover(error)
        if self._index is None:
            self._index = Index(self._path)
        return self._index

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            with suppress(sqlite3.Error):  # it may be what is broken
                self._index.close()
            self._index = None

    def recover(self, error: sqlite3.DatabaseError) -> None:
        """Get rid of an index that SQLite refused: a new file, or one in memory.

        Raises:
            LockTimeoutError: Another process is busy with it.
        """
        if "locked" in str(error):
            raise LockTimeoutError(str(self._path), PATIENCE_S) from error
        logger.warning("the index is made anew: %s", error)
        self.close()
        is_damaged = "no such" in str(error) or "malformed" in str(error)
        if isinstance(error, sqlite3.OperationalError) and not is_damaged:
            # The folder cannot be written or the disk is full: reading goes on.
            self._index = Index(None)
            return
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                self._path.with_name(f"{self._path.name}{ending}").unlink()

    def catch_up(self, tip: CommitId) -> None:
        """Bring the index to the tip."""
        index = self.index()
        with index.writing():
            at = index.commit
            if at == tip:
                return
            try:
                if at is None or not self._advance(index, at, tip):
                    self._rebuild(index, tip)
            except NeedsRebuildError:
                self._rebuild(index, tip)

    def note(
        self,
        base: CommitId,
        done: Activity,
        files: Mapping[str, File],
        blobs: Mapping[str, NewObject],
    ) -> None:
        """Take in a commit that was just made on `base`, without reading it again."""
        index = self.index()
        try:
            with index.writing():
                if index.commit != base:  # a reader was quicker, or it is made anew
                    return
                index.apply(_loaded(files, blobs))
                index.add_commits([done])
                index.set_commit(done.commit)
        except (sqlite3.DatabaseError, NeedsRebuildError) as error:
            logger.warning("the index stays behind the mailbox: %s", error)
            self.close()

    def _advance(self, index: Index, at: CommitId, tip: CommitId) -> bool:
        """Apply what lies between two commits; False where one is no ancestor."""
        if index.knows_commit(tip):
            return False
        new, reached = self._unknown_commits(index, tip)
        if at not in reached:
            return False
        old_tree = self._repository.commit(at).tree
        new_tree = self._repository.commit(tip).tree
        index.apply(self._load(old_tree, new_tree))
        added = [
            MessageId(change.new)
            for change in self._repository.changes(old_tree, new_tree)
            if change.new and parse_path(change.path).family is Family.MESSAGE
        ]
        index.apply(self._reload(index.waiting_for(added), new_tree))
        index.add_commits(new)
        index.set_commit(tip)
        return True

    def _unknown_commits(
        self, index: Index, tip: CommitId
    ) -> tuple[list[Activity], set[CommitId]]:
        """Return the commits that are new, and the known ones that they stand on."""
        new: list[Activity] = []
        reached: set[CommitId] = set()
        todo, seen = [tip], {tip}
        while todo:
            commit = self._repository.commit(todo.pop())
            new.append(Activity(commit.id, commit.author, commit.time))
            for parent in commit.parents:
                if index.knows_commit(parent):
                    reached.add(parent)
                elif parent not in seen:
                    seen.add(parent)
                    todo.append(parent)
        return new, reached

    def _rebuild(self, index: Index, tip: CommitId) -> None:
        logger.info("making the index %s anew", self._path)
        index.clear()
        index.apply(self._load(None, self._repository.commit(tip).tree))
        index.add_commits(self._all_commits(tip))
        index.set_commit(tip)

    def _all_commits(self, tip: CommitId) -> Iterator[Activity]:
        for count, commit in enumerate(self._repository.walk(tip), 1):
            self._report("commits read", count)
            yield Activity(commit.id, commit.author, commit.time)

    def _load(self, old_tree: str | None, new_tree: str) -> Iterator[Loaded]:
        changes = self._repository.changes(old_tree, new_tree, _ORDER)
        for count, change in enumerate(changes, 1):
            data = None
            if change.new:
                data = self._repository.blob(change.new) if change.is_plain else b""
            self._report("records read", count)
            yield Loaded(
                change.path,
                data,
                is_plain=change.is_plain,
                is_replaced=bool(change.old and change.new),
            )

    def _reload(self, paths: Sequence[str], tree: str) -> Iterator[Loaded]:
        for path in paths:
            blob = self._repository.lookup(tree, path)
            if blob:
                yield Loaded(path, self._repository.blob(blob), is_replaced=True)

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)


def _loaded(
    files: Mapping[str, File], blobs: Mapping[str, NewObject]
) -> Iterator[Loaded]:
    for path, file in files.items():
        record = file if isinstance(file, Message | Receipt | BlindCopy) else None
        # A profile is the one record that is written again.
        yield Loaded(path, blobs[path].data, record, is_replaced=record is None)
