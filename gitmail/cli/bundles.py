"""`bundle`: the mailbox as a file, for where no network reaches."""

from gitmail.cli import late
from gitmail.cli.parser import Commands, Parser, filled
from gitmail.cli.shell import Shell
from gitmail.errors import MailboxNotFoundError

_ABOUT = """\
A bundle is a file of git's that carries a mailbox, or what is new in it, to where no
network reaches. Each side makes its bundles for one other side. A new machine starts
with: gitmail init --from FILE"""
_CREATE = """\
By default it holds what came since the last bundle that was made or applied here: one
that was made counts as delivered. If it got lost, say with --since what tip the other
side has. Where nothing is new, no file is written. What the other side would refuse is
named at once, and no file is written either."""
_APPLY = """\
All of it is checked before anything is written. A file that is wrong only in an older
commit is let through, unless it could do harm there. It may be applied again, which
changes nothing."""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    own = commands.group("bundle", "carry the mailbox as a file", _ABOUT)
    create = own.add("create", run_create, "write what is new to a file", _CREATE)
    create.add_argument(
        "--since",
        type=filled("--since"),
        default="last",
        metavar="S",
        help="last (the default), all, or a cursor: what its commit has is left out",
    )
    _add_file(create)
    _add_file(own.add("apply", run_apply, "bring in what a bundle has", _APPLY))
    _add_file(own.add("inspect", run_inspect, "show what a bundle has and needs"))


def run_create(shell: Shell) -> int:
    """Write a bundle."""
    args = shell.args
    git = late.config.git()
    done = shell.mailbox.create_bundle(args.file, since=args.since, git=git)
    shell.show(
        lambda: late.bundles.bundled_plain(done),
        lambda: late.bundles.bundled_text(done),
    )
    return 0


def run_apply(shell: Shell) -> int:
    """Bring in what a bundle has."""
    done = shell.mailbox.apply_bundle(shell.args.file, by=shell.settings.agent)
    shell.note(done.tip if done.is_news else None)
    shell.show(
        lambda: late.bundles.applied_plain(done),
        lambda: late.bundles.applied_text(done, shell.look),
    )
    return 0


def run_inspect(shell: Shell) -> int:
    """Show what a bundle is; it needs no mailbox."""
    from gitmail.mailbox.bundles import inspect  # noqa: PLC0415 - not before it is used

    try:
        mailbox = shell.mailbox
    except MailboxNotFoundError:
        found = inspect(None, shell.args.file)
    else:
        found = mailbox.inspect_bundle(shell.args.file)
    shell.show(
        lambda: late.bundles.inspected_plain(found),
        lambda: late.bundles.inspected_text(found, shell.look),
    )
    return 0


def _add_file(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", type=filled("FILE"))
