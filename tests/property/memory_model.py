"""A memory as plain lists: what each verb must answer, by the rules alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tests.property.mailbox_model import Refusal

CONFIRM_FROM = 20
Key = tuple[str, str, str]
"""Scope, entity and attribute of a slot, as they are compared."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A version of a slot, or a note.

    Attributes:
        id: Revision or id, as the mailbox named it.
        is_readable: Whether a file of this kind stands there.
    """

    id: str
    value: str
    date: datetime
    path: str
    set_by: str = ""
    tags: tuple[str, ...] = ()
    source: str | None = None
    episode: str | None = None
    confidence: float | None = None
    supersedes: str | None = None
    reason: str = ""
    key: Key | None = None
    is_retired: bool = False
    is_readable: bool = True

    @property
    def words(self) -> set[str]:
        """What search finds it by."""
        names = self.key[1:] if self.key else ()
        text = " ".join((*names, *self.tags, self.value))
        letters = (each if each.isalnum() else " " for each in text.casefold())
        return {*"".join(letters).split()}


@dataclass(frozen=True)
class Event:
    """That a commit changed a path."""

    commit: str
    operation: str | None
    version: Text | None
    reason: str = ""


@dataclass
class Model:
    """All that stands in memory, and how it came about.

    Attributes:
        standing: Path to what stands there.
        events: Path to what happened there, oldest first.
        paths: Slots to their paths, as the mailbox has named them.
    """

    standing: dict[str, Text] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    paths: dict[Key, str] = field(default_factory=dict)

    def happened(
        self,
        commit: str,
        operation: str | None,
        changes: dict[str, Text | None],
        reason: str = "",
    ) -> None:
        """Take in what a commit did."""
        for path, version in changes.items():
            event = Event(commit, operation, version, reason)
            self.events.setdefault(path, []).append(event)
            if version is None:
                self.standing.pop(path, None)
            else:
                self.standing[path] = version

    def slot(self, key: Key) -> Text | None:
        """Return what stands in a slot; refuse what cannot be read."""
        found = self.standing.get(self.paths.get(key, ""))
        if found and not found.is_readable:
            raise Refusal("quarantined")
        return found

    def in_force(self, key: Key) -> Text | None:
        """Return what is in force in a slot."""
        found = self.slot(key)
        return None if found is None or found.is_retired else found

    def get(self, key: Key) -> Text:
        """Return what is in force in a slot, or refuse."""
        found = self.in_force(key)
        if found is None:
            raise Refusal("not_found")
        return found

    def set(
        self,
        by: str,
        key: Key,
        value: str,
        *,
        source: str | None,
        confidence: float | None,
        tags: tuple[str, ...] | None,
        expected: str | None,
    ) -> tuple[str, tuple[str, ...]]:
        """Return what setting a value must answer, and the tags it has then."""
        standing, current = self.slot(key), self.in_force(key)
        kept = standing.tags if standing else ()
        is_same = (
            current is not None
            and current.value == value
            and source in (None, current.source)
            and confidence in (None, current.confidence)
            and (tags is None or {*tags} == {*current.tags})
        )
        is_met = expected is None or (expected == "none" and current is None)
        is_met = is_met or bool(standing and standing.id.startswith(expected or "-"))
        if current and is_same and current.set_by == by and expected:
            # A retry, of which the first answer was lost.
            is_met = is_met or (current.supersedes or "none").startswith(expected)
        if not is_met:
            raise Refusal("stale_revision")
        if current and is_same:
            return "confirmed", current.tags
        outcome = "superseded" if current else "inserted"
        return outcome, kept if tags is None else tags

    def forget_slots(self, scope: str, entity: str, attribute: str | None) -> list[str]:
        """Return the paths that forgetting must remove or retire."""
        keys = [key for key in self.paths if key[:2] == (scope, entity)]
        if attribute is not None:
            keys = [(scope, entity, attribute)]
        # None is forgotten where one cannot be read.
        gone = [found for found in map(self.in_force, keys) if found]
        if not gone:
            raise Refusal("not_found")
        return sorted(each.path for each in gone)

    def restore_slot(self, key: Key, revision: str | None) -> tuple[str, Text]:
        """Return what restoring a slot must answer, and the version it goes by."""
        current = self.in_force(key)
        if current and revision is None:
            raise Refusal("already_in_force")
        past = [
            event.version
            for event in reversed(self.events.get(self.paths.get(key, ""), []))
            if event.version
        ]
        named = [each for each in past if each.id.startswith(revision or "")]
        if revision is not None and len({each.id for each in named}) > 1:
            raise Refusal("ambiguous_id")
        wanted = next((each for each in named if each.is_readable), None)
        if wanted is None:
            raise Refusal("not_found")
        is_there = current and all(
            getattr(current, key) == getattr(wanted, key)
            for key in ("value", "source", "confidence", "tags")
        )
        return "confirmed" if is_there else "restored", wanted

    @property
    def notes(self) -> list[Text]:
        """The notes in force, oldest first."""
        found = [each for each in self.standing.values() if not each.key]
        return sorted(found, key=lambda each: (each.date, each.id))

    def past_notes(self) -> dict[str, Text]:
        """Return all notes that are or were, by id."""
        return {
            event.version.id: event.version
            for events in self.events.values()
            for event in events
            if event.version and not event.version.key
        }

    def note(self, wanted: str, *, by_text: bool = False) -> Text:
        """Return the note in force that an id or a text names, or refuse."""
        found = [n for n in self.notes if (n.value if by_text else n.id) == wanted]
        if not found:
            raise Refusal("not_found")
        if len(found) > 1:
            raise Refusal("ambiguous_id")
        return found[0]

    def forget_notes(
        self, filters: dict[str, str], match: str | None, *, is_sure: bool
    ) -> list[Text]:
        """Return the notes that forgetting by filters must remove."""
        tests: dict[str, Callable[[Text, str], bool]] = {
            "text": lambda note, said: note.value == said,
            "substring": lambda note, said: said in note.value,
            "source": lambda note, said: note.source == said,
            "episode": lambda note, said: note.episode == said,
            "tag": lambda note, said: said in note.tags,
        }
        if not filters:
            raise Refusal("invalid_argument")
        combine = all if match == "all" else any
        found = [
            note
            for note in self.notes
            if combine(tests[key](note, said) for key, said in filters.items())
        ]
        if len(found) > CONFIRM_FROM and not is_sure:
            raise Refusal("too_many_matches")
        return found

    def recall(
        self,
        *,
        words: Sequence[str] = (),
        scope: str | None = None,
        entity: str | None = None,
        tags: Sequence[str] = (),
        retired: bool = False,
    ) -> list[Text]:
        """Return what a list must show, newest first, or what a search must find."""
        found = [
            each
            for each in self.standing.values()
            if each.is_readable
            and (retired or not each.is_retired)
            and (scope is None or scope == (each.key[0] if each.key else "note"))
            and (entity is None or (each.key and each.key[1] == entity))
            and (not tags or {*tags} & {*each.tags})
            and {*words} <= each.words
        ]
        found.sort(key=lambda each: each.id)
        return sorted(found, key=lambda each: each.date, reverse=True)

    def history(self, path: str) -> list[tuple[str, str | None, str | None, str]]:
        """Return commit, operation, revision and reason of each step, newest first."""
        return [*map(_step, reversed(self.events.get(path, ())))]

    def note_history(
        self, note: Text
    ) -> Iterator[tuple[str, str | None, str | None, str]]:
        """Yield what became of a note, and of those that it superseded."""
        past = self.past_notes()
        while True:
            yield from self.history(note.path)
            if note.supersedes not in past:
                return
            note = past[note.supersedes]


def _step(event: Event) -> tuple[str, str | None, str | None, str]:
    version = event.version
    reason = (version.reason if version else "") or event.reason
    return event.commit, event.operation, version.id if version else None, reason
