"""What became of mail after it was sent, as text for people."""

from collections.abc import Sequence

from gitmail.errors import InvalidNameError
from gitmail.mailbox.values import (
    Acked,
    AckOutcome,
    AckResult,
    Delivery,
    ReceiptLine,
    Receipts,
    Sent,
)
from gitmail.records.names import parse_id_prefix
from gitmail.records.receipt import Stage
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    clip,
    count,
    indented,
    line,
    short,
    shown,
    table,
)

_INDENT = "    "


def sent(value: Sent, look: Look) -> str:
    """Return the answer to a send or reply."""
    message = value.message.message
    title = line(message.title)
    if value.is_replayed:
        head = f"Already sent with this request id, nothing was written: {message.id}"
    else:
        head = f"Sent {message.id}"
    lines = [head, f"  {look.paint(clip(title, look.width), Style.BOLD)}"]
    return "\n".join(lines + _deliveries(value.deliveries, look))


def sent_many(values: Sequence[Sent], look: Look) -> str:
    """Return the answer to a batch."""
    new = [value for value in values if not value.is_replayed]
    head = f"Sent {count(len(new), 'message')} in one commit"
    if len(new) < len(values):
        head += f"; {len(values) - len(new)} were sent before and not sent again"
    rows = [
        [
            Cell(short(value.message.id), Style.WARNING),
            Cell(", ".join(line(d.name) for d in value.deliveries), Style.NAME),
            Cell(line(value.message.message.title)),
        ]
        for value in values
    ]
    return "\n".join([head, *table(rows, look, indent="  ")])


def acked(value: Acked, look: Look) -> str:
    """Return the answer to an acknowledgement."""
    rows = [
        [Cell(short(r.id) or "''", Style.WARNING), Cell(outcome(r))]
        for r in value.results
    ]
    return "\n".join(table(rows, look))


def outcome(result: AckResult) -> str:
    """Return what became of one id of an acknowledgement."""
    if result.outcome is AckOutcome.UPDATED:
        return f"{result.before} -> {result.after}"
    if result.outcome is AckOutcome.UNCHANGED:
        return f"unchanged, {result.after or result.before}"
    if result.outcome is AckOutcome.NOT_FOUND:
        return _missing(result.id)
    if result.matches:
        return f"fits several messages: {', '.join(map(line, result.matches))}"
    return "not yours to acknowledge: you are no recipient of it"


def receipts(value: Receipts, look: Look) -> str:
    """Return how far each recipient of a message is."""
    rows = [
        [
            Cell(line(each.name), Style.NAME),
            Cell(each.kind, Style.DIM),
            Cell(each.state, _state_style(each.state)),
            Cell(_since(each, look), Style.DIM),
        ]
        for each in value.lines
    ]
    lines = [f"Message {short(value.id)}"]
    for each, row in zip(value.lines, table(rows, look, indent="  "), strict=True):
        lines.append(row)
        if each.note:
            lines += indented(shown(each.note), _INDENT)
    return "\n".join(lines)


def _deliveries(deliveries: Sequence[Delivery], look: Look) -> list[str]:
    rows = [
        [
            Cell(each.kind, Style.DIM),
            Cell(line(each.name), Style.NAME),
            Cell(each.availability),
            Cell(look.seen(each.last_seen), Style.DIM),
        ]
        for each in deliveries
    ]
    return table(rows, look, indent="  ")


def _state_style(state: Stage) -> Style:
    return Style.GOOD if state is Stage.ACKED else Style.PLAIN


def _missing(message: str) -> str:
    try:
        parse_id_prefix(message)
    except InvalidNameError:
        return "no message id, which has 8 to 40 hex digits"
    return "not found: no such message for you"


def _since(each: ReceiptLine, look: Look) -> str:
    if each.acked_at and each.read_at:
        return f"{look.age(each.acked_at)}, read {look.age(each.read_at)}"
    return look.age(each.acked_at or each.read_at)
