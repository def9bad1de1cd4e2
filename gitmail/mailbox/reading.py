"""Looking back: one message, threads, rooms and history; all read-only."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gitmail.errors import InvalidNameError, RoomNotFoundError
from gitmail.mailbox.cursor import Window, open_window
from gitmail.mailbox.lookup import (
    Found,
    find,
    find_thread,
    item,
    members,
    merged,
    number_of,
    own_names,
    received_by,
    visible,
)
from gitmail.mailbox.receiving import PAGE_LIMIT, check_limit, fill
from gitmail.mailbox.values import Conversation, Item, Page
from gitmail.records.names import AgentName, parse_agent_name, parse_room
from gitmail.store.numbers import label_key, thread_number
from gitmail.store.view import View


def read(view: View, caller: AgentName, text: str) -> Item:
    """Return one message with its whole body; reading marks nothing."""
    return item(view, caller, find(view, caller, text)).with_body()


def thread(view: View, caller: AgentName, text: str, limit: int) -> Conversation:
    """Return the thread of a message, oldest first (CAPABILITIES R13)."""
    head = find_thread(view, caller, text)
    conversation = _conversation(
        view, caller, head, "m.thread = ?", thread_number(head), limit
    )
    # The index finds threads by a number that two of them could share.
    items = tuple(i for i in conversation.items if i.message.thread_id == head)
    return replace(conversation, items=items)


def room(view: View, caller: AgentName, name: str, limit: int) -> Conversation:
    """Return what the caller may see of a room, oldest first.

    Raises:
        RoomNotFoundError: That is nothing, for whatever reason (CAPABILITIES O1).
    """
    try:
        key = label_key("room", parse_room(name))
    except InvalidNameError as error:
        raise RoomNotFoundError(name) from error
    number = view.index.number_of(key)
    found = _conversation(view, caller, name, "m.room = ?", number, limit)
    if not found.count:
        raise RoomNotFoundError(name)
    return found


def history(
    view: View, caller: AgentName, peer: str | None, after: str | None, limit: int
) -> Page:
    """Return own sent and received mail, newest first (CAPABILITIES R12)."""
    check_limit(limit)
    names = own_names(view, caller)
    window = open_window(view, after)
    other = parse_agent_name(peer) if peer is not None else None
    with_peer = _with_peer(view, names[0], other) if other else ("", [])
    look = partial(_latest, view, names, with_peer, limit)
    found, following = look(window), window.following(view)
    shown, is_full = fill([item(view, caller, f) for f in found[:limit]], whole=False)
    stopped = len(shown) < len(found)
    return Page(
        items=tuple(shown),
        cursor=window.after(shown[-1].id if shown and stopped else None),
        has_more=stopped or bool(following and look(following)),
        is_full=is_full,
    )


def _latest(
    view: View,
    names: Sequence[int],
    with_peer: tuple[str, list[object]],
    limit: int,
    window: Window,
) -> list[Found]:
    """Return the latest mail of a window, newest first, one more than the limit."""
    condition, values = with_peer
    if window.last:
        condition += " AND s.date <= ? AND (s.date < ? OR m.id < ?)"
        values = [*values, window.date, window.date, bytes.fromhex(window.last)]
    condition += window.condition(view)
    # Each name's latest, then the latest of these: no name is read to its end.
    rows = [
        row
        for who in names
        for row in view.index.execute(
            f"{_SELECT} WHERE s.who = ?{condition}"
            " ORDER BY s.date DESC, m.id DESC LIMIT ?",
            (who, *values, limit + 1),
        )
    ]
    found = merged(rows, names[0])
    return sorted(found, key=lambda each: (each.date, each.id), reverse=True)


_SELECT = (
    "SELECT m.n, m.id, m.date, m.part, s.who, s.role, s.stage"
    " FROM mail s CROSS JOIN message m ON m.n = s.n"
)


def _conversation(
    view: View, caller: AgentName, name: str, condition: str, value: object, limit: int
) -> Conversation:
    check_limit(limit)
    names = own_names(view, caller)
    found = visible(view, names, condition, [value])
    items = [item(view, caller, each) for each in found[:limit]]
    shown, _ = fill(items, whole=True, may_shorten=True)
    return Conversation(
        name=name,
        items=tuple(shown),
        count=len(found),
        participants=_participants(view, found),
        has_more=len(shown) < len(found),
    )


def _participants(view: View, found: Sequence[Found]) -> tuple[str, ...]:
    """Return who wrote or openly received one of the messages."""
    if len(found) <= PAGE_LIMIT:
        messages = [view.message(each.id) for each in found]
        names = {name for m in messages for name in (m.sender, *m.recipients)}
        return tuple(sorted(names))
    return tuple(name for name in members(view) if _takes_part(view, name, found))


def _takes_part(view: View, name: str, found: Sequence[Found]) -> bool:
    who = view.index.number_of(name)
    look = "SELECT 1 FROM mail WHERE who = ? AND date = ? AND n = ? AND role & 7"
    return any(
        view.index.execute(look, (who, each.date, each.n)).fetchone() for each in found
    )


def _with_peer(view: View, me: int, peer: AgentName) -> tuple[str, list[object]]:
    """Return a condition on mail between the caller and a peer."""
    who = number_of(view, peer)
    received, values = received_by(view, me, peer)
    return f" AND (m.sender = ? OR {received})", [who, *values]
