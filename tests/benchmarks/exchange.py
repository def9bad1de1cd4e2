"""What bringing two clones together costs: `python -m tests.benchmarks.exchange`.

Options: --size N for the new messages on each side (10000).
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gitmail import Mailbox
from tests.benchmarks.mail import draft, fill, make_mailbox
from tests.clones import bring_objects, tip
from tests.mailboxes import copied

BEFORE = 1_000
"""Messages that both sides have."""
ROUNDS = 3
Show = Callable[[str, list[float], list[float], str, float], None]


class ExchangeBench:
    """The rows about clones.

    Args:
        folder: Where mailboxes may be made.
        size: New messages on each side.
    """

    def __init__(self, folder: Path, size: int, show: Show) -> None:
        self._folder = folder
        self._size = size
        self._show = show

    def merge(self) -> None:
        """A merge of as many against as many new messages, against `git merge`."""
        for step, how in ((100, "in batches of 100"), (1, "one by one")):
            folder = self._folder / f"step{step}"
            here, there = self._diverged(folder, step)
            ours, floor = [], []
            for n in range(ROUNDS):  # in turn, so that a busy disk is busy for both
                ours.append(merge_seconds(here, there, folder / f"a{n}"))
                floor.append(git_merge_seconds(here, there, folder / f"b{n}"))
            name = f"merge, 2 x {self._size:,} {how} / git merge"
            self._show(name, ours, floor, "<= 3", 1e3)

    def _diverged(self, folder: Path, step: int) -> tuple[Path, Path]:
        """Return two clones that have sent as many messages each."""
        with make_mailbox(folder / "here") as first:
            fill(first, BEFORE)
            there = copied(first, folder / "there")
        for path, word in ((folder / "here", "here"), (there, "there")):
            with Mailbox.open(path) as box:
                builder = box.agent("builder")
                for start in range(0, self._size, step):
                    numbers = range(start, start + step)
                    builder.send_many(
                        [draft(each) | {"topic": word} for each in numbers]
                    )
                box.store.housekeeping()
        return folder / "here", there


def merge_seconds(here: Path, there: Path, work: Path) -> float:
    """Return the seconds of a merge into a copy, until its files are on the disk."""
    shutil.copytree(here, work)
    bring_objects(there, work)
    with Mailbox.open(work, folds=False) as box, Mailbox.open(there) as other:
        box.status()
        theirs = tip(other)
        start = time.perf_counter()
        box.store.integrate(theirs, "gitmail", box.now(), "a clone")
        return time.perf_counter() - start


def git_merge_seconds(here: Path, there: Path, work: Path) -> float:
    """Return the seconds of the same merge by git in an ordinary clone."""
    git(work.parent, "clone", "-q", str(here), str(work))
    git(work, "fetch", "-q", str(there), "gitmail:theirs")
    start = time.perf_counter()
    git(work, "merge", "-q", "--no-edit", "theirs")
    return time.perf_counter() - start


def git(folder: Path, *words: str) -> None:
    """Run the installed git as somebody."""
    who = ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "gc.auto=0"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def main() -> None:
    """Run the benchmark and print one line for each row."""
    from tests.benchmarks.__main__ import show  # noqa: PLC0415 - it will import us

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.exchange")
    parser.add_argument("--size", type=int, default=10_000)
    with tempfile.TemporaryDirectory(prefix="gitmail-bench-") as name:
        ExchangeBench(Path(name), parser.parse_args().size, show).merge()


if __name__ == "__main__":
    main()
