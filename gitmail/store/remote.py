"""The remote of a mailbox: where it is, and what was last seen of it."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.errors import CorruptMailboxError, InvalidArgumentError, NoRemoteError
from gitmail.records.names import CommitId, is_hex
from gitmail.records.text import check_line
from gitmail.records.times import format_time, parse_time
from gitmail.store.disk import read_small, remove_quietly, translated, write_durably
from gitmail.store.disk import replace as move
from gitmail.store.refs import BRANCH

if TYPE_CHECKING:
    from dulwich.config import ConfigFile

NAME = "origin"
"""What the remote is called in the mailbox's own configuration, as git's clone does."""
_SECTION = (b"remote", NAME.encode())
_BRANCH_KEY = b"gitmailBranch"
_URL_LIMIT = 1000
# gitcheck-ref-format(1), without what nobody needs.
_BRANCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*", re.ASCII)
_SECRET = re.compile(r"(?<=://)[^/@\s]*@")
_OF_CODE = ("main", "master", "HEAD")


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the mailbox is exchanged.

    Attributes:
        url: As git takes it: a path, or a URL of file, git, ssh or http(s).
        branch: The branch of the mailbox there.
    """

    url: str
    branch: str = BRANCH

    @property
    def shown_url(self) -> str:
        """The URL without what may be a secret."""
        return hide_secrets(self.url)

    @property
    def ref(self) -> str:
        """The full name of the branch there."""
        return f"refs/heads/{self.branch}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was last seen of the remote, and when an exchange last succeeded."""

    tip: CommitId
    at: datetime


def check_remote(url: object, branch: object = BRANCH) -> Remote:
    """Return the remote that is meant.

    Raises:
        InvalidArgumentError, InvalidTextError: The URL or the branch.
    """
    where = check_line("url", url, _URL_LIMIT, may_be_empty=False)
    if where.startswith(("-", "ext::")):
        rule = "a path, or a URL of file, git, ssh or http(s)"
        raise InvalidArgumentError("url", hide_secrets(where), rule)
    name = check_line("branch", branch, 100, may_be_empty=False)
    if not _BRANCH_NAME.fullmatch(name) or name.endswith(".lock"):
        raise InvalidArgumentError("branch", name, "the name of a branch")
    if name in _OF_CODE:
        rule = "mail does not belong on a branch of code; gitmail is a good name"
        raise InvalidArgumentError("branch", name, rule)
    return Remote(where, name)


def hide_secrets(text: str) -> str:
    """Return text without the user and password of any URL in it."""
    return _SECRET.sub("", text)


class RemoteBook:
    """Reads and writes what a mailbox knows of its remote.

    Args:
        git_dir: The mailbox's repository.
        local: The folder for what is never synced.
    """

    def __init__(self, git_dir: Path, local: Path) -> None:
        self._config = git_dir / "config"
        self._seen = local / "remote.json"

    def read(self) -> Remote | None:
        """Return the remote, None where there is none."""
        config = self._load()
        try:
            url = config.get(_SECTION, b"url").decode()
        except KeyError:
            return None
        try:
            branch = config.get(_SECTION, _BRANCH_KEY).decode()
        except KeyError:
            branch = BRANCH
        return check_remote(url, branch)

    def needed(self) -> Remote:
        """Return the remote.

        Raises:
            NoRemoteError: There is none.
        """
        found = self.read()
        if found is None:
            raise NoRemoteError
        return found

    def write(self, remote: Remote | None) -> None:
        """Set the remote, or remove it; what was seen of another is forgotten."""
        config = self._load()
        if _SECTION in config:
            del config[_SECTION]
        if remote:
            tracking = f"+{remote.ref}:refs/remotes/{NAME}/{remote.branch}"
            config.set(_SECTION, b"url", remote.url.encode())
            config.set(_SECTION, b"fetch", tracking.encode())
            config.set(_SECTION, _BRANCH_KEY, remote.branch.encode())
        draft = self._config.with_name("config.gitmail")
        with translated(self._config):
            with draft.open("wb") as stream:
                config.write_to_file(stream)
            move(draft, self._config)
            remove_quietly(self._seen)

    def seen(self) -> Seen | None:
        """Return what was last seen of the remote, None where nothing was."""
        try:
            said = json.loads(read_small(self._seen) or "null")
            tip, at = said["tip"], parse_time(said["at"])
        except (ValueError, TypeError, KeyError):
            return None
        is_sound = isinstance(tip, str) and is_hex(tip) and at is not None
        return Seen(CommitId(tip), at) if is_sound and at else None

    def note(self, tip: CommitId, at: datetime) -> None:
        """Write down that an exchange succeeded."""
        text = json.dumps({"tip": tip, "at": format_time(at)})
        draft = self._seen.with_name("remote.draft")
        with translated(self._seen):
            remove_quietly(draft)
            write_durably(draft, text.encode(), 0o644)
            move(draft, self._seen)

    def _load(self) -> "ConfigFile":
        # Few commands need it.
        from dulwich.config import ConfigFile  # noqa: PLC0415 - see above

        try:
            with translated(self._config):
                return ConfigFile.from_path(str(self._config))
        except ValueError as error:
            what = f"its configuration cannot be read: {error}"
            raise CorruptMailboxError(what, str(self._config.parent.parent)) from error
