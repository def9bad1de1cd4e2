"""Which objects of a repository are sound, and which it needs and has not."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import is_hex
from gitmail.store.findings import Case, entries
from gitmail.store.pack import COMMIT
from gitmail.store.repository import (
    FOLDER_MODE,
    SUBMODULE_MODE,
    UNREADABLE,
    Commit,
    Repository,
    printable,
)
from gitmail.store.salvage import TAG, LooseFile, PackFile, Raw, Source

_LISTINGS = 8
_BEING_WRITTEN_S = 10.0


@dataclass(frozen=True, slots=True)
class Use:
    """What needs an object.

    Attributes:
        kind: `commit`, `tree` or `blob`.
        path: In the tree, empty for its root and for a commit.
        by: The ref or commit that needs it.
    """

    kind: str
    path: str
    by: str


class SoundObjects(Repository):
    """The objects of a repository that are sound, as they were at one moment.

    Args:
        case: Whose repository it is.

    Attributes:
        packs: The packs that are damaged, or that nobody reads for want of an index.
        loose: The loose objects that are damaged.
        needed: What the last look for gaps came by.
        boundary: Commits whose parents are known not to be here.
    """

    def __init__(self, case: Case) -> None:
        super().__init__(case.git_dir)
        self._case = case
        self._sources: dict[bytes, Source] = {}
        self.packs: list[PackFile] = []
        self.loose: list[LooseFile] = []
        self.needed: set[bytes] = set()
        self.boundary: frozenset[str] = frozenset()
        home = case.git_dir / "objects"
        for folder in (home, *alternates(home)):
            self._take_stock(folder, is_home=folder == home)

    def __contains__(self, sha: bytes) -> bool:
        return sha in self._sources

    def has(self, object_id: str) -> bool:
        """Tell whether an object is there and sound."""
        return bytes.fromhex(object_id) in self

    def add(self, shas: Iterable[bytes], source: Source) -> None:
        """Take objects from a source, whatever had them before."""
        self._sources.update(dict.fromkeys(shas, source))

    def only_in(self, pack: PackFile) -> list[bytes]:
        """Return the objects that a damaged pack has and no sound place."""
        return [sha for sha in pack.offsets if self._sources[sha] is pack]

    def raw(self, sha: bytes) -> Raw | None:
        """Return kind and bytes of an object, None where it cannot be read."""
        source = self._sources.get(sha)
        try:
            return source.read(sha) if source else None
        except (*UNREADABLE, FileNotFoundError):  # the latter: `git gc` was quicker
            return None

    def commits(self) -> Iterator[Commit]:
        """Yield all commits that are here, whether anything names them or not."""
        for sha in [*self._sources]:
            found = self.raw(sha)
            if found and found[0] == COMMIT:
                with suppress(CorruptMailboxError):  # no commit that git would write
                    yield self.commit(sha.hex())

    def gaps(self, starts: Mapping[str, str]) -> dict[bytes, Use]:
        """Return the objects that are needed and cannot be read.

        Args:
            starts: Id of a commit or tag to the ref that names it.
        """
        found: dict[bytes, Use] = {}
        self.needed = set()
        todo = [self._peeled(start, ref) for start, ref in starts.items()]
        while todo:
            key, by = todo.pop()
            if not self._is_new(bytes.fromhex(key)):
                continue
            try:
                commit = self.commit(key)
            except CorruptMailboxError:
                found[bytes.fromhex(key)] = Use("commit", "", by)
                continue
            if key not in self.boundary:
                todo += [(parent, key) for parent in commit.parents]
            self._add_gaps_of(commit.tree, key, found)
        return found

    def _peeled(self, start: str, ref: str) -> tuple[str, str]:
        """Return the commit that a tag stands for, and what needs it."""
        raw = self.raw(bytes.fromhex(start))
        while raw and raw[0] == TAG and self._is_new(bytes.fromhex(start)):
            ref, start = start, raw[1][7:47].decode("ascii", "replace")
            raw = self.raw(bytes.fromhex(start)) if is_hex(start) else None
        return start, ref

    def _add_gaps_of(self, root: str, by: str, found: dict[bytes, Use]) -> None:
        todo = [(bytes.fromhex(root), "")]
        while todo:
            key, path = todo.pop()
            if not self._is_new(key):
                continue
            try:
                tree = self.tree(key.hex())
            except CorruptMailboxError:
                found[key] = Use("tree", path, by)
                continue
            for name, (mode, sha) in tree.items():
                below = f"{path}/{printable(name)}" if path else printable(name)
                if mode == FOLDER_MODE:
                    todo.append((sha, below))
                elif mode != SUBMODULE_MODE and self._is_new(sha) and sha not in self:
                    found[sha] = Use("blob", below, by)

    def _is_new(self, sha: bytes) -> bool:
        if sha in self.needed:
            return False
        self.needed.add(sha)
        self._case.report("objects looked at", len(self.needed))
        return True

    def _read(self, object_id: str, kind: int) -> bytes:
        raw = self.raw(bytes.fromhex(object_id))
        if raw is None or raw[0] != kind:
            what = f"object {object_id} is missing or damaged"
            raise CorruptMailboxError(what, self._where)
        return raw[1]

    def _take_stock(self, folder: Path, *, is_home: bool) -> None:
        # Loose ones before packs, for that is the way in which git moves them.
        broken: list[LooseFile] = []
        for loose in _loose(folder):
            if loose.damage:
                broken.append(loose)
            else:
                self._sources.setdefault(loose.sha, loose)
        packs = self._packs_of(folder / "pack")
        for pack in sorted(packs, key=lambda each: each.damage is not None):
            for sha in pack.offsets:
                self._sources.setdefault(sha, pack)
        if is_home:
            self.loose = broken
            self.packs = [pack for pack in packs if pack.damage]

    def _packs_of(self, folder: Path) -> list[PackFile]:
        """Return the packs of a folder, which others may be folding."""
        packs: dict[str, PackFile] = {}
        for _ in range(_LISTINGS):
            names = {path.stem for path in folder.glob("pack-*.pack")}
            names |= {path.stem for path in folder.glob("pack-*.idx")}
            is_settled = True
            for name in sorted(names - packs.keys()):
                try:
                    packs[name] = PackFile(folder / f"{name}.pack")
                except FileNotFoundError:
                    is_settled = False
            if is_settled:
                break
        return [each for each in packs.values() if not self._is_being_written(each)]

    def _is_being_written(self, pack: PackFile) -> bool:
        if pack.has_index:
            return False
        try:
            return self._case.age_s(pack.path) < _BEING_WRITTEN_S
        except FileNotFoundError:
            return True


def alternates(objects: Path) -> list[Path]:
    """Return the folders from which a folder of objects borrows, near or far."""
    found: list[Path] = []
    todo = [objects]
    while todo:
        folder = todo.pop()
        with suppress(FileNotFoundError, NotADirectoryError):
            text = (folder / "info" / "alternates").read_text(
                "utf-8", "surrogateescape"
            )
            lines = (line for line in text.splitlines() if line and line[0] != "#")
            lines = (line for line in lines if "\0" not in line)  # damage, no path
            new = [folder / line for line in lines]
            todo += [each for each in new if each not in (objects, *found)]
            found += [each for each in new if each not in (objects, *found)]
    return found


def _loose(objects: Path) -> Iterator[LooseFile]:
    for folder in sorted(objects.glob("[0-9a-f][0-9a-f]")):
        for path in entries(folder):
            if is_hex(folder.name + path.name):
                with suppress(FileNotFoundError):
                    yield LooseFile(path)
