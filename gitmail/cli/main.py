"""From arguments to an exit code."""

import sys
import traceback
from collections.abc import Mapping, Sequence

from gitmail import __version__
from gitmail.cli import (
    acknowledging,
    audit,
    bundles,
    directory,
    doctoring,
    driver,
    exchange,
    late,
    memory_grammar,
    reading,
    receiving,
    running,
    sending,
    setup,
    streams,
    verifying,
)
from gitmail.cli.parser import UsageError, make_parser
from gitmail.cli.shell import Shell, as_line
from gitmail.clock import Clock, system_clock
from gitmail.errors import BUG_EXIT, INTERRUPTED_EXIT, GitmailError
from gitmail.render.terminal import clip, flat, line, short, shown

_FAMILIES = (
    setup.add_parser,
    directory.add_parser,
    sending.add_parser,
    receiving.add_parser,
    acknowledging.add_parser,
    reading.add_parser,
    memory_grammar.add_parser,
    audit.add_parser,
    exchange.add_parser,
    verifying.add_parser,
    doctoring.add_parser,
    bundles.add_parser,
    driver.add_parser,
    running.add_parser,
)
_LONGEST = 72


def main(argv: Sequence[str] | None = None, *, clock: Clock = system_clock) -> int:
    """Run a command and return the exit code.

    Args:
        argv: The arguments without the program's name; the process's own where None.
        clock: Returns the present.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    is_json = "--json" in options
    streams.prepare(is_json=is_json)
    try:
        return _run(arguments, clock)
    except streams.OutputClosedError:
        return 0
    except GitmailError as error:
        _report(error, is_json=is_json)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED_EXIT
    except Exception:  # noqa: BLE001 - the last line of defence reports what it caught
        streams.complain(shown(traceback.format_exc()))
        _report(_BugError(), is_json=is_json)
        return BUG_EXIT


class _BugError(GitmailError):
    """Gitmail did what it should not."""

    code = "bug"

    def __init__(self) -> None:
        super().__init__(
            "This is a bug in gitmail",
            "Report it with the lines above and the output of: gitmail --version",
        )


def _run(arguments: Sequence[str], clock: Clock) -> int:
    parser = make_parser(_FAMILIES, __version__)
    if not arguments:
        streams.complain(parser.format_help())
        return UsageError.exit_code
    try:
        args = parser.parse_args(arguments)
    except SystemExit as end:  # help and version are printed
        streams.write(end="")
        return int(end.code or 0)
    if args.command is None:
        message = "a command is missing"
        raise UsageError(message)
    shell = Shell(args, clock)
    try:
        code: int = args.run(shell)
        running.keep_house(shell)
    finally:
        shell.close()
    return code


def _report(error: GitmailError, *, is_json: bool) -> None:
    if is_json:
        streams.complain(as_line(late.plain.error(error)))
        return
    streams.complain(f"gitmail: {line(error.message)}")
    for each in _values_of(error):
        streams.complain(f"    {each}")
    if error.hint:
        streams.complain(f"  {line(error.hint)}")


def _values_of(error: GitmailError) -> list[str]:
    """Return a line for each record of memory that an error shows."""
    sample = error.details.get("sample")
    records = [
        error.details.get("in_force"),
        *(sample if isinstance(sample, list) else []),
    ]
    return [
        f"{short(str(each['revision']))}  {clip(flat(str(each['value'])), _LONGEST)}"
        for each in records
        if isinstance(each, Mapping)
    ]
