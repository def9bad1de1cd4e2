"""What goes into a bundle: the objects of some commits, and no others.

Commits and their trees are walked, and what a parent has at the same path is left
out. Nothing else of the repository is ever looked at.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from dulwich.pack import create_delta

from gitmail.errors import BundleBlockedError, CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.additions import (
    Added,
    added,
    entries_of,
    entry_at,
    parents_of,
    root_of,
)
from gitmail.store.disk import translated
from gitmail.store.kept import Kept
from gitmail.store.pack import (
    BLOB,
    COMMIT,
    TREE,
    Entry,
    NewObject,
    compress,
    deflate,
)
from gitmail.store.pack_numbers import LARGEST_BYTES
from gitmail.store.repository import UNREADABLE, Repository, Tree
from gitmail.store.soundness import (
    fault_of,
    fault_of_folder,
    harm_of,
    is_sound_commit,
    is_sound_tree,
    too_large,
)

_DEEPEST_CHAIN = 40
_TREES_KEPT = 256


class Reader(Repository):
    """A repository whose objects are read as bytes."""

    def raw(self, sha: bytes) -> NewObject | None:
        """Return an object, None where there is none that can be read."""
        try:
            with translated(self._packs):
                kind, data = self._objects.get_raw(_hex(sha))
        except UNREADABLE:
            loose = self._read_loose(sha.hex())
            if loose is None:
                return None
            kind, data = loose
        return NewObject(kind, data, sha)


class Outgoing:
    """The objects that some commits have, and their parents among others have not.

    Args:
        repository: Where they are.
        commits: The commits, none behind one that it stands on. Commits that are not
            among them count as known with all that they have.
        since: One of those, whose own tree is left out wherever it comes again.
    """

    def __init__(
        self,
        repository: Reader,
        commits: Sequence[CommitId],
        since: CommitId | None,
    ) -> None:
        self._repository = repository
        self._commits = commits
        self._since = since
        self._trees: Kept[tuple[bytes, Tree]] = Kept(_TREES_KEPT)
        self._roots: dict[bytes, bytes] = {}
        self._latest: dict[str, tuple[bytes, bytes, int]] = {}
        self._seen: set[bytes] = set()

    def entries(self) -> Iterator[Entry]:
        """Yield each object once, to be packed, a delta's base before it.

        Raises:
            BundleBlockedError: One would be refused in whatever commit it is.
            CorruptMailboxError: One is missing or not what it was.
        """
        known = [self._root(bytes.fromhex(self._since))] if self._since else []
        for commit in self._commits:
            item = self._object(bytes.fromhex(commit), COMMIT)
            if len(item.data) > LARGEST_BYTES or not is_sound_commit(item.data):
                raise BundleBlockedError(commit, f"commit {commit} is malformed")
            yield deflate(item)
            parents = map(bytes.fromhex, parents_of(item.data))
            others = [*map(self._root, parents), *known]
            for each in added(self._tree, root_of(item.data), others):
                harm = harm_of(each.path, each.mode) if each.path else None
                if harm:
                    raise BundleBlockedError(commit, harm, each.path)
                if each.sha not in self._seen:
                    self._seen.add(each.sha)
                    yield self._entry(each, commit)

    def check_tip(self, suspects: Collection[str]) -> None:
        """Check for what is refused because the newest of the commits has it.

        Args:
            suspects: The paths of all files in its tree that are not in order, and any.

        Raises:
            BundleBlockedError: There is such a thing.
            CorruptMailboxError: An object is missing or not what it was.
        """
        tip = self._commits[0]
        known = [self._root(bytes.fromhex(self._since))] if self._since else []
        root = self._root(bytes.fromhex(tip))
        for each in added(self._tree, root, known, has_files=False):
            data, tree = self._tree_data(each.sha)
            self._check_tree(each, data, tip)
            self._refuse(each, fault_of_folder(each.path, tree))
        for path in suspects:
            entry, *before = (
                entry_at(self._tree, each, path) for each in (root, *known)
            )
            if entry is None or entry in before:
                continue
            each = Added(path, *entry)
            harm = harm_of(path, each.mode)
            if harm:
                raise BundleBlockedError(self._commit_of(each), harm, path)
            data = self._object(each.sha, BLOB).data
            self._refuse(each, fault_of(path, each.mode, data))

    def _refuse(self, each: Added, fault: str | None) -> None:
        if fault:
            commit = self._commit_of(each)
            raise BundleBlockedError(commit, fault, each.path, is_at_tip=True)

    def _commit_of(self, each: Added) -> CommitId:
        """Return the newest commit that has put something where it is."""
        entry = (each.mode, each.sha)
        for commit in self._commits:
            parents = parents_of(self._object(bytes.fromhex(commit), COMMIT).data)
            trees = [self._root(bytes.fromhex(key)) for key in (commit, *parents)]
            now, *before = (entry_at(self._tree, tree, each.path) for tree in trees)
            if now == entry and entry not in before:
                return commit
        return self._commits[0]

    def _entry(self, each: Added, commit: CommitId) -> Entry:
        if each.is_folder:
            data = self._tree_data(each.sha)[0]
            self._check_tree(each, data, commit)
            return self._tree_entry(each, data)
        item = self._object(each.sha, BLOB)
        if len(item.data) > LARGEST_BYTES:
            raise BundleBlockedError(commit, too_large(each.path), each.path)
        return deflate(item)

    def _check_tree(self, each: Added, data: bytes, commit: CommitId) -> None:
        if len(data) > LARGEST_BYTES:
            raise BundleBlockedError(commit, too_large(each.path), each.path)
        if not is_sound_tree(self._tree(each.sha), data):
            reason = f"tree {each.sha.hex()} is malformed"
            raise BundleBlockedError(commit, reason, each.path)

    def _tree_entry(self, each: Added, data: bytes) -> Entry:
        """Return a tree as a delta against its next newer version, if that is short."""
        newer, base, depth = self._latest.get(each.path, (b"", b"", _DEEPEST_CHAIN))
        if depth < _DEEPEST_CHAIN:
            delta = b"".join(create_delta(base, data))
            if 2 * len(delta) < len(data):
                self._latest[each.path] = each.sha, data, depth + 1
                return Entry(each.sha, TREE, len(delta), compress(delta), newer)
        self._latest[each.path] = each.sha, data, 0
        return deflate(NewObject(TREE, data, each.sha))

    def _root(self, commit: bytes) -> bytes:
        if commit not in self._roots:
            self._roots[commit] = root_of(self._object(commit, COMMIT).data)
        return self._roots[commit]

    def _tree(self, sha: bytes) -> Tree:
        return self._tree_data(sha)[1]

    def _tree_data(self, sha: bytes) -> tuple[bytes, Tree]:
        found = self._trees.get(sha)
        if found is None:
            data = self._object(sha, TREE).data
            try:
                found = data, entries_of(data)
            except UNREADABLE as error:
                what = f"tree {sha.hex()} is malformed"
                where = str(self._repository.pack_folder)
                raise CorruptMailboxError(what, where) from error
            self._trees.put(sha, found)
        return found

    def _object(self, sha: bytes, kind: int) -> NewObject:
        found = self._repository.raw(sha)
        if found is None or NewObject.of(kind, found.data).sha != sha:
            what = f"object {sha.hex()} is missing or damaged"
            raise CorruptMailboxError(what, str(self._repository.pack_folder))
        return found


def _hex(sha: bytes) -> Any:
    return sha.hex().encode()
