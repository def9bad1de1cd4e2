"""Reads the headers that gitmail itself writes, without a YAML parser; pure.

Nearly all files are of this form, and reading them so takes a tenth of the time. Only
lines whose meaning no reader of YAML disputes are understood; where there is any other,
the answer is None, and `gitmail.records.subset` reads the header.
"""

import re

from gitmail.records.header import FIRST_LINE, ODD, Header, Node

# A plain scalar: words of harmless characters; or one in double quotes, with nothing in
# it to unescape. What a word has taken it never gives back: no other reading fits.
_ITEM = (
    r"[A-Za-z0-9][A-Za-z0-9_./+@-]*+(?: [A-Za-z0-9_/(][A-Za-z0-9_./+@()-]*+)*+"
    r'|"[^"\\\n]*+"'
)
# A time, whose colons have no space behind them, is plain too.
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"
_PAIR = rf"[a-z]+: (?:{_ITEM})"
_LINE = re.compile(
    rf"([a-z][a-z0-9_]{{0,63}}): (?:({_TIME}|{_ITEM})"
    rf"|(\[(?:{_ITEM})(?:, (?:{_ITEM}))*\])|(\{{{_PAIR}(?:, {_PAIR})*\}}))\n",
    re.ASCII,
)
_ITEMS = re.compile(_ITEM, re.ASCII)
_PAIRS = re.compile(rf"([a-z]+): ({_ITEM})", re.ASCII)


def parse_canonical(text: str) -> Header | None:
    """Return the header that lines hold, None where YAML has to be asked.

    Args:
        text: Lines that end with a newline each.
    """
    if ODD.search(text):
        return None
    fields: dict[str, Node] = {}
    lines: dict[str, int] = {}
    raw: dict[str, str] = {}
    position = 0
    for number, found in enumerate(_LINE.finditer(text), FIRST_LINE):
        key, scalar, items, pairs = found.groups()
        value: Node | None
        if scalar:
            value = scalar.strip('"')
        elif items:
            value = [item.strip('"') for item in _ITEMS.findall(items)]
        else:
            value = _mapping(pairs)
        if value is None or key in fields or found.start() != position:
            return None
        fields[key], lines[key], raw[key] = value, number, found.group()
        position = found.end()
    return Header(fields, lines, raw) if position == len(text) else None


def _mapping(said: str) -> Node | None:
    pairs = _PAIRS.findall(said)
    mapping: dict[str, Node] = {key: item.strip('"') for key, item in pairs}
    return mapping if len(mapping) == len(pairs) else None
