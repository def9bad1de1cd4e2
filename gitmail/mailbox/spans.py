"""Ranges of commits, as `log` and `verify` take them."""

import re
from collections.abc import Callable

from gitmail.errors import InvalidArgumentError
from gitmail.records.names import CommitId, is_hex
from gitmail.records.text import check_string
from gitmail.store.refs import BRANCH, REF

_RANGE = re.compile(r"(?:(?P<stop>[^.\s]*)(?P<dots>\.\.))?(?P<start>[^.\s]*)")
_TIPS = ("", "HEAD", BRANCH, REF)
_SHORTEST = 7


def parse_span(
    span: str | None, tip: CommitId, find: Callable[[str], list[CommitId]]
) -> tuple[CommitId, CommitId | None]:
    """Return the commit that a range starts from, and the one before which it ends.

    Args:
        span: A commit, or `A..B` for what B has and A has not; ids may be cut to 7
            digits. None is all there is.
        tip: What `HEAD`, the branch's name and nothing mean.
        find: Returns the commits whose ids begin with some hex digits.

    Raises:
        InvalidArgumentError: It is anything else, or names no commit here.
    """
    said = "HEAD" if span is None else check_string("range", span).strip()
    found = _RANGE.fullmatch(said)
    if not said or not found:
        raise InvalidArgumentError("range", span, "a commit, or A..B")
    start = _commit(found["start"], tip, find)
    return start, _commit(found["stop"], tip, find) if found["dots"] else None


def _commit(
    text: str, tip: CommitId, find: Callable[[str], list[CommitId]]
) -> CommitId:
    if text in _TIPS:
        return tip
    prefix = text.lower()
    known = find(prefix) if is_hex(prefix, _SHORTEST) else []
    if len(known) == 1:
        return known[0]
    rule = "HEAD, or the start of the id of one commit of this mailbox"
    raise InvalidArgumentError("range", text, rule)
