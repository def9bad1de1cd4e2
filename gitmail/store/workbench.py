"""Where trees are merged: what a repository has, and what the merge makes."""

import stat
from collections.abc import Iterator

from gitmail.errors import CorruptMailboxError
from gitmail.store.pack import BLOB, NewObject
from gitmail.store.repository import (
    FILE_MODE,
    FOLDER_MODE,
    Repository,
    Tree,
)

Entry = tuple[int, bytes]
"""Mode and id of what stands under a name of a tree."""


class Workbench:
    """The objects of a repository, and those that a merge makes and nobody wrote yet.

    Attributes:
        made: Id to object.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trees: dict[bytes, Tree] = {}
        self.made: dict[bytes, NewObject] = {}

    def tree(self, entry: Entry | None) -> Tree:
        """Return what is in a folder, nothing where the entry is none."""
        if entry is None or not is_folder(entry):
            return {}
        made = self._trees.get(entry[1])
        return self._repository.tree(entry[1].hex()) if made is None else made

    def data(self, entry: Entry | None) -> bytes | None:
        """Return the bytes of a regular file, None where the entry is none."""
        if entry is None or not stat.S_ISREG(entry[0]):
            return None
        made = self.made.get(entry[1])
        return made.data if made else self._repository.blob(entry[1].hex())

    def find(self, blob: str) -> bytes | None:
        """Return a blob that somebody's text names, None where it names none."""
        try:
            return self.data((FILE_MODE, bytes.fromhex(blob)))
        except CorruptMailboxError:
            return None

    def add_file(self, data: bytes) -> Entry:
        """Return the entry of a file."""
        made = NewObject.of(BLOB, data)
        self.made[made.sha] = made
        return FILE_MODE, made.sha

    def add_tree(self, tree: Tree) -> Entry:
        """Return the entry of a folder."""
        made = self._repository.make_tree(tree)
        self.made[made.sha] = made
        self._trees[made.sha] = tree
        return FOLDER_MODE, made.sha

    def new_below(self, entry: Entry) -> Iterator[NewObject]:
        """Yield the objects of a tree that have to be written, each once."""
        todo, seen = [entry], {entry[1]}
        while todo:
            made = self.made.get(todo.pop()[1])
            if made is None:  # so all below it is there
                continue
            yield made
            for each in self._trees.get(made.sha, {}).values():
                if each[1] not in seen:
                    seen.add(each[1])
                    todo.append(each)


def is_folder(entry: Entry) -> bool:
    """Tell whether an entry is a tree."""
    return stat.S_ISDIR(entry[0])
