"""What goes into a bundle: the objects of some commits, and no others.

Commits and their trees are walked, and what a parent has at the same path is left
out. Nothing else of the repository is ever looked at.
"""

import hashlib
import re
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dulwich.objects import parse_tree
from dulwich.pack import create_delta

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.disk import translated
from gitmail.store.pack import (
    BLOB,
    COMMIT,
    TREE,
    Entry,
    NewObject,
    compress,
    deflate,
    encode,
)
from gitmail.store.repository import UNREADABLE, Kept, Repository, Tree, printable
from gitmail.store.transport import Git

_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")
_FOLDER_MODE = 0o40000
_DEEPEST_CHAIN = 40
_TREES_KEPT = 256


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
) -> Iterator[Added]:
    """Yield what a commit's tree has at any path and none of some others has there.

    Args:
        read: Returns the entries of a tree.
        others: The trees of the commits that it stands on, and any.
        walked: What was yielded of commits so far, and is not again. For who takes
            commits in their order, oldest first: then all below it came as well.
    """
    todo = [(Added("", _FOLDER_MODE, tree), others)] if tree not in others else []
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
        for name, (mode, child) in sorted(fresh, reverse=True):
            found = [tree[name] for tree in before if name in tree]
            below = [sha for mode, sha in found if stat.S_ISDIR(mode)]
            todo.append((Added(prefix + printable(name), mode, child), below))


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


def make_pack(
    git_dir: Path,
    tip: CommitId,
    since: CommitId | None,
    commits: Sequence[CommitId],
    git: Git | None,
) -> bytes:
    """Return a pack with all that a commit's history has, and another's has not.

    Args:
        commits: Those that the one history has and the other has not, newest first.
        git: An installed git; None does it without.

    Raises:
        CorruptMailboxError: An object is missing or not what it was.
    """
    # Git has the deltas that are there already copied: a fifteenth of the time.
    pack = _pack_by_git(git_dir, tip, since, git) if git else None
    if pack is None:
        repository = Reader(git_dir)
        try:
            pack, _, _ = encode(Outgoing(repository, commits, since).entries())
        finally:
            repository.close()
    return pack


def _pack_by_git(
    git_dir: Path, tip: CommitId, since: CommitId | None, git: Git
) -> bytes | None:
    """Return what git packs, None where it does not; the other way says why, then."""
    if (git_dir / "shallow").exists():  # git would leave out what is missing
        return None
    command = [git.program, "--no-replace-objects", f"--git-dir={git_dir}"]
    said = f"{tip}\n^{since}\n" if since else f"{tip}\n"
    try:
        done = subprocess.run(  # noqa: S603 - the program that the settings name
            [
                *command,
                "pack-objects",
                "-q",
                "--revs",
                "--stdout",
                "--delta-base-offset",
            ],
            input=said.encode(),
            capture_output=True,
            check=False,
            env=dict(git.environment),
        )
    except OSError:
        return None
    digest = hashlib.sha1(done.stdout[:-20], usedforsecurity=False).digest()
    is_whole = not done.returncode and done.stdout[-20:] == digest
    return done.stdout if is_whole else None


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
            CorruptMailboxError: An object is missing or not what it was.
        """
        known = [self._root(bytes.fromhex(self._since))] if self._since else []
        for commit in self._commits:
            item = self._object(bytes.fromhex(commit), COMMIT)
            yield deflate(item)
            parents = map(bytes.fromhex, parents_of(item.data))
            others = [*map(self._root, parents), *known]
            for each in added(self._tree, root_of(item.data), others):
                if each.sha not in self._seen:
                    self._seen.add(each.sha)
                    yield self._entry(each)

    def _entry(self, each: Added) -> Entry:
        if each.is_folder:
            return self._tree_entry(each)
        return deflate(self._object(each.sha, BLOB))

    def _tree_entry(self, each: Added) -> Entry:
        """Return a tree as a delta against its next newer version, if that is short."""
        data = self._tree_data(each.sha)[0]
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
            found = data, entries_of(data)
            self._trees.put(sha, found)
        return found

    def _object(self, sha: bytes, kind: int) -> NewObject:
        found = self._repository.raw(sha)
        if found is None or NewObject.of(kind, found.data).sha != sha:
            what = f"object {sha.hex()} is missing or damaged"
            raise CorruptMailboxError(what, str(self._repository.pack_folder))
        return found


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


def _hex(sha: bytes) -> Any:
    return sha.hex().encode()
