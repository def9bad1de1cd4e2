"""What goes into a bundle, by an installed git: the same as without one, and faster.

Git has the deltas that are there already copied, a fifteenth of the time. Wherever it
does not answer, None says so, and the other way tells what is wrong.
"""

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from gitmail.errors import BundleBlockedError
from gitmail.records.names import CommitId
from gitmail.store.pack_numbers import LARGEST_BYTES
from gitmail.store.repository import printable
from gitmail.store.soundness import harm_of, is_sound_commit, too_large
from gitmail.store.transport import Git

_COMMITS = ("rev-list", "--topo-order", "--stdin")
_PACK = ("pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset")
_CONTENT = ("cat-file", "--batch", "--buffer")
_SIZES = ("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer")
_DIFFERENCES = (
    *("diff-tree", "--stdin", "--raw", "-z", "--no-renames", "--no-abbrev"),
    "--ignore-submodules=none",
    *("-c", "-r", "-t", "--root"),  # what no parent has, folders included
)


class OutgoingByGit:
    """The commits that one history has and another has not, as git sees them.

    Args:
        git_dir: The repository.
        tip: The one history.
        since: The other one, None for all of the first.
    """

    def __init__(
        self, git_dir: Path, tip: CommitId, since: CommitId | None, git: Git
    ) -> None:
        self._git_dir = git_dir
        self._git = git
        self._said = f"{tip}\n^{since}\n".encode() if since else f"{tip}\n".encode()

    def commits(self) -> list[CommitId] | None:
        """Return the commits, none behind one that it stands on."""
        if (self._git_dir / "shallow").exists():  # git would leave out what is missing
            return None
        found = self._run(*_COMMITS, given=self._said)
        return None if found is None else [*map(CommitId, found.decode().split())]

    def packed(self, commits: Sequence[CommitId]) -> bytes | None:
        """Return a pack of all that the one history has and the other has not.

        Before, it is checked for what is refused in whatever commit it is. Trees that
        git would not write are not looked for: to read all of them takes longer than
        all else.

        Raises:
            BundleBlockedError: There is such a thing.
        """
        from concurrent.futures import (  # noqa: PLC0415 - few commands need threads
            ThreadPoolExecutor,
        )

        given = "".join(f"{commit}\n" for commit in commits).encode()
        with ThreadPoolExecutor(2) as pool:
            packing = pool.submit(self._pack)
            reading = pool.submit(self._run, *_CONTENT, given=given)
            told = self._run(*_DIFFERENCES, given=given)
            is_known = told is not None and self._check_entries(told)
            raw = reading.result()
            if raw is None or not is_known:
                return None
            _check_commits(raw, commits)
            return packing.result()

    def _check_entries(self, told: bytes) -> bool:
        """Check what the commits have put anywhere; tell whether git knows its size."""
        places: dict[bytes, tuple[CommitId, str]] = {}
        for commit, path, mode, sha in _entries(told):
            harm = harm_of(path, mode)
            if harm:
                raise BundleBlockedError(commit, harm, path)
            places.setdefault(sha, (commit, path))
        given = b"".join(b"%b\n" % sha for sha in places)
        sizes = self._run(*_SIZES, given=given)
        for row in (sizes or b"").splitlines():
            sha, _, size = row.partition(b" ")
            if not size.isdigit():  # it is missing
                return False
            if int(size) > LARGEST_BYTES:
                commit, path = places[sha]
                raise BundleBlockedError(commit, too_large(path), path)
        return sizes is not None

    def _pack(self) -> bytes | None:
        pack = self._run(*_PACK, given=self._said) or b""
        digest = hashlib.sha1(pack[:-20], usedforsecurity=False).digest()
        return pack if pack and pack[-20:] == digest else None

    def _run(self, *words: str, given: bytes) -> bytes | None:
        command = [self._git.program, "--no-replace-objects"]
        try:
            done = subprocess.run(  # noqa: S603 - the program that the settings name
                [*command, f"--git-dir={self._git_dir}", *words],
                input=given,
                capture_output=True,
                check=False,
                env=dict(self._git.environment),
            )
        except OSError:
            return None
        return None if done.returncode else done.stdout


def _check_commits(raw: bytes, commits: Sequence[CommitId]) -> None:
    at = 0
    for commit in commits:
        end = raw.index(b"\n", at)
        start, size = end + 1, int(raw[at:end].rpartition(b" ")[2])
        at = start + size + 1
        if size > LARGEST_BYTES or not is_sound_commit(raw[start : at - 1]):
            raise BundleBlockedError(commit, f"commit {commit} is malformed")


def _entries(told: bytes) -> Iterator[tuple[CommitId, str, int, bytes]]:
    """Yield commit, path, mode and id of what `diff-tree -c` says is new or other."""
    commit = CommitId("")
    pieces = iter(told.split(b"\0"))
    for piece in pieces:
        if not piece.startswith(b":"):
            commit = CommitId(piece.decode()) if piece else commit
            continue
        path = next(pieces)
        parents = len(piece) - len(piece.lstrip(b":"))
        fields = piece[parents:].split(b" ")
        mode = int(fields[parents], 8)
        if mode:
            yield commit, _shown(path), mode, fields[2 * parents + 1]


def _shown(path: bytes) -> str:
    if path.isascii() and b"\\" not in path:  # as good as all, and told at once
        return path.decode()
    return "/".join(map(printable, path.split(b"/")))
