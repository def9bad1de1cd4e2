"""Proving a history: that nothing was done to it behind gitmail's back (V2).

Commit by commit, parents first. Each object is read once, where it is new, and what is
kept of it does not grow with what messages say.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gitmail.errors import CorruptMailboxError
from gitmail.mailbox.bench import PATIENCE_S, Judged, judge_all
from gitmail.mailbox.checks import number
from gitmail.mailbox.judging import What
from gitmail.mailbox.past import Past
from gitmail.mailbox.spans import parse_span
from gitmail.records.names import CommitId
from gitmail.records.paths import Family
from gitmail.records.rule import REMARKS, Rule
from gitmail.records.rules import CLOCK_SLACK, Problem
from gitmail.store.checking import CheckedRepository, Node, Walk
from gitmail.store.keeper import Progress
from gitmail.store.refs import REF
from gitmail.store.store import Store

MOST_FINDINGS = 1000
"""Findings that are named; all are counted."""
_MOST_PROCESSES = 64
_PROGRESS_STEP = 1000
_CLOCK_SLACK_S = int(CLOCK_SLACK.total_seconds())
_FUTURE_S = 86_400
"""How far a wrong clock may run ahead. What is dated later than that would win, for
longer, against all that is said after it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """That something was done that may not be, or should be known.

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
        remarks: The first of what should be known and is nothing amiss.
    """

    tip: CommitId
    since: CommitId | None
    commit_count: int
    message_count: int
    receipt_count: int
    record_count: int
    finding_count: int
    findings: tuple[Finding, ...]
    remark_count: int = 0
    remarks: tuple[Finding, ...] = ()


def verify(store: Store, span: str | None, processes: int, now: datetime) -> Verified:
    """Judge a history or a part of it.

    Args:
        processes: How many may work at it.
        span: A commit, or `A..B` for what B has and A has not, None for all.
        now: The present.

    Raises:
        InvalidArgumentError: The span names no commit here.
        CorruptMailboxError: There is no branch, or what the span leaves out cannot be
            read.
    """
    tip = store.branch.read()
    if tip is None:
        raise CorruptMailboxError(f"{REF} is missing", str(store.root))
    number("processes", processes, _MOST_PROCESSES)
    with closing(CheckedRepository(store.git_dir)) as repository:
        start, since = parse_span(span, tip, repository.find)
        hidden = {c.id for c in repository.walk(since)} if since else set()
    return verify_new(
        store.git_dir,
        start,
        hidden.__contains__,
        since=since,
        now=now,
        progress=store.progress,
        processes=processes,
    )


def verify_new(
    git_dir: Path,
    start: CommitId,
    is_known: Callable[[CommitId], bool],
    *,
    since: CommitId | None,
    now: datetime,
    incoming: Path | None = None,
    progress: Progress | None = None,
    processes: int = 1,
    patience_s: float = PATIENCE_S,
) -> Verified:
    """Judge all that a commit stands on, but what is known.

    Args:
        is_known: Tells of a commit that it is left out, with all that it stands on.
        since: The latest commit that is known, None where none is.
        now: The present, which nothing may be dated after.
        incoming: A second folder of objects, of what is not in the mailbox yet.
        processes: How many may work at it.
        patience_s: How long one does before others are started.
    """
    with closing(CheckedRepository(git_dir, incoming=incoming)) as repository:
        run = _Run(repository, since, int(now.timestamp()), progress)
        walk = run.walk(start, is_known)
        keys = [
            key
            for key, node in walk.nodes.items()
            if not walk.broken.keys() & node.parents
        ]
        found = judge_all(git_dir, incoming, keys, processes, patience_s)
        for number, judged in enumerate(found, 1):
            run.take(number, judged)
        return run.result(start, len(walk.nodes))


class _Run:
    """One run over one history.

    Args:
        repository: Where the objects are.
        since: The commit from which on commits are judged, None for all.
        now_s: The present, in seconds since 1970.
    """

    def __init__(
        self,
        repository: CheckedRepository,
        since: CommitId | None,
        now_s: int,
        progress: Progress | None,
    ) -> None:
        self._repository = repository
        self._since = since
        self._now_s = now_s
        self._progress = progress
        self._past = Past(repository, since)
        self._counts = dict.fromkeys(Family, 0)
        self._findings: list[Finding] = []
        self._finding_count = 0
        self._remarks: list[Finding] = []
        self._remark_count = 0

    def walk(self, start: CommitId, is_known: Callable[[CommitId], bool]) -> Walk:
        """Return the commits, of which those that cannot be judged are told."""
        walk = Walk(self._repository, start, is_known, self._report)
        for key, what in walk.broken.items():
            self._add(key, "", "", (Rule.OBJECT, what))
        roots = [key for key, node in walk.nodes.items() if not node.parents]
        for key in roots if self._since else roots[1:]:
            self._add_of(key, (Rule.ROOT, "begins a history of its own"))
        for key, node in walk.nodes.items():
            problem = self._time_problem(node, walk)
            if problem:
                self._add_of(key, problem)
        return walk

    def _time_problem(self, node: Node, walk: Walk) -> Problem | None:
        """Judge the time of a commit by the present and by what it stands on."""
        if node.time is None:
            return Rule.OBJECT, "is no commit as git writes them"
        ahead_s = node.time - self._now_s
        if ahead_s > _CLOCK_SLACK_S:
            rule = Rule.DATE if ahead_s > _FUTURE_S else Rule.CLOCK
            return rule, f"is dated {timedelta(seconds=ahead_s)} after the present"
        for parent in node.parents:
            time = self._time_of(parent, walk)
            # What is still to come, or has no time, is told of itself.
            if time is None or time - self._now_s > _CLOCK_SLACK_S:
                continue
            if time - node.time > _CLOCK_SLACK_S:
                gap = timedelta(seconds=time - node.time)
                author = self._repository.commit(parent).author
                what = f"is dated {gap} before {parent[:10]} by {author}, its parent"
                return Rule.CLOCK, what
        return None

    def _time_of(self, key: CommitId, walk: Walk) -> int | None:
        if key in walk.nodes:
            return walk.nodes[key].time
        try:
            return self._repository.time(key)
        except CorruptMailboxError:  # it is told of where it is judged
            return None

    def take(self, number: int, judged: Judged) -> None:
        """Take in what came of judging a commit, in the order of the history."""
        for family, count in judged.counts.items():
            self._counts[family] += count
        for what, path, blob, problem in judged.said:
            if what is What.GONE:
                self._past.has_gone(path, blob)
            elif what is What.PLACED:
                problem = self._twice(path, blob, judged.tree)  # noqa: PLW2901 - found
            is_back = what is What.AMISS_UNLESS_BACK and self._past.was_there(
                path, blob
            )
            if problem and not is_back:
                self._add(judged.commit, judged.author, path, problem)
        self._report("commits checked", number)

    def result(self, start: CommitId, commit_count: int) -> Verified:
        """Return what was found."""
        counts = self._counts
        return Verified(
            tip=start,
            since=self._since,
            commit_count=commit_count,
            message_count=counts[Family.MESSAGE],
            receipt_count=counts[Family.RECEIPT],
            record_count=counts[Family.PROFILE] + counts[Family.MEMORY],
            finding_count=self._finding_count,
            findings=tuple(self._findings),
            remark_count=self._remark_count,
            remarks=tuple(self._remarks),
        )

    def _twice(self, path: str, blob: str, tree: str) -> Problem | None:
        other = self._past.place(blob, path, tree)
        return (Rule.TWICE, f"the same message stands at {other}") if other else None

    def _add_of(self, key: CommitId, problem: Problem) -> None:
        self._add(key, self._repository.commit(key).author, "", problem)

    def _add(self, commit: CommitId, author: str, path: str, problem: Problem) -> None:
        rule, detail = problem
        listed = self._findings
        if rule in REMARKS:
            self._remark_count += 1
            listed = self._remarks
        else:
            self._finding_count += 1
        if len(listed) < MOST_FINDINGS:
            finding = Finding(
                rule=rule, commit=commit, author=author, path=path, detail=detail
            )
            listed.append(finding)

    def _report(self, what: str, count: int) -> None:
        if self._progress and count % _PROGRESS_STEP == 0:
            self._progress(what, count)
