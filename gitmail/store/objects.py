"""Finding and mending objects that are damaged or missing.

An object is the same wherever it comes from, for its id is computed from its bytes. So
what one place has lost is taken from another: a second pack, what is left of a damaged
one, or the files that show the tip.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from gitmail.errors import CorruptMailboxError
from gitmail.records.message import blob_id
from gitmail.records.paths import Family, parse_path
from gitmail.store.completeness import SoundObjects, Use
from gitmail.store.disk import remove_quietly
from gitmail.store.findings import Case, Kind
from gitmail.store.pack import BLOB, TREE, Entry, NewObject, deflate, write_pack
from gitmail.store.refs import BRANCH
from gitmail.store.repository import (
    FILE_MODE,
    FOLDER_MODE,
    Repository,
    Tree,
)
from gitmail.store.salvage import PackFile, Raw

_LEFT_OVER_S = 3600.0
# Without its index nobody starts to use a pack, so that goes first and the pack last.
_ENDINGS = (".idx", ".rev", ".bitmap", ".mtimes", ".promisor", ".keep", ".pack")


def check_objects(
    case: Case, sound: SoundObjects, starts: Mapping[str, str]
) -> dict[bytes, Use]:
    """Find objects that are damaged or missing, and return those that stay missing.

    Args:
        sound: What can be read; what is rebuilt can be read from it afterwards.
        starts: Id of a commit or tag to the ref that names it.
    """
    gaps = sound.gaps(starts)
    rebuilt: dict[bytes, Use] = {}
    shown = _ShownObjects(case) if gaps else None
    # A folder that is rebuilt may name further objects that are missing.
    while shown and (new := {sha: use for sha, use in gaps.items() if sha in shown}):
        sound.add(new, shown)
        rebuilt |= new
        gaps = sound.gaps(starts)
    mending = _Mending(case, sound, rebuilt)
    for pack in sound.packs:
        mending.pack(pack)
    for loose in sound.loose:
        mending.loose(loose.path, loose.damage or "")
    for sha, use in rebuilt.items():
        mending.rebuilt(sha, use)
    for sha, use in gaps.items():
        advice = (
            "Bring it from a clone, and then run this again:"
            f" git -C {case.root} fetch --refetch CLONE {BRANCH}"
        )
        where, detail = _described(sha, use)
        case.found(Kind.MISSING_OBJECT, where, detail, advice=advice)
    return gaps


class _Mending:
    """What is done to the repository; everything is saved before anything is moved."""

    def __init__(
        self, case: Case, sound: SoundObjects, rebuilt: Iterable[bytes]
    ) -> None:
        self._case = case
        self._sound = sound
        self._folder = sound.pack_folder
        self._aside: dict[Path, str] = {}
        self._is_saved = False
        self._wanted = set(rebuilt)
        for pack in sound.packs:
            only = sound.only_in(pack)
            if not pack.has_index:  # of a writer that was killed, and so never in use
                only = [sha for sha in only if sha in sound.needed]
            self._wanted.update(only)

    def pack(self, pack: PackFile) -> None:
        """Take a damaged pack out of use."""
        only = self._sound.only_in(pack)
        if not pack.has_index and not self._wanted.intersection(only):
            if self._is_left_over(pack):
                self._case.found(
                    Kind.TEMPORARY_FILE,
                    pack.path,
                    "it was never finished, and nothing uses it",
                    mend=lambda: self._set_aside(pack),
                )
            return

        def mend() -> str:
            self._save()
            count = len(self._wanted.intersection(only))
            return f"{count} objects of it written anew, {self._set_aside(pack)}"

        self._case.found(Kind.DAMAGED_PACK, pack.path, pack.damage or "", mend=mend)

    def _is_left_over(self, pack: PackFile) -> bool:
        try:
            return self._case.age_s(pack.path) > _LEFT_OVER_S
        except FileNotFoundError:
            return False

    def loose(self, path: Path, damage: str) -> None:
        """Take a damaged loose object out of the way of a sound one."""

        def mend() -> str:
            self._save()
            return self._case.rescue(path)

        self._case.found(Kind.DAMAGED_OBJECT, path, damage, mend=mend)

    def rebuilt(self, sha: bytes, use: Use) -> None:
        """Write an object that the files on disk show."""

        def mend() -> str:
            self._save()
            return "rebuilt from the files on disk"

        self._case.found(Kind.MISSING_OBJECT, *_described(sha, use), mend=mend)

    def _save(self) -> None:
        """Write all that is wanted as a new pack, once."""
        if self._is_saved or not self._wanted:
            return
        entries = list(self._entries())
        name = write_pack(self._folder, entries)
        for pack in self._sound.packs:
            if pack.path.stem == name:  # the very same, so it was not written
                self._set_aside(pack)
                write_pack(self._folder, entries)
        self._is_saved = True

    def _entries(self) -> Iterator[Entry]:
        for sha in sorted(self._wanted):
            raw = self._sound.raw(sha)
            if raw is None:
                msg = f"object {sha.hex()} was changed meanwhile"
                raise CorruptMailboxError(msg, str(self._case.root))
            yield deflate(NewObject(*raw, sha))

    def _set_aside(self, pack: PackFile) -> str:
        if pack.path in self._aside:  # what has its name now is what was made of it
            return self._aside[pack.path]
        # Git's index over several packs would name one that is gone.
        for index in self._folder.glob("multi-pack-index*"):
            remove_quietly(index)
        pack.close()
        files = [pack.path.with_suffix(ending) for ending in _ENDINGS]
        words = [self._case.rescue(file) for file in files if file.exists()]
        self._aside[pack.path] = words[-1] if words else "gone meanwhile"
        return self._aside[pack.path]


class _ShownObjects:
    """The files beside the repository, as the blobs and trees that they would be."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._count = 0
        self._blobs: dict[bytes, Path] = {}
        self._trees: dict[bytes, bytes] = {}
        with closing(Repository(case.git_dir)) as maker:
            self._take(case.root, maker)

    def __contains__(self, sha: bytes) -> bool:
        return sha in self._blobs or sha in self._trees

    def read(self, sha: bytes) -> Raw:
        """Return an object as it is on the disk now."""
        if sha in self._trees:
            return TREE, self._trees[sha]
        data = self._blobs[sha].read_bytes()
        if blob_id(data) != sha.hex():
            msg = "the file was changed"
            raise ValueError(msg)
        return BLOB, data

    def _take(self, folder: Path, maker: Repository) -> bytes | None:
        """Take in a folder; return the id of its tree, None where it has no file."""
        tree: Tree = {}
        for path in folder.iterdir():
            if path.parent == self._case.root and path.name == ".git":
                continue
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                below = self._take(path, maker)
                if below:
                    tree[os.fsencode(path.name)] = FOLDER_MODE, below
            elif stat.S_ISREG(mode) and self._is_known(path):
                tree[os.fsencode(path.name)] = FILE_MODE, self._take_file(path)
        if not tree:
            return None
        made = maker.make_tree(tree)
        self._trees[made.sha] = made.data
        return made.sha

    def _is_known(self, path: Path) -> bool:
        below = path.relative_to(self._case.root).as_posix()
        return parse_path(below).family is not Family.UNKNOWN

    def _take_file(self, path: Path) -> bytes:
        sha = bytes.fromhex(blob_id(path.read_bytes()))
        self._blobs[sha] = path
        self._count += 1
        self._case.report("files read", self._count)
        return sha


def _described(sha: bytes, use: Use) -> tuple[str, str]:
    """Return where an object stands, and what it is."""
    return use.path or ".git", f"{use.kind} {sha.hex()} is missing; {use.by} needs it"
