"""Examining a mailbox for what crashes leave behind, and mending it (CAPABILITIES V7).

It works from the files upwards and does not open the mailbox as the verbs do, for that
may be what fails. What others need is mended first: settings, then objects, then the
branch, then the files on disk. Other processes may go on writing all the while.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

from gitmail.errors import (
    BusyError,
    CorruptMailboxError,
    DiskError,
    GitmailError,
    ReadOnlyError,
)
from gitmail.records.names import CommitId
from gitmail.store.byproducts import check_byproducts
from gitmail.store.discovery import check_mailbox
from gitmail.store.disk import remove_quietly, translated
from gitmail.store.files import Files
from gitmail.store.findings import Case, Checkup, Kind
from gitmail.store.keeper import Progress
from gitmail.store.layout import check_layout
from gitmail.store.leftovers import check_locks, check_temporary_files
from gitmail.store.lock import Lock
from gitmail.store.lost import keep_if_lost
from gitmail.store.recovering import check_lost
from gitmail.store.references import check_branch_place, check_checkouts, check_refs
from gitmail.store.refs import Branch
from gitmail.store.repository import Repository
from gitmail.store.restoring import check_history
from gitmail.store.store import FOLD_LOCK, LOCK_TIMEOUT_S, Store

_EDITS = {
    "modified": (Kind.FILE_MODIFIED, "it is not what the tip has"),
    "deleted": (Kind.FILE_DELETED, "it is missing on the disk"),
    "added": (Kind.FILE_ADDED, "the tip has no such file"),
}
_ROUNDS = 3
_LOOKING_S = 1.0


def examine(
    root: Path,
    *,
    repair: bool,
    moment: datetime,
    progress: Progress | None = None,
) -> Checkup:
    """Look for what is wrong with a mailbox, and mend it if that is wanted.

    A crash leaves it no worse: what is moved was made anew before.

    Args:
        root: The mailbox's folder.
        repair: Whether to mend. What is in the way is moved below
            `.git/gitmail/rescued`; only what never was finished is deleted.
        moment: The present.

    Raises:
        LockTimeoutError: Another doctor is at work.
        StorageError: The folder cannot be read.
    """
    case = Case(root, repairs=repair, moment=moment, progress=progress)
    with ExitStack() as stack, translated(root):
        if _has_local_state(case):
            if repair:
                stack.enter_context(Lock(case.stamp).held(LOCK_TIMEOUT_S))
                # Folding would copy what is damaged to where nobody looked for it.
                fold_lock = Lock(case.local / FOLD_LOCK)
                stack.enter_context(fold_lock.held(LOCK_TIMEOUT_S))
            _check_all(case)
    return Checkup(
        path=str(root),
        findings=tuple(case.findings),
        rescued=str(case.rescued) if case.rescued else None,
    )


def _has_local_state(case: Case) -> bool:
    """Make the folder of local state, unless something else is in its place."""
    local = case.local
    if os.path.lexists(local) and not local.is_dir():
        return case.found(
            Kind.INCOMPLETE_REPOSITORY,
            local,
            "it is no folder, so that the rest cannot be looked at",
            mend=partial(_make_local_state, case),
        )
    with suppress(OSError):  # a mailbox that cannot be written can be looked at
        local.mkdir(exist_ok=True)
    return True


def _make_local_state(case: Case) -> str:
    was = case.rescue_beside(case.local)
    case.local.mkdir()
    return f"made, what was there {was}"


def _check_all(case: Case) -> None:
    check_locks(case)  # first, for whoever mends the rest takes them too
    check_layout(case)
    check_temporary_files(case)
    check_byproducts(case)
    check_refs(case)
    if not check_branch_place(case):
        return  # the rest starts from the branch
    check_checkouts(case)
    check_history(case)
    check_lost(case)
    _check_files(case)
    _check_index(case)
    _check_use(case)


def _check_files(case: Case) -> None:
    """Find what on disk is not the tip's."""
    for _ in range(_ROUNDS if case.repairs else 1):  # a link may hide what is missing
        before = len(case.findings)
        with (
            closing(Repository(case.git_dir)) as repository,
            closing(Branch(case.git_dir, case.local)) as branch,
            suppress(CorruptMailboxError),  # which is said already
        ):
            _FileCheck(case, repository, branch).run()
        if len(case.findings) == before:
            break


class _FileCheck:
    """One comparison of the files on disk with the tip."""

    def __init__(self, case: Case, repository: Repository, branch: Branch) -> None:
        self._case = case
        self._repository = repository
        self._branch = branch
        self._files = Files(case.root, case.local / "shown", repository)

    def run(self) -> None:
        """Take down each difference, after mending it where that is wanted."""
        tip = self._branch.read()
        edits = self._files.hand_edits(tip) if tip else []
        if not edits:
            return
        patience_s = LOCK_TIMEOUT_S if self._case.repairs else _LOOKING_S
        try:
            with self._case.writer_lock.held(patience_s):
                self._settle(edits)
        except (BusyError, ReadOnlyError) as error:
            for path, edit in edits:
                self._found(path, edit, partial(_refuse, error))

    def _settle(self, edits: list[tuple[str, str]]) -> None:
        """Look again now that nobody writes: a writer was at it, or was killed."""
        tip = self._branch.read()
        if tip is None:
            return
        had = self._files.shown()
        if had != tip:
            keep_if_lost(self._case.git_dir, self._repository, had, tip)
            self._files.roll_to(tip)
        still = self._files.still_edited(edits, tip)
        # What is in the way goes first.
        for path, edit in sorted(still, key=lambda each: (each[1] == "deleted", each)):
            self._found(path, edit, partial(self._put_right, path, edit, tip))

    def _found(self, path: str, edit: str, mend: Callable[[], str]) -> None:
        kind, detail = _EDITS[edit]
        self._case.found(kind, self._case.root / path, detail, mend=mend)

    def _put_right(self, path: str, edit: str, tip: CommitId) -> str:
        place = self._case.root / path
        words = []
        if os.path.lexists(place):
            words.append(self._case.rescue(place))
            _remove_empty(place.parent, self._case.root)
        if edit != "added":
            tree = self._repository.commit(tip).tree
            blob = self._repository.lookup(tree, path)
            data = self._repository.blob(blob) if blob else None
            self._files.show([(path, data)], tip)
            if self._files.still_edited([(path, edit)], tip):
                raise DiskError(str(place), "something is in its place")
            words.append("put back")
        return ", ".join(words) or "moved with its folder"


def _refuse(error: GitmailError) -> NoReturn:
    raise error


def _remove_empty(folder: Path, root: Path) -> None:
    with suppress(OSError):  # something is in it
        while folder != root:
            folder.rmdir()
            folder = folder.parent


def _check_index(case: Case) -> None:
    """Find out whether the index is a sound database."""
    index = case.local / "index.sqlite"
    damage = _damage(index)
    if damage:
        case.found(Kind.DAMAGED_INDEX, index, damage, mend=partial(_drop_index, index))


def _damage(index: Path) -> str | None:
    if not index.exists():
        return None
    try:
        where = f"{index.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(where, uri=True, timeout=LOCK_TIMEOUT_S)) as base:
            rows = base.execute("PRAGMA integrity_check(3)").fetchall()
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0)
        is_damage = code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if is_damage else None
    said = "; ".join(str(row[0]) for row in rows)
    return None if said == "ok" else said.replace("\n", " ")


def _drop_index(index: Path) -> str:
    # By this lock alone a database is removed or made, see `keeper`.
    with Lock(index.with_name("index.lock")).held(LOCK_TIMEOUT_S):
        if _damage(index) is None:
            return "somebody else made it anew"
        for ending in ("", "-wal", "-shm"):
            remove_quietly(f"{index}{ending}")
    return "removed, to be made anew"


def _check_use(case: Case) -> None:
    """Open the mailbox as every call does, which also makes the index anew."""
    if not all(each.is_repaired for each in case.findings):
        return
    try:
        check_mailbox(case.root)
        store = Store(case.root, progress=case.progress, folds=False)
        with closing(store):
            store.read(lambda view: view.charter)
    except GitmailError as error:
        advice = error.hint
        if isinstance(error, CorruptMailboxError):  # whose hint is to come here
            advice = "Put it right in a clone, and push that"
        case.found(Kind.UNUSABLE, case.root, error.message, advice=advice)
