"""The command line: a thin shell over `Mailbox`, and the only part that prints."""

from gitmail.cli.main import main

__all__ = ["main"]
