"""The numbers in a pack from outside, each refused once it is beyond all bounds."""

OFS_DELTA, REF_DELTA = 6, 7
LARGEST_BYTES = 16 * 1024 * 1024
"""Bytes that an object may have, a tree of all that a mailbox holds included."""


class DamagedPackError(Exception):
    """A pack cannot be read, or asks for more than it may."""


def read_head(pack: bytes, at: int) -> tuple[int, int, int]:
    """Return kind and size of an object, and where the rest of it begins.

    Raises:
        DamagedPackError: It is larger than an object may be.
        IndexError: The pack ends before.
    """
    byte = pack[at]
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        at += 1
        byte = pack[at]
        size |= (byte & 0x7F) << shift
        shift += 7
        _check(size)
    return kind, size, at + 1


def read_distance(pack: bytes, at: int) -> tuple[int, int]:
    """Return how far before a delta its base stands, and where the delta begins.

    Raises:
        DamagedPackError: It is before the pack.
        IndexError: The pack ends before.
    """
    byte = pack[at]
    distance = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = pack[at]
        distance = (distance + 1 << 7) | byte & 0x7F
        if distance > len(pack):
            raise DamagedPackError("a delta is against nothing")
    return distance, at + 1


def read_size(delta: bytes, at: int) -> tuple[int, int]:
    """Return one of the two sizes at the head of a delta, and what is behind it.

    Raises:
        DamagedPackError: It is larger than an object may be.
        IndexError: The delta ends before.
    """
    size, shift = 0, 0
    while True:
        byte = delta[at]
        size |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        _check(size)
        if not byte & 0x80:
            return size, at


def _check(size: int) -> None:
    if size > LARGEST_BYTES:
        raise DamagedPackError(
            f"an object has {size:,} bytes or more, the limit is {LARGEST_BYTES:,}"
        )
