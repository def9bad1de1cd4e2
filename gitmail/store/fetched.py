"""Whether what was fetched is complete, before anything stands on it."""

import stat
from collections.abc import Callable
from typing import NoReturn

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.repository import (
    SUBMODULE_MODE,
    Repository,
)

_ENDLESS = (
    "commit {commit} has {paths:,} new paths in folders with {entries:,} entries; it"
    " was made to stop who reads it, and must be removed from that branch"
)
# In a mailbox no two folders are alike, so that there are no more paths than entries.
_MOST_ALIKE = 16
_SPARE = 100_000


def check_complete(
    repository: Repository,
    tip: CommitId,
    is_known: Callable[[CommitId], bool],
    base: str | None,
    *,
    deeply: bool,
) -> None:
    """Check that a commit and all that it needs can be read.

    Args:
        is_known: Tells whether a commit was here before, with all that it needs.
        base: A tree that was here before with all that it needs, None where none was.
        deeply: Whether to look for what each commit brought; otherwise only for what
            the last one has.

    Raises:
        CorruptMailboxError: Something is missing or damaged, or a few objects stand at
            so many paths that reading these would never end.
    """
    check = _Check(repository)
    todo, seen = [tip], {tip}
    while todo:
        key = todo.pop()
        if is_known(key):
            continue
        commit = repository.commit(key)
        todo += [each for each in commit.parents if each not in seen]
        seen.update(commit.parents)
        if deeply:
            parent = commit.parents[0] if commit.parents else None
            before = repository.commit(parent).tree if parent else None
            check.tree(before, commit.tree, key)
    check.tree(base, repository.commit(tip).tree, tip)


class _Check:
    """Looks for all that some trees have and others, which are complete, have not."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._paths: dict[str, int] = {}
        """Of each tree that was looked at, how many paths that are new are below it."""
        self._entries = 0

    def tree(self, before: str | None, tree: str, commit: CommitId) -> None:
        """Look at a commit's tree; what is below a path that did not change is left."""
        known = self._entries
        paths = self._count(before, tree)
        entries = self._entries - known
        if paths > _SPARE + _MOST_ALIKE * entries:
            self._refuse(_ENDLESS.format(commit=commit, paths=paths, entries=entries))

    def _count(self, before: str | None, tree: str) -> int:
        """Return how many paths are new, counting below each tree but once."""
        below: dict[str, list[str]] = {}
        todo = [(before, tree, False)]
        while todo:
            old, new, is_counted = todo.pop()
            if is_counted:
                self._paths[new] += sum(self._paths[each] for each in below[new])
            elif new not in self._paths:
                self._paths[new], fresh = self._files(old, new)
                below[new] = [each for _, each in fresh]
                todo.append((old, new, True))
                todo += [(was, each, False) for was, each in fresh]
        return self._paths[tree]

    def _files(
        self, old: str | None, new: str
    ) -> tuple[int, list[tuple[str | None, str]]]:
        """Look for the files of a folder; return their number, and the folders."""
        before = self._repository.tree(old) if old else {}
        count, folders = 0, []
        for name, (mode, sha) in self._repository.tree(new).items():
            was = before.get(name, (0, b""))
            if was == (mode, sha):
                continue
            self._entries += 1
            if stat.S_ISDIR(mode):
                is_folder = stat.S_ISDIR(was[0])
                folders.append((was[1].hex() if is_folder else None, sha.hex()))
                continue
            count += 1
            if mode != SUBMODULE_MODE and not self._repository.has(sha.hex()):
                self._refuse(f"object {sha.hex()} is missing or damaged")
        return count, folders

    def _refuse(self, what: str) -> NoReturn:
        raise CorruptMailboxError(what, str(self._repository.pack_folder))
