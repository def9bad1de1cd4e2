"""Where histories parted: the merge bases of commits.

As git's own `merge-base --all` (git's commit-reach.c describes the way): paint the
histories from the latest commit down until all that is left is painted twice.
"""

import heapq

from gitmail.records.names import CommitId
from gitmail.store.repository import Repository

_OURS, _THEIRS, _STALE = 1, 2, 4
_BOTH = _OURS | _THEIRS


def merge_bases(
    repository: Repository, ours: CommitId, *theirs: CommitId
) -> list[CommitId]:
    """Return the best common ancestors, sorted; none where there is no common one.

    Args:
        ours: A commit.
        theirs: Another one; of several, what a merge of all of them would have.
    """
    found = _common(repository, ours, *theirs)
    if len(found) < 2:  # noqa: PLR2004 - one or none
        return found
    # Clocks that disagree can bring an ancestor of another one up.
    return sorted(
        each
        for each in found
        if not any(
            each in _common(repository, each, other) for other in found if other != each
        )
    )


def is_ancestor(repository: Repository, old: CommitId, new: CommitId) -> bool:
    """Tell whether one commit is in the history of another."""
    return old in _common(repository, old, new)


def ahead_and_behind(
    repository: Repository, ours: CommitId, theirs: CommitId
) -> tuple[int, int]:
    """Return how many commits only one history has, and only the other."""
    if ours == theirs:
        return 0, 0
    colors = list(_paint(repository, ours, theirs)[0].values())
    return colors.count(_OURS), colors.count(_THEIRS)


def _common(
    repository: Repository, ours: CommitId, *theirs: CommitId
) -> list[CommitId]:
    if ours in theirs:
        return [ours]
    paint, found = _paint(repository, ours, *theirs)
    return [each for each in found if not paint[each] & _STALE]


def _paint(
    repository: Repository, ours: CommitId, *theirs: CommitId
) -> tuple[dict[CommitId, int], list[CommitId]]:
    """Return the colours of the commits that were seen, and which had both first."""
    paint = {ours: _OURS, **dict.fromkeys(theirs, _THEIRS)}
    queue = [(-repository.commit(each).time, each) for each in paint]
    heapq.heapify(queue)
    queued = {*paint}
    fresh = len(queue)  # of the queue, how many are not stale
    found: dict[CommitId, None] = {}
    while fresh:
        _, key = heapq.heappop(queue)
        queued.discard(key)
        colors = paint[key]
        fresh -= not colors & _STALE
        if colors & _BOTH == _BOTH:
            if not colors & _STALE:
                found[key] = None
            colors |= _STALE
        for parent in repository.commit(key).parents:
            before = paint.get(parent, 0)
            after = before | colors
            if after == before:
                continue
            paint[parent] = after
            if parent in queued:
                fresh -= bool(after & _STALE and not before & _STALE)
                continue
            queued.add(parent)
            fresh += not after & _STALE
            heapq.heappush(queue, (-repository.commit(parent).time, parent))
    return paint, list(found)
