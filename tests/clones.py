"""Several clones of one mailbox: bringing what one has into another, without git."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from dulwich.object_store import commit_tree_changes
from dulwich.objects import Blob, Commit
from dulwich.repo import Repo

from gitmail import Mailbox
from gitmail.clock import Clock
from gitmail.records.names import CommitId
from gitmail.store.bringing import bring_in
from gitmail.store.history import merge_bases
from gitmail.store.merging import TreeMerge, base_tree
from gitmail.store.refs import REF
from gitmail.store.repository import Repository
from gitmail.store.store import Integrated
from tests.helpers import START
from tests.mailboxes import copied

FILE = 0o100644


def twin(mailbox: Mailbox, folder: Path, clock: Clock) -> Mailbox:
    """Return another clone, with an index of its own."""
    return Mailbox.open(copied(mailbox, folder), clock=clock, folds=False)


def bring_objects(source: Path, target: Path) -> None:
    """Copy the objects that another clone has not; nothing names them yet."""
    there, here = (box / ".git" / "objects" for box in (source, target))
    files = [file for file in there.rglob("*") if file.suffix in ("", ".pack", ".idx")]
    # A pack is seen by its index, which therefore comes last.
    for file in sorted(files, key=lambda each: each.suffix == ".idx"):
        copy = here / file.relative_to(there)
        if file.is_file() and not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(file, copy)


def integrate(mailbox: Mailbox, other: Mailbox) -> Integrated:
    """Bring what another clone has into one."""
    bring_objects(other.path, mailbox.path)
    theirs = tip(other)
    return bring_in(mailbox.store, theirs, "gitmail", mailbox.now(), "a clone")


def tip(mailbox: Mailbox) -> CommitId:
    """Return the commit at the tip, past the index."""
    found = mailbox.store.branch.read()
    assert found
    return found


def tree_of(mailbox: Mailbox) -> str:
    """Return the tree at the tip."""
    return mailbox.store._repository.commit(tip(mailbox)).tree


def merge(repository: Repository, ours: CommitId, theirs: CommitId) -> TreeMerge:
    """Merge two commits of one repository."""
    bases = merge_bases(repository, ours, theirs)
    trees = [repository.commit(each).tree for each in (ours, theirs)]
    return TreeMerge(repository, base_tree(repository, bases), *trees)


def merged(repository: Repository, ours: CommitId, theirs: CommitId) -> CommitId:
    """Return the commit that two merge to, written; the later one if that is all."""
    bases = merge_bases(repository, ours, theirs)
    if bases in ([ours], [theirs]):
        return theirs if bases == [ours] else ours
    found = merge(repository, ours, theirs)
    commit = repository.build_commit(
        found.tree, (ours, theirs), "gitmail", START, "sync"
    )
    with repository.added([*found.objects, commit]):
        return CommitId(commit.sha.hex())


def commit_by_hand(
    box: Path, changes: Mapping[str, bytes | tuple[int, bytes] | None], seconds: int
) -> None:
    """Commit to a mailbox's branch as another program than gitmail.

    Args:
        changes: Path to bytes, or mode and bytes; None removes what is there.
        seconds: The commit's time.
    """
    with Repo(str(box / ".git")) as repo:
        before = repo.refs[REF.encode()]
        rows = []
        for path, item in changes.items():
            mode, data = item if isinstance(item, tuple) else (FILE, item)
            blob = Blob.from_string(data) if data is not None else None
            if blob:
                repo.object_store.add_object(blob)
            rows.append((path.encode(), mode if blob else None, blob and blob.id))
        made = Commit()
        made.tree = commit_tree_changes(repo.object_store, repo[before].tree, rows)
        made.parents = [before]
        made.author = made.committer = b"A Person <person@example.org>"
        made.author_time = made.commit_time = seconds
        made.author_timezone = made.commit_timezone = 0
        made.message = b"By hand"
        repo.object_store.add_object(made)
        assert repo.refs.set_if_equals(REF.encode(), before, made.id)
