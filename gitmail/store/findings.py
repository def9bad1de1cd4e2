"""What the doctor finds in a mailbox, and how it goes about mending it.

What is in the way is moved to a folder below `.git/gitmail/rescued`, never deleted,
unless it is by its nature unfinished.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count, filterfalse
from pathlib import Path

from gitmail.errors import GitmailError
from gitmail.store.discovery import LOCAL
from gitmail.store.disk import replace, translated, write_durably
from gitmail.store.keeper import Progress
from gitmail.store.lock import Lock

REPAIR = "Mend it with: gitmail doctor --repair"


class Kind(StrEnum):
    """What can be wrong; the values never change."""

    STALE_LOCK = "stale_lock"
    TEMPORARY_FILE = "temporary_file"
    INCOMPLETE_REPOSITORY = "incomplete_repository"
    SETTING = "setting"
    HEAD_ELSEWHERE = "head_elsewhere"
    BRANCH_UNREADABLE = "branch_unreadable"
    BRANCH_CHECKED_OUT = "branch_checked_out"
    LOST_COMMITS = "lost_commits"
    REF_UNREADABLE = "ref_unreadable"
    DAMAGED_PACK = "damaged_pack"
    DAMAGED_OBJECT = "damaged_object"
    MISSING_OBJECT = "missing_object"
    SHALLOW = "shallow"
    ALTERNATES = "alternates"
    FILE_MODIFIED = "file_modified"
    FILE_DELETED = "file_deleted"
    FILE_ADDED = "file_added"
    DAMAGED_INDEX = "damaged_index"
    UNUSABLE = "unusable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        path: Below the mailbox's folder; printable.
        detail: What is wrong.
        done: What a repair did, None where it is as it was.
        advice: What to do, None where it was repaired.
    """

    kind: Kind
    path: str
    detail: str
    done: str | None = None
    advice: str | None = None

    @property
    def is_repaired(self) -> bool:
        """Whether nothing is left to do."""
        return self.done is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkup:
    """What an examination of a mailbox found.

    Attributes:
        path: The mailbox's folder.
        rescued: The folder with what was moved out of the way, None if nothing was.
    """

    path: str
    findings: tuple[Finding, ...]
    rescued: str | None

    @property
    def left_count(self) -> int:
        """How many findings are left unrepaired."""
        return sum(not each.is_repaired for each in self.findings)


class Case:
    """One examination: which mailbox, what was found, and whether it is mended.

    Args:
        root: The mailbox's folder.
        repairs: Whether what can be mended is.
        moment: The present, after which the folder of rescued files is named.
        progress: Told how far a long piece of work is.
    """

    def __init__(
        self,
        root: Path,
        *,
        repairs: bool,
        moment: datetime,
        progress: Progress | None = None,
    ) -> None:
        self.root = root
        self.git_dir = root / ".git"
        self.local = self.git_dir / LOCAL
        self.repairs = repairs
        self.progress = progress
        self.findings: list[Finding] = []
        self.rescued: Path | None = None
        self.stamp = self.local / "doctor.lock"
        self.moment = moment
        self._now_s: float | None = None

    @property
    def writer_lock(self) -> Lock:
        """The lock that every writer of the mailbox holds."""
        return Lock(self.local / "write.lock")

    def found(
        self,
        kind: Kind,
        path: Path | str,
        detail: str,
        *,
        mend: Callable[[], str] | None = None,
        advice: str | None = None,
    ) -> bool:
        """Take a finding down, after mending it where that is wanted and possible.

        Args:
            path: In the mailbox, or below its folder.
            mend: Puts it right, and returns what it did.
            advice: What to do where it cannot be mended.

        Returns:
            Whether it is mended.
        """
        done = None
        if mend and self.repairs:
            try:
                with translated(self.root):
                    done = mend()
            except GitmailError as error:
                advice = f"It could not be mended: {error.message}"
        elif mend:
            advice = REPAIR
        self.findings.append(
            Finding(
                kind=kind,
                path=self.shown(path),
                detail=detail,
                done=done,
                advice=None if done else advice,
            )
        )
        return done is not None

    def shown(self, path: Path | str) -> str:
        """Return a path below the mailbox's folder as text that can be printed."""
        below = (self.root / path).relative_to(self.root).as_posix()
        return os.fsencode(below).decode("utf-8", "backslashreplace")

    def age_s(self, path: Path) -> float:
        """Return how long ago something was written, by its own file system's clock.

        Raises:
            FileNotFoundError: It is gone.
        """
        if self._now_s is None:
            self._now_s = self._file_system_time()
        return self._now_s - path.lstat().st_mtime

    def _file_system_time(self) -> float:
        try:
            self.stamp.touch()
        except OSError:  # nothing can be mended there, so nothing need be called old
            return 0.0
        return self.stamp.stat().st_mtime

    def rescue(self, path: Path) -> str:
        """Move something out of the way, and return the words that say where to.

        Raises:
            OSError: It cannot be moved, or is gone.
        """
        target = self._place_for(path)
        path.rename(target)
        return f"moved to {self.shown(target)}"

    def rescue_beside(self, path: Path) -> str:
        """Move what stands where local state belongs, and say where to."""
        names = _numbered(path.with_name(f"{path.name}-rescued"))
        target = next(filterfalse(os.path.lexists, names))
        path.rename(target)
        return f"moved to {self.shown(target)}"

    def copy(self, path: Path) -> str:
        """Copy something that is replaced, and return the words that say where to."""
        target = self._place_for(path)
        shutil.copy2(path, target)
        return f"copied to {self.shown(target)}"

    def _place_for(self, path: Path) -> Path:
        inside = path.is_relative_to(self.git_dir)
        below = path.relative_to(self.git_dir if inside else self.root)
        target = self._folder() / ("git" if inside else "files") / below
        target.parent.mkdir(parents=True, exist_ok=True)
        return next(filterfalse(os.path.lexists, _numbered(target)))

    def _folder(self) -> Path:
        if self.rescued is None:
            stamp = f"{self.moment.astimezone(UTC):%Y-%m-%dT%H%M%SZ}"
            parent = next(filter(_may_hold, _numbered(self.local / "rescued")))
            folder = next(filterfalse(os.path.lexists, _numbered(parent / stamp)))
            folder.mkdir(parents=True)
            self.rescued = folder
        return self.rescued

    def report(self, what: str, number: int) -> None:
        """Tell how far a piece of work is, now and then."""
        if self.progress and number % 1000 == 0:
            self.progress(what, number)


def _numbered(path: Path) -> Iterator[Path]:
    """Yield a path, and then the same with a number behind it."""
    yield path
    yield from (path.with_name(f"{path.name}-{number}") for number in count(1))


def _may_hold(folder: Path) -> bool:
    """Tell whether files can be put below a folder; a link may lead anywhere."""
    return not os.path.lexists(folder) or (folder.is_dir() and not folder.is_symlink())


def replace_as_git(file: Path, data: bytes) -> None:
    """Replace a file of the repository, which git then cannot write at the same time.

    Raises:
        FileExistsError: A running git is at it.
    """
    lock = file.with_name(f"{file.name}.lock")
    write_durably(lock, data, 0o644)
    replace(lock, file)


def entries(folder: Path) -> list[Path]:
    """Return what is in a folder, which git may be removing."""
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, some of which may be gone at once."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in sorted(names))
