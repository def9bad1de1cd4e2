"""Carrying commits to and from a remote: by an installed git, or by dulwich without.

An installed git knows the user's credentials, proxies and URL rewriting, and is
faster; what it does here, dulwich does as well. Neither asks a person anything, and
neither ever forces a branch.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gitmail.errors import PushRefusedError, RemoteFailedError, RemoteMovedError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.disk import flush_folder, translated
from gitmail.store.remote import NAME, Remote, hide_secrets

_TIMEOUT_S = 600
_LONGEST_REASON = 500
_NOT_THERE = ("couldn't find remote ref", "could not find remote ref")
_MOVED = (
    "non-fast-forward",
    "fetch first",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
)


@dataclass(frozen=True, slots=True)
class Git:
    """An installed git.

    Attributes:
        program: Its path.
        environment: What it is run with; no variable of git's own but our settings.
    """

    program: str
    environment: Mapping[str, str]


class Transport(Protocol):
    """One remote, as sync uses it.

    Every method raises RemoteFailedError where the remote cannot be reached or read.
    """

    def tip(self) -> CommitId | None:
        """Return the commit of the branch there, None where there is no branch."""

    def fetch(self) -> CommitId | None:
        """Bring the branch's commits here, durably, and return its commit."""

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        """Make the branch there a commit that stands on what it was.

        Raises:
            RemoteMovedError: Somebody else moved it meanwhile.
            PushRefusedError: The remote does not accept it, and says why.
        """


def open_transport(git_dir: Path, remote: Remote, git: Git | None) -> Transport:
    """Return the transport to a remote."""
    return _GitTransport(git_dir, remote, git) if git else _Dulwich(git_dir, remote)


class _GitTransport:
    def __init__(self, git_dir: Path, remote: Remote, git: Git) -> None:
        self._git_dir = git_dir
        self._remote = remote
        self._git = git

    def tip(self) -> CommitId | None:
        said = self._run("ls-remote", "--", self._remote.url, self._remote.ref)
        lines = (line.split("\t") for line in said.splitlines())
        found = [line[0] for line in lines if line[1:] == [self._remote.ref]]
        return CommitId(found[0]) if found and is_hex(found[0]) else None

    def fetch(self) -> CommitId | None:
        tracking = f"refs/remotes/{NAME}/{self._remote.branch}"
        with suppress(_NoBranchError):
            self._run(
                *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head"),
                *("--no-auto-maintenance", "--", self._remote.url),
                f"+{self._remote.ref}:{tracking}",
            )
            said = self._run("rev-parse", "--verify", "--quiet", tracking).strip()
            return CommitId(said)
        return None

    def push(self, commit: CommitId, over: CommitId | None) -> None:  # noqa: ARG002 - git compares by itself
        self._run(
            *("push", "--porcelain", "--no-verify", "--", self._remote.url),
            f"{commit}:{self._remote.ref}",
        )

    def _run(self, *words: str) -> str:
        command = [self._git.program, f"--git-dir={self._git_dir}"]
        settings = ("core.hooksPath=/dev/null", "transfer.fsckObjects=true")
        for setting in settings:
            command += ["-c", setting]
        try:
            done = subprocess.run(  # noqa: S603 - the program that the settings name
                [*command, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=dict(self._git.environment),
                timeout=_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RemoteFailedError(self._remote.shown_url, str(error)) from error
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            complaint = done.stderr.decode("utf-8", "replace")
            raise self._problem(words[0], said, complaint)
        return said

    def _problem(self, command: str, said: str, complaint: str) -> Exception:
        where, reason = self._remote.shown_url, _reason(complaint)
        if command == "fetch" and any(each in complaint for each in _NOT_THERE):
            return _NoBranchError()
        if command == "push":
            refused = [line for line in said.splitlines() if line.startswith("!")]
            if any(each in line for line in refused for each in _MOVED):
                return RemoteMovedError(where)
            if refused:
                return PushRefusedError(where, reason)
        return RemoteFailedError(where, reason)


class _NoBranchError(Exception):
    """The remote is there, the branch is not."""


class _Dulwich:
    def __init__(self, git_dir: Path, remote: Remote) -> None:
        self._git_dir = git_dir
        self._remote = remote
        self._ref = remote.ref.encode()

    def tip(self) -> CommitId | None:
        with self._translating():
            client, path = self._client()
            refs: dict[Any, Any] = dict(client.get_refs(path.encode()).refs)
        return _commit(refs.get(self._ref))

    def fetch(self) -> CommitId | None:
        from dulwich.objects import ObjectID  # noqa: PLC0415 - only without git
        from dulwich.refs import Ref  # noqa: PLC0415 - as above
        from dulwich.repo import Repo  # noqa: PLC0415 - as above

        packs = self._git_dir / "objects" / "pack"
        before = {*os.listdir(packs)}
        with self._translating(), Repo(str(self._git_dir.parent)) as repository:
            client, path = self._client()
            found = client.fetch(path.encode(), repository, self._wants)
            tip = _commit(dict(found.refs).get(self._ref))
            if tip:
                tracking = f"refs/remotes/{NAME}/{self._remote.branch}"
                repository.refs[Ref(tracking.encode())] = ObjectID(tip.encode())
        _flush(packs, {*os.listdir(packs)} - before)
        return tip

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        from dulwich.repo import Repo  # noqa: PLC0415 - only where git is missing

        where = self._remote.shown_url

        def update(refs: dict[Any, Any]) -> dict[Any, Any]:
            if _commit(refs.get(self._ref)) != over:
                raise RemoteMovedError(where)
            return {self._ref: commit.encode()}

        with self._translating(), Repo(str(self._git_dir.parent)) as repository:
            client, path = self._client()
            done = client.send_pack(
                path.encode(), update, repository.object_store.generate_pack_data
            )
        reason = (done.ref_status or {}).get(self._ref)
        if reason and any(each in str(reason) for each in _MOVED):
            raise RemoteMovedError(where)
        if reason:
            raise PushRefusedError(where, _reason(str(reason)))

    def _wants(self, refs: dict[Any, Any], _depth: int | None = None) -> list[Any]:
        return [refs[self._ref]] if self._ref in refs else []

    def _client(self) -> tuple[Any, str]:
        from dulwich.client import get_transport_and_path  # noqa: PLC0415 - as above

        return get_transport_and_path(self._remote.url, quiet=True)

    def _translating(self) -> "_Translating":
        return _Translating(self._remote.shown_url)


class _Translating:
    """Turns what dulwich and its libraries raise into one error."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """Translate, unless the error is ours."""
        from gitmail.errors import GitmailError  # noqa: PLC0415

        if isinstance(error, Exception) and not isinstance(error, GitmailError):
            raise RemoteFailedError(self._where, _reason(repr(error))) from error


def _flush(packs: Path, names: Iterable[str]) -> None:
    """Flush what dulwich has received, which it does not do itself."""
    with translated(packs):
        for name in names:
            with (packs / name).open("rb") as stream:
                os.fsync(stream.fileno())
        flush_folder(packs)


def _commit(value: bytes | None) -> CommitId | None:
    text = value.decode("ascii", "replace") if value else ""
    return CommitId(text) if is_hex(text) else None


def _reason(text: str) -> str:
    lines = [line.strip() for line in hide_secrets(text).splitlines() if line.strip()]
    return " ".join(lines)[:_LONGEST_REASON] or "it gave no reason"
