"""What was judged before, as far as later commits are judged by it."""

import re
import stat
from collections.abc import Iterator

from gitmail.records.names import CommitId
from gitmail.store.checking import CheckedRepository
from gitmail.store.differences import differences

_PART = re.compile(r"\d\d(?:\.\d{3,6})?", re.ASCII)


class Past:
    """What earlier commits did, as far as it matters for later ones.

    Args:
        repository: Where the objects are.
        since: The commit from which on commits are judged, None for all.
    """

    def __init__(self, repository: CheckedRepository, since: CommitId | None) -> None:
        self._repository = repository
        self._since = since
        self._places: dict[bytes, str] = {}
        self._gone: set[tuple[str, str]] = set()
        self._is_read = since is None

    def place(self, message: str, path: str, tree: str) -> str | None:
        """Take down where a message stands, and return where else it does, if it does.

        Args:
            tree: The tree of the commit that put it there.
        """
        before = self._places.setdefault(bytes.fromhex(message), path)
        if before != path and self._repository.lookup(tree, before) == message:
            return before
        self._places[bytes.fromhex(message)] = path
        others = self._beside(path, tree) if self._since else ()
        return next((p for p in others if self._repository.lookup(tree, p)), None)

    def _beside(self, path: str, tree: str) -> Iterator[str]:
        """Yield the paths of a message's name in the other folders of its hour."""
        folder, _, name = path.rpartition("/")
        day, _, hour = folder.rpartition("/")
        for key, (mode, _) in self._repository.folder(tree, day).items():
            other = key.decode("ascii", "replace")
            is_part = stat.S_ISDIR(mode) and _PART.fullmatch(other)
            if is_part and other != hour and other[:2] == hour[:2]:
                yield f"{day}/{other}/{name}"

    def has_gone(self, path: str, blob: str) -> None:
        """Take down that a file no longer stands where it stood."""
        self._gone.add((path, blob))

    def was_there(self, path: str, blob: str) -> bool:
        """Tell whether a file stood there before, in what was or was not judged."""
        if self._places.get(bytes.fromhex(blob)) == path:
            return True
        if not self._is_read and (path, blob) not in self._gone:
            self._read_all()
        return (path, blob) in self._gone

    def _read_all(self) -> None:
        """Take down what has gone in commits that are not judged; rarely asked for."""
        self._is_read = True
        repository = self._repository
        for commit in repository.walk(CommitId(self._since or "")):
            for parent in commit.parents[:1]:
                old = repository.commit(parent).tree
                for change in differences(repository, old, commit.tree, _ignore):
                    if change.old:
                        self._gone.add((change.path, change.old))


def _ignore(_path: str, _why: str) -> None:
    """Say nothing of what is not judged."""
