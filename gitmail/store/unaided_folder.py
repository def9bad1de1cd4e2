"""Pushing to a folder without an installed git, as git's own receiving end does."""

import errno
import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from dulwich.file import FileLocked
from dulwich.objects import ZERO_SHA, ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from gitmail.errors import (
    PushRefusedError,
    RemoteFullError,
    RemoteLockedError,
    RemoteMovedError,
)
from gitmail.records.names import CommitId, is_hex
from gitmail.store.complaints import refusal
from gitmail.store.disk import flush_folder, translated
from gitmail.store.remote import Remote

_HOOKS = ("pre-receive", "update")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Folder:
    """A repository in a folder of this machine.

    Args:
        git_dir: The mailbox's repository.
        folder: The remote's.
    """

    def __init__(self, git_dir: Path, remote: Remote, folder: Path) -> None:
        self._git_dir = git_dir
        self._where = remote.shown_url
        self._name = remote.ref
        self._ref = Ref(remote.ref.encode())
        self._folder = folder

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        """Make the branch there a commit, with the checks that git makes.

        Raises:
            RemoteMovedError: It is no longer what it was.
            RemoteLockedError: Another program holds its lock.
            RemoteFullError: The disk has no room there.
            PushRefusedError: It is checked out, or a hook declines.
        """
        old, new = ((each or ZERO_SHA.decode()).encode() for each in (over, commit))
        with (
            Repo(str(self._folder)) as target,
            Repo(str(self._git_dir.parent)) as repository,
        ):
            refs = target.get_refs()
            if commit_of(refs.get(self._ref)) != over:
                raise RemoteMovedError(self._where)
            self._refuse_checked_out(target)
            self._send(repository, target, {*refs.values()} - {ZERO_SHA}, new)
            self._ask_hooks(Path(target.controldir()), old.decode(), commit)
            try:
                is_done = target.refs.set_if_equals(
                    self._ref, ObjectID(old), ObjectID(new)
                )
            except FileLocked as error:
                lock = os.fsdecode(error.lockfilename)
                raise RemoteLockedError(self._where, lock) from error
        if not is_done:
            raise RemoteMovedError(self._where)

    def _refuse_checked_out(self, target: Repo) -> None:
        is_bare = target.get_config().get_boolean((b"core",), b"bare", default=False)
        if not is_bare and target.refs.get_symrefs().get(Ref(b"HEAD")) == self._ref:
            raise PushRefusedError(self._where, "branch is currently checked out")

    def _send(
        self, repository: Repo, target: Repo, known: set[ObjectID], new: bytes
    ) -> None:
        """Write what is new to the folder, durably."""
        packs = Path(target.object_store.path) / "pack"
        before = {*os.listdir(packs)}
        data = repository.object_store.generate_pack_data(known, {ObjectID(new)})
        try:
            target.object_store.add_pack_data(*data)
        except OSError as error:
            if error.errno in _FULL:
                raise RemoteFullError(self._where, str(error.strerror)) from error
            raise
        flush_packs(packs, {*os.listdir(packs)} - before)

    def _ask_hooks(self, git_dir: Path, old: str, new: CommitId) -> None:
        """Run what the folder has to say whether it accepts a push, as git does."""
        words = [self._name, old, new]
        given = f"{old} {new} {self._name}\n"
        for name in _HOOKS:
            hook = git_dir / "hooks" / name
            if not os.access(hook, os.X_OK):
                continue
            done = subprocess.run(  # noqa: S603 - the hook of the repository that is pushed to
                [str(hook), *(words if name == "update" else [])],
                input=given.encode() if name == "pre-receive" else b"",
                capture_output=True,
                check=False,
                cwd=git_dir,
                env=_environment(git_dir),
            )
            if done.returncode:
                said = (done.stdout + done.stderr).decode("utf-8", "replace")
                short = f"({name} hook declined)"
                raise refusal(self._where, short, said)


def flush_packs(packs: Path, names: Iterable[str]) -> None:
    """Flush what dulwich has written, which it does not do itself."""
    with translated(packs):
        for name in names:
            with suppress(FileNotFoundError), (packs / name).open("rb") as stream:
                os.fsync(stream.fileno())  # what is gone was another's draft
        flush_folder(packs)


def commit_of(value: bytes | None) -> CommitId | None:
    """Return the commit that a ref names, None where it names none."""
    text = value.decode("ascii", "replace") if value else ""
    return CommitId(text) if is_hex(text) else None


def _environment(git_dir: Path) -> dict[str, str]:
    inherited = os.environ  # noqa: TID251 - a hook of others is run as git runs it
    kept = {k: v for k, v in inherited.items() if not k.startswith("GIT_")}
    return kept | {"GIT_DIR": str(git_dir)}
