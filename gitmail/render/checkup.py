"""What the doctor found, as JSON-ready objects and as text for people."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from gitmail.render.terminal import Look, Style, count, line
from gitmail.store.findings import Checkup, Finding

_LISTED = 20


def plain(value: Checkup) -> dict[str, Any]:
    """Return the findings, each with what was done or is to be done."""
    answer: dict[str, Any] = {
        "mailbox": value.path,
        "findings": [_finding(each) for each in value.findings],
        "left": value.left_count,
    }
    return answer | ({"rescued": value.rescued} if value.rescued else {})


def _finding(value: Finding) -> dict[str, Any]:
    said = {
        "kind": value.kind,
        "path": value.path,
        "detail": value.detail,
        "repaired": value.is_repaired,
        "done": value.done,
        "advice": value.advice,
    }
    return {key: each for key, each in said.items() if each is not None}


def text(value: Checkup, look: Look) -> str:
    """Return what was found and done, line by line."""
    lines: list[str] = []
    for _, alike in groupby(value.findings, key=lambda each: each.kind):
        lines += _listed(list(alike), look)
    total, left = len(value.findings), value.left_count
    if value.rescued:
        lines += [f"What was in the way is in {line(value.rescued)}"]
    if not total:
        lines.append(
            look.paint(f"Nothing is wrong with {line(value.path)}", Style.GOOD)
        )
    elif not left:
        said = f"{count(total, 'finding')} mended, nothing is left to do"
        lines.append(look.paint(said, Style.GOOD))
    else:
        said = f"{count(total, 'finding')}, {left:,} left to be mended"
        lines.append(look.paint(said, Style.WARNING))
    return "\n".join(lines)


def _listed(values: list[Finding], look: Look) -> Iterator[str]:
    # What is left to do must not be hidden by what is done.
    values.sort(key=lambda each: each.is_repaired)
    for each in values[:_LISTED]:
        style = Style.PLAIN if each.is_repaired else Style.WARNING
        said = "mended" if each.is_repaired else "to do"
        words = each.kind.replace("_", " ")
        yield f"{look.paint(words, style)}  {line(each.path)}: {line(each.detail)}"
        yield f"    {said}: {line(each.done or each.advice or '')}"
    hidden = len(values) - _LISTED
    if hidden > 0:
        yield f"    and {hidden:,} more of that kind (use --json)"
