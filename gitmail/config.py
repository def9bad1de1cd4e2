"""Flags, then environment, then defaults, into one frozen value.

The only module that reads the environment. Variables of git (`GIT_DIR` and friends) are
never read, here or anywhere.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.errors import MailboxNotFoundError
from gitmail.records.message import Location
from gitmail.store.discovery import (
    MAILBOX_FOLDER,
    Project,
    find_mailbox,
    find_project,
    may_be_mailbox,
)

if TYPE_CHECKING:
    from gitmail.store.transport import Git

_OFF = ("0", "off", "no", "false")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a call works with.

    Attributes:
        mailbox: The mailbox's folder, where a flag or GITMAIL_DIR names it.
        agent: The acting agent, from a flag or GITMAIL_AGENT.
        folder: Where the call was made.
        has_color: Whether NO_COLOR leaves colour on.
        stamps_location: Whether GITMAIL_LOCATION leaves the sender's place on.
    """

    folder: Path
    mailbox: Path | None = None
    agent: str | None = None
    has_color: bool = True
    stamps_location: bool = True

    def find(self) -> Path:
        """Return the mailbox's folder.

        Raises:
            MailboxNotFoundError: There is none.
        """
        if self.mailbox:
            return self._named(self.mailbox)
        found = find_mailbox(self.folder)
        if found is None:
            raise MailboxNotFoundError(str(self.folder))
        return found

    def project(self) -> Project | None:
        """Return the project around the folder of the call, None outside of any."""
        return find_project(self.folder)

    def place_to_init(self) -> Path:
        """Return the folder in which a new mailbox belongs."""
        project = self.project()
        if self.mailbox:
            return self._named(self.mailbox)
        return project.mailbox if project else self.folder / MAILBOX_FOLDER

    @staticmethod
    def _named(folder: Path) -> Path:
        """Return the mailbox that is meant by a folder that may be its project."""
        inner = folder / MAILBOX_FOLDER
        is_inner = not may_be_mailbox(folder) and may_be_mailbox(inner)
        return inner if is_inner else folder

    def location(self) -> Callable[[], Location | None] | None:
        """Return what finds the sender's place, None where it is switched off."""
        if not self.stamps_location:
            return None

        def look() -> Location | None:
            project = self.project()
            return project.location() if project else None

        return look


def load(*, mailbox: str | None = None, agent: str | None = None) -> Settings:
    """Return the settings of a call; a flag counts more than a variable."""
    where = mailbox or os.environ.get("GITMAIL_DIR")
    place = os.environ.get("GITMAIL_LOCATION", "on").lower()
    return Settings(
        folder=_here(where),
        mailbox=Path(where).absolute() if where else None,
        agent=agent or os.environ.get("GITMAIL_AGENT") or None,
        has_color=not os.environ.get("NO_COLOR"),
        stamps_location=place not in _OFF,
    )


def git() -> "Git | None":
    """Return the installed git, None where there is none or GITMAIL_GIT says `off`.

    It sees nothing of git's own variables, and can ask nobody anything.
    """
    # Only few commands need it.
    from gitmail.store.transport import Git  # noqa: PLC0415 - as said

    said = os.environ.get("GITMAIL_GIT", "git")
    program = None if said.lower() in _OFF else shutil.which(said)
    if program is None:
        return None
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return Git(program, kept | _UNATTENDED)


# What would open a terminal or a window fails instead. Git runs without a terminal, so
# that ssh cannot ask either, and the user's own `core.sshCommand` stays in force.
_UNATTENDED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "LC_ALL": "C",
}


def _here(mailbox: str | None) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        if mailbox and Path(mailbox).is_absolute():  # whoever names it needs no folder
            return Path(mailbox)
        raise MailboxNotFoundError("a folder that was deleted") from error
