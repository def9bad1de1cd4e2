"""From header values to typed values, key by key; pure."""

import re
from collections.abc import Callable, Collection
from datetime import datetime
from typing import NoReturn, TypeVar

from gitmail.errors import GitmailError, InvalidFileError
from gitmail.records.header import Header, Node
from gitmail.records.names import is_hex
from gitmail.records.text import check_line
from gitmail.records.times import parse_time

T = TypeVar("T", bound=str)
_LONGEST_NUMBER = 12
_FRACTION = re.compile(r"0(\.\d{1,3})?|1(\.0{1,3})?", re.ASCII)


class FieldReader:
    """Takes the keys of one header and remembers which were taken.

    A key with an empty value counts as absent. Every method raises InvalidFileError
    with the line of the key that it could not read.
    """

    def __init__(self, header: Header) -> None:
        self._header = header
        self._fields = header.fields  # asked 16 times for each message
        self._taken: set[str] = set()

    def text(self, key: str) -> str | None:
        """Return the value of a key, None where the key is absent."""
        if key not in self._fields:
            return None
        value = self._take(key)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            self.refuse(key, "is not one value")
        return value

    def needed(self, key: str) -> str:
        """Return the value of a key that must be there."""
        value = self.text(key)
        if value is None:
            self.refuse(key, "is missing")
        return value

    def line(self, key: str, limit: int) -> str | None:
        """Return the value of a key if it is one line, without space around it."""
        value = self.text(key)
        if value is None:
            return None
        return self.parsed(key, lambda text: check_line(key, text, limit), value)

    def name(self, key: str, parse: Callable[[str], T]) -> T:
        """Return what `parse` makes of a key that must be there."""
        return self.parsed(key, parse, self.needed(key))

    def names(self, key: str, parse: Callable[[str], T]) -> tuple[T, ...]:
        """Return what `parse` makes of each value of a list, none of them twice.

        A single value counts as a list of one.
        """
        if key not in self._fields:
            return ()
        value = self._take(key)
        if not value:
            return ()
        items = value if isinstance(value, list) else [value]
        texts = [item for item in items if isinstance(item, str)]
        if len(texts) != len(items):
            self.refuse(key, "is no list of single values")
        found = tuple(self.parsed(key, parse, text) for text in texts)
        if len(set(found)) != len(found):
            self.refuse(key, "says the same twice")
        return found

    def mapping(self, key: str) -> dict[str, str]:
        """Return the single values of a mapping that are not empty."""
        value = self._take(key) or {}
        if not isinstance(value, dict):
            self.refuse(key, "is no mapping")
        return {k: v for k, v in value.items() if isinstance(v, str) and v}

    def flag(self, key: str) -> bool:
        """Return whether a key says `true`; absent and `false` are False."""
        return self.choice(key, ("true", "false"), "false") == "true"

    def time(self, key: str) -> datetime | None:
        """Return the time of a key, None where it is absent."""
        value = self.text(key)
        if value is None:
            return None
        moment = parse_time(value)
        if moment is None:
            self.refuse(key, "is no RFC 3339 time with a zone")
        return moment

    def needed_time(self, key: str) -> datetime:
        """Return the time of a key that must be there."""
        moment = self.time(key)
        if moment is None:
            self.refuse(key, "is missing")
        return moment

    def times(self, key: str) -> dict[str, datetime]:
        """Return the times of a mapping."""
        found = {k: parse_time(v) for k, v in self.mapping(key).items()}
        times = {k: moment for k, moment in found.items() if moment is not None}
        if len(times) < len(found):
            self.refuse(key, "holds what is no RFC 3339 time with a zone")
        return times

    def number(self, key: str, default: int) -> int:
        """Return the whole number of a key, which may not be negative."""
        value = self.text(key)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER):
            self.refuse(key, "is no whole number")
        return int(value)

    def fraction(self, key: str) -> float | None:
        """Return the number from 0 to 1 of a key, None where it is absent."""
        value = self.text(key)
        if value is None:
            return None
        if not _FRACTION.fullmatch(value):
            self.refuse(key, "is no number from 0 to 1 with up to 3 decimals")
        return float(value)

    def object_ids(self, key: str) -> tuple[str, ...]:
        """Return the git ids of a list, none of them twice."""
        found = self.names(key, str)
        if not all(map(is_hex, found)):
            self.refuse(key, "holds what is no id of 40 hex digits")
        return found

    def object_id(self, key: str) -> str | None:
        """Return the git id of a key, None where it is absent."""
        value = self.text(key)
        if value is not None and not is_hex(value):
            self.refuse(key, "is no id of 40 hex digits")
        return value

    def needed_id(self, key: str) -> str:
        """Return the git id of a key that must be there."""
        value = self.object_id(key)
        if value is None:
            self.refuse(key, "is missing")
        return value

    def choice(self, key: str, accepted: Collection[str], default: str) -> str:
        """Return one of the accepted values."""
        value = self.text(key)
        if value is None:
            return default
        if value not in accepted:
            self.refuse(key, f"is none of {', '.join(accepted)}")
        return value

    def parsed(self, key: str, parse: Callable[[str], T], value: str) -> T:
        """Return what `parse` makes of a value of this key, which must be canonical."""
        try:
            result = parse(value)
        except GitmailError as error:
            self.refuse(key, f"is not right: {error.message}")
        if result != value:
            self.refuse(key, f"says {value} where {result} is meant")
        return result

    def rest(self) -> str:
        """Return the header text of the keys that nobody took, in order."""
        raw = self._header.raw
        return "".join(raw[key] for key in raw if key not in self._taken)

    def refuse(self, key: str, problem: str) -> NoReturn:
        """Raise the error that says what is wrong with a key."""
        reason = f"{key} {problem}"
        raise InvalidFileError(reason, line=self._header.lines.get(key, 1))

    def _take(self, key: str) -> Node | None:
        value = self._fields.get(key)
        if value is not None:
            self._taken.add(key)
        return value
