"""Text that a command takes from a file or from standard input, never without end."""

import io
import json
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gitmail.cli import streams
from gitmail.cli.parser import UsageError
from gitmail.cli.shell import Shell
from gitmail.errors import BodyTooLargeError, InvalidArgumentError, InvalidTextError

_STDIN = "-"
MOST_BYTES = 2**26
"""What is taken in at most, whatever the limits of the mailbox."""
LINE_BYTES = 2**20
"""What a line of a batch may have besides its body."""
_LONGEST_ESCAPE = len(r"\u0000")


class _BadLineError(InvalidArgumentError):
    """A line of a batch is no message."""

    def __init__(self, number: int, line: str, reason: str) -> None:
        super().__init__(f"line {number}", line, reason)
        self.details["line"] = number


class _EndlessBodyError(BodyTooLargeError):
    """A body exceeds the limit, and was not read to its end."""

    def __init__(self, limit_bytes: int, field: str) -> None:
        super().__init__(limit_bytes + 1, limit_bytes, field)
        said = f"The {field} has more UTF-8 bytes than the limit of {limit_bytes}"
        self.message = said


class _RepeatedKeyError(ValueError):
    """A JSON object says the same key twice."""


def read_body(shell: Shell, command: str) -> str:
    """Return the body that a command line names, exactly as it is.

    Raises:
        UsageError: It names two.
        BodyTooLargeError: It exceeds the mailbox's limit, beyond which none is read.
        InvalidArgumentError: The file cannot be read.
        InvalidTextError: The bytes are no UTF-8.
    """
    body, file = shell.args.body, shell.args.body_file
    if body is not None and file is not None:
        message = "BODY and --body-file cannot both be given"
        raise UsageError(message, command)
    if file is None:
        return read_text(shell, body, "body")
    return _read(shell, "--body-file", file, "body")


def read_text(shell: Shell, said: str | None, field: str) -> str:
    """Return a text that stands on a command line, or else on standard input.

    Args:
        said: The argument; None and a dash mean standard input.
        field: What errors call it.

    Raises:
        BodyTooLargeError: It exceeds the mailbox's limit, beyond which none is read.
        InvalidArgumentError: Standard input cannot be read.
        InvalidTextError: The bytes are no UTF-8.
    """
    if said not in (None, _STDIN):
        return str(said)
    return _read(shell, field.upper(), _STDIN, field)


def _read(shell: Shell, argument: str, file: str, field: str) -> str:
    limit = min(shell.mailbox.charter().max_body_bytes, MOST_BYTES)
    with _opened(shell, argument, file) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        if file == _STDIN:
            raise _EndlessBodyError(limit, field)
        raise BodyTooLargeError(Path(file).stat().st_size, limit)
    return _decode(field, data)


def read_batch(shell: Shell, file: str) -> list[tuple[int, dict[str, object]]]:
    """Return the messages of a JSONL file with their line numbers.

    Raises:
        InvalidArgumentError: The file cannot be read, is too large or holds no message;
            or a line is no JSON object.
        InvalidTextError: The bytes are no UTF-8.
    """
    limit = LINE_BYTES + _LONGEST_ESCAPE * shell.mailbox.charter().max_body_bytes
    limit = min(limit, MOST_BYTES)
    messages = []
    with _opened(shell, "--batch", file) as stream:
        number, left = 0, MOST_BYTES
        # Other line ends, such as U+2028, may stand within JSON text.
        while data := stream.readline(limit + 1):
            number, left = number + 1, left - len(data)
            if len(data) > limit:
                rule = f"a line may have {limit} bytes"
                raise _BadLineError(number, data[:20].decode("utf-8", "replace"), rule)
            if left < 0:
                rule = f"it has more than {MOST_BYTES} bytes; send it in parts"
                raise InvalidArgumentError("--batch", file, rule)
            line = _decode(f"line {number}", data)
            line = line.removeprefix("\ufeff") if number == 1 else line
            if line.strip():
                messages.append((number, _parse(number, line)))
    if not messages:
        raise InvalidArgumentError("--batch", file, "it holds no message")
    return messages


def _parse(number: int, line: str) -> dict[str, object]:
    try:
        said = json.loads(line, object_pairs_hook=_object)
    except _RepeatedKeyError as error:
        raise _BadLineError(number, line, str(error)) from error
    except json.JSONDecodeError as error:
        reason = f"it is no JSON at character {error.pos + 1}"
        raise _BadLineError(number, line, reason) from error
    except ValueError as error:  # the interpreter's limit of digits
        raise _BadLineError(number, line, "a number in it is too long") from error
    except RecursionError as error:
        raise _BadLineError(number, line, "it is nested too deeply") from error
    if not isinstance(said, dict):
        raise _BadLineError(number, line, "it is no JSON object")
    return said


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in said if keys.count(key) > 1)
        message = f"it says {json.dumps(twice)} twice"
        raise _RepeatedKeyError(message)
    return said


@contextmanager
def _opened(shell: Shell, argument: str, file: str) -> Iterator[BinaryIO]:
    """Open a regular file, or standard input."""
    rule = "it is no regular file; use - to read standard input"
    try:
        if file == _STDIN:
            yield _stdin(shell)
            return
        if "\0" in file or not stat.S_ISREG(Path(file).stat().st_mode):
            raise InvalidArgumentError(argument, file, rule)
        with Path(file).open("rb") as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidArgumentError(argument, file, reason) from error


def _stdin(shell: Shell) -> BinaryIO:
    if sys.stdin is None:  # whoever started the process may have closed it
        return io.BytesIO()
    if streams.is_terminal(sys.stdin):
        shell.say("reading the text from the terminal until end of input (Ctrl-D)")
    return sys.stdin.buffer


def _decode(field: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(data[: error.start].decode("utf-8")) + 1
        byte = f"the byte 0x{data[error.start]:02X}, which is not UTF-8,"
        raise InvalidTextError(field, byte, position) from error
