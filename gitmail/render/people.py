"""Agents, the log and the mailbox's state as text for people."""

from collections.abc import Sequence

from gitmail.mailbox.exchange_values import Beginning
from gitmail.mailbox.values import (
    Availability,
    Directory,
    Entry,
    LogEntry,
    Registered,
    Status,
)
from gitmail.render.syncing import beginning_text, exchange_text
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    block,
    count,
    flat,
    line,
    short,
    shown,
    table,
)
from gitmail.store.lost import LOST

_HEADINGS = ("NAME", "KIND", "SEEN", "PENDING", "TEAMS", "RUNS ON", "ABOUT")
_LISTED = 20


def initialised(
    value: Status, *, is_new: bool, is_alone: bool, begun: Beginning | None = None
) -> str:
    """Return the answer to `init`.

    Args:
        is_alone: Whether it is in no git project.
        begun: What was found at its remote, None where it has none.
    """
    verb = "Made" if is_new else "There is already"
    lines = [f"{verb} the mailbox of {line(value.project)} in {line(value.path)}"]
    if begun:
        lines += beginning_text(begun, value.path)
    if is_alone:
        lines.append("This folder is in no git project: the mailbox is its own")
    lines.append("Register who writes and reads: gitmail register NAME")
    return "\n".join(lines)


def registered(value: Registered, look: Look, *, verb: str) -> str:
    """Return the answer to a change of a profile."""
    plain = line(value.profile.name)
    name = look.paint(plain, Style.NAME)
    if value.is_new:
        act = f"--as {plain} or GITMAIL_AGENT={plain}"
        return f"Registered {name}\nAct as it with {act}"
    said = f"{verb} {name}"
    if value.commit is None:
        said = f"{name} is as it was, nothing was written"
    if value.profile.is_retired:
        said += f"\nIt comes back by acting, or with: gitmail unretire {plain}"
    return said


def directory(value: Directory, look: Look) -> str:
    """Return the agents as a table."""
    rows = [
        [
            Cell(line(each.profile.name), Style.NAME),
            Cell(each.profile.kind),
            Cell(_presence(each, look), _presence_style(each)),
            Cell(_pending(each)),
            Cell(", ".join(line(team) for team in each.profile.teams)),
            Cell(_runs_on(each)),
            Cell(flat(each.profile.description), Style.DIM),
        ]
        for each in value.entries
    ]
    lines = table(rows, look, headings=_HEADINGS) if rows else []
    hidden = [
        f"{number} {what}"
        for number, what in (
            (value.idle_count, "idle"),
            (value.retired_count, "retired"),
        )
        if number
    ]
    if hidden:
        lines.append(f"{'and ' if rows else ''}{', '.join(hidden)} (use --all)")
    return "\n".join(lines) or "Nobody is registered; use: gitmail register NAME"


def entry(value: Entry, look: Look) -> str:
    """Return one agent."""
    profile = value.profile
    pairs = [
        ("Name", look.paint(line(profile.name), Style.NAME)),
        ("Kind", str(profile.kind)),
        ("Seen", look.paint(_presence(value, look), _presence_style(value))),
        ("Pending", _pending(value) or "nothing"),
        ("Teams", ", ".join(line(team) for team in profile.teams)),
        ("Program", line(profile.program or "")),
        ("Model", line(profile.model or "")),
        ("Registered", look.moment(profile.created)),
    ]
    about = ["", *shown(profile.description).split("\n")] if profile.description else []
    return "\n".join(block(pairs, look) + about)


def log(values: Sequence[LogEntry], look: Look) -> str:
    """Return the audit log, a line an operation."""
    if not values:
        return "No operation fits"
    rows = [
        [
            Cell(short(each.commit), Style.WARNING),
            Cell(look.age(each.date), Style.DIM),
            Cell(line(each.agent), Style.NAME),
            Cell(line(each.operation or "(other)")),
            Cell(line(each.subject)),
        ]
        for each in values
    ]
    return "\n".join(table(rows, look))


def status(value: Status, look: Look) -> str:
    """Return the state of the mailbox."""
    pending = ""
    if value.agent:
        unread, unacked = value.unread_count or 0, value.unacked_count or 0
        pending = f"{unacked} unacknowledged, {unread} of them unread"
    pairs = [
        ("Mailbox", line(value.path)),
        ("Project", line(value.project)),
        ("Id", line(value.id)),
        ("Tip", f"{value.tip} on {value.branch.removeprefix('refs/heads/')}"),
        (
            "Holds",
            ", ".join(
                [
                    count(value.message_count, "message"),
                    count(value.agent_count, "agent"),
                    count(value.memory_count, "record"),
                    count(value.commit_count, "commit"),
                ]
            ),
        ),
        ("Remote", exchange_text(value.exchange, look) if value.exchange else ""),
        ("You are", look.paint(line(value.agent or ""), Style.NAME)),
        ("Pending", pending),
    ]
    lines = block(pairs, look)
    advice = (
        "Bring them back with: gitmail doctor --repair",
        f"or let one go: git -C {line(value.path)} update-ref -d {LOST}/COMMIT",
    )
    title = "The branch had these and all before, and has no longer"
    ids = [*value.lost[:_LISTED]]
    lines += _problems(title, len(value.lost), ids, advice, look, "commit")
    bad = value.quarantine[:_LISTED]
    named = [text for path, why in bad for text in (line(path), f"  {line(why)}")]
    advice = (
        "It counts for nothing until it is put right in a clone; see how it came:",
        f"git -C {line(value.path)} log -p -- PATH",
    )
    title = "Unreadable, left out of every answer"
    lines += _problems(title, len(value.quarantine), named, advice, look)
    edited = value.uncommitted[:_LISTED]
    rows = [[Cell(line(what)), Cell(line(path))] for path, what in edited]
    title = "Changed on disk by hand, which is not mail"
    advice = (
        "Move it aside, and put back what the tip has, with:",
        "gitmail doctor --repair",
    )
    lines += _problems(title, len(value.uncommitted), table(rows, look), advice, look)
    return "\n".join(lines)


def _problems(
    title: str,
    number: int,
    named: Sequence[str],
    advice: Sequence[str],
    look: Look,
    what: str = "file",
) -> list[str]:
    if not number:
        return []
    if number > _LISTED:
        named = [*named, f"and {number - _LISTED:,} more (use --json)"]
    head = look.paint(f"{title}: {count(number, what)}", Style.WARNING)
    return ["", head, *(f"  {each}" for each in (*named, *advice))]


def _presence(value: Entry, look: Look) -> str:
    when = look.seen(value.last_seen)
    return ", ".join(filter(None, [str(value.availability), when]))


def _presence_style(value: Entry) -> Style:
    return Style.GOOD if value.availability is Availability.ACTIVE else Style.DIM


def _pending(value: Entry) -> str:
    if not value.unacked_count:
        return ""
    if value.unread_count == value.unacked_count:
        return f"{value.unread_count} unread"
    unread = f", {value.unread_count} unread" if value.unread_count else ""
    return f"{value.unacked_count}{unread}"


def _runs_on(value: Entry) -> str:
    profile = value.profile
    return ", ".join(line(x) for x in (profile.program, profile.model) if x)
