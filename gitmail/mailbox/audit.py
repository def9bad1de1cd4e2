"""The audit log, read from the commits (CAPABILITIES V1)."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from gitmail.errors import AgentNotFoundError, InvalidArgumentError
from gitmail.mailbox.checks import choice, number
from gitmail.mailbox.lookup import members, own_names, visible
from gitmail.mailbox.spans import parse_span
from gitmail.mailbox.values import LogEntry
from gitmail.records.names import (
    AgentName,
    CommitId,
    id_range,
    is_hex,
    similar_names,
)
from gitmail.records.paths import MEMORY
from gitmail.records.text import check_line, check_string
from gitmail.store.index import Role
from gitmail.store.repository import Commit
from gitmail.store.view import View

LOG_LIMIT = 10_000
GITMAIL = "gitmail"
"""Who makes a mailbox; no agent can have the name."""
OPERATIONS = (
    *("init", "register", "retire", "unretire"),
    *("send", "reply", "read", "ack"),
    *("memory-add", "memory-set", "memory-supersede"),
    *("memory-forget", "memory-retire", "memory-restore"),
)
_LONGEST_NAME = 200


def log(
    view: View,
    *,
    agent: str | None,
    operation: str | None,
    path: str | None,
    limit: int,
    span: str | None,
    viewer: AgentName | None = None,
) -> list[LogEntry]:
    """Return the latest operations that fit, newest first.

    Args:
        viewer: Leave out subjects and ids of mail that this agent may not see, and
            what would tell it of a blind copy (CAPABILITIES A2); None for all.
        path: Only what changed this file or something below this folder.
        span: A commit, or `A..B` for what B has and A has not; ids may be cut to 7
            digits.

    Raises:
        InvalidArgumentError: A value is not accepted, or the span names no commit here.
        AgentNotFoundError: Nobody has that name.
    """
    number("limit", limit, LOG_LIMIT)
    operation = choice("op", OPERATIONS, operation)
    below = _below(path) if path is not None else None
    start, stop = parse_span(span, view.tip, lambda prefix: _find(view, prefix))
    if agent is not None:
        agent = check_line("agent", agent, _LONGEST_NAME, may_be_empty=False).lower()
    hidden = {commit.id for commit in view.repository.walk(stop)} if stop else set()
    found: list[LogEntry] = []
    for commit in view.repository.walk(start, hidden):
        entry = _entry(commit)
        if agent and entry.agent.lower() != agent:
            continue
        if operation and operation not in commit.trailers("Gitmail-Op"):
            continue
        if below and not view.repository.touches(commit, below):
            continue
        seen = _as_seen(view, viewer, entry)
        if below and seen != entry and not _is_memory(below):
            continue  # the path would tell what the entry does not
        found.append(seen)
        if len(found) == limit:
            break
    # People's own commits are found too, so who is unknown shows only here.
    if agent and not found and agent not in (*members(view), GITMAIL):
        raise AgentNotFoundError(agent, similar_names(agent, members(view)))
    return found


def _as_seen(view: View, viewer: AgentName | None, entry: LogEntry) -> LogEntry:
    if viewer is None or viewer == entry.agent:
        return entry
    shown = tuple(m for m in entry.messages if _may_know(view, viewer, entry.agent, m))
    if len(shown) == len(entry.messages):
        return entry
    # What is done to memory is everybody's; which mail it acknowledges is not.
    is_memory = (entry.operation or "").startswith("memory-")
    return replace(entry, subject=entry.subject if is_memory else "", messages=shown)


def _is_memory(path: str) -> bool:
    return path == MEMORY or path.startswith(f"{MEMORY}/")


def _may_know(view: View, viewer: AgentName, actor: str, message: str) -> bool:
    """Tell whether an agent may know that another has to do with a message."""
    ours, theirs = (_roles(view, name, message) for name in (viewer, actor))
    if not ours:
        return False
    return bool(ours & Role.SENDER or theirs & ~Role.BCC)


def _roles(view: View, name: str, message: str) -> Role:
    """Return all that an agent, their teams and everybody have to do with a message."""
    numbers = own_names(view, AgentName(name)) if name in members(view) else [-1]
    found = visible(view, numbers, "m.id = ?", [bytes.fromhex(message)])
    return found[0].role if found else Role(0)


def _below(text: str) -> str:
    """Return a path of the mailbox in its plainest form."""
    path = PurePosixPath(check_string("path", text))
    if not path.parts or path.is_absolute() or ".." in path.parts:
        rule = "a path below the mailbox's folder, such as messages/2026-11"
        raise InvalidArgumentError("path", text, rule)
    return str(path)


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


def _find(view: View, prefix: str) -> list[CommitId]:
    rows = view.index.execute(
        "SELECT id FROM commits WHERE id BETWEEN ? AND ? LIMIT 2", id_range(prefix)
    )
    return [CommitId(row[0].hex()) for row in rows]
