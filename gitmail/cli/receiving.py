"""`poll` and `wait`."""

import argparse
from typing import Any

from gitmail.cli import late
from gitmail.cli.parser import Commands, number, seconds
from gitmail.cli.shell import Shell
from gitmail.errors import TIMED_OUT_EXIT

_FILTERS = (
    "show", "sender", "room", "thread", "topic", "kind", "importance", "overdue",
    "since", "after", "limit", "full",
)  # fmt: skip
_FORM = ("limit", "full")
_DEFAULT_TIMEOUT_S = 25.0


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    poll = commands.add(
        "poll",
        run_poll,
        "list your mail, oldest first",
        "Listing changes nothing, unless --ack is given.",
    )
    _add_filters(poll)
    wait = commands.add(
        "wait",
        run_wait,
        "list your mail as soon as there is some",
        "It exits with 3 where nothing came in time; that marks nothing.",
    )
    wait.add_argument(
        "--timeout",
        type=seconds("--timeout", 86_400),
        default=_DEFAULT_TIMEOUT_S,
        metavar="SECONDS",
        help="0 to 86,400, 25 by default",
    )
    _add_filters(wait)


def run_poll(shell: Shell) -> int:
    """List mail."""
    args, agent = shell.args, shell.agent
    filters = _filters(args)
    page = agent.poll(ack=args.ack, **filters)
    shell.note(page.commit, (item.id for item in page.items))
    is_all = not any(filters[name] for name in filters if name not in _FORM)
    nobody = f"Nothing is pending for {agent.name}" if is_all else "No mail fits"
    shell.show(
        lambda: late.plain.page(page),
        lambda: late.text.page(page, shell.look, nobody=nobody, whole=args.full),
    )
    return 0


def run_wait(shell: Shell) -> int:
    """List mail as soon as there is some."""
    args = shell.args
    page = shell.agent.wait(args.timeout, ack=args.ack, **_filters(args))
    shell.note(page.commit, (item.id for item in page.items))
    if page.is_timed_out and not shell.is_json:
        shell.say(f"nothing arrived within {args.timeout:g} s")
    else:
        shell.show(
            lambda: late.plain.page(page),
            lambda: late.text.page(page, shell.look, whole=args.full),
        )
    return TIMED_OUT_EXIT if page.is_timed_out else 0


def _filters(args: argparse.Namespace) -> dict[str, Any]:
    said = vars(args)
    return {name: said[name] for name in _FILTERS if said[name] is not None}


def _add_filters(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    for show, what in (
        ("unread", "what you have neither read nor acknowledged"),
        ("unacked", "what you have not acknowledged (the default)"),
        ("any", "all mail that was sent to you"),
    ):
        which.add_argument(
            f"--{show}", dest="show", action="store_const", const=show, help=what
        )
    parser.add_argument("--from", dest="sender", metavar="A", help="from this agent")
    parser.add_argument("--room", metavar="R", help="in this room")
    parser.add_argument("--thread", metavar="M", help="in the thread of this message")
    parser.add_argument("--topic", metavar="T", help="with this topic")
    parser.add_argument("--kind", metavar="K", help="of this kind")
    parser.add_argument("--importance", metavar="I", help="at least that important")
    parser.add_argument(
        "--overdue",
        action="store_true",
        help="what asked for an ack over 30 minutes ago",
    )
    parser.add_argument(
        "--since", metavar="T", help="a time, a date, or 2h for so long ago"
    )
    parser.add_argument("--after", metavar="CURSOR", help="what came after this cursor")
    parser.add_argument(
        "--limit",
        type=number("--limit", 1, 200),
        metavar="N",
        help="1 to 200, 50 by default",
    )
    parser.add_argument("--full", action="store_true", help="with the whole texts")
    parser.add_argument(
        "--ack", action="store_true", help="acknowledge what is listed, in one step"
    )
