"""The audit log, read from the commits (CAPABILITIES V1)."""

import re
from datetime import UTC, datetime

from gitmail.errors import InvalidArgumentError
from gitmail.mailbox.values import LogEntry
from gitmail.records.names import CommitId, is_hex
from gitmail.store.refs import BRANCH
from gitmail.store.repository import Commit
from gitmail.store.view import View

LOG_LIMIT = 10_000
_RANGE = re.compile(r"(?:(?P<stop>[^.\s]*)(?P<dots>\.\.))?(?P<start>[^.\s]*)")
_TIPS = ("", "HEAD", BRANCH, f"refs/heads/{BRANCH}")


def log(
    view: View,
    *,
    agent: str | None,
    operation: str | None,
    path: str | None,
    limit: int,
    span: str | None,
) -> list[LogEntry]:
    """Return the latest operations that fit, newest first.

    Args:
        path: Only what changed this file or something below this folder.
        span: A commit, or `A..B` for what B has and A has not; ids may be cut to 7
            digits.

    Raises:
        InvalidArgumentError: The limit, or a span that names no commit here.
    """
    if not 1 <= limit <= LOG_LIMIT:
        rule = f"a number from 1 to {LOG_LIMIT}"
        raise InvalidArgumentError("limit", limit, rule)
    start, stop = _ends(view, span)
    hidden = {commit.id for commit in view.repository.walk(stop)} if stop else set()
    found: list[LogEntry] = []
    for commit in view.repository.walk(start, hidden):
        entry = _entry(commit)
        if agent and entry.agent != agent.lower():
            continue
        if operation and entry.operation != operation:
            continue
        if path and not view.repository.touches(commit, path.strip("/")):
            continue
        found.append(entry)
        if len(found) == limit:
            break
    return found


def _entry(commit: Commit) -> LogEntry:
    operations = commit.trailers("Gitmail-Op")
    operation = operations[0] if operations else None
    subject = commit.subject
    if operation:
        subject = subject.removeprefix(operation).lstrip(": ")
    return LogEntry(
        commit=commit.id,
        date=datetime.fromtimestamp(commit.time, UTC),
        agent=commit.author,
        operation=operation,
        subject=subject,
        messages=tuple(m for m in commit.trailers("Gitmail-Message") if is_hex(m)),
    )


def _ends(view: View, span: str | None) -> tuple[CommitId, CommitId | None]:
    found = _RANGE.fullmatch((span or "").strip())
    if not found:
        raise InvalidArgumentError("range", span, "a commit, or A..B")
    start = _commit(view, found["start"])
    return start, _commit(view, found["stop"]) if found["dots"] else None


def _commit(view: View, text: str) -> CommitId:
    if text in _TIPS:
        return view.tip
    prefix = text.lower()
    if is_hex(prefix, 7):
        low, high = (bytes.fromhex(prefix.ljust(40, digit)) for digit in "0f")
        rows = view.index.execute(
            "SELECT id FROM commits WHERE id BETWEEN ? AND ? LIMIT 2", (low, high)
        ).fetchall()
        if len(rows) == 1:
            return CommitId(rows[0][0].hex())
    rule = "HEAD, or the start of the id of one commit of this mailbox"
    raise InvalidArgumentError("range", text, rule)
