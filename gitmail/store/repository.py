"""Objects, trees and commits of the mailbox's git repository; owns dulwich.

Reading goes through dulwich, which finds an object wherever git or we have put it.
Writing builds the few objects of one commit and hands them over as one small pack:
no index, no work tree, no hooks, no user's configuration, no environment.
"""

import heapq
import os
import re
import stat
import struct
import weakref
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    ObjectFormatException,
)
from dulwich.object_store import DiskObjectStore
from dulwich.objects import parse_tree
from dulwich.pack import PackFileDisappeared, UnresolvedDeltas

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import translated
from gitmail.store.kept import Kept
from gitmail.store.pack import (
    BLOB,
    COMMIT,
    KINDS,
    TREE,
    Entry,
    NewObject,
    deflate,
    enclose,
    release_pack,
    write_pack,
)

T = TypeVar("T")

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
FILE_MODE = 0o100644
FOLDER_MODE = 0o40000
SUBMODULE_MODE = 0o160000
_TREES_KEPT = 256
_COMMITS_KEPT = 64
_DEEPEST = 16
_FEW = 256

# What dulwich raises for objects that are missing, cut short or not what they say.
UNREADABLE = (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    ObjectFormatException,
    PackFileDisappeared,
    UnresolvedDeltas,
    AssertionError,
    EOFError,
    LookupError,
    NotImplementedError,
    OverflowError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)

Tree = dict[bytes, tuple[int, bytes]]
"""Name to mode and raw id, in no certain order."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it was read.

    Attributes:
        tree: Hex id of its tree.
        author: The author's name, without address.
        email: The author's address.
        committer: The committer, as `name <address>`.
        time: Seconds since 1970 of the commit.
        message: The whole commit message.
    """

    id: CommitId
    tree: str
    parents: tuple[CommitId, ...]
    author: str
    email: str
    committer: str
    time: int
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.split("\n", 1)[0]

    def trailers(self, key: str) -> list[str]:
        """Return the values of a trailer, in order."""
        block = self.message.rstrip().rsplit("\n\n", 1)[-1]
        prefix = f"{key}: "
        lines = block.splitlines()
        return [line[len(prefix) :] for line in lines if line.startswith(prefix)]


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees.

    Attributes:
        old: Hex id of the blob there before, None where there was none.
        new: Hex id of the blob there now, None where there is none.
        is_plain: Whether what is there now is a regular file, not a link, an
            executable or a submodule.
    """

    path: str
    old: str | None
    new: str | None
    is_plain: bool = True


class Repository:
    """The object side of one repository; not safe for several threads at once.

    Args:
        git_dir: The folder that holds `objects`.
        incoming: A second folder of objects, such as those of a push that has not been
            accepted yet.
    """

    def __init__(self, git_dir: Path, *, incoming: Path | None = None) -> None:
        self._git_dir = git_dir
        self._packs = git_dir / "objects" / "pack"
        self._objects = DiskObjectStore(git_dir / "objects")
        if incoming:
            self._objects.alternates.append(DiskObjectStore(incoming))
        # Whoever forgets to close must not see dulwich complain at exit.
        self.close = weakref.finalize(self, _close, self._objects)
        self._trees: Kept[Tree] = Kept(_TREES_KEPT)
        self._commits: Kept[Commit] = Kept(_COMMITS_KEPT)

    @property
    def pack_folder(self) -> Path:
        """The folder of the packs."""
        return self._packs

    def blob(self, object_id: str) -> bytes:
        """Return the bytes of a blob.

        Raises:
            CorruptMailboxError: It is missing or damaged.
        """
        return self._read(object_id, BLOB)

    def has(self, object_id: str) -> bool:
        """Tell whether an object is there."""
        try:
            with translated(self._packs):
                return self._objects.__contains__(_oid(object_id))
        except UNREADABLE as error:
            what = "a pack's index cannot be read"
            raise CorruptMailboxError(what, self._where) from error

    def tree(self, tree_id: str) -> Tree:
        """Return the entries of a tree; the caller must not change them.

        Raises:
            CorruptMailboxError: It is missing or damaged.
        """
        tree = self._trees.get(tree_id)
        if tree is None:
            data = self._read(tree_id, TREE)
            try:
                tree = _parse_tree(data)
            except UNREADABLE as error:
                what = f"tree {tree_id} is malformed"
                raise CorruptMailboxError(what, self._where) from error
            self._trees.put(tree_id, tree)
        return tree

    def commit(self, commit_id: str) -> Commit:
        """Return a commit.

        Raises:
            CorruptMailboxError: It is missing or damaged.
        """
        commit = self._commits.get(commit_id)
        if commit is None:
            commit = _parse_commit(commit_id, self._read(commit_id, COMMIT))
            if commit is None:
                what = f"commit {commit_id} is malformed"
                raise CorruptMailboxError(what, self._where)
            self._commits.put(commit_id, commit)
        return commit

    def walk(
        self, start: CommitId, hidden: Collection[CommitId] = ()
    ) -> Iterator[Commit]:
        """Yield a commit and its ancestors but the hidden ones, newest first."""
        seen = {start, *hidden}
        todo = [] if start in hidden else [(0, start)]
        while todo:
            commit = self.commit(heapq.heappop(todo)[1])
            yield commit
            for parent in commit.parents:
                if parent not in seen:
                    seen.add(parent)
                    heapq.heappush(todo, (-self.commit(parent).time, parent))

    def touches(self, commit: Commit, path: str) -> bool:
        """Tell whether a commit changed what stands at a path."""
        now = self.lookup(commit.tree, path)
        trees = [self.commit(parent).tree for parent in commit.parents]
        before = [self.lookup(tree, path) for tree in trees]
        return now not in before if before else now is not None

    def lookup(self, tree_id: str, path: str) -> str | None:
        """Return the id of the regular file or folder at a path, None if none."""
        folder, _, name = path.rpartition("/")
        entry = self.folder(tree_id, folder).get(os.fsencode(name))
        is_usable = entry is not None and entry[0] in (FOLDER_MODE, FILE_MODE)
        return entry[1].hex() if entry and is_usable else None

    def file_id(self, tree_id: str, path: str) -> str | None:
        """Return the id of the regular file at a path, None where there is none."""
        folder, _, name = path.rpartition("/")
        mode, sha = self.folder(tree_id, folder).get(os.fsencode(name), (0, b""))
        return sha.hex() if mode == FILE_MODE else None

    def folder(self, tree_id: str, path: str) -> Tree:
        """Return the entries of a folder, none where there is no such folder.

        Args:
            path: The folder's path, empty for the root.
        """
        found = self.folder_id(tree_id, path)
        return self.tree(found) if found else {}

    def folder_id(self, tree_id: str, path: str) -> str | None:
        """Return the id of the folder at a path, None where there is no such folder."""
        for name in path.split("/") if path else ():
            entry = self.tree(tree_id).get(os.fsencode(name))
            if entry is None or entry[0] != FOLDER_MODE:
                return None
            tree_id = entry[1].hex()
        return tree_id

    def changes(
        self,
        old_tree: str | None,
        new_tree: str | None,
        order: Sequence[str] = (),
    ) -> Iterator[Change]:
        """Yield what differs between two trees, in the order of the names.

        Args:
            old_tree: Hex id, or None for the empty tree.
            new_tree: Hex id, or None for the empty tree.
            order: Folders of the root that come before all others, in this order.
        """
        first = {f"{name}/": place for place, name in enumerate(order)}
        todo: list[tuple[str, str | None, str | None]] = [("", old_tree, new_tree)]
        while todo:
            prefix, old_id, new_id = todo.pop()
            old = self.tree(old_id) if old_id else {}
            new = self.tree(new_id) if new_id else {}
            folders = []
            for name in sorted({name for name, _ in old.items() ^ new.items()}):
                before, after = old.get(name), new.get(name)
                path = prefix + printable(name)
                a, b = _folder_id(before), _folder_id(after)
                if (a or b) and prefix.count("/") < _DEEPEST:
                    folders.append((f"{path}/", a, b))
                if (before and not a) or (after and not b):
                    yield Change(
                        path,
                        before[1].hex() if before and not a else None,
                        after[1].hex() if after and not b else None,
                        not after or after[0] == FILE_MODE or bool(b),
                    )
            if not prefix:
                folders.sort(key=lambda item: first.get(item[0], len(first)))
            todo.extend(reversed(folders))

    def build_tree(
        self, base: str | None, files: Mapping[str, NewObject | None]
    ) -> tuple[str, list[NewObject]]:
        """Return a tree with some files changed, and the trees that are new.

        Args:
            base: Hex id of the tree to start from, None for the empty one.
            files: Path to the new content, None to remove the file.
        """
        nested: dict[str, Any] = {}
        for path, item in files.items():
            *folders, name = path.split("/")
            level = nested
            for folder in folders:
                level = level.setdefault(folder, {})
            level[name] = item
        made: list[NewObject] = []
        root = self._build_level(base, nested, made)
        if root is None:
            made.append(self.make_tree({}))
            root = made[-1].sha
        return root.hex(), made

    def build_commit(
        self,
        tree: str,
        parents: tuple[CommitId, ...],
        author: str,
        moment: datetime,
        message: str,
    ) -> NewObject:
        """Return the commit object; everything in it is passed, nothing looked up."""
        seconds = max(int(moment.timestamp()), 0)  # git knows no time before 1970
        who = f"{author} <{author}@gitmail.invalid> {seconds} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {who}", f"committer {who}", "", message]
        made = NewObject.of(COMMIT, "\n".join(lines).encode())
        # The next commit starts from this one.
        commit_id = made.sha.hex()
        commit = _parse_commit(commit_id, made.data)
        if commit:
            self._commits.put(commit_id, commit)
        return made

    @contextmanager
    def added(self, objects: list[NewObject]) -> Iterator[None]:
        """Write objects as one durable pack, for a block that makes a branch name them.

        Until then git is told to keep it: `git repack -a -d` drops what nobody names.
        """
        pack = enclose if len(objects) <= _FEW else deflate
        entries: dict[bytes, Entry] = {o.sha: pack(o) for o in objects}
        with translated(self._packs):
            name = write_pack(self._packs, entries.values(), is_kept=True)
        try:
            yield
        finally:
            release_pack(self._packs, name)

    def _build_level(
        self, base: str | None, nested: Mapping[str, Any], made: list[NewObject]
    ) -> bytes | None:
        tree = dict(self.tree(base)) if base else {}
        for name, item in nested.items():
            key = name.encode()
            if item is None:
                tree.pop(key, None)
            elif isinstance(item, NewObject):
                tree[key] = (FILE_MODE, item.sha)
            else:
                below = self._build_level(_folder_id(tree.get(key)), item, made)
                if below is None:
                    tree.pop(key, None)
                else:
                    tree[key] = (FOLDER_MODE, below)
        if not tree:
            return None
        made.append(self.make_tree(tree))
        return made[-1].sha

    def make_tree(self, tree: Tree) -> NewObject:
        """Return the tree object with these entries."""
        rows = sorted(
            (name + b"/" if stat.S_ISDIR(mode) else name, name, mode, sha)
            for name, (mode, sha) in tree.items()
        )
        data = b"".join(
            b"%o %b\x00%b" % (mode, name, sha) for _, name, mode, sha in rows
        )
        made = NewObject.of(TREE, data)
        # The next commit starts from this tree.
        self._trees.put(made.sha.hex(), tree)
        return made

    def _read(self, object_id: str, kind: int) -> bytes:
        try:
            with translated(self._packs):
                found, data = self._objects.get_raw(_oid(object_id))
        except UNREADABLE as error:
            loose = self._read_loose(object_id)
            if loose is None:
                what = f"object {object_id} is missing or damaged"
                raise CorruptMailboxError(what, self._where) from error
            found, data = loose
        if found != kind:
            what = f"object {object_id} is of another type"
            raise CorruptMailboxError(what, self._where)
        return data

    def _read_loose(self, object_id: str) -> tuple[int, bytes] | None:
        """Return kind and bytes of a loose object, for which dulwich is too strict."""
        place = self._packs.parent / object_id[:2] / object_id[2:]
        try:
            raw = zlib.decompress(place.read_bytes())
        except (OSError, zlib.error):
            return None
        head, _, data = raw.partition(b"\0")
        kind, _, size = head.partition(b" ")
        is_whole = kind in KINDS and size == b"%d" % len(data)
        return (KINDS[kind], data) if is_whole else None

    @property
    def _where(self) -> str:
        return str(self._git_dir.parent)


def _close(objects: DiskObjectStore) -> None:
    """Close all, also where an error on its way holds a view of a pack.

    Dulwich lets go of that pack's mapping, raises and leaves the rest open.
    """
    for pack in objects._pack_cache.values():  # noqa: SLF001 - `packs` looks for more
        with suppress(BufferError):
            pack.close()
    for alternate in objects._alternates or ():  # noqa: SLF001 - as said
        if isinstance(alternate, DiskObjectStore):
            _close(alternate)
    objects.close()


# Lenient behind the parents: a person's odd clock must not stop everybody's mail.
_COMMIT = re.compile(
    rb"tree (?P<tree>[0-9a-f]{40})\n(?P<parents>(?:parent [0-9a-f]{40}\n)*)"
    rb"(?:author (?P<author>[^<\n]*?) ?(?:<(?P<email>[^>\n]*)>[^\n]*)?\n)?"
    rb"(?:committer (?P<committer>[^\n]*>) (?P<time>\d{1,12}) [^\n]*\n)?"
)
LATEST_S = 253_402_300_799
"""The end of the year 9999, and of `datetime`, in seconds since 1970."""


def _parse_commit(commit_id: str, data: bytes) -> Commit | None:
    found = _COMMIT.match(data)
    if not found:
        return None
    parents = found["parents"].decode().split("parent ")[1:]
    return Commit(
        CommitId(commit_id),
        found["tree"].decode(),
        tuple(CommitId(parent.strip()) for parent in parents),
        (found["author"] or b"").decode("utf-8", "replace"),
        (found["email"] or b"").decode("utf-8", "replace"),
        (found["committer"] or b"").decode("utf-8", "replace"),
        min(int(found["time"] or 0), LATEST_S),
        data.partition(b"\n\n")[2].decode("utf-8", "replace"),
    )


def _oid(object_id: str) -> Any:
    if not is_hex(object_id):
        msg = f"no object id: {object_id!r}"
        raise ValueError(msg)
    return object_id.encode()


def _parse_tree(data: bytes) -> Tree:
    return {
        name: (mode, bytes.fromhex(sha.decode()))
        for name, mode, sha in parse_tree(data, 20)
    }


def _folder_id(entry: tuple[int, bytes] | None) -> str | None:
    return entry[1].hex() if entry and stat.S_ISDIR(entry[0]) else None


def printable(name: bytes) -> str:
    """Return a tree's name as text that no other name has; a slash stays one name."""
    text = name.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return text.replace("/", "\\x2f")
