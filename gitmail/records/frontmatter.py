"""A YAML header between fences and a Markdown body, byte-stable; owns PyYAML; pure.

Reading takes a small subset of YAML in which every scalar is a string; see FORMAT.md
and DESIGN 5. The default loader would read `to: no` as False and `12:30` as 750.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitmail.errors import InvalidFileError
from gitmail.records.times import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER_LIMIT_BYTES = 16_384
_DEEPEST = 3

Field = str | bool | int | datetime | Sequence[str] | Mapping[str, str] | None
"""What a header key is written from; None, empty and False are left out."""
Node = str | list["Node"] | dict[str, "Node"]
"""What a header key is read as."""

# A plain scalar that no version of YAML reads as anything but this string: words
# that start with a letter and hold no character with a meaning, or the hex digits
# of an id with at least one that no number of any base has.
_PLAIN = re.compile(
    r"[A-Za-z][A-Za-z0-9_./+@-]*(?: [A-Za-z0-9_/(][A-Za-z0-9_./+@()-]*)*"
    r"|(?=[0-9]*[0-9b-f]*[acdf])[0-9][0-9a-f]{7,63}",
    re.ASCII,
)
_WORDS_WITH_MEANING = frozenset(
    "y n yes no on off true false null none nan inf infinity".split()  # noqa: SIM905
)
# JSON leaves these raw; YAML forbids some and folds lines at others.
_ESCAPE = re.compile(
    "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


@dataclass(frozen=True, slots=True)
class Header:
    """A header as it was read.

    Attributes:
        fields: The keys and values, in the order of the file.
        lines: Key to the number of its line in the file, from 1.
        raw: Key to its text in the file, so that what is not understood is kept.
    """

    fields: dict[str, Node]
    lines: dict[str, int]
    raw: dict[str, str]


def render(fields: Iterable[tuple[str, Field]], extra: str, body: str) -> bytes:
    """Return the bytes of a file.

    Args:
        fields: Keys and values, in the order in which they are written.
        extra: Header text of keys that are not understood, kept as it was read.
        body: The text; one newline is added at its end.
    """
    lines = [
        f"{key}: {_value(value)}\n"
        for key, value in fields
        if value is not None and value is not False and value not in ("", (), [], {})
    ]
    tail = f"\n{body}\n" if body else ""
    return f"---\n{''.join(lines)}{extra}---\n{tail}".encode()


def parse(data: bytes) -> tuple[Header, str]:
    """Return the header and the body of a file.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidFileError("a byte is not UTF-8", line=line) from error
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise InvalidFileError("the file holds NUL", line=line)
    header, body = _split(text)
    return _parse_header(header), body


def _split(text: str) -> tuple[str, str]:
    text = text.removeprefix("\ufeff")
    opening = re.match(r"---[ \t]*\r?\n", text)
    if not opening:
        raise InvalidFileError("the file does not start with a line ---")
    closing = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE).search(
        text, opening.end()
    )
    if not closing:
        raise InvalidFileError("the header has no closing line ---")
    header = text[opening.end() : closing.start()].replace("\r\n", "\n")
    # YAML ends a line at these and git does not, so their lines would differ.
    odd = re.search("[\r\x85\u2028\u2029]", header)
    if odd:
        reason = f"the header holds the line separator U+{ord(odd.group()):04X}"
        raise InvalidFileError(reason, line=2 + header.count("\n", 0, odd.start()))
    size = len(header.encode())
    if size > HEADER_LIMIT_BYTES:
        reason = f"the header has {size} bytes, the limit is {HEADER_LIMIT_BYTES}"
        raise InvalidFileError(reason)
    body = text[closing.end() :]
    # One empty line after the fence and one final newline belong to the file.
    body = re.sub(r"\A\r?\n", "", body, count=1)
    return header, re.sub(r"\r?\n\Z", "", body, count=1)


def _parse_header(header: str) -> Header:
    import yaml  # noqa: PLC0415 - 30 ms that commands without files do not need

    # The base loader builds only strings; without libyaml its slower twin does.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    fields: dict[str, Node] = {}
    lines: dict[str, int] = {}
    try:
        events = iter(yaml.parse(header, Loader=loader))
        event = _skip_to_mapping(events, yaml)
        while event and not isinstance(event := next(events), yaml.MappingEndEvent):
            key = _scalar(event, yaml)
            if key in fields:
                raise _invalid(f"the key {key} stands twice", event)
            lines[key] = event.start_mark.line
            fields[key] = _node(next(events), events, yaml, 1)
        if event and not isinstance(next(events), yaml.DocumentEndEvent):
            raise InvalidFileError("the header has text after its keys")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", None) or "the header is no YAML")
        line = 2 + (mark.line if mark else 0)
        raise InvalidFileError(reason, line=line) from error
    return Header(fields, {k: n + 2 for k, n in lines.items()}, _raw(header, lines))


def _skip_to_mapping(events: "Iterator[Any]", yaml: Any) -> Any:
    """Return the event that opens the header's mapping, None for an empty header."""
    for event in events:
        if isinstance(event, yaml.StreamEndEvent):
            return None
        if isinstance(event, yaml.MappingStartEvent):
            if event.anchor or event.tag or event.flow_style:
                raise _invalid("the header is no plain block of keys", event)
            return event
        if not isinstance(event, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
            raise _invalid("the header is no list of keys with values", event)
    return None


def _node(event: Any, events: "Iterator[Any]", yaml: Any, depth: int) -> Node:
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, yaml)
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        raise _invalid("anchors and aliases are not allowed", event)
    if event.tag:
        raise _invalid("tags are not allowed", event)
    if depth >= _DEEPEST:
        raise _invalid(f"values are nested deeper than {_DEEPEST}", event)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Node] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(event, events, yaml, depth + 1))
        return items
    mapping: dict[str, Node] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _scalar(event, yaml)
        if key in mapping:
            raise _invalid(f"the key {key} stands twice", event)
        mapping[key] = _node(next(events), events, yaml, depth + 1)
    return mapping


def _scalar(event: Any, yaml: Any) -> str:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise _invalid("anchors and aliases are not allowed", event)
    if not isinstance(event, yaml.ScalarEvent):
        raise _invalid("a key is no plain word", event)
    if event.tag:
        raise _invalid("tags are not allowed", event)
    value: str = event.value
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise _invalid("a value holds a lone surrogate", event)
    if "\x00" in value:
        raise _invalid("a value holds NUL", event)
    return value


def _invalid(reason: str, event: Any) -> InvalidFileError:
    return InvalidFileError(reason, line=event.start_mark.line + 2)


def _raw(header: str, lines: Mapping[str, int]) -> dict[str, str]:
    text = header.split("\n")[:-1]
    starts = [*lines.values(), len(text)]
    return {
        key: "".join(f"{line}\n" for line in text[start:end])
        for key, start, end in zip(lines, starts, starts[1:], strict=False)
    }


def _value(value: Field) -> str:
    if isinstance(value, str):
        return _scalar_text(value)
    if isinstance(value, bool):
        return "true"
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        pairs = (f"{key}: {_scalar_text(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_scalar_text, value)) + "]"
    return str(value)


def _scalar_text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_WITH_MEANING:
        return text
    return _ESCAPE.sub(
        lambda found: f"\\u{ord(found.group()):04x}",
        json.dumps(text, ensure_ascii=False),
    )
