"""A message to be sent, checked as far as that needs no mailbox; pure."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import timedelta

from gitmail.errors import (
    ConflictError,
    InvalidArgumentError,
    InvalidInputError,
    NoRecipientsError,
)
from gitmail.mailbox import checks
from gitmail.records.message import (
    RECIPIENT_LIMIT,
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
    check_string,
    check_text,
)
from gitmail.records.times import parse_duration

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
    to = addresses("to", values.get("to"))
    if "reply_to" in values and "to" in values and not to:
        raise NoRecipientsError([])  # it does not mean whom a reply goes to by itself
    reply_to = _text(values, "reply_to")
    room = _text(values, "room")
    return Draft(
        body=check_text("body", _text(values, "body") or ""),
        to=to,
        cc=addresses("cc", values.get("cc")),
        bcc=addresses("bcc", values.get("bcc")),
        subject=_line(values, "subject", SUBJECT_LIMIT),
        kind=checks.choice("kind", Kind, values.get("kind")) or Kind.NOTE,
        importance=checks.choice("importance", Importance, values.get("importance")),
        ack_required=checks.flag("ack_required", values.get("ack_required", False)),
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
        InvalidArgumentError: The value is neither text nor a list of texts, or they
            are more than one message may reach.
    """
    if value is None:
        return ()
    names = checks.texts(field, value, RECIPIENT_LIMIT)
    return unique(parse_address(name) for name in names if name.strip())


def _text(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    return None if value is None else check_string(key, value)


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
    return check_line(key, value, limit, may_be_empty=may_be_empty) or None
