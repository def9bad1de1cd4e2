"""The commits that an index does not know: in order, with what each did to memory."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitmail.records.names import CommitId
from gitmail.records.paths import MEMORY, Family, parse_path
from gitmail.store.memory_index import MemoryChange
from gitmail.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Activity:
    """That a commit of the branch was written, by whom, when, and what about memory.

    Attributes:
        parents: The commits that it stands on.
        time: Seconds since 1970.
    """

    commit: CommitId
    parents: tuple[CommitId, ...]
    author: str
    time: int
    memory: tuple[MemoryChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _Node:
    """What must be kept of a commit until all are in order."""

    parents: tuple[CommitId, ...]
    author: str
    time: int
    memory: str | None


class Lineage:
    """All ancestors of a commit that are not known, and that commit.

    Args:
        repository: Where the commits are.
        tip: The commit to start from.
        is_known: Tells whether a commit is in the index; its ancestors then are too.
        report: Told how many commits have been read.

    Attributes:
        known: The known commits that the new ones stand on.
    """

    def __init__(
        self,
        repository: Repository,
        tip: CommitId,
        is_known: Callable[[CommitId], bool],
        report: Callable[[str, int], None],
    ) -> None:
        self._repository = repository
        self._tip = tip
        self._report = report
        self._nodes: dict[CommitId, _Node] = {}
        self.known: set[CommitId] = set()
        names: dict[str, str] = {}
        todo = [tip]
        while todo:
            key = todo.pop()
            if key in self._nodes or key in self.known:
                continue
            if is_known(key):
                self.known.add(key)
                continue
            commit = repository.commit(key)
            memory = repository.folder_id(commit.tree, MEMORY)
            self._nodes[key] = _Node(
                commit.parents,
                names.setdefault(commit.author, commit.author),
                commit.time,
                names.setdefault(memory, memory) if memory else None,
            )
            report("commits read", len(self._nodes))
            todo += commit.parents

    def oldest_first(self) -> Iterator[Activity]:
        """Yield what each commit did, none before one that it stands on."""
        for count, key in enumerate(reversed(self._newest_first()), 1):
            self._report("commits compared", count)
            node = self._nodes[key]
            changes = tuple(self._changes(node))
            yield Activity(key, node.parents, node.author, node.time, changes)

    def _newest_first(self) -> list[CommitId]:
        """Return the commits by time, but none behind one that it stands on.

        As `git log --date-order` has it, so that clocks that disagree change nothing.
        """
        waiting = dict.fromkeys(self._nodes, 0)
        for node in self._nodes.values():
            for parent in node.parents:
                if parent in waiting:
                    waiting[parent] += 1
        ready = [(0, self._tip)] if self._nodes else []
        order = []
        while ready:
            key = heapq.heappop(ready)[1]
            order.append(key)
            for parent in self._nodes[key].parents:
                if parent in waiting:
                    waiting[parent] -= 1
                    if not waiting[parent]:
                        heapq.heappush(ready, (-self._nodes[parent].time, parent))
        return order

    def _changes(self, node: _Node) -> Iterator[MemoryChange]:
        """Yield what a commit has that none of its parents had."""
        before = [self._memory(parent) for parent in node.parents] or [None]
        if node.memory in before:
            return
        found = [dict(self._between(each, node.memory)) for each in before]
        for path, blob in found[0].items():
            if all(path in other for other in found[1:]):
                yield path, blob

    def _memory(self, commit: CommitId) -> str | None:
        node = self._nodes.get(commit)
        if node:
            return node.memory
        tree = self._repository.commit(commit).tree
        return self._repository.folder_id(tree, MEMORY)

    def _between(self, old: str | None, new: str | None) -> Iterator[MemoryChange]:
        for change in self._repository.changes(old, new):
            path = f"{MEMORY}/{change.path}"
            if parse_path(path).family is Family.MEMORY:
                yield path, change.new if change.is_plain else None
