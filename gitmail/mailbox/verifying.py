"""Proving a history: that nothing was done to it behind gitmail's back (V2).

Commit by commit, parents first. Each object is read once, where it is new, and what is
kept of it does not grow with what messages say.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from gitmail.errors import CorruptMailboxError
from gitmail.mailbox.judging import Judge
from gitmail.mailbox.past import Past
from gitmail.mailbox.spans import parse_span
from gitmail.records.names import CommitId
from gitmail.records.paths import Family
from gitmail.records.rule import Rule
from gitmail.records.rules import Problem
from gitmail.store.checking import CheckedRepository, Scratch, Walk
from gitmail.store.keeper import Progress
from gitmail.store.refs import REF
from gitmail.store.repository import Commit
from gitmail.store.store import Store

MOST_FINDINGS = 1000
"""Findings that are named; all are counted."""
_PROGRESS_STEP = 1000
_CLOCK_SLACK_S = 3600
"""By how much the clocks of two machines may disagree."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """That something was done that may not be.

    Attributes:
        rule: The rule's name, which is stable.
        author: Who made the commit, as it says itself.
        path: What it was done to; empty where it is the commit itself.
        detail: What is amiss, for people.
    """

    rule: Rule
    commit: CommitId
    author: str
    path: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What was looked at, and what was found.

    Attributes:
        tip: The last commit that was looked at.
        since: The commit from which on it was, None for all.
        record_count: Profiles and versions of memory.
        findings: The first that were found.
    """

    tip: CommitId
    since: CommitId | None
    commit_count: int
    message_count: int
    receipt_count: int
    record_count: int
    finding_count: int
    findings: tuple[Finding, ...]


def verify(store: Store, span: str | None) -> Verified:
    """Judge a history or a part of it.

    Args:
        span: A commit, or `A..B` for what B has and A has not, None for all.

    Raises:
        InvalidArgumentError: The span names no commit here.
        CorruptMailboxError: There is no branch, or what the span leaves out cannot be
            read.
    """
    tip = store.branch.read()
    if tip is None:
        raise CorruptMailboxError(f"{REF} is missing", str(store.root))
    repository = CheckedRepository(store.git_dir)
    try:
        start, since = parse_span(span, tip, repository.find)
        hidden = {c.id for c in repository.walk(since)} if since else set()
    finally:
        repository.close()
    return verify_new(
        store.git_dir,
        start,
        hidden.__contains__,
        since=since,
        progress=store.progress,
    )


def verify_new(
    git_dir: Path,
    start: CommitId,
    is_known: Callable[[CommitId], bool],
    *,
    since: CommitId | None,
    incoming: Path | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Judge all that a commit stands on, but what is known.

    Args:
        is_known: Tells of a commit that it is left out, with all that it stands on.
        since: The latest commit that is known, None where none is.
        incoming: A second folder of objects, of what is not in the mailbox yet.
    """
    repository = CheckedRepository(git_dir, incoming=incoming)
    scratch = Scratch(git_dir, incoming=incoming)
    try:
        run = _Run(repository, scratch, since, progress)
        return run.over(start, is_known)
    finally:
        repository.close()
        scratch.close()


class _Run:
    def __init__(
        self,
        repository: CheckedRepository,
        scratch: Scratch,
        since: CommitId | None,
        progress: Progress | None,
    ) -> None:
        self._repository = repository
        self._scratch = scratch
        self._since = since
        self._progress = progress
        self._past = Past(repository, since)
        self._counts = dict.fromkeys(Family, 0)
        self._findings: list[Finding] = []
        self._finding_count = 0

    def over(self, start: CommitId, is_known: Callable[[CommitId], bool]) -> Verified:
        walk = Walk(self._repository, start, is_known, self._report)
        for key, what in walk.broken.items():
            self._add(key, "", "", (Rule.OBJECT, what))
        followed = walk.followed()
        roots = [key for key, node in walk.nodes.items() if not node.parents]
        strange = {*roots} if self._since else {*roots[1:]}
        for number, (key, node) in enumerate(walk.nodes.items(), 1):
            commit = self._repository.commit(key)
            if key in strange:
                problem = Rule.ROOT, "begins a history of its own"
                self._add(key, commit.author, "", problem)
            self._judge_time(commit, followed.get(key, node.time))
            if not walk.broken.keys() & node.parents:
                self._judge(commit)
            self._report("commits checked", number)
        counts = self._counts
        return Verified(
            tip=start,
            since=self._since,
            commit_count=len(walk.nodes),
            message_count=counts[Family.MESSAGE],
            receipt_count=counts[Family.RECEIPT],
            record_count=counts[Family.PROFILE] + counts[Family.MEMORY],
            finding_count=self._finding_count,
            findings=tuple(self._findings),
        )

    def _judge(self, commit: Commit) -> None:
        def tell(path: str, problem: Problem) -> None:
            self._add(commit.id, commit.author, path, problem)

        judge = Judge(self._past, commit, tell)
        judge.run(self._scratch)
        for family, count in judge.counts.items():
            self._counts[family] += count

    def _judge_time(self, commit: Commit, followed_s: int) -> None:
        ahead_s = commit.time - followed_s
        if ahead_s > _CLOCK_SLACK_S:
            what = f"is dated {timedelta(seconds=ahead_s)} after what stands on it"
            self._add(commit.id, commit.author, "", (Rule.CLOCK, what))

    def _add(self, commit: CommitId, author: str, path: str, problem: Problem) -> None:
        self._finding_count += 1
        if len(self._findings) < MOST_FINDINGS:
            rule, detail = problem
            finding = Finding(
                rule=rule, commit=commit, author=author, path=path, detail=detail
            )
            self._findings.append(finding)

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)
