"""Sync: fetch, merge, push, a bounded number of times (CAPABILITIES V3)."""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random

from gitmail.errors import (
    BusyError,
    CorruptMailboxError,
    GitmailError,
    InvalidFileError,
    NotAMailboxError,
    OtherMailboxError,
    RemoteLockedError,
    RemoteMovedError,
    ShallowError,
    StorageError,
    UnrelatedHistoriesError,
)
from gitmail.mailbox.audit import GITMAIL
from gitmail.mailbox.exchange_values import Exchange, Relation, Synced
from gitmail.mailbox.rewritten import (
    commands_to_keep_both,
    common_commits,
    refuse_rewritten,
)
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.names import CommitId
from gitmail.records.paths import CHARTER_PATH
from gitmail.store.fetched import check_complete
from gitmail.store.history import ahead_and_behind
from gitmail.store.remote import NAME, Remote
from gitmail.store.remote_book import RemoteBook
from gitmail.store.repository import Repository
from gitmail.store.store import Step, Store
from gitmail.store.transport import Transport
from gitmail.store.view import View

logger = logging.getLogger("gitmail")

ROUNDS = 6
"""How often a push is tried that somebody else is quicker at."""
_PAUSE_S = 0.05
_CHANCE = Random()  # noqa: S311 - spreads retries, guards nothing


class Sync:
    """One exchange with the remote.

    Args:
        push: Whether to push as well.
    """

    def __init__(
        self,
        store: Store,
        book: RemoteBook,
        transport: Transport,
        now: Callable[[], datetime],
        *,
        push: bool,
    ) -> None:
        self._store = store
        self._book = book
        self._transport = transport
        self._now = now
        self._push = push
        self._remote = book.needed()
        self._fetched = 0
        self._step = Step.NOTHING
        self._notes: list[tuple[str, str]] = []

    def run(self) -> Synced:
        """Exchange commits until both have the same, or give up.

        Raises:
            RemoteFailedError: It cannot be reached.
            RemoteRewrittenError: Its history was rewritten; nothing was taken from it.
            NotAMailboxError, OtherMailboxError: It is not this mailbox.
            CorruptMailboxError: What it has is not complete; nothing was taken.
            ShallowError: A part of the history is missing here.
            PushRefusedError: It does not accept what is pushed; here all is well.
            RemoteMovedError, RemoteLockedError: Others were quicker each time, or left
                a lock; here all is well.
        """
        refuse_shallow(self._store.git_dir)
        for rounds in range(1, ROUNDS):
            try:
                return self._round(rounds)
            except (RemoteMovedError, RemoteLockedError):
                time.sleep(_PAUSE_S * 2**rounds * _CHANCE.random())
        return self._round(ROUNDS)

    def _round(self, rounds: int) -> Synced:
        theirs = self._pull()
        tip = self._store.read(lambda view: view.tip)
        pushed = 0
        if self._push and theirs != tip:
            pushed = _counts(self._store, theirs)[0]
            self._transport.push(tip, theirs)
        if theirs is None and self._is_known():
            does = "and was pushed again" if pushed else "and is not pushed"
            self._notes.append((self._remote.ref, f"it was gone there, {does}"))
        if pushed:
            theirs = tip
        if theirs:
            self._note(theirs, is_pushed=pushed > 0)
        return Synced(
            fetched_count=self._fetched,
            pushed_count=pushed,
            step=self._step,
            tip=tip,
            remote_tip=theirs,
            rounds=rounds,
            notes=tuple(self._notes),
        )

    def _pull(self) -> CommitId | None:
        """Bring in what the remote has, and return its commit."""
        there = self._transport.tip()
        if there is None:
            return None
        if self._store.read(lambda view: view.index.knows_commit(there)):
            self._book.note_there(there)
            self._refuse_rewritten(there)
            return there
        theirs = self._transport.fetch()
        if theirs is None:
            return None
        self._check(theirs)
        self._book.note_there(theirs)
        self._refuse_rewritten(theirs)
        self._fetched += _counts(self._store, theirs)[1]
        # Where it comes from is nobody's business who reads the history.
        what = f"{self._fetched} commits from {NAME}"
        try:
            # Only who has something to bring in waits for it.
            from gitmail.store.bringing import bring_in  # noqa: PLC0415 - as said

            done = bring_in(self._store, theirs, GITMAIL, self._now(), what)
        except UnrelatedHistoriesError as error:
            ours = str(error.details["ours"])
            commands = commands_to_keep_both(
                self._store.root, self._remote, is_related=False
            )
            raise UnrelatedHistoriesError(ours, theirs, commands) from error
        self._step = max(self._step, done.step, key=list(Step).index)
        self._notes += [(note.path, note.text) for note in done.notes]
        return theirs

    def _is_known(self) -> bool:
        """Tell whether an exchange has succeeded before."""
        seen = self._book.seen()
        return bool(seen and seen.tip)

    def _check(self, theirs: CommitId) -> None:
        """Refuse what is not this mailbox, or not all of it."""

        def check(view: View) -> None:
            deeply = not self._transport.is_proving
            try:
                found = check_fetched(
                    view.repository, theirs, self._remote, view, deeply=deeply
                )
                self._refuse_other(view.charter, found)
            except (NotAMailboxError, OtherMailboxError):
                # What stands on our history is this mailbox, whatever was done to its
                # charter; it keeps ours.
                if not common_commits(view, theirs):
                    raise

        try:
            self._store.read(check)
        except GitmailError:
            self._transport.keep(None)
            raise
        self._transport.keep(theirs)

    def _refuse_other(self, ours: Charter, theirs: Charter) -> None:
        if theirs.id != ours.id:
            join = f"gitmail init --from {self._remote.words}"
            here = str(self._store.root), join
            where = self._remote.shown_url
            raise OtherMailboxError(where, ours.id, theirs.id, here)

    def _refuse_rewritten(self, theirs: CommitId) -> None:
        """Refuse a remote that no longer has what it had.

        Raises:
            RemoteRewrittenError: Somebody rebased, squashed or forced it.
        """
        seen = self._book.seen()
        was = seen.tip if seen else None
        if was is None or was == theirs:
            return

        root, remote = self._store.root, self._remote
        self._store.read(lambda v: refuse_rewritten(v, root, remote, was, theirs))

    def _note(self, theirs: CommitId, *, is_pushed: bool) -> None:
        try:
            if is_pushed:
                self._transport.keep(theirs)
            self._book.note(theirs, self._now())
        except (BusyError, StorageError) as error:  # all that matters has been done
            logger.warning("when the last exchange was is not kept: %s", error)


def check_fetched(
    repository: Repository,
    theirs: CommitId,
    remote: Remote,
    view: View | None,
    *,
    deeply: bool,
) -> Charter:
    """Check that all of a commit that was fetched is there, and return its charter.

    Args:
        view: The mailbox here, None where there is none yet.
        deeply: Whether to look for everything that each commit brought, and not only
            for all commits and for the files at the last.

    Raises:
        CorruptMailboxError: Something is missing or damaged.
        NotAMailboxError: It has no charter that can be read.
        UnsupportedFormatError: The mailbox was written by a newer gitmail.
    """
    shown = remote.shown_url
    is_known = view.index.knows_commit if view else lambda _: False
    ours = view.tree if view else None
    try:
        check_complete(repository, theirs, is_known, ours, deeply=deeply)
        tree = repository.commit(theirs).tree
        blob = repository.file_id(tree, CHARTER_PATH)
        if blob is None:
            raise NotAMailboxError(shown, remote.branch, is_new=view is None)
        return parse_charter(repository.blob(blob), shown)
    except InvalidFileError as error:
        raise NotAMailboxError(shown, remote.branch, is_new=view is None) from error
    except CorruptMailboxError as error:  # not the mailbox here
        raise CorruptMailboxError(str(error.details["what"]), shown) from error


def refuse_shallow(git_dir: Path) -> None:
    """Refuse a repository of which a part of the history is missing.

    Raises:
        ShallowError: It is shallow.
    """
    if (git_dir / "shallow").exists():
        raise ShallowError(str(git_dir.parent))


def exchange(view: View, book: RemoteBook) -> Exchange | None:
    """Return how the mailbox stands to its remote, None where it has none."""
    remote, seen, failure = book.read(), book.seen(), book.failure()
    if remote is None:
        return None
    if seen is None or not view.repository.has(seen.there):
        return Exchange(remote=remote, relation=Relation.UNKNOWN, failure=failure)
    ahead, behind = ahead_and_behind(view.repository, view.tip, seen.there)
    relation = {
        (False, False): Relation.SAME,
        (True, False): Relation.AHEAD,
        (False, True): Relation.BEHIND,
        (True, True): Relation.DIVERGED,
    }[bool(ahead), bool(behind)]
    return Exchange(
        remote=remote,
        relation=relation,
        ahead_count=ahead,
        behind_count=behind,
        at=seen.at,
        failure=failure,
    )


def _counts(store: Store, theirs: CommitId | None) -> tuple[int, int]:
    """Return how many commits only we have, and only they have."""

    def count(view: View) -> tuple[int, int]:
        if theirs is None:
            total = view.index.execute("SELECT count(*) FROM commits").fetchone()[0]
            return int(total), 0
        return ahead_and_behind(view.repository, view.tip, theirs)

    return store.read(count)
