"""Checks of arguments, one for each kind of value; pure."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeVar

from gitmail.errors import InvalidArgumentError
from gitmail.records.keys import check_tag
from gitmail.records.memory import MOST_TAGS
from gitmail.records.text import check_line, check_string

S = TypeVar("S", bound=str)


def choice(field: str, accepted: Iterable[S], value: object) -> S | None:
    """Return the one of some texts that is meant, whatever its case; None for None.

    Raises:
        InvalidArgumentError: It is none of them.
    """
    if value is None:
        return None
    said = check_string(field, value).strip().lower()
    known = {str(each): each for each in accepted}
    if said not in known:
        raise InvalidArgumentError(field, value, f"one of {', '.join(known)}")
    return known[said]


def flag(field: str, value: object) -> bool:
    """Return the value if it is true or false.

    Raises:
        InvalidArgumentError: It is anything else, even what Python takes for one.
    """
    if not isinstance(value, bool):
        raise InvalidArgumentError(field, value, "true or false")
    return value


def number(field: str, value: int, most: int) -> int:
    """Return the value if it is a whole number from 1 on.

    Raises:
        InvalidArgumentError: It is not, or more than `most`.
    """
    if not _is_number(value, int) or not 1 <= value <= most:
        raise InvalidArgumentError(field, value, f"a whole number from 1 to {most}")
    return value


def seconds(field: str, value: float, most: float) -> float:
    """Return the value if it is a time in seconds.

    Raises:
        InvalidArgumentError: It is not, or not within 0 and `most`.
    """
    if not _is_number(value, int, float) or not 0 <= value <= most:
        raise InvalidArgumentError(field, value, f"seconds from 0 to {most:g}")
    return value


def fraction(field: str, value: object) -> float | None:
    """Return the value if it is a number from 0 to 1; None for None.

    Raises:
        InvalidArgumentError: It is not.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgumentError(field, value, "a number from 0 to 1")
    if 0 <= value <= 1:
        return float(value)
    raise InvalidArgumentError(field, value, "a number from 0 to 1")


def optional_line(field: str, text: object, limit: int) -> str | None:
    """Return a line that is not empty, or None where nothing was said.

    Raises:
        InvalidArgumentError, InvalidTextError: It is anything else.
    """
    if text is None:
        return None
    return check_line(field, text, limit, may_be_empty=False)


def texts(field: str, value: object, most: int) -> list[str]:
    """Return the texts of a list, or of a text with commas.

    Raises:
        InvalidArgumentError: It is neither, or has more than `most`.
    """
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Iterable) or isinstance(items, bytes | Mapping):
        raise InvalidArgumentError(field, value, "a list of texts")
    found = list(islice(items, most + 1))
    if len(found) > most:
        raise InvalidArgumentError(field, value, f"1 to {most} in one call")
    return [check_string(field, each) for each in found]


def check_tags(tags: object) -> tuple[str, ...] | None:
    """Return tags, each once, or None where nothing was said.

    Raises:
        InvalidArgumentError, InvalidTextError: One of them, or their number.
    """
    if tags is None:
        return None
    named = texts("tags", tags, MOST_TAGS)
    return tuple(dict.fromkeys(map(check_tag, named)))


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)
