"""Bundles: the mailbox as a file, for where no network reaches (CAPABILITIES V4)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.errors import (
    ConflictError,
    FolderInUseError,
    GitmailError,
    InvalidArgumentError,
    OtherMailboxError,
    UnrelatedHistoriesError,
)
from gitmail.mailbox.audit import GITMAIL
from gitmail.mailbox.bundle_bases import LAST, mark, remember
from gitmail.mailbox.bundle_making import ask, pack_of
from gitmail.mailbox.bundle_values import Applied, Bundled, Inspected, contents_of
from gitmail.records.names import CommitId, parse_agent_name
from gitmail.store.bundle import (
    Bundle,
    read_bundle,
    remark_of,
    shown_path,
    target_of,
    write_bundle,
)
from gitmail.store.creation import create_repository
from gitmail.store.disk import translated
from gitmail.store.keeper import Progress
from gitmail.store.pack import release_pack, write_pack
from gitmail.store.store import Integrated, Step, Store
from gitmail.store.transport import Git

if TYPE_CHECKING:  # commands that are about no bundle do not wait for the rest
    from gitmail.mailbox.mailbox import Mailbox
    from gitmail.store.incoming import Checked, Incoming


@dataclass(frozen=True, kw_only=True, slots=True)
class _Opened:
    """A bundle that was read, and what is here.

    Attributes:
        known: Which of its commits, and of those that they stand on, are here.
        tip, mailbox: The commit and the mailbox here; None where there is none.
    """

    bundle: Bundle
    incoming: "Incoming"
    known: frozenset[CommitId] = frozenset()
    tip: CommitId | None = None
    mailbox: str | None = None

    def check(self) -> "Checked":
        """Check that it can be applied; nothing is written.

        Raises:
            BundleInvalidError, BundleIncompleteError, OtherMailboxError,
            UnrelatedHistoriesError: It cannot.
        """
        theirs = self.incoming.mailbox
        if self.mailbox and theirs and theirs != self.mailbox:
            raise OtherMailboxError(self.bundle.path, self.mailbox, theirs)
        checked = self.incoming.check(self.known)
        if self.tip and not checked.is_related:
            raise UnrelatedHistoriesError(self.tip, self.bundle.tip)
        return checked


def create(
    mailbox: "Mailbox",
    file: str | Path,
    *,
    since: str = LAST,
    git: Git | None = None,
) -> Bundled:
    """Write a bundle of the mailbox, or of what is new; durable when it returns.

    Where nothing is new, no file is written. A crash leaves the file as it was, and
    at most a temporary file beside it.

    Args:
        file: Where to; a file that is there is replaced, and a link followed.
        since: `last` for what came since the last bundle that was made or applied
            here, `all`, or a cursor: what its commit has is left out.
        git: An installed git, which is faster; None does it without.

    Raises:
        InvalidArgumentError: No bundle may be written there.
        InvalidCursorError: `since` names no commit of this mailbox's history.
        BundleBlockedError: It would not be let in, for something in the history.
        StorageError: The file cannot be written, or the mailbox is damaged.
    """
    store = mailbox.store
    path = _path(file)
    target = target_of(path, store.root)
    asked = store.read(lambda view: ask(view, store, since, git))
    size = 0
    if asked.commits:
        pack = pack_of(store, asked)
        remark = remark_of(asked.mailbox)
        size = write_bundle(target, asked.tip, asked.base, remark, pack)
        remember(store, asked.tip)
    return Bundled(
        path=shown_path(path),
        tip=asked.tip,
        since=asked.base,
        contents=asked.contents,
        size_bytes=size,
    )


def apply(mailbox: "Mailbox", file: str | Path, *, by: str | None = None) -> Applied:
    """Bring in what a bundle has, and merge where both sides went on.

    All of it is checked before anything is written, and nothing is changed where it
    does not pass. It may be repeated: what is here already changes nothing.

    Args:
        by: Who does it, for the merge commit.

    Raises:
        BundleInvalidError: The file is damaged, or not all in it is in order.
        BundleIncompleteError: It stands on commits that are not here.
        OtherMailboxError, UnrelatedHistoriesError: It is of another mailbox.
        StorageError, BusyError: Nothing was changed.
    """
    author = parse_agent_name(by) if by is not None else GITMAIL
    store = mailbox.store
    with _opened(store, _path(file)) as opened:
        bundle, incoming = opened.bundle, opened.incoming
        checked = opened.check()
        contents = contents_of(len(checked.fresh), incoming.counts(checked.objects))
        done = Integrated(Step.NOTHING, opened.tip or bundle.tip)
        if checked.fresh:
            from gitmail.store.bringing import bring_in  # noqa: PLC0415 - as said above

            with _written(store, incoming, checked):
                subject = f"bundle {bundle.tip[:12]}"
                done = bring_in(store, bundle.tip, author, mailbox.now(), subject)
    remember(store, bundle.tip)
    return Applied(
        path=bundle.path,
        step=done.step,
        tip=done.tip,
        contents=contents,
        notes=done.notes,
    )


def inspect(mailbox: "Mailbox | None", file: str | Path) -> Inspected:
    """Look at a bundle, and tell whether it can be applied; nothing is written.

    Args:
        mailbox: The mailbox here, None where there is none yet.

    Raises:
        BundleInvalidError: The file is damaged, or not all in it is in order.
        StorageError: It cannot be read.
    """
    with _opened(mailbox.store if mailbox else None, _path(file)) as opened:
        problem: GitmailError | None = None
        try:
            opened.check()
        except ConflictError as error:
            problem = error
        bundle, incoming = opened.bundle, opened.incoming
        return Inspected(
            path=bundle.path,
            mailbox=incoming.mailbox,
            tip=bundle.tip,
            prerequisites=tuple(bundle.prerequisites),
            contents=contents_of(len(incoming.commits), incoming.counts()),
            size_bytes=bundle.size_bytes,
            is_known=bundle.tip in opened.known,
            problem=problem,
        )


def start(root: Path, file: str | Path, progress: Progress | None = None) -> CommitId:
    """Make a mailbox from a bundle that holds all of one; durable when it returns.

    Everything is checked before the folder is made. A crash leaves a folder in which
    that can be done again.

    Args:
        root: The mailbox's folder; it may be there, with nothing in it but a new
            repository.
        progress: Told how far a long piece of work is.

    Raises:
        BundleInvalidError: The file is damaged, or not all in it is in order.
        BundleIncompleteError: It stands on commits, and so is not all of one.
        FolderInUseError: The folder is used for something else, or holds a mailbox.
        StorageError: Something cannot be read or written.
    """
    with _opened(None, _path(file), progress) as opened:
        checked = opened.check()
        create_repository(root)
        store = Store(root, progress=progress)
        try:
            if store.branch.read() is not None:
                raise FolderInUseError(str(root), "it holds a mailbox")
            with _written(store, opened.incoming, checked):
                store.adopt(opened.bundle.tip)
            mark(store.local, opened.bundle.tip)
        finally:
            store.close()
    return opened.bundle.tip


def _path(file: str | Path) -> Path:
    text = os.fspath(file)
    path = Path(text).absolute()
    if not text or not path.name or "\0" in text:
        raise InvalidArgumentError("file", text, "the path of a file")
    return path


@contextmanager
def _opened(
    store: Store | None, path: Path, progress: Progress | None = None
) -> Iterator[_Opened]:
    from gitmail.store.incoming import Incoming  # noqa: PLC0415 - as said above
    from gitmail.store.outgoing import Reader  # noqa: PLC0415 - as said above

    bundle = read_bundle(path, shown_path(path))
    if store is None:
        yield _Opened(bundle=bundle, incoming=Incoming(bundle, None, None, progress))
        return
    tip, mailbox = store.read(lambda view: (view.tip, view.charter.id))
    # Not the store's own, which others would have to wait for.
    here = Reader(store.git_dir)
    try:
        incoming = Incoming(bundle, here, tip, store.progress)
        known = store.read(
            lambda view: frozenset(filter(view.index.knows_commit, incoming.named))
        )
        yield _Opened(
            bundle=bundle, incoming=incoming, known=known, tip=tip, mailbox=mailbox
        )
    finally:
        here.close()


@contextmanager
def _written(store: Store, incoming: "Incoming", checked: "Checked") -> Iterator[None]:
    """Write what is new as one durable pack, for a block that makes a branch name it.

    Until then git is told to keep it, as `Repository.added` does.
    """
    folder = store.git_dir / "objects" / "pack"
    with translated(folder):
        name = write_pack(folder, incoming.entries(checked), is_kept=True)
    try:
        yield
    finally:
        release_pack(folder, name)
