"""Carrying commits to and from a remote: by an installed git, or by dulwich without.

An installed git knows the user's credentials, proxies and URL rewriting, and is
faster; what it does here, dulwich does as well. Neither asks a person anything, and
neither ever forces a branch.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gitmail.errors import (
    RemoteFailedError,
    RemoteFullError,
)
from gitmail.records.names import CommitId, is_hex
from gitmail.store.complaints import failure, full_disk, problem_here, refusal
from gitmail.store.drafts import removed_on_failure
from gitmail.store.remote import HEADS, Remote

TIMEOUT_S = 1800.0
"""How long a remote may take; what it sends may be a whole mailbox."""
_NOT_THERE = ("couldn't find remote ref", "could not find remote ref")
_UNPACKING = "error: remote unpack failed:"
_SHALLOW = "shallow roots are not allowed to be updated"
_SETTINGS = (
    "core.hooksPath=/dev/null",
    # What a user has set for pushes and fetches of code.
    "push.gpgSign=false",
    "push.followTags=false",
    "push.pushOption=",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    # One odd object in a remote's history must not stop everybody's mail; whether all
    # of it can be read is looked at here.
    "fetch.fsckObjects=false",
    # Packs, for nobody would ever fold loose objects.
    "fetch.unpackLimit=1",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
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

    Every method raises RemoteFailedError where the remote cannot be reached or read,
    and RemoteDeniedError where it wants other credentials.

    Attributes:
        is_proving: Whether what `fetch` brought is known to be complete.
    """

    is_proving: bool

    def tip(self) -> CommitId | None:
        """Return the commit of the branch there, None where there is no branch."""

    def branches(self) -> list[str]:
        """Return the names of all branches there, sorted."""

    def fetch(self) -> CommitId | None:
        """Bring the branch's commits here, durably, and return its commit."""

    def keep(self, commit: CommitId | None) -> None:
        """Point the branch that shows what was fetched at a commit, or drop it."""

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        """Make the branch there a commit that stands on what it was.

        Raises:
            RemoteMovedError: Somebody else moved it meanwhile.
            RemoteLockedError: Another program holds the branch's lock there.
            RemoteFullError: There is no room there.
            PushRefusedError: The remote does not accept it, and says why.
        """


def open_transport(git_dir: Path, remote: Remote, git: Git | None) -> Transport:
    """Return the transport to a remote."""
    if git:
        return _GitTransport(git_dir, remote, git)
    # Only where git is missing.
    from gitmail.store.unaided import UnaidedTransport  # noqa: PLC0415 - as said

    return UnaidedTransport(git_dir, remote)


class _GitTransport:
    is_proving = True  # git's fetch looks for all that the branch needs

    def __init__(self, git_dir: Path, remote: Remote, git: Git) -> None:
        self._git_dir = git_dir
        self._remote = remote
        self._git = git

    def tip(self) -> CommitId | None:
        found = self._refs(self._remote.ref).get(self._remote.ref, "")
        return CommitId(found) if is_hex(found) else None

    def branches(self) -> list[str]:
        return sorted(ref.removeprefix(HEADS) for ref in self._refs(f"{HEADS}*"))

    def _refs(self, wanted: str) -> dict[str, str]:
        """Return the refs there that fit, each with its commit."""
        said = self._run("ls-remote", "--", self._remote.url, wanted)
        pairs = (line.split("\t", 1) for line in said.splitlines())
        return {pair[1]: pair[0] for pair in pairs if pair[1:]}

    def fetch(self) -> CommitId | None:
        tracking = self._remote.tracking
        try:
            with removed_on_failure(self._git_dir / "objects" / "pack"):
                self._run(
                    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head"),
                    *("--no-auto-maintenance", "--no-recurse-submodules"),
                    *("--", self._remote.url, f"+{self._remote.ref}:{tracking}"),
                )
            said = self._run("rev-parse", "--verify", "--quiet", tracking).strip()
        except _NoBranchError:
            return None
        return CommitId(said)

    def keep(self, commit: CommitId | None) -> None:
        tracking = self._remote.tracking
        words = [tracking, commit] if commit else ["-d", tracking]
        self._run("update-ref", *words)

    def push(self, commit: CommitId, over: CommitId | None) -> None:  # noqa: ARG002 - git compares by itself
        self._run(
            *("push", "--porcelain", "--no-verify", "--no-recurse-submodules"),
            *("--", self._remote.url, f"{commit}:{self._remote.ref}"),
        )

    def _run(self, *words: str) -> str:
        # What stands in for a commit here is nothing that others have.
        command = [
            self._git.program,
            "--no-replace-objects",
            f"--git-dir={self._git_dir}",
        ]
        for setting in _SETTINGS:
            command += ["-c", setting]
        try:
            code, said, complaint = _run(
                [*command, *words], self._git.environment, TIMEOUT_S
            )
        except OSError as error:
            raise RemoteFailedError(self._remote.shown_url, str(error)) from error
        except subprocess.TimeoutExpired as error:
            raise RemoteFailedError(self._remote.shown_url, slow()) from error
        # Git only warns that it has left out a branch whose history is cut off.
        if code or (words[0] == "fetch" and _SHALLOW in complaint):
            raise self._problem(words[0], said, complaint)
        return said

    def _problem(self, command: str, said: str, complaint: str) -> Exception:
        where = self._remote.shown_url
        if command == "fetch" and any(each in complaint for each in _NOT_THERE):
            return _NoBranchError()
        if command != "push":
            here = problem_here(complaint, str(self._git_dir))
            if here:
                return here
        refused = [line for line in said.splitlines() if line.startswith("!")]
        if command == "push" and refused:
            short = refused[0].rpartition("\t")[2]
            complaint = complaint.replace(_UNPACKING, f"remote: {_UNPACKING}")
            told = (line.partition(":") for line in complaint.splitlines())
            return refusal(
                where,
                short,
                "\n".join(rest for who, _, rest in told if who == "remote"),
            )
        if command == "push" and (full := full_disk(complaint)):
            return RemoteFullError(where, full)
        return failure(where, complaint)


class _NoBranchError(Exception):
    """The remote is there, the branch is not."""


def slow() -> str:
    """Return the reason that a remote took too long."""
    return f"it did not finish within {TIMEOUT_S:g} s"


def _run(
    command: list[str], environment: Mapping[str, str], timeout_s: float
) -> tuple[int, str, str]:
    """Run a program that can ask nobody, and end all that it started with it."""
    process = subprocess.Popen(  # noqa: S603 - the program that the settings name
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        # Python ignores SIGXFSZ and gives that on, so that git can say what it met; for
        # SIGPIPE it sees to itself.
        restore_signals=False,
        start_new_session=True,  # with no terminal on which ssh could ask
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    with process:
        try:
            said, complaint = process.communicate(timeout=timeout_s)
        except BaseException:
            _kill(process)
            raise
    code = process.returncode
    return code, said.decode("utf-8", "replace"), complaint.decode("utf-8", "replace")


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
