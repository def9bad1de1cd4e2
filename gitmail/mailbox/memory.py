"""What an agent does with memory: a verb for each command."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from gitmail.errors import InvalidArgumentError
from gitmail.mailbox import forgetting, recalling, remembering, slots
from gitmail.mailbox.checks import flag
from gitmail.mailbox.memory_values import (
    Forgotten,
    History,
    Recollection,
    Recollections,
    Stored,
)
from gitmail.mailbox.receiving import DEFAULT_LIMIT, check_limit
from gitmail.records.keys import check_name
from gitmail.records.memory import SLOT_SCOPES, Scope
from gitmail.records.names import AgentName
from gitmail.records.text import check_string
from gitmail.store.view import Plan, View

if TYPE_CHECKING:
    from gitmail.mailbox.mailbox import Mailbox

Tags = str | Iterable[str] | None
_EVERY = (Scope.NOTE, *SLOT_SCOPES)


class Memory:
    """The memory of a project, as one agent uses it; made by `Agent.memory`.

    A *note* is a text, known by its id. A *slot* holds one value in force at a time: a
    *fact* (of this project), a *world* fact (true outside of it) or a *lesson* (its
    entity is a task, its attribute an aspect). Names match whatever their case,
    spacing and Unicode form.

    Every verb raises NotRegisteredError where nobody is registered under the agent's
    name, and the errors of `Store.read` or `Store.update`. What writes is one commit,
    durable when the verb returns; after an error nothing was changed.
    """

    def __init__(self, mailbox: "Mailbox", agent: AgentName) -> None:
        self._mailbox = mailbox
        self._agent = agent

    def add(
        self,
        text: str,
        *,
        tags: Tags = None,
        source: str | None = None,
        episode: str | None = None,
    ) -> Stored:
        """Add a note.

        Args:
            source: `message:ID`, `file:PATH[@COMMIT]`, a URL, or free text.
            episode: What it belongs to, such as a piece of work.

        Raises:
            BlankBodyError, BodyTooLargeError, InvalidTextError, InvalidArgumentError,
            MessageNotFoundError, AmbiguousIdError, InvalidNameError
        """
        said = remembering.make_said(source=source, episode=episode, tags=tags)
        now = self._mailbox.now()
        stored, commit = self._mailbox.store.update(
            lambda v: remembering.plan_add(v, self._agent, text, said, now)
        )
        return replace(stored, commit=commit)

    def set(
        self,
        scope: str,
        entity: str,
        attribute: str,
        value: str,
        *,
        source: str | None = None,
        confidence: float | None = None,
        tags: Tags = None,
        expected: str | None = None,
        ack: bool = False,
    ) -> Stored:
        """Put a value in force, in the place of the one that is.

        What is in force already is confirmed without a commit, unless a source,
        confidence or tags are given that differ, or it is contested. Tags stay where
        none are given.

        Args:
            scope: fact, world or lesson.
            source: `message:ID`, `file:PATH[@COMMIT]`, a URL, or free text.
            confidence: From 0 to 1.
            expected: The revision that must be in force, or `none`.
            ack: Acknowledge the message that is the source, in the same commit.

        Raises:
            StaleRevisionError, QuarantinedError, BlankBodyError, BodyTooLargeError,
            InvalidTextError, InvalidArgumentError, MessageNotFoundError,
            AmbiguousIdError, InvalidNameError
        """
        name = slots.check_slot(scope, entity, attribute)
        said = remembering.make_said(
            source=source, confidence=confidence, tags=tags, expected=expected, ack=ack
        )
        now = self._mailbox.now()
        stored, commit = self._mailbox.store.update(
            lambda v: remembering.plan_set(v, self._agent, name, value, said, now)
        )
        return replace(stored, commit=commit)

    def get(self, scope: str, entity: str, attribute: str) -> Recollection:
        """Return what is in force in a slot.

        Raises:
            MemoryNotFoundError, QuarantinedError, InvalidTextError,
            InvalidArgumentError
        """
        name = slots.check_slot(scope, entity, attribute)
        return self._mailbox.store.read(lambda v: recalling.get(v, self._agent, name))

    def get_entity(self, scope: str, entity: str) -> Recollections:
        """Return all that is in force of an entity, or a note.

        Values are whole up to 32 KiB in all; of the others there is the start.

        Args:
            scope: fact, world, lesson; or note, with its id as entity.

        Raises:
            MemoryNotFoundError, AmbiguousIdError, InvalidNameError, InvalidTextError,
            InvalidArgumentError
        """
        found = slots.check_scope(scope, _EVERY)
        read = self._mailbox.store.read
        if found is Scope.NOTE:
            return read(lambda v: recalling.get_note(v, self._agent, entity))
        named = check_name("entity", entity)
        return read(lambda v: recalling.get_entity(v, self._agent, found, named))

    def list(
        self,
        scope: str | None = None,
        *,
        entity: str | None = None,
        tags: Tags = None,
        retired: bool = False,
        limit: int = DEFAULT_LIMIT,
    ) -> Recollections:
        """Return what is in force, newest first, with the start of each value.

        Args:
            scope: note, fact, world or lesson; None for all.
            tags: Only what has one of them.
            retired: Also what has been retired.

        Raises:
            InvalidArgumentError, InvalidTextError
        """
        return self._recall(
            scopes=scope, entity=entity, tags=tags, retired=retired, limit=limit
        )

    def search(
        self,
        query: str | None = None,
        *,
        scopes: Tags = None,
        entity: str | None = None,
        tags: Tags = None,
        source: str | None = None,
        by: str | None = None,
        since: str | datetime | None = None,
        retired: bool = False,
        limit: int = 20,
    ) -> Recollections:
        """Return what is in force and has all the words, the best match first.

        Args:
            query: None for everything, the newest first.
            scopes, tags: Only what is of one of them. All filters apply.
            source: Only what has exactly this source.
            by: Only what this agent has set.
            since: Only what was set since a time, or for a duration such as `2h`.
            retired: Also what has been retired.

        Raises:
            InvalidArgumentError, InvalidTextError, InvalidNameError
        """
        return self._recall(
            query=query,
            scopes=scopes,
            entity=entity,
            tags=tags,
            source=source,
            by=by,
            since=since,
            retired=retired,
            limit=limit,
        )

    def supersede(self, note: str, text: str, *, by_text: bool = False) -> Stored:
        """Put a new note in the place of one, with its tags and episode.

        Args:
            note: Its id, or the first 8 or more digits; with `by_text` all its text.

        Raises:
            MemoryNotFoundError, AmbiguousIdError, InvalidNameError, BlankBodyError,
            BodyTooLargeError, InvalidTextError
        """
        check_string("note", note)
        now = self._mailbox.now()
        stored, commit = self._mailbox.store.update(
            lambda v: remembering.plan_supersede(
                v, self._agent, note, text, now, by_text=flag("by_text", by_text)
            )
        )
        return replace(stored, commit=commit)

    def history(
        self,
        scope: str,
        entity: str,
        attribute: str | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
    ) -> History:
        """Return the versions of a slot, an entity or a note, newest first.

        Args:
            scope: fact, world, lesson; or note, with its id as entity.

        Raises:
            MemoryNotFoundError, AmbiguousIdError, InvalidNameError, InvalidTextError,
            InvalidArgumentError
        """
        found, most = slots.check_scope(scope, _EVERY), check_limit(limit)
        read = self._mailbox.store.read
        if found is Scope.NOTE:
            _refuse_attribute(attribute)
            return read(lambda v: recalling.note_history(v, self._agent, entity, most))
        named = check_name("entity", entity)
        if attribute is None:
            return read(
                lambda v: recalling.entity_history(v, self._agent, found, named, most)
            )
        name = slots.check_slot(found, entity, attribute)
        return read(lambda v: recalling.slot_history(v, self._agent, name, most))

    def forget(
        self,
        scope: str,
        entity: str | None = None,
        attribute: str | None = None,
        *,
        text: str | None = None,
        substring: str | None = None,
        source: str | None = None,
        episode: str | None = None,
        tag: str | None = None,
        match: str | None = None,
        confirm: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Forgotten:
        """Remove notes or facts, or retire world facts or lessons.

        Notes go by id, as entity, or by filters; more than 20 only with `confirm`.
        Slots go by entity, all of them, or by entity and attribute.

        Args:
            text: The whole text of a note.
            substring: A part of its text, upper and lower case as it stands there.
            match: any (the default) or all of the filters.
            dry_run: Only return what would go.

        Raises:
            TooManyMatchesError, MemoryNotFoundError, AmbiguousIdError,
            QuarantinedError, InvalidNameError, InvalidTextError, InvalidArgumentError
        """
        found, why = slots.check_scope(scope, _EVERY), forgetting.check_reason(reason)
        filters = forgetting.make_filters(
            text=text,
            substring=substring,
            source=source,
            episode=episode,
            tag=tag,
            match=match,
        )
        only_shows, is_sure = flag("dry_run", dry_run), flag("confirm", confirm)
        now = self._mailbox.now()
        update = self._mailbox.store.update if not only_shows else self._only_read
        if found is Scope.NOTE:
            _refuse_attribute(attribute)
            if entity is not None and not filters.is_empty:
                rule = "a note goes by id or by filters, not by both"
                raise InvalidArgumentError("entity", entity, rule)
            forgotten, commit = update(
                lambda v: forgetting.plan_forgetting_notes(
                    v,
                    self._agent,
                    entity,
                    filters,
                    why,
                    now,
                    confirm=is_sure,
                    dry_run=only_shows,
                )
            )
            return replace(forgotten, commit=commit)
        if not filters.is_empty or match is not None:
            rule = "only notes go by filters; slots go by entity and attribute"
            raise InvalidArgumentError("scope", scope, rule)
        named = check_name("entity", entity)
        aspect = None if attribute is None else check_name("attribute", attribute)
        forgotten, commit = update(
            lambda v: forgetting.plan_forgetting_slots(
                v, self._agent, found, named, aspect, why, now, dry_run=only_shows
            )
        )
        return replace(forgotten, commit=commit)

    def restore(
        self,
        scope: str,
        entity: str,
        attribute: str | None = None,
        *,
        revision: str | None = None,
        reason: str | None = None,
    ) -> Stored:
        """Bring back what was retired, removed or superseded.

        Args:
            scope: fact, world, lesson; or note, with its id as entity.
            revision: An earlier version of the slot; None for the last one. Only with
                it a value that is in force is replaced.

        Raises:
            AlreadyInForceError, MemoryNotFoundError, AmbiguousIdError,
            QuarantinedError, InvalidNameError, InvalidTextError, InvalidArgumentError
        """
        found, why = slots.check_scope(scope, _EVERY), forgetting.check_reason(reason)
        now = self._mailbox.now()
        update = self._mailbox.store.update
        if found is Scope.NOTE:
            _refuse_attribute(attribute)
            _refuse_attribute(revision, "revision")
            stored, commit = update(
                lambda v: forgetting.plan_restoring_note(
                    v, self._agent, entity, why, now
                )
            )
            return replace(stored, commit=commit)
        name = slots.check_slot(found, entity, attribute)
        stored, commit = update(
            lambda v: forgetting.plan_restoring_slot(
                v, self._agent, name, revision, why, now
            )
        )
        return replace(stored, commit=commit)

    def _only_read(
        self, build: Callable[[View], Plan[Forgotten]]
    ) -> tuple[Forgotten, None]:
        return self._mailbox.store.read(build).result, None

    def _recall(self, **said: object) -> Recollections:
        now = self._mailbox.now()
        wanted = recalling.make_wanted(now, **said)  # type: ignore[arg-type]
        return self._mailbox.store.read(
            lambda v: recalling.recall(v, self._agent, wanted)
        )


def _refuse_attribute(value: object, argument: str = "attribute") -> None:
    if value is not None:
        raise InvalidArgumentError(argument, value, "a note has none, only an id")
