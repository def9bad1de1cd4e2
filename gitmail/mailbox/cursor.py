"""Cursors: a commit, and where a listing stopped in the middle of one (DESIGN I7).

A cursor is `T`, `T+M` or `C..T+M`: full ids of commits and of a message. `T` stands for
all that the tip has and T has not. The other two go on behind message M in a listing of
what T has, without what C has, so that a page may end inside a commit of many messages
and mail that arrives late is in no page twice and missing from none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitmail.errors import CorruptMailboxError, InvalidCursorError
from gitmail.records.names import CommitId, MessageId
from gitmail.records.text import check_string
from gitmail.store.view import View

_CURSOR = re.compile(
    r"(?:(?P<since>[0-9a-f]{40})\.\.)?(?P<until>[0-9a-f]{40})"
    r"(?:\+(?P<last>[0-9a-f]{40}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the mail that a listing goes through.

    Attributes:
        since: Only what this commit has not; None for everything.
        until: Only what this commit has.
        date, last: Behind this message of the listing; None from its start.
    """

    since: CommitId | None
    until: CommitId
    date: int | None = None
    last: MessageId | None = None

    def condition(self, view: View) -> str:
        """Return an SQL condition on `m.n`, after preparing what it needs."""
        if self.since:
            view.index.set_fresh(_added(view, self.since, self.until))
            return " AND m.n IN temp.fresh"
        if self.until != view.tip:
            view.index.set_fresh(_added(view, self.until, view.tip))
            return " AND m.n NOT IN temp.fresh"
        return ""

    def following(self, view: View) -> "Window | None":
        """Return the window behind this one, None where this one ends at the tip."""
        return None if self.until == view.tip else Window(self.until, view.tip)

    def after(self, last: MessageId | None) -> str:
        """Return the cursor behind a page; `last` is None at the window's end."""
        if last is None:
            return self.until
        head = f"{self.since}.." if self.since else ""
        return f"{head}{self.until}+{last}"


def open_window(view: View, cursor: str | None) -> Window:
    """Return the window that a cursor opens on the mailbox as it is now.

    Raises:
        InvalidCursorError: It is malformed, or names a commit or message that this
            mailbox's history does not have; `detail` says which.
    """
    if cursor is None:
        return Window(None, view.tip)
    found = _CURSOR.fullmatch(check_string("after", cursor).strip())
    if not found:
        raise InvalidCursorError(cursor, "malformed", "it is no commit id")
    until = _known(view, cursor, found["until"])
    since = _known(view, cursor, found["since"]) if found["since"] else None
    if not found["last"]:
        if since:
            raise InvalidCursorError(cursor, "malformed", "it ends without a message")
        return Window(until, view.tip)
    row = view.index.execute(
        "SELECT date FROM message WHERE id = ?", (bytes.fromhex(found["last"]),)
    ).fetchone()
    if row is None:
        raise InvalidCursorError(cursor, "unknown", "its message is not here")
    return Window(since, until, row[0], MessageId(found["last"]))


def _known(view: View, cursor: str, text: str) -> CommitId:
    commit = CommitId(text)
    if view.index.knows_commit(commit):
        return commit
    if not _is_commit(view, commit):
        raise InvalidCursorError(cursor, "unknown", "this mailbox has no such commit")
    if _descends(view, commit):
        reason = "it is newer than the mailbox, which was set back"
        raise InvalidCursorError(cursor, "cursor_ahead", reason)
    reason = "that commit is not in the mailbox's history"
    raise InvalidCursorError(cursor, "not_an_ancestor", reason)


def _is_commit(view: View, commit: CommitId) -> bool:
    try:
        view.repository.commit(commit)
    except CorruptMailboxError:  # missing, or a message's id that was taken for one
        return False
    return True


def _descends(view: View, commit: CommitId) -> bool:
    """Tell whether the tip is in the history of a commit that the tip has not."""
    todo, seen = [commit], {commit}
    while todo:
        for parent in view.repository.commit(todo.pop()).parents:
            if parent == view.tip:
                return True
            is_new = parent not in seen and not view.index.knows_commit(parent)
            # git may have thrown away a part of what the branch no longer has.
            if is_new and _is_commit(view, parent):
                seen.add(parent)
                todo.append(parent)
    return False


def _added(view: View, old: CommitId, new: CommitId) -> Iterator[MessageId]:
    repository = view.repository
    before, after = (
        repository.lookup(repository.commit(commit).tree, "messages")
        for commit in (old, new)
    )
    for change in repository.changes(before, after):
        if change.new:
            yield MessageId(change.new)
