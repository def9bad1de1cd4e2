"""Adding notes, setting slots: from arguments to the files of one commit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from gitmail.errors import (
    GitmailError,
    InvalidArgumentError,
    QuarantinedError,
    StaleRevisionError,
)
from gitmail.mailbox.acknowledging import is_blocked, receipts_for
from gitmail.mailbox.checks import check_tags, flag, fraction, optional_line
from gitmail.mailbox.folders import Folders
from gitmail.mailbox.lookup import Found, find, known_member
from gitmail.mailbox.memory_values import Outcome, Stored
from gitmail.mailbox.sending import revived
from gitmail.mailbox.slots import (
    SlotName,
    entity_spelling,
    find_note,
    find_note_by_text,
    in_force,
    is_noted,
    path_of,
    slot_at,
    time_after,
)
from gitmail.records.memory import (
    EPISODE_LIMIT,
    SOURCE_LIMIT,
    MemoryRecord,
    Scope,
    round_confidence,
)
from gitmail.records.message import check_body
from gitmail.records.names import SHORTEST_PREFIX, AgentName, is_hex
from gitmail.records.paths import (
    MEMORY,
    NOTES,
    day_folder,
    memory_path,
    stage_path,
)
from gitmail.records.receipt import Stage
from gitmail.records.text import preview
from gitmail.records.times import format_time
from gitmail.store.view import File, Plan, View

T = TypeVar("T")

NOTHING = "none"
"""The expected revision of a slot with nothing in force."""
_MESSAGE, _FILE = "message:", "file:"
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What is said about a value, checked; None and empty where nothing is."""

    source: str | None = None
    episode: str | None = None
    confidence: float | None = None
    tags: tuple[str, ...] | None = None
    expected: str | None = None
    ack: bool = False


def make_said(
    *,
    source: object = None,
    episode: object = None,
    confidence: object = None,
    tags: str | Iterable[str] | None = None,
    expected: object = None,
    ack: bool = False,
) -> Said:
    """Return what is said about a value, checked.

    Raises:
        InvalidArgumentError, InvalidTextError: One of the values.
    """
    return Said(
        source=optional_line("source", source, SOURCE_LIMIT),
        episode=optional_line("episode", episode, EPISODE_LIMIT),
        confidence=round_confidence(fraction("confidence", confidence)),
        tags=check_tags(tags),
        expected=_check_expected(expected),
        ack=flag("ack", ack),
    )


def plan_add(
    view: View, caller: AgentName, text: str, said: Said, now: datetime
) -> Plan[Stored]:
    """Plan to write a note (CAPABILITIES Y1)."""
    note, path = _note(view, caller, text, said, now)
    return _write(view, caller, note, path, Outcome.INSERTED, "memory-add", now)


def plan_supersede(
    view: View,
    caller: AgentName,
    old: str,
    text: str,
    now: datetime,
    *,
    by_text: bool,
) -> Plan[Stored]:
    """Plan to put a new note in the place of one, which leaves the tree.

    Args:
        old: The note's id, a prefix of it, or its whole text.
    """
    known_member(view, caller)
    gone = find_note_by_text(view, old) if by_text else find_note(view, old)
    said = Said(tags=gone.tags, episode=gone.episode)
    note, path = _note(view, caller, text, said, now, supersedes=gone.id)
    outcome = Outcome.SUPERSEDED
    plan = _write(view, caller, note, path, outcome, "memory-supersede", now)
    return replace(plan, files={**plan.files, path_of(view, gone): None})


def plan_set(
    view: View,
    caller: AgentName,
    name: SlotName,
    value: str,
    said: Said,
    now: datetime,
) -> Plan[Stored]:
    """Plan to put a value in force, and to acknowledge its source (Y3, Y11)."""
    known_member(view, caller)
    check_body(value, view.charter.max_body_bytes, "value")
    source, cited = _resolve_source(view, caller, said.source)
    receipt = _plan_receipt(view, caller, cited, now) if said.ack else None
    acked = cited.id if cited and receipt and receipt.files else None
    standing = slot_at(view, name)
    current = in_force(standing)
    is_said = current and _says_the_same(current, value, source, said)
    if not (is_said and _is_retry(current, caller, said.expected)):
        _check_is_expected(name, said.expected, standing)
    if current and is_said:
        result = Stored(outcome=Outcome.CONFIRMED, record=current, acked=acked)
        return _acking(Plan(result=result), receipt)
    kept = standing.tags if standing else ()
    record = MemoryRecord(
        scope=name.scope,
        entity=standing.entity if standing else entity_spelling(view, name),
        attribute=standing.attribute if standing else name.attribute,
        value=value,
        set_by=caller,
        set_at=time_after(standing, now),
        source=source,
        confidence=said.confidence,
        tags=kept if said.tags is None else said.tags,
        supersedes=standing.id if standing else None,
        extra=standing.extra if standing else "",
    )
    outcome = Outcome.SUPERSEDED if current else Outcome.INSERTED
    path = memory_path(record)
    plan = _write(view, caller, record, path, outcome, "memory-set", now, acked)
    return _acking(plan, receipt)


def _note(
    view: View,
    caller: AgentName,
    text: str,
    said: Said,
    now: datetime,
    supersedes: str | None = None,
) -> tuple[MemoryRecord, str]:
    """Make a note, with a time, and so an id and a path, that no other has."""
    check_body(text, view.charter.max_body_bytes, "text")
    source, _ = _resolve_source(view, caller, said.source)
    folders = Folders(view, NOTES, day_folder)
    date = now
    while True:
        note = MemoryRecord(
            scope=Scope.NOTE,
            value=text,
            set_by=caller,
            set_at=date,
            source=source,
            episode=said.episode,
            tags=said.tags or (),
            supersedes=supersedes,
        )
        path = memory_path(note, folders.part(date))
        if not (is_noted(view, note.id) or view.repository.lookup(view.tree, path)):
            return note, path
        date += _TICK


def _write(
    view: View,
    caller: AgentName,
    record: MemoryRecord,
    path: str,
    outcome: Outcome,
    operation: str,
    now: datetime,
    acked: str | None = None,
) -> Plan[Stored]:
    stored = Stored(outcome=outcome, record=record, acked=acked)
    files = {path: record}
    return memory_plan(view, caller, stored, files, operation, path_name(path), now)


def memory_plan(
    view: View,
    caller: AgentName,
    result: T,
    files: Mapping[str, File | None],
    operation: str,
    subject: str,
    now: datetime,
) -> Plan[T]:
    """Plan one commit about memory, which also ends the caller's retirement."""
    return Plan(
        result=result,
        files={**dict(revived(known_member(view, caller), now)), **files},
        operation=operation,
        agent=caller,
        subject=subject,
        moment=now,
    )


def path_name(path: str) -> str:
    """Return a path below memory as commits name it, such as `facts/parser/owner`."""
    return path.removeprefix(f"{MEMORY}/").removesuffix(".md")


def _resolve_source(
    view: View, caller: AgentName, source: str | None
) -> tuple[str | None, Found | None]:
    """Return a source as it is written down, and the message that it names.

    Raises:
        MessageNotFoundError, AmbiguousIdError, InvalidNameError: A message that the
            caller may not see, or that is not there.
        InvalidArgumentError: A file without a path.
    """
    if source and source.lower().startswith(_MESSAGE):
        found = find(view, caller, source[len(_MESSAGE) :])
        return f"{_MESSAGE}{found.id}", found
    if source and source.lower().startswith(_FILE) and not _path_of(source):
        raise InvalidArgumentError("source", source, "file:PATH or file:PATH@COMMIT")
    return source, None


def find_source(view: View, caller: AgentName, source: str | None) -> str | None:
    """Return a source as it was written down, to look for it."""
    try:
        return _resolve_source(view, caller, source)[0]
    except GitmailError:  # such as one that others could cite, but not the caller
        return source


def _path_of(source: str) -> str:
    """Return the path in `file:PATH` or `file:PATH@COMMIT`."""
    path, at, commit = source[len(_FILE) :].rpartition("@")
    return (path if at and is_hex(commit, 7) else f"{path}{at}{commit}").strip()


def _plan_receipt(
    view: View, caller: AgentName, cited: Found | None, now: datetime
) -> Plan[None]:
    """Plan the acknowledgement of the message that a value is taken from."""
    if cited is None:
        rule = "only a source of the form message:ID can be acknowledged"
        raise InvalidArgumentError("ack", value=True, accepted=rule)
    if cited.stage is None:
        rule = "that message was not delivered to you, so you cannot acknowledge it"
        raise InvalidArgumentError("ack", cited.id, rule)
    if cited.stage is Stage.ACKED:
        return Plan(result=None)
    if is_blocked(view, caller, cited, Stage.ACKED):
        path = stage_path(caller, cited.folder, cited.id, Stage.ACKED)
        raise QuarantinedError(path, "it is no receipt")
    return receipts_for(view, caller, [cited], Stage.ACKED, "", now, result=None)


def _acking(plan: Plan[Stored], receipt: Plan[None] | None) -> Plan[Stored]:
    """Return one plan for both, which is one commit."""
    if receipt is None or not receipt.files:
        return plan
    if not plan.files:
        return Plan(
            result=plan.result,
            files=receipt.files,
            operation=receipt.operation,
            agent=receipt.agent,
            subject=receipt.subject,
            trailers=receipt.trailers,
            moment=receipt.moment,
        )
    trailers = (("Gitmail-Op", receipt.operation), *receipt.trailers)
    files = {**receipt.files, **plan.files}
    return replace(plan, files=files, trailers=trailers)


def _says_the_same(
    record: MemoryRecord, value: str, source: str | None, said: Said
) -> bool:
    """Tell whether what is in force is all that the caller says."""
    return (
        record.value == value
        and not record.contested
        and source in (None, record.source)
        and said.confidence in (None, record.confidence)
        and (said.tags is None or set(said.tags) == set(record.tags))
    )


def _is_retry(
    current: MemoryRecord | None, caller: AgentName, expected: str | None
) -> bool:
    """Tell whether the caller itself set what is in force, over what it expects."""
    if current is None or current.set_by != caller or expected is None:
        return False
    return (current.supersedes or NOTHING).startswith(expected)


def _check_is_expected(
    name: SlotName, expected: str | None, standing: MemoryRecord | None
) -> None:
    """Refuse to replace what the caller does not know of (CAPABILITIES Y3).

    Raises:
        StaleRevisionError: Something else is in force.
    """
    current = in_force(standing)
    if expected is None or (expected == NOTHING and not current):
        return
    if standing and standing.id.startswith(expected):
        return
    shown = None
    if current:
        shown = {
            "revision": current.id,
            "value": preview(current.value)[0],
            "set_by": current.set_by,
            "set_at": format_time(current.set_at),
        }
    raise StaleRevisionError(str(name), expected, shown)


def _check_expected(expected: object) -> str | None:
    line = optional_line("expected", expected, 40)
    if line is None:
        return None
    folded = line.lower()
    if folded != NOTHING and not is_hex(folded, SHORTEST_PREFIX, 40):
        rule = f"8 to 40 hex digits of a revision, or {NOTHING} where nothing is set"
        raise InvalidArgumentError("expected", expected, rule)
    return folded
