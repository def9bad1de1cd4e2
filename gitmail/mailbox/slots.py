"""Finding slots, notes and their earlier versions in the index."""

from dataclasses import dataclass
from datetime import datetime

from gitmail.errors import (
    AmbiguousIdError,
    CorruptMailboxError,
    InvalidArgumentError,
    InvalidFileError,
    MemoryNotFoundError,
    QuarantinedError,
)
from gitmail.mailbox.checks import choice
from gitmail.records.keys import check_name, key_of
from gitmail.records.memory import SLOT_SCOPES, MemoryRecord, Scope
from gitmail.records.names import id_range, parse_id_prefix, similar_names
from gitmail.records.paths import (
    NOTES,
    Family,
    memory_path,
    parse_path,
    slot_path,
)
from gitmail.records.times import later_than
from gitmail.store.numbers import scope_number, text_number
from gitmail.store.schema import marks
from gitmail.store.view import View

_NOTE = scope_number(Scope.NOTE)
_MOST_COMPARED = 500


@dataclass(frozen=True, slots=True)
class SlotName:
    """What a caller calls a slot."""

    scope: Scope
    entity: str
    attribute: str

    @property
    def path(self) -> str:
        """The path at which it stands, whatever the spelling."""
        return slot_path(self.scope, self.entity, self.attribute)

    def __str__(self) -> str:
        """Return it as errors show it."""
        return f"{self.scope} {self.entity} {self.attribute}"


def check_scope(scope: object, accepted: tuple[Scope, ...] = SLOT_SCOPES) -> Scope:
    """Return the scope that a text means.

    Raises:
        InvalidArgumentError: It is none of those accepted.
    """
    found = choice("scope", accepted, scope)
    if found is None:
        names = ", ".join(accepted)
        raise InvalidArgumentError("scope", scope, f"one of {names}")
    return found


def check_slot(scope: object, entity: object, attribute: object) -> SlotName:
    """Return the checked name of a slot.

    Raises:
        InvalidArgumentError, InvalidTextError: One of the three.
    """
    return SlotName(
        check_scope(scope),
        check_name("entity", entity),
        check_name("attribute", attribute),
    )


def slot_at(view: View, name: SlotName) -> MemoryRecord | None:
    """Return what stands in a slot, retired or not, None where nothing does.

    Raises:
        QuarantinedError: A file stands there that is no slot.
        InvalidArgumentError: The path belongs to another name.
    """
    row = view.index.execute(
        "SELECT m.id FROM name JOIN memory m ON m.path = name.n WHERE name.text = ?",
        (name.path,),
    ).fetchone()
    if row is None:
        refuse_quarantined(view, name.path)
        return None
    record = view.memory(row[0].hex())
    for field in ("entity", "attribute"):
        said, known = getattr(name, field), getattr(record, field)
        if key_of(said) != key_of(known):  # their digests are alike
            rule = "its file is that of another name; choose another spelling"
            raise InvalidArgumentError(field, said, rule)
    return record


def refuse_quarantined(view: View, path: str) -> None:
    """Refuse a path where something stands, or above which a file is in the way.

    Raises:
        QuarantinedError: Something does.
    """
    parts = path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    row = view.index.execute(
        f"SELECT path, reason FROM quarantine WHERE path IN ({marks(above)})", above
    ).fetchone()
    if row is None and view.repository.lookup(view.tree, path):
        row = (path, "it is no regular file")
    if row:
        raise QuarantinedError(*row)


def quarantined_slots(view: View, scope: Scope, entity: str) -> list[tuple[str, str]]:
    """Return path and reason of the slots of an entity that are no records."""
    rows = view.index.execute(
        "SELECT path, reason FROM quarantine WHERE path > ? AND path < ? ORDER BY path",
        entity_paths(scope, entity),
    ).fetchall()
    return [row for row in rows if parse_path(row[0]).family is Family.MEMORY]


def in_force(record: MemoryRecord | None) -> MemoryRecord | None:
    """Return the record unless it has been retired."""
    return None if record is None or record.is_retired else record


def time_after(standing: MemoryRecord | None, now: datetime) -> datetime:
    """Return when a new version comes about: after the one that it takes over from."""
    return later_than(standing.changed_at, now) if standing else now


def entity_records(view: View, scope: Scope, entity: str) -> list[MemoryRecord]:
    """Return what stands in the slots of an entity, by attribute."""
    rows = view.index.execute(
        "SELECT id FROM memory WHERE scope = ? AND entity = ? ORDER BY attribute",
        (scope_number(scope), key_of(entity)),
    ).fetchall()
    return [view.memory(row[0].hex()) for row in rows]


def entity_spelling(view: View, name: SlotName) -> str:
    """Return the entity of a new slot as another slot of it spells that."""
    row = view.index.execute(
        "SELECT id FROM memory WHERE scope = ? AND entity = ?"
        " ORDER BY attribute LIMIT 1",
        (scope_number(name.scope), key_of(name.entity)),
    ).fetchone()
    return view.memory(row[0].hex()).entity if row else name.entity


def no_such_slot(
    view: View, scope: Scope, entity: str, attribute: str | None = None
) -> MemoryNotFoundError:
    """Return the error that says whether there was one, and what may be meant."""
    said = entity if attribute is None else f"{entity} {attribute}"
    what = "world fact" if scope is Scope.WORLD else str(scope)
    paths = entity_paths(scope, entity)
    if attribute is not None:
        paths = (slot_path(scope, entity, attribute),) * 2
    known = view.index.execute(
        "SELECT 1 FROM name CROSS JOIN revision r ON r.path = name.n"
        " WHERE name.text BETWEEN ? AND ? LIMIT 1",
        paths,
    ).fetchone()
    if known:
        return MemoryNotFoundError(what, said, was_there=True)
    standing = [r for r in entity_records(view, scope, entity) if not r.is_retired]
    if attribute is not None and standing:
        names = [r.attribute for r in standing]
        near = similar_names(attribute, names) or names[:3]
        return MemoryNotFoundError(what, said, near)
    rows = view.index.execute(
        "SELECT DISTINCT entity FROM memory WHERE scope = ? LIMIT ?",
        (scope_number(scope), _MOST_COMPARED),
    )
    near = similar_names(key_of(entity), [row[0] for row in rows])
    return MemoryNotFoundError(what, said, near)


def entity_paths(scope: Scope, entity: str) -> tuple[str, str]:
    """Return what all paths of an entity's slots lie between."""
    folder = slot_path(scope, entity, "any").rpartition("/")[0]
    return f"{folder}/", f"{folder}0"  # the character behind the slash


def find_note(view: View, text: str) -> MemoryRecord:
    """Return the note in force that an id or a prefix names.

    Raises:
        InvalidNameError, AmbiguousIdError, MemoryNotFoundError
    """
    ends = id_range(parse_id_prefix(text, "note id"))
    rows = view.index.execute(
        "SELECT id FROM memory WHERE id BETWEEN ? AND ? AND +scope = ? ORDER BY id",
        (*ends, _NOTE),
    ).fetchall()
    was_there = not rows and bool(_past_notes(view, text))
    ids = [row[0].hex() for row in rows]
    return view.memory(_only(ids, text, was_there=was_there))


def is_noted(view: View, note: str) -> bool:
    """Tell whether a note with this id is in force."""
    return bool(
        view.index.execute(
            "SELECT 1 FROM memory WHERE id = ?", (bytes.fromhex(note),)
        ).fetchone()
    )


def path_of(view: View, record: MemoryRecord) -> str:
    """Return where a record of the tip stands."""
    if record.scope is not Scope.NOTE:
        return memory_path(record)
    row = view.index.execute(
        "SELECT name.text FROM memory m JOIN name ON name.n = m.path WHERE m.id = ?",
        (bytes.fromhex(record.id),),
    ).fetchone()
    return str(row[0])


def find_note_by_text(view: View, text: str) -> MemoryRecord:
    """Return the note in force that has exactly this text.

    Raises:
        AmbiguousIdError, MemoryNotFoundError
    """
    rows = view.index.execute(
        "SELECT id FROM memory WHERE digest = ? AND text = ? ORDER BY date",
        (text_number(text), text),
    ).fetchall()
    return view.memory(_only([row[0].hex() for row in rows], text))


def find_past_note(view: View, text: str) -> tuple[str, str]:
    """Return id and path of a note that is or was, by its id or a prefix.

    Raises:
        InvalidNameError, AmbiguousIdError, MemoryNotFoundError
    """
    paths = _past_notes(view, text)
    note = _only(list(paths), text)
    # Where a person has moved it, its own path is the one that it names itself.
    own = (path for path in paths[note] if version(view, path, note))
    return note, next(own, paths[note][0])


def _past_notes(view: View, text: str) -> dict[str, list[str]]:
    """Return id to paths of the notes that are or were."""
    rows = view.index.execute(
        "SELECT DISTINCT r.id, name.text FROM revision r JOIN name ON name.n = r.path"
        " WHERE r.id BETWEEN ? AND ? ORDER BY r.id, name.text",
        id_range(parse_id_prefix(text, "note id")),
    ).fetchall()
    paths: dict[str, list[str]] = {}
    for blob, path in rows:
        if path.startswith(f"{NOTES}/"):
            paths.setdefault(blob.hex(), []).append(path)
    return paths


def version(view: View, path: str, revision: str) -> MemoryRecord | None:
    """Return what a blob says that once stood at a path, None if that is no record."""
    try:
        record = view.memory(revision)
    except (InvalidFileError, CorruptMailboxError):  # a person's, or of another kind
        return None
    part = parse_path(path).part
    return record if memory_path(record, part) == path else None


def _only(ids: list[str], given: str, *, was_there: bool = False) -> str:
    if not ids:
        raise MemoryNotFoundError("note", given, was_there=was_there)
    if len(ids) > 1:
        raise AmbiguousIdError(given, ids, "notes")
    return ids[0]
