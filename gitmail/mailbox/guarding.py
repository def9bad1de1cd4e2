"""What a push may do to a mailbox: what `verify` passes, and no more."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gitmail.errors import CorruptMailboxError, InvalidArgumentError
from gitmail.mailbox.verifying import Finding, Verified, verify_new
from gitmail.records.names import CommitId, is_hex
from gitmail.store.fetched import check_complete
from gitmail.store.history import is_ancestor
from gitmail.store.lost import LOST
from gitmail.store.refs import REF
from gitmail.store.repository import Repository
from gitmail.store.store import Store
from gitmail.store.view import View

_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class Update:
    """That a push moves a ref.

    Attributes:
        old, new: Ids, None for no ref.
    """

    old: CommitId | None
    new: CommitId | None
    ref: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a ref may not be moved so.

    Attributes:
        findings: What is wrong with the commits, if it is that.
    """

    ref: str
    reason: str
    findings: tuple[Finding, ...] = ()


def parse_updates(lines: Iterable[str]) -> list[Update]:
    """Return what git tells a `pre-receive` hook on its standard input.

    Raises:
        InvalidArgumentError: A line is none of `OLD NEW REF`.
    """
    updates = []
    for line in lines:
        old, _, rest = line.rstrip("\n").partition(" ")
        new, _, ref = rest.partition(" ")
        if not (is_hex(old) and is_hex(new) and ref):
            raise InvalidArgumentError("standard input", line, "lines of OLD NEW REF")
        updates.append(Update(_commit(old), _commit(new), ref))
    return updates


def refusals(
    store: Store, updates: Iterable[Update], incoming: Path | None, now: datetime
) -> list[Refusal]:
    """Return which moves of a push must be refused, and why.

    Args:
        incoming: The folder of the objects that come with the push, where git keeps
            them apart until it is accepted.
        now: The present.

    Raises:
        CorruptMailboxError: The mailbox itself cannot be read.
    """
    found = []
    for update in updates:
        refusal: Refusal | None
        if update.ref.startswith(f"{LOST}/"):
            refusal = Refusal(update.ref, "gitmail alone writes there")
        elif update.new is None:
            refusal = Refusal(update.ref, "it may not be deleted")
        else:
            refusal = _judge(store, update, update.new, incoming, now)
        if refusal:
            found.append(refusal)
    return found


def _judge(
    store: Store, update: Update, new: CommitId, incoming: Path | None, now: datetime
) -> Refusal | None:
    repository = Repository(store.git_dir, incoming=incoming)
    try:
        is_forward = update.old is None or is_ancestor(repository, update.old, new)
    except CorruptMailboxError:  # it is no branch
        is_forward = False
    finally:
        repository.close()
    if not is_forward:
        reason = "what was pushed does not stand on what is there; fetch, then merge"
        return Refusal(update.ref, reason)
    if update.ref != REF:
        return None
    try:
        _check_complete(store, update.old, new, incoming)
    except CorruptMailboxError as error:
        return Refusal(update.ref, str(error.details["what"]))
    wrong = _verify(store, update.old, new, incoming, now).findings
    if not wrong:
        return None
    return Refusal(update.ref, "the mailbox's rules do not allow it", wrong)


def _check_complete(
    store: Store, old: CommitId | None, new: CommitId, incoming: Path | None
) -> None:
    """Look for all that is pushed; who verifies looks at each path, and may be kept so.

    Raises:
        CorruptMailboxError: Something is missing, or there is no end to it.
    """
    with closing(Repository(store.git_dir, incoming=incoming)) as repository:
        base = repository.commit(old).tree if old else None
        if old is None:
            check_complete(repository, new, lambda _: False, base, deeply=True)
            return

        def check(view: View) -> None:
            check_complete(repository, new, view.index.knows_commit, base, deeply=True)

        store.read(check)


def _verify(
    store: Store,
    old: CommitId | None,
    new: CommitId,
    incoming: Path | None,
    now: datetime,
) -> Verified:
    if old is None:
        return verify_new(
            store.git_dir, new, lambda _: False, since=None, now=now, incoming=incoming
        )
    # The index knows what the tip stands on; walking there would take seconds.
    return store.read(
        lambda view: verify_new(
            store.git_dir,
            new,
            view.index.knows_commit,
            since=old,
            now=now,
            incoming=incoming,
        )
    )


def _commit(text: str) -> CommitId | None:
    return None if text == _NOTHING else CommitId(text)
