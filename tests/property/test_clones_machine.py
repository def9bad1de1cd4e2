"""Clones that lose sight of each other, and crash, come to one mailbox all the same."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gitmail import Mailbox
from gitmail.records.names import CommitId
from gitmail.store.store import Step
from tests.clones import integrate, tip, tree_of, twin
from tests.helpers import git
from tests.indexes import contents, contents_made_anew, delete_index
from tests.processes import assert_sound, needs_git
from tests.property.clone_work import (
    NAMES,
    VERBS,
    Expected,
    Ticking,
    Work,
    by_hand,
    found_in,
    start,
    work,
)

COUNT = 3
picks = st.randoms(use_true_random=False)
places = st.integers(0, COUNT - 1)


class Killed(BaseException):
    """That a process ended where it was."""


class ClonesMachine(RuleBasedStateMachine):
    """Verbs in three clones that hear of each other when nothing lies between them."""

    verbs: tuple[Work, ...] = VERBS

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clocks = [Ticking(number) for number in range(COUNT)]
        first = Mailbox.init(self.folder / "0", clock=self.clocks[0])
        start(first)
        others = (twin(first, self.folder / str(n), self.clocks[n]) for n in (1, 2))
        self.boxes = [first, *others]
        self.cut: set[frozenset[int]] = set()
        self.cursors: list[tuple[int, str, str, set[str]]] = []

    def teardown(self) -> None:
        """Let all hear of all, and compare them with each other and with what was."""
        self.cut.clear()
        for into, out in ((0, 1), (0, 2), (1, 0), (2, 0)):
            self.hear(into, out)
        assert len({*map(tip, self.boxes)}) == len({*map(tree_of, self.boxes)}) == 1
        self.compare()
        for box in self.boxes:
            assert contents(box) == contents_made_anew(box)
            assert box.status().uncommitted == ()
            box.close()
            self.look(box.path)
        shutil.rmtree(self.folder)

    def compare(self) -> None:
        """Compare the mailbox with what all commits say, and look from all cursors."""
        assert self.boxes[0].verify().findings == ()
        repository = self.boxes[0].store._repository
        expected = Expected(repository, [tip(self.boxes[0])])
        found = found_in(repository, tree_of(self.boxes[0]))
        for name in ("versions", "receipts", "messages", "profiles"):
            assert getattr(found, name) == getattr(expected, name)
        for _, cursor, agent, before in self.cursors:
            for box in self.boxes:  # a cursor is valid in every clone (I7)
                assert self.seen(box, agent, after=cursor) | before == self.seen(
                    box, agent
                )
                assert not self.seen(box, agent, after=cursor) & before

    def look(self, box: Path) -> None:
        """Have git look at a clone."""
        assert_sound(box)

    @staticmethod
    def seen(box: Mailbox, agent: str, **since: str) -> set[str]:
        """Return the ids of what was delivered to an agent, or of what is new."""
        page = box.agent(agent).poll(show="any", limit=200, **since)
        assert not page.has_more
        return {item.id for item in page.items}

    @rule(place=places, pick=picks)
    def act(self, place: int, pick: random.Random) -> None:
        """Do something in a clone, whose clock may be set meanwhile."""
        self.clocks[place].jump(pick)
        work(self.boxes[place], pick, self.verbs)

    @rule(into=places, out=places)
    def hear(self, into: int, out: int) -> None:
        """Bring what a clone has into another, and see that it is there."""
        if into == out or frozenset([into, out]) in self.cut:
            return
        here, there = self.boxes[into], self.boxes[out]
        integrate(here, there)
        assert integrate(here, there).step is Step.NOTHING
        assert here.store._repository.commit(tip(there))

    @rule(a=places, b=places)
    def part(self, a: int, b: int) -> None:
        """Cut two clones off from each other, or bring them back together."""
        self.cut ^= {frozenset([a, b])}

    @rule(place=places, name=st.sampled_from(NAMES))
    def mark(self, place: int, name: str) -> None:
        """Take a cursor, with what its agent has seen by then."""
        box = self.boxes[place]
        cursor = box.agent(name).poll(show="any", limit=200).cursor
        self.cursors.append((place, cursor, name, self.seen(box, name)))

    @rule(into=places, out=places, step=st.sampled_from(["objects", "branch"]))
    def crash(self, into: int, out: int, step: str) -> None:
        """End a merge before the branch has moved, or right after that."""
        here = self.boxes[into]
        if into == out or frozenset([into, out]) in self.cut:
            return

        move = here.store.branch.move

        def die(old: CommitId | None, new: CommitId) -> bool:
            if step == "branch":
                assert move(old, new)
            raise Killed

        here.store.branch.move = die  # type: ignore[method-assign]
        before = tip(here)
        try:
            integrate(here, self.boxes[out])
        except Killed:
            assert (tip(here) == before) is (step == "objects")
        self.reopen(into, is_index_lost=False)

    @rule(place=places, is_index_lost=st.booleans())
    def reopen(self, place: int, *, is_index_lost: bool) -> None:
        """Open a clone anew, at times without its index."""
        path = self.boxes[place].path
        self.boxes[place].close()
        if is_index_lost:
            delete_index(path)
        self.boxes[place] = Mailbox.open(path, clock=self.clocks[place], folds=False)

    @invariant()
    def nothing_is_quarantined(self) -> None:
        """What verbs write is always what it should be."""
        for box in self.boxes:
            assert box.status().quarantine == ()


class NonsenseMachine(ClonesMachine):
    """The same, with a person among them who commits what no verb writes."""

    verbs = (*VERBS, *[by_hand] * 3)

    def compare(self) -> None:
        """Leave it at that: what a person removed is gone, for one."""

    def look(self, box: Path) -> None:
        """Have git look at the objects; not all files may be put on the disk."""
        assert git(box, "fsck", "--strict", "--full", "--no-dangling") == ""

    def nothing_is_quarantined(self) -> None:
        """Leave it at that."""


for machine in (ClonesMachine, NonsenseMachine):
    machine.TestCase.settings = settings(
        max_examples=settings().max_examples // 12, stateful_step_count=25
    )
# Finding the smallest failing case takes longer than the tests' common limit.
_long = pytest.mark.timeout(600)
test_clones_converge_on_all_that_was_done = _long(needs_git(ClonesMachine.TestCase))
test_clones_converge_whatever_a_person_commits = _long(
    needs_git(NonsenseMachine.TestCase)
)
