"""The three standard streams of a command."""

import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from gitmail.errors import DiskError, StorageError

_LISTED = 10


class OutputClosedError(Exception):
    """Who read standard output wants no more of it, as `head` does."""


class OutputError(DiskError):
    """Standard output goes to a file that cannot be written; nothing was changed."""

    def __init__(self, error: OSError) -> None:
        super().__init__("standard output", error.strerror or str(error))
        self.hint = "Nothing was changed; run it again where the answer finds room"


class AnswerLostError(StorageError):
    """It was done, and its answer could not be written."""

    code = "answer_lost"

    def __init__(self, commit: str, ids: Sequence[str], reason: str) -> None:
        more = f" and {len(ids) - _LISTED:,} more" if len(ids) > _LISTED else ""
        said = f", of {', '.join(ids[:_LISTED])}{more}" if ids else ""
        super().__init__(
            f"It was done in commit {commit}{said}, but the answer could not be"
            f" written: {reason}",
            "Do not run it again; see what it did with: gitmail log",
            commit=commit,
            ids=list(ids),
            reason=reason,
        )


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
        OutputError: It cannot be written.
    """
    try:
        print(text, end=end)
        if sys.stdout is not None:  # whoever started the process may have closed it
            sys.stdout.flush()
    except BrokenPipeError as error:
        _discard(sys.stdout)
        raise OutputClosedError from error
    except OSError as error:
        _discard(sys.stdout)
        raise OutputError(error) from error


def complain(text: str) -> None:
    """Print on standard error, if it takes it: the exit code tells it all the same."""
    if sys.stderr is None:  # where it is closed, print would take standard output
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


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


def _discard(stream: TextIO) -> None:
    """Send the rest of a stream nowhere, so that the end of Python writes no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
