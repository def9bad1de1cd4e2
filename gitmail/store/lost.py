"""Commits that the branch had and has no longer.

A branch that is set back or rewritten is followed, for the tip alone is true (I1). But
what it had may be acknowledged mail: a ref of its own keeps it from `git gc`, and it is
named until it is brought back or somebody lets it go.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from gitmail.records.names import CommitId, is_hex
from gitmail.store.discovery import LOCAL
from gitmail.store.disk import replace, translated, write_durably
from gitmail.store.history import is_ancestor
from gitmail.store.repository import Repository

logger = logging.getLogger("gitmail")

LOST = "refs/gitmail/lost"
"""Folder of the refs, each of which is named after its commit."""


def is_lost(repository: Repository, had: CommitId | None, tip: CommitId) -> bool:
    """Tell whether a branch that had a commit has it no longer."""
    if had is None or had == tip or not repository.has(had):
        return False
    return not is_ancestor(repository, had, tip)


def keep_if_lost(
    git_dir: Path, repository: Repository, had: CommitId | None, tip: CommitId
) -> None:
    """Keep a commit that the branch had, if its tip does not stand on it.

    Raises:
        StorageError: The ref cannot be written.
    """
    if had and is_lost(repository, had, tip):
        keep(git_dir, had)
        logger.warning("the branch no longer has %s; see the status", had)


def keep(git_dir: Path, commit: CommitId) -> None:
    """Keep a commit that the branch had; durable when it returns.

    Raises:
        StorageError: The ref cannot be written.
    """
    ref = git_dir / LOST / commit
    draft = git_dir / LOCAL / f"lost.{uuid4().hex}"
    with translated(ref):
        if not ref.exists():
            ref.parent.mkdir(parents=True, exist_ok=True)
            write_durably(draft, f"{commit}\n".encode(), 0o644)
            replace(draft, ref)


def kept(git_dir: Path, is_known: Callable[[CommitId], bool]) -> list[CommitId]:
    """Return the commits that are kept and are not back, sorted.

    Args:
        is_known: Tells whether a commit is in the branch's history.
    """
    found = {*_loose(git_dir / LOST), *_packed(git_dir / "packed-refs")}
    return sorted(each for each in map(CommitId, found) if not is_known(each))


def _loose(folder: Path) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if is_hex(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _packed(file: Path) -> list[str]:
    try:
        lines = file.read_text("ascii", "replace").splitlines()
    except FileNotFoundError:
        return []
    return [
        value
        for value, _, name in (line.partition(" ") for line in lines)
        if name.startswith(f"{LOST}/") and is_hex(value)
    ]
