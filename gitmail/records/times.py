"""Times and durations as text; pure, the present is an argument."""

import re
from datetime import UTC, datetime, timedelta

from gitmail.errors import InvalidArgumentError
from gitmail.records.text import check_string

# RFC 3339 with upper-case letters; what else a newer Python may read is no time here,
# for all clones have to agree on what a file says.
_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)",
    re.ASCII,
)
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhdw]?)", re.ASCII)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TICK = timedelta(microseconds=1)
_SHORTEST = timedelta(seconds=1)
_LONGEST = timedelta(days=3660)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_time(moment: datetime) -> str:
    """Return an aware UTC time as RFC 3339 with microseconds and Z."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_time(text: str) -> datetime | None:
    """Return an RFC 3339 time with its zone as UTC, or None if it is none."""
    if not _TIME.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or before the year 1
        return None


def to_microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(number: int) -> datetime:
    """Return the aware UTC time that many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=number)


def later_than(earlier: datetime, now: datetime) -> datetime:
    """Return now, or just after an earlier time that says it is later.

    Whatever the clocks say, for a merge takes the later of two versions.
    """
    if earlier < now:
        return now
    try:
        return earlier + _TICK
    except OverflowError:
        return earlier


def parse_duration(field: str, value: str | timedelta) -> timedelta:
    """Return a positive duration from text like `90`, `30m`, `2h`, `7d` or `1w`.

    Raises:
        InvalidArgumentError: The text is no duration, or not in 1 s to ten years.
    """
    duration = value if isinstance(value, timedelta) else _duration(value.strip())
    if duration is None or not _SHORTEST <= duration <= _LONGEST:
        rule = "a number with s, m, h, d or w, such as 30m, 2h or 7d, up to ten years"
        raise InvalidArgumentError(field, value, rule)
    return duration


def parse_since(field: str, value: str | datetime, now: datetime) -> datetime:
    """Return a moment from an RFC 3339 time, a date, or a duration before now.

    Raises:
        InvalidArgumentError: The text is none of these.
    """
    if isinstance(value, datetime) and not value.tzinfo:
        raise InvalidArgumentError(field, value, "a datetime needs its time zone")
    try:
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        text = check_string(field, value).strip()
        if _DURATION.fullmatch(text):
            return now - parse_duration(field, text)
        moment = datetime.fromisoformat(text)
        # A time without a zone is the writer's, but a mailbox has many writers.
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return zoned.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        rule = "a time such as 2026-11-30T14:00Z, a date (UTC), or 2h for two hours ago"
        raise InvalidArgumentError(field, value, rule) from error


def _duration(text: str) -> timedelta | None:
    found = _DURATION.fullmatch(text)
    if not found:
        return None
    seconds = float(found[1]) * _SECONDS[found[2]]
    # More than a timedelta holds is more than any limit.
    return timedelta(seconds=min(seconds, 2 * _LONGEST.total_seconds()))
