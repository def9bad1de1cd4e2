"""Locks and temporary files that killed programs leave behind.

Git names no owner in its locks. So one counts as stale when it is old and no process
of this machine has it open, or could be the git that made it.
"""

import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gitmail.store.disk import remove_quietly
from gitmail.store.findings import Case, Kind, entries, files_below
from gitmail.store.pack import DRAFT
from gitmail.store.slots import is_alive

_PROCESSES = Path("/proc")
_LOCK_S = 60.0
_BLIND_LOCK_S = 3600.0  # where nobody tells what other processes have open
_TEMPORARY_S = 3600.0
_OBJECT_DRAFT = re.compile(r"tmp_(obj|pack|idx|rev|bitmap|midx|graph)_\w+|\.tmp-.+")
_INCOMING = re.compile(r"(incoming|tmp_objdir)-.+")
_LOCAL_DRAFT = re.compile(r".+\.(draft|[0-9a-f]{32})")
_SLOT = "ref-"


def check_locks(case: Case) -> None:
    """Find locks on refs, settings and objects whose owners are gone."""
    for lock in sorted(_locks(case.git_dir)):
        try:
            owner = _slot_owner(case, lock)
            is_old = _is_old(case, lock)
            holder = None if owner else _holder(lock, case.root)
        except FileNotFoundError:
            continue  # it was in use, and no longer is
        if owner:
            if not is_alive(owner):
                _found_stale(case, lock, "a gitmail that was killed left it")
        elif is_old and holder:
            case.found(
                Kind.STALE_LOCK,
                lock,
                f"it is old, and {holder} may hold it",
                advice=f"End {holder} if it hangs, and run this again",
            )
        elif is_old:
            _found_stale(case, lock, "a git program that is gone left it")


def check_temporary_files(case: Case) -> None:
    """Find what was begun to be written, and never was finished nor used."""
    for path in sorted(_temporary(case)):
        case.found(
            Kind.TEMPORARY_FILE,
            path,
            "it was never finished, and nothing uses it",
            mend=partial(_remove, path),
        )


def _found_stale(case: Case, lock: Path, detail: str) -> None:
    def mend() -> str:
        try:  # somebody may have taken it over since
            owner = _slot_owner(case, lock)
            is_stale = not is_alive(owner) if owner else _is_old(case, lock)
        except FileNotFoundError:
            is_stale = False
        return _remove(lock) if is_stale else "gone meanwhile"

    case.found(Kind.STALE_LOCK, lock, detail, mend=mend)


def _remove(path: Path) -> str:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        remove_quietly(path)
    return "removed"


def _locks(git_dir: Path) -> Iterator[Path]:
    yield from git_dir.glob("*.lock")
    for folder in ("refs", "logs", "objects"):
        below = files_below(git_dir / folder)
        yield from (path for path in below if path.suffix == ".lock")


def _is_old(case: Case, lock: Path) -> bool:
    limit_s = _LOCK_S if _PROCESSES.is_dir() else _BLIND_LOCK_S
    return case.age_s(lock) > limit_s


def _slot_owner(case: Case, lock: Path) -> str | None:
    """Return the owner of the slot that a lock of ours is a link to."""
    return next(
        (
            owner
            for owner, slot in _slots(case.local)
            if os.path.samestat(slot.stat(), lock.stat())
        ),
        None,
    )


def _slots(local: Path) -> Iterator[tuple[str, Path]]:
    for slot in local.glob(f"{_SLOT}*"):
        yield slot.name.removeprefix(_SLOT).rpartition("-")[0], slot


def _holder(lock: Path, root: Path) -> str | None:
    """Return who may hold a lock: who has it open, or a git that is at work there."""
    found = lock.stat()
    for process in _PROCESSES.glob("[0-9]*"):
        try:
            name = (process / "comm").read_text("utf-8", "replace").strip()
            if _has_open(process, found) or (
                name.startswith("git") and _is_in(process, root)
            ):
                return f"process {process.name} ({name})"
        except OSError:
            continue  # it has ended
    return None


def _has_open(process: Path, wanted: os.stat_result) -> bool:
    try:
        handles = list((process / "fd").iterdir())
    except PermissionError:  # somebody else's
        return False
    for handle in handles:
        try:
            if os.path.samestat(handle.stat(), wanted):
                return True
        except OSError:
            continue  # it was closed
    return False


def _is_in(process: Path, root: Path) -> bool:
    try:
        return (process / "cwd").readlink().is_relative_to(root)
    except PermissionError:
        return True  # who knows


def _temporary(case: Case) -> Iterator[Path]:
    for path in _candidates(case):
        try:
            if case.age_s(path) > _TEMPORARY_S:
                yield path
        except FileNotFoundError:
            continue
    for owner, slot in _slots(case.local):
        if not is_alive(owner) and not _is_linked(case, slot):
            yield slot


def _is_linked(case: Case, slot: Path) -> bool:
    """Tell whether a slot is a lock too, which without it would look like git's."""
    lock = case.git_dir / "refs" / "heads" / "gitmail.lock"
    return _is_same(lock, slot)


def _candidates(case: Case) -> Iterator[Path]:
    """Yield what has the name of a temporary file, or of a mark that is temporary."""
    for path in entries(case.git_dir / "objects"):
        if _INCOMING.fullmatch(path.name) or _OBJECT_DRAFT.fullmatch(path.name):
            yield path
        elif path.is_dir() and not path.is_symlink():
            for below in entries(path):
                is_ours = below.name.startswith(DRAFT) or _is_own_mark(below)
                if is_ours or _OBJECT_DRAFT.fullmatch(below.name):
                    yield below
    for path in entries(case.local):
        if _LOCAL_DRAFT.fullmatch(path.name) and not path.name.startswith(_SLOT):
            yield path


def _is_own_mark(path: Path) -> bool:
    """Tell whether it keeps a pack that a writer never got to release."""
    pack = path.with_suffix(".pack")
    return path.suffix == ".keep" and (not pack.exists() or _is_same(path, pack))


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False
