"""Whether every ref of a mailbox's repository is one that git can read.

What the branch itself should name is another matter, see `restoring`.
"""

import os
import re
from contextlib import closing
from functools import partial
from pathlib import Path

from gitmail.errors import BranchCheckedOutError
from gitmail.records.names import is_hex
from gitmail.store.disk import read_small
from gitmail.store.findings import Case, Kind, files_below, replace_as_git
from gitmail.store.refs import REF, Branch

_ROW = re.compile(rb"[0-9a-f]{40} refs/[^\0-\x20\x7f]+|\^[0-9a-f]{40}|#[^\0]*")


def check_branch_place(case: Case) -> bool:
    """Find a folder that stands where the branch does; tell whether there is none."""
    place = case.git_dir / REF
    if place.is_symlink() or not place.is_dir():
        return True
    return case.found(
        Kind.BRANCH_UNREADABLE,
        place,
        "a folder is in its place",
        mend=partial(_clear, case, place),
    )


def _clear(case: Case, folder: Path) -> str:
    if any(files_below(folder)):
        return case.rescue(folder)
    for place, _, _ in os.walk(folder, topdown=False):
        Path(place).rmdir()
    return "removed, for it was empty"


def check_checkouts(case: Case) -> None:
    """Find linked worktrees for the sake of which nothing can be written."""
    with closing(Branch(case.git_dir, case.local)) as branch:
        for worktree in branch.checkouts():
            error = BranchCheckedOutError(worktree)
            case.found(
                Kind.BRANCH_CHECKED_OUT,
                case.git_dir / "worktrees",
                error.message,
                advice=error.hint,
            )


def check_refs(case: Case) -> None:
    """Find refs that are none."""
    packed = case.git_dir / "packed-refs"
    if packed.exists() and not _is_sound(packed):
        case.found(
            Kind.REF_UNREADABLE,
            packed,
            "it is not as git writes it",
            mend=partial(_mend_packed, case, packed),
        )
    for file in files_below(case.git_dir / "refs"):
        if file != case.git_dir / REF and _is_broken(file):
            case.found(
                Kind.REF_UNREADABLE,
                file,
                "it names no commit",
                mend=partial(case.rescue, file),
            )


def _is_broken(file: Path) -> bool:
    said = read_small(file) if file.suffix != ".lock" else None
    return said is not None and not is_hex(said) and not said.startswith("ref: ")


def _is_sound(packed: Path) -> bool:
    *rows, rest = packed.read_bytes().split(b"\n")
    return not rest and all(map(_ROW.fullmatch, rows))


def _mend_packed(case: Case, packed: Path) -> str:
    was = case.copy(packed)
    rows = [row.strip() for row in packed.read_bytes().split(b"\n")]
    # Git does without the heading, which tells the order, and without what tags are of,
    # which may have stood behind a row that is lost.
    sound = [row for row in rows if _ROW.fullmatch(row) and row[:1] not in b"#^"]
    replace_as_git(packed, b"".join(b"%b\n" % row for row in sound))
    return f"its {len(sound)} sound rows kept, the old one {was}"
