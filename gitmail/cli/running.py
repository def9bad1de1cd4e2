"""`mcp`, `demo` and the hidden `housekeeping`: what runs processes or is run as one."""

import sys

from gitmail.cli import streams
from gitmail.cli.parser import Commands, UsageError, number
from gitmail.cli.shell import Shell


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    mcp = commands.add(
        "mcp",
        run_mcp,
        "serve the mailbox to an agent over MCP, on standard input and output",
        "Without --as the agent takes its name with the tool agent_register.",
    )
    mcp.add_argument(
        "--sync",
        type=number("--sync", 1, 86_400),
        metavar="SECONDS",
        help="also sync with the remote, with a pause of so many seconds",
    )
    commands.add("demo", run_demo, "show two agents at work in a temporary folder")
    commands.add("housekeeping", run_housekeeping, None)


def run_mcp(shell: Shell) -> int:
    """Serve until the end of input."""
    if sys.stdin is None or sys.stdout is None:
        message = "the server needs standard input and output, and one is closed"
        raise UsageError(message, "gitmail mcp")
    from gitmail.mcp_server import serve  # noqa: PLC0415 - nearly a second of imports

    return serve(shell.settings, sync_every_s=shell.args.sync)


def run_demo(shell: Shell) -> int:
    """Show what gitmail does."""
    if shell.is_json:
        message = "the demo is for people, without --json"
        raise UsageError(message, "gitmail demo")
    from gitmail.demo import run  # noqa: PLC0415 - nearly a second of imports

    return run(streams.write, shell.look)


def run_housekeeping(shell: Shell) -> int:
    """Fold the store's small packs together, while nobody waits for it."""
    shell.mailbox.store.housekeeping()
    return 0


def keep_house(shell: Shell) -> None:
    """Start housekeeping in a process of its own, if a write made it due."""
    mailbox = shell.opened()
    if not (mailbox and shell.commit and mailbox.store.needs_housekeeping()):
        return
    import subprocess  # noqa: PLC0415 - 5 ms of every command

    # -P, so that a folder named gitmail where the command was given is not run.
    command = [sys.executable, "-P", "-m", "gitmail", "--mailbox", str(mailbox.path)]
    try:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [*command, "housekeeping"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:  # what was asked for has been done all the same
        shell.say(f"warning: housekeeping could not be started: {error}")
        return
    process.returncode = 0  # nobody waits for it, which Popen would warn about
