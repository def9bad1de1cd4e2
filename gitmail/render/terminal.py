"""How text for people looks: colours, widths, columns and times; pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from unicodedata import category, east_asian_width

from gitmail.render.fence import visible

_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_UNSHOWN = re.compile("[\r\u00ad\u061c\u180e\ufff9-\ufffb\ud800-\udfff]")
_BREAKS = re.compile("[\n\t]")
_DIGITS = 10
_WIDTHLESS = ("Mn", "Me", "Cf")
_SHORTEST_CLIP = 16


class Style(StrEnum):
    """What a text is, as the parameter of a terminal's colour sequence."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    ALARM = "1;31"
    WARNING = "33"
    GOOD = "32"
    NAME = "36"


class Cell(NamedTuple):
    """A piece of one line."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How text is to look.

    Attributes:
        now: The present, for times such as `5 min ago`.
        width: Columns of the terminal; None cuts nothing.
        has_color: Whether colour sequences are understood and wanted.
    """

    now: datetime
    width: int | None = None
    has_color: bool = False

    def paint(self, text: str, style: Style) -> str:
        """Return the text in a style."""
        if not (self.has_color and style and text):
            return text
        return f"\x1b[{style}m{text}\x1b[0m"

    def age(self, moment: datetime | None) -> str:
        """Return a time of the last day as so long ago, an older one as a date."""
        if moment is None:
            return ""
        passed = self.now - moment
        if passed < -timedelta(minutes=1) or passed >= timedelta(days=1):
            return short_time(moment, self.now)
        minutes = int(passed.total_seconds() // 60)
        if minutes < 1:
            return "just now"
        return f"{minutes} min ago" if minutes < 60 else f"{minutes // 60} h ago"  # noqa: PLR2004 - minutes of an hour

    def seen(self, moment: datetime | None) -> str:
        """Return when somebody was last seen."""
        return f"seen {self.age(moment)}" if moment else ""

    def moment(self, moment: datetime) -> str:
        """Return a time in full, with how long ago it was where that is not long."""
        full = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
        age = self.age(moment)
        return f"{full}, {age}" if age.endswith(("ago", "now")) else full


def short_time(moment: datetime, now: datetime) -> str:
    """Return a day and minute of this year, or a day of another, in UTC."""
    if moment.year != now.year:
        return f"{moment:%Y-%m-%d}"
    month = _MONTHS[3 * moment.month - 3 : 3 * moment.month]
    return f"{moment.day:2} {month} {moment:%H:%M}"


def short(text: str) -> str:
    """Return an id cut to what people read and commands accept."""
    return line(text[:_DIGITS])


def count(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def shown(text: str) -> str:
    """Return text of many lines with nothing in it that could steer a terminal."""
    text = visible(text.replace("\r\n", "\n"))
    return _UNSHOWN.sub(_escape, text)


def line(text: str) -> str:
    """Return text as one line, with what would break the line made visible."""
    return _BREAKS.sub(_escape, shown(text))


def flat(text: str) -> str:
    """Return text of many lines as one, with a space for each break."""
    return " ".join(shown(text).split())


def cells(text: str) -> int:
    """Return how many columns the text takes on a terminal."""
    return sum(
        0 if category(c) in _WIDTHLESS else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def clip(text: str, width: int | None) -> str:
    """Return text that takes at most that many columns, with … where it was cut."""
    if width is None or cells(text) <= width:
        return text
    taken, kept = 0, []
    for character in text:
        taken += cells(character)
        if taken > width - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def table(
    rows: Sequence[Sequence[Cell]],
    look: Look,
    *,
    indent: str = "",
    headings: Sequence[str] = (),
) -> list[str]:
    """Return lines with aligned columns; the last one is cut to the width.

    A column that is empty in all rows is left out. All rows have the same columns.
    """
    widths = [
        max(cells(cell.text) for cell in column) for column in zip(*rows, strict=True)
    ]
    if headings:
        rows = [[Cell(heading, Style.DIM) for heading in headings], *rows]
        widths = [
            max(width, cells(heading)) if width else 0
            for width, heading in zip(widths, headings, strict=True)
        ]
    return [_row(row, widths, look, indent) for row in rows]


def _row(row: Sequence[Cell], widths: Sequence[int], look: Look, indent: str) -> str:
    pieces, used = [], cells(indent)
    for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
        if not width:
            continue
        text = cell.text
        is_last = not any(widths[number + 1 :])
        if is_last and look.width:
            text = clip(text, max(look.width - used, _SHORTEST_CLIP))
        padding = "" if is_last else " " * (width - cells(text) + 2)
        pieces.append(look.paint(text, cell.style) + padding)
        used += width + 2
    return (indent + "".join(pieces)).rstrip()


def block(pairs: Iterable[tuple[str, str]], look: Look) -> list[str]:
    """Return labelled lines, the values aligned; an empty value is left out."""
    kept = [(label, value) for label, value in pairs if value]
    width = max((len(label) for label, _ in kept), default=0) + 1
    return [
        look.paint(f"{label}:".ljust(width), Style.DIM) + f" {value}"
        for label, value in kept
    ]


def indented(text: str, indent: str) -> list[str]:
    """Return the lines of a text, each after an indent."""
    return [f"{indent}{each}".rstrip() for each in text.split("\n")]


def _escape(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found.group()):x}}}"
