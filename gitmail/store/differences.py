"""What differs between two trees, as far as they can be read."""

import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gitmail.errors import CorruptMailboxError
from gitmail.store.repository import (
    FOLDER_MODE,
    Repository,
    Tree,
    printable,
)

Damage = Callable[[str, str], None]
"""Told the path of what cannot be read, and why."""
_Entry = tuple[int, bytes]
_DEEPEST = 16


class Difference(NamedTuple):
    """One path that differs between two trees.

    Attributes:
        old, new: Hex ids of what stood and stands there, None for nothing.
        old_mode, new_mode: Their modes, 0 for nothing.
    """

    path: str
    old: str | None
    old_mode: int
    new: str | None
    new_mode: int


def differences(
    repository: Repository, old: str | None, new: str, damage: Damage
) -> Iterator[Difference]:
    """Yield what differs between two trees, by path.

    A folder is one where it is new and has nothing in it. What cannot be read is told,
    and what is below it left out.
    """
    todo: list[tuple[str, str | None, str | None]] = [("", old, new)]
    while todo:
        prefix, old_id, new_id = todo.pop()
        after = _entries(repository, prefix, new_id, damage)
        # That the old one cannot be read was told where it came.
        before = _entries(repository, prefix, old_id, _ignore)
        if before is None or after is None:
            continue
        if new_id and not after and prefix:
            yield Difference(prefix.removesuffix("/"), None, 0, new_id, FOLDER_MODE)
        folders: list[tuple[str, str | None, str | None]] = []
        for name in sorted({name for name, _ in before.items() ^ after.items()}):
            was, now = before.get(name), after.get(name)
            path = prefix + printable(name)
            below = _folder(was), _folder(now)
            if any(below) and prefix.count("/") < _DEEPEST:
                folders.append((f"{path}/", *below))
                was, now = (_no_folder(entry) for entry in (was, now))
            if was or now:
                yield Difference(path, *_sides(was), *_sides(now))
        todo.extend(reversed(folders))


def _entries(
    repository: Repository, prefix: str, tree_id: str | None, damage: Damage
) -> Tree | None:
    if tree_id is None:
        return {}
    try:
        return repository.tree(tree_id)
    except CorruptMailboxError as error:
        damage(prefix, str(error.details["what"]))
        return None


def _sides(entry: _Entry | None) -> tuple[str | None, int]:
    return (entry[1].hex(), entry[0]) if entry else (None, 0)


def _folder(entry: _Entry | None) -> str | None:
    return entry[1].hex() if entry and stat.S_ISDIR(entry[0]) else None


def _no_folder(entry: _Entry | None) -> _Entry | None:
    return None if entry and stat.S_ISDIR(entry[0]) else entry


def _ignore(_path: str, _why: str) -> None:
    """Say nothing of what was told before."""
