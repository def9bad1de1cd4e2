"""`remote` and `sync`: exchanging the mailbox with other machines."""

import time
from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands, filled, number
from gitmail.cli.shell import Shell
from gitmail.errors import BusyError, ConflictError, StorageError

if TYPE_CHECKING:
    from gitmail.mailbox.exchange_values import Synced

_REMOTE = """\
URL is what git takes: a path, or a URL of file, git, ssh or http(s). The mailbox is a
branch there, gitmail by default, in a repository of its own or beside the code."""
_SYNC = """\
Fetches, merges and pushes until both have the same. Nothing is ever forced; what is
here is safe whatever becomes of the push."""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    remote = commands.group("remote", "say where the mailbox is exchanged", _REMOTE)
    add = remote.add("add", run_add, "set the remote, in the place of another")
    add.add_argument("url", metavar="URL", type=filled("URL"))
    add.add_argument(
        "--branch",
        metavar="B",
        type=filled("--branch"),
        default="gitmail",
        help="the mailbox's branch there, gitmail by default",
    )
    remote.add("show", run_show, "show the remote")
    remote.add("remove", run_remove, "forget the remote")

    sync = commands.add("sync", run_sync, "exchange mail with the remote", _SYNC)
    sync.add_argument(
        "--no-push", action="store_true", dest="only_pull", help="only fetch and merge"
    )
    sync.add_argument(
        "--watch",
        type=number("--watch", 1, 86_400),
        metavar="SECONDS",
        help="go on, with a pause of so many seconds, until interrupted",
    )


def run_add(shell: Shell) -> int:
    """Set the remote."""
    remote = shell.mailbox.set_remote(shell.args.url, branch=shell.args.branch)
    shell.show(
        lambda: late.syncing.remote_plain(remote),
        lambda: f"The remote is {late.syncing.remote_text(remote)}",
    )
    return 0


def run_show(shell: Shell) -> int:
    """Show the remote."""
    remote = shell.mailbox.remote()
    shell.show(
        lambda: late.syncing.remote_plain(remote),
        lambda: late.syncing.remote_text(remote),
    )
    return 0


def run_remove(shell: Shell) -> int:
    """Forget the remote."""
    remote = shell.mailbox.remove_remote()
    shell.show(
        lambda: late.syncing.remote_plain(remote),
        lambda: f"Forgot {late.syncing.remote_text(remote)}",
    )
    return 0


def run_sync(shell: Shell) -> int:
    """Exchange commits with the remote, once or again and again."""
    pause_s = shell.args.watch
    while True:
        try:
            done = _sync(shell)
        except (BusyError, ConflictError, StorageError) as error:
            if pause_s is None:
                raise
            shell.say(f"{error.message}; it is tried again")
        else:
            shell.note(done.tip if done.fetched_count else None)
            _show(shell, done)
        if pause_s is None:
            return 0
        time.sleep(pause_s)


def _sync(shell: Shell) -> "Synced":
    push = not shell.args.only_pull
    return shell.mailbox.sync(push=push, git=late.config.git())


def _show(shell: Shell, done: "Synced") -> None:
    shell.show(
        lambda: late.syncing.synced_plain(done),
        lambda: late.syncing.synced_text(done, shell.look),
    )
