"""`doctor`: finding and mending what crashes leave behind."""

from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands
from gitmail.cli.shell import Shell
from gitmail.errors import MailboxNotFoundError

if TYPE_CHECKING:
    from gitmail.config import Settings

_FOUND = 1
_MORE = """\
It looks for locks and temporary files of programs that were killed, damaged or
missing objects, a lost branch, a damaged index, changed settings, and files on disk
that are not the tip's. With --repair it mends what it can, and says what it did; what
is in the way is moved below .git/gitmail/rescued, never deleted. It works on a mailbox
that no other command can open, and while others write. The exit code is 1 where
something is left to be done."""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    doctor = commands.add(
        "doctor", run_doctor, "find what crashes leave behind, and mend it", _MORE
    )
    doctor.add_argument("--repair", action="store_true", help="mend what can be mended")


def run_doctor(shell: Shell) -> int:
    """Examine the mailbox, which may be too damaged to be opened."""
    # Imported only here, for no other command needs them.
    from gitmail.render import checkup  # noqa: PLC0415 - as said
    from gitmail.store.doctoring import examine  # noqa: PLC0415 - as said

    place = _place(shell.settings)
    with late.logs.shown():
        found = examine(place, repair=shell.args.repair, moment=shell.clock())
    shell.show(lambda: checkup.plain(found), lambda: checkup.text(found, shell.look))
    return _FOUND if found.left_count else 0


def _place(settings: "Settings") -> Path:
    """Return the mailbox's folder, also where it is too damaged to be opened."""
    from gitmail.store.discovery import may_be_mailbox  # noqa: PLC0415 - as above

    place = settings.find()
    if not may_be_mailbox(place):
        raise MailboxNotFoundError(str(place))
    return place.resolve()
