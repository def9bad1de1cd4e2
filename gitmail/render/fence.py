"""Text that somebody else wrote, made safe to show to a model (CAPABILITIES R15).

Every such text stands between a pair of tags that carry a random token, fresh for each
answer, so that nobody can close the fence from inside. The sender stands outside it.
"""

import re
from collections.abc import Mapping
from typing import Any

_FENCED = ("subject", "body", "preview", "excerpt", "note", "description")
_FENCED_IN = ("messages", "message", "receipts", "agents")
_TAG = re.compile(r"<(?=/?\s*mail)", re.IGNORECASE)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
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
    return _INVISIBLE.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", text)


def _fence(value: Mapping[str, Any], token: str) -> dict[str, Any]:
    return {
        key: f"<mail-{token}>{_neutral(text)}</mail-{token}>"
        if key in _FENCED and isinstance(text, str)
        else text
        for key, text in value.items()
    }


def _neutral(text: str) -> str:
    return _TAG.sub("<\u200a", visible(text))
