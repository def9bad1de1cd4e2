"""Merging trees and histories: nobody has to help, and nothing is lost (DESIGN 10).

Trees are merged folder by folder, so that what only one side has is taken by its id
and what both have alike is never looked into.
"""

import stat
from collections.abc import Sequence
from dataclasses import dataclass

from gitmail.records.merging import is_kept_if_absent, is_known, merge_file
from gitmail.records.names import CommitId
from gitmail.records.paths import set_aside_path
from gitmail.store.history import merge_bases
from gitmail.store.repository import (
    FILE_MODE,
    FOLDER_MODE,
    Repository,
    Tree,
    printable,
)
from gitmail.store.workbench import Entry, Workbench, is_folder

_DEEPEST = 16
_MOST_CROSSINGS = 100
"""Merges across, one on the other, of which each is taken apart."""


@dataclass(frozen=True, order=True, slots=True)
class Note:
    """What a person should know of a path that was merged."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What two trees started from.

    Attributes:
        tree: Its hex id.
        bench: Where it is, since nobody writes what only merges need.
    """

    tree: str
    bench: Workbench


class TreeMerge:
    """One merge of two trees with what both started from.

    Args:
        repository: Where the trees are.
        base: None where the histories began apart.
        ours, theirs: Hex ids.

    Attributes:
        tree: Hex id of the result, the same whichever side comes first.
        objects: The objects that are new.
        notes: What did not go by itself.
    """

    def __init__(
        self,
        repository: Repository,
        base: Origin | None,
        ours: str,
        theirs: str,
    ) -> None:
        bench = base.bench if base else Workbench(repository)
        self._bench = bench
        self._aside: dict[str, Entry] = {}
        self._notes: set[Note] = set()
        a, b = ((FOLDER_MODE, bytes.fromhex(tree)) for tree in (ours, theirs))
        origin = (FOLDER_MODE, bytes.fromhex(base.tree)) if base else None
        root = self._folder("", origin, a, b) or bench.add_tree({})
        while self._aside:  # what is in the way of one is set aside itself
            path, entry = self._aside.popitem()
            root = self._put(root, path.split("/"), entry)
        self.tree = root[1].hex()
        self.objects = [*bench.new_below(root)]
        self.notes = sorted(self._notes)

    def _folder(
        self,
        prefix: str,
        base: Entry | None,
        ours: Entry | None,
        theirs: Entry | None,
    ) -> Entry | None:
        a, b, c = map(self._bench.tree, (base, ours, theirs))
        merged: Tree = {}
        for name in {**b, **c}:
            entry = self._entry(prefix, name, a.get(name), b.get(name), c.get(name))
            if entry is not None:
                merged[name] = entry
        for side, tree in ((ours, b), (theirs, c)):
            if side and merged == tree:
                return side if merged else None
        return self._bench.add_tree(merged) if merged else None

    def _entry(
        self,
        prefix: str,
        name: bytes,
        base: Entry | None,
        ours: Entry | None,
        theirs: Entry | None,
    ) -> Entry | None:
        """Return what stands under one name of a folder."""
        if ours == theirs:
            return ours
        if base is None and (ours is None or theirs is None):
            return ours or theirs
        path = prefix + printable(name)
        sides = [side for side in (ours, theirs) if side]
        if not any(map(is_folder, sides)):
            return self._file(path, base, ours, theirs)
        if prefix.count("/") >= _DEEPEST:  # no record is as deep
            return self._strange(path, base, sides)
        return self._file_or_folder(path, base, ours, theirs)

    def _file_or_folder(
        self,
        path: str,
        base: Entry | None,
        ours: Entry | None,
        theirs: Entry | None,
    ) -> Entry | None:
        """Return what stands where at least one side has a folder.

        A folder and a file cannot both have a name: a record keeps its own, for no
        other one can stand below it, and what is no record makes room.
        """
        files = [
            each if each and not is_folder(each) else None
            for each in (base, ours, theirs)
        ]
        if is_known(path) and any(files[1:]):
            kept = self._file(path, *files)
            if kept:
                for side in (ours, theirs):
                    self._set_aside_below(path, side)
                return kept
        for side in files[1:]:
            if side and side != base:
                self._set_aside(path, side)
        return self._folder(f"{path}/", base, ours, theirs)

    def _set_aside_below(self, path: str, folder: Entry | None) -> None:
        """Set all files of a folder aside, each content once."""
        todo, seen = [(path, folder)], {folder}
        while todo:
            place, entry = todo.pop()
            for name, child in self._bench.tree(entry).items():
                below = f"{place}/{printable(name)}"
                if child in seen:
                    continue
                seen.add(child)
                if is_folder(child):
                    todo.append((below, child))
                else:
                    self._set_aside(below, child)

    def _file(
        self,
        path: str,
        base: Entry | None,
        ours: Entry | None,
        theirs: Entry | None,
    ) -> Entry | None:
        sides = [side for side in (ours, theirs) if side]
        if any(side[0] != FILE_MODE for side in sides):
            return self._strange(path, base, sides)
        if base in (ours, theirs) and not is_kept_if_absent(path):
            return theirs if base == ours else ours
        data = self._bench.data
        merged = merge_file(
            path, data(base), data(ours), data(theirs), self._bench.find
        )
        for each in merged.aside:
            self._set_aside(path, self._bench.add_file(each), merged.note)
        if merged.note and not merged.aside:
            self._notes.add(Note(path, merged.note))
        if merged.data is None:
            return None
        as_it_is = [side for side in sides if data(side) == merged.data]
        return as_it_is[0] if as_it_is else self._bench.add_file(merged.data)

    def _strange(
        self, path: str, base: Entry | None, sides: list[Entry]
    ) -> Entry | None:
        """Return what stands where a side has a link, a program or a submodule."""
        if len(sides) == 1:
            return None if sides[0] == base else sides[0]
        self._notes.add(Note(path, "a side has what is no regular file"))
        plain = [side for side in sides if side[0] == FILE_MODE]
        return max(plain or sides)

    def _set_aside(self, path: str, entry: Entry, text: str = "") -> None:
        text = text or "another file is in the way"
        if stat.S_ISREG(entry[0]):
            aside = set_aside_path(entry[1].hex())
            self._aside[aside] = FILE_MODE, entry[1]
            text = f"{text}; see {aside}"
        self._notes.add(Note(path, text))

    def _put(self, root: Entry | None, parts: Sequence[str], entry: Entry) -> Entry:
        tree = dict(self._bench.tree(root))
        name, *rest = parts
        below = tree.get(name.encode())
        if below and is_folder(below) is not bool(rest):
            self._set_aside(name, below)
            below = None
        tree[name.encode()] = self._put(below, rest, entry) if rest else entry
        return self._bench.add_tree(tree)


def base_tree(repository: Repository, bases: Sequence[CommitId]) -> Origin | None:
    """Return what two histories started from, by their best common ancestors.

    Where there are several, after merges across, that is what these merge to, as git's
    own recursive strategy has it.
    """
    return _Origins(repository).of(tuple(bases), 0)


class _Origins:
    """What several commits merge to, each set of them once.

    Histories that were merged across again and again would double the work each time.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._bench = Workbench(repository)
        self._known: dict[tuple[CommitId, ...], Origin | None] = {}

    def of(self, bases: tuple[CommitId, ...], depth: int) -> Origin | None:
        """Return what some commits, in their order, merge to; None for none."""
        if bases not in self._known:
            self._known[bases] = self._merged(bases, depth)
        return self._known[bases]

    def _merged(self, bases: tuple[CommitId, ...], depth: int) -> Origin | None:
        if not bases:
            return None
        tree = self._repository.commit(bases[0]).tree
        if depth < _MOST_CROSSINGS:
            for place, other in enumerate(bases[1:], 1):
                below = merge_bases(self._repository, other, *bases[:place])
                origin = self.of(tuple(below), depth + 1)
                theirs = self._repository.commit(other).tree
                tree = TreeMerge(self._repository, origin, tree, theirs).tree
        return Origin(tree, self._bench)
