"""What a mailbox keeps of its remote: where it is, and how the last exchange went."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.errors import CorruptMailboxError, InvalidInputError, NoRemoteError
from gitmail.records.names import CommitId, is_hex
from gitmail.records.times import format_time, parse_time
from gitmail.store.disk import read_small, remove_quietly, translated, write_durably
from gitmail.store.disk import replace as move
from gitmail.store.refs import BRANCH
from gitmail.store.remote import NAME, TRACKED, Remote, check_remote

if TYPE_CHECKING:
    from dulwich.config import ConfigFile

_SECTION = (b"remote", NAME.encode())
_HEADING = f'[remote "{NAME}"]'
_BRANCH_KEY = "gitmailBranch"


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


@dataclass(frozen=True, slots=True)
class Failure:
    """The last exchange, which failed.

    Attributes:
        code: That of the error.
    """

    code: str
    at: datetime


class RemoteBook:
    """Reads and writes what a mailbox knows of its remote.

    Args:
        git_dir: The mailbox's repository.
        local: The folder for what is never synced.
    """

    def __init__(self, git_dir: Path, local: Path) -> None:
        self._git_dir = git_dir
        self._config = git_dir / "config"
        self._seen = local / "remote.json"
        self._failed = local / "remote-failed.json"

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
        # Few commands need it.
        from gitmail.store.tracking import drop_refs  # noqa: PLC0415 - see above

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
            if is_other:  # what was fetched stands in the way of `gitmail/x`
                drop_refs(self._git_dir, TRACKED)
            move(draft, self._config)
            if is_other:
                remove_quietly(self._seen)
                remove_quietly(self._failed)

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

    def failure(self) -> Failure | None:
        """Return how the last exchange failed, None where it did not."""
        try:
            said = json.loads(read_small(self._failed) or "null")
            code, at = str(said["code"]), parse_time(said["at"])
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        return Failure(code, at) if at else None

    def note_failure(self, failure: Failure | None) -> None:
        """Write down that an exchange failed, or that none did since."""
        if failure is None:
            with translated(self._failed):
                remove_quietly(self._failed)
            return
        said = {"code": failure.code, "at": format_time(failure.at)}
        self._write(self._failed, json.dumps(said).encode())

    def _is(self, remote: Remote | None) -> bool:
        try:
            return self.read() == remote
        except InvalidInputError:  # which is why another is wanted
            return False

    def _write_seen(self, seen: Seen) -> None:
        at = format_time(seen.at) if seen.at else None
        said = {"there": seen.there, "tip": seen.tip, "at": at}
        self._write(self._seen, json.dumps(said).encode())

    def _write(self, file: Path, data: bytes) -> None:
        draft = file.with_suffix(".draft")
        with translated(file):
            remove_quietly(draft)
            write_durably(draft, data, 0o644)
            move(draft, file)

    def _load(self) -> "ConfigFile":
        # Few commands need it.
        from dulwich.config import ConfigFile  # noqa: PLC0415 - see above

        try:
            with translated(self._config):
                return ConfigFile.from_path(str(self._config))
        except ValueError as error:
            what = f"its configuration cannot be read: {error}"
            raise CorruptMailboxError(what, str(self._config.parent.parent)) from error


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
