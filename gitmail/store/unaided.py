"""Carrying commits without an installed git, by dulwich alone."""

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dulwich.client import (
    LocalGitClient,
    TraditionalGitClient,
    get_transport_and_path,
)
from dulwich.file import FileLocked
from dulwich.objects import ZERO_SHA, ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from gitmail.errors import (
    GitmailError,
    PushRefusedError,
    RefLockedError,
    RemoteFailedError,
    RemoteMovedError,
)
from gitmail.records.names import CommitId, is_hex
from gitmail.store import transport
from gitmail.store.disk import flush_folder, translated, translation
from gitmail.store.remote import HEADS, Remote
from gitmail.store.unaided_http import Connections, credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
_SSH = "ssh -o BatchMode=yes"
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_HOOKS = ("pre-receive", "update")


class UnaidedTransport:
    """A remote that dulwich speaks to, or a folder in which it reads and writes.

    Args:
        git_dir: The mailbox's repository.
    """

    is_proving = False

    def __init__(self, git_dir: Path, remote: Remote) -> None:
        self._git_dir = git_dir
        self._remote = remote
        self._ref = Ref(remote.ref.encode())

    def tip(self) -> CommitId | None:
        """Return the commit of the branch there, None where there is no branch."""
        return _commit(self._bounded(lambda: self._refs(self._ref)).get(self._ref))

    def branches(self) -> list[str]:
        """Return the names of all branches there, sorted."""
        heads = HEADS.encode()
        names = self._bounded(lambda: self._refs(heads))
        return sorted(
            name.removeprefix(heads).decode("utf-8", "backslashreplace")
            for name in names
            if name.startswith(heads)
        )

    def fetch(self) -> CommitId | None:
        """Bring the branch's commits here, durably, and return its commit."""
        try:
            return self._bounded(self._fetch)
        except RemoteFailedError as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and cause.errno in _OF_THE_DISK:
                raise translation(cause, self._git_dir) from cause
            raise

    def keep(self, commit: CommitId | None) -> None:
        """Point the branch that shows what was fetched at a commit, or drop it."""
        name = Ref(self._remote.tracking.encode())
        with translated(self._git_dir), Repo(str(self._git_dir.parent)) as repository:
            try:
                if commit is None:
                    repository.refs.remove_if_equals(name, None)
                else:
                    repository.refs[name] = ObjectID(commit.encode())
            except FileLocked as error:  # by somebody's own fetch
                lock = self._git_dir / f"{self._remote.tracking}.lock"
                raise RefLockedError(str(lock)) from error

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        """Make the branch there a commit that stands on what it was.

        Raises:
            RemoteMovedError: Somebody else moved it meanwhile.
            PushRefusedError: The remote does not accept it, and says why.
        """
        folder = self._remote.folder
        if folder is None:
            self._bounded(lambda: self._push(commit, over))
        else:
            self._bounded(lambda: self._push_to(folder, commit, over))

    def _refs(self, prefix: bytes) -> dict[Any, Any]:
        """Return the refs there, at least those with a prefix."""
        with self._client() as (client, path):
            refs = dict(client.get_refs(path, ref_prefix=[prefix]).refs)
            self._refuse_pages(client, refs)
        return refs

    def _refuse_pages(self, client: Any, refs: dict[Any, Any]) -> None:
        """Refuse what any web server may answer, where dulwich sees refs in it.

        It takes that for one of the old servers that know nothing of git.
        """
        has_any = any(map(_commit, refs.values()))
        if getattr(client, "dumb", False) and not has_any:
            what = "what answers there is no git repository"
            raise RemoteFailedError(self._remote.shown_url, what)

    def _fetch(self) -> CommitId | None:
        wanted: list[Any] = []

        def want(refs: dict[Any, Any], _depth: int | None = None) -> list[Any]:
            self._refuse_pages(client, refs)
            # What is returned in the end may be newer than what was fetched.
            wanted[:] = [refs[self._ref]] if self._ref in refs else []
            return [*wanted]

        packs = self._git_dir / "objects" / "pack"
        before = {*os.listdir(packs)}
        with (
            Repo(str(self._git_dir.parent)) as repository,
            self._client() as (client, path),
        ):
            client.fetch(path, repository, want, ref_prefix=[self._ref])
        _flush(packs, {*os.listdir(packs)} - before)
        return _commit(wanted[0]) if wanted else None

    def _push(self, commit: CommitId, over: CommitId | None) -> None:
        where = self._remote.shown_url
        told: list[bytes] = []

        def update(refs: dict[Any, Any]) -> dict[Any, Any]:
            if _commit(refs.get(self._ref)) != over:
                raise RemoteMovedError(where)
            return {self._ref: commit.encode()}

        with (
            Repo(str(self._git_dir.parent)) as repository,
            self._client() as (client, path),
        ):
            done = client.send_pack(
                path,
                update,
                repository.object_store.generate_pack_data,
                progress=told.append,
            )
        problem = (done.ref_status or {}).get(self._ref)
        if problem:
            said = b"".join(told).decode("utf-8", "replace")
            raise transport.refusal(where, str(problem), said)

    def _push_to(self, folder: Path, commit: CommitId, over: CommitId | None) -> None:
        """Push to a folder, with the checks that git's own receiving end makes."""
        where = self._remote.shown_url
        old, new = ((each or ZERO_SHA.decode()).encode() for each in (over, commit))
        with (
            Repo(str(folder)) as target,
            Repo(str(self._git_dir.parent)) as repository,
        ):
            refs = target.get_refs()
            if _commit(refs.get(self._ref)) != over:
                raise RemoteMovedError(where)
            is_bare = target.get_config().get_boolean(
                (b"core",), b"bare", default=False
            )
            if not is_bare and target.refs.get_symrefs().get(Ref(b"HEAD")) == self._ref:
                raise PushRefusedError(where, "branch is currently checked out")
            packs = Path(target.object_store.path) / "pack"
            before = {*os.listdir(packs)}
            target.object_store.add_pack_data(
                *repository.object_store.generate_pack_data(
                    {*refs.values()} - {ZERO_SHA}, {ObjectID(new)}
                )
            )
            _flush(packs, {*os.listdir(packs)} - before)
            self._ask_hooks(Path(target.controldir()), old.decode(), commit)
            try:
                is_done = target.refs.set_if_equals(
                    self._ref, ObjectID(old), ObjectID(new)
                )
            except FileLocked:
                is_done = False
        if not is_done:
            raise RemoteMovedError(where)

    def _ask_hooks(self, git_dir: Path, old: str, new: CommitId) -> None:
        """Run what the folder has to say whether it accepts a push, as git does."""
        words = [self._remote.ref, old, new]
        given = f"{old} {new} {self._remote.ref}\n"
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
                where = self._remote.shown_url
                raise transport.refusal(where, f"({name} hook declined)", said)

    @contextmanager
    def _client(self) -> "Iterator[tuple[Any, bytes]]":
        """Yield what speaks to the remote, and the path of the repository there."""
        url, folder = self._remote.url, self._remote.folder
        if folder is not None:  # a colon in a path would be taken for a host
            yield LocalGitClient(quiet=True), os.fsencode(folder)
            return
        more: dict[str, Any] = {"ssh_command": _SSH}
        with ExitStack() as stack:
            if url.startswith("http"):
                connections = stack.enter_context(closing(Connections(url)))
                user, password = credentials(url)
                more = {
                    "pool_manager": connections,
                    "username": user,
                    "password": password,
                }
            client, path = get_transport_and_path(url, quiet=True, **more)
            if isinstance(client, TraditionalGitClient):
                _close_after(client, stack)
            yield client, path.encode()

    def _bounded(self, act: Callable[[], T]) -> T:
        """Return what a function returns, unless the remote takes too long.

        Nothing can end the function then; it goes on until its connection breaks.

        Raises:
            RemoteFailedError: It did, or something failed.
        """
        where = self._remote.shown_url
        results: list[T] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                with _translated(where):
                    results.append(act())
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)

        thread = threading.Thread(target=run, name="gitmail-remote", daemon=True)
        thread.start()
        thread.join(transport.TIMEOUT_S)
        if errors:
            raise errors[0]
        if not results:
            raise RemoteFailedError(where, transport.slow())
        return results[0]


def _close_after(client: TraditionalGitClient, stack: ExitStack) -> None:
    """Have all connections closed, for dulwich forgets those that break early."""
    connect = client._connect  # noqa: SLF001 - nothing else sees each connection

    def kept(*args: Any, **said: Any) -> Any:
        made = connect(*args, **said)
        stack.callback(made[0].close)
        return made

    client._connect = kept  # type: ignore[method-assign]  # noqa: SLF001 - as above


@contextmanager
def _translated(where: str) -> "Iterator[None]":
    """Turn what dulwich and its libraries raise into one error."""
    try:
        yield
    except GitmailError:
        raise
    except Exception as error:
        reason = transport.reason_of(f"{type(error).__name__}: {error}")
        raise RemoteFailedError(where, reason) from error


def _environment(git_dir: Path) -> dict[str, str]:
    inherited = os.environ  # noqa: TID251 - a hook of others is run as git runs it
    kept = {k: v for k, v in inherited.items() if not k.startswith("GIT_")}
    return kept | {"GIT_DIR": str(git_dir)}


def _flush(packs: Path, names: Iterable[str]) -> None:
    """Flush what dulwich has written, which it does not do itself."""
    with translated(packs):
        for name in names:
            with suppress(FileNotFoundError), (packs / name).open("rb") as stream:
                os.fsync(stream.fileno())  # what is gone was another's draft
        flush_folder(packs)


def _commit(value: bytes | None) -> CommitId | None:
    text = value.decode("ascii", "replace") if value else ""
    return CommitId(text) if is_hex(text) else None
