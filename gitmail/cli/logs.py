"""Warnings of the core, as lines on standard error."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from gitmail.cli.streams import complain
from gitmail.render.terminal import line

_LOGGER = logging.getLogger("gitmail")


class _StandardError(logging.Handler):
    """Prints a warning as the command line prints errors."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(f"gitmail: warning: {line(record.getMessage())}")


@contextmanager
def shown() -> Iterator[None]:
    """Show warnings for the block."""
    handler = _StandardError(logging.WARNING)
    _LOGGER.addHandler(handler)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
