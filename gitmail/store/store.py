"""One mailbox on disk: reading at the tip, and writing one commit at a time.

`read` runs a function on a view of the tip; `update` runs one that plans a write, and
carries the plan out by the write path of DESIGN 6. Both may be called from several
threads and processes at once.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from gitmail.errors import (
    CorruptMailboxError,
    GitmailError,
    InvalidFileError,
    LockTimeoutError,
    MailboxNotFoundError,
    StaleWriteError,
    StorageError,
)
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.message import Message, parse_message
from gitmail.records.names import CommitId, MessageId
from gitmail.records.paths import CHARTER_PATH, Family, parse_path
from gitmail.records.receipt import BlindCopy, Receipt
from gitmail.store.files import Files
from gitmail.store.index import Activity, Index, Loaded, NeedsRebuildError
from gitmail.store.lock import Lock
from gitmail.store.pack import BLOB, NewObject
from gitmail.store.refs import Branch
from gitmail.store.repository import Commit, Kept, Repository

logger = logging.getLogger("gitmail")
T = TypeVar("T")

LOCK_TIMEOUT_S = 10.0
LOCAL = "gitmail"
"""Folder of the repository for what must never be synced."""
ORDER = ("agents", "messages", "copies", "receipts")
"""In which the index takes records in."""
_ATTEMPTS = 8
_MESSAGES_KEPT = 512
_PROGRESS_STEP = 1000

Progress = Callable[[str, int], None]
"""Told now and then what is being done and how many records are done."""


class File(Protocol):
    """Anything that has the bytes of a file."""

    @property
    def data(self) -> bytes:
        """The bytes."""


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file that is no record."""

    data: bytes


@dataclass(frozen=True, slots=True)
class View:
    """The mailbox at one commit; valid only inside the function it was passed to."""

    tip: CommitId
    tree: str
    charter: Charter
    repository: Repository
    index: Index
    messages: Kept[Message]
    memo: dict[object, Any] = field(default_factory=dict)
    """What was derived from this view and would be derived again."""

    def message(self, message: MessageId) -> Message:
        """Return a message that the index knows."""
        found = self.messages.get(message)
        if found is None:
            found = parse_message(self.repository.blob(message))
            self.messages.put(message, found)
        return found

    def file(self, path: str) -> bytes | None:
        """Return the bytes at a path of the tip, None where there is no file."""
        blob = self.repository.lookup(self.tree, path)
        return self.repository.blob(blob) if blob else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan(Generic[T]):
    """What one operation writes, all of it in one commit.

    Attributes:
        files: Path to record, messages before copies before receipts; none at all
            where the operation turns out to have nothing to write.
        operation: The word after `Gitmail-Op`.
        agent: Who does it: author, committer and `Gitmail-Agent`.
        subject: The rest of the subject line, already one line.
        trailers: Further trailers, built from validated ids only.
        result: What `update` returns along with the commit.
    """

    result: T
    files: Mapping[str, File] = field(default_factory=dict)
    operation: str = ""
    agent: str = ""
    subject: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    moment: datetime | None = None


class Store:
    """The repository, the files beside it, and the index of one mailbox.

    Args:
        root: The mailbox's folder, which holds the files and `.git`.
        progress: Told how far a long piece of work is.
    """

    def __init__(self, root: Path, progress: Progress | None = None) -> None:
        self.root = root
        self.git_dir = root / ".git"
        self.local = self.git_dir / LOCAL
        if not (self.git_dir / "objects").is_dir():
            raise MailboxNotFoundError(str(root))
        with suppress(OSError):  # a read-only mailbox can still be read
            self.local.mkdir(exist_ok=True)
        self.branch = Branch(self.git_dir, self.local)
        self._progress = progress
        self._lock = Lock(self.local / "write.lock")
        self._mutex = threading.RLock()
        self._repository = Repository(self.git_dir)
        self._files = Files(root, self.local / "shown")
        self._index: Index | None = None
        self._messages: Kept[Message] = Kept(_MESSAGES_KEPT)
        self._charter: tuple[str, Charter] | None = None

    def close(self) -> None:
        """Close what is open; the store must not be used afterwards."""
        with self._mutex:
            self._drop_index()
            self._repository.close()

    def read(self, ask: Callable[[View], T]) -> T:
        """Return what the function makes of the mailbox at its tip.

        Raises:
            MailboxNotFoundError: The branch has no commit.
            CorruptMailboxError: Objects are missing or damaged.
            UnsupportedFormatError: The mailbox is of a newer format.
        """
        with self._mutex:
            try:
                return self._ask(ask)
            except sqlite3.DatabaseError as error:
                self._recover(error)
                return self._ask(ask)

    def update(self, build: Callable[[View], Plan[T]]) -> tuple[T, CommitId | None]:
        """Carry out what the function plans, as one durable commit.

        The function may run several times, each time on a newer view, and must change
        nothing itself. When this returns, objects and branch are on the disk. A crash
        leaves the operation wholly done or not done at all.

        Returns:
            The plan's result, and the commit, None where there was nothing to write.

        Raises:
            LockTimeoutError: Another writer kept the lock; nothing was changed.
            StaleWriteError: The branch moved at each attempt; nothing was changed.
            DiskFullError, ReadOnlyError: Nothing was changed.
        """
        with self._lock.held(LOCK_TIMEOUT_S):
            for _ in range(_ATTEMPTS):
                with self._mutex:
                    base, plan = self.read(lambda view: (view.tip, build(view)))
                    if not plan.files:
                        return plan.result, None
                    commit = self._commit(base, plan)
                if commit:
                    return plan.result, commit
        raise StaleWriteError(_ATTEMPTS)

    def roll_forward(self) -> None:
        """Bring the files on disk to the tip, unless a writer is at work."""
        tip = self.branch.read()
        if tip is None or self._files.shown() == tip:
            return
        try:
            if not self._lock.take():
                return
            try:
                with self._mutex:
                    self._show(self.branch.read() or tip)
            finally:
                self._lock.free()
        except StorageError as error:  # reading does not need these files
            logger.info("the files on disk stay behind the mailbox: %s", error)

    def create(self, files: Mapping[str, File], plan: Plan[None]) -> CommitId:
        """Write the first commit of a new repository."""
        with self._lock.held(LOCK_TIMEOUT_S), self._mutex:
            tip = self.branch.read()
            if tip is None:
                objects = {p: NewObject.of(BLOB, f.data) for p, f in files.items()}
                tip = self._write(None, None, objects, plan)
            if tip is None:
                raise StaleWriteError(1)
            self._show(tip)
            return tip

    def hand_edits(self) -> list[tuple[str, str]]:
        """Return paths on disk that are not the tip's, each with what was done.

        Returns:
            Pairs of path and one of `modified`, `deleted`, `added`.
        """
        with self._mutex:
            tip = self.branch.read()
            tree = self._repository.commit(tip).tree if tip else None
            wanted = {
                change.path: change.new
                for change in self._repository.changes(None, tree)
                if change.new and _is_shown(change.path, is_plain=change.is_plain)
            }
            found = [(path, "added") for path in self._files.extra(wanted)]
            for path, object_id in wanted.items():
                data = self._files.read(path)
                if data is None:
                    found.append((path, "deleted"))
                elif NewObject.of(BLOB, data).sha.hex() != object_id:
                    found.append((path, "modified"))
            return sorted(found)

    def history(
        self, start: CommitId, stop: CommitId | None = None
    ) -> Iterator[Commit]:
        """Yield commits from one back, newest first, without those before `stop`."""
        hidden = {c.id for c in self._walk(stop, set())} if stop else set()
        return self._walk(start, hidden)

    def touches(self, commit: Commit, path: str) -> bool:
        """Tell whether a commit changed what stands at a path."""
        with self._mutex:
            look = self._repository.lookup
            trees = [self._repository.commit(p).tree for p in commit.parents]
            now = look(commit.tree, path)
            return (
                all(look(tree, path) != now for tree in trees) if trees else bool(now)
            )

    def _walk(self, start: CommitId, seen: set[CommitId]) -> Iterator[Commit]:
        import heapq  # noqa: PLC0415 - only a walk needs it

        todo: list[tuple[int, CommitId, Commit]] = []

        def push(commit_id: CommitId) -> None:
            if commit_id not in seen:
                seen.add(commit_id)
                with self._mutex:
                    commit = self._repository.commit(commit_id)
                heapq.heappush(todo, (-commit.time, commit_id, commit))

        push(start)
        while todo:
            commit = heapq.heappop(todo)[2]
            yield commit
            for parent in commit.parents:
                push(parent)

    # --- reading

    def _ask(self, ask: Callable[[View], T]) -> T:
        self.roll_forward()
        while True:
            index = self._open_index()
            index.execute("BEGIN")
            try:
                tip = self.branch.read()
                if tip is None:
                    raise MailboxNotFoundError(str(self.root))
                if index.commit == tip:
                    tree = self._repository.commit(tip).tree
                    charter = self._charter_of(tree)
                    view = View(
                        tip, tree, charter, self._repository, index, self._messages
                    )
                    return ask(view)
            finally:
                with suppress(sqlite3.Error):  # SQLite may have ended it itself
                    index.execute("COMMIT")
            self._catch_up(index, tip)

    def _charter_of(self, tree: str) -> Charter:
        blob = self._repository.lookup(tree, CHARTER_PATH)
        if blob is None:
            raise CorruptMailboxError(f"{CHARTER_PATH} is missing", str(self.root))
        if self._charter is None or self._charter[0] != blob:
            data = self._repository.blob(blob)
            try:
                self._charter = blob, parse_charter(data, str(self.root))
            except InvalidFileError as error:
                what = f"{CHARTER_PATH}, line {error.line}: {error.reason}"
                raise CorruptMailboxError(what, str(self.root)) from error
        return self._charter[1]

    # --- the index

    def _open_index(self) -> Index:
        if self._index is None:
            try:
                self._index = Index(self.local / "index.sqlite")
            except sqlite3.DatabaseError as error:
                self._recover(error)
        if self._index is None:
            self._index = Index(self.local / "index.sqlite")
        return self._index

    def _recover(self, error: sqlite3.DatabaseError) -> None:
        """Get a usable index after SQLite refused one: a new file, or in memory."""
        if "locked" in str(error):
            raise LockTimeoutError(str(self.local / "index.sqlite"), 120) from error
        logger.warning("the index is made anew: %s", error)
        self._drop_index()
        is_damaged = "no such" in str(error) or "malformed" in str(error)
        if isinstance(error, sqlite3.OperationalError) and not is_damaged:
            # The folder cannot be written or the disk is full: reading goes on.
            self._index = Index(None)
            return
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                (self.local / f"index.sqlite{ending}").unlink()

    def _drop_index(self) -> None:
        if self._index is not None:
            with suppress(sqlite3.Error):
                self._index.close()
            self._index = None

    def _catch_up(self, index: Index, tip: CommitId) -> None:
        with index.writing():
            at = index.commit
            if at == tip:
                return
            try:
                if at is None or not self._advance(index, at, tip):
                    self._rebuild(index, tip)
            except NeedsRebuildError:
                self._rebuild(index, tip)

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
        logger.info("making the index of %s anew", self.root)
        index.clear()
        tree = self._repository.commit(tip).tree
        index.apply(self._load(None, tree))
        index.add_commits(self._all_commits(tip))
        index.set_commit(tip)

    def _all_commits(self, tip: CommitId) -> Iterator[Activity]:
        for count, commit in enumerate(self._walk(tip, set()), 1):
            self._report("commits read", count)
            yield Activity(commit.id, commit.author, commit.time)

    def _load(self, old_tree: str | None, new_tree: str) -> Iterator[Loaded]:
        changes = self._repository.changes(old_tree, new_tree, ORDER)
        for count, change in enumerate(changes, 1):
            data = None
            if change.new:
                plain = change.is_plain
                data = self._repository.blob(change.new) if plain else b""
            self._report("records read", count)
            replaced = bool(change.old and change.new)
            yield Loaded(
                change.path,
                data,
                is_plain=change.is_plain,
                is_replaced=replaced,
            )

    def _reload(self, paths: list[str], tree: str) -> Iterator[Loaded]:
        for path in paths:
            blob = self._repository.lookup(tree, path)
            if blob:
                data = self._repository.blob(blob)
                yield Loaded(path, data, is_replaced=True)

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)

    # --- the write path

    def _commit(self, base: CommitId, plan: Plan[T]) -> CommitId | None:
        tree = self._repository.commit(base).tree
        blobs = {p: NewObject.of(BLOB, f.data) for p, f in plan.files.items()}
        commit = self._write(base, tree, blobs, plan)
        if commit is None:
            return None
        # It has happened: what fails from here on is made good by the next call.
        self._show_leniently(base, commit, blobs)
        self._index_leniently(base, commit, plan, blobs)
        return commit

    def _write(
        self,
        base: CommitId | None,
        tree: str | None,
        blobs: Mapping[str, NewObject],
        plan: Plan[T],
    ) -> CommitId | None:
        if plan.moment is None:
            msg = "a plan that writes names its moment"
            raise TypeError(msg)
        root, trees = self._repository.build_tree(tree, blobs)
        trailers = [
            ("Gitmail-Op", plan.operation),
            ("Gitmail-Agent", plan.agent),
            *plan.trailers,
        ]
        message = f"{plan.operation}: {plan.subject}".rstrip(": ") + "\n\n"
        message += "".join(f"{key}: {value}\n" for key, value in trailers if value)
        commit = self._repository.build_commit(
            root, (base,) if base else (), plan.agent, plan.moment, message
        )
        self._repository.add([*blobs.values(), *trees, commit])
        new = CommitId(commit.sha.hex())
        return new if self.branch.move(base, new) else None

    def _show_leniently(
        self, base: CommitId, commit: CommitId, blobs: Mapping[str, NewObject]
    ) -> None:
        try:
            if self._files.shown() == base:
                self._files.show(((p, b.data) for p, b in blobs.items()), commit)
            else:
                self._show(commit)
        except GitmailError as error:
            logger.warning("the files on disk stay behind the mailbox: %s", error)

    def _show(self, tip: CommitId) -> None:
        at = self._files.shown()
        old_tree = None
        if at and self._repository.has(at):
            old_tree = self._repository.commit(at).tree
        new_tree = self._repository.commit(tip).tree
        self._files.show(self._differences(old_tree, new_tree), tip)

    def _differences(
        self, old_tree: str | None, new_tree: str
    ) -> Iterator[tuple[str, bytes | None]]:
        for change in self._repository.changes(old_tree, new_tree):
            if not change.new and parse_path(change.path).family is not Family.UNKNOWN:
                yield change.path, None
            elif change.new and _is_shown(change.path, is_plain=change.is_plain):
                yield change.path, self._repository.blob(change.new)

    def _index_leniently(
        self,
        base: CommitId,
        commit: CommitId,
        plan: Plan[T],
        blobs: Mapping[str, NewObject],
    ) -> None:
        index = self._open_index()
        moment = int(plan.moment.timestamp()) if plan.moment else 0
        try:
            with index.writing():
                if index.commit != base:  # a reader was quicker, or it is made anew
                    return
                index.apply(_loaded(plan.files, blobs))
                index.add_commits([Activity(commit, plan.agent, moment)])
                index.set_commit(commit)
        except (sqlite3.DatabaseError, NeedsRebuildError) as error:
            logger.warning("the index stays behind the mailbox: %s", error)
            self._drop_index()


def _loaded(
    files: Mapping[str, File], blobs: Mapping[str, NewObject]
) -> Iterator[Loaded]:
    for path, file in files.items():
        # A profile is the one record that is written again.
        known = isinstance(file, Message | Receipt | BlindCopy)
        record = file if known else None
        yield Loaded(path, blobs[path].data, record, is_replaced=not known)


def _is_shown(path: str, *, is_plain: bool) -> bool:
    return is_plain and parse_path(path).family is not Family.UNKNOWN
