"""Bundles, as JSON-ready objects and as text for people."""

from gitmail.mailbox.bundle_values import Applied, Bundled, Contents, Inspected
from gitmail.render.plain import Plain, error
from gitmail.render.terminal import Look, Style, block, count, line, short
from gitmail.store.store import Step


def bundled_plain(value: Bundled) -> Plain:
    """Return the answer to making a bundle."""
    return {
        "file": value.path if value.is_written else None,
        "tip": value.tip,
        "since": value.since,
        **_counts(value.contents),
        "bytes": value.size_bytes,
    }


def applied_plain(value: Applied) -> Plain:
    """Return the answer to applying a bundle."""
    return {
        "file": value.path,
        "step": value.step,
        "tip": value.tip,
        **_counts(value.contents),
        "notes": [{"path": each.path, "reason": each.text} for each in value.notes],
    }


def inspected_plain(value: Inspected) -> Plain:
    """Return what a bundle is."""
    return {
        "file": value.path,
        "id": value.mailbox,
        "tip": value.tip,
        "prerequisites": list(value.prerequisites),
        **_counts(value.contents),
        "bytes": value.size_bytes,
        "known": value.is_known,
        "applies": value.problem is None,
        **(error(value.problem) if value.problem else {}),
    }


def bundled_text(value: Bundled) -> str:
    """Return the answer to making a bundle."""
    if not value.is_written:
        since = short(value.since or "")
        return f"Nothing is new since {since}, and so no bundle was written"
    since = f"what is new since {short(value.since)}" if value.since else "everything"
    size = f"{value.size_bytes:,} bytes"
    return (
        f"Wrote {line(value.path)}: {since}, {_listed(value.contents)}, {size}\n"
        f"Carry it over, and there: gitmail bundle apply FILE"
    )


def applied_text(value: Applied, look: Look) -> str:
    """Return the answer to applying a bundle."""
    if value.step is Step.NOTHING:
        return f"All that {line(value.path)} has was here already"
    merged = "merged, " if value.step is Step.MERGED else ""
    lines = [
        f"Applied {line(value.path)}: {_listed(value.contents)}",
        f"{merged}the tip is {short(value.tip)}".capitalize(),
    ]
    for note in value.notes:
        name = look.paint(line(note.path), Style.WARNING)
        lines.append(f"{name}: {line(note.text)}")
    return "\n".join(lines)


def inspected_text(value: Inspected, look: Look) -> str:
    """Return what a bundle is."""
    if value.problem:
        problem = look.paint(line(value.problem.message), Style.WARNING)
        verdict = f"not here: {problem}"
    else:
        verdict = "yes, and all of it is here already" if value.is_known else "yes"
    pairs = [
        ("Bundle", line(value.path)),
        ("Mailbox", line(value.mailbox or "unknown here")),
        ("Tip", value.tip),
        ("Stands on", ", ".join(value.prerequisites) or "nothing, it has everything"),
        ("Holds", f"{_listed(value.contents)}, {value.size_bytes:,} bytes"),
        ("Applies", verdict),
    ]
    return "\n".join(block(pairs, look))


def _counts(value: Contents) -> Plain:
    return {
        "commits": value.commit_count,
        "messages": value.message_count,
        "receipts": value.receipt_count,
        "records": value.record_count,
    }


def _listed(value: Contents) -> str:
    parts = [
        count(value.commit_count, "commit"),
        count(value.message_count, "message"),
        count(value.receipt_count, "receipt"),
        count(value.record_count, "record"),
    ]
    return ", ".join(parts)
