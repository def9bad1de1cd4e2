"""A record of memory: a note, or a slot with its value in force; pure.

A note is immutable, as a message is. A slot (fact, world fact or lesson) has one path
for ever, and each version of it is another blob at that path (DESIGN I4).
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.keys import check_name, check_tag
from gitmail.records.message import blob_id
from gitmail.records.names import AgentName, parse_agent_name

SOURCE_LIMIT = 1000
"""Characters of a source."""
EPISODE_LIMIT = 120
"""Characters of an episode."""
REASON_LIMIT = 200
"""Characters of the reason of a retirement or a restoration."""
MOST_TAGS = 32
_DECIMALS = 3


class Scope(StrEnum):
    """What a record of memory is about (CAPABILITIES Y1, Y2)."""

    NOTE = "note"
    FACT = "fact"
    """True of this project."""
    WORLD = "world"
    """True outside of it."""
    LESSON = "lesson"
    """Learnt: the entity is the task, the attribute an aspect of it."""


SLOT_SCOPES = (Scope.FACT, Scope.WORLD, Scope.LESSON)


@dataclass(frozen=True, kw_only=True)
class MemoryRecord:
    """One version of a slot, or a note.

    Attributes:
        entity, attribute: The slot's names as first spelt; empty for a note.
        value: The Markdown text.
        source: `message:ID`, `file:PATH[@COMMIT]`, a URL, or free text.
        episode: What a note belongs to, such as a piece of work; of notes only.
        confidence: From 0 to 1; of slots only.
        supersedes: Blob id of the version, or the note, that this one took over from.
        contested: Blob ids of versions that lost against this one in a merge.
        retired_at: When the slot was retired; None while it is in force.
        reason: Why it was retired, or restored.
        extra: Header text of keys this version does not know, as it was read.
    """

    scope: Scope
    value: str
    set_by: AgentName
    set_at: datetime
    entity: str = ""
    attribute: str = ""
    source: str | None = None
    episode: str | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    supersedes: str | None = None
    contested: tuple[str, ...] = ()
    retired_by: AgentName | None = None
    retired_at: datetime | None = None
    reason: str | None = None
    extra: str = ""

    @property
    def is_retired(self) -> bool:
        """Whether the slot is out of force."""
        return self.retired_at is not None

    @property
    def changed_at(self) -> datetime:
        """When this version came about."""
        return self.retired_at or self.set_at

    @cached_property
    def data(self) -> bytes:
        """The bytes of the record's file.

        Raises:
            InvalidArgumentError: The header would be too large.
        """
        fields: list[tuple[str, frontmatter.Field]] = [
            ("scope", self.scope),
            ("entity", self.entity),
            ("attribute", self.attribute),
            ("status", "retired" if self.is_retired else None),
            ("set_by", self.set_by),
            ("set_at", self.set_at),
            ("source", self.source),
            ("episode", self.episode),
            ("confidence", self.confidence),
            ("tags", self.tags),
            ("supersedes", self.supersedes),
            ("contested", self.contested),
            ("retired_by", self.retired_by),
            ("retired_at", self.retired_at),
            ("reason", self.reason),
        ]
        return frontmatter.render(fields, self.extra, self.value)

    @cached_property
    def id(self) -> str:
        """The git blob id of the file: a slot's revision, a note's id."""
        return blob_id(self.data)


def parse_memory(data: bytes) -> MemoryRecord:
    """Return the record of memory that a file holds.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    header, value = frontmatter.parse(data)
    read = FieldReader(header)
    scope = Scope(read.choice("scope", list(Scope), read.needed("scope")))
    slot = _slot_fields(read) if scope is not Scope.NOTE else {}
    record = MemoryRecord(
        scope=scope,
        value=value,
        set_by=read.name("set_by", parse_agent_name),
        set_at=read.needed_time("set_at"),
        source=read.line("source", SOURCE_LIMIT),
        episode=None if slot else read.line("episode", EPISODE_LIMIT),
        tags=read.names("tags", check_tag),
        supersedes=read.object_id("supersedes"),
        **slot,
        extra=read.rest(),
    )
    if not value.strip():
        read.refuse("value", "is blank")
    # The id is of the bytes that were read, however they were written.
    record.__dict__["data"] = data
    return record


def round_confidence(number: float | None) -> float | None:
    """Return a confidence with as many decimals as a file has."""
    return None if number is None else round(number, _DECIMALS)


def _slot_fields(read: FieldReader) -> dict[str, Any]:
    is_retired = read.choice("status", ("active", "retired"), "active") == "retired"
    at, by = read.time("retired_at"), read.text("retired_by")
    if is_retired != (at is not None) or is_retired != (by is not None):
        read.refuse("status", "does not go with retired_by and retired_at")
    return {
        "entity": read.name("entity", lambda text: check_name("entity", text)),
        "attribute": read.name("attribute", lambda text: check_name("attribute", text)),
        "confidence": read.fraction("confidence"),
        "contested": read.object_ids("contested"),
        "retired_by": read.name("retired_by", parse_agent_name) if by else None,
        "retired_at": at,
        "reason": read.line("reason", REASON_LIMIT),
    }
