"""Times and durations as text."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gitmail.errors import InvalidArgumentError
from gitmail.records.times import (
    format_time,
    from_microseconds,
    parse_duration,
    parse_since,
    parse_time,
    to_microseconds,
)

NOON = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOON, "2026-11-30T12:00:00.000000Z"),
        (NOON.replace(microsecond=5), "2026-11-30T12:00:00.000005Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (NOON.replace(year=9999), "9999-11-30T12:00:00.000000Z"),
    ],
)
def test_a_time_is_written_in_one_way(moment: datetime, text: str) -> None:
    """UTC, six digits, Z; and read back exactly (FORMAT.md)."""
    assert format_time(moment) == text
    assert parse_time(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T12:00:00Z",
        "2026-11-30T13:00:00+01:00",
        "2026-11-30T12:00:00.0-00:00",
        "2026-11-30T06:30:00.000000999-05:30",
    ],
)
def test_a_time_by_hand_may_have_another_zone(text: str) -> None:
    """Any zone and up to nine digits are read; more than microseconds are cut off."""
    assert parse_time(text) == NOON
    assert str(parse_time(text)).endswith("+00:00")


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026-11-30", "2026-11-30T12:00:00", "2026-11-30 12:00:00Z"),
        *("2026-11-30T12:00Z", "20261130T120000Z", "2026-W49-1T12:00:00Z"),
        *("2026-11-30t12:00:00z", "2026-11-30T12:00:00,5Z", "2026-11-30T24:00:00Z"),
        *("2026-11-30T12:00:60Z", "2026-02-30T12:00:00Z", "2026-11-30T12:00:00.Z"),
        *(
            "2026-11-30T12:00:00+24:00",
            "0001-01-01T00:00:00+01:00",
            "0000-01-01T00:00:00Z",
        ),
        *(
            "9999-12-31T23:59:59-01:00",
            "\u0662026-11-30T12:00:00Z",
            "2026-11-30T12:00:00Z\n",
        ),
    ],
)
def test_other_times_are_none(text: str) -> None:
    """What one version of Python reads and another does not is no time of a file."""
    assert parse_time(text) is None


def test_microseconds_are_exact_at_both_ends() -> None:
    """The index keeps times as whole numbers without losing any."""
    first = datetime(1, 1, 1, tzinfo=UTC)
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

    for moment in (first, last, NOON.replace(microsecond=1)):
        assert from_microseconds(to_microseconds(moment)) == moment


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("90", timedelta(seconds=90)),
        ("1s", timedelta(seconds=1)),
        ("1.5h", timedelta(minutes=90)),
        (" 30 m ", timedelta(minutes=30)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        (timedelta(hours=2), timedelta(hours=2)),
    ],
)
def test_a_duration_is_a_number_with_its_unit(
    text: str | timedelta, duration: timedelta
) -> None:
    """Seconds where nothing is said."""
    assert parse_duration("expires_in", text) == duration


@pytest.mark.parametrize(
    "text",
    [
        *("", "h", "-1h", "0", "0.5s", "1y", "1h30m", "1e3", "999999999w", "3661d"),
        *("\u0661h", "nan", timedelta(0), timedelta(days=-1), timedelta.max),
    ],
)
def test_other_durations_are_refused(text: str | timedelta) -> None:
    """Nothing below a second, nothing beyond ten years, and no overflow."""
    with pytest.raises(InvalidArgumentError):
        parse_duration("expires_in", text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2h", NOON - timedelta(hours=2)),
        ("2026-11-30", NOON.replace(hour=0)),
        ("2026-11-30T11:00", NOON.replace(hour=11)),
        ("2026-11-30T11:00+01:00", NOON.replace(hour=10)),
        (NOON.astimezone(timezone(timedelta(hours=3))), NOON),
    ],
)
def test_since_is_a_time_a_date_or_a_duration(
    text: str | datetime, moment: datetime
) -> None:
    """A time without a zone is UTC, since a mailbox has writers in many zones."""
    assert parse_since("since", text, NOON) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "999999999w", "-2h"])
def test_another_since_is_refused(text: str) -> None:
    """The error names the argument and what it accepts."""
    with pytest.raises(InvalidArgumentError) as caught:
        parse_since("since", text, NOON)

    assert caught.value.details["argument"] == "since"
