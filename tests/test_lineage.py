"""The order of commits, and what each did to memory, whatever clocks and merges say."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.records.names import CommitId
from gitmail.store.lineage import Activity, Lineage
from gitmail.store.repository import Repository
from tests.helpers import SettableClock, git
from tests.indexes import contents, contents_made_anew
from tests.mailboxes import copied, reopened
from tests.processes import needs_git

START_S = 1_796_000_000
OWNER, STATE = "memory/facts/parser/owner.md", "memory/facts/parser/state.md"
ELSEWHERE = "messages/a.md"
ODD = "memory/facts/a.txt"
"""A path below `memory/` that no record has."""


@dataclass(frozen=True)
class Planned:
    """A commit to be made.

    Attributes:
        parents: Their places in the list of commits, all before this one.
        time: Seconds after `START_S`.
        files: All that its tree holds.
    """

    parents: tuple[int, ...]
    time: int
    files: dict[str, str]


def make(folder: Path, plans: Sequence[Planned]) -> list[CommitId]:
    """Make commits in a new repository, with plain git, and return their ids."""
    git(folder, "init", "-q", "--bare", ".")
    marks = folder / "marks"
    stream = "".join(_stream(number, plan) for number, plan in enumerate(plans))
    subprocess.run(
        ["git", "fast-import", "--quiet", f"--export-marks={marks}"],
        cwd=folder,
        input=stream.encode(),
        check=True,
        timeout=30,
    )
    rows = dict(line.split() for line in marks.read_text("ascii").splitlines())
    return [CommitId(rows[f":{number + 1}"]) for number in range(len(plans))]


def _stream(number: int, plan: Planned) -> str:
    lines = [f"commit refs/heads/c{number}", f"mark :{number + 1}"]
    lines += [f"committer author-{number % 3} <a@b> {START_S + plan.time} +0000"]
    message = f"Commit {number}"  # so that no two are the same
    lines += [f"data {len(message)}", message]
    words = ["from", *["merge"] * len(plan.parents)]
    lines += [f"{w} :{p + 1}" for w, p in zip(words, plan.parents, strict=False)]
    lines += ["deleteall"]
    for path, text in plan.files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    return "\n".join(lines) + "\n\n"


def lineage(
    folder: Path, tip: CommitId, known: Sequence[CommitId] = ()
) -> tuple[list[Activity], set[CommitId]]:
    """Return what a lineage yields, and the known commits that it found."""
    repository = Repository(folder)
    try:
        found = Lineage(repository, tip, known.__contains__, lambda *_: None)
        return [*found.oldest_first()], found.known
    finally:
        repository.close()


def ancestors(plans: Sequence[Planned], number: int) -> set[int]:
    """Return the places of a commit and of all that it stands on."""
    found, todo = set(), [number]
    while todo:
        each = todo.pop()
        if each not in found:
            found.add(each)
            todo += plans[each].parents
    return found


def expected_changes(plans: Sequence[Planned], number: int) -> dict[str, str | None]:
    """Return the paths of memory that a commit has otherwise than all its parents."""
    now = plans[number].files
    before = [plans[parent].files for parent in plans[number].parents] or [{}]
    return {
        path: now.get(path)
        for path in (OWNER, STATE)
        if all(each.get(path) != now.get(path) for each in before)
    }


_files = st.fixed_dictionaries(
    {},
    optional={
        OWNER: st.sampled_from("ab"),
        STATE: st.sampled_from("ab"),
        ELSEWHERE: st.sampled_from("ab"),
        ODD: st.sampled_from("ab"),
    },
)


@st.composite
def histories(draw: st.DrawFn) -> list[Planned]:
    """Return commits with branches, merges and clocks that disagree, and one tip."""
    plans: list[Planned] = []
    for number in range(draw(st.integers(1, 12))):
        earlier = st.lists(
            st.integers(0, number - 1), min_size=1, max_size=2, unique=True
        )
        parents = tuple(draw(earlier)) if number else ()
        plans.append(Planned(parents, draw(st.integers(-3, 3)), draw(_files)))
    heads = {*range(len(plans))} - {p for plan in plans for p in plan.parents}
    return [*plans, Planned(tuple(sorted(heads)), draw(st.integers(-3, 3)), {})]


@needs_git
@given(histories(), st.data())
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_no_commit_stands_before_one_that_it_stands_on(
    tmp_path_factory: pytest.TempPathFactory,
    plans: list[Planned],
    data: st.DataObject,
) -> None:
    """Whatever the clocks say, and from whatever is known already."""
    folder = tmp_path_factory.mktemp("lineage")
    commits = make(folder, plans)
    number = data.draw(st.none() | st.integers(0, len(plans) - 2))
    old = ancestors(plans, number) if number is not None else set()

    found, known = lineage(folder, commits[-1], [commits[each] for each in old])

    places = {each.commit: place for place, each in enumerate(found)}
    assert len(places) == len(found)
    assert {*places} == {c for n, c in enumerate(commits) if n not in old}
    for each, plan in enumerate(plans):
        if each not in old:
            for parent in {*plan.parents} - old:
                assert places[commits[parent]] < places[commits[each]]
    assert known == {
        commits[parent]
        for each, plan in enumerate(plans)
        for parent in plan.parents
        if parent in old and each not in old
    }


@needs_git
@given(histories())
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_a_commit_did_what_it_has_otherwise_than_all_its_parents(
    tmp_path_factory: pytest.TempPathFactory, plans: list[Planned]
) -> None:
    """A merge that takes one side did nothing; one that takes neither, or both, did."""
    folder = tmp_path_factory.mktemp("lineage")
    commits = make(folder, plans)
    repository = Repository(folder)

    found, _ = lineage(folder, commits[-1])

    for each in found:
        number = commits.index(each.commit)
        assert each.author == f"author-{number % 3}"
        assert each.time == START_S + plans[number].time
        assert len({path for path, _ in each.memory}) == len(each.memory)
        assert {
            path: repository.blob(blob).decode() if blob else None
            for path, blob in each.memory
        } == expected_changes(plans, number)
    repository.close()


@needs_git
def test_commits_are_in_the_order_that_git_shows_them_in(tmp_path: Path) -> None:
    """Of two branches the older commit comes first, if no clock is wrong."""
    plans = [
        Planned((), 0, {OWNER: "a"}),
        Planned((0,), 1, {OWNER: "b"}),
        Planned((0,), 2, {OWNER: "c"}),
        Planned((2,), 3, {OWNER: "d"}),
        Planned((1,), 4, {OWNER: "e"}),
        Planned((3, 4), 5, {OWNER: "d"}),
    ]
    commits = make(tmp_path, plans)

    found, _ = lineage(tmp_path, commits[-1])

    assert [each.commit for each in found] == commits
    shown = git(tmp_path, "rev-list", "--date-order", "--reverse", commits[-1])
    assert shown.split() == commits


@needs_git
def test_nothing_is_new_where_the_tip_is_known(tmp_path: Path) -> None:
    """An index at the tip has nothing to take in."""
    (commit,) = make(tmp_path, [Planned((), 0, {OWNER: "a"})])

    assert lineage(tmp_path, commit, [commit]) == ([], {commit})


@needs_git
def test_what_is_no_regular_file_counts_as_removed(tmp_path: Path) -> None:
    """Nothing of memory stands there any more (DESIGN 11)."""
    (commit,) = make(tmp_path, [Planned((), 0, {OWNER: "a"})])
    tree = git(tmp_path, "ls-tree", "-r", commit).replace("100644", "120000")
    stream = f"commit refs/heads/link\ncommitter a <a@b> {START_S + 1} +0000\ndata 0\n"
    stream += f"from {commit}\nM 120000 {tree.split()[2]} {OWNER}\n\n"
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        cwd=tmp_path,
        input=stream.encode(),
        check=True,
        timeout=30,
    )
    tip = CommitId(git(tmp_path, "rev-parse", "link").strip())

    found, _ = lineage(tmp_path, tip, [commit])

    assert [each.memory for each in found] == [((OWNER, None),)]


def told(mailbox: Mailbox) -> list[tuple[str, str | None]]:
    """Return commit and revision of each version of the slot, newest first."""
    found = mailbox.agent("lead").memory.history("fact", "parser", "owner")
    return [(each.commit, each.revision) for each in found.revisions]


@needs_git
@pytest.mark.parametrize("seconds", [-300, -1, 0, 1, 300])
@pytest.mark.parametrize("count", [1, 3])
def test_a_merge_leaves_one_order_however_the_index_came_about(
    mailbox: Mailbox, tmp_path: Path, clock: SettableClock, seconds: int, count: int
) -> None:
    """Its branches are of the same second, or the clock of one is behind (I1)."""
    mailbox.register("lead")
    mailbox.agent("lead").memory.set("fact", "parser", "owner", "nobody")
    clock.advance(minutes=10)
    there = SettableClock(clock.now)
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    there.advance(seconds=seconds)
    for number in range(count):
        mailbox.agent("builder").memory.set("fact", "parser", "owner", f"here {number}")
        mailbox.agent("builder").memory.add(f"A note from here: {number}.")
    assert contents(mailbox) == contents_made_anew(mailbox)
    with Mailbox.open(twin, clock=there) as other:
        for number in range(count):
            other.agent("reviewer").memory.set("fact", "parser", "state", f"{number}")
            other.agent("reviewer").memory.set("fact", "parser", "owner", "there")
            other.agent("reviewer").memory.forget("fact", "parser", "owner")
        other.agent("reviewer").memory.set("fact", "parser", "owner", "nobody")
        theirs = told(other)[0]
    merge_with(mailbox.path, twin, tmp_path / "clone")

    stepwise, now = contents(mailbox), told(mailbox)
    assert stepwise == contents_made_anew(mailbox)
    assert theirs in now
    with reopened(mailbox, clock) as other:
        assert told(other) == now
        assert contents(other) == stepwise


def merge_with(mailbox: Path, other: Path, work: Path) -> None:
    """Merge another copy's mailbox into one with plain git; ours wins."""
    git(work.parent, "clone", "-q", str(mailbox), str(work))
    words = ["pull", "-q", "--no-rebase", "--no-edit", "-X", "ours"]
    git(work, *words, str(other), "gitmail")
    git(work, "push", "-q", "origin", "HEAD:gitmail")
