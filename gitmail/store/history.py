"""Where two histories parted: the merge bases of two commits.

As git's own `merge-base --all` (git's commit-reach.c describes the way): paint both
histories from the latest commit down until all that is left is painted twice.
"""

import heapq

from gitmail.records.names import CommitId
from gitmail.store.repository import Repository

_OURS, _THEIRS, _STALE = 1, 2, 4
_BOTH = _OURS | _THEIRS


def merge_bases(
    repository: Repository, ours: CommitId, theirs: CommitId
) -> list[CommitId]:
    """Return the best common ancestors, sorted; none where there is no common one."""
    if ours == theirs:
        return [ours]
    found = _common(repository, ours, theirs)
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
    return old in merge_bases(repository, old, new)


def _common(repository: Repository, ours: CommitId, theirs: CommitId) -> list[CommitId]:
    if ours == theirs:
        return [ours]
    paint = {ours: _OURS, theirs: _THEIRS}
    queue = [(-repository.commit(each).time, each) for each in (ours, theirs)]
    heapq.heapify(queue)
    fresh = 2  # of the queue, how many are not stale
    found: dict[CommitId, None] = {}
    queued = {ours, theirs}
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
    return [each for each in found if not paint[each] & _STALE]
