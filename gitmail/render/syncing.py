"""Remotes and syncs, as JSON-ready objects and as text for people."""

from typing import TYPE_CHECKING

from gitmail.mailbox.exchange_values import Beginning, Exchange, Relation, Synced
from gitmail.render.plain import Plain
from gitmail.render.terminal import Look, Style, block, count, line, short

if TYPE_CHECKING:
    from gitmail.store.remote import Remote

_LISTED = 10
_STEPS = {
    "nothing": "nothing new came",
    "fast_forward": "went on to what the remote has",
    "merged": "merged",
}
_RELATIONS = {
    Relation.SAME: "both have the same",
    Relation.AHEAD: "ahead",
    Relation.BEHIND: "behind",
    Relation.DIVERGED: "diverged; a sync merges both",
    Relation.UNKNOWN: "never synced",
}


def remote_plain(value: "Remote | None") -> Plain:
    """Return where a mailbox is exchanged."""
    if value is None:
        return {"remote": None}
    return {"remote": {"url": value.shown_url, "branch": value.branch}}


def remote_text(value: "Remote | None") -> str:
    """Return where a mailbox is exchanged."""
    if value is None:
        return "No remote; name one with: gitmail remote add URL"
    return f"{line(value.shown_url)}, branch {line(value.branch)}"


def beginning_plain(value: Beginning) -> Plain:
    """Return what a mailbox that was made from a remote found there."""
    plain: Plain = {
        "url": value.remote.shown_url,
        "branch": value.remote.branch,
        "found": value.is_found,
    }
    return plain | (
        {} if value.branches is None else {"branches": list(value.branches)}
    )


def beginning_text(value: Beginning, folder: str) -> list[str]:
    """Return lines about what a mailbox began with, none where the branch was there.

    Args:
        folder: The mailbox's.
    """
    if value.is_found:
        return []
    url, branch = line(value.remote.shown_url), line(value.remote.branch)
    new = "so this is a new mailbox; the next sync takes it there"
    lines = [f"{url} has no branch {branch}, {new}"]
    if value.branches:
        shown = ", ".join(map(line, value.branches[:_LISTED]))
        more = len(value.branches) - _LISTED
        lines.append(f"Branches there: {shown}{f' and {more} more' * (more > 0)}")
    if value.branches is not None and not value.branches:
        lines.append("It has no branches at all")
    lines.append(
        f"If one should be there, remove {line(folder)} and name the branch:"
        f" gitmail init --from {url} --branch B"
    )
    return lines


def synced_plain(value: Synced) -> Plain:
    """Return what a sync did."""
    return {
        "fetched": value.fetched_count,
        "pushed": value.pushed_count,
        "step": value.step,
        "local": {"tip": value.tip, "durable": True},
        "remote": {"tip": value.remote_tip, "same": value.remote_tip == value.tip},
        "rounds": value.rounds,
        "notes": [{"path": path, "reason": text} for path, text in value.notes],
    }


def synced_text(value: Synced, look: Look) -> str:
    """Return what a sync did."""
    is_same = value.remote_tip == value.tip
    there = (
        f"has {short(value.remote_tip)}" if value.remote_tip else "has no branch yet"
    )
    pairs = [
        ("Fetched", f"{count(value.fetched_count, 'commit')}, {_STEPS[value.step]}"),
        ("Pushed", count(value.pushed_count, "commit")),
        ("Here", f"{short(value.tip)}, on this disk"),
        ("Remote", "has the same" if is_same else there),
    ]
    lines = block(pairs, look)
    for path, text in value.notes:
        lines.append(look.paint(f"{line(path)}: {line(text)}", Style.WARNING))
    return "\n".join(lines)


def exchange_text(value: Exchange, look: Look) -> str:
    """Return how a mailbox stands to its remote, in one line."""
    counts = [
        count(value.ahead_count, "commit") + " ahead" if value.ahead_count else "",
        count(value.behind_count, "commit") + " behind" if value.behind_count else "",
    ]
    said = ", ".join(filter(None, counts)) or _RELATIONS[value.relation]
    seen = f", last exchange {look.age(value.at)}" if value.at else ""
    lost = ""
    if value.failure:
        code, ago = line(value.failure.code), look.age(value.failure.at)
        lost = look.paint(f"; the last sync failed {ago}: {code}", Style.WARNING)
    return f"{line(value.remote.shown_url)}: {said}{seen}{lost}"
