"""Getting, listing and searching what is in force, and the history of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gitmail.errors import MemoryNotFoundError, QuarantinedError
from gitmail.mailbox.checks import check_tags, choice, flag, optional_line, texts
from gitmail.mailbox.lookup import known_member
from gitmail.mailbox.memory_values import (
    History,
    Recollection,
    Recollections,
    Revision,
)
from gitmail.mailbox.receiving import PAGE_BUDGET_BYTES, check_limit
from gitmail.mailbox.remembering import find_source
from gitmail.mailbox.searching import excerpt, match_all, parse_words
from gitmail.mailbox.slots import (
    SlotName,
    entity_paths,
    entity_records,
    find_note,
    find_past_note,
    in_force,
    no_such_slot,
    quarantined_slots,
    slot_at,
    version,
)
from gitmail.records.keys import check_name, key_of
from gitmail.records.memory import SLOT_SCOPES, SOURCE_LIMIT, MemoryRecord, Scope
from gitmail.records.names import AgentName, parse_agent_name
from gitmail.records.times import parse_since, to_microseconds
from gitmail.store.memory_index import searchable_memory
from gitmail.store.numbers import scope_number, text_number
from gitmail.store.schema import marks
from gitmail.store.view import View

_SUBJECT_END = ": "


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a list or a search asks for, checked; kinds of filters all apply (Y9).

    Attributes:
        words: All of them must occur; none for all records.
        scopes, tags: One of them must fit; none for any.
        since: Microseconds since 1970.
    """

    words: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()
    entity: str | None = None
    tags: tuple[str, ...] = ()
    source: str | None = None
    by: AgentName | None = None
    since: int | None = None
    with_retired: bool = False
    limit: int = 20


def make_wanted(
    now: datetime,
    *,
    query: object = None,
    scopes: str | Iterable[str] | None = None,
    entity: object = None,
    tags: str | Iterable[str] | None = None,
    source: object = None,
    by: str | None = None,
    since: str | datetime | None = None,
    retired: bool = False,
    limit: int = 20,
) -> Wanted:
    """Return what a list or a search asks for, checked.

    Raises:
        InvalidArgumentError, InvalidTextError, InvalidNameError: One of the values.
    """
    named = texts("scope", scopes, len(Scope)) if scopes is not None else []
    moment = parse_since("since", since, now) if since is not None else None
    return Wanted(
        words=parse_words(query) if query is not None else (),
        scopes=tuple(filter(None, (choice("scope", Scope, each) for each in named))),
        entity=key_of(check_name("entity", entity)) if entity is not None else None,
        tags=check_tags(tags) or (),
        source=optional_line("source", source, SOURCE_LIMIT),
        by=parse_agent_name(by) if by is not None else None,
        since=to_microseconds(moment) if moment else None,
        with_retired=flag("retired", retired),
        limit=check_limit(limit),
    )


def get(view: View, caller: AgentName, name: SlotName) -> Recollection:
    """Return what is in force in a slot.

    Raises:
        MemoryNotFoundError: Nothing is.
        QuarantinedError: A file stands there that is no slot.
    """
    known_member(view, caller)
    record = in_force(slot_at(view, name))
    if record is None:
        raise no_such_slot(view, name.scope, name.entity, name.attribute)
    return Recollection.whole(record)


def get_entity(
    view: View, caller: AgentName, scope: Scope, entity: str
) -> Recollections:
    """Return what is in force of an entity, by attribute.

    Raises:
        MemoryNotFoundError: Nothing is.
    """
    known_member(view, caller)
    records = [r for r in entity_records(view, scope, entity) if not r.is_retired]
    damaged = quarantined_slots(view, scope, entity)
    if not records and damaged:
        raise QuarantinedError(*damaged[0])
    if not records:
        raise no_such_slot(view, scope, entity)
    shown = tuple(_within_budget(records))
    return Recollections(records=shown, quarantined_count=len(damaged))


def get_note(view: View, caller: AgentName, note: str) -> Recollections:
    """Return a note that is in force.

    Raises:
        InvalidNameError, AmbiguousIdError, MemoryNotFoundError
    """
    known_member(view, caller)
    return Recollections(records=(Recollection.whole(find_note(view, note)),))


def recall(view: View, caller: AgentName, wanted: Wanted) -> Recollections:
    """Return records that fit: with words the best match first, else the newest."""
    known_member(view, caller)
    sql, values = _query(view, caller, wanted)
    rows = view.index.execute(sql, (*values, wanted.limit + 1)).fetchall()
    records = [view.memory(row[0].hex()) for row in rows[: wanted.limit]]
    shown = [Recollection.start(record) for record in records]
    if wanted.words:
        shown = [
            each.found(excerpt(searchable_memory(each.record), wanted.words))
            for each in shown
        ]
    return Recollections(records=tuple(shown), has_more=len(rows) > wanted.limit)


def slot_history(view: View, caller: AgentName, name: SlotName, limit: int) -> History:
    """Return the versions of a slot, newest first (CAPABILITIES Y8).

    Raises:
        MemoryNotFoundError: There never was one.
    """
    known_member(view, caller)
    rows = _revisions(view, "name.text = ?", (name.path,), limit)
    if not rows:
        raise no_such_slot(view, name.scope, name.entity, name.attribute)
    return _history(view, rows, limit)


def entity_history(
    view: View, caller: AgentName, scope: Scope, entity: str, limit: int
) -> History:
    """Return the versions of all slots of an entity, newest first.

    Raises:
        MemoryNotFoundError: There never was one.
    """
    known_member(view, caller)
    ends = entity_paths(scope, entity)
    rows = _revisions(view, "name.text BETWEEN ? AND ?", ends, limit)
    if not rows:
        raise no_such_slot(view, scope, entity)
    return _history(view, rows, limit)


def note_history(view: View, caller: AgentName, note: str, limit: int) -> History:
    """Return what became of a note, and of those that it superseded, newest first.

    Raises:
        InvalidNameError, AmbiguousIdError, MemoryNotFoundError
    """
    known_member(view, caller)
    found, path = find_past_note(view, note)
    rows: list[_Row] = []
    seen = {path}
    while True:
        rows += _revisions(view, "name.text = ?", (path,), limit)
        record = version(view, path, found)
        if record is None or record.supersedes is None or len(rows) > limit:
            break
        try:
            found, path = find_past_note(view, record.supersedes)
        except MemoryNotFoundError:
            break
        if path in seen:
            break
        seen.add(path)
    return _history(view, rows, limit)


def _query(view: View, caller: AgentName, wanted: Wanted) -> tuple[str, list[object]]:
    """Return the query of the index, with its values, for all but the limit."""
    sql, order = "SELECT m.id FROM memory m WHERE 1", "m.date DESC"
    values: list[object] = []
    if wanted.words:
        sql = (
            "SELECT m.id FROM memory_words CROSS JOIN memory m"
            " ON m.n = memory_words.rowid WHERE memory_words MATCH ?"
        )
        order = "rank, m.date DESC"
        values.append(match_all(wanted.words))
    # With a narrower way to the rows, SQLite must not go through all by date.
    is_narrow = wanted.entity is not None or wanted.tags
    if not wanted.with_retired:
        sql += f" AND {'+' if is_narrow else ''}m.is_retired = 0"
    scopes = wanted.scopes or (SLOT_SCOPES if wanted.entity is not None else ())
    if scopes:
        plus = "+" if wanted.tags else ""
        sql += f" AND {plus}m.scope IN ({marks(scopes)})"
        values += [scope_number(each) for each in scopes]
    if wanted.entity is not None:
        sql += " AND m.entity = ?"
        values.append(wanted.entity)
    if wanted.tags:
        tagged = f"SELECT n FROM memory_tag WHERE tag IN ({marks(wanted.tags)})"
        sql += f" AND m.n IN ({tagged})"
        values += [text_number(each) for each in wanted.tags]
    if wanted.source is not None:
        sql += " AND m.source = ?"
        values.append(text_number(find_source(view, caller, wanted.source) or ""))
    if wanted.by is not None:
        sql += " AND m.author = ?"
        values.append(view.index.number_of(wanted.by))
    if wanted.since is not None:
        sql += " AND m.date >= ?"
        values.append(wanted.since)
    return f"{sql} ORDER BY {order}, m.id LIMIT ?", values


def _within_budget(records: Sequence[MemoryRecord]) -> Iterator[Recollection]:
    """Yield records whole until a page of text is full, and then their starts (R5)."""
    room = PAGE_BUDGET_BYTES
    for record in records:
        shown, room = _fit(Recollection.whole(record), room)
        yield shown


def _fit(shown: Recollection, room: int) -> tuple[Recollection, int]:
    """Return a whole record, or its start where it has no room, and the room left."""
    if len(shown.text.encode()) > room:
        shown = Recollection.start(shown.record)
    return shown, room - len(shown.text.encode())


_Row = tuple[int, bytes, bytes | None, str]
"""Number of the revision, commit, blob and path."""


def _revisions(
    view: View, condition: str, values: Sequence[object], limit: int
) -> list[_Row]:
    return view.index.execute(
        "SELECT r.n, r.made, r.id, name.text FROM name CROSS JOIN revision r"
        f" ON r.path = name.n WHERE {condition} ORDER BY r.n DESC, r.made DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()


def _history(view: View, rows: Sequence[_Row], limit: int) -> History:
    revisions = []
    room = PAGE_BUDGET_BYTES
    current = _current(view, {row[3] for row in rows})
    for row in rows[:limit]:
        revision = _revision(view, row)
        if row[2] and row[2] == current.get(row[3]):
            current.pop(row[3])  # an earlier version may have been the same
            revision = replace(revision, is_current=True)
        if revision.shown:
            shown, room = _fit(revision.shown, room)
            if shown is not revision.shown:
                revision = replace(revision, shown=shown)
        revisions.append(revision)
    return History(revisions=tuple(revisions), has_more=len(rows) > limit)


def _current(view: View, paths: set[str]) -> dict[str, bytes]:
    """Return path to blob of what stands at some paths now."""
    rows = view.index.execute(
        "SELECT name.text, m.id FROM name JOIN memory m ON m.path = name.n"
        f" WHERE name.text IN ({marks(paths)})",
        list(paths),
    )
    return dict(rows.fetchall())


def _revision(view: View, row: _Row) -> Revision:
    """Return what a commit did to a path, which never changes."""
    found: Revision | None = view.revisions.get(row)
    if found is None:
        found = _read_revision(view, *row)
        view.revisions.put(row, found)
    return found


def _read_revision(
    view: View, n: int, made: bytes, blob: bytes | None, path: str
) -> Revision:
    commit = view.repository.commit(made.hex())
    record = version(view, path, blob.hex()) if blob else None
    operations = commit.trailers("Gitmail-Op")
    is_superseded = blob is None and operations[:1] == ["memory-supersede"]
    said = commit.subject
    if operations:  # what gitmail wrote: the operation, the path, and then the reason
        said = said.removeprefix(f"{operations[0]}{_SUBJECT_END}")
        said = said.partition(_SUBJECT_END)[2]
    return Revision(
        commit=commit.id,
        date=datetime.fromtimestamp(commit.time, UTC),
        agent=commit.author,
        operation=operations[0] if operations else None,
        path=path,
        reason=(record.reason if record else None) or said,
        revision=blob.hex() if blob else None,
        superseded_by=_successor(view, n, made) if is_superseded else None,
        shown=Recollection.whole(record) if record else None,
    )


def _successor(view: View, n: int, made: bytes) -> str | None:
    """Return the note that took the place of one in the same commit."""
    # What one commit did to memory has numbers in a row.
    row = view.index.execute(
        "SELECT id FROM revision WHERE n BETWEEN ? AND ? AND made = ? AND id NOT NULL",
        (n - 1, n + 1, made),
    ).fetchone()
    return row[0].hex() if row else None
