"""Sync: fetch, merge, push, a bounded number of times (CAPABILITIES V3)."""

import time
from collections.abc import Callable
from datetime import datetime
from random import Random

from gitmail.errors import (
    CorruptMailboxError,
    InvalidFileError,
    OtherMailboxError,
    RemoteMovedError,
    RemoteRewrittenError,
)
from gitmail.mailbox.audit import GITMAIL
from gitmail.mailbox.exchange_values import Exchange, Relation, Synced
from gitmail.records.charter import parse_charter
from gitmail.records.names import CommitId
from gitmail.records.paths import CHARTER_PATH
from gitmail.store.history import ahead_and_behind, is_ancestor
from gitmail.store.remote import NAME, RemoteBook
from gitmail.store.store import Step, Store
from gitmail.store.transport import Transport
from gitmail.store.view import View

ROUNDS = 6
"""How often a push is tried that somebody else is quicker at."""
_PAUSE_S = 0.05


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
        self._url = book.needed().shown_url
        self._fetched = 0
        self._step = Step.NOTHING
        self._notes: list[tuple[str, str]] = []

    def run(self, chance: Random) -> Synced:
        """Exchange commits until both have the same, or give up.

        Raises:
            RemoteFailedError: It cannot be reached.
            RemoteRewrittenError: Its history was rewritten; nothing was taken from it.
            OtherMailboxError: It is another mailbox.
            PushRefusedError: It does not accept what is pushed; here all is well.
            RemoteMovedError: Others were quicker each time; here all is well.
        """
        for rounds in range(1, ROUNDS):
            try:
                return self._round(rounds)
            except RemoteMovedError:
                time.sleep(_PAUSE_S * 2**rounds * chance.random())
        return self._round(ROUNDS)

    def _round(self, rounds: int) -> Synced:
        theirs = self._pull()
        tip = self._store.read(lambda view: view.tip)
        pushed = 0
        if self._push and theirs != tip:
            pushed = _counts(self._store, theirs)[0]
            self._transport.push(tip, theirs)
            theirs = tip
        if theirs:
            self._book.note(theirs, self._now())
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
            self._refuse_rewritten(there)
            return there
        theirs = self._transport.fetch() or there
        self._refuse_rewritten(theirs)
        self._store.read(lambda view: _refuse_other(view, theirs, self._url))
        self._fetched += _counts(self._store, theirs)[1]
        # Where it comes from is nobody's business who reads the history.
        what = f"{self._fetched} commits from {NAME}"
        done = self._store.integrate(theirs, GITMAIL, self._now(), what)
        self._step = max(self._step, done.step, key=list(Step).index)
        self._notes += [(note.path, note.text) for note in done.notes]
        return theirs

    def _refuse_rewritten(self, theirs: CommitId) -> None:
        """Refuse a remote that no longer has what it had.

        Raises:
            RemoteRewrittenError: Somebody rebased, squashed or forced it.
        """
        seen = self._book.seen()
        if seen is None or seen.tip == theirs:
            return
        if not self._store.read(lambda v: is_ancestor(v.repository, seen.tip, theirs)):
            raise RemoteRewrittenError(self._url, seen.tip, theirs)


def exchange(view: View, book: RemoteBook) -> Exchange | None:
    """Return how the mailbox stands to its remote, None where it has none."""
    remote, seen = book.read(), book.seen()
    if remote is None:
        return None
    if seen is None:
        return Exchange(remote=remote, relation=Relation.UNKNOWN)
    ahead, behind = ahead_and_behind(view.repository, view.tip, seen.tip)
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
    )


def _counts(store: Store, theirs: CommitId | None) -> tuple[int, int]:
    """Return how many commits only we have, and only they have."""

    def count(view: View) -> tuple[int, int]:
        if theirs is None:
            total = view.index.execute("SELECT count(*) FROM commits").fetchone()[0]
            return int(total), 0
        return ahead_and_behind(view.repository, view.tip, theirs)

    return store.read(count)


def _refuse_other(view: View, theirs: CommitId, shown: str) -> None:
    """Refuse a commit that is none of this mailbox.

    Raises:
        OtherMailboxError: It is one of another.
        CorruptMailboxError: It has no charter that can be read.
    """
    tree = view.repository.commit(theirs).tree
    blob = view.repository.lookup(tree, CHARTER_PATH)
    if blob is None:
        raise CorruptMailboxError(f"{CHARTER_PATH} is missing", shown)
    try:
        charter = parse_charter(view.repository.blob(blob), shown)
    except InvalidFileError as error:
        what = f"{CHARTER_PATH}, line {error.line}: {error.reason}"
        raise CorruptMailboxError(what, shown) from error
    if charter.id != view.charter.id:
        raise OtherMailboxError(shown, view.charter.id, charter.id)
