"""What a bundle is to hold: what is new, and nothing that would be refused."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmail.mailbox.bundle_bases import base_of, commits_since
from gitmail.mailbox.bundle_values import Contents, contents_of
from gitmail.records.names import CommitId
from gitmail.records.paths import parse_path
from gitmail.store.pack import encode
from gitmail.store.store import Store
from gitmail.store.transport import Git
from gitmail.store.view import View

if TYPE_CHECKING:  # commands that make no bundle do not wait for it
    from gitmail.store.outgoing_git import OutgoingByGit


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a bundle is to hold.

    Attributes:
        base: The commit that it stands on.
        commits: Those that are new, none behind one that it stands on.
        suspects: The paths of the tip's files that are not in order.
        by_git: An installed git's view of it.
    """

    tip: CommitId
    base: CommitId | None
    mailbox: str
    commits: list[CommitId]
    contents: Contents
    suspects: frozenset[str]
    by_git: "OutgoingByGit | None"


def ask(view: View, store: Store, since: str, git: Git | None) -> Asked:
    """Return what a bundle is to hold.

    Args:
        since: `last`, `all` or a cursor.
        git: An installed git; None does it without.

    Raises:
        InvalidCursorError: `since` names no commit of this mailbox's history.
    """
    base = base_of(view, store.local, since)
    by_git = None
    if git:
        from gitmail.store.outgoing_git import (  # noqa: PLC0415 - as said above
            OutgoingByGit,
        )

        by_git = OutgoingByGit(store.git_dir, view.tip, base, git)
    commits = by_git.commits() if by_git else None
    if commits is None:
        by_git, commits = None, commits_since(view, base)
    repository = view.repository
    old = repository.commit(base).tree if base else None
    counts = Counter(
        parse_path(change.path).family
        for change in repository.changes(old, view.tree)
        if change.new
    )
    return Asked(
        tip=view.tip,
        base=base,
        mailbox=view.charter.id,
        commits=commits,
        contents=contents_of(len(commits), counts),
        suspects=frozenset(each.path for each in view.index.quarantined()),
        by_git=by_git,
    )


def pack_of(store: Store, asked: Asked) -> bytes:
    """Return a pack of what is new.

    Raises:
        BundleBlockedError: Something in it would be refused where it is applied.
        CorruptMailboxError: An object is missing or not what it was.
    """
    from gitmail.store.outgoing import Outgoing, Reader  # noqa: PLC0415 - as said above

    reader = Reader(store.git_dir)
    try:
        outgoing = Outgoing(reader, asked.commits, asked.base)
        pack = asked.by_git.packed(asked.commits) if asked.by_git else None
        if pack is None:
            pack = encode(outgoing.entries())[0]
        outgoing.check_tip(asked.suspects)
        return pack
    finally:
        reader.close()
