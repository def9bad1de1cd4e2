"""Text that a command takes from a file or from standard input."""

import json
import sys
from pathlib import Path

from gitmail.cli import streams
from gitmail.cli.parser import UsageError
from gitmail.cli.shell import Shell
from gitmail.errors import InvalidArgumentError, InvalidTextError

_STDIN = "-"


class _BadLineError(InvalidArgumentError):
    """A line of a batch is no message."""

    def __init__(self, number: int, line: str, reason: str) -> None:
        super().__init__(f"line {number}", line, reason)
        self.details["line"] = number


def read_body(shell: Shell, command: str) -> str:
    """Return the body that a command line names, exactly as it is.

    Raises:
        UsageError: It names two.
        InvalidArgumentError: The file cannot be read.
        InvalidTextError: The bytes are no UTF-8.
    """
    body, file = shell.args.body, shell.args.body_file
    if body is not None and file is not None:
        message = "BODY and --body-file cannot both be given"
        raise UsageError(message, command)
    if file is not None:
        return _decode("body", _read(shell, "--body-file", file))
    if body is None or body == _STDIN:
        return _decode("body", _read(shell, "BODY", _STDIN))
    return str(body)


def read_batch(shell: Shell, file: str) -> list[tuple[int, dict[str, object]]]:
    """Return the messages of a JSONL file with their line numbers.

    Raises:
        InvalidArgumentError: The file cannot be read, or a line is no JSON object.
        InvalidTextError: The bytes are no UTF-8.
    """
    text = _decode("batch", _read(shell, "--batch", file))
    messages = []
    # Other line ends, such as U+2028, may stand within JSON text.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _BadLineError(number, line, str(error)) from error
        if not isinstance(said, dict):
            raise _BadLineError(number, line, "it is no JSON object")
        messages.append((number, said))
    return messages


def _read(shell: Shell, argument: str, file: str) -> bytes:
    if file == _STDIN:
        return _read_stdin(shell)
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgumentError(argument, file, reason) from error


def _read_stdin(shell: Shell) -> bytes:
    if sys.stdin is None:  # whoever started the process may have closed it
        return b""
    if streams.is_terminal(sys.stdin):
        shell.say("reading the text from the terminal until end of input (Ctrl-D)")
    return sys.stdin.buffer.read()


def _decode(field: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(data[: error.start].decode("utf-8")) + 1
        byte = f"the byte 0x{data[error.start]:02X}, which is not UTF-8,"
        raise InvalidTextError(field, byte, position) from error
