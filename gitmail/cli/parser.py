"""The parser of the command line: global options anywhere, errors with a code."""

import argparse
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from gitmail.errors import InvalidArgumentError, InvalidInputError

if TYPE_CHECKING:
    from gitmail.cli.shell import Shell

Run = Callable[["Shell"], int]
"""A command: it works with a shell and returns the exit code."""
N = TypeVar("N")

# As argparse has it: a lone dash, a negative number and a text with spaces are none.
_UNKNOWN_OPTION = re.compile(r"-(?!\d+$|\d*\.\d+$)[^ ]+")

_WHOLE = re.compile(r"-?[0-9]{1,9}")
_FRACTION = re.compile(r"[0-9](\.[0-9]{1,99})?")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")

_DESCRIPTION = """\
A mailbox and a memory for coding agents, kept as Markdown in a git repository
beside the project.
"""
_EPILOG = """\
start with:
  gitmail init                                  make the project's mailbox
  gitmail register builder                      register a name
  gitmail --as builder send --to reviewer TEXT  write to another agent
  gitmail --as reviewer poll                    see what is pending
  gitmail --as reviewer memory list             see what is known

A message is named by its id or by the first 8 or more digits of it.
`gitmail COMMAND --help` tells the rest, `gitmail demo` shows it all.
"""


class UsageError(InvalidInputError):
    """The command line does not follow the grammar of its command."""

    code: ClassVar[str] = "usage"

    def __init__(self, problem: str, command: str = "gitmail") -> None:
        super().__init__(problem, f"See: {command} --help")


def number(option: str, low: int, high: int) -> Callable[[str], int]:
    """Return what reads an option's whole number, with the range in its error."""

    def read(text: str) -> int:
        if _WHOLE.fullmatch(text) and low <= int(text) <= high:
            return int(text)
        rule = f"a whole number from {low} to {high:,}"
        raise InvalidArgumentError(option, text, rule)

    return read


def seconds(option: str, high: int) -> Callable[[str], float]:
    """Return what reads an option's time, with the range in its error."""

    def read(text: str) -> float:
        if _DECIMAL.fullmatch(text) and float(text) <= high:
            return float(text)
        raise InvalidArgumentError(option, text, f"seconds from 0 to {high:,}")

    return read


def fraction(option: str) -> Callable[[str], float]:
    """Return what reads an option's part of one, with the range in its error."""

    def read(text: str) -> float:
        if _FRACTION.fullmatch(text) and float(text) <= 1:
            return float(text)
        raise InvalidArgumentError(option, text, "a number from 0 to 1")

    return read


def filled(option: str) -> Callable[[str], str]:
    """Return what refuses an empty value of an option.

    It comes of a variable that is not set, and does not mean that nothing was said.
    """

    def read(text: str) -> str:
        if text.strip():
            return text
        raise InvalidArgumentError(option, text, "it may not be empty")

    return read


def add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    """Add the option that says how many a list may have."""
    parser.add_argument(
        "--limit",
        type=number("--limit", 1, 200),
        default=default,
        metavar="N",
        help=f"1 to 200, {default} by default",
    )


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of exiting."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the problem as a usage error."""
        raise UsageError(message, self.prog)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse lists every command, hidden ones too, and does not say which is near.
        if isinstance(action.choices, dict) and value not in action.choices:
            near = get_close_matches(str(value), action.choices, n=1)
            said = f"; did you mean {near[0]}?" if near else ""
            message = f"there is no command {value!r}{said}"
            raise argparse.ArgumentError(None, message)
        super()._check_value(action, value)


class _CommandParser(Parser):
    """A command's parser: options may also stand after and between the positionals.

    That of a group of commands leaves the order to the one that is chosen.
    """

    def parse_known_args(  # type: ignore[override]  # the stubs overload on a default
        self, args: Sequence[str] | None = None, namespace: N | None = None
    ) -> tuple[N | argparse.Namespace, list[str]]:
        given = list(args or ())
        if self._subparsers is None:
            given = self._options_first(given)
        found, extras = super().parse_known_args(given, namespace)
        if extras:  # here, since the parser above would point to its own help
            unknown = [each for each in extras if each != "--"]
            self.error(f"not understood: {' '.join(unknown)}")
        return found, extras

    def _options_first(self, args: Sequence[str]) -> list[str]:
        """Return the arguments in the one order that argparse has no trouble with.

        It gives an absent BODY to `reply MESSAGE --to A BODY` before it sees the rest.
        """
        options: list[str] = []
        positionals: list[str] = []
        rest = iter(args)
        for each in rest:
            if each == "--":
                positionals += rest
            elif self._is_option(each):
                action = self._option_string_actions.get(each)
                values = rest if action is not None and action.nargs is None else ()
                options += self._with_value(each, *islice(values, 1))
            else:
                positionals.append(each)
        return [*options, "--", *positionals] if positionals else options

    def _with_value(self, option: str, value: str = "--") -> list[str]:
        """Return an option with its value in one, since that may start with a dash."""
        if value == "--":  # a value is missing, or there is none
            return [option]
        if value.split("=", 1)[0] in self._option_string_actions:
            return [option, value]
        return [f"{option}={value}"]

    def _is_option(self, text: str) -> bool:
        if text.split("=", 1)[0] in self._option_string_actions:
            return True
        return bool(_UNKNOWN_OPTION.fullmatch(text))


class Commands:
    """The place where families of commands add theirs."""

    def __init__(
        self, parser: Parser, shared: "_CommandParser", dest: str = "command"
    ) -> None:
        self._prog = parser.prog
        self._shared = shared
        self._places = parser.add_subparsers(
            title="commands",
            metavar="COMMAND",
            dest=dest,
            parser_class=_CommandParser,
        )

    def add(self, name: str, run: Run, summary: str | None, more: str = "") -> Parser:
        """Add a command and return its parser; without a summary it is hidden."""
        options: dict[str, Any] = {} if summary is None else {"help": summary}
        title = f"{summary[0].upper()}{summary[1:]}." if summary else ""
        about = f"{title}\n\n{more}" if more else title
        parser: Parser = self._places.add_parser(
            name,
            parents=[self._shared],
            description=about,
            prog=f"{self._prog} {name}",
            **options,
        )
        parser.set_defaults(run=run)
        return parser

    def group(self, name: str, summary: str, more: str = "") -> "Commands":
        """Add a command that has commands of its own, and return their place."""
        parser = self.add(name, _refuse_none, summary, more)
        return Commands(parser, self._shared, "subcommand")


def _refuse_none(shell: "Shell") -> NoReturn:
    message = "a command is missing"
    raise UsageError(message, f"gitmail {shell.args.command}")


def make_parser(families: Sequence[Callable[[Commands], None]], version: str) -> Parser:
    """Return the parser of `gitmail` with the commands of all families."""
    parser = Parser(
        prog="gitmail",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        parents=[_globals(None, is_json=False)],
    )
    parser.add_argument("--version", action="version", version=f"gitmail {version}")
    # Absent there means: keep what stood before the command.
    commands = Commands(parser, _globals(argparse.SUPPRESS, is_json=argparse.SUPPRESS))
    for add in families:
        add(commands)
    return parser


def _globals(nothing: Any, *, is_json: Any) -> _CommandParser:
    parser = _CommandParser(add_help=False)
    group = parser.add_argument_group("global options")
    group.add_argument(
        "--mailbox",
        metavar="PATH",
        type=filled("--mailbox"),
        default=nothing,
        help="the mailbox's folder (else GITMAIL_DIR, else that of the project)",
    )
    group.add_argument(
        "--as",
        dest="agent",
        metavar="NAME",
        type=filled("--as"),
        default=nothing,
        help="the agent that acts (else GITMAIL_AGENT)",
    )
    group.add_argument(
        "--json",
        dest="is_json",
        action="store_true",
        default=is_json,
        help="print one JSON object on one line",
    )
    return parser
