"""Merging trees and histories: nobody has to help, and nothing is lost (DESIGN 10).

Trees are merged folder by folder, so that what only one side has is taken by its id
and what both have alike is never looked into.
"""

import stat
from collections.abc import Sequence
from dataclasses import dataclass

from gitmail.records.merging import is_kept_if_absent, merge_file
from gitmail.records.names import CommitId
from gitmail.records.paths import set_aside_path
from gitmail.store.history import merge_bases
from gitmail.store.pack import BLOB, NewObject
from gitmail.store.repository import FILE_MODE, Repository, Tree, printable

_Entry = tuple[int, bytes]
_FOLDER = 0o40000


@dataclass(frozen=True, slots=True)
class Note:
    """What a person should know of a path that was merged."""

    path: str
    text: str


class TreeMerge:
    """One merge of two trees with what both started from.

    Args:
        repository: Where the trees are.

    Attributes:
        tree: Hex id of the result, the same whichever side comes first.
        objects: The objects that are new.
        notes: What did not go by itself.
    """

    def __init__(
        self, repository: Repository, base: str | None, ours: str, theirs: str
    ) -> None:
        self._repository = repository
        self._made: dict[bytes, NewObject] = {}
        self._trees: dict[bytes, Tree] = {}
        self._aside: dict[str, _Entry] = {}
        self.notes: list[Note] = []
        root = self._folder("", *map(self._tree, (base, ours, theirs)))
        for path, entry in self._aside.items():
            root = self._put(root, path.split("/"), entry)
        self.tree = (root or self._write({})).hex()

    @property
    def objects(self) -> list[NewObject]:
        """The objects that are new."""
        return list(self._made.values())

    def _folder(
        self, prefix: str, base: Tree, ours: Tree, theirs: Tree
    ) -> bytes | None:
        merged: Tree = {}
        for name in {**ours, **theirs}:
            entry = self._entry(
                prefix, name, base.get(name), ours.get(name), theirs.get(name)
            )
            if entry is not None:
                merged[name] = entry
        return self._write(merged) if merged else None

    def _entry(
        self,
        prefix: str,
        name: bytes,
        base: _Entry | None,
        ours: _Entry | None,
        theirs: _Entry | None,
    ) -> _Entry | None:
        """Return what stands under one name of a folder."""
        if ours == theirs:
            return ours
        if base is None and (ours is None or theirs is None):
            return ours or theirs
        path = prefix + printable(name)
        sides = (ours, theirs)
        folders = [side for side in sides if side and _is_folder(side)]
        files = [side for side in sides if side and not _is_folder(side)]
        if folders:
            for file in files:  # a folder of records and a file cannot both have a name
                self._set_aside(path, file)
            made = self._folder(
                f"{path}/", *(self._subtree(each) for each in (base, ours, theirs))
            )
            return (_FOLDER, made) if made else None
        return self._file(path, base, ours, theirs)

    def _file(
        self,
        path: str,
        base: _Entry | None,
        ours: _Entry | None,
        theirs: _Entry | None,
    ) -> _Entry | None:
        sides = [side for side in (ours, theirs) if side]
        strange = [side for side in sides if side[0] != FILE_MODE]
        if strange:
            return self._strange(path, base, ours, theirs)
        if base in (ours, theirs) and not is_kept_if_absent(path):
            return theirs if base == ours else ours
        merged = merge_file(path, *(self._data(each) for each in (base, ours, theirs)))
        for data in merged.aside:
            self._set_aside(path, (FILE_MODE, self._blob(data)))
        if merged.note:
            self.notes.append(Note(path, merged.note))
        return None if merged.data is None else (FILE_MODE, self._blob(merged.data))

    def _strange(
        self,
        path: str,
        base: _Entry | None,
        ours: _Entry | None,
        theirs: _Entry | None,
    ) -> _Entry | None:
        """Return what stands where a side has a link, a program or a submodule."""
        if ours is None or theirs is None:
            present = ours or theirs
            return None if present == base else present
        plain = [side for side in (ours, theirs) if side[0] == FILE_MODE]
        self.notes.append(Note(path, "a side has what is no regular file"))
        return max(plain or [ours, theirs])

    def _set_aside(self, path: str, entry: _Entry) -> None:
        if stat.S_ISREG(entry[0]):
            self._aside[set_aside_path(entry[1].hex())] = FILE_MODE, entry[1]
        self.notes.append(Note(path, "another file is in the way and was set aside"))

    def _put(self, root: bytes | None, parts: Sequence[str], entry: _Entry) -> bytes:
        tree = dict(self._tree(root.hex())) if root else {}
        name, *rest = parts
        key = name.encode()
        if rest:
            below = tree.get(key)
            inner = below[1] if below and _is_folder(below) else None
            entry = _FOLDER, self._put(inner, rest, entry)
        tree[key] = entry
        return self._write(tree)

    def _tree(self, tree: str | None) -> Tree:
        if tree is None:
            return {}
        made = self._trees.get(bytes.fromhex(tree))
        return self._repository.tree(tree) if made is None else made

    def _subtree(self, entry: _Entry | None) -> Tree:
        return self._tree(entry[1].hex()) if entry and _is_folder(entry) else {}

    def _data(self, entry: _Entry | None) -> bytes | None:
        if entry is None or not stat.S_ISREG(entry[0]):
            return None
        return self._repository.blob(entry[1].hex())

    def _blob(self, data: bytes) -> bytes:
        made = NewObject.of(BLOB, data)
        if not self._repository.has(made.sha.hex()):
            self._made[made.sha] = made
        return made.sha

    def _write(self, tree: Tree) -> bytes:
        made = self._repository.make_tree(tree)
        self._made[made.sha] = made
        self._trees[made.sha] = tree
        return made.sha


def base_tree(repository: Repository, bases: Sequence[CommitId]) -> str | None:
    """Return the tree that two histories started from.

    Where there are several, after merges across, that is what these merge to, as git's
    own recursive strategy has it.
    """
    if not bases:
        return None
    first, *rest = bases
    tree, reached = repository.commit(first).tree, first
    for other in rest:
        below = base_tree(repository, merge_bases(repository, reached, other))
        merge = TreeMerge(repository, below, tree, repository.commit(other).tree)
        with repository.added(merge.objects):  # for the next to read; nobody names them
            tree, reached = merge.tree, other
    return tree


def _is_folder(entry: _Entry) -> bool:
    return stat.S_ISDIR(entry[0])
