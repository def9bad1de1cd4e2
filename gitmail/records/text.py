"""Checks of free text, shared by every record; pure."""

import re

from gitmail.errors import InvalidArgumentError, InvalidTextError

SUBJECT_LIMIT = 200
"""Characters of a subject."""
LABEL_LIMIT = 64
"""Characters of a topic."""
PREVIEW_LIMIT = 480
"""Characters of a body shown in a listing (CAPABILITIES R4)."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_string(field: str, value: object) -> str:
    """Return the value if it is text.

    Raises:
        InvalidArgumentError: It is not.
    """
    if not isinstance(value, str):
        raise InvalidArgumentError(field, value, "it must be text")
    return value


def check_text(field: str, text: str) -> str:
    """Return the text, or refuse what no UTF-8 Markdown file can hold.

    Raises:
        InvalidTextError: The text holds NUL or a lone surrogate.
        InvalidArgumentError: It is no text at all.
    """
    return _refuse(_UNSTORABLE, field, check_string(field, text))


def check_length(field: str, text: str, limit: int) -> str:
    """Return the text, or refuse more than `limit` characters.

    Raises:
        InvalidArgumentError: It is longer.
    """
    if len(text) > limit:
        accepted = f"it has {len(text)} characters, the limit is {limit}"
        raise InvalidArgumentError(field, text, accepted)
    return text


def check_line(
    field: str, text: object, limit: int, *, may_be_empty: bool = True
) -> str:
    """Return the text without outer white space, or refuse what is not one line.

    Raises:
        InvalidTextError: The text holds a control or line-breaking character.
        InvalidArgumentError: The text has more than `limit` characters, or none where
            that may not be, or it is no text at all.
    """
    line = _refuse(_CONTROL, field, check_string(field, text).strip())
    if not line and not may_be_empty:
        raise InvalidArgumentError(field, text, f"1 to {limit} characters")
    return check_length(field, line, limit)


def as_line(text: str, limit: int) -> str:
    """Return what `check_line` accepts of any text: `?` for what no line may hold."""
    return _CONTROL.sub("?", text).strip()[:limit].strip()


def headline(body: str, limit: int = 72) -> str:
    """Return the first line of a body that says something, shortened."""
    for line in body.splitlines():
        words = " ".join(_CONTROL.sub(" ", line).lstrip("# ").split())
        if words:
            return words if len(words) <= limit else words[: limit - 3] + "..."
    return ""


def preview(body: str) -> tuple[str, bool]:
    """Return the start of a body and whether something was cut (CAPABILITIES R4)."""
    if len(body) <= PREVIEW_LIMIT:
        return body, False
    return body[:PREVIEW_LIMIT] + "...", True


def _refuse(pattern: re.Pattern[str], field: str, text: str) -> str:
    found = pattern.search(text)
    if found:
        character = f"U+{ord(found.group()):04X}"
        raise InvalidTextError(field, character, found.start() + 1)
    return text
