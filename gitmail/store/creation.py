"""Making the empty git repository of a new mailbox."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from uuid import uuid4

from gitmail.errors import FolderInUseError
from gitmail.store.discovery import LOCAL, check_mailbox, may_be_mailbox
from gitmail.store.disk import flush_folder, replace, translated, write_durably
from gitmail.store.refs import BRANCH

# Bare, for gitmail itself keeps the files beside it and there is no git index that
# could be stale. `core.fsync` makes git flush what it receives; the older
# `core.fsyncObjectFiles` would make every git command print a warning. A user's own
# `core.hooksPath` would have git pass by the guard. A pushed tree with names like `..`
# is refused by git, or each later commit would carry it on.
CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = all
\thooksPath = hooks
[receive]
\tdenyNonFastForwards = true
\tdenyDeletes = true
\tfsckObjects = true
"""
_GUARD_LINE = "# Written by gitmail: what is pushed is verified before it is accepted."
# Git runs it in the repository, with the objects of the push in a folder of their own.
_GUARD = f"""#!/bin/sh
{_GUARD_LINE}
mailbox=$(dirname "$(pwd)")
%s -P -m gitmail --mailbox "$mailbox" guard \\
    ${{GIT_OBJECT_DIRECTORY:+--incoming "$GIT_OBJECT_DIRECTORY"}}
code=$?
case $code in
0) exit 0 ;;
3) exit 1 ;; # and it has said why
esac
echo "gitmail: the push was not verified, and so not accepted" >&2
echo "  Where gitmail was moved or removed, install it and run:" >&2
echo "  gitmail --mailbox '$mailbox' doctor --repair" >&2
exit 1
"""
_HOOK = "hooks/pre-receive"
_FOLDERS = (
    "objects/pack",
    "objects/info",
    "refs/heads",
    "refs/tags",
    "hooks",
)
PARTS = ("objects", "refs", *_FOLDERS, "description", _HOOK)
"""What there is besides `config` and `HEAD`, parents first."""
_DESCRIPTION = "A mailbox of gitmail\n"


def create_repository(root: Path) -> None:
    """Make `.git` in a folder, unless it is there; safe to repeat after a crash.

    Raises:
        FolderInUseError: The folder holds something else, or is part of a mailbox.
        CorruptMailboxError: It is a mailbox that must be mended first.
    """
    with translated(root):
        root.mkdir(parents=True, exist_ok=True)
        if any(map(may_be_mailbox, root.parents)):
            raise FolderInUseError(str(root), "it is part of a mailbox")
        if may_be_mailbox(root):
            check_mailbox(root)
        else:
            # A killed `init` leaves a repository that is not one yet.
            began = [".git"] if not (root / ".git" / "HEAD").exists() else []
            if sorted(os.listdir(root)) not in ([], began):
                raise FolderInUseError(str(root), "it holds files, and is no mailbox")
    complete_repository(root)


def complete_repository(root: Path) -> None:
    """Make what is missing of a mailbox's repository.

    Raises:
        StorageError: It cannot be written.
    """
    git_dir = root / ".git"
    with translated(root):
        for folder in (*_FOLDERS, LOCAL):
            (git_dir / folder).mkdir(parents=True, exist_ok=True)
        install_guard(git_dir)
        for name, text in (
            ("config", CONFIG),
            ("description", _DESCRIPTION),
            # Last, for without HEAD it is no repository yet.
            ("HEAD", f"ref: refs/heads/{BRANCH}\n"),
        ):
            if not (git_dir / name).exists():
                _put(git_dir, name, text, 0o644)
        flush_folder(git_dir)


def guard_script(python: str = sys.executable or "python3") -> str:
    """Return the hook that verifies pushes with a Python, by default this one."""
    return _GUARD % shlex.quote(python)


def guard_python(git_dir: Path) -> str | None:
    """Return the Python with which pushes are verified, None where they are not.

    A hook that a person put there is theirs to keep, and its program is empty.

    Raises:
        StorageError: It cannot be read.
    """
    hook = git_dir / _HOOK
    with translated(hook):
        if not hook.exists():
            return None
        text = hook.read_text("utf-8", "replace")
    if not text.strip("\0"):  # a power cut leaves that, and git would pass by it
        return None
    if _GUARD_LINE not in text.splitlines():
        return ""
    before, after = _GUARD.split("%s")
    words = text.removeprefix(before).removesuffix(after)
    try:
        python = "".join(shlex.split(words))
    except ValueError:  # it was edited
        return None
    return python if text == guard_script(python) else None


def has_guard(git_dir: Path) -> bool:
    """Tell whether pushes are verified by something that is still where it was.

    Raises:
        StorageError: It cannot be read.
    """
    python = guard_python(git_dir)
    is_there = python is not None and (not python or shutil.which(python) is not None)
    return is_there and os.access(git_dir / _HOOK, os.X_OK)


def install_guard(git_dir: Path, *, anew: bool = False) -> bool:
    """Have git verify what is pushed, unless it does; tell whether it did not.

    Args:
        anew: Whether to replace a hook that gitmail has written in any case.

    Raises:
        StorageError: The hook cannot be written.
    """
    if has_guard(git_dir) and not anew:
        return False
    hook = git_dir / _HOOK
    is_of_a_person = guard_python(git_dir) == ""
    with translated(hook):
        if is_of_a_person:
            hook.chmod(hook.stat().st_mode | 0o111)
        else:
            hook.parent.mkdir(exist_ok=True)
            _put(git_dir, _HOOK, guard_script(), 0o755)
    return True


def _put(git_dir: Path, name: str, text: str, mode: int) -> None:
    """Write a file of the repository, whole or not at all."""
    draft = git_dir / LOCAL / f"{Path(name).name}.{uuid4().hex}"
    write_durably(draft, text.encode(), mode)
    replace(draft, git_dir / name)
