"""Reading a pack that came from outside: within bounds, and without writing anything.

The format is git's (gitformat-pack(5)). Objects are unpacked when they are asked for,
so that memory holds the pack and little more, whatever it says that it holds.
"""

import hashlib
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dulwich.errors import ApplyDeltaError
from dulwich.pack import apply_delta

from gitmail.store.pack import BLOB, COMMIT, TREE, Entry, NewObject, deflate
from gitmail.store.pack_numbers import (
    OFS_DELTA,
    REF_DELTA,
    DamagedPackError,
    read_distance,
    read_head,
    read_size,
)

Find = Callable[[bytes], NewObject | None]
"""Returns an object that is here already, None where it is not."""

_KINDS = (COMMIT, TREE, BLOB)
_HEAD_BYTES = 12
_ID_BYTES = 20
_DEEPEST_CHAIN = 250  # what `git gc --aggressive` made once; 50 by default
_KEPT_BYTES = 64 * 1024 * 1024
# What all reading together may unpack: trees of large folders become small deltas, but
# a small file must not keep a machine busy for hours.
_LARGEST_RATIO = 4096
_ALLOWANCE_BYTES = 256 * 1024 * 1024


class MissingBasesError(Exception):
    """Objects of a pack are deltas against others that are not here."""


@dataclass(slots=True)
class _Item:
    """An object as it stands in the pack.

    Attributes:
        kind: The object's, 0 until its base is known.
        size: Bytes of the object, or of its delta.
        base: Number of the item that a delta is against, or the id of an object, which
            once all are resolved is none of the pack.
        depth: Deltas that have to be applied.
    """

    kind: int
    size: int
    start: int
    end: int
    base: int | bytes | None
    sha: bytes = b""
    depth: int = 0


class PackedObjects:
    """The objects of a pack, each with an id that is right.

    Args:
        pack: The whole pack, with its checksum.
        find: Looks for what deltas are against outside of the pack.

    Raises:
        DamagedPackError: The bytes are no pack, or more than they may be.
        MissingBasesError: `find` does not know all that it was asked for.
    """

    def __init__(self, pack: bytes, find: Find) -> None:
        self._pack = pack
        self._find = find
        self._budget = _LARGEST_RATIO * len(pack) + _ALLOWANCE_BYTES
        self._kept: OrderedDict[int | bytes, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._numbers: dict[bytes, int] = {}
        self._items: list[_Item] = []
        try:
            self._scan()
            self._resolve()
        except IndexError as error:
            raise DamagedPackError("an object is cut short") from error
        except (zlib.error, ApplyDeltaError) as error:
            raise DamagedPackError(f"an object is malformed: {error}") from error

    def __contains__(self, sha: bytes) -> bool:
        return sha in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def kind(self, sha: bytes) -> int:
        """Return the kind of one of the objects."""
        return self._items[self._numbers[sha]].kind

    def ids(self, kind: int) -> list[bytes]:
        """Return the ids of all objects of a kind, in the order of the pack."""
        return [item.sha for item in self._items if item.kind == kind]

    def data(self, sha: bytes) -> bytes:
        """Return the bytes of one of the objects.

        Raises:
            DamagedPackError: Reading has unpacked more than it may.
        """
        return self._data(self._numbers[sha])

    def entries(self, chosen: Collection[bytes]) -> Iterator[Entry]:
        """Yield some of the objects to be packed again, a delta's base before it."""
        done: set[bytes] = set()
        for item in self._items:
            if item.sha not in chosen:
                continue
            base = self._base_id(item)
            if base is None or base in done:
                packed = self._pack[item.start : item.end]
                yield Entry(item.sha, item.kind, item.size, packed, base)
            else:
                yield deflate(NewObject(item.kind, self.data(item.sha), item.sha))
            done.add(item.sha)

    def _scan(self) -> None:
        """Find where each object stands, and the ids of those that are whole."""
        pack = self._pack
        if len(pack) < _HEAD_BYTES + _ID_BYTES or pack[:8] != b"PACK\0\0\0\2":
            raise DamagedPackError("there is no pack of version 2 in it")
        digest = hashlib.sha1(pack[:-_ID_BYTES], usedforsecurity=False).digest()
        if digest != pack[-_ID_BYTES:]:
            raise DamagedPackError("the checksum of its pack is wrong")
        (count,) = struct.unpack_from(">L", pack, 8)
        position = _HEAD_BYTES
        starts: dict[int, int] = {}
        for number in range(count):
            starts[position] = number
            item = self._read_head(position, starts)
            data, item.end = self._inflate(item)
            self._items.append(item)
            if item.base is None:
                self._name(number, item, data)
            position = item.end
        if position != len(pack) - _ID_BYTES:
            raise DamagedPackError("its pack holds more than it says")

    def _read_head(self, position: int, starts: dict[int, int]) -> _Item:
        pack = self._pack
        kind, size, at = read_head(pack, position)
        base: int | bytes | None = None
        if kind == OFS_DELTA:
            distance, at = read_distance(pack, at)
            if position - distance not in starts or not distance:
                raise DamagedPackError("a delta is against nothing")
            base = starts[position - distance]
        elif kind == REF_DELTA:
            base, at = pack[at : at + _ID_BYTES], at + _ID_BYTES
        elif kind not in _KINDS:
            raise DamagedPackError(f"it holds an object of kind {kind}")
        return _Item(0 if base is not None else kind, size, at, at, base)

    def _inflate(self, item: _Item) -> tuple[bytes, int]:
        """Return what is packed behind a head, and where it ends."""
        stream = zlib.decompressobj()
        pieces: list[bytes] = []
        left, at = item.size, item.start
        limit = len(self._pack) - _ID_BYTES
        while not stream.eof:
            piece = self._pack[at : min(at + item.size + 64, limit)]
            if not piece:
                raise DamagedPackError("an object is cut short")
            pieces.append(stream.decompress(piece, left + 1))
            left -= len(pieces[-1])
            at += len(piece)
            if left < 0:
                break
        if left:
            raise DamagedPackError("an object has not the size that it says")
        self._spend(item.size)
        return b"".join(pieces), at - len(stream.unused_data)

    def _resolve(self) -> None:
        """Name the deltas, from what is whole upwards."""
        waiting: dict[int | bytes, list[int]] = {}
        for number, item in enumerate(self._items):
            if item.base is not None:
                waiting.setdefault(item.base, []).append(number)
        ready = [number for number, item in enumerate(self._items) if item.sha]
        while ready or waiting:
            if not ready:
                ready = self._resolve_outside(waiting)
            number = ready.pop()
            item = self._items[number]
            if not item.sha:
                self._name(number, item, self._data(number))
            for key in (number, item.sha):
                for above in waiting.pop(key, ()):
                    # Never by id again, which could lead through others to itself.
                    self._items[above].base = number
                    self._stack(above, item.kind, item.depth)
                    ready.append(above)

    def _resolve_outside(self, waiting: dict[int | bytes, list[int]]) -> list[int]:
        """Return the deltas whose base is found outside of the pack."""
        ready: list[int] = []
        for key in [key for key in waiting if isinstance(key, bytes)]:
            found = self._find(key)
            if found:
                for above in waiting.pop(key):
                    self._stack(above, found.kind, 0)
                    ready.append(above)
        if not ready:
            raise MissingBasesError
        return ready

    def _stack(self, number: int, kind: int, depth: int) -> None:
        item = self._items[number]
        item.kind, item.depth = kind, depth + 1
        if item.depth > _DEEPEST_CHAIN:
            raise DamagedPackError(f"more than {_DEEPEST_CHAIN} deltas are stacked")

    def _name(self, number: int, item: _Item, data: bytes) -> None:
        item.sha = NewObject.of(item.kind, data).sha
        if item.sha in self._numbers:
            raise DamagedPackError(f"it holds {item.sha.hex()} twice")
        self._numbers[item.sha] = number

    def _data(self, number: int) -> bytes:
        """Return an object's bytes, and keep those on the way to it for a while."""
        chain: list[int] = []
        place: int | bytes = number
        while isinstance(place, int) and place not in self._kept:
            base = self._items[place].base
            if base is None:
                break
            chain.append(place)
            place = base
        data = self._kept.get(place)
        if data is None:
            data = self._whole(place)
        self._keep(place, data)
        for each in reversed(chain):
            delta, _ = self._inflate(self._items[each])
            data = self._apply(data, delta)
            self._keep(each, data)
        return data

    def _whole(self, place: int | bytes) -> bytes:
        if isinstance(place, int):
            return self._inflate(self._items[place])[0]
        found = self._find(place)
        if found is None:
            raise MissingBasesError
        return found.data

    def _apply(self, base: bytes, delta: bytes) -> bytes:
        _, at = read_size(delta, 0)
        size, _ = read_size(delta, at)  # which is bounded before room is made for it
        self._spend(size)
        return b"".join(apply_delta(base, delta))

    def _keep(self, place: int | bytes, data: bytes) -> None:
        if place in self._kept:
            self._kept.move_to_end(place)
            return
        self._kept[place] = data
        self._kept_bytes += len(data)
        while self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1])

    def _spend(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise DamagedPackError("it unpacks to far more than its size")

    def _base_id(self, item: _Item) -> bytes | None:
        return self._items[item.base].sha if isinstance(item.base, int) else item.base
