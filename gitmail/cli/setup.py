"""`init` and `format`: what a newcomer needs first."""

from dataclasses import replace
from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands, filled
from gitmail.cli.shell import Shell
from gitmail.errors import FolderInUseError, MailboxNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from gitmail.mailbox.mailbox import Mailbox

_INIT = """\
It stands in .gitmail beside the project's .git, or at --mailbox PATH. Where one is
already, nothing changes."""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    init = commands.add("init", run_init, "make the project's mailbox", _INIT)
    init.add_argument(
        "--project",
        type=filled("--project"),
        metavar="NAME",
        help="what people call the project",
    )
    init.add_argument(
        "--from",
        dest="source",
        type=filled("--from"),
        metavar="URL|FILE",
        help="start from what a remote has, or from a bundle",
    )
    init.add_argument(
        "--branch",
        type=filled("--branch"),
        default="gitmail",
        metavar="B",
        help="the mailbox's branch at URL, gitmail by default",
    )
    commands.add("format", run_format, "print how a mailbox's files are written")


def run_init(shell: Shell) -> int:
    """Make the mailbox, and have the project's git ignore it."""
    place = shell.settings.place_to_init()
    project = replace(shell.settings, folder=place.parent, mailbox=None).project()
    is_inside = project is not None and project.mailbox.resolve() == place.resolve()
    own_name = project.name if project and is_inside else None
    try:
        mailbox = late.mailbox.Mailbox.open(place, clock=shell.clock, folds=False)
        is_new = False
        if shell.args.source is not None:
            mailbox.close()
            raise FolderInUseError(str(place), "it is a mailbox already")
    except MailboxNotFoundError:
        mailbox = _make(shell, place, shell.args.project or own_name)
        is_new = True
    shell.take_over(mailbox)
    if project and is_inside:
        project.exclude()
    status = mailbox.status()
    shell.note(status.tip if is_new else None)
    answer: dict[str, object] = {
        "mailbox": status.path,
        "id": status.id,
        "project": status.project,
        "tip": status.tip,
        "created": is_new,
    }
    from gitmail.mailbox.remotes import beginning  # noqa: PLC0415 - late, as all here

    begun = beginning(mailbox, late.config.git()) if is_new else None
    if begun:
        answer["remote"] = late.syncing.beginning_plain(begun)
    is_alone = shell.settings.project() is None and shell.settings.mailbox is None
    shell.show(
        lambda: answer,
        lambda: late.people.initialised(
            status, is_new=is_new, is_alone=is_alone, begun=begun
        ),
    )
    return 0


def _make(shell: Shell, place: "Path", project: str | None) -> "Mailbox":
    """Make a new mailbox, or one from what somebody else has of it."""
    source = shell.args.source
    if source is None:
        return late.mailbox.Mailbox.init(place, project=project, clock=shell.clock)
    return late.mailbox.Mailbox.clone(
        place,
        source,
        branch=shell.args.branch,
        git=late.config.git(),
        project=project,
        clock=shell.clock,
        progress=shell.progress,
    )


def run_format(shell: Shell) -> int:
    """Print the format document."""
    from importlib.resources import files  # noqa: PLC0415 - 8 ms of every command

    text = files("gitmail").joinpath("FORMAT.md").read_text("utf-8")
    shell.show(lambda: {"format": text}, lambda: text.rstrip("\n"))
    return 0
