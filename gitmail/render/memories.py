"""Memory as text for people, one function an answer; for `Look` see `terminal`.

All text that somebody wrote goes through `line`, `flat` or `shown`.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from shlex import quote

from gitmail.mailbox.memory_values import (
    Forgotten,
    History,
    Outcome,
    Recollection,
    Recollections,
    Revision,
    Stored,
)
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.text import headline
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    block,
    cells,
    clip,
    count,
    flat,
    indented,
    line,
    short,
    shown,
    table,
)

_INDENT = "    "
_MORE = "There is more: use --limit, up to 200"
_LONGEST_NAME = 40
_NOTHING = "Nothing in memory fits"
_NOUNS = {
    Scope.NOTE: "note",
    Scope.FACT: "fact",
    Scope.WORLD: "world fact",
    Scope.LESSON: "lesson",
}


def stored(value: Stored, look: Look) -> str:
    """Return the answer to a write, which is one line."""
    record = value.record
    is_note = record.scope is Scope.NOTE
    name = "note" if is_note else f"{_name(record)},"
    if value.outcome is Outcome.CONFIRMED:
        said = f"{_name(record)} is in force already, set by {line(record.set_by)},"
    elif value.outcome is Outcome.RESTORED:
        said = f"Restored {name}"
    else:
        said = f"{'Added' if is_note else 'Set'} {name}"
    said = f"{said} {look.paint(short(record.id), Style.WARNING)}"
    if value.outcome is Outcome.SUPERSEDED and record.supersedes:
        said += f" in the place of {short(record.supersedes)}"
    if value.acked:
        said += f", and acknowledged message {short(value.acked)}"
    if value.commit is None:
        return f"{said}; nothing was written"
    return f"{said} (commit {short(value.commit)})"


def remembered(value: Recollection, look: Look) -> str:
    """Return one record to be read: a block of what is known of it, then the value."""
    record = value.record
    reason, is_retired = line(record.reason or ""), record.is_retired
    pairs = [
        ("Scope", _NOUNS[record.scope]),
        ("Entity", look.paint(line(record.entity), Style.BOLD)),
        ("Attribute", look.paint(line(record.attribute), Style.BOLD)),
        ("Set by", look.paint(line(record.set_by), Style.NAME)),
        ("Date", look.moment(record.set_at)),
        ("Source", line(record.source or "")),
        ("Episode", line(record.episode or "")),
        ("Confidence", "" if record.confidence is None else f"{record.confidence:g}"),
        ("Tags", ", ".join(line(tag) for tag in record.tags)),
        ("Retired", _retirement(record, look)),
        ("Reason" if is_retired else "Restored", reason),
        ("Revision", record.id),
        ("Replaced", short(record.supersedes or "")),
        ("Contested", _contested(record, look)),
    ]
    return "\n".join([*block(pairs, look), "", shown(value.text).rstrip("\n")])


def entity(value: Recollections, look: Look) -> str:
    """Return all that is in force of an entity, or a note."""
    if value.records[0].record.scope is Scope.NOTE:
        return remembered(value.records[0], look)
    lines: list[str] = []
    for each in value.records:
        record = each.record
        if lines:
            lines.append("")
        about = [
            f"by {look.paint(line(record.set_by), Style.NAME)}",
            look.age(record.set_at),
            look.paint(short(record.id), Style.WARNING),
        ]
        name = look.paint(_name(record), Style.BOLD)
        lines.append(f"{name}  {'  '.join(filter(None, about))}")
        lines += indented(shown(each.text).rstrip("\n"), _INDENT)
        if each.is_truncated:
            see = f"{_INDENT}(cut, see: {_command('get', record)})"
            lines.append(look.paint(see, Style.DIM))
        lines += _contest(record, look)
    if value.quarantined_count:
        files = count(value.quarantined_count, "file")
        more = f"{files} of it cannot be read: see gitmail status"
        lines += ["", look.paint(more, Style.DIM)]
    return "\n".join(lines)


def found(value: Recollections, look: Look) -> str:
    """Return what a list or a search found."""
    if not value.records:
        return _NOTHING
    lines = listing(value.records, look)
    if value.has_more:
        lines.append(look.paint(_MORE, Style.DIM))
    return "\n".join(lines)


def listing(records: Sequence[Recollection], look: Look) -> list[str]:
    """Return a line a record, and below it a line of its marks and what it says."""
    rows = [
        [
            Cell(short(each.record.id), Style.WARNING),
            Cell(look.age(each.record.set_at), Style.DIM),
            Cell(line(each.record.set_by), Style.NAME),
            Cell(each.record.scope),
            Cell(clip(line(each.record.entity), _LONGEST_NAME), Style.BOLD),
            Cell(clip(line(each.record.attribute), _LONGEST_NAME), Style.BOLD),
        ]
        for each in records
    ]
    lines = []
    for each, row in zip(records, table(rows, look), strict=True):
        lines.append(row)
        says = _headline(each) if each.excerpt is None else flat(each.excerpt)
        lines.append(_below("retired" if each.record.is_retired else "", says, look))
        lines += _contest(each.record, look)
    return lines


def forgotten(value: Forgotten, look: Look) -> str:
    """Return what was removed or retired, or would be."""
    if not value.count:
        return f"{_NOTHING}; nothing was forgotten"
    first = value.records[0].record
    is_retired = first.scope in (Scope.WORLD, Scope.LESSON)
    verb = "Retired" if is_retired else "Forgot"
    if value.is_dry_run:
        verb = f"Would {'retire' if is_retired else 'forget'}"
    said = f"{verb} {count(value.count, _NOUNS[first.scope])}"
    if value.commit:
        said += f" (commit {short(value.commit)})"
    lines = [f"{said}{'; nothing was written' if value.is_dry_run else ''}"]
    lines += listing(value.records, look)
    hidden = value.count - len(value.records)
    if hidden:
        lines.append(f"and {hidden:,} more")
    if value.commit and value.count == 1:
        back = f"To have it back: {_command('restore', first)}"
        lines.append(look.paint(back, Style.DIM))
    return "\n".join(lines)


def history(value: History, look: Look) -> str:
    """Return the versions of a slot, an entity or a note, newest first."""
    names = _attributes(value.revisions)
    rows = [
        [
            Cell(short(each.revision or ""), Style.WARNING),
            Cell(look.age(each.date), Style.DIM),
            Cell(line(each.agent), Style.NAME),
            Cell(line((each.operation or "by hand").removeprefix("memory-"))),
            Cell(names[each.path] if len(names) > 1 else "", Style.BOLD),
            Cell(line(each.reason)),
        ]
        for each in value.revisions
    ]
    lines = []
    for each, row in zip(value.revisions, table(rows, look), strict=True):
        lines += [row, _below("", _says(each), look)]
    if value.has_more:
        lines.append(look.paint(_MORE, Style.DIM))
    return "\n".join(lines)


def _name(record: MemoryRecord) -> str:
    """Return what commands call a record, ready to be pasted into one."""
    if record.scope is Scope.NOTE:
        return "note"
    return f"{record.scope} {_word(record.entity)} {_word(record.attribute)}"


def _command(verb: str, record: MemoryRecord) -> str:
    """Return a command about a record."""
    words = short(record.id) if record.scope is Scope.NOTE else _name(record)
    names = (record.entity, record.attribute)
    dashes = "-- " if any(each.startswith("-") for each in names) else ""
    return f"gitmail memory {verb} {dashes}{words}"


def _word(name: str) -> str:
    return quote(line(name))


def _retirement(record: MemoryRecord, look: Look) -> str:
    if record.retired_at is None:
        return ""
    return f"by {line(record.retired_by or '')}, {look.moment(record.retired_at)}"


def _contested(record: MemoryRecord, look: Look) -> str:
    """Return what lost against a record in a merge, and how to look at it."""
    if not record.contested:
        return ""
    lost = ", ".join(short(each) for each in record.contested)
    return look.paint(f"by {lost}; see: {_command('history', record)}", Style.ALARM)


def _contest(record: MemoryRecord, look: Look) -> list[str]:
    said = _contested(record, look)
    return [f"{_INDENT}contested {said}"] if said else []


def _headline(each: Recollection) -> str:
    return line(headline(each.text))


def _below(marks: str, says: str, look: Look) -> str:
    """Return the line below a row."""
    marks = f"[{marks}] " if marks else ""
    width = look.width - len(_INDENT) - cells(marks) if look.width else None
    says = look.paint(clip(says, width), Style.DIM)
    return f"{_INDENT}{look.paint(marks, Style.ALARM)}{says}".rstrip()


def _attributes(revisions: Sequence[Revision]) -> dict[str, str]:
    """Return what is behind each path; what was removed is known by its file alone."""
    names = {each.path: PurePosixPath(each.path).stem for each in revisions}
    names |= {e.path: e.shown.record.attribute for e in revisions if e.shown}
    return {path: clip(line(name), _LONGEST_NAME) for path, name in names.items()}


def _says(each: Revision) -> str:
    if each.shown:
        return _headline(each.shown)
    if each.superseded_by:
        return f"(superseded by {short(each.superseded_by)})"
    return "(cannot be read)" if each.revision else "(removed)"
