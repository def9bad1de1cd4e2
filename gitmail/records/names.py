"""The grammar of names and ids, one function each; pure."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import NewType

from gitmail.errors import InvalidNameError

AgentName = NewType("AgentName", str)
"""A registered name, lower-case."""
Address = NewType("Address", str)
"""What may stand in to, cc and bcc: an agent's name, `team:NAME`, or `all`."""
MessageId = NewType("MessageId", str)
"""The git blob id of a message file: 40 lower-case hex digits."""
CommitId = NewType("CommitId", str)
"""A git commit id: 40 lower-case hex digits."""

EVERYBODY = Address("all")
TEAM_PREFIX = "team:"
SHORTEST_PREFIX = 8
"""Hex digits that an abbreviated id has at least (CAPABILITIES A8)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_PREFIX = re.compile(rf"\A{TEAM_PREFIX}", re.ASCII | re.IGNORECASE)
_ROOM = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
_COMPONENT = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]+", re.ASCII)
_NAME_RULE = (
    "1 to 63 of a-z, 0-9, dot, dash and underscore, a letter or digit first, no dot"
    " last"
)
_ROOM_RULE = "1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore"
_PREFIX_RULE = "8 to 40 hex digits, from the start of the id"
_UUID_RULE = "a UUID in lower case"
_RESERVED_RULE = "the name is reserved"
# Windows opens these as devices whatever ending they carry.
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)]
)
_RESERVED = frozenset(["all", "gitmail"])


def parse_agent_name(text: str) -> AgentName:
    """Return the name in the form in which it is stored and compared.

    Raises:
        InvalidNameError: The text is no agent name.
    """
    return AgentName(_parse_name("agent name", text))


def parse_team_name(text: str) -> str:
    """Return the team's name, lower-case and without `team:`.

    Raises:
        InvalidNameError: The text is no team name.
    """
    return _parse_name(
        "team name", _PREFIX.sub("", _text("team name", text, _NAME_RULE).strip())
    )


def parse_address(text: str) -> Address:
    """Return one address of to, cc or bcc.

    Raises:
        InvalidNameError: The text is neither a name nor `team:NAME` nor `all`.
    """
    name = _text("address", text, _NAME_RULE).strip()
    if name.lower() == EVERYBODY:
        return EVERYBODY
    if _PREFIX.match(name):
        return Address(TEAM_PREFIX + parse_team_name(name))
    return Address(parse_agent_name(name))


def parse_room(text: str) -> str:
    """Return the room's name; upper and lower case differ (CAPABILITIES M7).

    Raises:
        InvalidNameError: The text is no room name.
    """
    if not _ROOM.fullmatch(_text("room name", text, _ROOM_RULE)):
        raise InvalidNameError(what="room name", value=text, accepted=_ROOM_RULE)
    return text


def parse_id_prefix(text: str, what: str = "message id") -> str:
    """Return an id or a prefix of one, lower-case.

    Raises:
        InvalidNameError: The text is not 8 to 40 hex digits.
    """
    folded = _text(what, text, _PREFIX_RULE).strip().lower()
    if not is_hex(folded, SHORTEST_PREFIX, 40):
        raise InvalidNameError(what=what, value=text, accepted=_PREFIX_RULE)
    return folded


def id_range(prefix: str) -> tuple[bytes, bytes]:
    """Return the lowest and the highest id that begin with some hex digits."""
    return bytes.fromhex(prefix.ljust(40, "0")), bytes.fromhex(prefix.ljust(40, "f"))


def parse_mailbox_id(text: str) -> str:
    """Return the id of a mailbox, a UUID in lower case.

    Raises:
        InvalidNameError: The text is no UUID in lower case.
    """
    if not _UUID.fullmatch(text):
        raise InvalidNameError(what="mailbox id", value=text, accepted=_UUID_RULE)
    return text


def is_hex(text: str, shortest: int = 40, longest: int = 40) -> bool:
    """Tell whether the text is lower-case hex digits of that length."""
    return shortest <= len(text) <= longest and bool(_HEX.fullmatch(text))


@lru_cache(maxsize=4096)
def is_component(text: str) -> bool:
    """Tell whether every file system takes the text as the name of a file or folder."""
    return (
        bool(_COMPONENT.fullmatch(text))
        and not text.endswith(".")
        and text.split(".", 1)[0] not in _DEVICES
    )


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that a typist may have meant."""
    return get_close_matches(name.lower(), sorted(known), n=3, cutoff=0.6)


def _parse_name(what: str, text: str) -> str:
    return _parse_text(what, _text(what, text, _NAME_RULE))


@lru_cache(maxsize=4096)  # the same few names stand in every file
def _parse_text(what: str, text: str) -> str:
    name = text.strip().lower()
    # Lower case turns a few letters of other scripts into these.
    if not text.isascii() or not _NAME.fullmatch(name) or name.endswith("."):
        raise InvalidNameError(what, text, _NAME_RULE)
    if name in _RESERVED or not is_component(name):
        raise InvalidNameError(what, text, _RESERVED_RULE)
    return name


def _text(what: str, value: object, accepted: str) -> str:
    """Return the value, for what is no text is no name either."""
    if not isinstance(value, str):
        raise InvalidNameError(what, value, accepted)
    return value
