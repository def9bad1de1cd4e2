"""HTTP as dulwich speaks it: whose password is used, and that nothing stays open."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dulwich.client import default_urllib3_manager
from dulwich.config import get_xdg_config_home_path

_TIMEOUT_S = 60.0
_BAD = 400


class Connections:
    """What dulwich sends its requests through.

    Args:
        url: Of the remote.
    """

    def __init__(self, url: str) -> None:
        base = urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2])
        self._real: Any = default_urllib3_manager(
            None, base_url=base.geturl(), timeout=_TIMEOUT_S
        )
        self.headers = self._real.headers

    def request(self, *args: Any, **said: Any) -> Any:
        """Return the answer to a request; one that is an error is closed."""
        found = self._real.request(*args, **said)
        if found.status >= _BAD:
            found.close()
        return found

    def close(self) -> None:
        """Close all connections."""
        self._real.clear()


def credentials(url: str) -> tuple[str, str] | tuple[None, None]:
    """Return user and password that git's credential store has for a URL without."""
    wanted = urlsplit(url)
    if wanted.password is not None:
        return None, None
    for file in _stores():
        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            found = urlsplit(line.strip())
            is_it = _place(found) == _place(wanted)
            is_user = wanted.username in (None, found.username)
            if is_it and is_user and found.username and found.password:
                return unquote(found.username), unquote(found.password)
    return None, None


def _stores() -> list[Path]:
    return [
        Path(os.path.expanduser("~/.git-credentials")),
        Path(get_xdg_config_home_path("git", "credentials")),
    ]


def _place(url: Any) -> tuple[str, str]:
    return url.scheme, url.netloc.rpartition("@")[2].lower()
