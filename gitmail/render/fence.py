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
    *("record", "records", "history", "in_force", "sample"),
)
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


def visible(text: str) -> str:
    """Return text with control, invisible and direction-changing characters shown."""
    return _INVISIBLE.sub(_shown, text)


def _fence(value: Mapping[str, Any], token: str) -> dict[str, Any]:
    return {key: _fence_field(key, field, token) for key, field in value.items()}


def _fence_field(key: str, field: Any, token: str) -> Any:
    if isinstance(field, Mapping):
        return _fence(field, token)
    if key in _FENCED and isinstance(field, list):
        return [_fence_field(key, each, token) for each in field]
    if key in _FENCED and isinstance(field, str):
        return f"<mail-{token}>{_neutral(field)}</mail-{token}>"
    return field


def _neutral(text: str) -> str:
    return _TAG.sub(_shown, visible(text))


def _shown(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found.group()):x}}}"
