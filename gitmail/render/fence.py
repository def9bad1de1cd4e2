"""Text that somebody else wrote, made safe to show to a model (CAPABILITIES R15).

Every such text stands between a pair of tags that carry a random token, fresh for each
answer, so that nobody can close the fence from inside. The sender stands outside it.
"""

import re
from collections.abc import Mapping
from typing import Any

# What no grammar bounds; all other text is names, ids and words of gitmail's own.
_FENCED = frozenset(
    {"subject", "body", "preview", "excerpt", "note", "description", "topic"}
    | {"request_id", "branch", "worktree", "program", "model", "path", "reason"}
    | {"value", "entity", "attribute", "source", "episode", "tags"}
)
_FENCED_IN = (
    *("messages", "message", "receipts", "agents", "agent", "quarantine", "log"),
    *("record", "records", "history", "notes"),
)
# What of an error's data others wrote, by its code.
_FENCED_OF_ERRORS = {
    "not_found": ("similar",),
    "push_refused": ("reason",),
    "quarantined": ("path", "reason"),
    "remote_denied": ("reason",),
    "remote_failed": ("reason",),
    "remote_full": ("reason",),
    "remote_locked": ("reason",),
    "remote_rewritten": ("reason",),
    "stale_revision": ("in_force",),
    "too_many_matches": ("sample",),
}
# Who made a commit and how: a name where gitmail wrote it, any text where another did.
_NAMES = frozenset({"agent", "by", "op"})
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_TAG = re.compile(r"<(?=[\s/]*mail)", re.IGNORECASE)
# Controls but tab and line ends, what has no width, what turns the direction of text,
# and the tags and selectors in which whole texts can hide.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff"
    "\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|\r(?!\n)"
)


def fenced(plain: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Return an answer with all text of others between `<mail-TOKEN>` tags.

    Args:
        plain: An answer as `gitmail.render.plain` makes it.
        token: Unpredictable text of letters and digits, new for each answer.
    """
    answer = dict(plain)
    has_text = False
    for key in _FENCED_IN:
        value = answer.get(key)
        if isinstance(value, list):
            answer[key] = [
                _fence(each, token) if isinstance(each, Mapping) else each
                for each in value
            ]
            has_text = has_text or bool(value)
        elif isinstance(value, Mapping):
            answer[key] = _fence(value, token)
            has_text = True
    if has_text:
        answer["fence"] = f"<mail-{token}>"
    return answer


def fenced_error(problem: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Return an error with what of its data others wrote between `<mail-TOKEN>` tags.

    Args:
        problem: What `gitmail.render.plain.error` has as `error`.
        token: As for `fenced`.
    """
    keys = _FENCED_OF_ERRORS.get(problem["code"], ())
    foreign = {key: _fence_text(problem[key], token) for key in keys if key in problem}
    fence = {"fence": f"<mail-{token}>"} if foreign else {}
    return {**problem, **foreign, **fence}


def visible(text: str) -> str:
    """Return text with control, invisible and direction-changing characters shown."""
    return _INVISIBLE.sub(_shown, text)


def _fence(value: Mapping[str, Any], token: str) -> dict[str, Any]:
    return {key: _fence_field(key, field, token) for key, field in value.items()}


def _fence_field(key: str, field: Any, token: str) -> Any:
    if isinstance(field, Mapping):
        return _fence(field, token)
    is_free = key in _NAMES and isinstance(field, str) and not _NAME.fullmatch(field)
    return _fence_text(field, token) if is_free or key in _FENCED else field


def _fence_text(field: Any, token: str) -> Any:
    if isinstance(field, Mapping):
        return _fence(field, token)
    if isinstance(field, list):
        return [_fence_text(each, token) for each in field]
    if isinstance(field, str):
        return f"<mail-{token}>{_neutral(field)}</mail-{token}>"
    return field


def _neutral(text: str) -> str:
    return _TAG.sub(_shown, visible(text))


def _shown(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found.group()):x}}}"
