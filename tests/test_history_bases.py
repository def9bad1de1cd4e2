"""Merge bases are those that git finds, whatever the graph and the clocks."""

import random
from pathlib import Path

import pytest

from gitmail.store.history import bases_below, is_ancestor, merge_bases
from gitmail.store.repository import Repository
from tests.helpers import git
from tests.processes import needs_git
from tests.test_lineage import Planned, make

pytestmark = needs_git
COMMITS = 16


def graph(pick: random.Random, *, is_in_order: bool) -> list[Planned]:
    """Return commits with up to two of the six before them as parents."""
    plans = []
    for number in range(COMMITS):
        before = range(max(number - 6, 0), number)
        few = [0, 1, 1] if number < 3 else [1, 1, 2, 2]
        parents = pick.sample(before, min(pick.choice(few), len(before)))
        time = number if is_in_order else pick.randrange(8)
        plans.append(Planned(tuple(parents), time, {"a": str(number)}))
    return plans


@pytest.mark.parametrize("is_in_order", [True, False], ids=["in order", "at odds"])
@pytest.mark.parametrize("seed", range(8))
def test_the_bases_are_those_of_git(
    tmp_path: Path, seed: int, *, is_in_order: bool
) -> None:
    """For two commits, and for one and what a merge of two others would have."""
    pick = random.Random(seed)  # noqa: S311 - the same graphs in each run
    commits = make(tmp_path, graph(pick, is_in_order=is_in_order))
    repository = Repository(tmp_path)
    try:
        for count in (2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3):
            some = pick.choices(commits, k=count)
            # It says so by its exit code where there is none.
            expected = git(tmp_path, "merge-base", "--all", *some, check=False).split()

            assert merge_bases(repository, *some) == sorted(expected)
            assert is_ancestor(repository, *some[:2]) == (
                some[0] in git(tmp_path, "rev-list", some[1]).split()
            )
            if count == 2:
                ours = {*git(tmp_path, "rev-list", some[1]).split()}
                found = bases_below(repository, some[1], some[0], ours.__contains__)
                assert found == sorted(expected)
    finally:
        repository.close()


def test_who_merged_again_and_again_has_one_base(tmp_path: Path) -> None:
    """However many commits of ours the other history has taken in, the last counts."""
    plans = [Planned((), 0, {"a": "0"})]
    theirs = 0
    for number in range(1, 40, 2):
        plans.append(Planned((max(number - 2, 0),), number, {"a": str(number)}))
        plans.append(Planned((theirs, number), number + 1, {"a": str(number)}))
        theirs = number + 1
    commits = make(tmp_path, plans)
    repository = Repository(tmp_path)
    try:
        ours, other = commits[39], commits[38]
        known = {*git(tmp_path, "rev-list", ours).split()}

        assert bases_below(repository, ours, other, known.__contains__) == [commits[37]]
    finally:
        repository.close()
