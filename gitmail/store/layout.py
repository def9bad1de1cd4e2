"""What belongs to a mailbox's repository besides objects and refs.

That is what `init` would make today, so that a mailbox of an older version gets what
has been added since.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from gitmail.errors import DiskError
from gitmail.store.creation import (
    PARTS,
    complete_repository,
    guard_python,
    install_guard,
)
from gitmail.store.findings import Case, Kind, replace_as_git
from gitmail.store.refs import REF
from gitmail.store.settings import check_settings

_HEAD = f"ref: {REF}\n"
_PATIENCE_S = 30


def check_layout(case: Case) -> None:
    """Find settings, folders and files that are missing or were changed."""
    check_settings(case)
    _check_head(case)
    _check_parts(case)
    _check_guard(case)


def _check_head(case: Case) -> None:
    head = case.git_dir / "HEAD"
    try:
        said = head.read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        said = ""
    if said == _HEAD.strip():
        return

    def mend() -> str:
        was = f", the old one {case.copy(head)}" if said else ""
        replace_as_git(head, _HEAD.encode())
        return f"set to {REF}{was}"

    detail = f"it names {said[:60]}" if said else "it is missing or empty"
    case.found(Kind.HEAD_ELSEWHERE, head, f"{detail}, and not {REF}", mend=mend)


def _check_parts(case: Case) -> None:
    """Find folders and files that are missing; one that is takes all below it along."""
    missing: list[Path] = []
    for below in map(Path, PARTS):
        is_told = below.parent in missing
        if not is_told and not os.path.lexists(case.git_dir / below):
            missing.append(below)
    for below in missing:
        place = case.git_dir / below
        case.found(
            Kind.INCOMPLETE_REPOSITORY,
            place,
            "it is missing",
            mend=partial(_complete, case, place),
        )


def _complete(case: Case, place: Path) -> str:
    complete_repository(case.root)
    if not place.exists():
        raise DiskError(str(place), "it is still missing")
    return "made"


def _check_guard(case: Case) -> None:
    """Find out whether git can run what verifies pushes."""
    guard = case.git_dir / "hooks" / "pre-receive"
    if not guard.exists():
        return  # which is said already

    def renew() -> str:
        install_guard(case.git_dir, anew=True)
        return "put right"

    python = guard_python(case.git_dir)
    if python is None:
        detail = "it is not as gitmail writes it"
    elif python and not _runs(python):
        detail = f"it runs the gitmail of {python}, which is gone"
    elif not os.access(guard, os.X_OK):
        detail = "git does not run it, for it is not executable"
    else:
        return
    case.found(Kind.INCOMPLETE_REPOSITORY, guard, detail, mend=renew)


def _runs(python: str) -> bool:
    """Tell whether a Python has gitmail."""
    if python == sys.executable:
        return True
    words = [python, "-P", "-m", "gitmail", "--version"]
    try:
        done = subprocess.run(  # noqa: S603 - what git runs at each push
            words, capture_output=True, check=False, timeout=_PATIENCE_S
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
