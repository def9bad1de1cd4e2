"""The remote of a mailbox: where it is, and what was last seen of it."""

import json
import os
import re
import shlex
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from gitmail.errors import (
    CorruptMailboxError,
    InvalidArgumentError,
    InvalidInputError,
    NoRemoteError,
)
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
HEADS = "refs/heads/"
"""What the full names of branches begin with."""
_SECTION = (b"remote", NAME.encode())
_HEADING = f'[remote "{NAME}"]'
_BRANCH_KEY = "gitmailBranch"
_URL_LIMIT = 1000
_URL_RULE = "a path, or a URL of file, git, ssh or http(s)"
_SCHEMES = ("file", "git", "ssh", "http", "https")
# What is before `::` names a program that git would run.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(://|::)")
# What git takes for host and path: a colon before any slash.
_HOST = re.compile(r"[^/\\]{2,}:")
# gitcheck-ref-format(1), without what nobody needs.
_BRANCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*", re.ASCII)
_LOCK = re.compile(r"\.lock(/|$)")
_SECRET = re.compile(r"(?<=://)[^/\s]*@")
_OF_CODE = ("main", "master", "HEAD")


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the mailbox is exchanged.

    Attributes:
        url: As git takes it: a path from the root, or a URL of file, git, ssh or
            http(s).
        branch: The branch of the mailbox there.
    """

    url: str
    branch: str = BRANCH

    @property
    def shown_url(self) -> str:
        """The URL without what may be a secret."""
        return hide_secrets(self.url)

    @property
    def url_word(self) -> str:
        """The URL as a word of a shell's command, `URL` where it holds a secret."""
        return shlex.quote(self.url) if self.shown_url == self.url else "URL"

    @property
    def words(self) -> str:
        """What names the remote to a command of gitmail, in a shell."""
        more = f" --branch {self.branch}" if self.branch != BRANCH else ""
        return f"{self.url_word}{more}"

    @property
    def ref(self) -> str:
        """The full name of the branch there."""
        return f"{HEADS}{self.branch}"

    @property
    def tracking(self) -> str:
        """The full name of the branch here that shows what was last fetched."""
        return f"refs/remotes/{NAME}/{self.branch}"

    @property
    def folder(self) -> Path | None:
        """The folder that the URL names, None where it is on another machine."""
        if self.url.startswith("file://"):
            path = unquote(urlsplit(self.url).path)
            return Path(path.lstrip("/") if os.name == "nt" else path)
        return Path(self.url) if _is_path(self.url) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was last seen of the remote.

    Attributes:
        tip: The commit there when an exchange last succeeded, None before the first.
        at: When that was.
        there: The commit that was last fetched from there.
    """

    there: CommitId
    tip: CommitId | None = None
    at: datetime | None = None


def check_remote(
    url: object, branch: object = BRANCH, *, folder: Path | None = None
) -> Remote:
    """Return the remote that is meant.

    Args:
        folder: What a path is relative to, the present folder by default.

    Raises:
        InvalidArgumentError, InvalidTextError: The URL or the branch.
    """
    text = hide_secrets(url) if isinstance(url, str) else url
    if isinstance(url, str) and len(url) > _URL_LIMIT:  # shown without what it hides
        raise InvalidArgumentError("url", text, f"1 to {_URL_LIMIT} characters")
    where = check_line("url", url, _URL_LIMIT, may_be_empty=False)
    scheme = _SCHEME.match(where)
    is_known = scheme is None or (scheme[1] in _SCHEMES and scheme[2] == "://")
    if where.startswith("-") or not is_known:
        raise InvalidArgumentError("url", text, _URL_RULE)
    name = check_line("branch", branch, 100, may_be_empty=False)
    if not _BRANCH_NAME.fullmatch(name) or _LOCK.search(name):
        raise InvalidArgumentError("branch", name, "the name of a branch")
    if name in _OF_CODE or name.startswith("refs/"):
        rule = "mail does not belong on a branch of code; gitmail is a good name"
        raise InvalidArgumentError("branch", name, rule)
    if _is_path(where):  # which must mean the same wherever the next sync is run
        where = os.path.abspath(os.path.join(folder or "", where))
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
        """Return the remote, None where there is none.

        Raises:
            InvalidArgumentError: A person has set one that cannot be used.
            CorruptMailboxError: The configuration cannot be read.
        """
        config = self._load()
        try:
            url = config.get(_SECTION, b"url").decode()
        except KeyError:
            return None
        try:
            branch = config.get(_SECTION, _BRANCH_KEY.encode()).decode()
        except KeyError:
            branch = BRANCH
        return check_remote(url, branch, folder=self._config.parent.parent)

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
        """Set the remote, or remove it; what was seen of another is forgotten.

        All else in the configuration stays as a person wrote it.
        """
        with translated(self._config):
            text = self._config.read_text("utf-8", "surrogateescape")
            if text and not text.endswith("\n"):
                text += "\n"
            lines = [*_others(text), *(_section(remote) if remote else ())]
            draft = self._seen.with_name("config.draft")
            remove_quietly(draft)
            data = "".join(lines).encode("utf-8", "surrogateescape")
            is_other = not self._is(remote)
            write_durably(draft, data, self._config.stat().st_mode & 0o777)
            move(draft, self._config)
            if is_other:
                remove_quietly(self._seen)

    def seen(self) -> Seen | None:
        """Return what was last seen of the remote, None where nothing was."""
        try:
            said = json.loads(read_small(self._seen) or "null")
            there, tip, at = (said.get(key) for key in ("there", "tip", "at"))
        except (ValueError, AttributeError):
            return None
        ids = [there] if tip is None else [there, tip]
        if not all(isinstance(each, str) and is_hex(each) for each in ids):
            return None
        return Seen(there, tip, parse_time(at) if isinstance(at, str) else None)

    def note_there(self, there: CommitId) -> None:
        """Write down what was fetched."""
        before = self.seen()
        if before is None or before.there != there:
            tip, at = (before.tip, before.at) if before else (None, None)
            self._write_seen(Seen(there, tip, at))

    def note(self, tip: CommitId, at: datetime) -> None:
        """Write down that an exchange succeeded."""
        self._write_seen(Seen(tip, tip, at))

    def _is(self, remote: Remote | None) -> bool:
        try:
            return self.read() == remote
        except InvalidInputError:  # which is why another is wanted
            return False

    def _write_seen(self, seen: Seen) -> None:
        at = format_time(seen.at) if seen.at else None
        said = {"there": seen.there, "tip": seen.tip, "at": at}
        draft = self._seen.with_name("remote.draft")
        with translated(self._seen):
            remove_quietly(draft)
            write_durably(draft, json.dumps(said).encode(), 0o644)
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


def _is_path(url: str) -> bool:
    """Tell whether a URL is a path, by git's own rule."""
    return not _SCHEME.match(url) and not _HOST.match(url)


def _others(text: str) -> list[str]:
    """Return the lines of a configuration that are not about the remote."""
    kept, is_kept = [], True
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            is_kept = not line.lstrip().startswith(_HEADING)
        if is_kept:
            kept.append(line)
    return kept


def _section(remote: Remote) -> list[str]:
    values = {
        "url": remote.url,
        "fetch": f"+{remote.ref}:{remote.tracking}",
        _BRANCH_KEY: remote.branch,
    }
    lines = [f"{_HEADING}\n"]
    for key, value in values.items():
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'\t{key} = "{quoted}"\n')
    return lines
