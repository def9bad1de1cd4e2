"""The remote of a mailbox: where it is, and how it is named."""

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitmail.errors import (
    InvalidArgumentError,
)
from gitmail.records.text import check_line
from gitmail.store.refs import BRANCH

NAME = "origin"
"""What the remote is called in the mailbox's own configuration, as git's clone does."""
TRACKED = f"refs/remotes/{NAME}"
"""Where the branches are that show what was fetched."""
HEADS = "refs/heads/"
"""What the full names of branches begin with."""
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
        return f"{TRACKED}/{self.branch}"

    @property
    def folder(self) -> Path | None:
        """The folder that the URL names, None where it is on another machine."""
        if self.url.startswith("file://"):
            path = unquote(urlsplit(self.url).path)
            return Path(path.lstrip("/") if os.name == "nt" else path)
        return Path(self.url) if _is_path(self.url) else None


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


def _is_path(url: str) -> bool:
    """Tell whether a URL is a path, by git's own rule."""
    return not _SCHEME.match(url) and not _HOST.match(url)
