"""The system's clock, the one place that reads it; everything else takes a `Clock`."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""A function that returns the present as an aware UTC time."""


def system_clock() -> datetime:
    """Return the present as an aware UTC time."""
    return datetime.now(UTC)  # noqa: TID251 - the one place that may
