"""Agents, the log and the mailbox's state as text for people."""

from collections.abc import Sequence

from gitmail.mailbox.values import (
    Availability,
    Directory,
    Entry,
    LogEntry,
    Registered,
    Status,
)
from gitmail.render.terminal import (
    Cell,
    Look,
    Style,
    block,
    count,
    flat,
    indented,
    line,
    short,
    shown,
    table,
)

_HEADINGS = ("NAME", "KIND", "SEEN", "PENDING", "TEAMS", "RUNS ON", "ABOUT")
_LISTED = 20


def initialised(value: Status, *, is_new: bool) -> str:
    """Return the answer to `init`."""
    verb = "Made" if is_new else "There is already"
    return (
        f"{verb} the mailbox of {line(value.project)} in {line(value.path)}\n"
        "Register who writes and reads: gitmail register NAME"
    )


def registered(value: Registered, look: Look, *, verb: str) -> str:
    """Return the answer to a change of a profile."""
    plain = line(value.profile.name)
    name = look.paint(plain, Style.NAME)
    if value.is_new:
        act = f"--as {plain} or GITMAIL_AGENT={plain}"
        return f"Registered {name}\nAct as it with {act}"
    if value.commit is None:
        return f"{name} is as it was, nothing was written"
    return f"{verb} {name}"


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
                    count(value.commit_count, "commit"),
                ]
            ),
        ),
        ("You are", look.paint(line(value.agent or ""), Style.NAME)),
        ("Pending", pending),
    ]
    lines = block(pairs, look)
    lines += _problems("Unreadable, left out of every answer", value.quarantine, look)
    lines += _problems(
        "Changed on disk by hand, which is not mail", value.uncommitted, look
    )
    return "\n".join(lines)


def _problems(title: str, files: Sequence[tuple[str, str]], look: Look) -> list[str]:
    if not files:
        return []
    rows = [[Cell(line(what)), Cell(line(path))] for path, what in files[:_LISTED]]
    lines = ["", look.paint(f"{title}: {count(len(files), 'file')}", Style.WARNING)]
    lines += table(rows, look, indent="  ")
    if len(files) > _LISTED:
        lines += indented(f"and {len(files) - _LISTED} more (use --json)", "  ")
    return lines


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
