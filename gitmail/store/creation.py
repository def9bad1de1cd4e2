"""Making the empty git repository of a new mailbox."""

import os
from pathlib import Path
from uuid import uuid4

from gitmail.errors import FolderInUseError
from gitmail.store.discovery import LOCAL, is_mailbox
from gitmail.store.disk import flush_folder, replace, translated, write_durably
from gitmail.store.refs import BRANCH

# Bare, for gitmail itself keeps the files beside it and there is no git index that
# could be stale. `core.fsync` makes git flush what it receives; the older
# `core.fsyncObjectFiles` would make every git command print a warning. A pushed tree
# with names like `..` is refused by git, or each later commit would carry it on.
_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = all
[receive]
\tdenyNonFastForwards = true
\tdenyDeletes = true
\tfsckObjects = true
"""
_DESCRIPTION = "A mailbox of gitmail\n"


def create_repository(root: Path) -> None:
    """Make `.git` in a folder, unless it is there; safe to repeat after a crash.

    Raises:
        FolderInUseError: The folder holds something else, or is part of a mailbox.
    """
    git_dir = root / ".git"
    with translated(root):
        root.mkdir(parents=True, exist_ok=True)
        if any(map(is_mailbox, root.parents)):
            raise FolderInUseError(str(root), "it is part of a mailbox")
        if not is_mailbox(root):
            # A killed `init` leaves a repository that is not one yet.
            began = [".git"] if not (git_dir / "HEAD").exists() else []
            if sorted(os.listdir(root)) not in ([], began):
                raise FolderInUseError(str(root), "it holds files, and is no mailbox")
        for folder in (
            "objects/pack",
            "objects/info",
            "refs/heads",
            "refs/tags",
            LOCAL,
        ):
            (git_dir / folder).mkdir(parents=True, exist_ok=True)
        for name, text in (
            ("config", _CONFIG),
            ("description", _DESCRIPTION),
            # Last, for without HEAD it is no repository yet.
            ("HEAD", f"ref: refs/heads/{BRANCH}\n"),
        ):
            if not (git_dir / name).exists():
                draft = git_dir / LOCAL / f"{name}.{uuid4().hex}"
                write_durably(draft, text.encode(), 0o644)
                replace(draft, git_dir / name)
        flush_folder(git_dir)
