"""What a bundle would bring, checked to the last object before any of it is written.

All of it is hostile until then (DESIGN 11). Objects are read from the bundle, and from
the repository where they are in that alone.
"""

import stat
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gitmail.errors import (
    BundleIncompleteError,
    BundleInvalidError,
    InvalidFileError,
)
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.names import CommitId
from gitmail.records.paths import CHARTER_PATH, Family, parse_path
from gitmail.store.additions import (
    Added,
    added,
    entries_of,
    entry_at,
    parents_of,
    root_of,
)
from gitmail.store.bundle import Bundle, mailbox_of, remark_of, title_of
from gitmail.store.keeper import Progress
from gitmail.store.kept import Kept
from gitmail.store.outgoing import Reader
from gitmail.store.pack import BLOB, COMMIT, TREE, Entry, NewObject
from gitmail.store.pack_numbers import DamagedPackError
from gitmail.store.repository import UNREADABLE, Tree, printable
from gitmail.store.soundness import (
    fault_of,
    fault_of_folder,
    harm_of,
    is_sound_commit,
    is_sound_tree,
)
from gitmail.store.unpacking import MissingBasesError, PackedObjects

_PROGRESS_STEP = 1000
_MOST_IDLE = 1000
_MOST_IDLE_EACH = 10
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
        tip: The tip there.
        progress: Told now and then how many files were checked.

    Attributes:
        commits: The commits in the bundle, each with those that it stands on.

    Raises:
        BundleInvalidError: Its pack is damaged, or more than it may be.
        BundleIncompleteError: It tells objects by their difference to others that are
            not here.
    """

    def __init__(
        self,
        bundle: Bundle,
        here: Reader | None,
        tip: CommitId | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._bundle = bundle
        self._tip = tip
        self._progress = progress
        self._here = here
        self._trees: Kept[Tree] = Kept(_TREES_KEPT)
        self._faults: dict[Added, str] = {}
        try:
            self._packed = PackedObjects(bundle.pack, self._raw_here)
        except DamagedPackError as error:
            raise self._invalid(str(error)) from error
        except MissingBasesError as error:
            missing = [*bundle.prerequisites]
            raise BundleIncompleteError(bundle.path, missing, tip) from error
        self.commits: dict[CommitId, list[CommitId]] = {}
        for sha in self._packed.ids(COMMIT):
            data = self._read(sha, COMMIT)
            if not is_sound_commit(data):
                raise self._invalid(f"commit {sha.hex()} is malformed")
            self.commits[CommitId(sha.hex())] = parents_of(data)

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
        said = map(mailbox_of, self._bundle.prerequisites.values())
        return next(filter(None, said), None)

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

    def check(self, known: frozenset[CommitId]) -> Checked:
        """Check everything.

        Args:
            known: Which of the `named` commits are here, with all that they stand on.

        Raises:
            BundleInvalidError: Something is not what it should be.
            BundleIncompleteError: It stands on commits that are not here.
            UnsupportedFormatError: The mailbox was written by a newer gitmail.
        """
        order = self._oldest_first()
        reached = {*order}
        lost = {*self._bundle.prerequisites, *(reached - self.commits.keys())}
        lost.difference_update(known)
        if lost:
            raise BundleIncompleteError(self._bundle.path, sorted(lost), self._tip)
        if self.commits.keys() - reached:
            raise self._invalid("it holds commits that its branch does not need")
        objects = self._check_objects(order, known)
        self._check_tip()
        charter = self._charter()
        if charter is None:
            raise self._invalid(f"its tip has no {CHARTER_PATH} that can be read")
        self._check_remarks(remark_of(charter.id))
        fresh = frozenset(self.commits.keys() - known)
        return Checked(fresh, frozenset(objects), bool(reached & known))

    def entries(self, checked: Checked) -> Iterator[Entry]:
        """Yield what has to be written, a delta's base before it."""
        return self._packed.entries(checked.objects)

    def _oldest_first(self) -> list[CommitId]:
        """Return its commits and what they stand on, none before one that it needs."""
        order: list[CommitId] = []
        seen: set[CommitId] = set()
        todo = [(self._bundle.tip, False)]
        while todo:
            key, has_all = todo.pop()
            if has_all:
                order.append(key)
            elif key not in seen:
                seen.add(key)
                todo.append((key, True))
                todo += [(parent, False) for parent in self.commits.get(key, ())]
        return order

    def _check_remarks(self, ours: str) -> None:
        """Refuse a remark that is neither ours nor git's: it was altered."""
        for commit, remark in self._bundle.prerequisites.items():
            data = self._read(bytes.fromhex(commit), COMMIT)
            if remark not in ("", ours, title_of(data)):
                raise self._invalid("its head is damaged")

    def _check_objects(
        self, order: Sequence[CommitId], known: frozenset[CommitId]
    ) -> set[bytes]:
        """Check what each commit adds; returns the objects of those not known."""
        used = {bytes.fromhex(commit) for commit in self.commits}
        wanted = {bytes.fromhex(commit) for commit in self.commits.keys() - known}
        walked: set[Added] = set()
        count = 0
        for commit in filter(self.commits.__contains__, order):
            is_fresh = commit not in known
            others = [self._root(parent) for parent in self.commits[commit]]
            for each in added(self._tree, self._root(commit), others, walked):
                if each.sha in self._packed:
                    used.add(each.sha)
                    wanted.update([each.sha] if is_fresh else ())
                if is_fresh:
                    self._check_added(each)
                    count += 1
                    self._report("files checked", count)
        if len(used) < len(self._packed):
            raise self._invalid("it holds objects that its history does not need")
        return wanted

    def _check_added(self, each: Added) -> None:
        harm = harm_of(each.path, each.mode) if each.path else None
        if harm:
            raise self._invalid(harm)
        if each.is_folder:
            fault = fault_of_folder(each.path, self._tree(each.sha))
        else:
            fault = fault_of(each.path, each.mode, self._read(each.sha, BLOB))
        if fault:
            self._faults[each] = fault
        # A few trees that hold one another could stand for any number of files.
        if len(self._faults) > _MOST_IDLE + _MOST_IDLE_EACH * len(self._packed):
            raise self._invalid(f"too much in it is of no mailbox, such as {each.path}")

    def _check_tip(self) -> None:
        """Refuse what is not in order where it stands at the tip, and would be shown.

        In older commits alone it is idle.
        """
        root = self._root(self._bundle.tip)
        for each, fault in self._faults.items():
            if entry_at(self._tree, root, each.path) == (each.mode, each.sha):
                raise self._invalid(fault)

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
            if sha in self._packed and not is_sound_tree(tree, data):
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

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)

    def _invalid(self, reason: str) -> BundleInvalidError:
        return BundleInvalidError(self._bundle.path, reason)
