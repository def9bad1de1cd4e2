"""`verify`, and the hidden `guard` that git runs on a push."""

import os
import sys
from pathlib import Path

from gitmail.cli import late, streams
from gitmail.cli.parser import Commands
from gitmail.cli.shell import Shell
from gitmail.errors import InvalidArgumentError

_VERIFY = """\
It reads every commit and every file, and names what was done against the rules of the
format, with commit, author and path. The text is Markdown, fit for a pull request. The
exit code is 1 where something is amiss. That a clock was wrong is a remark, and no
failure: nobody can undo it."""
_MOST_PROCESSES = 8
REFUSED_EXIT = 3
"""The push is refused and it has been said why; the hook knows the number."""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    verify = commands.add(
        "verify",
        run_verify,
        "prove that nothing was changed behind gitmail's back",
        _VERIFY,
    )
    verify.add_argument(
        "range",
        nargs="?",
        metavar="RANGE",
        help="a commit, or A..B for what is since A; all of it by default",
    )
    guard = commands.add("guard", run_guard, None)
    guard.add_argument("--incoming", metavar="PATH", type=Path)


def run_verify(shell: Shell) -> int:
    """Verify a history, and tell what was found."""
    value = shell.mailbox.verify(shell.args.range, processes=_processors())
    shell.show(
        lambda: late.verifying.plain(value), lambda: late.verifying.summary(value)
    )
    return 1 if value.finding_count else 0


def _processors() -> int:
    """Return on how many processors this process may run."""
    allowed = getattr(os, "sched_getaffinity", None)  # which not every system has
    count = len(allowed(0)) if allowed else os.cpu_count()
    return min(count or 1, _MOST_PROCESSES)


def run_guard(shell: Shell) -> int:
    """Say which of a push's updates, on standard input, may not be."""
    incoming: Path | None = shell.args.incoming
    if incoming and not incoming.is_dir():
        raise InvalidArgumentError("--incoming", incoming, "a folder of objects")
    updates = late.guarding.parse_updates(sys.stdin)
    refusals = late.guarding.refusals(
        shell.mailbox.store, updates, incoming, shell.mailbox.now()
    )
    for text in late.verifying.refused(refusals):
        streams.complain(f"gitmail: {text}")
    return REFUSED_EXIT if refusals else 0
