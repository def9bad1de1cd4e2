"""Reading what can still be read of a damaged repository.

Dulwich and git trust a pack and its index. Here each pack and each loose object is
checked first; what a damaged one still holds is read entry by entry, and an object
counts only if its bytes have the id that it is asked for by.
"""

import hashlib
import mmap
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from dulwich.object_format import SHA1
from dulwich.pack import apply_delta, load_pack_index

from gitmail.store.pack import KINDS
from gitmail.store.repository import UNREADABLE

TAG = 4
_OFS_DELTA, _REF_DELTA = 6, 7
_NAMES = {number: name for name, number in KINDS.items()} | {TAG: b"tag"}
_NUMBERS = {name: number for number, name in _NAMES.items()}
_WINDOW = 64 * 1024
_MARGIN = 64  # what does not compress takes a few bytes more
_BASES_BYTES = 64 * 1024 * 1024
_LONGEST_CHAIN = 4096

Raw = tuple[int, bytes]
"""Kind and bytes of an object."""


class Source(Protocol):
    """Something that holds objects."""

    def read(self, sha: bytes) -> Raw:
        """Return an object; one of `UNREADABLE` is raised where it is damaged."""


class _Bases:
    """The objects that were read last, by their places, for deltas against them."""

    def __init__(self) -> None:
        self._items: OrderedDict[int, Raw] = OrderedDict()
        self._size_bytes = 0

    def get(self, at: int) -> Raw | None:
        item = self._items.get(at)
        if item:
            self._items.move_to_end(at)
        return item

    def put(self, at: int, item: Raw) -> None:
        self._size_bytes += len(item[1])
        old = self._items.pop(at, None)
        self._items[at] = item
        if old:
            self._size_bytes -= len(old[1])
        while self._size_bytes > _BASES_BYTES:
            _, (_, data) = self._items.popitem(last=False)
            self._size_bytes -= len(data)


class PackFile:
    """A pack, read without trust in it.

    Args:
        path: The pack itself; its index stands beside it.

    Attributes:
        damage: What is wrong with it, None where it is sound.
        has_index: Whether there is an index, sound or not.
        offsets: Raw id to place of each object that can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.has_index = True
        self._data = _mapped(path)
        self._bases = _Bases()
        self._claimed: dict[bytes, int] = {}
        self.damage = self._check()
        self.offsets = dict(self._salvaged()) if self.damage else self._claimed

    def read(self, sha: bytes) -> Raw:
        """Return an object of this pack."""
        return self._resolve(self.offsets[sha])

    def close(self) -> None:
        """Let go of the file, which on Windows could not be moved else."""
        if isinstance(self._data, mmap.mmap):
            self._data.close()

    def _check(self) -> str | None:
        try:
            index = load_pack_index(self.path.with_suffix(".idx"), SHA1)
        except FileNotFoundError:
            self.has_index = False
            return "it has no index"
        except UNREADABLE:
            return "its index cannot be read"
        try:
            self._claimed = {bytes(sha): at for sha, at, _ in index.iterentries()}
            index.check()
            checksum = index.get_pack_checksum()
        except UNREADABLE:
            return "its index is not what it was"
        finally:
            index.close()
        digest = hashlib.sha1(memoryview(self._data)[:-20], usedforsecurity=False)
        if digest.digest() != self._data[-20:]:
            return "it is not what it was"
        return None if checksum == self._data[-20:] else "its index is another pack's"

    def _salvaged(self) -> Iterator[tuple[bytes, int]]:
        """Yield id and place of what can be read, by computing each id."""
        places = {*self._claimed.values(), *self._scanned()}
        self.offsets = dict(self._claimed)  # where bases that are named may stand
        while places:
            found = {at: sha for at in sorted(places) if (sha := self._id_at(at))}
            for at, sha in found.items():
                self.offsets[sha] = at
                yield sha, at
            places -= found.keys()
            if not found:
                return

    def _scanned(self) -> Iterator[int]:
        """Yield the places of the entries from the first to one that is damaged."""
        at = 12
        while at < len(self._data) - 20:
            try:
                end = self._entry(at)[3]
            except UNREADABLE:
                return
            yield at
            at = end

    def _id_at(self, at: int) -> bytes | None:
        try:
            return object_id(*self._resolve(at))
        except UNREADABLE:
            return None

    def _resolve(self, at: int) -> Raw:
        """Return the object at a place, which may be a delta of a delta."""
        deltas: list[tuple[int, bytes]] = []
        while True:
            known = self._bases.get(at)
            if known:
                kind, data = known
                break
            kind, name, data, _ = self._entry(at)
            if name is None:
                break
            deltas.append((at, data))
            base = self.offsets[name] if isinstance(name, bytes) else name
            if not 0 < base < len(self._data) or len(deltas) > _LONGEST_CHAIN:
                msg = "a delta is of nothing"
                raise ValueError(msg)
            at = base
        self._bases.put(at, (kind, data))
        for place, delta in reversed(deltas):
            data = b"".join(apply_delta(data, delta))
            self._bases.put(place, (kind, data))
        return kind, data

    def _entry(self, at: int) -> tuple[int, int | bytes | None, bytes, int]:
        """Return kind, place or id of the base, bytes and end of an entry."""
        byte = self._data[at]
        kind, size, shift, start = byte >> 4 & 7, byte & 15, 4, at + 1
        while byte & 0x80:
            byte = self._data[start]
            size |= (byte & 0x7F) << shift
            shift, start = shift + 7, start + 1
        base: int | bytes | None = None
        if kind == _OFS_DELTA:
            distance, start = self._distance(start)
            base = at - distance
        elif kind == _REF_DELTA:
            base, start = self._data[start : start + 20], start + 20
        elif kind not in _NAMES:
            msg = f"there is no kind {kind}"
            raise ValueError(msg)
        data, end = self._inflate(start, size)
        return kind, base, data, end

    def _distance(self, at: int) -> tuple[int, int]:
        byte = self._data[at]
        distance = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            distance = (distance + 1 << 7) | byte & 0x7F
        return distance, at + 1

    def _inflate(self, start: int, size: int) -> tuple[bytes, int]:
        stream = zlib.decompressobj()
        parts, have, at = [], 0, start
        window = min(size + _MARGIN, _WINDOW)
        while not stream.eof and have <= size and at < len(self._data):
            piece = self._data[at : at + window]
            parts.append(stream.decompress(piece, size + 1 - have))
            have += len(parts[-1])
            at += len(piece)
        if not stream.eof or have != size:
            msg = "an entry has another size than it says"
            raise ValueError(msg)
        return b"".join(parts), at - len(stream.unused_data)


class LooseFile:
    """An object in a file of its own, as git and dulwich write them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sha = bytes.fromhex(path.parent.name + path.name)
        self.damage = self._check()

    def read(self, sha: bytes) -> Raw:
        """Return the object."""
        raw = zlib.decompress(self.path.read_bytes())
        head, _, data = raw.partition(b"\0")
        name, _, size = head.partition(b" ")
        kind = _NUMBERS[name]
        if int(size) != len(data) or object_id(kind, data) != sha:
            msg = "it is not what it was"
            raise ValueError(msg)
        return kind, data

    def _check(self) -> str | None:
        if not self.path.stat().st_size:
            return "it is empty"
        try:
            self.read(self.sha)
        except UNREADABLE:
            return "it is not what it was"
        return None


def object_id(kind: int, data: bytes) -> bytes:
    """Return the raw id of an object, of whatever kind."""
    head = b"%b %d\0" % (_NAMES[kind], len(data))
    return hashlib.sha1(head + data, usedforsecurity=False).digest()


def _mapped(path: Path) -> mmap.mmap | bytes:
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # it is empty
            return b""
