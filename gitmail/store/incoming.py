"""What a bundle would bring, checked to the last object before any of it is written.

All of it is hostile until then (DESIGN 11). Objects are read from the bundle, and from
the repository where they are in that alone.
"""

import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile

from gitmail.errors import (
    BundleIncompleteError,
    BundleInvalidError,
    InvalidFileError,
)
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.memory import parse_memory
from gitmail.records.message import blob_id, parse_message
from gitmail.records.names import CommitId
from gitmail.records.paths import (
    CHARTER_PATH,
    PATH_LIMIT,
    Family,
    Place,
    copy_path,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
    set_aside_path,
)
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import parse_blind_copy, parse_receipt
from gitmail.store.bundle import Bundle
from gitmail.store.outgoing import Added, Reader, added, entries_of, parents_of, root_of
from gitmail.store.pack import BLOB, COMMIT, TREE, Entry, NewObject
from gitmail.store.repository import (
    FILE_MODE,
    UNREADABLE,
    Kept,
    Tree,
    printable,
)
from gitmail.store.unpacking import DamagedPackError, MissingBasesError, PackedObjects

_PERSON = rb"[^<>\n\0]*<[^<>\n\0]*> \d{1,12} [+-]\d{4}\n"
_COMMIT = re.compile(
    rb"tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*"
    rb"author " + _PERSON + rb"committer " + _PERSON + rb"(?:[^\n\0]+\n)*\n[^\0]*"
)
_REMARK = re.compile(r"mailbox (?P<id>[0-9a-f-]{36})")
_FOLDER_MODE = 0o40000
_TREES_KEPT = 256


@dataclass(frozen=True, slots=True)
class Checked:
    """What a bundle holds, found to be sound.

    Attributes:
        fresh: The commits that are not here yet.
        objects: Ids of all that is needed to have these here.
        is_related: Whether one of its commits, or one that it stands on, is here.
    """

    fresh: frozenset[CommitId]
    objects: frozenset[bytes]
    is_related: bool


class Incoming:
    """The content of a bundle, on top of what is here.

    Args:
        bundle: The file as it was read.
        here: The repository, None where there is none.

    Attributes:
        commits: The commits in the bundle, each with those that it stands on.

    Raises:
        BundleInvalidError: Its pack is damaged, or more than it may be.
        BundleIncompleteError: It tells objects by their difference to others that are
            not here.
    """

    def __init__(self, bundle: Bundle, here: Reader | None) -> None:
        self._bundle = bundle
        self._here = here
        self._trees: Kept[Tree] = Kept(_TREES_KEPT)
        try:
            self._packed = PackedObjects(bundle.pack, self._raw_here)
        except DamagedPackError as error:
            raise self._invalid(str(error)) from error
        except MissingBasesError as error:
            missing = [*bundle.prerequisites]
            raise BundleIncompleteError(bundle.path, missing) from error
        ids = self._packed.ids(COMMIT)
        self._commits = {sha: self._read(sha, COMMIT) for sha in ids}
        for sha, data in self._commits.items():
            if not _COMMIT.fullmatch(data):
                raise self._invalid(f"commit {sha.hex()} is malformed")
        self.commits = {
            CommitId(sha.hex()): [CommitId(each) for each in parents_of(data)]
            for sha, data in self._commits.items()
        }

    @property
    def named(self) -> set[CommitId]:
        """The commits that may be here: its own, and those that they stand on."""
        parents = (each for found in self.commits.values() for each in found)
        return {*self.commits, *parents, *self._bundle.prerequisites, self._bundle.tip}

    @property
    def mailbox(self) -> str | None:
        """Id of the mailbox that it is of, None where that cannot be told here."""
        charter = self._charter()
        if charter:
            return charter.id
        remarks = map(_REMARK.fullmatch, self._bundle.prerequisites.values())
        return next((said["id"] for said in remarks if said), None)

    def counts(self, chosen: Collection[bytes] | None = None) -> Counter[Family]:
        """Return how many files of its tip are in it, by what they are.

        Args:
            chosen: Only those among these objects.
        """
        found: Counter[Family] = Counter()
        is_in = self._bundle.tip in self.commits
        todo = [("", self._root(self._bundle.tip))] if is_in else []
        seen: set[bytes] = set()
        while todo:
            prefix, sha = todo.pop()
            if sha in seen or sha not in self._packed:
                continue
            seen.add(sha)  # unchecked trees may hold one another a thousand times
            for name, (mode, child) in self._tree(sha).items():
                path = prefix + printable(name)
                if stat.S_ISDIR(mode):
                    todo.append((f"{path}/", child))
                elif child in (self._packed if chosen is None else chosen):
                    found[parse_path(path).family] += 1
        return found

    def check(self, known: Collection[CommitId]) -> Checked:
        """Check everything.

        Args:
            known: Which of the `named` commits are here, with all that they stand on.

        Raises:
            BundleInvalidError: Something is not what it should be.
            BundleIncompleteError: It stands on commits that are not here.
            UnsupportedFormatError: The mailbox was written by a newer gitmail.
        """
        lost = [each for each in self._bundle.prerequisites if each not in known]
        reached = self._reached()
        lost += [each for each in reached if each not in {*known, *self.commits, *lost}]
        if lost:
            raise BundleIncompleteError(self._bundle.path, lost)
        if len(self.commits.keys() - reached):
            raise self._invalid("it holds commits that its branch does not need")
        objects = self._check_objects(known)
        charter = self._charter()
        if charter is None:
            raise self._invalid(f"its tip has no {CHARTER_PATH} that can be read")
        self._check_remarks(remark_of(charter.id))
        fresh = frozenset(each for each in self.commits if each not in known)
        related = any(each in known for each in reached)
        return Checked(fresh, frozenset(objects), related)

    def entries(self, checked: Checked) -> Iterator[Entry]:
        """Yield what has to be written, a delta's base before it."""
        return self._packed.entries(checked.objects)

    def _reached(self) -> set[CommitId]:
        """Return its commits from the tip down, and what they stand on."""
        reached: set[CommitId] = set()
        todo = [self._bundle.tip]
        while todo:
            key = todo.pop()
            if key not in reached:
                reached.add(key)
                todo += self.commits.get(key, ())
        return reached

    def _check_remarks(self, ours: str) -> None:
        """Refuse a remark that is neither ours nor git's: it was altered."""
        for commit, remark in self._bundle.prerequisites.items():
            data = self._read(bytes.fromhex(commit), COMMIT)
            if remark not in ("", ours, _title(data)):
                raise self._invalid("its head is damaged")

    def _check_objects(self, known: Collection[CommitId]) -> set[bytes]:
        """Check what each commit adds; returns the objects of those not known."""
        used, wanted = {*self._commits}, set[bytes]()
        done: set[Added] = set()
        for commit, parents in self.commits.items():
            is_fresh = commit not in known
            if is_fresh:
                wanted.add(bytes.fromhex(commit))
            others = [self._root(parent) for parent in parents]
            for each in added(self._tree, self._root(commit), others):
                if each.sha in self._packed:
                    used.add(each.sha)
                    wanted.update([each.sha] if is_fresh else ())
                if is_fresh and each not in done:
                    done.add(each)
                    self._check_added(each)
        if len(used) < len(self._packed):
            raise self._invalid("it holds objects that its history does not need")
        return wanted

    def _check_added(self, each: Added) -> None:
        if each.is_folder:
            is_path = len(each.path) < PATH_LIMIT and each.mode == _FOLDER_MODE
            if not is_path or not self._tree(each.sha):
                raise self._invalid(f"it has a folder of no mailbox: {each.path}")
            return
        place = parse_path(each.path)
        if each.mode != FILE_MODE:
            raise self._invalid(f"it has what is no regular file: {each.path}")
        if place.family is Family.UNKNOWN:
            raise self._invalid(f"it has a file at no path of a mailbox: {each.path}")
        data = self._read(each.sha, BLOB)
        try:
            if each.path == CHARTER_PATH:
                parse_charter(data, self._bundle.path)
            find = _PATHS.get(place.family)
            is_placed = find is None or find(data, place) == each.path
        except InvalidFileError as error:
            reason = f"{error.reason}, in line {error.line} of {each.path}"
            raise self._invalid(reason) from error
        if not is_placed:
            raise self._invalid(
                f"it has a file whose path does not fit it: {each.path}"
            )

    def _charter(self) -> Charter | None:
        """Return the charter at the tip, None where it is not to be had."""
        try:
            root = self._tree(self._root(self._bundle.tip))
            entry = root.get(CHARTER_PATH.encode(), (0, b""))
            data = self._read(entry[1], BLOB)
            return parse_charter(data, self._bundle.path)
        except (BundleInvalidError, InvalidFileError):
            return None

    def _root(self, commit: CommitId) -> bytes:
        return root_of(self._read(bytes.fromhex(commit), COMMIT))

    def _tree(self, sha: bytes) -> Tree:
        tree = self._trees.get(sha)
        if tree is None:
            data = self._read(sha, TREE)
            try:
                tree = entries_of(data)
            except UNREADABLE as error:
                raise self._invalid(f"tree {sha.hex()} is malformed") from error
            if sha in self._packed and _tree_bytes(tree) != data:
                raise self._invalid(f"tree {sha.hex()} is malformed")
            self._trees.put(sha, tree)
        return tree

    def _read(self, sha: bytes, kind: int) -> bytes:
        """Return the bytes of an object that is in the bundle or here."""
        if sha in self._packed:
            if self._packed.kind(sha) != kind:
                raise self._invalid(f"object {sha.hex()} is of another type")
            try:
                return self._packed.data(sha)
            except DamagedPackError as error:
                raise self._invalid(str(error)) from error
        found = self._raw_here(sha)
        if found is None or found.kind != kind:
            raise self._invalid(f"object {sha.hex()} is neither in it nor here")
        return found.data

    def _raw_here(self, sha: bytes) -> NewObject | None:
        return self._here.raw(sha) if self._here else None

    def _invalid(self, reason: str) -> BundleInvalidError:
        return BundleInvalidError(self._bundle.path, reason)


_PATHS: dict[Family, Callable[[bytes, Place], str]] = {
    Family.MESSAGE: lambda data, at: message_path(parse_message(data), at.part),
    Family.RECEIPT: lambda data, at: receipt_path(parse_receipt(data), at.folder),
    Family.COPY: lambda data, at: copy_path(parse_blind_copy(data), at.folder),
    Family.PROFILE: lambda data, _: profile_path(parse_profile(data).name),
    Family.MEMORY: lambda data, at: memory_path(parse_memory(data), at.part),
    Family.ASIDE: lambda data, _: set_aside_path(blob_id(data)),
}
"""The path of a file with some content, whose kind and folder its own path tells."""


def remark_of(mailbox: str) -> str:
    """Return the remark by which a bundle tells what mailbox it is of.

    What is new in a mailbox seldom has the file that says so.
    """
    return f"mailbox {mailbox}"


def _tree_bytes(tree: Tree) -> bytes:
    """Return a tree as git writes it."""
    rows = sorted(
        (name + b"/" if stat.S_ISDIR(mode) else name, name, mode, sha)
        for name, (mode, sha) in tree.items()
    )
    return b"".join(b"%o %b\x00%b" % (mode, name, sha) for _, name, mode, sha in rows)


def _title(commit: bytes) -> str:
    """Return the first paragraph of a commit's message in one line, as git does."""
    lines = commit.partition(b"\n\n")[2].lstrip().split(b"\n")
    texts = (each.decode("utf-8", "replace").rstrip() for each in lines)
    return " ".join(takewhile(bool, texts))
