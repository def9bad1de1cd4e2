"""What a header is once it has been read; pure."""

import re
from dataclasses import dataclass

HEADER_LIMIT_BYTES = 16_384
FIRST_LINE = 2
"""The header's first line in the file, behind the fence."""
# What YAML calls printable, without what readers disagree on: tabs, byte order marks
# in the middle, and line ends that git does not count as such.
ODD = re.compile(
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd"
    "\U00010000-\U0010ffff]"
)

Node = str | list["Node"] | dict[str, "Node"]
"""What a header key is read as."""


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
