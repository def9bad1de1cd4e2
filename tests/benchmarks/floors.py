"""The floors: the least that each operation must cost on this machine, in this run."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median


def medians(count: int, *turns: Callable[[int], object]) -> list[float]:
    """Return the median time of each function in ms, called in turn."""
    times: list[list[float]] = [[] for _ in turns]
    for number in range(count):
        for row, turn in zip(times, turns, strict=True):
            start = time.perf_counter()
            turn(number)
            row.append((time.perf_counter() - start) * 1e3)
    return [median(row) for row in times]


class Maildir:
    """Delivers as a mail server does: write, flush, rename, flush the folder."""

    def __init__(self, folder: Path) -> None:
        for name in ("tmp", "new"):
            (folder / name).mkdir(parents=True)
        self._folder = str(folder)
        self._count = 0

    def deliver(self, data: bytes) -> None:
        """Deliver one message durably."""
        self._count += 1
        draft = f"{self._folder}/tmp/{self._count}"  # noqa: S108 - Maildir's name
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(handle, data)
        os.fsync(handle)
        os.close(handle)
        os.rename(draft, f"{self._folder}/new/{self._count}")  # noqa: PTH104 - the floor
        handle = os.open(f"{self._folder}/new", os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


class GitCommit:
    """Records a message as a person would: `git add`, `git commit`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._count = 0
        self._git("init", "-q")

    def record(self, data: bytes) -> None:
        """Commit one file; git does not flush it."""
        self._count += 1
        (self._folder / f"{self._count}.md").write_bytes(data)
        self._git("add", f"{self._count}.md")
        self._git("commit", "-q", "-m", "message")

    def _git(self, *words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "gc.auto=0"]
        subprocess.run(["git", *who, *words], cwd=self._folder, check=True)


def write_plainly(folder: Path, files: list[tuple[str, bytes]]) -> float:
    """Return the seconds to write files without flushing, in the same folders."""
    start = time.perf_counter()
    made: set[Path] = set()
    for path, data in files:
        target = folder / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        target.write_bytes(data)
    return time.perf_counter() - start


def run_code(code: str, *words: str) -> float:
    """Return the seconds that a fresh interpreter takes for some code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *words], check=True)
    return time.perf_counter() - start
