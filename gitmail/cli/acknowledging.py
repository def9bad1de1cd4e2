"""`ack` and `receipts`."""

from gitmail.cli import late
from gitmail.cli.parser import Commands
from gitmail.cli.shell import Shell

_DONE = ("updated", "unchanged")


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    ack = commands.add(
        "ack",
        run_ack,
        "say that you have handled messages",
        "It says neither that you agree nor that the work is done.",
    )
    ack.add_argument("messages", nargs="+", metavar="MESSAGE")
    ack.add_argument("--stage", metavar="STAGE", default="acked", help="read or acked")
    ack.add_argument("--note", metavar="TEXT", default="", help="text for the sender")
    receipts = commands.add(
        "receipts", run_receipts, "show who has read and acknowledged a message"
    )
    receipts.add_argument("message", metavar="MESSAGE")


def run_ack(shell: Shell) -> int:
    """Acknowledge messages; 1 where not one of them could be."""
    args = shell.args
    acked = shell.agent.ack(args.messages, stage=args.stage, note=args.note)
    risen = [r.id for r in acked.results if r.outcome == "updated"]
    shell.note(acked.commit, risen)
    shell.show(
        lambda: late.plain.acked(acked),
        lambda: late.deliveries.acked(acked, shell.look),
    )
    return 0 if any(r.outcome in _DONE for r in acked.results) else 1


def run_receipts(shell: Shell) -> int:
    """Show how far the recipients are."""
    receipts = shell.agent.receipts(shell.args.message)
    shell.show(
        lambda: late.plain.receipts(receipts),
        lambda: late.deliveries.receipts(receipts, shell.look),
    )
    return 0
