"""Reading a history to prove it: each object by its id, each commit after its parents.

Nothing here rests on what was derived before, and nothing is written.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.history import merge_bases
from gitmail.store.mapped import mapped_packs
from gitmail.store.merging import TreeMerge, base_tree
from gitmail.store.pack import COMMIT, TREE, NewObject
from gitmail.store.pack_numbers import DamagedPackError
from gitmail.store.repository import LATEST_S, UNREADABLE, Repository, Tree

_ENTRY = re.compile(rb"([1-7][0-7]*) ([^\0/]+)\0(.{20})", re.DOTALL)
_WHO = rb"[^<>\n\0]*<[^<>\n\0]*> (0|[1-9]\d{0,11}) [+-]\d{4}\n"
# Further headers, such as a signature, go on in lines that begin with a space.
_SOUND_COMMIT = re.compile(
    rb"tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*author " + _WHO + rb"committer "
    rb"" + _WHO + rb"(?:(?!(?:tree|parent|author|committer) )[^\n\0]+\n)*(?:\n[^\0]*)?"
)


@dataclass(frozen=True, slots=True)
class Node:
    """What is kept of a commit while a history is walked.

    Attributes:
        time: Seconds since 1970; None of a commit that is malformed.
    """

    parents: tuple[CommitId, ...]
    tree: str
    time: int | None


class CheckedRepository(Repository):
    """A repository that hands out an object only if it is what its id says."""

    def __init__(self, git_dir: Path, *, incoming: Path | None = None) -> None:
        super().__init__(git_dir, incoming=incoming)
        self._mapped = mapped_packs(self._packs)
        if incoming:
            self._mapped += mapped_packs(incoming / "pack")
        self._malformed: set[str] = set()

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

    def time(self, commit_id: CommitId) -> int | None:
        """Return the time of a commit, None where it is not one as git writes them.

        Raises:
            CorruptMailboxError: It cannot be read at all.
        """
        commit = self.commit(commit_id)
        return None if commit_id in self._malformed else commit.time

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
        if kind == COMMIT and not _is_sound(data):
            self._malformed.add(object_id)
        return data

    def _read_packed(self, object_id: str, kind: int) -> bytes | None:
        """Return an object from a pack, if all is well; the last one is tried first.

        What belongs together was written together, and dulwich asks all packs.
        """
        sha = bytes.fromhex(object_id)
        for place, pack in enumerate(self._mapped):
            try:
                found, data = pack.read(sha)
            except KeyError:
                continue
            except (OSError, DamagedPackError, *UNREADABLE):
                return None
            if place:
                self._mapped.insert(0, self._mapped.pop(place))
            return data if found == kind else None
        return None

    def _refuse(self, object_id: str, what: str) -> NoReturn:
        reason = f"object {object_id} {what}"
        raise CorruptMailboxError(reason, self._where)


class Merged(NamedTuple):
    """What some commits merge to.

    Attributes:
        tree: Hex id of the tree.
        bases: Of each commit, the tree from which it and those before it went apart (of
            the first, that of the second); None where they began apart.
    """

    tree: str
    bases: tuple[str | None, ...]


class Scratch(Repository):
    """A repository that holds, for a while, what its commits merge to.

    Its trees are apart from those that were read to be proven.
    """

    def __init__(self, git_dir: Path, *, incoming: Path | None = None) -> None:
        super().__init__(git_dir, incoming=incoming)
        self._held: dict[str, bytes] = {}

    @contextmanager
    def merged(self, first: CommitId, *others: CommitId) -> Iterator[Merged]:
        """Hold the tree that some commits merge to for the block, and yield it."""
        tree = self.commit(first).tree
        bases: list[str | None] = []
        try:
            for place, other in enumerate(others):  # one by one, as git does
                before = (first, *others[:place])
                base = base_tree(self, merge_bases(self, other, *before))
                merge = TreeMerge(self, base, tree, self.commit(other).tree)
                self._held |= {each.sha.hex(): each.data for each in merge.objects}
                bases.append(base.tree if base else None)
                if base:  # which may be nowhere else, where it was merged itself
                    made = base.bench.made.values()
                    self._held |= {each.sha.hex(): each.data for each in made}
                tree = merge.tree
            yield Merged(tree, (*bases[:1], *bases))
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
        repository: CheckedRepository,
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
            time = repository.time(key)
            waiting[key] = Node(commit.parents, commit.tree, time)
            todo += reversed(commit.parents)  # so that the first is the first


def _is_sound(data: bytes) -> bool:
    """Tell whether a commit is one that all programs read alike."""
    found = _SOUND_COMMIT.fullmatch(data)
    return found is not None and max(map(int, found.groups())) <= LATEST_S


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
