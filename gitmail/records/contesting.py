"""A slot's versions that nobody has set over, and how one file holds them; pure.

Writers that did not know of each other leave several. The latest is the file; the
others stand in its `contested`, by the ids that they had as their writers left them.
"""

import re
from dataclasses import dataclass, replace

from gitmail.errors import InvalidArgumentError, InvalidFileError
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.message import blob_id
from gitmail.records.paths import memory_path, parse_path
from gitmail.records.times import format_time

MOST_CONTESTED = 64
"""How many versions a file names beside its own; the history has all of them."""
_CLOSING = re.compile(rb"(?<=\n)---[ \t]*(?:\r?\n|\Z)")
# As it is put into a file that is not written as gitmail writes.
_LAST_LINE = re.compile(rb"contested: \[[0-9a-f\", ]*\]\r?\n\Z")


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a slot as its writer left it.

    Attributes:
        rank: The larger one is in force: what can be read, the later, the larger id.
        contested: The others that its file names.
        file: The file's own bytes.
    """

    id: str
    data: bytes
    rank: tuple[bool, str, str]
    contested: frozenset[str]
    file: bytes

    @property
    def is_readable(self) -> bool:
        """Whether it is a record of its slot."""
        return self.rank[0]

    @property
    def all_ids(self) -> frozenset[str]:
        """The versions that stand in the file."""
        return self.contested | {self.id}


def version_of(path: str, data: bytes) -> Version:
    """Return the version that a file at a slot's path holds."""
    record = _read(path, data)
    if record is None:
        key = blob_id(data)
        return Version(key, data, (False, "", key), frozenset(), data)
    bare = _bare(record, data)
    key = blob_id(bare)
    rank = True, format_time(record.changed_at), key
    return Version(key, bare, rank, frozenset(record.contested) - {key}, data)


def contested_data(version: Version, others: frozenset[str]) -> bytes:
    """Return the file of a version that names these others.

    It names no more than a header has room for.
    """
    named = tuple(sorted(others - {version.id})[:MOST_CONTESTED])
    if not named or not version.is_readable:
        return version.data
    record = parse_memory(version.data)
    data = _rendered(replace(record, contested=named))
    if data is None:
        return version.data
    is_usual = _rendered(record) == version.data
    return data if is_usual else _with_last_line(version.data, data)


def _read(path: str, data: bytes) -> MemoryRecord | None:
    try:
        record = parse_memory(data)
    except InvalidFileError:
        return None
    return record if memory_path(record, parse_path(path).part) == path else None


def _bare(record: MemoryRecord, data: bytes) -> bytes:
    """Return a file's bytes before a merge put `contested` into it."""
    if not record.contested:
        return data
    bare = _rendered(replace(record, contested=())) or data
    if _rendered(record) == data:
        return bare
    end = _header_end(data)
    line = _LAST_LINE.match(data, data.rfind(b"\n", 0, end - 1) + 1, end)
    return data[: line.start()] + data[end:] if line else bare


def _rendered(record: MemoryRecord) -> bytes | None:
    """Return a record as gitmail writes it, None where a header has no room for it."""
    try:
        return replace(record).data  # the copy forgets the bytes that were read
    except InvalidArgumentError:
        return None


def _with_last_line(data: bytes, usual: bytes) -> bytes:
    """Put the line into a file that a person wrote, and leave all else as it is."""
    line = next(x for x in usual.split(b"\n") if x.startswith(b"contested: "))
    newline = b"\r\n" if data.split(b"\n", 1)[0].endswith(b"\r") else b"\n"
    end = _header_end(data)
    return b"".join((data[:end], line, newline, data[end:]))


def _header_end(data: bytes) -> int:
    """Return where the closing fence of a readable file starts."""
    found = _CLOSING.search(data, data.index(b"\n") + 1)
    return found.start() if found else len(data)
