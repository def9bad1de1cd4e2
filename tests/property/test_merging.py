"""Merging gives one result, whichever way it is come by, and loses nothing."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.records.names import CommitId
from gitmail.records.paths import Family, parse_path
from gitmail.store.history import merge_bases
from gitmail.store.repository import Repository
from tests.clones import bring_objects, integrate, merge, merged, tip, tree_of, twin
from tests.indexes import contents, contents_made_anew
from tests.property.clone_work import (
    VERBS,
    Expected,
    Ticking,
    Work,
    by_hand,
    found_in,
    ids,
    start,
    work,
)

# Finding the smallest failing case takes longer than the tests' common limit.
pytestmark = pytest.mark.timeout(600)
ONE_OF_TWO = (Family.RECEIPT, Family.COPY, Family.PROFILE)
picks = st.randoms(use_true_random=False)
FOLDER = "2026-11/30/14"


@contextmanager
def clones() -> Iterator[list[Mailbox]]:
    """Make three clones of a mailbox with a little of everything."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp())
        stack.callback(shutil.rmtree, folder)
        first = stack.enter_context(Mailbox.init(folder / "0", clock=Ticking(0)))
        start(first)
        others = [twin(first, folder / str(n), Ticking(n)) for n in (1, 2)]
        yield [first, *map(stack.enter_context, others)]


def diverge(boxes: list[Mailbox], pick: random.Random, verbs: tuple[Work, ...]) -> None:
    """Work in all clones, which hear of each other at times."""
    for _ in range(pick.randrange(2, 12)):
        if pick.random() < 0.25:
            integrate(*pick.sample(boxes, 2))
        else:
            box = pick.choice(boxes)
            box._clock.jump(pick)  # type: ignore[attr-defined]
            work(box, pick, verbs)


@contextmanager
def histories(boxes: list[Mailbox]) -> Iterator[tuple[Repository, list[CommitId]]]:
    """Open a repository that has the objects of all clones, with their tips."""
    for other in boxes[1:]:
        bring_objects(other.path, boxes[0].path)
    repository = Repository(boxes[0].path / ".git")
    try:
        yield repository, [*map(tip, boxes)]
    finally:
        repository.close()


@settings(max_examples=settings().max_examples // 8)
@given(picks)
def test_what_verbs_wrote_is_all_there_whatever_is_merged_first(
    pick: random.Random,
) -> None:
    """In each order and grouping the tree is one, and as its commits say (I6)."""
    with clones() as boxes:
        diverge(boxes, pick, VERBS)
        with histories(boxes) as (repository, tips):
            expected = vars_of(Expected(repository, tips))
            trees = set()
            for a, b, c in permutations(tips):
                two = merged(repository, a, b)
                trees.add(repository.commit(merged(repository, two, c)).tree)
                trees.add(repository.commit(merged(repository, c, two)).tree)
                across = merged(repository, two, merged(repository, b, c))
                trees.add(repository.commit(across).tree)
            assert len(trees) == 1
            assert vars_of(found_in(repository, trees.pop())) == expected


def vars_of(expected: Expected) -> dict[str, object]:
    """Return what is expected, to be compared."""
    names = ("versions", "receipts", "messages", "profiles")
    return {name: getattr(expected, name) for name in names}


@settings(max_examples=settings().max_examples // 8)
@given(picks)
def test_what_nobody_should_have_written_merges_the_same_from_both_sides(
    pick: random.Random,
) -> None:
    """Whatever people commit by hand; and merging once more changes nothing."""
    with clones() as boxes:
        diverge(boxes, pick, (*VERBS, *[by_hand] * len(VERBS)))
        with histories(boxes) as (repository, tips):
            for ours, theirs in permutations(tips, 2):
                found = merge(repository, ours, theirs)
                back = merge(repository, theirs, ours)
                assert (found.tree, found.notes) == (back.tree, back.notes)
                both = merged(repository, ours, theirs)
                assert lost(repository, ours, theirs, both) == []
                again = merge(repository, both, merged(repository, theirs, ours))
                assert again.tree in (found.tree, repository.commit(both).tree)


def lost(
    repository: Repository, ours: CommitId, theirs: CommitId, both: CommitId
) -> list[str]:
    """Return paths whose file on a side is neither there nor kept elsewhere.

    A side's file counts where no common ancestor had it. Of receipts, copies and
    profiles one is made of two, which the rules' own tests look at.
    """
    bases = merge_bases(repository, ours, theirs)
    known = {each for base in bases for each in files(repository, base)}
    there = {*files(repository, both)}
    kept = {blob for _, blob in there}
    return [
        path
        for path, blob in {*files(repository, ours), *files(repository, theirs)} - known
        if blob not in kept
        and parse_path(path).family not in ONE_OF_TWO
        # What a common ancestor had, a side has seen: it was set over, or removed.
        and ids(repository, path, blob)
        - in_force(repository, path, both)
        - set().union(*(in_force(repository, path, each) for each in bases))
    ]


def files(repository: Repository, commit: CommitId) -> Iterator[tuple[str, str]]:
    """Yield path and blob of each regular file of a commit."""
    for change in repository.changes(None, repository.commit(commit).tree):
        if change.new and change.is_plain:
            yield change.path, change.new


def in_force(repository: Repository, path: str, commit: CommitId) -> set[str]:
    """Return the versions that a path of memory has in a commit."""
    return ids(repository, path, dict(files(repository, commit)).get(path))


@settings(max_examples=settings().max_examples // 10)
@given(picks)
def test_clones_that_hear_of_each_other_come_to_one_tree(pick: random.Random) -> None:
    """And their indexes say the same as ones made anew (I1)."""
    with clones() as boxes:
        diverge(boxes, pick, (*VERBS, by_hand))
        a, b, c = pick.sample(boxes, 3)
        for into, out in ((a, b), (a, c), (b, a), (c, a)):
            integrate(into, out)
        assert len({*map(tree_of, boxes)}) == len({*map(tip, boxes)}) == 1
        for box in boxes:
            assert contents(box) == contents_made_anew(box)
