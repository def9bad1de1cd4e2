"""Whether what was fetched is complete, before anything stands on it."""

from collections.abc import Callable
from typing import NoReturn

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.differences import differences
from gitmail.store.repository import Repository

_SUBMODULE = 0o160000


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
        CorruptMailboxError: Something is missing or damaged.
    """
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
            _check_tree(repository, before, commit.tree)
    _check_tree(repository, base, repository.commit(tip).tree)


def _check_tree(repository: Repository, before: str | None, tree: str) -> None:
    """Look for all that a tree has and another, which is complete, has not."""

    def damaged(_path: str, what: str) -> NoReturn:
        raise CorruptMailboxError(what, str(repository.pack_folder))

    for each in differences(repository, before, tree, damaged):
        is_file = each.new is not None and each.new_mode != _SUBMODULE
        if is_file and each.new and not repository.has(each.new):
            damaged(each.path, f"object {each.new} is missing or damaged")
