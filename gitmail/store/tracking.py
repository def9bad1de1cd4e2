"""The branches here that show what was fetched from a remote."""

import os
import shutil
from pathlib import Path

from dulwich.file import FileLocked
from dulwich.refs import Ref
from dulwich.repo import Repo

from gitmail.errors import RefLockedError
from gitmail.store.disk import translated


def drop_refs(git_dir: Path, prefix: str) -> None:
    """Remove all refs below a prefix, and the folders in which they were.

    Another remote's branch may be called as a folder was, or the other way round.

    Raises:
        RefLockedError: Another program holds one.
        StorageError: One cannot be removed.
    """
    folder = git_dir / prefix
    with translated(folder), Repo(str(git_dir.parent)) as repository:
        try:
            for name in repository.refs.keys(Ref(prefix.encode())):
                full = Ref(prefix.encode() + b"/" + name)
                repository.refs.remove_if_equals(full, None)
        except FileLocked as error:
            raise RefLockedError(os.fsdecode(error.lockfilename)) from error
        if folder.exists():
            shutil.rmtree(folder)
