"""Forgetting and restoring: what leaves memory, and comes back from history."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from gitmail.errors import (
    AlreadyInForceError,
    AmbiguousIdError,
    InvalidArgumentError,
    MemoryNotFoundError,
    QuarantinedError,
    TooManyMatchesError,
)
from gitmail.mailbox.checks import choice, optional_line
from gitmail.mailbox.lookup import known_member
from gitmail.mailbox.memory_values import Forgotten, Outcome, Recollection, Stored
from gitmail.mailbox.remembering import find_source, memory_plan, path_name
from gitmail.mailbox.slots import (
    SlotName,
    entity_records,
    find_note,
    find_past_note,
    in_force,
    no_such_slot,
    path_of,
    quarantined_slots,
    refuse_quarantined,
    slot_at,
    time_after,
    version,
)
from gitmail.records.keys import check_tag
from gitmail.records.memory import (
    EPISODE_LIMIT,
    REASON_LIMIT,
    SOURCE_LIMIT,
    MemoryRecord,
    Scope,
)
from gitmail.records.names import AgentName, parse_id_prefix
from gitmail.records.paths import memory_path
from gitmail.records.text import check_string
from gitmail.store.numbers import scope_number, text_number
from gitmail.store.view import File, Plan, View

CONFIRM_FROM = 20
"""Notes that may be forgotten without confirmation (CAPABILITIES Y4)."""
_MOST_SHOWN = 200
_SAMPLE = 5
# Whole texts are found by their digest.
_CONDITIONS = {
    "text": "m.text = ? AND m.digest = ?",
    "substring": "instr(m.text, ?)",
    "source": "m.source = ?",
    "episode": "m.episode = ?",
    "tag": "m.n IN (SELECT n FROM memory_tag WHERE tag = ?)",
}


class Match(StrEnum):
    """Whether a note must match one filter or all."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Which notes are meant; None is said of what makes no difference."""

    text: str | None = None
    substring: str | None = None
    source: str | None = None
    episode: str | None = None
    tag: str | None = None
    match: Match = Match.ANY

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return all(getattr(self, key) is None for key in _CONDITIONS)


def make_filters(
    *,
    text: object = None,
    substring: object = None,
    source: object = None,
    episode: object = None,
    tag: object = None,
    match: object = None,
) -> Filters:
    """Return checked filters.

    Raises:
        InvalidArgumentError, InvalidTextError: One of them.
    """
    return Filters(
        text=_filled("text", text),
        substring=_filled("substring", substring),
        source=optional_line("source", source, SOURCE_LIMIT),
        episode=optional_line("episode", episode, EPISODE_LIMIT),
        tag=None if tag is None else check_tag(check_string("tag", tag)),
        match=choice("match", Match, match) or Match.ANY,
    )


def check_reason(reason: object) -> str | None:
    """Return a reason, or None where none was given.

    Raises:
        InvalidArgumentError, InvalidTextError: It is no line, or too long.
    """
    return optional_line("reason", reason, REASON_LIMIT)


def plan_forgetting_notes(
    view: View,
    caller: AgentName,
    note: str | None,
    filters: Filters,
    reason: str | None,
    now: datetime,
    *,
    confirm: bool,
    dry_run: bool,
) -> Plan[Forgotten]:
    """Plan to remove the notes that an id or filters name (CAPABILITIES Y4, Y5)."""
    known_member(view, caller)
    gone = [find_note(view, note)] if note else _matching(view, caller, filters)
    if len(gone) > CONFIRM_FROM and not confirm and not dry_run:
        shown = [Recollection.start(each) for each in gone[:_SAMPLE]]
        sample = [{"revision": s.record.id, "value": s.text} for s in shown]
        raise TooManyMatchesError(len(gone), CONFIRM_FROM, sample)
    files = dict.fromkeys(path_of(view, each) for each in gone)
    what = path_name(*files) if len(files) == 1 else f"{len(files)} notes"
    said = "memory-forget", _because(what, reason)
    return _forget(view, caller, gone, files, *said, now, dry_run=dry_run)


def plan_forgetting_slots(
    view: View,
    caller: AgentName,
    scope: Scope,
    entity: str,
    attribute: str | None,
    reason: str | None,
    now: datetime,
    *,
    dry_run: bool,
) -> Plan[Forgotten]:
    """Plan to remove facts, or to retire world facts or lessons (Y5, Y6)."""
    known_member(view, caller)
    if attribute is None:
        for path, why in quarantined_slots(view, scope, entity):
            raise QuarantinedError(path, why)
        standing = entity_records(view, scope, entity)
    else:
        found = slot_at(view, SlotName(scope, entity, attribute))
        standing = [found] if found else []
    gone = [record for record in standing if not record.is_retired]
    if not gone:
        raise no_such_slot(view, scope, entity, attribute)
    files: dict[str, File | None] = {}
    for record in gone:
        files[memory_path(record)] = (
            None if scope is Scope.FACT else _retired(record, caller, reason, now)
        )
    what = path_name(memory_path(gone[0]))
    what = what if attribute is not None else what.rpartition("/")[0]
    operation = "memory-forget" if scope is Scope.FACT else "memory-retire"
    said = operation, _because(what, reason)
    return _forget(view, caller, gone, files, *said, now, dry_run=dry_run)


def plan_restoring_slot(
    view: View,
    caller: AgentName,
    name: SlotName,
    revision: str | None,
    reason: str | None,
    now: datetime,
) -> Plan[Stored]:
    """Plan to put an earlier version of a slot in force again (CAPABILITIES Y7)."""
    known_member(view, caller)
    standing = slot_at(view, name)
    current = in_force(standing)
    if current and revision is None:
        hint = "To go back to an earlier version, pass its revision from the history"
        raise AlreadyInForceError(str(name), current.id, hint)
    wanted = standing if revision is None else None
    wanted = wanted or _earlier(view, name, revision)
    if current and _is_like(current, wanted):
        return Plan(result=Stored(outcome=Outcome.CONFIRMED, record=current))
    named = standing or wanted
    record = replace(
        wanted,
        entity=named.entity,
        attribute=named.attribute,
        set_by=caller,
        set_at=time_after(standing, now),
        supersedes=standing.id if standing else None,
        contested=(),
        retired_by=None,
        retired_at=None,
        reason=reason,
    )
    return _restore(view, caller, record, memory_path(record), reason, now)


def plan_restoring_note(
    view: View, caller: AgentName, note: str, reason: str | None, now: datetime
) -> Plan[Stored]:
    """Plan to bring back a note that was forgotten or superseded (Y7)."""
    known_member(view, caller)
    found, path = find_past_note(view, note)
    if view.repository.lookup(view.tree, path) == found:
        hint = "To see how it came about: gitmail memory history NOTE"
        raise AlreadyInForceError(f"note {found[:12]}", found, hint)
    refuse_quarantined(view, path)
    record = version(view, path, found)
    if record is None:
        raise MemoryNotFoundError("note", note)
    return _restore(view, caller, record, path, reason, now)


def _matching(view: View, caller: AgentName, filters: Filters) -> list[MemoryRecord]:
    if filters.is_empty:
        rule = f"a note's id, or else at least one of {', '.join(_CONDITIONS)}"
        raise InvalidArgumentError("entity", None, rule)
    filters = replace(filters, source=find_source(view, caller, filters.source))
    conditions: list[str] = []
    values: list[object] = []
    for key, condition in _CONDITIONS.items():
        said = getattr(filters, key)
        if said is None:
            continue
        conditions.append(f"({condition})")
        if key in ("text", "substring"):
            values.append(said)
        if key != "substring":
            values.append(text_number(said))
    # Only a part of a text is looked for in all notes; a plus keeps SQLite from it.
    plus = "" if filters.substring else "+"
    joined = (" OR " if filters.match is Match.ANY else " AND ").join(conditions)
    rows = view.index.execute(
        f"SELECT m.id FROM memory m WHERE {plus}m.scope = ? AND ({joined})"
        " ORDER BY m.date, m.id",
        (scope_number(Scope.NOTE), *values),
    ).fetchall()
    return [view.memory(row[0].hex()) for row in rows]


def _forget(
    view: View,
    caller: AgentName,
    gone: list[MemoryRecord],
    files: Mapping[str, File | None],
    operation: str,
    subject: str,
    now: datetime,
    *,
    dry_run: bool,
) -> Plan[Forgotten]:
    shown = tuple(Recollection.start(each) for each in gone[:_MOST_SHOWN])
    result = Forgotten(count=len(gone), records=shown, is_dry_run=dry_run)
    if dry_run or not gone:
        return Plan(result=result)
    return memory_plan(view, caller, result, files, operation, subject, now)


def _is_like(current: MemoryRecord, wanted: MemoryRecord) -> bool:
    """Tell whether restoring a version would only say again what is in force."""
    keys = ("value", "source", "confidence", "tags")
    is_same = all(getattr(current, key) == getattr(wanted, key) for key in keys)
    return is_same and not current.contested


def _retired(
    record: MemoryRecord, caller: AgentName, reason: str | None, now: datetime
) -> MemoryRecord:
    moment = time_after(record, now)
    return replace(record, retired_by=caller, retired_at=moment, reason=reason)


def _earlier(view: View, name: SlotName, revision: str | None) -> MemoryRecord:
    """Return the version that is named, or the last one that can be read."""
    rows = view.index.execute(
        "SELECT r.made, r.id FROM name JOIN revision r ON r.path = name.n"
        " WHERE name.text = ? ORDER BY r.n DESC, r.made DESC",
        (name.path,),
    ).fetchall()
    ids = dict.fromkeys(blob.hex() for _, blob in rows if blob)
    if revision is not None:
        prefix = parse_id_prefix(revision, "revision")
        ids = {each: None for each in ids if each.startswith(prefix)}
        if len(ids) > 1:
            raise AmbiguousIdError(revision, list(ids), "revisions")
    elif rows and rows[0][1] is None:
        # Where a merge took the older of two, the newest is not what was in force.
        ids = dict.fromkeys([*_removed(view, name.path, rows[0][0].hex()), *ids])
    readable = (version(view, name.path, each) for each in ids)
    found = next((record for record in readable if record), None)
    if found is None and revision is not None:
        raise MemoryNotFoundError(f"revision of {name}", revision)
    if found is None:
        raise no_such_slot(view, name.scope, name.entity, name.attribute)
    return found


def _removed(view: View, path: str, commit: str) -> Iterator[str]:
    """Yield the blobs at a path in the commits that one stands on."""
    for parent in view.repository.commit(commit).parents:
        tree = view.repository.commit(parent).tree
        blob = view.repository.lookup(tree, path)
        if blob:
            yield blob


def _restore(
    view: View,
    caller: AgentName,
    record: MemoryRecord,
    path: str,
    reason: str | None,
    now: datetime,
) -> Plan[Stored]:
    stored = Stored(outcome=Outcome.RESTORED, record=record)
    subject = _because(path_name(path), reason)
    files = {path: record}
    return memory_plan(view, caller, stored, files, "memory-restore", subject, now)


def _because(what: str, reason: str | None) -> str:
    """Return the rest of a commit's subject; the history reads the reason from it."""
    return f"{what}: {reason}" if reason else what


def _filled(field: str, text: object) -> str | None:
    if text is None:
        return None
    said = check_string(field, text)
    if not said.strip():
        raise InvalidArgumentError(field, text, "it may not be blank")
    return said
