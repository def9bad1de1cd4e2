"""Pack files: one small pack for each commit, and folding many into one.

A pack and its index are two files to flush where loose objects would be seven
(DESIGN 6). The formats are git's (gitformat-pack(5)); every byte written here must
pass `git fsck --strict`.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from gitmail.store.disk import flush_folder, remove_quietly, replace, write_durably

COMMIT, TREE, BLOB = 1, 2, 3
_OFS_DELTA = 6
KINDS = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB}
_NAMES = {number: name for name, number in KINDS.items()}
_LARGE_OFFSET = 0x80000000
_SMALL = 4096
DRAFT = "gitmail_"  # not git's `tmp_`, which `git gc --prune=now` removes at once
_LARGEST_STORED = 0xFFFF


@dataclass(frozen=True, slots=True)
class NewObject:
    """A git object to be written."""

    kind: int
    data: bytes
    sha: bytes

    @classmethod
    def of(cls, kind: int, data: bytes) -> "NewObject":
        """Return the object with its id."""
        head = b"%b %d\x00" % (_NAMES[kind], len(data))
        return cls(
            kind, data, hashlib.sha1(head + data, usedforsecurity=False).digest()
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as it stands in a pack.

    Attributes:
        size: Bytes of the object, or of its delta.
        packed: The compressed bytes.
        base: Id of the object that a delta is against, in the same pack.
    """

    sha: bytes
    kind: int
    size: int
    packed: bytes
    base: bytes | None = None


def deflate(item: NewObject) -> Entry:
    """Return an object as an entry of its own."""
    return Entry(item.sha, item.kind, len(item.data), compress(item.data))


def enclose(item: NewObject) -> Entry:
    """Return an object as an entry that is not compressed.

    For packs that are folded soon: a stored block takes a microsecond, and a seventh
    part of a send would go into compressing its seven objects.
    """
    data = item.data
    if len(data) > _LARGEST_STORED:
        return deflate(item)
    size = len(data)
    head = b"\x78\x01\x01" + struct.pack("<HH", size, size ^ 0xFFFF)
    packed = head + data + struct.pack(">L", zlib.adler32(data))
    return Entry(item.sha, item.kind, size, packed)


def is_enclosed(entry: Entry) -> bool:
    """Tell whether an entry is not compressed."""
    return entry.packed[:3] == b"\x78\x01\x01"


def compress(data: bytes) -> bytes:
    """Return the data as a zlib stream."""
    if len(data) > _SMALL:
        return zlib.compress(data, 1)
    # A window as small as the data saves the 256 KiB that zlib would clear for each
    # object: 14 us instead of 75, and not a byte more.
    stream = zlib.compressobj(6, zlib.DEFLATED, 12, 5)
    return stream.compress(data) + stream.flush()


def write_pack(folder: Path, entries: Iterable[Entry], *, is_kept: bool = False) -> str:
    """Write a pack and its index; both are durable when this returns.

    A crash leaves at most temporary files, or a pack without an index, which nobody
    reads; folding removes them in time.

    Args:
        folder: The repository's `objects/pack`.
        entries: Each object once; a delta's base comes before it.
        is_kept: Whether git must leave the pack alone until `release_pack`.

    Returns:
        The pack's name, without ending.
    """
    pack, index, checksum = encode(entries)
    name = f"pack-{checksum.hex()}"
    target = f"{folder}/{name}"
    if os.path.exists(f"{target}.idx"):  # the same objects in the same order
        return name
    draft = f"{folder}/{DRAFT}{uuid4().hex}"
    try:
        write_durably(draft, pack)
        if is_kept:
            with suppress(FileExistsError):
                os.link(draft, f"{target}.keep")
        replace(draft, f"{target}.pack")
        # Only with its index a pack is seen, so the index comes last.
        write_durably(draft, index)
        replace(draft, f"{target}.idx")
        flush_folder(folder)
    except OSError:
        remove_quietly(draft)
        if not os.path.exists(f"{target}.idx"):
            remove_quietly(f"{target}.pack")
        release_pack(folder, name)
        raise
    return name


def release_pack(folder: Path, name: str) -> None:
    """Let git fold or drop a pack that was written with `is_kept`."""
    with suppress(OSError):  # what stays is taken away when packs are folded
        remove_quietly(f"{folder}/{name}.keep")


def encode(entries: Iterable[Entry]) -> tuple[bytes, bytes, bytes]:
    """Return a pack of some objects, its index, and its checksum."""
    chunks: list[bytes] = []
    rows: list[tuple[bytes, int, int]] = []
    offsets: dict[bytes, int] = {}
    position = 12
    for entry in entries:
        head = _head(entry, position - offsets[entry.base] if entry.base else 0)
        crc = zlib.crc32(entry.packed, zlib.crc32(head))
        rows.append((entry.sha, crc, position))
        offsets[entry.sha] = position
        chunks += (head, entry.packed)
        position += len(head) + len(entry.packed)
    content = b"".join((b"PACK", struct.pack(">LL", 2, len(rows)), *chunks))
    checksum = hashlib.sha1(content, usedforsecurity=False).digest()
    rows.sort()
    return content + checksum, _encode_index(rows, checksum), checksum


def _head(entry: Entry, distance: int) -> bytes:
    kind = _OFS_DELTA if entry.base else entry.kind
    size = entry.size
    byte = kind << 4 | size & 15
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    if entry.base:
        tail = [distance & 0x7F]
        while distance := distance >> 7:
            distance -= 1
            tail.append(0x80 | distance & 0x7F)
        head += bytes(reversed(tail))
    return bytes(head)


def _encode_index(rows: Sequence[tuple[bytes, int, int]], checksum: bytes) -> bytes:
    count = len(rows)
    counts = [0] * 256
    for row in rows:
        counts[row[0][0]] += 1
    total = 0
    fan = [total := total + number for number in counts]
    large = [row[2] for row in rows if row[2] >= _LARGE_OFFSET]
    far = iter(range(len(large)))
    small = [r[2] if r[2] < _LARGE_OFFSET else _LARGE_OFFSET | next(far) for r in rows]
    index = b"".join(
        (
            b"\xfftOc\x00\x00\x00\x02",
            struct.pack(">256L", *fan),
            *(row[0] for row in rows),
            struct.pack(f">{count}L", *(row[1] for row in rows)),
            struct.pack(f">{count}L", *small),
            struct.pack(f">{len(large)}Q", *large),
            checksum,
        )
    )
    return index + hashlib.sha1(index, usedforsecurity=False).digest()
