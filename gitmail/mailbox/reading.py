"""Looking back: one message, threads, rooms, history and search; all read-only."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from unicodedata import combining, normalize

from gitmail.errors import InvalidArgumentError, InvalidNameError, RoomNotFoundError
from gitmail.mailbox.cursor import open_window
from gitmail.mailbox.draft import choice
from gitmail.mailbox.lookup import Found, find, item, members, own_names
from gitmail.mailbox.receiving import PAGE_LIMIT, check_limit, fill
from gitmail.mailbox.values import Conversation, Item, Page
from gitmail.records.message import Kind
from gitmail.records.names import AgentName, MessageId, parse_agent_name, parse_room
from gitmail.records.receipt import Stage
from gitmail.store.index import DELIVERED, Role, label_key, searchable, thread_number
from gitmail.store.view import View

_STAGES = list(Stage)
_KINDS = list(Kind)
_WORD = re.compile(r"[^\W_]+")
_EXCERPT_BEFORE, _EXCERPT_LENGTH = 60, 240
_MOST_WORDS = 32


class Order(StrEnum):
    """In which order a search lists what it found."""

    RECENT = "recent"
    BEST = "best"


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """What a search asks for, checked.

    Attributes:
        words: All of them must stand in the subject or the body.
    """

    words: tuple[str, ...]
    sender: AgentName | None = None
    recipient: AgentName | None = None
    kind: Kind | None = None
    order: Order = Order.RECENT
    limit: int = 20


def make_search(
    query: str,
    *,
    sender: str | None = None,
    recipient: str | None = None,
    kind: str | None = None,
    order: str | None = None,
    limit: int = 20,
) -> Search:
    """Return a checked search; `from:`, `to:` and `kind:` may stand in the query.

    Raises:
        InvalidInputError: A value is not accepted, or no word is left.
    """
    said = {"from": sender, "to": recipient, "kind": kind}
    rest = []
    for part in query.split():
        key, colon, value = part.partition(":")
        if colon and value and key.lower() in said:
            said[key.lower()] = value
        else:
            rest.append(part)
    words = _WORD.findall(normalize("NFC", " ".join(rest)))
    if not words or len(words) > _MOST_WORDS:
        rule = f"1 to {_MOST_WORDS} words, all of which must occur"
        raise InvalidArgumentError("query", query, rule)
    return Search(
        words=tuple(words),
        sender=parse_agent_name(said["from"]) if said["from"] else None,
        recipient=parse_agent_name(said["to"]) if said["to"] else None,
        kind=choice("kind", Kind, said["kind"]),
        order=choice("order", Order, order) or Order.RECENT,
        limit=check_limit(limit),
    )


def read(view: View, caller: AgentName, text: str) -> Item:
    """Return one message with its whole body; reading marks nothing."""
    return item(view, caller, find(view, caller, text)).with_body()


def thread(view: View, caller: AgentName, text: str, limit: int) -> Conversation:
    """Return the thread of a message, oldest first (CAPABILITIES R13)."""
    head = view.message(find(view, caller, text).id).thread_id
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
    condition = ""
    values: list[object] = []
    if peer is not None:
        condition, values = _with_peer(view, names[0], parse_agent_name(peer))
    if window.last:
        condition += " AND s.date <= ? AND (s.date < ? OR m.id < ?)"
        values += [window.date, window.date, bytes.fromhex(window.last)]
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
    found = _merge(rows, names[0])
    found.sort(key=lambda each: (each.date, each.id), reverse=True)
    shown, is_full = fill([item(view, caller, f) for f in found[:limit]], whole=False)
    stopped = len(shown) < len(found)
    return Page(
        items=tuple(shown),
        cursor=window.after(shown[-1].id if shown and stopped else None),
        has_more=stopped or window.until != view.tip,
        is_full=is_full,
    )


def search(view: View, caller: AgentName, wanted: Search) -> list[Item]:
    """Return what has all the words and the caller may see (CAPABILITIES R14)."""
    names = own_names(view, caller)
    marks = ",".join("?" * len(names))
    sql = (
        "SELECT m.n FROM words CROSS JOIN message m ON m.n = words.rowid"
        " WHERE words MATCH ? AND EXISTS (SELECT 1 FROM mail s WHERE s.date = m.date"
        f" AND s.n = m.n AND s.who IN ({marks}))"
    )
    match = " AND ".join(f'"{word}"' for word in wanted.words)
    values: list[object] = [match, *names]
    if wanted.sender:
        sql += " AND m.sender = ?"
        values.append(view.index.number_of(wanted.sender))
    if wanted.recipient:
        condition, more = _with_recipient(view, names[0], wanted.recipient)
        sql += f" AND {condition}"
        values += more
    if wanted.kind:
        sql += " AND m.kind = ?"
        values.append(_KINDS.index(wanted.kind))
    # The row number rises as mail arrives, and needs no sorting.
    order = "words.rowid DESC" if wanted.order is Order.RECENT else "rank"
    sql += f" ORDER BY {order} LIMIT ?"
    rows = view.index.execute(sql, (*values, wanted.limit)).fetchall()
    return [_hit(view, caller, names, row[0], wanted.words) for row in rows]


_SELECT = (
    "SELECT m.n, m.id, m.date, m.part, s.who, s.role, s.stage"
    " FROM mail s CROSS JOIN message m ON m.n = s.n"
)


def _merge(rows: Iterable[Sequence[int]], me: int) -> list[Found]:
    """Return each message once, with all that the caller's names have to do with it."""
    merged: dict[int, Found] = {}
    for n, key, date, part, who, role, stage in rows:
        own = _STAGES[stage] if who == me and role & DELIVERED else None
        earlier = merged.get(n)
        merged[n] = Found(
            n,
            MessageId(key.hex()),  # type: ignore[attr-defined]
            date,
            part,
            Role(role) | (earlier.role if earlier else Role(0)),
            own or (earlier.stage if earlier else None),
        )
    return list(merged.values())


def _conversation(
    view: View, caller: AgentName, name: str, condition: str, value: object, limit: int
) -> Conversation:
    check_limit(limit)
    names = own_names(view, caller)
    marks = ",".join("?" * len(names))
    rows = view.index.execute(
        f"SELECT m.n, m.id, m.date, m.part, s.who, s.role, s.stage FROM message m"
        f" CROSS JOIN mail s ON s.who IN ({marks}) AND s.date = m.date AND s.n = m.n"
        f" WHERE {condition} ORDER BY m.date, m.id",
        (*names, value),
    ).fetchall()
    found = _merge(rows, names[0])
    shown, _ = fill([item(view, caller, f) for f in found[:limit]], whole=True)
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
    who = view.index.number_of(peer)
    received, values = _with_recipient(view, me, peer)
    return f" AND (m.sender = ? OR {received})", [who, *values]


def _with_recipient(view: View, me: int, name: AgentName) -> tuple[str, list[object]]:
    """Return a condition on mail to an agent; only a sender finds blind copies."""
    who = view.index.number_of(name)
    condition = (
        "EXISTS (SELECT 1 FROM mail r WHERE r.who = ? AND r.date = m.date"
        " AND r.n = m.n AND (r.role & 6 OR (r.role & 8 AND (m.sender = ? OR ? = ?))))"
    )
    return condition, [who, me, who, me]


def _hit(
    view: View,
    caller: AgentName,
    names: Sequence[int],
    n: int,
    words: Sequence[str],
) -> Item:
    marks = ",".join("?" * len(names))
    rows = view.index.execute(
        "SELECT m.n, m.id, m.date, m.part, s.who, s.role, s.stage FROM message m"
        " CROSS JOIN mail s ON s.date = m.date AND s.n = m.n"
        f" WHERE m.n = ? AND s.who IN ({marks})",
        (n, *names),
    ).fetchall()
    found = item(view, caller, _merge(rows, names[0])[0])
    return replace(found, excerpt=_excerpt(searchable(found.message), words))


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return the surroundings of the first word found, words between « and »."""
    wanted = {_fold(word) for word in words}
    spans = [m.span() for m in _WORD.finditer(text) if _fold(m.group()) in wanted]
    start = max(0, spans[0][0] - _EXCERPT_BEFORE) if spans else 0
    end = min(len(text), start + _EXCERPT_LENGTH)
    pieces, position = ["…" if start else ""], start
    for a, b in spans:
        if b <= end:
            pieces += [text[position:a], "«", text[a:b], "»"]
            position = b
    pieces += [text[position:end], "…" if end < len(text) else ""]
    return " ".join("".join(pieces).split())


def _fold(word: str) -> str:
    """Return a word without case and accents, as the full-text index compares."""
    return "".join(c for c in normalize("NFKD", word.casefold()) if not combining(c))
