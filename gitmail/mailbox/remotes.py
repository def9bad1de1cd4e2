"""The verbs about a remote: naming it, syncing with it, starting from it."""

import logging
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.clock import Clock
from gitmail.errors import GitmailError, InvalidArgumentError, StorageError
from gitmail.mailbox.checks import flag
from gitmail.mailbox.exchange_values import Beginning, Synced
from gitmail.mailbox.syncing import Sync, check_fetched, refuse_shallow
from gitmail.records.names import CommitId
from gitmail.store.creation import create_repository
from gitmail.store.lock import Lock
from gitmail.store.refs import BRANCH
from gitmail.store.remote import Remote, check_remote
from gitmail.store.remote_book import Failure, RemoteBook
from gitmail.store.repository import Repository
from gitmail.store.store import Store
from gitmail.store.transport import Git, open_transport

if TYPE_CHECKING:
    from gitmail.mailbox.mailbox import Mailbox

logger = logging.getLogger("gitmail")
_TIMEOUT_S = 60.0


def book_of(store: Store) -> RemoteBook:
    """Return what a mailbox knows of its remote."""
    return RemoteBook(store.git_dir, store.local)


def remote(mailbox: "Mailbox") -> Remote | None:
    """Return where the mailbox is exchanged, None where that is not set."""
    return book_of(mailbox.store).read()


def set_remote(mailbox: "Mailbox", url: str, *, branch: str = BRANCH) -> Remote:
    """Set where the mailbox is exchanged.

    Args:
        url: As git takes it.
        branch: The branch of the mailbox there.

    Raises:
        InvalidInputError: The URL or the branch.
    """
    found = check_remote(url, branch)
    place = found.folder.resolve() if found.folder else None
    if place in (mailbox.path.resolve(), mailbox.store.git_dir.resolve()):
        rule = "another repository than the mailbox itself"
        raise InvalidArgumentError("url", found.shown_url, rule)
    book_of(mailbox.store).write(found)
    return found


def remove_remote(mailbox: "Mailbox") -> Remote:
    """Forget the remote, and return it.

    Raises:
        NoRemoteError: There is none.
    """
    book = book_of(mailbox.store)
    found = book.needed()
    book.write(None)
    return found


def sync(mailbox: "Mailbox", *, push: bool = True, git: Git | None = None) -> Synced:
    """Fetch, merge and push, until both have the same.

    Whatever fails, what is here is durable and as good as before.

    Args:
        push: Whether to push as well.
        git: An installed git; None does it without.

    Raises:
        NoRemoteError: There is none.
        LockTimeoutError: Another sync of this mailbox is not done yet.
        RemoteFailedError, RemoteRewrittenError, OtherMailboxError, NotAMailboxError,
        CorruptMailboxError, PushRefusedError, RemoteMovedError, ShallowError: As each
            class says.
    """
    flag("push", push)
    store = mailbox.store
    book = book_of(store)
    transport = open_transport(store.git_dir, book.needed(), git)
    with Lock(store.local / "sync.lock").held(_TIMEOUT_S):
        try:
            done = Sync(store, book, transport, mailbox.now, push=push).run()
        except GitmailError as error:
            _note_failure(book, Failure(error.code, mailbox.now()))
            raise
        _note_failure(book, None)
        return done


def _note_failure(book: RemoteBook, failure: Failure | None) -> None:
    """Write down for `status` what went wrong, or that nothing did, if possible."""
    try:
        book.note_failure(failure)
    except StorageError as error:
        logger.warning("how the exchange went is not kept: %s", error)


def start(root: Path, remote: Remote, git: Git | None, clock: Clock) -> CommitId | None:
    """Make a mailbox from what a remote has of it; durable when it returns.

    A crash leaves a folder in which that can be done again; a failure leaves nothing.

    Returns:
        The commit at its tip, None where the branch is not there yet; the mailbox has
        no first commit then.
    """
    was_there = root.exists()
    create_repository(root)
    try:
        return _fetch(root, remote, git, clock)
    except GitmailError:
        shutil.rmtree(root / ".git" if was_there else root, ignore_errors=True)
        raise


def beginning(mailbox: "Mailbox", git: Git | None) -> Beginning | None:
    """Return what a new mailbox has found at its remote, None where it has none."""
    book = book_of(mailbox.store)
    remote = book.read()
    if remote is None:
        return None
    if book.seen():
        return Beginning(remote=remote, is_found=True)
    try:
        found = open_transport(mailbox.store.git_dir, remote, git).branches()
    except GitmailError as error:  # the mailbox is made; which others are is a help
        logger.info("what branches the remote has is not known: %s", error)
        return Beginning(remote=remote, is_found=False)
    return Beginning(remote=remote, is_found=False, branches=tuple(found))


def _fetch(
    root: Path, remote: Remote, git: Git | None, clock: Clock
) -> CommitId | None:
    store = Store(root)
    try:
        book = book_of(store)
        book.write(remote)
        transport = open_transport(store.git_dir, remote, git)
        tip = transport.fetch()
        if tip:
            refuse_shallow(store.git_dir)
            with closing(Repository(store.git_dir)) as repository:
                deeply = not transport.is_proving
                check_fetched(repository, tip, remote, None, deeply=deeply)
            transport.keep(tip)
            store.adopt(tip)
            book.note(tip, clock())
    finally:
        store.close()
    return tip
