"""Where histories parted: the merge bases of commits.

As git's own `merge-base --all` (git's commit-reach.c describes the way): paint the
histories from the latest commit down until all that is left is painted twice.
"""

import heapq
from collections.abc import Callable, Sequence

from gitmail.records.names import CommitId
from gitmail.store.repository import Repository

_OURS, _THEIRS, _STALE = 1, 2, 4
_BOTH = _OURS | _THEIRS
_FEW = 8


def merge_bases(
    repository: Repository, ours: CommitId, *theirs: CommitId
) -> list[CommitId]:
    """Return the best common ancestors, sorted; none where there is no common one.

    Args:
        ours: A commit.
        theirs: Another one; of several, what a merge of all of them would have.
    """
    return _best(repository, _common(repository, ours, *theirs))


def bases_below(
    repository: Repository,
    ours: CommitId,
    theirs: CommitId,
    is_known: Callable[[CommitId], bool],
) -> list[CommitId]:
    """Return the merge bases of two commits, where somebody knows the one's history.

    Only the other history is read, down to what is known: where an index has the one,
    that is the smaller half of the work or less.

    Args:
        is_known: Tells whether a commit is in the history of ours.
    """
    todo, seen = [theirs], {theirs}
    known = []
    while todo:
        key = todo.pop()
        if is_known(key):
            known.append(key)
            continue
        new = {*repository.commit(key).parents} - seen
        seen |= new
        todo += new
    if len(known) > _FEW:  # comparing each with each would take longer than all of it
        return merge_bases(repository, ours, theirs)
    return _best(repository, known)


def is_ancestor(repository: Repository, old: CommitId, new: CommitId) -> bool:
    """Tell whether one commit is in the history of another."""
    return old in _common(repository, old, new)


def ahead_and_behind(
    repository: Repository, ours: CommitId, theirs: CommitId
) -> tuple[int, int]:
    """Return how many commits only one history has, and only the other."""
    if ours == theirs:
        return 0, 0
    painting = _Painting(repository, ours, theirs)
    painting.paint_all()
    painting.settle()
    colors = list(painting.colors.values())
    return colors.count(_OURS), colors.count(_THEIRS)


def _best(repository: Repository, found: Sequence[CommitId]) -> list[CommitId]:
    """Return those that no other one has in its history, sorted.

    Clocks that disagree can bring an ancestor of another one up.
    """
    return sorted(
        each
        for each in found
        if not any(
            is_ancestor(repository, each, other) for other in found if other != each
        )
    )


def _common(
    repository: Repository, ours: CommitId, *theirs: CommitId
) -> list[CommitId]:
    if ours in theirs:
        return [ours]
    painting = _Painting(repository, ours, *theirs)
    painting.paint_all()
    return [each for each in painting.found if not painting.colors[each] & _STALE]


class _Painting:
    """Two histories that are being painted.

    Attributes:
        colors: Of the commits that were seen.
        found: Those that got both colours first.
    """

    def __init__(
        self, repository: Repository, ours: CommitId, *theirs: CommitId
    ) -> None:
        self._repository = repository
        self.colors = {ours: _OURS, **dict.fromkeys(theirs, _THEIRS)}
        self.found: dict[CommitId, None] = {}
        self._times = {each: repository.commit(each).time for each in self.colors}
        self._queue = [(-time, each) for each, time in self._times.items()]
        heapq.heapify(self._queue)
        self._queued = {*self.colors}
        self._fresh = len(self._queue)  # of the queue, how many are not stale

    def paint_all(self) -> None:
        """Paint until all that is left has both colours."""
        while self._fresh:
            self._step()

    def settle(self) -> None:
        """Go on until no commit that has one colour would get the other one as well.

        Commits of the same second may have been painted before those on top of them.
        """
        one = (time for key, time in self._times.items() if self.colors[key] < _BOTH)
        oldest = min(one, default=None)
        while oldest is not None and self._queue and -self._queue[0][0] >= oldest:
            self._step()

    def _step(self) -> None:
        _, key = heapq.heappop(self._queue)
        self._queued.discard(key)
        colors = self.colors[key]
        self._fresh -= not colors & _STALE
        if colors & _BOTH == _BOTH:
            if not colors & _STALE:
                self.found[key] = None
            colors |= _STALE
        for parent in self._repository.commit(key).parents:
            self._pass_on(colors, parent)

    def _pass_on(self, colors: int, parent: CommitId) -> None:
        before = self.colors.get(parent, 0)
        after = before | colors
        if after == before:
            return
        self.colors[parent] = after
        if parent in self._queued:
            self._fresh -= bool(after & _STALE and not before & _STALE)
            return
        self._queued.add(parent)
        self._fresh += not after & _STALE
        if parent not in self._times:
            self._times[parent] = self._repository.commit(parent).time
        heapq.heappush(self._queue, (-self._times[parent], parent))
