"""Modules that are imported when a command first uses them, as `late.NAME`.

Help and errors of the command line must not wait for what only a command needs; see
`tests/cli/test_startup.py`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmail import config
    from gitmail.cli import logs
    from gitmail.mailbox import guarding, mailbox
    from gitmail.records import merging as file_merging
    from gitmail.render import (
        bundles,
        deliveries,
        memories,
        people,
        plain,
        syncing,
        terminal,
        text,
        verifying,
    )

__all__ = [
    "bundles",
    "config",
    "deliveries",
    "file_merging",
    "guarding",
    "logs",
    "mailbox",
    "memories",
    "people",
    "plain",
    "syncing",
    "terminal",
    "text",
    "verifying",
]

_HOMES = {
    "bundles": "gitmail.render.bundles",
    "config": "gitmail.config",
    "deliveries": "gitmail.render.deliveries",
    "file_merging": "gitmail.records.merging",
    "guarding": "gitmail.mailbox.guarding",
    "logs": "gitmail.cli.logs",
    "mailbox": "gitmail.mailbox.mailbox",
    "memories": "gitmail.render.memories",
    "people": "gitmail.render.people",
    "plain": "gitmail.render.plain",
    "syncing": "gitmail.render.syncing",
    "terminal": "gitmail.render.terminal",
    "text": "gitmail.render.text",
    "verifying": "gitmail.render.verifying",
}


def __getattr__(name: str) -> object:
    """Import a module of the list."""
    if name in _HOMES:
        return import_module(_HOMES[name])
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
