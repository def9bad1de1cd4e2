"""Full-text search: all words, in mail that the caller may see (CAPABILITIES R14)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from unicodedata import combining, normalize

from gitmail.errors import InvalidArgumentError
from gitmail.mailbox.checks import choice
from gitmail.mailbox.lookup import (
    item,
    number_of,
    own_names,
    received_by,
    visible,
)
from gitmail.mailbox.receiving import check_limit
from gitmail.mailbox.values import Item
from gitmail.records.message import Kind
from gitmail.records.names import AgentName, parse_agent_name
from gitmail.records.text import check_length, check_string
from gitmail.store.index import searchable
from gitmail.store.schema import marks
from gitmail.store.view import View
from gitmail.store.words import WORD

_KINDS = list(Kind)
_EXCERPT_BEFORE, _EXCERPT_LENGTH = 60, 240
_MOST_WORDS = 32
_LONGEST = 1000


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
    for part in check_string("query", query).split():
        key, colon, value = part.partition(":")
        if colon and value and key.lower() in said:
            said[key.lower()] = value
        else:
            rest.append(part)
    if query.strip() and not rest:
        rule = "from:, to: and kind: need a word beside them"
        raise InvalidArgumentError("query", query, rule)
    return Search(
        words=parse_words(" ".join(rest)),
        sender=parse_agent_name(said["from"]) if said["from"] is not None else None,
        recipient=parse_agent_name(said["to"]) if said["to"] is not None else None,
        kind=choice("kind", Kind, said["kind"]),
        order=choice("order", Order, order) or Order.RECENT,
        limit=check_limit(limit),
    )


def parse_words(query: object) -> tuple[str, ...]:
    """Return the words of a query, all of which must occur.

    Raises:
        InvalidArgumentError: There are none, or too many, or it is no text.
    """
    text = check_length("query", check_string("query", query), _LONGEST)
    words = WORD.findall(normalize("NFC", text))
    if not words or len(words) > _MOST_WORDS:
        rule = f"1 to {_MOST_WORDS} words of letters or digits, which must all occur"
        raise InvalidArgumentError("query", query, rule)
    return tuple(words)


def match_all(words: Sequence[str]) -> str:
    """Return the expression of the full-text index that asks for all words."""
    return " AND ".join(f'"{word}"' for word in words)


def search(view: View, caller: AgentName, wanted: Search) -> list[Item]:
    """Return what has all the words and the caller may see (CAPABILITIES R14)."""
    names = own_names(view, caller)
    sql = (
        "SELECT m.n FROM words CROSS JOIN message m ON m.n = words.rowid"
        " WHERE words MATCH ? AND EXISTS (SELECT 1 FROM mail s WHERE s.date = m.date"
        f" AND s.n = m.n AND s.who IN ({marks(names)}))"
    )
    values: list[object] = [match_all(wanted.words), *names]
    if wanted.sender:
        sql += " AND m.sender = ?"
        values.append(number_of(view, wanted.sender))
    if wanted.recipient:
        condition, more = received_by(view, names[0], wanted.recipient)
        sql += f" AND {condition}"
        values += more
    if wanted.kind:
        sql += " AND m.kind = ?"
        values.append(_KINDS.index(wanted.kind))
    # The row number rises as mail arrives, and needs no sorting of all that fits.
    is_recent = wanted.order is Order.RECENT
    sql += f" ORDER BY {'words.rowid DESC' if is_recent else 'rank'} LIMIT ?"
    rows = view.index.execute(sql, (*values, wanted.limit)).fetchall()
    hits = [_hit(view, caller, names, row[0], wanted.words) for row in rows]
    if is_recent:
        hits.sort(key=lambda each: (each.message.date, each.id), reverse=True)
    return hits


def _hit(
    view: View,
    caller: AgentName,
    names: Sequence[int],
    n: int,
    words: Sequence[str],
) -> Item:
    (hit,) = visible(view, names, "m.n = ?", [n])
    found = item(view, caller, hit)
    return replace(found, excerpt=excerpt(searchable(found.message), words))


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the surroundings of the first word found, words between « and »."""
    wanted = {_fold(word) for word in words}
    start, end = 0, min(len(text), _EXCERPT_LENGTH)
    spans: list[tuple[int, int]] = []
    for found in WORD.finditer(text):
        if spans and found.end() > end:
            break
        if _fold(found.group()) not in wanted:
            continue
        if not spans:
            start = max(0, found.start() - _EXCERPT_BEFORE)
            end = min(len(text), start + _EXCERPT_LENGTH)
        if found.end() > end:  # one word longer than an excerpt
            break
        spans.append(found.span())
    pieces, position = ["…" if start else ""], start
    for a, b in spans:
        pieces += [text[position:a], "«", text[a:b], "»"]
        position = b
    pieces += [text[position:end], "…" if end < len(text) else ""]
    return " ".join("".join(pieces).split())


def _fold(word: str) -> str:
    """Return a word without case and accents, as the full-text index compares."""
    if word.isascii():  # most are, and a search folds a thousand of them
        return word.lower()
    return "".join(c for c in normalize("NFKD", word.casefold()) if not combining(c))
