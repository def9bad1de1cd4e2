"""Reads the headers that gitmail itself writes, without a YAML parser; pure.

Nearly all files are of this form, and reading them so takes a tenth of the time. Only
lines whose meaning no reader of YAML disputes are understood; where there is any other,
the answer is None, and `gitmail.records.subset` reads the header.
"""

import re

from gitmail.records.header import FIRST_LINE, ODD, Header, Node

_LINE = re.compile(r"([a-z][a-z0-9_]{0,63}): ([^\n]+)\n", re.ASCII)
# A plain scalar: words of harmless characters; or a time, whose colons have no space
# behind them. Or one in double quotes, with nothing in it to unescape.
_ITEM = (
    r'[A-Za-z0-9][A-Za-z0-9_./+@-]*(?: [A-Za-z0-9_/(][A-Za-z0-9_./+@()-]*)*|"[^"\\\n]*"'
)
_VALUE = re.compile(rf"{_ITEM}|\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", re.ASCII)
_LIST = re.compile(rf"\[(?:{_ITEM})(?:, (?:{_ITEM}))*\]", re.ASCII)
_PAIR = rf"[a-z]+: (?:{_ITEM})"
_MAPPING = re.compile(rf"\{{{_PAIR}(?:, {_PAIR})*\}}", re.ASCII)
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
        key, said = found.groups()
        value = _value(said)
        if value is None or key in fields or found.start() != position:
            return None
        fields[key], lines[key], raw[key] = value, number, found.group()
        position = found.end()
    return Header(fields, lines, raw) if position == len(text) else None


def _value(said: str) -> Node | None:
    if _VALUE.fullmatch(said):
        return said.strip('"')
    if _LIST.fullmatch(said):
        return [item.strip('"') for item in _ITEMS.findall(said)]
    if _MAPPING.fullmatch(said):
        pairs = _PAIRS.findall(said)
        mapping: dict[str, Node] = {key: item.strip('"') for key, item in pairs}
        return mapping if len(mapping) == len(pairs) else None
    return None
