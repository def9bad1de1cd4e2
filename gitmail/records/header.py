"""What a header is once it has been read; pure."""

from dataclasses import dataclass

HEADER_LIMIT_BYTES = 16_384

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
