"""The three standard streams of a command."""

import io
import os
import sys
from typing import TextIO

from gitmail.errors import DiskError


class OutputClosedError(Exception):
    """Who read standard output wants no more of it, as `head` does."""


class _OutputError(DiskError):
    """Standard output goes to a file that cannot be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__("standard output", error.strerror or str(error))


def prepare(*, is_json: bool) -> None:
    """Make standard output and error able to hold any text.

    A lone surrogate, or what the terminal's encoding lacks, becomes an escape; within
    JSON that is the character's own escape.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if is_json else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def write(text: str = "", end: str = "\n") -> None:
    """Print on standard output, at once.

    Raises:
        OutputClosedError: The reader has gone.
        DiskError: It cannot be written.
    """
    try:
        print(text, end=end)
        if sys.stdout is not None:  # whoever started the process may have closed it
            sys.stdout.flush()
    except BrokenPipeError as error:
        _discard()
        raise OutputClosedError from error
    except OSError as error:
        _discard()
        raise _OutputError(error) from error


def complain(text: str) -> None:
    """Print on standard error."""
    if sys.stderr is not None:  # where it is closed, print would take standard output
        print(text, file=sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person sees the stream."""
    return stream is not None and not stream.closed and stream.isatty()


def terminal_width(stream: TextIO | None) -> int | None:
    """Return the columns of the terminal, None where there is none."""
    if stream is None or not is_terminal(stream):
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def _discard() -> None:
    """Send the rest of the output nowhere, so that the end of Python writes no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)
