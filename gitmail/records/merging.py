"""Merging two versions of one file, by its kind (DESIGN 10); pure.

Each rule takes the same of two versions whichever comes first, and of three in any
grouping. What is written once takes the smallest by what the files themselves say. A
slot is a set of versions: one stays if both sides have it, or if a side has it and it
was not there where both started.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from gitmail.errors import (
    InvalidArgumentError,
    InvalidFileError,
    UnsupportedFormatError,
)
from gitmail.records.charter import parse_charter
from gitmail.records.contesting import Version, contested_data, version_of
from gitmail.records.memory import Scope
from gitmail.records.message import blob_id
from gitmail.records.paths import (
    CHARTER_PATH,
    MEMORY,
    SLOT_FOLDERS,
    Family,
    parse_path,
)
from gitmail.records.places import right_path
from gitmail.records.profile import merged_profiles, parse_profile
from gitmail.records.receipt import parse_receipt
from gitmail.records.times import format_time

R = TypeVar("R")
Find = Callable[[str], bytes | None]
"""Returns the bytes of an earlier version by its blob id, None where it is not here."""

_NOTES = f"{MEMORY}/notes/"
_FACTS = f"{MEMORY}/{SLOT_FOLDERS[Scope.FACT]}/"
_DELETED = "one side deleted what the other changed"
_BOTH_CHANGED = "both sides changed it"
_UNREADABLE = "a side does not belong there"
_REMOVED = "one side removed it, and it stays"


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of one path.

    Attributes:
        data: The file's bytes, None where there is none.
        aside: Bytes that lost their place, and that are kept elsewhere.
        note: What a person should know of it, empty where all went by itself.
    """

    data: bytes | None
    aside: tuple[bytes, ...] = ()
    note: str = ""


def merge_file(
    path: str,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    find: Find = lambda _: None,
) -> Merged:
    """Return what becomes of a path of which two sides have different files.

    Args:
        path: The path below the mailbox.
        base: What both sides started from, None where there was no file.
        ours, theirs: What the sides have, None where there is no file.
    """
    if _is_slot(path):
        return _merge_slots(path, base, ours, theirs, find)
    if path == CHARTER_PATH:
        return _merge_charters(base, ours, theirs)
    if ours is None or theirs is None:
        return _merge_absent(path, base, ours if theirs is None else theirs)
    return _RULES[parse_path(path).family](path, base, ours, theirs)


def is_kept_if_absent(path: str) -> bool:
    """Tell whether what one side has not is there all the same after a merge (I6)."""
    return parse_path(path).family in _KEPT and not is_removable(path)


def is_removable(path: str) -> bool:
    """Tell whether a record of memory is forgotten by removing its file."""
    return path.startswith((_FACTS, _NOTES))


def belongs(path: str, data: bytes) -> bool:
    """Tell whether a file is a record and stands where it should."""
    try:
        return right_path(path, data) == path
    except (InvalidFileError, UnsupportedFormatError):
        return False


def is_known(path: str) -> bool:
    """Tell whether a file of a mailbox can stand at a path."""
    return parse_path(path).family is not Family.UNKNOWN


def is_record(path: str) -> bool:
    """Tell whether a path is of a kind that has its own rule."""
    return parse_path(path).family not in _LINE_BY_LINE


def _merge_absent(path: str, base: bytes | None, present: bytes | None) -> Merged:
    """Return what becomes of a path that one side has, or neither."""
    if is_kept_if_absent(path) or base is None:
        return Merged(present)
    if present in (base, None):
        return Merged(None)
    return Merged(present, note=_DELETED)


def _merge_slots(
    path: str,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    find: Find,
) -> Merged:
    """Take the latest version, and name the others until somebody sets it again."""
    present = [version_of(path, data) for data in (ours, theirs) if data is not None]
    if len(present) < 2 and not path.startswith(_FACTS):  # noqa: PLR2004 - both sides
        return Merged(present[0].file if present else None)
    origin = version_of(path, base).all_ids if base is not None else frozenset()
    a, b = (
        version_of(path, data).all_ids if data is not None else frozenset()
        for data in (ours, theirs)
    )
    left = (a & b) | ((a | b) - origin)
    if not left:
        return Merged(None)
    standing = {each.id: each for each in present if each.id in left}
    # A side may have set over the latest, and over none of those that had lost to it.
    named = {key: data for key in left - {*standing} if (data := find(key)) is not None}
    found = [version_of(path, data) for data in named.values()]
    found = [each for each in found if each.id in named]
    candidates = [*standing.values(), *found]
    if not candidates:  # a person wrote ids that name nothing
        return Merged(max(each.file for each in present), note=_DELETED)
    winner = max(candidates, key=lambda each: each.rank)
    merged = _slot(winner, left - {winner.id}, present)
    note = _DELETED if base and len(present) == 1 else merged.note
    # What cannot be read has no header that could name the others.
    lost = () if winner.is_readable else candidates
    aside = tuple(each.data for each in lost if each.id != winner.id)
    return Merged(merged.data, aside, note)


def _slot(winner: Version, others: frozenset[str], present: list[Version]) -> Merged:
    """Return the file of the winner, as a side has it already where that is so."""
    own = [each for each in present if each.id == winner.id]
    is_new = any(others - each.contested for each in own)
    note = "two versions were set at once" if is_new else ""
    as_it_is = [each.file for each in own if each.contested == others]
    return Merged(max(as_it_is, default=contested_data(winner, others)), note=note)


def _merge_written_once(
    path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Keep both: in its place what belongs there, or else the smaller id (I2)."""
    first, second = sorted(
        (ours, theirs), key=lambda data: (not belongs(path, data), blob_id(data))
    )
    return Merged(first, (second,), "two files claim the path of one")


def _merge_receipts(
    path: str, _base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Take what was written first: first times are kept (CAPABILITIES K4)."""

    def rank(data: bytes) -> tuple[bool, str, str]:
        if not belongs(path, data):
            return True, "", blob_id(data)
        is_receipt = parse_path(path).family is Family.RECEIPT
        date = format_time(parse_receipt(data).date) if is_receipt else ""
        return False, date, blob_id(data)

    first, second = sorted((ours, theirs), key=rank)
    if belongs(path, second):
        return Merged(first)
    return Merged(first, (second,), _UNREADABLE)


def _merge_profiles(
    path: str, base: bytes | None, ours: bytes, theirs: bytes
) -> Merged:
    """Take each field from where it was said last."""
    sides = [data for data in (ours, theirs) if belongs(path, data)]
    if len(sides) < 2:  # noqa: PLR2004 - both sides
        return _merge_one_readable(ours, theirs, sides)
    if base in sides:  # a person's hand stays as it is, where only that was at it
        return Merged(theirs if base == ours else ours)
    origin = parse_profile(base) if base and belongs(path, base) else None
    try:
        return Merged(merged_profiles(origin, *map(parse_profile, sides)).data)
    except InvalidArgumentError:  # together they have more than a header has room for
        return _merge_one_readable(ours, theirs, [])


def _merge_others(_path: str, base: bytes | None, ours: bytes, theirs: bytes) -> Merged:
    """Take what one side changed; of two changes one, and keep the other aside."""
    if base in (ours, theirs):
        return Merged(theirs if base == ours else ours)
    second, first = sorted((ours, theirs), key=blob_id)
    return Merged(first, (second,), _BOTH_CHANGED)


def _merge_charters(
    base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> Merged:
    """Take what names the mailbox that both sides started from: all mail needs it.

    Which mailbox it is never changes, so a charter of another one does not belong.
    """
    origin = _identity(base)
    present = [data for data in (ours, theirs) if data is not None]
    if not present:
        return Merged(None)
    sound = [
        data
        for data in present
        if (found := _identity(data)) and found == (origin or found)
    ]
    if ours is not None and theirs is not None and len(sound) == len(present):
        return _merge_others(CHARTER_PATH, base, ours, theirs)
    spare = [base] if origin and base is not None else sorted(present, key=blob_id)
    first = (sound or spare)[-1]
    aside = tuple(sorted(data for data in present if data != first))
    return Merged(first, aside, _UNREADABLE if aside else _REMOVED)


def _identity(charter: bytes | None) -> tuple[str, datetime] | None:
    """Return what tells a mailbox from all others, None where it cannot be read."""
    try:
        found = parse_charter(charter or b"", CHARTER_PATH)
    except (InvalidFileError, UnsupportedFormatError):
        return None
    return found.id, found.created


def _merge_one_readable(ours: bytes, theirs: bytes, sides: list[bytes]) -> Merged:
    first = sides[0] if sides else max(ours, theirs, key=blob_id)
    return Merged(first, (theirs if first == ours else ours,), _UNREADABLE)


def _is_slot(path: str) -> bool:
    return parse_path(path).family is Family.MEMORY and not path.startswith(_NOTES)


_RULES = {
    Family.MESSAGE: _merge_written_once,
    Family.RECEIPT: _merge_receipts,
    Family.COPY: _merge_receipts,
    Family.PROFILE: _merge_profiles,
    Family.MEMORY: _merge_written_once,  # notes; slots have gone another way
    Family.ASIDE: _merge_written_once,
    Family.FIXED: _merge_others,
    Family.UNKNOWN: _merge_others,
}
_KEPT = frozenset(_RULES) - {Family.ASIDE, Family.UNKNOWN}
_LINE_BY_LINE = frozenset([Family.FIXED, Family.ASIDE, Family.UNKNOWN])
