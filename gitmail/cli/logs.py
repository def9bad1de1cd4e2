"""Warnings of the core, as lines on standard error."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gitmail.render.terminal import line

_LOGGER = logging.getLogger("gitmail")


class _StandardError(logging.Handler):
    """Prints a warning as the command line prints errors."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"gitmail: warning: {line(record.getMessage())}", file=sys.stderr)


@contextmanager
def shown() -> Iterator[None]:
    """Show warnings for the block."""
    handler = _StandardError(logging.WARNING)
    _LOGGER.addHandler(handler)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
