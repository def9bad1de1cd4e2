"""Reading objects from where they stand in a pack, for who reads nearly all of it.

Dulwich finds the place and resolves deltas. What is whole, as nearly all messages are,
is read here, which takes half as long.
"""

import mmap
import weakref
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from dulwich.object_format import SHA1
from dulwich.pack import Pack

from gitmail.store.pack_numbers import OFS_DELTA, REF_DELTA, read_head

_HEAD_BYTES = 16
_MARGIN_BYTES = 64  # what does not compress takes a few bytes more, in a thousand


class MappedPack:
    """A pack whose index is believed; who asks proves what comes by its id.

    Args:
        index: The path of the index; the pack stands beside it.
    """

    def __init__(self, index: Path) -> None:
        self._path = index

    def read(self, sha: Any) -> tuple[int, bytes]:
        """Return kind and bytes of an object, by its raw id.

        Raises:
            KeyError: The pack does not have it.
            OSError, DamagedPackError: It cannot be read, or one of `UNREADABLE`.
        """
        at = self._pack.index.object_offset(sha)
        kind, size, start = read_head(self._data[at : at + _HEAD_BYTES], 0)
        if kind in (OFS_DELTA, REF_DELTA):
            return self._pack.get_raw(sha)
        start += at
        packed = self._data[start : start + size + (size >> 10) + _MARGIN_BYTES]
        # No more than it says that there is, whatever the stream holds.
        return kind, zlib.decompressobj().decompress(packed, size + 1)

    @cached_property
    def _pack(self) -> Pack:
        pack = Pack(str(self._path.with_suffix("")), object_format=SHA1)
        weakref.finalize(self, pack.close)  # or dulwich complains at exit
        return pack

    @cached_property
    def _data(self) -> mmap.mmap:
        with self._path.with_suffix(".pack").open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def mapped_packs(folder: Path) -> list[MappedPack]:
    """Return the packs in a folder, of which each is opened when it is asked."""
    return [MappedPack(path) for path in sorted(folder.glob("pack-*.idx"))]
