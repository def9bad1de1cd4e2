"""The frozen values that the verbs hand out."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from gitmail.mailbox.exchange_values import Exchange
from gitmail.records.message import Message
from gitmail.records.names import Address, AgentName, CommitId, MessageId
from gitmail.records.profile import Profile
from gitmail.records.receipt import Stage
from gitmail.records.text import preview


class Availability(StrEnum):
    """How likely somebody is to read soon (CAPABILITIES S2)."""

    ACTIVE = "active"
    """A server holds the name, or it wrote within two hours."""
    IDLE = "idle"
    RETIRED = "retired"
    UNKNOWN = "unknown"


class AckOutcome(StrEnum):
    """What an acknowledgement did to one message (CAPABILITIES K2)."""

    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    """It is not addressed to the caller, or the id prefix fits several."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A message as one caller sees it.

    Attributes:
        state: The caller's stage with it, None where it was not delivered to them.
        bcc: The blind copies that the caller may know of.
        text: What of the body is shown, None where nothing is.
        is_truncated: Whether `text` is less than the body.
        excerpt: The place that a search found, with « and » around the words.
    """

    message: Message
    state: Stage | None = None
    bcc: tuple[Address, ...] = ()
    text: str | None = None
    is_truncated: bool = False
    is_listed: bool = False
    excerpt: str | None = None

    @property
    def id(self) -> MessageId:
        """The message's id."""
        return self.message.id

    def with_body(self) -> "Item":
        """Return it with the whole body."""
        return replace(self, text=self.message.body, is_truncated=False)

    def with_preview(self) -> "Item":
        """Return it with the start of the body (CAPABILITIES R4)."""
        text, is_cut = preview(self.message.body)
        return replace(self, text=text, is_truncated=is_cut, is_listed=True)


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One recipient of a message that was sent."""

    name: AgentName
    kind: str
    availability: Availability
    last_seen: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The answer to a send or a reply.

    Attributes:
        commit: The commit that holds it, None for a replay, which wrote nothing.
    """

    message: Item
    commit: CommitId | None
    deliveries: tuple[Delivery, ...]
    is_replayed: bool = False


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of mail.

    Attributes:
        cursor: Pass it as `after` to go on from here, in any clone.
        has_more: Whether going on would find more right now.
        expired_count: Unacknowledged mail that left the list because it expired.
        expired: Ids of the latest of these.
        quarantined_count: Files of the mailbox that are not what they should be, one
            of which may have been mail of the caller.
        is_full: Whether the page stopped at the 32 KiB budget.
        commit: The commit that acknowledged the page, if one did.
        waited_s: Seconds that a wait took, None where it was no wait.
    """

    items: tuple[Item, ...]
    cursor: str
    has_more: bool = False
    is_full: bool = False
    expired_count: int = 0
    expired: tuple[MessageId, ...] = ()
    quarantined_count: int = 0
    commit: CommitId | None = None
    is_timed_out: bool = False
    waited_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class AckResult:
    """What became of one id of an acknowledgement."""

    id: str
    outcome: AckOutcome
    before: Stage | None = None
    after: Stage | None = None
    matches: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Acked:
    """The answer to an acknowledgement; `commit` is None where nothing changed."""

    results: tuple[AckResult, ...]
    commit: CommitId | None


@dataclass(frozen=True, kw_only=True)
class ReceiptLine:
    """How far one recipient is with a message (CAPABILITIES K6)."""

    name: AgentName
    kind: str
    state: Stage
    read_at: datetime | None = None
    acked_at: datetime | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Receipts:
    """All recipients of one message."""

    id: MessageId
    lines: tuple[ReceiptLine, ...]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A thread or a room, as far as the caller may see it.

    Attributes:
        name: The thread's id or the room's name.
        count: Messages the caller may see, shown or not.
        participants: Who wrote or received one of them.
    """

    name: str
    items: tuple[Item, ...]
    count: int
    participants: tuple[str, ...]
    has_more: bool = False


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An agent in the directory (CAPABILITIES G2)."""

    profile: Profile
    availability: Availability
    last_seen: datetime | None
    unread_count: int
    unacked_count: int


@dataclass(frozen=True, kw_only=True)
class Directory:
    """The agents that were asked for, and how many were left out."""

    entries: tuple[Entry, ...]
    idle_count: int = 0
    retired_count: int = 0


@dataclass(frozen=True, kw_only=True)
class Registered:
    """The answer to a change of a profile; `commit` is None where nothing changed."""

    profile: Profile
    commit: CommitId | None
    is_new: bool = False


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One operation of the audit log (CAPABILITIES V1).

    Attributes:
        operation: Such as send, ack or register; None for a commit that gitmail did
            not write.
        subject: The rest of the commit's subject line.
    """

    commit: CommitId
    date: datetime
    agent: str
    operation: str | None
    subject: str
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Status:
    """The state of a mailbox (CAPABILITIES V6).

    Attributes:
        exchange: How it stands to its remote, None where it has none.
        memory_count: Slots and notes in force.
        lost: Commits that the branch had and has no longer, each the last of some.
        uncommitted: Pairs of path and `modified`, `deleted` or `added`, of the files
            on disk that are not the tip's.
        quarantine: Pairs of path and reason, of files of the tip that are not what
            they should be.
    """

    path: str
    id: str
    project: str
    format: int
    branch: str
    tip: CommitId
    message_count: int
    agent_count: int
    commit_count: int
    memory_count: int
    agent: AgentName | None
    unread_count: int | None
    unacked_count: int | None
    exchange: Exchange | None
    lost: tuple[CommitId, ...]
    quarantine: tuple[tuple[str, str], ...]
    uncommitted: tuple[tuple[str, str], ...]
