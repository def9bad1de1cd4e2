"""Judging many commits, in as many processes as are worth it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gitmail.mailbox.judging import Judge, Said
from gitmail.mailbox.shelf import Shelf
from gitmail.records.names import CommitId
from gitmail.records.paths import Family
from gitmail.store.checking import CheckedRepository, Scratch

PATIENCE_S = 0.5
"""How long one process works before others are started; that takes half as long."""
_SLICE = 200


@dataclass(frozen=True, slots=True)
class Judged:
    """A commit and what came of judging it."""

    commit: CommitId
    author: str
    tree: str
    said: Sequence[Said]
    counts: dict[Family, int]


class Bench:
    """Judges commits of one repository.

    Args:
        git_dir: The mailbox's repository.
        incoming: A second folder of objects.
    """

    def __init__(self, git_dir: Path, incoming: Path | None) -> None:
        self._repository = CheckedRepository(git_dir, incoming=incoming)
        self._scratch = Scratch(git_dir, incoming=incoming)
        self._shelf = Shelf(self._repository)

    def close(self) -> None:
        """Close what is open."""
        self._repository.close()
        self._scratch.close()

    def judge(self, key: CommitId) -> Judged:
        """Judge a commit that can be read."""
        commit = self._repository.commit(key)
        judge = Judge(self._shelf, commit)
        judge.run(self._scratch)
        counts = {family: count for family, count in judge.counts.items() if count}
        return Judged(key, commit.author, commit.tree, judge.said, counts)


def judge_all(
    git_dir: Path,
    incoming: Path | None,
    keys: Sequence[CommitId],
    processes: int,
    patience_s: float,
) -> Iterator[Judged]:
    """Yield what comes of each commit, in order.

    Args:
        keys: The commits.
        processes: How many may work at once.
        patience_s: How long one does before there are more.
    """
    began, done = time.monotonic(), 0
    with closing(Bench(git_dir, incoming)) as bench:
        for key in keys:
            if processes > 1 and time.monotonic() - began >= patience_s:
                break
            done += 1
            yield bench.judge(key)
    rest = keys[done:]
    if not rest:
        return
    size = max(1, min(_SLICE, len(rest) // (4 * processes)))
    slices = [rest[start : start + size] for start in range(0, len(rest), size)]
    # Not `fork`: this process may have threads, and what they hold would be held.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - 10 ms
    from multiprocessing import get_context  # noqa: PLC0415 - 4 ms

    with ProcessPoolExecutor(
        min(processes, len(slices)), get_context("spawn"), _begin, (git_dir, incoming)
    ) as pool:
        for part in pool.map(_judge_slice, slices):
            yield from part


_OWN: list[Bench] = []
"""The bench of a process that works for another one."""


def _begin(git_dir: Path, incoming: Path | None) -> None:
    _OWN.append(Bench(git_dir, incoming))


def _judge_slice(keys: Sequence[CommitId]) -> list[Judged]:
    return [_OWN[0].judge(key) for key in keys]
