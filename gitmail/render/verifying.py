"""What `verify` found: as an object, and as Markdown for a pull request.

All text that somebody wrote goes through `line` and stands in a code span.
"""

import re
from collections.abc import Sequence
from typing import Any

from gitmail.mailbox.guarding import Refusal
from gitmail.mailbox.verifying import Finding, Verified
from gitmail.render.terminal import count, line, short

_TICKS = re.compile("`+")
_MOST_LISTED = 100
_MOST_TOLD = 20


def plain(value: Verified) -> dict[str, Any]:
    """Return what was looked at and found, JSON-ready."""
    since = {"since": value.since} if value.since else {}
    return {
        "ok": not value.finding_count,
        "tip": value.tip,
        **since,
        "commits": value.commit_count,
        "messages": value.message_count,
        "receipts": value.receipt_count,
        "records": value.record_count,
        "found": value.finding_count,
        "findings": [_finding(each) for each in value.findings],
        "remarked": value.remark_count,
        "remarks": [_finding(each) for each in value.remarks],
    }


def summary(value: Verified) -> str:
    """Return the same as Markdown."""
    found = value.finding_count
    title = count(found, "finding") if found else "nothing amiss"
    if value.remark_count:
        title += f", {count(value.remark_count, 'remark')}"
    span = f"`{short(value.tip)}`"
    if value.since:
        span = f"`{short(value.since)}..{short(value.tip)}`"
    looked_at = [
        count(value.commit_count, "commit"),
        count(value.message_count, "message"),
        count(value.receipt_count, "receipt"),
        count(value.record_count, "record"),
    ]
    lines = [f"## Mailbox verified: {title}", "", f"{span}: {', '.join(looked_at)}"]
    if found:
        lines += _table("what is amiss", value.findings, found)
    if value.remark_count:
        lines += ["", "Remarks, of what nobody can undo and what does no harm:"]
        lines += _table("what to know", value.remarks, value.remark_count)
    return "\n".join(lines)


def refused(values: Sequence[Refusal]) -> list[str]:
    """Return why a push is refused, for the person who pushes."""
    lines = []
    for value in values:
        lines.append(f"{line(value.ref)} is refused: {value.reason}")
        for each in value.findings[:_MOST_TOLD]:
            where = f"{line(each.path)}: " if each.path else ""
            who = f"commit {short(each.commit)} by {line(each.author)}"
            lines.append(f"  {each.rule}, {who}: {where}{line(each.detail)}")
        if len(value.findings) > _MOST_TOLD:
            lines.append(f"  and {len(value.findings) - _MOST_TOLD:,} more")
    return lines


def _finding(value: Finding) -> dict[str, str]:
    return {
        "rule": value.rule,
        "commit": value.commit,
        "author": value.author,
        "path": value.path,
        "detail": value.detail,
    }


def _table(title: str, values: Sequence[Finding], total: int) -> list[str]:
    lines = ["", f"| rule | commit | author | path | {title} |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    lines += [_row(each) for each in values[:_MOST_LISTED]]
    if total > _MOST_LISTED:
        lines += ["", f"and {total - _MOST_LISTED:,} more (use --json)"]
    return lines


def _row(value: Finding) -> str:
    cells = [
        str(value.rule),
        _code(short(value.commit)),
        _code(value.author),
        _code(value.path),
        _code(value.detail),
    ]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Return text as a code span in a table, which nothing in it can end."""
    said = line(text).replace("|", "\\|")
    if not said.strip():
        return ""
    longest = max(map(len, _TICKS.findall(said)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest else ""
    return f"{fence}{padding}{said}{padding}{fence}"
