"""The frozen values that the verbs of memory hand out."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from gitmail.records.memory import MemoryRecord
from gitmail.records.names import CommitId
from gitmail.records.text import preview


class Outcome(StrEnum):
    """What writing a record did (CAPABILITIES Y3, Y7)."""

    INSERTED = "inserted"
    CONFIRMED = "confirmed"
    """What was to be written is in force already; nothing was written."""
    SUPERSEDED = "superseded"
    RESTORED = "restored"


@dataclass(frozen=True, kw_only=True)
class Recollection:
    """A record of memory as it is shown.

    Attributes:
        text: What of the value is shown.
        is_truncated: Whether that is less than the value.
        excerpt: The place that a search found, with « and » around the words.
    """

    record: MemoryRecord
    text: str
    is_truncated: bool = False
    excerpt: str | None = None

    @classmethod
    def whole(cls, record: MemoryRecord) -> "Recollection":
        """Return a record with its whole value."""
        return cls(record=record, text=record.value)

    @classmethod
    def start(cls, record: MemoryRecord) -> "Recollection":
        """Return a record with the start of its value, as lists have it."""
        text, is_cut = preview(record.value)
        return cls(record=record, text=text, is_truncated=is_cut)

    def found(self, excerpt: str) -> "Recollection":
        """Return it with the place that a search found."""
        return replace(self, excerpt=excerpt)


@dataclass(frozen=True, kw_only=True)
class Recollections:
    """Records of memory, and whether there are more.

    Attributes:
        quarantined_count: Files that were asked for as well, and cannot be read.
    """

    records: tuple[Recollection, ...]
    has_more: bool = False
    quarantined_count: int = 0


@dataclass(frozen=True, kw_only=True)
class Stored:
    """The answer to a write.

    Attributes:
        commit: The commit that holds it, None where nothing was written.
        acked: The message that the same commit acknowledged.
    """

    outcome: Outcome
    record: MemoryRecord
    commit: CommitId | None = None
    acked: str | None = None


@dataclass(frozen=True, kw_only=True)
class Forgotten:
    """What was removed or retired, or would be.

    Attributes:
        records: The first 200 of them.
    """

    count: int
    records: tuple[Recollection, ...]
    is_dry_run: bool = False
    commit: CommitId | None = None


@dataclass(frozen=True, kw_only=True)
class Revision:
    """One version of a slot or a note in the course of time (CAPABILITIES Y8).

    Attributes:
        operation: Such as memory-set; None for a commit that gitmail did not write.
        reason: Why; for a commit of a person's, its subject.
        revision: The blob id, None where the file was removed.
        is_current: Whether it is what stands there now.
        superseded_by: The note that took the place of one that was removed.
        shown: The record, None where there is none, or none that can be read.
    """

    commit: CommitId
    date: datetime
    agent: str
    operation: str | None
    path: str
    reason: str = ""
    revision: str | None = None
    is_current: bool = False
    superseded_by: str | None = None
    shown: Recollection | None = None


@dataclass(frozen=True, kw_only=True)
class History:
    """Revisions, newest first, and whether there are more."""

    revisions: tuple[Revision, ...]
    has_more: bool = False
