"""Reads the subset of YAML that a header may use; owns PyYAML; pure.

Everything in it is hostile until read. Every scalar is a string: the default loader
would read `to: no` as False and `12:30` as 750. What two readers of YAML could
understand differently is refused, so that all clones agree on what a file says.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from yaml import events as ev

from gitmail.errors import InvalidFileError
from gitmail.records.header import FIRST_LINE, ODD, Header, Node

_Event = Any  # what each kind of event has is unknown to the stubs
_DEEPEST = 3
_WORD = re.compile(r"[a-z][a-z0-9_.-]{0,63}", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# How a line may begin that starts no key. A value that goes on in the first column
# would look like a key to whoever reads the file line by line.
_CONTINUES = (" ", "#", "- ", "-\n", "]", "}", "\n")


def parse_header(text: str) -> Header:
    """Return the header that the lines between the fences hold.

    Args:
        text: Lines that end with a newline each.

    Raises:
        InvalidFileError: The text does not follow FORMAT.md.
    """
    odd = ODD.search(text)
    if odd:
        line = FIRST_LINE + text.count("\n", 0, odd.start())
        _refuse(f"the header holds U+{ord(odd.group()):04X}", line)
    try:
        fields, lines = _read(_events(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = FIRST_LINE + (mark.line if mark else 0)
        _refuse(f"the header is no YAML: {error.problem}", line)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The loader without libyaml lets these escape for numbers out of range.
        _refuse(f"the header is no YAML: {error}", FIRST_LINE)
    return Header(fields, lines, _raw(text, lines))


def _events(text: str) -> Iterator[_Event]:
    # The base loader builds only strings; without libyaml its slower twin does.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    return iter(yaml.parse(text, Loader=loader))


def _read(events: Iterator[_Event]) -> tuple[dict[str, Node], dict[str, int]]:
    fields: dict[str, Node] = {}
    lines: dict[str, int] = {}
    if not _opens_mapping(events):
        return fields, lines
    while not isinstance(event := next(events), ev.MappingEndEvent):
        key, line = _scalar(event), _line(event)
        # Behind `?`, in quotes or indented, a key would not survive a rewrite or
        # would hide from a search by line; `<<` merges for other readers.
        is_plain = event.start_mark.column == 0 and event.style in (None, "")
        if not (is_plain and _WORD.fullmatch(key)):
            _refuse("a key is no lower-case word at the start of its line", line)
        if key in fields:
            _refuse(f"the key {key} stands twice", line)
        lines[key] = line
        fields[key] = _node(next(events), events, 1)
    end = next(events)
    if end.explicit or not isinstance(next(events), ev.StreamEndEvent):
        _refuse("the header has more than one part", _line(end))
    return fields, lines


def _opens_mapping(events: Iterator[_Event]) -> bool:
    """Take in what stands before the first key; False where there is no key."""
    next(events)  # the start of the stream
    start = next(events)
    if isinstance(start, ev.StreamEndEvent):
        return False
    if start.explicit:
        _refuse("the header starts with a directive or a second fence", _line(start))
    opening = next(events)
    if not isinstance(opening, ev.MappingStartEvent) or opening.flow_style:
        _refuse("the header is no list of keys, each with its value", _line(opening))
    _refuse_marks(opening)
    return True


def _node(event: _Event, events: Iterator[_Event], depth: int) -> Node:
    if isinstance(event, ev.ScalarEvent | ev.AliasEvent):
        return _scalar(event)
    _refuse_marks(event)
    if depth >= _DEEPEST:
        _refuse(f"values are nested deeper than {_DEEPEST}", _line(event))
    if isinstance(event, ev.SequenceStartEvent):
        items: list[Node] = []
        while not isinstance(event := next(events), ev.SequenceEndEvent):
            items.append(_node(event, events, depth + 1))
        return items
    mapping: dict[str, Node] = {}
    while not isinstance(event := next(events), ev.MappingEndEvent):
        key = _scalar(event)
        if key in mapping or key == "<<":
            _refuse("a nested key stands twice or is <<", _line(event))
        mapping[key] = _node(next(events), events, depth + 1)
    return mapping


def _scalar(event: _Event) -> str:
    _refuse_marks(event)
    if not isinstance(event, ev.ScalarEvent):
        _refuse("a key is no single value", _line(event))
    value: str = event.value
    if _UNSTORABLE.search(value):
        _refuse("a value holds NUL or a lone surrogate", _line(event))
    return value


def _refuse_marks(event: _Event) -> None:
    if isinstance(event, ev.AliasEvent) or event.anchor:
        _refuse("anchors and aliases are not allowed", _line(event))
    if event.tag:
        _refuse("tags are not allowed", _line(event))


def _raw(header: str, lines: dict[str, int]) -> dict[str, str]:
    text = header.splitlines(keepends=True)
    starts = [line - FIRST_LINE for line in lines.values()]
    known = frozenset(starts)
    for number, line in enumerate(text):
        if number not in known and not line.startswith(_CONTINUES):
            _refuse("a line that starts no key is not indented", number + FIRST_LINE)
    ends = [*starts[1:], len(text)]
    return {
        key: "".join(text[start:end])
        for key, start, end in zip(lines, starts, ends, strict=False)
    }


def _line(event: _Event) -> int:
    line: int = event.start_mark.line
    return line + FIRST_LINE


def _refuse(reason: str, line: int) -> NoReturn:
    raise InvalidFileError(reason, line=line)
