"""One mailbox on disk: reading at the tip, and writing one commit at a time.

`read` runs a function on a view of the tip; `update` runs one that plans a write, and
carries the plan out by the write path of DESIGN 6. Both may be called from several
threads and processes at once.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gitmail.errors import (
    BusyError,
    CorruptMailboxError,
    GitmailError,
    InvalidFileError,
    MailboxNotFoundError,
    StaleWriteError,
    StorageError,
    UnrelatedHistoriesError,
)
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.memory import MemoryRecord
from gitmail.records.message import Message
from gitmail.records.names import CommitId
from gitmail.records.paths import CHARTER_PATH
from gitmail.store import lost
from gitmail.store.discovery import LOCAL
from gitmail.store.disk import translated
from gitmail.store.files import Files
from gitmail.store.folding import PACKS_BEFORE_FOLDING, count_packs, fold
from gitmail.store.history import bases_below
from gitmail.store.keeper import IndexKeeper, Progress
from gitmail.store.kept import Kept
from gitmail.store.lock import Lock
from gitmail.store.pack import BLOB, NewObject
from gitmail.store.refs import REF, Branch
from gitmail.store.repository import Repository
from gitmail.store.view import File, Plan, View

if TYPE_CHECKING:
    from gitmail.store.merging import Note

logger = logging.getLogger("gitmail")
T = TypeVar("T")

LOCK_TIMEOUT_S = 10.0
FOLD_LOCK = "fold.lock"
_SETTLING_S = 1.0
_NO_BRANCH = f"{REF} is missing; `git update-ref {REF} COMMIT` brings it back"
_ATTEMPTS = 8
_RECOVERIES = 2  # a new file, then none at all
_MESSAGES_KEPT = 512
_MEMORIES_KEPT = 512


class Step(StrEnum):
    """How a history was brought into another."""

    NOTHING = "nothing"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Integrated:
    """What bringing in another history did, and what did not go by itself."""

    step: Step
    tip: CommitId
    notes: "tuple[Note, ...]" = ()


class Store:
    """The repository, the files beside it, and the index of one mailbox.

    Args:
        root: The mailbox's folder, which holds the files and `.git`.
        progress: Told how far a long piece of work is.
        folds: Whether packs are folded in the background when there are many; who
            ends right after one call does that otherwise.
    """

    def __init__(
        self, root: Path, *, progress: Progress | None = None, folds: bool = True
    ) -> None:
        git_dir = root / ".git"
        if not (git_dir / "objects").is_dir():
            raise MailboxNotFoundError(str(root))
        self.root = root
        self.progress = progress
        self.local = git_dir / LOCAL
        with suppress(OSError):  # a read-only mailbox can still be read
            self.local.mkdir(exist_ok=True)
        self.branch = Branch(git_dir, self.local)
        self._lock = Lock(self.local / "write.lock")
        self._mutex = threading.RLock()
        self._repository = Repository(git_dir)
        self._files = Files(root, self.local / "shown", self._repository)
        database = self.local / "index.sqlite"
        self._keeper = IndexKeeper(database, self._repository, progress)
        self._messages: Kept[Message] = Kept(_MESSAGES_KEPT)
        self._memories: Kept[MemoryRecord] = Kept(_MEMORIES_KEPT)
        self._revisions: Kept[Any] = Kept(_MEMORIES_KEPT)
        self._charter: tuple[str, Charter] | None = None
        self._folds = folds
        self._fold_lock = Lock(self.local / FOLD_LOCK)
        self._fold_mutex = threading.Lock()
        self._folding: threading.Thread | None = None

    def close(self) -> None:
        """Close what is open; the store must not be used afterwards."""
        if self._folding:
            self._folding.join()
        with self._mutex:
            self._keeper.close()
            self._repository.close()
            self.branch.close()

    def read(self, ask: Callable[[View], T]) -> T:
        """Return what the function makes of the mailbox at its tip.

        Raises:
            CorruptMailboxError: Objects are missing or damaged.
            UnsupportedFormatError: The mailbox is of a newer format.
        """
        with self._mutex:
            for attempt in range(_RECOVERIES):
                try:
                    return self._ask(ask)
                except sqlite3.DatabaseError as error:
                    self._keeper.recover(error, in_memory=attempt > 0)
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
            DiskError: Nothing was changed, unless the reason says that it may have.
        """
        with self._lock.held(LOCK_TIMEOUT_S):
            for _ in range(_ATTEMPTS):
                with self._mutex:
                    base, plan = self.read(lambda view: (view.tip, build(view)))
                    if not plan.files:
                        return plan.result, None
                    commit = self._commit(base, plan)
                if commit:
                    break
            else:
                raise StaleWriteError(_ATTEMPTS)
        if self._folds:
            self._fold_in_background()
        return plan.result, commit

    def integrate(
        self, theirs: CommitId, by: str, moment: datetime, subject: str
    ) -> Integrated:
        """Bring what another history has into this one, as one durable step.

        Args:
            theirs: A commit whose objects are here and have been checked.
            by: The author of the merge commit, where there has to be one.

        Raises:
            UnrelatedHistoriesError: The two have no commit in common.
            LockTimeoutError, StaleWriteError, DiskFullError, ReadOnlyError, DiskError:
                As `update`.
        """

        def look(view: View) -> tuple[CommitId, list[CommitId]]:
            knows = view.index.knows_commit
            return view.tip, bases_below(view.repository, view.tip, theirs, knows)

        with self._lock.held(LOCK_TIMEOUT_S):
            for _ in range(_ATTEMPTS):
                with self._mutex:
                    ours, bases = self.read(look)
                    done = self._integrate(ours, theirs, bases, by, moment, subject)
                if done:
                    break
            else:
                raise StaleWriteError(_ATTEMPTS)
        if self._folds:
            self._fold_in_background()
        return done

    def _integrate(
        self,
        ours: CommitId,
        theirs: CommitId,
        bases: list[CommitId],
        by: str,
        moment: datetime,
        subject: str,
    ) -> Integrated | None:
        repository = self._repository
        if theirs in bases:
            return Integrated(Step.NOTHING, ours)
        if not bases:
            raise UnrelatedHistoriesError(ours, theirs)
        from gitmail.store.merging import (  # noqa: PLC0415 - most calls merge nothing
            TreeMerge,
            base_tree,
        )

        trees = [repository.commit(each).tree for each in (ours, theirs)]
        # Also where all of ours is in theirs: what may not be done to mail is undone.
        merge = TreeMerge(repository, base_tree(repository, bases), *trees)
        if ours in bases and merge.tree == trees[1]:
            if not self.branch.move(ours, theirs):
                return None
            self._show(ours, theirs)
            return Integrated(Step.FAST_FORWARD, theirs)
        message: Plan[None] = Plan(
            result=None, operation="sync", agent=by, subject=subject
        )
        commit = repository.build_commit(
            merge.tree, (ours, theirs), by, moment, message.commit_message
        )
        new = CommitId(commit.sha.hex())
        with repository.added([*merge.objects, commit]):
            if not self.branch.move(ours, new):
                return None
        self._show(ours, new)
        return Integrated(Step.MERGED, new, tuple(merge.notes))

    @property
    def git_dir(self) -> Path:
        """The mailbox's repository."""
        return self.root / ".git"

    def adopt(self, tip: CommitId) -> None:
        """Begin a new mailbox with a history that has been fetched into it.

        Raises:
            CorruptMailboxError: It is no mailbox's, or the repository has one already.
            UnsupportedFormatError: It is of a newer format.
        """
        with self._lock.held(LOCK_TIMEOUT_S), self._mutex:
            self._view(tip)  # which reads the charter
            if not self.branch.move(None, tip):
                what = "it has a branch already"
                raise CorruptMailboxError(what, str(self.root))
            self._files.roll_to(tip)

    def create(self, files: Mapping[str, File], plan: Plan[None]) -> CommitId:
        """Write the first commit of a new repository, unless it is there."""
        with self._lock.held(LOCK_TIMEOUT_S), self._mutex:
            if self.branch.read() is None and self.has_files():
                raise CorruptMailboxError(_NO_BRANCH, str(self.root))
            blobs = {path: NewObject.of(BLOB, f.data) for path, f in files.items()}
            tip = self.branch.read() or self._write(None, blobs, plan)
            if tip is None:
                raise StaleWriteError(1)
            self._files.roll_to(tip)
            return tip

    def has_files(self) -> bool:
        """Tell whether files stand beside the repository, as soon as it was in use."""
        with translated(self.root):
            return any(name != ".git" for name in os.listdir(self.root))

    def hand_edits(self) -> list[tuple[str, str]]:
        """Return what on disk is not the tip's, each with what was done to it.

        Returns:
            Pairs of path and one of `modified`, `deleted`, `added`.
        """
        with self._mutex:
            tip = self.branch.read()
            found = self._files.hand_edits(tip) if tip else []
        if found:  # or a writer was just at it, or was killed
            with suppress(BusyError, StorageError), self._lock.held(_SETTLING_S):
                found = self._settled(found)
        return [
            (os.fsencode(path).decode("utf-8", "backslashreplace"), what)
            for path, what in found
        ]

    def _settled(self, found: list[tuple[str, str]]) -> list[tuple[str, str]]:
        with self._mutex:
            tip = self.branch.read()
            if tip is None:
                return []
            self._roll(tip)
            return self._files.still_edited(found, tip)

    def needs_housekeeping(self) -> bool:
        """Tell whether there are so many packs that they should be folded."""
        return count_packs(self._repository.pack_folder) >= PACKS_BEFORE_FOLDING

    def housekeeping(self) -> int:
        """Fold small packs into one; returns how many fewer there are.

        Readers, writers and `git gc` may go on meanwhile. A crash leaves every object
        in some pack.

        Raises:
            StorageError: Something cannot be read or written; nothing is lost.
        """
        if not self._fold_lock.take():
            return 0  # another process is at it
        try:
            gone = fold(self._repository.pack_folder)
        finally:
            self._fold_lock.free()
        with self._mutex:
            self._keeper.shrink()
        return gone

    def _fold_in_background(self) -> None:
        def run() -> None:
            try:
                self.housekeeping()
            except GitmailError as error:
                logger.warning("the packs stay unfolded: %s", error)

        # What the caller wanted has happened; nothing here may say otherwise, not even
        # that a process at its end starts no more threads.
        with self._fold_mutex, suppress(StorageError, RuntimeError):
            is_folding = self._folding and self._folding.is_alive()
            if not is_folding and self.needs_housekeeping():
                thread = threading.Thread(target=run, name="gitmail-fold", daemon=True)
                thread.start()
                self._folding = thread

    def _ask(self, ask: Callable[[View], T]) -> T:
        while True:
            tip = self.branch.read()
            if tip is None:
                raise CorruptMailboxError(_NO_BRANCH, str(self.root))
            self._roll_forward(tip)
            index = self._keeper.index()
            index.execute("BEGIN")
            try:
                if index.commit == tip:
                    return ask(self._view(tip))
            finally:
                self._keeper.end_reading()
            self._keeper.catch_up(self.branch.read)

    def _view(self, tip: CommitId) -> View:
        tree = self._repository.commit(tip).tree
        blob = self._repository.file_id(tree, CHARTER_PATH)
        if blob is None:
            what = f"{CHARTER_PATH} is missing"
            raise CorruptMailboxError(what, str(self.root))
        if self._charter is None or self._charter[0] != blob:
            data = self._repository.blob(blob)
            try:
                self._charter = blob, parse_charter(data, str(self.root))
            except InvalidFileError as error:
                what = f"{CHARTER_PATH}, line {error.line}: {error.reason}"
                raise CorruptMailboxError(what, str(self.root)) from error
        return View(
            tip,
            tree,
            self._charter[1],
            self._repository,
            self._keeper.index(),
            self._messages,
            self._memories,
            self._revisions,
        )

    def _roll_forward(self, tip: CommitId) -> None:
        """Bring the files on disk to the tip, unless a writer is at work."""
        if self._files.shown() == tip:
            return
        try:
            if not self._lock.take():
                return
            try:
                self._roll(self.branch.read() or tip)
            finally:
                self._lock.free()
        except StorageError as error:  # reading does not need these files
            logger.info("the files on disk stay behind the mailbox: %s", error)

    def _commit(self, base: CommitId, plan: Plan[T]) -> CommitId | None:
        blobs = {
            path: NewObject.of(BLOB, file.data) if file else None
            for path, file in plan.files.items()
        }
        commit = self._write(base, blobs, plan)
        if commit is None:
            return None
        self._show(base, commit, ((p, b.data if b else None) for p, b in blobs.items()))
        self._keeper.note(base, commit, plan.files, blobs)
        return commit

    def _show(
        self,
        before: CommitId,
        tip: CommitId,
        files: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> None:
        """Bring the files on disk to the branch's tip; the caller has the lock.

        It has happened: what fails here is made good by the next call.

        Args:
            before: What the branch was at, which the tip stands on.
            files: All that differs between the two, where that is known.
        """
        try:
            if self._files.shown() != before:
                self._roll(before)
            if files is None:
                self._files.roll_to(tip)
            else:
                self._files.show(files, tip)
        except GitmailError as error:
            logger.warning("the files on disk stay behind the mailbox: %s", error)

    def _roll(self, tip: CommitId) -> None:
        """Bring the files on disk to a tip from elsewhere; the caller has the lock."""
        had = self._files.shown()
        lost.keep_if_lost(self.git_dir, self._repository, had, tip)
        if had != tip:
            self._files.roll_to(tip)

    def _write(
        self,
        base: CommitId | None,
        blobs: Mapping[str, NewObject | None],
        plan: Plan[T],
    ) -> CommitId | None:
        """Write the objects of a commit and move the branch; None if it had moved."""
        if plan.moment is None:
            msg = "a plan that writes names its moment"
            raise TypeError(msg)
        tree = self._repository.commit(base).tree if base else None
        root, trees = self._repository.build_tree(tree, blobs)
        commit = self._repository.build_commit(
            root, (base,) if base else (), plan.agent, plan.moment, plan.commit_message
        )
        new = CommitId(commit.sha.hex())
        new_blobs = [blob for blob in blobs.values() if blob]
        with self._repository.added([*new_blobs, *trees, commit]):
            return new if self.branch.move(base, new) else None
