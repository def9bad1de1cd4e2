"""A YAML header between fences and a Markdown body, byte-stable; pure.

See FORMAT.md and DESIGN 5. What is written here is read as the same text by every
version of YAML; what is read is the subset that `gitmail.records.subset` accepts.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NoReturn

from gitmail.errors import InvalidArgumentError, InvalidFileError
from gitmail.records.canonical import parse_canonical
from gitmail.records.header import HEADER_LIMIT_BYTES, Header
from gitmail.records.times import format_time

Field = str | bool | float | datetime | Sequence[str] | Mapping[str, str] | None
"""What a header key is written from; None, False and empty are left out."""

_OPENING = re.compile(r"---[ \t]*(\r?\n)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
# A plain scalar that no version of YAML reads as anything but this string: words
# that start with a letter and hold no character with a meaning, or the hex digits
# of an id with at least one that no number of any base has.
_PLAIN = re.compile(
    r"[A-Za-z][A-Za-z0-9_./+@-]*(?: [A-Za-z0-9_/(][A-Za-z0-9_./+@()-]*)*"
    r"|(?=[0-9be]*[acdf])[0-9][0-9a-f]{7,63}",
    re.ASCII,
)
_WORDS_WITH_MEANING = frozenset(
    "y n yes no on off true false null none nan inf infinity".split()  # noqa: SIM905 - a list would fill the screen
)
# JSON leaves these raw; YAML forbids some and folds lines at others, and the last
# turn the direction of the text that a person sees.
_ESCAPE = re.compile(
    "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def render(fields: Iterable[tuple[str, Field]], extra: str, body: str) -> bytes:
    """Return the bytes of a file.

    Args:
        fields: Keys and values, in the order in which they are written.
        extra: Header text of keys that are not understood, kept as it was read.
        body: The text; one newline is added at its end.

    Raises:
        InvalidArgumentError: The header would be too large to be read again.
    """
    lines = [
        f"{key}: {_value(value)}\n"
        for key, value in fields
        if value is not None and value is not False and value not in ("", (), [], {})
    ]
    header = f"{''.join(lines)}{extra}"
    size = len(header.encode())
    if size > HEADER_LIMIT_BYTES:
        accepted = f"it may have {HEADER_LIMIT_BYTES} bytes"
        raise InvalidArgumentError(
            argument="header", value=f"of {size} bytes", accepted=accepted
        )
    tail = f"\n{body}\n" if body else ""
    return f"---\n{header}---\n{tail}".encode()


def parse(data: bytes) -> tuple[Header, str]:
    """Return the header and the body of a file.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("a byte is not UTF-8", 1 + data.count(b"\n", 0, error.start))
    if "\x00" in text:
        _refuse("the file holds NUL", 1 + text.count("\n", 0, text.index("\x00")))
    text, body = _split(text.removeprefix("\ufeff"))
    header = parse_canonical(text)
    if header is None:
        # PyYAML takes 30 ms to import, which what gitmail itself wrote rarely needs.
        from gitmail.records.subset import parse_header  # noqa: PLC0415 - see above

        header = parse_header(text)
    return header, body


def _split(text: str) -> tuple[str, str]:
    """Return the lines between the fences, and the body exactly as it was written."""
    opening = _OPENING.match(text)
    if not opening:
        _refuse("the file does not start with a line ---", 1)
    closing = _CLOSING.search(text, opening.end())
    if not closing:
        _refuse("the header has no closing line ---", 1)
    header = text[opening.end() : closing.start()].replace("\r\n", "\n")
    size = len(header.encode())
    if size > HEADER_LIMIT_BYTES:
        _refuse(f"the header has {size} bytes, the limit is {HEADER_LIMIT_BYTES}", 1)
    # One empty line after the fence and one final newline belong to the file, and
    # nothing else does: in a file with plain line ends, a last \r is the body's.
    newline = opening[1]
    body = text[closing.end() :].removeprefix(newline).removesuffix(newline)
    return header, body


def _refuse(reason: str, line: int) -> NoReturn:
    raise InvalidFileError(reason, line=line)


def _value(value: Field) -> str:
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, bool):
        return "true"
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        pairs = (f"{key}: {_scalar(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    return str(value)


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_WITH_MEANING:
        return text
    return _ESCAPE.sub(
        lambda found: f"\\u{ord(found.group()):04x}",
        json.dumps(text, ensure_ascii=False),
    )
