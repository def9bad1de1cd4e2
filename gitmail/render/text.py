"""Mail as text for people, one function a value; for `Look` see `terminal`.

All text that somebody wrote goes through `line`, `flat` or `shown`.
"""

from collections.abc import Sequence

from gitmail.mailbox.values import Conversation, Item, Page
from gitmail.records.message import Importance, Kind
from gitmail.records.receipt import Stage
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    block,
    cells,
    clip,
    count,
    flat,
    indented,
    line,
    short,
    shown,
    table,
)

_INDENT = "    "
_LONGEST_WHO = 32
_IMPORTANCE_STYLES = {
    Importance.LOW: Style.DIM,
    Importance.NORMAL: Style.PLAIN,
    Importance.HIGH: Style.WARNING,
    Importance.URGENT: Style.ALARM,
}


def page(
    value: Page, look: Look, *, nobody: str = "No mail fits", whole: bool = False
) -> str:
    """Return a page of mail as a list, or with `whole` as letters.

    What is said where there is no mail is `nobody`.
    """
    if whole:
        letters = "\n\n".join("\n".join(_letter(i, look)) for i in value.items)
        lines = [letters] if letters else []
    else:
        lines = listing(value.items, look)
    if not value.items:
        lines.append(nobody)
    if value.commit:
        lines.append(f"Acknowledged in commit {short(value.commit)}")
    lines += _about_page(value, look)
    return "\n".join(lines)


def listing(items: Sequence[Item], look: Look) -> list[str]:
    """Return a line a message, and below it a line of its marks and what it says."""
    rows = [
        [
            Cell(short(each.id), Style.WARNING),
            Cell(look.age(each.message.date), Style.DIM),
            Cell(_who(each), Style.NAME),
            Cell(line(each.message.title), _title_style(each)),
        ]
        for each in items
    ]
    lines = []
    for each, row in zip(items, table(rows, look), strict=True):
        lines.append(row)
        marks = ", ".join(filter(None, [_kind(each), _marks(each)]))
        marks = f"[{marks}]" if marks else ""
        width = look.width - len(_INDENT) - cells(marks) - 1 if look.width else None
        says = look.paint(clip(_says(each), width), Style.DIM)
        marks = look.paint(marks, _IMPORTANCE_STYLES[each.message.importance])
        if marks or says:
            lines.append(_INDENT + " ".join(filter(None, [marks, says])))
    return lines


def letter(value: Item, look: Look) -> str:
    """Return one message to be read: a block of what is known of it, then the body."""
    message = value.message
    place = message.location
    where = (
        [
            f"branch {line(place.branch)}" if place.branch else "",
            f"worktree {line(place.worktree)}" if place.worktree else "",
            f"commit {short(place.commit)}" if place.commit else "",
        ]
        if place
        else []
    )
    pairs = [
        ("From", look.paint(line(message.sender), Style.NAME)),
        ("To", _names(message.to)),
        ("Cc", _names(message.cc)),
        ("Bcc", _names(value.bcc)),
        ("Subject", look.paint(line(message.subject or ""), Style.BOLD)),
        ("Date", look.moment(message.date)),
        ("Expires", look.moment(message.expires) if message.expires else ""),
        ("Kind", ", ".join(filter(None, [str(message.kind), _marks(value)]))),
        ("Topic", line(message.topic or "")),
        ("Room", line(message.room or "")),
        ("Place", ", ".join(filter(None, where))),
        ("Id", message.id),
        ("Answers", message.reply_to or ""),
        ("Thread", message.thread or ""),
    ]
    return "\n".join([*block(pairs, look), "", _body(value)])


def conversation(value: Conversation, look: Look, kind: str) -> str:
    """Return a thread or a room, oldest message first."""
    name = line(value.name) if kind == "room" else short(value.name)
    people = ", ".join(line(p) for p in value.participants)
    head = f"{kind.capitalize()} {name}: {count(value.count, 'message')} of {people}"
    lines = [look.paint(head, Style.BOLD)]
    for each in value.items:
        lines += ["", *_letter(each, look)]
    hidden = value.count - len(value.items)
    if hidden:
        lines += ["", f"and {hidden} more (use --limit, up to 200, or read by id)"]
    return "\n".join(lines)


def found(query: str, values: Sequence[Item], look: Look) -> str:
    """Return what a search found."""
    if not values:
        return f"No mail has all of: {line(query)}"
    return "\n".join(listing(values, look))


def _letter(each: Item, look: Look) -> list[str]:
    message = each.message
    about = [
        f"to {_names((*message.to, *message.cc, *each.bcc))}",
        look.age(message.date),
        _kind(each),
        look.paint(_marks(each), _IMPORTANCE_STYLES[message.importance]),
        look.paint(short(each.id), Style.WARNING),
    ]
    head = look.paint(line(message.sender), Style.NAME)
    lines = [f"{head} {'  '.join(filter(None, about))}"]
    if message.subject:
        lines.append(f"  {look.paint(line(message.subject), Style.BOLD)}")
    lines += indented(_body(each), _INDENT)
    if each.is_truncated:
        lines.append(
            look.paint(f"{_INDENT}(cut, see: gitmail read {each.id})", Style.DIM)
        )
    return lines


def _body(each: Item) -> str:
    return shown(each.text or "").rstrip("\n")


def _about_page(value: Page, look: Look) -> list[str]:
    lines = []
    if value.expired_count:
        ids = ", ".join(short(i) for i in value.expired)
        more = count(value.expired_count, "message")
        lines.append(f"{more} expired unacknowledged and left this list: {ids}")
    if value.quarantined_count:
        files = count(value.quarantined_count, "file")
        lines.append(f"{files} of the mailbox cannot be read: see gitmail status")
    if value.is_full:
        lines.append("The page stopped at 32 KiB of text")
    if value.has_more:
        lines.append(f"There is more: --after {value.cursor}")
    return [look.paint(each, Style.DIM) for each in lines]


def _names(names: Sequence[str]) -> str:
    return ", ".join(line(name) for name in names)


def _who(each: Item) -> str:
    """Return the sender, and whom they wrote to where that is not the reader."""
    message = each.message
    if each.state is not None:
        return line(message.sender)
    names = _names((*message.to, *message.cc, *each.bcc))
    return clip(f"{line(message.sender)} to {names}", _LONGEST_WHO)


def _kind(each: Item) -> str:
    kind = each.message.kind
    return "" if kind is Kind.NOTE else str(kind)


def _marks(each: Item) -> str:
    message = each.message
    is_acked = each.state is Stage.ACKED
    marks = [
        "" if message.importance is Importance.NORMAL else str(message.importance),
        "ack wanted" if message.ack_required and not is_acked else "",
        "" if each.state in (None, Stage.PENDING) else str(each.state),
    ]
    return ", ".join(filter(None, marks))


def _title_style(each: Item) -> Style:
    if each.state is not Stage.PENDING:
        return Style.PLAIN
    is_urgent = each.message.importance is Importance.URGENT
    return Style.ALARM if is_urgent else Style.BOLD


def _says(each: Item) -> str:
    """Return the text below a title, without what the title says already."""
    if each.excerpt is not None:
        return flat(each.excerpt)
    text = each.text or ""
    is_title_whole = not each.message.title.endswith("...")
    if each.message.subject is None and is_title_whole:
        text = "\n".join(text.strip().split("\n")[1:])
    return flat(text)
