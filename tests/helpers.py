"""What tests of all kinds use; no fixtures, and nothing that runs by itself."""

import hashlib
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)
"""The present of a new `SettableClock`."""
IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "A Person"), ("EMAIL", "person@example.org"))
}


class SettableClock:
    """A clock that tests set, and that ticks a millisecond at each look."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the present, later than it was at the last look."""
        self.now += timedelta(milliseconds=1)
        return self.now

    def advance(self, **units: float) -> None:
        """Move on, by the keywords of `timedelta`."""
        self.now += timedelta(**units)


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a test's process, with more variables."""
    return {**os.environ, **more}  # noqa: TID251 - sealed by conftest


def git(folder: Path, *args: str, check: bool = True) -> str:
    """Return what an installed git prints, run in a folder as a person."""
    done = subprocess.run(
        ["git", "-C", str(folder), *args],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(**IDENTITY),
        timeout=30,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def files_on_disk(mailbox: Path) -> dict[str, str]:
    """Return path to blob id of every file that stands beside the repository."""
    paths = (path for path in mailbox.rglob("*") if path.is_file())
    return {
        path.relative_to(mailbox).as_posix(): blob_id(path.read_bytes())
        for path in paths
        if path.relative_to(mailbox).parts[0] != ".git"
    }


def files_in_tip(mailbox: Path, revision: str = "gitmail") -> dict[str, str]:
    """Return path to blob id of every file of a commit, as git itself tells."""
    rows = git(mailbox, "ls-tree", "-r", "-z", revision).split("\0")
    return {row.split("\t", 1)[1]: row.split()[2] for row in rows if row}


def blob_id(data: bytes) -> str:
    """Return the git blob id of some bytes, computed apart from the product."""
    head = b"blob %d\0" % len(data)
    return hashlib.sha1(head + data, usedforsecurity=False).hexdigest()


def make_git_project(folder: Path) -> Path:
    """Make a git repository with a file, a commit and a change not committed."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "code.py").write_text("print(1)\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "One")
    (folder / "code.py").write_text("print(2)\n", encoding="utf-8")
    return folder


def make_bare_bones_project(folder: Path) -> Path:
    """Make a folder that is a git repository to gitmail, without running git."""
    for name in ("objects", "refs/heads", "info"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    (folder / "code.py").write_text("print(2)\n", encoding="utf-8")
    return folder
