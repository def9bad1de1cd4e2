"""Folding many small packs into one, so that looking an object up stays cheap.

Each commit leaves a pack of its own. Folding copies their objects into one larger pack
and only then removes them, so that at any moment every object is in some pack. Trees
and commits become deltas against their next newer version: the tip stays quick to read
and old versions cost a few bytes. Sizes grow geometrically, as in `git repack
--geometric`, so each byte is copied a logarithmic number of times.

`git gc` may run at the same moment; both only remove what another pack has. A pack that
is damaged is left as it is: what was copied from it would look sound.
"""

import hashlib
import logging
import os
import socket
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dulwich.errors import ObjectFormatException
from dulwich.objects import parse_tree
from dulwich.pack import create_delta

from gitmail.errors import CorruptMailboxError
from gitmail.store.disk import remove_quietly, translated
from gitmail.store.pack import (
    COMMIT,
    DRAFT,
    TREE,
    Entry,
    compress,
    is_enclosed,
    write_pack,
)
from gitmail.store.repository import FOLDER_MODE

logger = logging.getLogger("gitmail")

PACKS_BEFORE_FOLDING = 40
"""Git counts 50 as too many (`gc.autoPackLimit`)."""
_LARGEST_BYTES = 64 * 1024 * 1024
_DEEPEST_CHAIN = 40
_OFS_DELTA, _REF_DELTA = 6, 7
_LEFT_OVER_S = 3600.0
_LONGEST_GC_S = 12 * 3600.0
# What git says of a pack by a file beside it: keep it, unreachable, or incomplete.
_HANDS_OFF = (".keep", ".mtimes", ".promisor")
_DAMAGED = (LookupError, ValueError, ObjectFormatException, struct.error, zlib.error)


def count_packs(folder: Path) -> int:
    """Return the number of packs in a repository's `objects/pack`."""
    with translated(folder):
        return sum(name.endswith(".idx") for name in os.listdir(folder))


def fold(folder: Path) -> int:
    """Fold the packs that are small for their number; returns how many fewer they are.

    Args:
        folder: The repository's `objects/pack`.

    Raises:
        StorageError: Something cannot be read or written; every object is still there.
    """
    with translated(folder):
        if _is_gc_running(folder):
            return 0
        _drop_left_overs(folder)
        contents = dict(_readable(folder, _selected(folder)))
        if len(contents) <= 1:
            return 0
        try:
            entries = list(
                _arranged([e for entries in contents.values() for e in entries])
            )
        except _DAMAGED as error:
            what = f"an object in {', '.join(contents)}"
            raise CorruptMailboxError(what, str(folder)) from error
        kept = write_pack(folder, entries)
        if _is_gc_running(folder):  # it fails where packs go while it looks at them
            return 0
        _remove(folder, [name for name in contents if name != kept])
        return len(contents) - 1


def _is_gc_running(folder: Path) -> bool:
    """Tell whether `git gc` says that it is at work, as another `git gc` would ask."""
    file = folder.parent.parent / "gc.pid"
    try:
        pid, _, host = file.read_text("utf-8", "replace").strip().partition(" ")
        # By the file system's own clock: a commit changed the folder just now.
        is_old = folder.stat().st_mtime - file.stat().st_mtime > _LONGEST_GC_S
        if is_old or not pid.isdecimal():
            return False
        if host == socket.gethostname() and os.name != "nt":
            os.kill(int(pid), 0)
    except (FileNotFoundError, ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _remove(folder: Path, names: Iterable[str]) -> None:
    # Git's index over several packs would name packs that are gone; it makes it anew.
    for index in folder.glob("multi-pack-index*"):
        remove_quietly(index)
    for name in names:
        # Without its index nobody starts to use a pack.
        for ending in ("idx", "rev", "bitmap", "pack"):
            with suppress(PermissionError):  # Windows, where somebody reads it
                remove_quietly(folder / f"{name}.{ending}")


def _selected(folder: Path) -> list[str]:
    """Return the smallest packs, up to the first that outweighs them twice."""
    sizes = []
    for index in folder.glob("pack-*.idx"):
        if not any(index.with_suffix(ending).exists() for ending in _HANDS_OFF):
            with suppress(FileNotFoundError):  # `git gc` was quicker
                sizes.append((index.with_suffix(".pack").stat().st_size, index.stem))
    chosen: list[str] = []
    total = 0
    for size, name in sorted(sizes):
        if size > _LARGEST_BYTES or (len(chosen) > 1 and size >= 2 * total):
            break
        chosen.append(name)
        total += size
    return chosen


def _readable(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, list[Entry]]]:
    for name in names:
        try:
            yield name, _read_pack(folder, name)
        except FileNotFoundError:
            continue  # `git gc` was quicker
        except _DAMAGED as error:
            logger.warning("%s stays as it is, for it is damaged: %s", name, error)


def _read_pack(folder: Path, name: str) -> list[Entry]:
    """Return the entries of a pack in its order, their bytes as they stand there.

    Raises:
        ValueError: It is damaged, or one of the other errors in `_DAMAGED`.
    """
    pack = (folder / f"{name}.pack").read_bytes()
    index = (folder / f"{name}.idx").read_bytes()
    digest = hashlib.sha1(index[:-20], usedforsecurity=False).digest()
    if index[-40:] != pack[-20:] + digest:
        msg = "its index is not what it was, or of another pack"
        raise ValueError(msg)
    rows = _offsets(index)
    ends = [*(row[0] for row in rows), len(pack) - 20][1:]
    names = {offset: sha for offset, sha, _ in rows}
    own = set(names.values())
    entries = []
    for (offset, sha, checksum), end in zip(rows, ends, strict=True):
        if zlib.crc32(pack[offset:end]) != checksum:
            msg = f"{sha.hex()} is not what it was"
            raise ValueError(msg)
        kind, size, start = _head(pack, offset)
        base = None
        if kind == _OFS_DELTA:
            distance, start = _distance(pack, start)
            base = names[offset - distance]
        elif kind == _REF_DELTA:
            base, start = pack[start : start + 20], start + 20
        if base and base not in own:
            msg = f"the base of {sha.hex()} is missing"
            raise ValueError(msg)
        entry = Entry(sha, kind, size, pack[start:end], base)
        if is_enclosed(entry):
            entry = replace(entry, packed=compress(zlib.decompress(entry.packed)))
        entries.append(entry)
    return entries


def _offsets(index: bytes) -> list[tuple[int, bytes, int]]:
    """Return offset, id and checksum of each object of an index, in order."""
    if index[:8] != b"\xfftOc\x00\x00\x00\x02":
        msg = "a pack index is not of version 2"
        raise ValueError(msg)
    (count,) = struct.unpack_from(">L", index, 8 + 255 * 4)
    start = 8 + 256 * 4
    sums = struct.unpack_from(f">{count}L", index, start + count * 20)
    small = start + count * 24
    large = small + count * 4
    rows = []
    for place, offset in enumerate(struct.unpack_from(f">{count}L", index, small)):
        if offset & 0x80000000:
            position = large + 8 * (offset & 0x7FFFFFFF)
            (offset,) = struct.unpack_from(">Q", index, position)  # noqa: PLW2901
        sha = index[start + 20 * place : start + 20 * place + 20]
        rows.append((offset, sha, sums[place]))
    return sorted(rows)


def _head(pack: bytes, position: int) -> tuple[int, int, int]:
    byte = pack[position]
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        position += 1
        byte = pack[position]
        size |= (byte & 0x7F) << shift
        shift += 7
    return kind, size, position + 1


def _distance(pack: bytes, position: int) -> tuple[int, int]:
    byte = pack[position]
    distance = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = pack[position]
        distance = (distance + 1 << 7) | byte & 0x7F
    return distance, position + 1


@dataclass(slots=True)
class _Version:
    """The version of a tree or commit that was arranged last at a path."""

    sha: bytes
    data: bytes
    depth: int


def _arranged(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield each object once, bases first, with new deltas for trees and commits."""
    whole = {e.sha: e for e in entries if e.base is None}
    done: set[bytes] = set()
    for entry in _history(whole):
        if entry.sha not in done:
            done.add(entry.sha)
            yield entry
    todo = [e for e in entries if e.sha not in done]
    while todo:
        waiting = []
        for entry in todo:
            if entry.sha in done:
                continue
            if entry.base is None or entry.base in done:
                done.add(entry.sha)
                yield entry
            else:
                waiting.append(entry)
        if len(waiting) == len(todo):
            msg = "a delta's base is in no pack"
            raise ValueError(msg)
        todo = waiting


def _history(whole: Mapping[bytes, Entry]) -> Iterator[Entry]:
    """Yield commits and their trees, newest first, as deltas where that is shorter."""
    latest: dict[str, _Version] = {}
    seen: set[bytes] = set()
    for sha, data in _newest_first(whole):
        yield _as_delta(whole[sha], data, latest, "commit")
        todo = [("", bytes.fromhex(data[5:45].decode()))]
        while todo:
            path, tree = todo.pop()
            entry = whole.get(tree)
            if entry is None or entry.kind != TREE or tree in seen:
                continue
            seen.add(tree)
            content = zlib.decompress(entry.packed)
            yield _as_delta(entry, content, latest, f"/{path}")
            for name, mode, child in parse_tree(content, 20):
                if mode == FOLDER_MODE:
                    todo.append((f"{path}/{name!r}", bytes.fromhex(child.decode())))


def _newest_first(whole: Mapping[bytes, Entry]) -> list[tuple[bytes, bytes]]:
    commits = {
        sha: zlib.decompress(entry.packed)
        for sha, entry in whole.items()
        if entry.kind == COMMIT
    }
    parents = {
        sha: [
            bytes.fromhex(line[7:].decode())
            for line in data.split(b"\n\n", 1)[0].split(b"\n")
            if line.startswith(b"parent ")
        ]
        for sha, data in commits.items()
    }
    children = dict.fromkeys(commits, 0)
    for above in parents.values():
        for parent in above:
            if parent in children:
                children[parent] += 1
    ready = sorted(sha for sha, count in children.items() if not count)
    order = []
    while ready:
        sha = ready.pop()
        order.append((sha, commits[sha]))
        for parent in parents[sha]:
            if parent in children:
                children[parent] -= 1
                if not children[parent]:
                    ready.append(parent)
    return order


def _as_delta(
    entry: Entry, data: bytes, latest: dict[str, _Version], path: str
) -> Entry:
    newer = latest.get(path)
    if newer and newer.depth < _DEEPEST_CHAIN:
        delta = b"".join(create_delta(newer.data, data))
        packed = compress(delta)
        if len(packed) + 3 < len(entry.packed):
            latest[path] = _Version(entry.sha, data, newer.depth + 1)
            return Entry(entry.sha, entry.kind, len(delta), packed, newer.sha)
    latest[path] = _Version(entry.sha, data, 0)
    return entry


def _drop_left_overs(folder: Path) -> None:
    """Remove what killed writers left: temporary files, packs without an index."""
    # The folder itself was changed just now, by the clock of its own file system.
    now_s = folder.stat().st_mtime
    for path in folder.iterdir():
        orphan = path.suffix == ".pack" and not path.with_suffix(".idx").exists()
        if orphan or path.name.startswith(DRAFT) or _is_own_keep(path):
            with suppress(FileNotFoundError):
                if now_s - path.stat().st_mtime > _LEFT_OVER_S:
                    remove_quietly(path)


def _is_own_keep(path: Path) -> bool:
    """Tell whether `write_pack` made it, by a second name for the pack itself."""
    if path.suffix != ".keep":
        return False
    with suppress(FileNotFoundError):
        return path.samefile(path.with_suffix(".pack"))
    return True
