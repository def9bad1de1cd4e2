"""`ack` and `receipts`."""

from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands
from gitmail.cli.shell import Shell
from gitmail.errors import NotFoundError

if TYPE_CHECKING:
    from gitmail.mailbox.values import Acked

_DONE = ("updated", "unchanged")
_LISTED = 10


class NothingAckedError(NotFoundError):
    """Not one of the messages could be acknowledged."""

    code = "nothing_acked"

    def __init__(self, acked: "Acked") -> None:
        results = acked.results
        said = [f"{r.id or repr('')}: {late.deliveries.outcome(r)}" for r in results]
        more = len(said) - _LISTED
        rest = f"; and {more} more" if more > 0 else ""
        super().__init__(
            f"Nothing was acknowledged. {'; '.join(said[:_LISTED])}{rest}",
            "Find ids with: gitmail poll --any",
            **late.plain.acked(acked),
        )


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
    """Acknowledge messages.

    Raises:
        NothingAckedError: Not one of them could be, nor had been before.
    """
    args = shell.args
    acked = shell.agent.ack(args.messages, stage=args.stage, note=args.note)
    if not any(r.outcome in _DONE for r in acked.results):
        raise NothingAckedError(acked)
    risen = [r.id for r in acked.results if r.outcome == "updated"]
    shell.note(acked.commit, risen)
    shell.show(
        lambda: late.plain.acked(acked),
        lambda: late.deliveries.acked(acked, shell.look),
    )
    return 0


def run_receipts(shell: Shell) -> int:
    """Show how far the recipients are."""
    receipts = shell.agent.receipts(shell.args.message)
    shell.show(
        lambda: late.plain.receipts(receipts),
        lambda: late.deliveries.receipts(receipts, shell.look),
    )
    return 0
