"""Polling: a caller's own mail, filtered, a page at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

from gitmail.mailbox.acknowledging import is_blocked, receipts_for
from gitmail.mailbox.checks import choice, flag, number
from gitmail.mailbox.cursor import Window, open_window
from gitmail.mailbox.lookup import Found, find_thread, item, number_of, own_names
from gitmail.mailbox.values import Item, Page
from gitmail.records.message import Importance, Kind
from gitmail.records.names import (
    AgentName,
    MessageId,
    parse_agent_name,
    parse_id_prefix,
    parse_room,
)
from gitmail.records.receipt import Stage
from gitmail.records.text import LABEL_LIMIT, check_line
from gitmail.records.times import parse_since, to_microseconds
from gitmail.store.index import Role
from gitmail.store.numbers import label_key, thread_number
from gitmail.store.view import Plan, View

PAGE_LIMIT = 200
DEFAULT_LIMIT = 50
PAGE_BUDGET_BYTES = 32_768
"""Text in one page, so that no client cuts it (CAPABILITIES R5)."""
OVERDUE_AFTER = timedelta(minutes=30)
_EXPIRED_SHOWN = 20
_KINDS = list(Kind)
_STAGES = list(Stage)


class Show(StrEnum):
    """Which of the own mail a poll lists."""

    UNACKED = "unacked"
    UNREAD = "unread"
    ANY = "any"


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What a poll asks for, checked.

    Attributes:
        sender: Only mail from this agent.
        thread: Id or prefix of the thread, or of a message of it.
        importance: Only mail at least that important.
        is_overdue: Only mail that asked for an ack over 30 minutes ago.
        is_full: Whole bodies instead of previews, within the page's budget.
    """

    show: Show = Show.UNACKED
    sender: AgentName | None = None
    room: str | None = None
    thread: str | None = None
    topic: str | None = None
    kind: Kind | None = None
    importance: Importance | None = None
    is_overdue: bool = False
    since: datetime | None = None
    after: str | None = None
    limit: int = DEFAULT_LIMIT
    is_full: bool = False


def make_query(
    now: datetime,
    *,
    show: str | None = None,
    sender: str | None = None,
    room: str | None = None,
    thread: str | None = None,
    topic: str | None = None,
    kind: str | None = None,
    importance: str | None = None,
    overdue: bool = False,
    since: str | datetime | None = None,
    after: str | None = None,
    limit: int = DEFAULT_LIMIT,
    full: bool = False,
) -> Query:
    """Return a checked query.

    Raises:
        InvalidInputError: A value is not accepted; the class says how.
    """
    return Query(
        show=choice("show", Show, show) or Show.UNACKED,
        sender=parse_agent_name(sender) if sender is not None else None,
        room=parse_room(room) if room is not None else None,
        thread=parse_id_prefix(thread) if thread is not None else None,
        topic=None
        if topic is None
        else check_line("topic", topic, LABEL_LIMIT, may_be_empty=False),
        kind=choice("kind", Kind, kind),
        importance=choice("importance", Importance, importance),
        is_overdue=flag("overdue", overdue),
        since=parse_since("since", since, now) if since is not None else None,
        after=after,
        limit=check_limit(limit),
        is_full=flag("full", full),
    )


def check_limit(limit: int) -> int:
    """Return the number, or refuse one that is no page's (CAPABILITIES R3).

    Raises:
        InvalidArgumentError: It is not within 1 to 200.
    """
    return number("limit", limit, PAGE_LIMIT)


def poll(view: View, caller: AgentName, query: Query, now: datetime) -> Page:
    """Return the caller's mail, oldest first by date and id (CAPABILITIES R1)."""
    return _poll(view, caller, query, now)[0]


def plan_taking(
    view: View, caller: AgentName, query: Query, now: datetime
) -> Plan[Page]:
    """Plan to acknowledge the page that a poll shows, in the same step (R7)."""
    page, found = _poll(view, caller, query, now)
    rising = [
        f
        for f in found
        if f.stage is not Stage.ACKED and not is_blocked(view, caller, f, Stage.ACKED)
    ]
    risen = {f.id for f in rising}
    items = (
        replace(each, state=Stage.ACKED) if each.id in risen else each
        for each in page.items
    )
    taken = replace(page, items=tuple(items))
    return receipts_for(view, caller, rising, Stage.ACKED, "", now, result=taken)


def _poll(
    view: View, caller: AgentName, query: Query, now: datetime
) -> tuple[Page, list[Found]]:
    me = own_names(view, caller)[0]
    look = partial(_rows, view, caller, me, query, now)
    window = open_window(view, query.after)
    rows, following = look(window), window.following(view)
    if following and not rows:
        window, following = following, None
        rows = look(window)
    found = [
        Found(n, MessageId(key.hex()), date, part, Role(role), _STAGES[stage])
        for n, key, date, part, role, stage in rows[: query.limit]
    ]
    items = [item(view, caller, each) for each in found]
    shown, is_full = fill(items, whole=query.is_full)
    stopped = len(shown) < len(rows)
    expired = _expired(view, me, now) if query.show is not Show.ANY else []
    page = Page(
        items=tuple(shown),
        cursor=window.after(shown[-1].id if shown and stopped else None),
        has_more=stopped or bool(following and look(following)),
        is_full=is_full,
        expired_count=len(expired),
        expired=tuple(expired[-_EXPIRED_SHOWN:]),
        quarantined_count=view.index.quarantined_count(),
    )
    return page, found[: len(shown)]


def fill(
    items: Sequence[Item], *, whole: bool, may_shorten: bool = False
) -> tuple[list[Item], bool]:
    """Return what fits on a page, with text, and whether the budget ended it.

    Args:
        whole: With bodies; the first item is a preview if its body is too large.
        may_shorten: Any other item too, instead of ending the page.
    """
    shown: list[Item] = []
    room = PAGE_BUDGET_BYTES
    for each in items:
        listed = each.with_body() if whole else each.with_preview()
        if whole and _size(listed) > room and (may_shorten or not shown):
            listed = each.with_preview()
        room -= _size(listed)
        if room < 0 and shown:
            return shown, True
        shown.append(listed)
    return shown, False


def _size(listed: Item) -> int:
    return len((listed.text or "").encode()) + len(listed.message.title.encode())


def _rows(
    view: View,
    caller: AgentName,
    me: int,
    query: Query,
    now: datetime,
    window: Window,
) -> list[tuple[int, bytes, int, int, int, int]]:
    # Left alone, SQLite would go through all that was ever acknowledged.
    index = "" if query.show is Show.ANY else "INDEXED BY mail_pending"
    sql = (
        f"SELECT m.n, m.id, m.date, m.part, s.role, s.stage FROM mail s {index}"
        " CROSS JOIN message m ON m.n = s.n WHERE s.who = ? AND s.role & 14"
    )
    values: list[object] = [me]
    for condition, *more in _conditions(view, caller, query, window, now):
        sql += f" AND {condition}"
        values += more
    sql += f"{window.condition(view)} ORDER BY s.date, m.id LIMIT ?"
    return view.index.execute(sql, (*values, query.limit + 1)).fetchall()


def _conditions(
    view: View, caller: AgentName, query: Query, window: Window, now: datetime
) -> Iterator[tuple[object, ...]]:
    """Yield SQL conditions, each with the values that it binds."""
    if query.show is not Show.ANY:
        present = to_microseconds(now)
        yield "s.stage < 2 AND (m.expires IS NULL OR m.expires > ?)", present
    if query.show is Show.UNREAD:
        yield ("s.stage = 0",)
    if query.is_overdue:
        late = to_microseconds(now - OVERDUE_AFTER)
        yield "m.ack_required AND s.stage < 2 AND s.date < ?", late
    if query.since:
        yield "s.date >= ?", to_microseconds(query.since)
    if window.last:
        yield "s.date >= ?", window.date
        yield "(s.date > ? OR m.id > ?)", window.date, bytes.fromhex(window.last)
    yield from _content_conditions(view, caller, query)


def _content_conditions(
    view: View, caller: AgentName, query: Query
) -> Iterator[tuple[object, ...]]:
    label = view.index.number_of
    if query.sender:
        yield "m.sender = ?", number_of(view, query.sender)
    if query.room:
        yield "m.room = ?", label(label_key("room", query.room))
    if query.topic:
        yield "m.topic = ?", label(label_key("topic", query.topic.casefold()))
    if query.thread:
        thread = find_thread(view, caller, query.thread)
        yield "m.thread = ?", thread_number(thread)
    if query.kind:
        yield "m.kind = ?", _KINDS.index(query.kind)
    if query.importance:
        yield "m.importance >= ?", query.importance.rank


def _expired(view: View, me: int, now: datetime) -> list[MessageId]:
    """Return unacknowledged mail that has left the list (CAPABILITIES R8)."""
    # What is pending for one agent stays few; what has expired for all does not.
    rows = view.index.execute(
        "SELECT m.id FROM mail s INDEXED BY mail_pending"
        " CROSS JOIN message m ON m.n = s.n"
        " WHERE s.who = ? AND s.stage < 2 AND m.expires <= ? ORDER BY m.expires, m.id",
        (me, to_microseconds(now)),
    )
    return [MessageId(row[0].hex()) for row in rows]
