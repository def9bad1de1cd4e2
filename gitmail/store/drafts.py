"""What a fetch that fails would leave behind of the pack that it was writing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmail.errors import GitmailError
from gitmail.store.disk import remove_quietly, translated

_DRAFT = "tmp_"
"""What git and dulwich call the files that are no packs yet."""


@contextmanager
def removed_on_failure(packs: Path) -> Iterator[None]:
    """Remove the drafts that a block leaves, where it fails.

    Git keeps them, and on a full disk each further try would take more of it. One that
    somebody else's git has begun meanwhile goes as well; that can be repeated.
    """
    before = _drafts(packs)
    try:
        yield
    except (GitmailError, OSError):
        with translated(packs):
            for name in _drafts(packs) - before:
                remove_quietly(packs / name)
        raise


def _drafts(packs: Path) -> set[str]:
    with translated(packs):
        return {name for name in os.listdir(packs) if name.startswith(_DRAFT)}
