"""A mailbox for coding agents, kept as Markdown in git.

The public names are those of `__all__`; they are imported when first used, so that
importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmail.errors import GitmailError
    from gitmail.mailbox.agent import Agent
    from gitmail.mailbox.mailbox import Mailbox

__all__ = ["Agent", "GitmailError", "Mailbox", "__version__"]
__version__ = "0.1.0"

_HOMES = {
    "Agent": "gitmail.mailbox.agent",
    "GitmailError": "gitmail.errors",
    "Mailbox": "gitmail.mailbox.mailbox",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    msg = f"module 'gitmail' has no attribute {name!r}"
    raise AttributeError(msg)
