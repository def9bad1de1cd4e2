"""Carrying commits without an installed git, by dulwich alone."""

import errno
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dulwich.client import (
    LocalGitClient,
    TraditionalGitClient,
    get_transport_and_path,
)
from dulwich.file import FileLocked
from dulwich.objects import ObjectID
from dulwich.refs import Ref
from dulwich.repo import Repo

from gitmail.errors import (
    GitmailError,
    RefLockedError,
    RemoteFailedError,
    RemoteMovedError,
)
from gitmail.records.names import CommitId
from gitmail.store import transport
from gitmail.store.complaints import failure, refusal
from gitmail.store.disk import translated, translation
from gitmail.store.drafts import removed_on_failure
from gitmail.store.remote import HEADS, Remote
from gitmail.store.unaided_folder import Folder, commit_of, flush_packs
from gitmail.store.unaided_http import Connections, credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
_SSH = "ssh -o BatchMode=yes"
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


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
        return commit_of(self._bounded(lambda: self._refs(self._ref)).get(self._ref))

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
            with removed_on_failure(self._git_dir / "objects" / "pack"):
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
            place = Folder(self._git_dir, self._remote, folder)
            self._bounded(lambda: place.push(commit, over))

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
        has_any = any(map(commit_of, refs.values()))
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
        flush_packs(packs, {*os.listdir(packs)} - before)
        return commit_of(wanted[0]) if wanted else None

    def _push(self, commit: CommitId, over: CommitId | None) -> None:
        where = self._remote.shown_url
        told: list[bytes] = []

        def update(refs: dict[Any, Any]) -> dict[Any, Any]:
            if commit_of(refs.get(self._ref)) != over:
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
            raise refusal(where, str(problem), said)

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
        said = f"{type(error).__name__}: {error}"
        raise failure(where, said) from error
