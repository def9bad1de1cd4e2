"""What a bundle stands on: the commits that the other side has already."""

import logging
from heapq import heapify, heappop, heappush
from pathlib import Path
from uuid import uuid4

from gitmail.errors import InvalidCursorError, StorageError
from gitmail.mailbox.cursor import open_window
from gitmail.records.names import CommitId, is_hex
from gitmail.records.text import check_string
from gitmail.store.disk import read_small, replace, translated, write_durably
from gitmail.store.history import is_ancestor
from gitmail.store.store import Store
from gitmail.store.view import View

logger = logging.getLogger("gitmail")

LAST, ALL = "last", "all"
_HINT = (
    "Pass last, which is the default, all, or the tip that the other side has:"
    " gitmail status shows it there"
)
_MARKER = "bundled"
"""File of local state that names the commit of the last bundle."""


def base_of(view: View, local: Path, since: str) -> CommitId | None:
    """Return the commit that a bundle is to stand on, None for a bundle of all.

    Args:
        local: The folder of local state.
        since: `last`, `all` or a cursor.

    Raises:
        InvalidCursorError: It names no commit of this mailbox's history.
    """
    said = check_string("since", since).strip()
    if said == ALL:
        return None
    if said == LAST:
        return _last(view, local / _MARKER)
    try:
        window = open_window(view, said)
    except InvalidCursorError as error:
        error.hint = _HINT  # it is no listing that could start from the beginning
        raise
    return window.since if window.last is None else window.until


def _last(view: View, marker: Path) -> CommitId | None:
    """Return the tip of the last bundle, None where it is not in the history."""
    value = read_small(marker)
    if value is None or not is_hex(value):
        return None
    commit = CommitId(value)
    return commit if view.index.knows_commit(commit) else None


def commits_since(view: View, base: CommitId | None) -> list[CommitId]:
    """Return what the tip's history has and another's has not, newest first.

    A commit's place is behind that of all that it stands on. So from the last place
    down, whatever comes has been reached from everywhere that it can be.
    """
    if base is None:
        rows = view.index.execute("SELECT id FROM commits ORDER BY place DESC")
        return [CommitId(row[0].hex()) for row in rows]
    is_old = {view.tip: view.tip == base, base: True}
    queue = [(-_place(view, each), each) for each in is_old]
    heapify(queue)
    fresh = [*is_old.values()].count(False)
    found = []
    while fresh:
        commit = heappop(queue)[1]
        if not is_old[commit]:
            found.append(commit)
            fresh -= 1
        for parent in view.repository.commit(commit).parents:
            before = is_old.get(parent)
            if before is None:
                heappush(queue, (-_place(view, parent), parent))
                fresh += not is_old[commit]
            elif is_old[commit] and not before:
                fresh -= 1
            is_old[parent] = is_old[commit] or bool(before)
    return found


def _place(view: View, commit: CommitId) -> int:
    row = view.index.execute(
        "SELECT place FROM commits WHERE id = ?", (bytes.fromhex(commit),)
    ).fetchone()
    return int(row[0])


def remember(store: Store, commit: CommitId) -> None:
    """Take down up to where the other side has everything, unless it was further."""

    def is_news(view: View) -> bool:
        last = _last(view, store.local / _MARKER)
        return last is None or not is_ancestor(view.repository, commit, last)

    if store.read(is_news):
        mark(store.local, commit)


def mark(local: Path, commit: CommitId) -> None:
    """Take down up to where the other side has everything.

    Where that cannot be written, the next bundle holds more than it needs.
    """
    marker = local / _MARKER
    draft = marker.with_name(f"{_MARKER}.{uuid4().hex}")
    try:
        with translated(marker):
            write_durably(draft, f"{commit}\n".encode(), 0o644)
            replace(draft, marker)
    except StorageError as error:
        logger.warning("the next bundle will hold more than it needs: %s", error)
