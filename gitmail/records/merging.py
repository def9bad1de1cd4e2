"""Merging two versions of one file, by its kind (DESIGN 10); pure.

Each rule takes the same of two versions whichever comes first, and of three in any
grouping: the smallest or largest by what the files themselves say.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from gitmail.errors import InvalidFileError
from gitmail.records.memory import MemoryRecord, Scope, parse_memory
from gitmail.records.message import blob_id, parse_message
from gitmail.records.paths import Family, memory_path, message_path, parse_path
from gitmail.records.profile import merged_profiles, parse_profile
from gitmail.records.receipt import parse_receipt

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of one path.

    Attributes:
        data: The file's bytes, None where there is none.
        aside: Bytes that no path of a record may have, and that are kept elsewhere.
        note: What a person should know of it, empty where all went by itself.
    """

    data: bytes | None
    aside: tuple[bytes, ...] = ()
    note: str = ""


def merge_file(
    path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> Merged:
    """Return what becomes of a path of which two sides have different files.

    Args:
        path: The path below the mailbox.
        base: What both sides started from, None where there was no file.
        ours, theirs: What the sides have, None where there is no file.
    """
    if ours is None or theirs is None:
        return _merge_absent(path, base, ours if theirs is None else theirs)
    family = parse_path(path).family
    if base in (ours, theirs) and family not in _UNIONS:
        return Merged(theirs if base == ours else ours)
    return _RULES.get(family, _merge_unknown)(path, base, ours, theirs)


_UNIONS = (Family.MESSAGE, Family.RECEIPT, Family.COPY, Family.PROFILE)
"""What is never deleted, so that the absence of it says nothing (I6)."""


def is_kept_if_absent(path: str) -> bool:
    """Tell whether a file that one side has not is there all the same after a merge."""
    place = parse_path(path)
    is_slot = place.family is Family.MEMORY and not _is_deleted_by_removal(path)
    is_fixed = place.family is Family.FIXED
    return is_slot or is_fixed or place.family in _UNIONS


def _is_deleted_by_removal(path: str) -> bool:
    return path.startswith(("memory/facts/", "memory/notes/"))


def _merge_absent(path: str, base: bytes | None, present: bytes | None) -> Merged:
    """Return what becomes of a path that one side has, or neither."""
    if is_kept_if_absent(path) or base is None:
        return Merged(present)
    if present in (base, None):
        return Merged(None)
    return Merged(present, note="one side deleted what the other changed")


def _merge_unknown(
    _path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    return Merged(max(ours, theirs, key=blob_id), note="both sides changed it")


def _merge_messages(
    path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Keep both: in its place what belongs there, or else the smaller id (I2)."""
    part = parse_path(path).part

    def rank(data: bytes) -> tuple[bool, str]:
        message = _read(parse_message, data)
        fits = message is not None and message_path(message, part) == path
        return not fits, blob_id(data)

    first, second = sorted((ours, theirs), key=rank)
    note = "two files claim the path of one message"
    return Merged(first, (second,), note)


def _merge_receipts(
    _path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Take what was written first: first times are kept (CAPABILITIES K4)."""

    def rank(data: bytes) -> tuple[bool, str, str]:
        receipt = _read(parse_receipt, data)
        return receipt is None, str(receipt and receipt.date), blob_id(data)

    return Merged(min(ours, theirs, key=rank))


def _merge_profiles(
    _path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Take each field from where it was said last."""
    a, b = _read(parse_profile, ours), _read(parse_profile, theirs)
    if a is None or b is None:
        readable = ours if a else theirs if b else max(ours, theirs, key=blob_id)
        return Merged(readable, note="a side cannot be read")
    return Merged(merged_profiles(a, b).data)


def _merge_memory(path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """Take the later version, and name the other in it until somebody sets it again."""
    a, b = (_read_memory(path, data) for data in (ours, theirs))
    if a is None or b is None or a.scope is Scope.NOTE:
        readable = ours if a else theirs if b else max(ours, theirs, key=blob_id)
        return Merged(readable, note="a side cannot be read")
    origin = _read_memory(path, base) if base is not None else None
    loser, winner = sorted((a, b), key=_rank)
    settled = {*origin.contested, _bare(origin).id} if origin else set()
    contested = {*winner.contested, *loser.contested, _bare(loser).id} - settled
    # What the winner says itself counts, whatever both started from.
    contested |= {*winner.contested}
    contested.discard(_bare(winner).id)
    if contested == {*winner.contested}:
        return Merged(winner.data)
    merged = replace(winner, contested=tuple(sorted(contested)))
    return Merged(merged.data, note="two versions were set at once")


_RULES = {
    Family.MESSAGE: _merge_messages,
    Family.RECEIPT: _merge_receipts,
    Family.PROFILE: _merge_profiles,
    Family.MEMORY: _merge_memory,
}


def _rank(record: MemoryRecord) -> tuple[datetime, str]:
    return record.changed_at, _bare(record).id


def _bare(record: MemoryRecord) -> MemoryRecord:
    """Return a version as its writer wrote it."""
    return replace(record, contested=()) if record.contested else record


def _read_memory(path: str, data: bytes) -> MemoryRecord | None:
    record = _read(parse_memory, data)
    return record if record and memory_path(record) == path else None


def _read(parse: Callable[[bytes], R], data: bytes) -> R | None:
    try:
        return parse(data)
    except InvalidFileError:
        return None
