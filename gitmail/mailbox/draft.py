"""A message to be sent, checked as far as that needs no mailbox; pure."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from gitmail.errors import ConflictError, InvalidArgumentError, InvalidInputError
from gitmail.records.message import (
    REQUEST_ID_LIMIT,
    Importance,
    Kind,
    unique,
)
from gitmail.records.names import Address, parse_address, parse_id_prefix, parse_room
from gitmail.records.text import (
    LABEL_LIMIT,
    SUBJECT_LIMIT,
    check_line,
    check_text,
)
from gitmail.records.times import parse_duration

E = TypeVar("E", bound=StrEnum)
Names = str | Iterable[str] | None
"""Addresses as callers give them: a list, or text with commas."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What a sender asked for; None is what was not said.

    Attributes:
        reply_to: Id or prefix of the message that is answered.
        subject_prefix: What a reply puts before the subject that it answers.
    """

    body: str
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    subject: str | None = None
    kind: Kind = Kind.NOTE
    importance: Importance | None = None
    ack_required: bool = False
    topic: str | None = None
    room: str | None = None
    request_id: str | None = None
    expires_in: timedelta | None = None
    reply_to: str | None = None
    subject_prefix: str | None = None


_KEYS = tuple(field.name for field in fields(Draft))
BATCH_KEYS = tuple(k for k in _KEYS if k not in ("reply_to", "subject_prefix"))
"""What `send` and each message of a batch may say."""


def make_draft(said: Mapping[str, object]) -> Draft:
    """Return a draft from keywords.

    Args:
        said: The keys of `Draft`; None means not said.

    Raises:
        InvalidInputError: A key or a value is not accepted; the class says how.
    """
    unknown = [key for key in said if key not in _KEYS]
    if unknown:
        rule = f"a message may say {', '.join(BATCH_KEYS)}"
        raise InvalidArgumentError("key", unknown[0], rule)
    values = {key: value for key, value in said.items() if value is not None}
    reply_to = _text(values, "reply_to")
    room = _text(values, "room")
    return Draft(
        body=check_text("body", _text(values, "body") or ""),
        to=addresses("to", values.get("to")),
        cc=addresses("cc", values.get("cc")),
        bcc=addresses("bcc", values.get("bcc")),
        subject=_line(values, "subject", SUBJECT_LIMIT),
        kind=choice("kind", Kind, _text(values, "kind")) or Kind.NOTE,
        importance=choice("importance", Importance, _text(values, "importance")),
        ack_required=_flag(values, "ack_required"),
        topic=_line(values, "topic", LABEL_LIMIT),
        room=parse_room(room) if room is not None else None,
        request_id=_line(values, "request_id", REQUEST_ID_LIMIT, may_be_empty=False),
        expires_in=_duration(values, "expires_in"),
        reply_to=parse_id_prefix(reply_to) if reply_to is not None else None,
        subject_prefix=_line(values, "subject_prefix", LABEL_LIMIT),
    )


@contextmanager
def numbered(number: int, count: int) -> Iterator[None]:
    """Put into errors of the block which of several messages is the bad one.

    Args:
        number: From 1; `details` has it as `message_number`.
        count: How many there are; the only one has no number.
    """
    try:
        yield
    except (InvalidInputError, ConflictError) as error:
        if count > 1:
            error.details["message_number"] = number
        raise


def addresses(field: str, value: object) -> tuple[Address, ...]:
    """Return addresses from a list or from text with commas, each once.

    Raises:
        InvalidNameError: One of them is no address.
        InvalidArgumentError: The value is neither text nor a list of text.
    """
    if value is None:
        return ()
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Iterable) or isinstance(items, bytes | Mapping):
        raise InvalidArgumentError(field, value, "a list of names")
    names = list(items)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(field, name, "a name is text")
    return unique(parse_address(name) for name in names if name.strip())


def choice(field: str, of: type[E], value: str | None) -> E | None:
    """Return a member of an enumeration by its value, whatever its case.

    Raises:
        InvalidArgumentError: It has no such member.
    """
    if value is None:
        return None
    try:
        return of(value.strip().lower())
    except ValueError as error:
        rule = f"one of {', '.join(of)}"
        raise InvalidArgumentError(field, value, rule) from error


def _text(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    if value is None or isinstance(value, str):
        return value
    raise InvalidArgumentError(key, value, "it must be text")


def _flag(values: Mapping[str, object], key: str) -> bool:
    value = values.get(key, False)
    if not isinstance(value, bool):
        raise InvalidArgumentError(key, value, "true or false")
    return value


def _duration(values: Mapping[str, object], key: str) -> timedelta | None:
    value = values.get(key, "")
    if isinstance(value, timedelta) or (isinstance(value, str) and value):
        return parse_duration(key, value)
    if value == "":
        return None
    raise InvalidArgumentError(key, value, "text such as 2h")


def _line(
    values: Mapping[str, object], key: str, limit: int, *, may_be_empty: bool = True
) -> str | None:
    value = _text(values, key)
    if value is None:
        return None
    line = check_line(key, value, limit)
    if not line and not may_be_empty:
        raise InvalidArgumentError(key, value, f"1 to {limit} characters")
    return line or None
