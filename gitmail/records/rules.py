"""What may be done to each kind of record, and by whom (FORMAT.md); pure.

Every rule yields what it finds amiss: the rule's name, which is stable, and a sentence
for people.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitmail.records.charter import Charter
from gitmail.records.memory import MemoryRecord
from gitmail.records.message import Message
from gitmail.records.names import is_component
from gitmail.records.paths import (
    PATH_LIMIT,
    Place,
    copy_path,
    memory_path,
    parse_path,
    profile_path,
    receipt_path,
)
from gitmail.records.profile import FIELDS, Profile
from gitmail.records.receipt import BlindCopy, Receipt
from gitmail.records.rule import Rule
from gitmail.records.times import format_time

OTHER_LIMIT_BYTES = 1 << 20
"""Size of a file that has no limit of its own."""
SLACK = timedelta(minutes=5)
"""How far a record's time may be from that of its commit."""
LONGEST_WAIT = timedelta(days=7)
"""How long what a person wrote by hand may have waited for its commit."""
CLOCK_SLACK = timedelta(hours=1)
"""By how much the clocks of two machines may disagree."""


_NAMED_FIELDS = {named: field for field, named in FIELDS.items()}

Problem = tuple[Rule, str]
Problems = Iterator[Problem]


@dataclass(frozen=True, slots=True)
class Act:
    """What a commit says of itself, by which its files are judged.

    Attributes:
        operations: The values of `Gitmail-Op`, none for a commit of somebody's own.
        body_limit: Bytes that the mailbox allows for a body.
    """

    author: str
    time: datetime
    operations: tuple[str, ...] = ()
    body_limit: int = 65_536


@dataclass(frozen=True, slots=True)
class Letter:
    """What receipts and blind copies are judged by: a message that is there."""

    path: str
    sender: str
    recipients: tuple[str, ...]
    date: datetime


def path_problems(path: str, beside: Callable[[], list[str]]) -> Problems:
    """Judge a path that no kind of record has.

    Args:
        beside: Returns the names in the folder of the path's last part.
    """
    parts = path.split("/")
    name = parts[-1]
    twin = [each for each in beside() if each != name and each.lower() == name.lower()]
    odd = [part for part in parts if part.isascii() and not is_component(part.lower())]
    if twin:
        yield Rule.CASE, f"differs from {twin[0]} by upper and lower case alone"
    elif odd:
        yield Rule.NAME, f"{odd[0]!r} is no name that every file system can hold"
    elif len(path) >= PATH_LIMIT:
        yield Rule.NAME, f"the path has {len(path)} characters"
    else:
        yield Rule.PATH, "no kind of record stands there"


def message_problems(message: Message, path: str, right: str, act: Act) -> Problems:
    """Judge a message that is new.

    Args:
        right: The path where it belongs.
    """
    yield from _place(path, right)
    if message.sender != act.author:
        yield Rule.SENDER, f"is from {message.sender}, and the commit by {act.author}"
    yield from _date(message.date, act)
    yield from size_problems(message.body, act.body_limit)


def receipt_problems(
    receipt: Receipt,
    path: str,
    place: Place,
    act: Act,
    letter: Letter | None,
    has_copy: Callable[[], bool],
) -> Problems:
    """Judge a receipt that is new.

    Args:
        letter: The message, None where it is not there.
        has_copy: Tells whether the agent was sent a blind copy of it.
    """
    yield from _place(path, receipt_path(receipt, place.folder))
    if receipt.agent != act.author:
        yield Rule.ACTOR, f"is of {receipt.agent}, and the commit by {act.author}"
    misdated = [*_date(receipt.date, act)]
    yield from misdated
    if letter is None:
        yield Rule.MESSAGE, f"there is no message {receipt.message} in that folder"
        return
    if receipt.agent not in letter.recipients and not has_copy():
        yield Rule.RECIPIENT, f"{receipt.message} was not delivered to {receipt.agent}"
    if letter.date - receipt.date > CLOCK_SLACK and not misdated:
        # With its commit's date the clock of a machine was wrong, and else the writer.
        is_clock = abs(act.time - receipt.date) <= SLACK
        what = f"is dated {letter.date - receipt.date} before its message"
        yield Rule.CLOCK if is_clock else Rule.DATE, what


def copy_problems(
    copy: BlindCopy, path: str, place: Place, act: Act, letter: Letter | None
) -> Problems:
    """Judge a blind copy that is new."""
    yield from _place(path, copy_path(copy, place.folder))
    if letter is None:
        yield Rule.MESSAGE, f"there is no message {copy.message} in that folder"
    elif letter.sender != act.author:
        yield Rule.SENDER, f"{copy.message} is from {letter.sender}, not {act.author}"


def profile_problems(
    profile: Profile, path: str, before: Profile | None, act: Act
) -> Problems:
    """Judge a profile that is new or was changed."""
    yield from _place(path, profile_path(profile.name))
    yield from _times(profile, before, act)
    if profile.name == act.author:
        return
    # Anybody may retire an agent, and bring one back, but say nothing else of it.
    is_retiring = {"retire", "unretire"} & {*act.operations}
    if not (is_retiring and before and _but_status(profile) == _but_status(before)):
        yield Rule.PROFILE, f"is that of {profile.name}, and the commit by {act.author}"


def charter_problems(charter: Charter, before: Charter | None) -> Problems:
    """Judge mailbox.md; its limits and its text are for people to change."""
    if before and (charter.id, charter.created) != (before.id, before.created):
        yield Rule.CHARTER, "id and time of creation stay for ever"


def note_problems(note: MemoryRecord, path: str, act: Act) -> Problems:
    """Judge a note that is new."""
    yield from _place(path, memory_path(note, parse_path(path).part))
    yield from size_problems(note.value, act.body_limit)
    if note.set_by != act.author:
        yield Rule.ACTOR, f"is by {note.set_by}, and the commit by {act.author}"
    yield from _date(note.set_at, act)


def slot_problems(
    record: MemoryRecord,
    path: str,
    old: str | None,
    before: MemoryRecord | None,
    act: Act,
) -> Problems:
    """Judge a new version of a slot.

    Args:
        old: Id of what stood there before, None where nothing did.
        before: The same as a record, None also where it cannot be read.
    """
    yield from _place(path, memory_path(record))
    yield from size_problems(record.value, act.body_limit)
    yield from _spelling(record, before)
    actor = record.retired_by or record.set_by
    if actor != act.author:
        yield Rule.ACTOR, f"is by {actor}, and the commit by {act.author}"
    after = before.changed_at if before else None
    yield from _date(record.changed_at, act, after)
    if record.is_retired:
        yield from _retirement(record, before)
    elif record.supersedes != old:
        yield Rule.SUPERSEDES, f"took over from {old or 'nothing'} and does not say so"


def other_problems(data: bytes) -> Problems:
    """Judge a file that is no record."""
    if len(data) > OTHER_LIMIT_BYTES:
        yield Rule.SIZE, f"has {len(data):,} bytes, and may have {OTHER_LIMIT_BYTES:,}"


def _retirement(record: MemoryRecord, before: MemoryRecord | None) -> Problems:
    if before is None:
        yield Rule.RETIRED, "was retired without having been in force"
    elif before.is_retired:
        yield Rule.RETIRED, "was retired again without having been restored"
    elif _in_force(record) != _in_force(before):
        yield Rule.RETIRED, "was changed by what should retire it"


def _spelling(record: MemoryRecord, before: MemoryRecord | None) -> Problems:
    if before is None:
        return
    if (record.entity, record.attribute) != (before.entity, before.attribute):
        said = f"{before.entity} {before.attribute}"
        yield Rule.SPELLING, f"was first spelt {said}"


def _in_force(record: MemoryRecord) -> MemoryRecord:
    return replace(record, retired_by=None, retired_at=None, reason=None)


def _times(profile: Profile, before: Profile | None, act: Act) -> Problems:
    """Judge when a profile says that it was made and changed.

    A change without a time is nobody's harm: a merge takes it for one all the same.
    """
    if before is None:
        yield from _late(profile.created, act)
    elif profile.created != before.created:
        moment = format_time(before.created)
        yield Rule.DATE, f"was registered {moment}, and that stays"
    known = before.changed if before else {}
    for key in sorted({*known, *profile.changed}):
        at, was = profile.changed.get(key), known.get(key)
        if at == was:
            continue
        field = _NAMED_FIELDS.get(key)
        if before and field and getattr(profile, field) == getattr(before, field):
            yield Rule.DATE, f"has another time of {key}, which did not change"
        elif at:
            yield from _late(at, act, was)


def _but_status(profile: Profile) -> Profile:
    status = FIELDS["is_retired"]
    times = {key: at for key, at in profile.changed.items() if key != status}
    return replace(profile, is_retired=False, changed=times)


def _place(path: str, right: str) -> Problems:
    if path != right:
        yield Rule.PLACE, f"its content belongs at {right}"


def size_problems(text: str, limit: int) -> Problems:
    """Judge the size of a text, in UTF-8 bytes."""
    size = len(text.encode())
    if size > limit:
        yield Rule.SIZE, f"has {size:,} bytes, and may have {limit:,}"


def _date(date: datetime, act: Act, after: datetime | None = None) -> Problems:
    """Judge a time against the commit's.

    Args:
        after: The time of what it took over from, which it is put after, whatever the
            clocks say.
    """
    yield from _late(date, act, after)
    if act.time - date > (SLACK if act.operations else LONGEST_WAIT):
        yield Rule.DATE, _apart(date, act)


def _late(date: datetime, act: Act, after: datetime | None = None) -> Problems:
    """Judge, of a time, only that it is not after the commit's; `after` is as above."""
    latest = max(act.time, after) if after else act.time
    if date - latest > SLACK:
        yield Rule.DATE, _apart(date, act)


def _apart(date: datetime, act: Act) -> str:
    return f"is dated {format_time(date)}, and the commit {format_time(act.time)}"
