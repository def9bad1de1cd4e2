"""`read`, `thread`, `room`, `history` and `search`: looking, and changing nothing."""

from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands, add_limit
from gitmail.cli.shell import Shell

if TYPE_CHECKING:
    from gitmail.mailbox.values import Conversation


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    read = commands.add(
        "read",
        run_read,
        "show a message",
        "Reading marks nothing; use: gitmail ack --stage read MESSAGE",
    )
    read.add_argument("message", metavar="MESSAGE")
    thread = commands.add("thread", run_thread, "show a message's thread")
    thread.add_argument("message", metavar="MESSAGE")
    add_limit(thread, 50)
    room = commands.add("room", run_room, "show a room's mail that you may see")
    room.add_argument("room", metavar="ROOM")
    add_limit(room, 50)

    history = commands.add(
        "history", run_history, "list what you sent and received, newest first"
    )
    history.add_argument("--peer", metavar="A", help="only mail with this agent")
    history.add_argument(
        "--after", metavar="CURSOR", help="go on from the page of this cursor"
    )
    add_limit(history, 50)

    search = commands.add(
        "search",
        run_search,
        "find mail that has all the words",
        "from:NAME, to:NAME and kind:KIND may also stand among the words.",
    )
    search.add_argument("query", nargs="+", metavar="QUERY")
    search.add_argument("--from", dest="sender", metavar="A", help="from this agent")
    search.add_argument("--to", dest="recipient", metavar="A", help="to this agent")
    search.add_argument("--kind", metavar="K", help="of this kind")
    search.add_argument("--order", metavar="O", help="recent (the default) or best")
    add_limit(search, 20)


def run_read(shell: Shell) -> int:
    """Show one message."""
    item = shell.agent.read(shell.args.message)
    shell.show(
        lambda: {"message": late.plain.item(item)},
        lambda: late.text.letter(item, shell.look),
    )
    return 0


def run_thread(shell: Shell) -> int:
    """Show a thread."""
    args = shell.args
    return _show(shell, shell.agent.thread(args.message, limit=args.limit), "thread")


def run_room(shell: Shell) -> int:
    """Show a room."""
    args = shell.args
    return _show(shell, shell.agent.room(args.room, limit=args.limit), "room")


def run_history(shell: Shell) -> int:
    """List own mail."""
    args = shell.args
    page = shell.agent.history(peer=args.peer, after=args.after, limit=args.limit)
    shell.show(
        lambda: late.plain.page(page),
        lambda: late.text.page(page, shell.look),
    )
    return 0


def run_search(shell: Shell) -> int:
    """Find mail."""
    args = shell.args
    query = " ".join(args.query)
    found = shell.agent.search(
        query,
        sender=args.sender,
        recipient=args.recipient,
        kind=args.kind,
        order=args.order,
        limit=args.limit,
    )
    shell.show(
        lambda: late.plain.found(query, found),
        lambda: late.text.found(query, found, shell.look),
    )
    return 0


def _show(shell: Shell, conversation: "Conversation", kind: str) -> int:
    shell.show(
        lambda: late.plain.conversation(conversation, kind),
        lambda: late.text.conversation(conversation, shell.look, kind),
    )
    return 0
