"""What exchanging costs, against git's own commands for the same."""

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gitmail import Mailbox
from gitmail.config import git
from gitmail.store.refs import BRANCH
from tests.benchmarks.mail import draft

_NEW = 100
_BUNDLED = 1_000
Show = Callable[[str, list[float], list[float], str], None]


class SyncBench:
    """The rows about remotes, bundles and verifying.

    Args:
        large: A mailbox with many messages; it gets a remote.
        folder: Where clones may be made.
    """

    def __init__(self, large: Mailbox, folder: Path, show: Show) -> None:
        self._show = show
        self._folder = folder
        self._large = large
        self._size = f"{large.status().message_count:,} messages"
        self._remote = folder / "remote.git"
        run_git(folder, "init", "-q", "--bare", "-b", BRANCH, str(self._remote))
        large.set_remote(str(self._remote))
        large.sync(git=git())

    def idle(self) -> None:
        """A sync with nothing new, against a fetch with nothing new."""
        ours, floors = [], []
        url, ref = str(self._remote), f"refs/heads/{BRANCH}"
        for _ in range(30):
            ours.append(timed(lambda: self._large.sync(git=git())))
            floors.append(
                timed(lambda: run_git(self._large.path, "fetch", "-q", url, ref))
            )
        name = f"sync of nothing new, {self._size} / git fetch"
        self._show(name, ours, floors, "<= 2")

    def both_ways(self) -> None:
        """A hundred new messages each way, against git pull and git push."""
        other = Mailbox.clone(self._folder / "other", str(self._remote), git=git())
        work = self._folder / "work"
        run_git(self._folder, "clone", "-q", "-b", BRANCH, str(self._remote), str(work))
        ours, floors = [], []
        for number in range(5):
            post(self._large, number)
            post(other, number + 1_000)
            other.sync(git=git())
            floors.append(timed(lambda: self._by_git(work)))
            ours.append(timed(lambda: self._large.sync(git=git())))
            other.sync(git=git())
        other.close()
        name = f"sync of {_NEW} each way at {self._size} / git pull, push"
        self._show(name, ours, floors, "<= 3")

    def _by_git(self, work: Path) -> None:
        """Do in an ordinary clone, and towards a copy, what the sync will do."""
        copy = self._folder / "copy.git"
        if not copy.exists():
            run_git(self._folder, "clone", "-q", "--bare", str(self._remote), str(copy))
        run_git(work, "pull", "-q", "--no-rebase", str(self._large.path), BRANCH)
        run_git(work, "pull", "-q", "--no-rebase", str(self._remote), BRANCH)
        run_git(work, "push", "-q", str(copy), f"HEAD:{BRANCH}")

    def bundle(self) -> None:
        """A bundle of a thousand messages, against git's own of the same."""
        tip = self._large.status().tip
        self._large.agent("builder").send_many([draft(i) for i in range(_BUNDLED)])
        path, revisions = self._large.path, f"{tip}..{BRANCH}"
        file = self._folder / "new.bundle"
        words = ("bundle", "create", "-q", f"{file}.git", revisions)
        for how, program, must in (("", git(), "<= 3"), (", without git", None, "")):
            make = partial(self._large.create_bundle, file, since=tip, git=program)
            ours, floors = [], []
            for _ in range(9):
                ours.append(timed(make))
                floors.append(timed(lambda: run_git(path, *words)))
            name = f"bundle of {_BUNDLED:,} messages{how} / git's"
            self._show(name, ours, floors, must)

    def apply(self) -> None:
        """A bundle of a thousand messages applied, against git fetch from the same."""
        url, file = str(self._remote), self._folder / "more.bundle"
        plain = self._folder / "plain.git"
        self._large.sync(git=git())
        run_git(self._folder, "clone", "-q", "--bare", url, str(plain))
        other = Mailbox.open(self._folder / "other")
        other.sync(git=git())
        builder = self._large.agent("builder")
        ours, floors = [], []
        for turn in range(5):
            tip, first = self._large.status().tip, turn * _BUNDLED
            builder.send_many([draft(first + i) for i in range(_BUNDLED)])
            self._large.create_bundle(file, since=tip, git=git())
            ours.append(timed(lambda: other.apply_bundle(file)))
            words = ("fetch", "-q", str(file), f"{BRANCH}:{BRANCH}")
            floors.append(timed(partial(run_git, plain, *words)))
        other.close()
        name = f"bundle of {_BUNDLED:,} messages applied / git fetch"
        self._show(name, ours, floors, "")

    def verify(self) -> None:
        """A whole history proven, against git log --raw and git fsck of the same."""
        path = self._large.path
        words = ("-m", "gitmail", "--json", "--mailbox", str(path), "verify")
        ours = timed(lambda: run(sys.executable, *words))
        floor = timed(lambda: run_git(path, "log", "--raw", BRANCH))
        floor += timed(lambda: run_git(path, "fsck", "--full"))
        self._show(f"verify of {self._size} / git log, fsck", [ours], [floor], "<= 5")
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{'  most memory of any process so far':<52} {used:>9.0f} MB   <= 500 MB"
        )


def post(mailbox: Mailbox, number: int) -> None:
    """Send a hundred messages, each in its own commit."""
    agent = mailbox.agent("builder")
    for each in range(_NEW):
        agent.send(**draft(number * _NEW + each))  # type: ignore[arg-type]


def timed(turn: Callable[[], object]) -> float:
    """Return the milliseconds that something takes."""
    start = time.perf_counter()
    turn()
    return (time.perf_counter() - start) * 1e3


def run_git(folder: Path, *words: str) -> None:
    """Run git as a person would, with an identity."""
    who = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "gc.auto=0")
    run(str(shutil.which("git")), "-C", str(folder), *who, *words)


def run(*words: str) -> None:
    """Run a program without its output."""
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
