"""Reading a history to prove it: each object by its id, each commit after its parents.

Nothing here rests on what was derived before, and nothing is written.
"""

import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.history import merge_bases
from gitmail.store.merging import TreeMerge, base_tree
from gitmail.store.pack import TREE, NewObject
from gitmail.store.repository import UNREADABLE, Repository, Tree, printable

if TYPE_CHECKING:
    from dulwich.pack import Pack

Damage = Callable[[str, str], None]
"""Told the path of what cannot be read, and why."""
_Entry = tuple[int, bytes]
_DEEPEST = 16
_ENTRY = re.compile(rb"([1-7][0-7]*) ([^\0/]+)\0(.{20})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Difference:
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


@dataclass(frozen=True, slots=True)
class Node:
    """What is kept of a commit while a history is walked."""

    parents: tuple[CommitId, ...]
    tree: str
    time: int


def differences(
    repository: Repository, old: str | None, new: str, damage: Damage
) -> Iterator[Difference]:
    """Yield what differs between two trees, by path.

    What cannot be read is told, and what is below it left out.
    """
    todo: list[tuple[str, str | None, str | None]] = [("", old, new)]
    while todo:
        prefix, old_id, new_id = todo.pop()
        after = _entries(repository, prefix, new_id, damage)
        # That the old one cannot be read was told where it came.
        before = _entries(repository, prefix, old_id, _ignore)
        if before is None or after is None:
            continue
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


class CheckedRepository(Repository):
    """A repository that hands out an object only if it is what its id says."""

    def __init__(self, git_dir: Path, *, incoming: Path | None = None) -> None:
        super().__init__(git_dir, incoming=incoming)
        self._open: list[Pack] = []
        with suppress(OSError, *UNREADABLE):
            self._open += self._objects.packs

    def tree(self, tree_id: str) -> Tree:
        """Return the entries of a tree; the caller must not change them.

        Raises:
            CorruptMailboxError: It is missing or damaged, or not one that git writes.
        """
        tree = self._trees.get(tree_id)
        if tree is None:
            tree = _parse_tree(self._read(tree_id, TREE))
            if tree is None:
                self._refuse(tree_id, "is no tree as git writes them")
            self._trees.put(tree_id, tree)
        return tree

    def find(self, prefix: str) -> list[CommitId]:
        """Return the commits whose ids begin with some hex digits, up to two."""
        found = []
        for name in self._objects.iter_prefix(prefix.encode()):
            try:
                found.append(self.commit(name.decode()).id)
            except CorruptMailboxError:  # it is no commit, or none that can be read
                continue
            if len(found) > 1:
                break
        return found

    def _read(self, object_id: str, kind: int) -> bytes:
        data = self._read_packed(object_id, kind)
        if data is None:
            data = super()._read(object_id, kind)
        if NewObject.of(kind, data).sha.hex() != object_id:
            self._refuse(object_id, "is not what its id says")
        return data

    def _read_packed(self, object_id: str, kind: int) -> bytes | None:
        """Return an object from a pack, if all is well; the last one is tried first.

        What belongs together was written together, and dulwich asks all packs.
        """
        sha: Any = bytes.fromhex(object_id)
        for place, pack in enumerate(self._open):
            try:
                found, data = pack.get_raw(sha)
            except KeyError:
                continue
            except (OSError, *UNREADABLE):
                return None
            if place:
                self._open.insert(0, self._open.pop(place))
            return data if found == kind else None
        return None

    def _refuse(self, object_id: str, what: str) -> NoReturn:
        reason = f"object {object_id} {what}"
        raise CorruptMailboxError(reason, self._where)


class Scratch(Repository):
    """A repository that holds, for a while, what its commits merge to.

    Its trees are apart from those that were read to be proven.
    """

    def __init__(self, git_dir: Path, *, incoming: Path | None = None) -> None:
        super().__init__(git_dir, incoming=incoming)
        self._held: dict[str, bytes] = {}

    @contextmanager
    def merged(self, first: CommitId, *others: CommitId) -> Iterator[str]:
        """Hold the tree that some commits merge to for the block, and yield it."""
        tree = self.commit(first).tree
        try:
            for other in others:  # git merges several one by one, too
                base = base_tree(self, merge_bases(self, first, other))
                merge = TreeMerge(self, base, tree, self.commit(other).tree)
                self._held |= {each.sha.hex(): each.data for each in merge.objects}
                tree = merge.tree
            yield tree
        finally:
            self._held.clear()

    def _read(self, object_id: str, kind: int) -> bytes:
        held = self._held.get(object_id)
        return super()._read(object_id, kind) if held is None else held


class Walk:
    """The commits from one down to those that are known, parents first.

    Args:
        repository: Where the commits are.
        start: The commit to start from.
        is_known: Tells whether a commit, and so what it stands on, is left out.
        report: Told how many commits have been read.

    Attributes:
        nodes: What is known of each commit, parents first.
        broken: Commits that cannot be read, each with the reason.
    """

    def __init__(
        self,
        repository: Repository,
        start: CommitId,
        is_known: Callable[[CommitId], bool],
        report: Callable[[str, int], None],
    ) -> None:
        self.nodes: dict[CommitId, Node] = {}
        self.broken: dict[CommitId, str] = {}
        waiting: dict[CommitId, Node] = {}
        todo = [start]
        while todo:
            key = todo[-1]
            if key in self.nodes or key in self.broken or is_known(key):
                todo.pop()
                continue
            node = waiting.pop(key, None)
            if node:  # all that it stands on has been seen to
                self.nodes[todo.pop()] = node
                report("commits read", len(self.nodes))
                continue
            try:
                commit = repository.commit(key)
            except CorruptMailboxError as error:
                self.broken[todo.pop()] = str(error.details["what"])
                continue
            waiting[key] = Node(commit.parents, commit.tree, commit.time)
            todo += reversed(commit.parents)  # so that the first is the first

    def followed(self) -> dict[CommitId, int]:
        """Return, for each commit on which others stand, the earliest time of these."""
        earliest: dict[CommitId, int] = {}
        for key, node in reversed(self.nodes.items()):
            latest = min(node.time, earliest.get(key, node.time))
            for parent in node.parents:
                earliest[parent] = min(latest, earliest.get(parent, latest))
        return earliest


def _parse_tree(data: bytes) -> Tree | None:
    """Return the entries of a tree, None where readers could disagree about them.

    One takes the first of two entries with a name and another the last, and a third
    does not find what is out of order.
    """
    rows = _ENTRY.findall(data)
    tree = {name: (int(mode, 8), sha) for mode, name, sha in rows}
    # Nothing between the entries, for each has three separators' and id's bytes more.
    size = sum([len(mode) + len(name) + 22 for mode, name, _ in rows])
    keys = [name + b"/" if mode == b"40000" else name for mode, name, _ in rows]
    is_sound = size == len(data) and len(tree) == len(rows) and keys == sorted(keys)
    return tree if is_sound else None


def _sides(entry: _Entry | None) -> tuple[str | None, int]:
    return (entry[1].hex(), entry[0]) if entry else (None, 0)


def _folder(entry: _Entry | None) -> str | None:
    return entry[1].hex() if entry and stat.S_ISDIR(entry[0]) else None


def _no_folder(entry: _Entry | None) -> _Entry | None:
    return None if entry and stat.S_ISDIR(entry[0]) else entry


def _ignore(_path: str, _why: str) -> None:
    """Say nothing of what was told before."""
