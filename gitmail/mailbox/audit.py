"""The audit log, read from the commits (CAPABILITIES V1)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from gitmail.errors import InvalidArgumentError
from gitmail.mailbox.values import LogEntry
from gitmail.records.names import CommitId, is_hex
from gitmail.store.refs import BRANCH
from gitmail.store.repository import Commit
from gitmail.store.store import Store

_RANGE = re.compile(r"(?:(?P<stop>[^.\s]*)(?P<dots>\.\.))?(?P<start>[^.\s]*)")
_TIPS = ("", "HEAD", BRANCH, f"refs/heads/{BRANCH}")


def log(
    store: Store,
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
    if not 1 <= limit <= 10_000:
        raise InvalidArgumentError("limit", limit, "a number from 1 to 10000")
    start, stop = _ends(store, span)
    found: list[LogEntry] = []
    for commit in store.history(start, stop):
        entry = _entry(commit)
        if agent and entry.agent != agent:
            continue
        if operation and entry.operation != operation:
            continue
        if path and not store.touches(commit, path.strip("/")):
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


def _ends(store: Store, span: str | None) -> tuple[CommitId, CommitId | None]:
    tip = store.read(lambda view: view.tip)
    found = _RANGE.fullmatch((span or "").strip())
    if not found:
        raise InvalidArgumentError("range", span, "a commit, or A..B")
    start = _commit(store, found["start"], tip)
    return start, _commit(store, found["stop"], tip) if found["dots"] else None


def _commit(store: Store, text: str, tip: CommitId) -> CommitId:
    if text in _TIPS:
        return tip
    matches = list(_matching(store, text.lower())) if is_hex(text.lower(), 7) else []
    if len(matches) == 1:
        return matches[0]
    rule = "HEAD, or the start of the id of one commit of this mailbox"
    raise InvalidArgumentError("range", text, rule)


def _matching(store: Store, prefix: str) -> Iterator[CommitId]:
    low, high = (bytes.fromhex(prefix.ljust(40, digit)) for digit in "0f")
    rows = store.read(
        lambda view: view.index.execute(
            "SELECT id FROM commits WHERE id BETWEEN ? AND ?", (low, high)
        ).fetchall()
    )
    return (CommitId(row[0].hex()) for row in rows)
