"""`log` and `status`: the mailbox as a whole."""

from gitmail.cli import late
from gitmail.cli.parser import Commands, number
from gitmail.cli.shell import Shell


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    log = commands.add("log", run_log, "list who did what, newest first")
    log.add_argument("--agent", metavar="A", dest="actor", help="by this agent")
    log.add_argument(
        "--op", metavar="OP", help="such as send, ack, register or memory-set"
    )
    log.add_argument("--path", metavar="P", help="that changed this file or folder")
    log.add_argument(
        "--limit",
        type=number("--limit", 1, 10_000),
        default=20,
        metavar="N",
        help="1 to 10,000, 20 by default",
    )
    log.add_argument(
        "range",
        nargs="?",
        metavar="RANGE",
        help="a commit, or A..B for what is since A",
    )
    commands.add("status", run_status, "show the state of the mailbox, and which it is")


def run_log(shell: Shell) -> int:
    """List operations."""
    args = shell.args
    entries = shell.mailbox.log(
        agent=args.actor,
        op=args.op,
        path=args.path,
        limit=args.limit,
        range=args.range,
        viewer=shell.settings.agent,
    )
    shell.show(
        lambda: late.plain.log(entries), lambda: late.people.log(entries, shell.look)
    )
    return 0


def run_status(shell: Shell) -> int:
    """Show the state of the mailbox."""
    status = shell.mailbox.status(shell.settings.agent)
    shell.show(
        lambda: late.plain.status(status),
        lambda: late.people.status(status, shell.look),
    )
    return 0
