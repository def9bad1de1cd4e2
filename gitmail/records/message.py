"""A message and its file; pure."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from gitmail.errors import BlankBodyError, BodyTooLargeError, FanoutTooLargeError
from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import (
    EVERYBODY,
    TEAM_PREFIX,
    Address,
    AgentName,
    MessageId,
    is_hex,
    parse_address,
    parse_agent_name,
    parse_room,
)
from gitmail.records.text import (
    LABEL_LIMIT,
    SUBJECT_LIMIT,
    as_line,
    check_text,
    headline,
)

REQUEST_ID_LIMIT = 120
"""Characters of a request id (CAPABILITIES S1)."""
RECIPIENT_LIMIT = 200
"""Recipients of one message, by whatever address."""
PLACE_LIMIT = 200
"""Characters of a branch's or a work tree's name."""


class Kind(StrEnum):
    """What a message is (CAPABILITIES M3)."""

    BRIEF = "brief"
    STATUS = "status"
    REVIEW = "review"
    ACK = "ack"
    NOTE = "note"


class Importance(StrEnum):
    """How pressing a message is, in rising order (CAPABILITIES M4)."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"

    @property
    def rank(self) -> int:
        """Return the place in the rising order, from 0."""
        return _RISING[self]


_KINDS, _IMPORTANCES = tuple(Kind), tuple(Importance)
_PLACE_KEYS = ("branch", "worktree", "commit")
_RISING = {importance: rank for rank, importance in enumerate(Importance)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """Where in the project the sender worked (CAPABILITIES M10).

    Names come from the file system and may hold anything, even what is no text; here
    each is one line or None.
    """

    branch: str | None = None
    worktree: str | None = None
    commit: str | None = None

    def __post_init__(self) -> None:
        for key in _PLACE_KEYS:
            line = as_line(getattr(self, key) or "", PLACE_LIMIT)
            object.__setattr__(self, key, line or None)


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as its file holds it; blind copies are files of their own.

    Attributes:
        sender: The stamped author (`from` in the file).
        to: The addresses as they were given, without duplicates.
        recipients: The agents it was delivered to, in order, without blind copies.
        thread: Id of the thread's first message; None on that message itself.
        extra: Header text of keys this version does not know, as it was read.
    """

    sender: AgentName
    to: tuple[Address, ...]
    date: datetime
    body: str
    recipients: tuple[AgentName, ...] = ()
    cc: tuple[Address, ...] = ()
    subject: str | None = None
    kind: Kind = Kind.NOTE
    importance: Importance = Importance.NORMAL
    ack_required: bool = False
    topic: str | None = None
    room: str | None = None
    thread: MessageId | None = None
    reply_to: MessageId | None = None
    expires: datetime | None = None
    location: Location | None = None
    request_id: str | None = None
    extra: str = ""

    @cached_property
    def data(self) -> bytes:
        """The bytes of the message's file.

        Raises:
            FanoutTooLargeError: It has too many recipients.
            InvalidArgumentError: The header is too large for another reason.
        """
        count = len(self.recipients)
        if count > RECIPIENT_LIMIT:
            addresses = ", ".join(self.to + self.cc)
            raise FanoutTooLargeError(addresses, count, RECIPIENT_LIMIT)
        place = self.location
        fields: list[tuple[str, frontmatter.Field]] = [
            ("from", self.sender),
            ("to", self.to),
            ("cc", self.cc),
            ("subject", self.subject),
            ("kind", self.kind),
            ("importance", self.importance),
            ("ack_required", self.ack_required),
            ("topic", self.topic),
            ("room", self.room),
            ("thread", self.thread),
            ("reply_to", self.reply_to),
            ("date", self.date),
            ("expires", self.expires),
            ("location", _location_fields(place) if place else None),
            ("recipients", self.recipients),
            ("request_id", self.request_id),
        ]
        return frontmatter.render(fields, self.extra, self.body)

    @cached_property
    def id(self) -> MessageId:
        """The git blob id of the message's file (DESIGN I2)."""
        return MessageId(blob_id(self.data))

    @property
    def thread_id(self) -> MessageId:
        """The id of the thread's first message, which may be this one."""
        return self.thread or self.id

    @cached_property
    def deliveries(self) -> tuple[tuple[AgentName, str], ...]:
        """Each recipient with `to` or `cc`, in the order of the file."""
        # Through a team or all: a copy only where no such address stands in to.
        has_group = any(address in self.to for address in self.groups)

        def kind(name: Address) -> str:
            is_direct = name in self.to or (has_group and name not in self.cc)
            return "to" if is_direct else "cc"

        return tuple((name, kind(Address(name))) for name in self.recipients)

    @cached_property
    def groups(self) -> tuple[Address, ...]:
        """The addresses in to and cc whose members may all see the message."""
        both = (*self.to, *self.cc)
        return tuple(a for a in both if a == EVERYBODY or a.startswith(TEAM_PREFIX))

    @property
    def title(self) -> str:
        """The subject, or the body's first line where there is none."""
        return self.subject or headline(self.body)


def parse_message(data: bytes, known_id: str | None = None) -> Message:
    """Return the message that a file holds.

    Args:
        known_id: The id of these very bytes, where somebody has computed it.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    header, body = frontmatter.parse(data)
    read = FieldReader(header)
    thread, reply_to = read.object_id("thread"), read.object_id("reply_to")
    room = read.text("room")
    message = Message(
        sender=read.name("from", parse_agent_name),
        to=read.names("to", parse_address),
        cc=read.names("cc", parse_address),
        subject=read.line("subject", SUBJECT_LIMIT),
        kind=Kind(read.choice("kind", _KINDS, Kind.NOTE)),
        importance=Importance(
            read.choice("importance", _IMPORTANCES, Importance.NORMAL)
        ),
        ack_required=read.flag("ack_required"),
        topic=read.line("topic", LABEL_LIMIT),
        room=read.parsed("room", parse_room, room) if room else None,
        thread=MessageId(thread) if thread else None,
        reply_to=MessageId(reply_to) if reply_to else None,
        date=read.needed_time("date"),
        expires=read.time("expires"),
        location=_location(read),
        recipients=read.names("recipients", parse_agent_name),
        request_id=read.line("request_id", REQUEST_ID_LIMIT),
        extra=read.rest(),
        body=body,
    )
    if not body.strip():
        read.refuse("body", "is blank")
    if len(message.recipients) > RECIPIENT_LIMIT:
        read.refuse("recipients", f"are more than {RECIPIENT_LIMIT}")
    # The id is of the bytes that were read, however they were written.
    message.__dict__["data"] = data
    if known_id:
        message.__dict__["id"] = MessageId(known_id)
    return message


def check_body(body: str, limit_bytes: int, field: str = "body") -> str:
    """Return the text, or refuse what no record may carry (CAPABILITIES M1).

    Raises:
        BlankBodyError: There is nothing but white space.
        BodyTooLargeError: It has more UTF-8 bytes than the limit.
        InvalidTextError: It holds NUL or a lone surrogate.
    """
    check_text(field, body)
    if not body.strip():
        raise BlankBodyError(field)
    size_bytes = len(body.encode())
    if size_bytes > limit_bytes:
        raise BodyTooLargeError(size_bytes, limit_bytes, field)
    return body


def check_header_size(message: Message) -> None:
    """Refuse a message whose header would not be readable again.

    Raises:
        FanoutTooLargeError: It has too many recipients.
        InvalidArgumentError: The header is too large for another reason.
    """
    _ = message.data


def unique(items: Iterable[Address]) -> tuple[Address, ...]:
    """Return the addresses in order, each once."""
    return tuple(dict.fromkeys(items))


def blob_id(data: bytes) -> str:
    """Return the git blob id of some bytes, as `git hash-object` prints it."""
    digest = hashlib.sha1(b"blob %d\x00" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def _location(read: FieldReader) -> Location | None:
    said = read.mapping("location")
    if not said:
        return None
    known = {key: said[key] for key in _PLACE_KEYS if key in said}
    if any(text != as_line(text, PLACE_LIMIT) for text in known.values()):
        read.refuse("location", f"is no lines of up to {PLACE_LIMIT} characters")
    if not is_hex(known.get("commit", "0" * 40), 40, 64):
        read.refuse("location", "holds a commit that is no id")
    return Location(**known) if known else None


def _location_fields(place: Location) -> dict[str, str]:
    said = {key: getattr(place, key) for key in _PLACE_KEYS}
    return {key: line for key, line in said.items() if line}
