"""What a commit has that others have not, from the bytes of its objects."""

import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dulwich.objects import parse_tree

from gitmail.records.names import CommitId
from gitmail.store.repository import (
    FOLDER_MODE,
    Tree,
    printable,
)

_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")


@dataclass(frozen=True, slots=True)
class Added:
    """What a tree has at a path where some others have something else.

    Attributes:
        path: The path below the root, empty for the root itself.
    """

    path: str
    mode: int
    sha: bytes

    @property
    def is_folder(self) -> bool:
        """Whether it is a tree."""
        return stat.S_ISDIR(self.mode)


def added(
    read: Callable[[bytes], Tree],
    tree: bytes,
    others: Sequence[bytes],
    walked: set[Added] | None = None,
    *,
    has_files: bool = True,
) -> Iterator[Added]:
    """Yield what a commit's tree has at any path and none of some others has there.

    Args:
        read: Returns the entries of a tree.
        others: The trees of the commits that it stands on, and any.
        walked: What was yielded of commits so far, and is not again. For who takes
            commits in their order, oldest first: then all below it came as well.
        has_files: Whether files are wanted too, and not folders alone.
    """
    todo = [(Added("", FOLDER_MODE, tree), others)] if tree not in others else []
    while todo:
        each, others = todo.pop()
        if walked is not None:
            if each in walked:
                continue
            walked.add(each)
        yield each
        if not each.is_folder:
            continue
        before = [read(other) for other in others]
        fresh = {*read(each.sha).items()}.difference(*(tree.items() for tree in before))
        prefix = f"{each.path}/" if each.path else ""
        if not has_files:
            fresh = {entry for entry in fresh if stat.S_ISDIR(entry[1][0])}
        for name, (mode, child) in sorted(fresh, reverse=True):
            found = [tree[name] for tree in before if name in tree]
            below = [sha for mode, sha in found if stat.S_ISDIR(mode)]
            todo.append((Added(prefix + printable(name), mode, child), below))


def entry_at(
    read: Callable[[bytes], Tree], tree: bytes, path: str
) -> tuple[int, bytes] | None:
    """Return mode and id of what stands at a path, None where nothing does.

    Args:
        read: Returns the entries of a tree.
        tree: The root.
        path: As `printable` writes names.
    """
    entry: tuple[int, bytes] | None = (FOLDER_MODE, tree)
    for name in path.split("/"):
        if entry is None or not stat.S_ISDIR(entry[0]):
            return None
        entries = read(entry[1])
        if "\\" in name:
            entries = {printable(each).encode(): e for each, e in entries.items()}
        entry = entries.get(name.encode())
    return entry


def root_of(commit: bytes) -> bytes:
    """Return the id of a commit's tree."""
    return bytes.fromhex(commit[5:45].decode())


def parents_of(commit: bytes) -> list[CommitId]:
    """Return the ids of the commits that a commit stands on."""
    found: list[CommitId] = []
    at = 46  # behind the line of the tree
    while line := _PARENT.match(commit, at):
        found.append(CommitId(line[1].decode()))
        at = line.end()
    return found


def entries_of(tree: bytes) -> Tree:
    """Return the entries of a tree.

    Raises:
        ValueError: It is malformed, or one of the others in `UNREADABLE`.
    """
    return {
        name: (mode, bytes.fromhex(sha.decode()))
        for name, mode, sha in parse_tree(tree, 20)
    }
