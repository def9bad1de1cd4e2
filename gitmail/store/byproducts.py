"""What git keeps in a repository besides its content: lists, and files to be quicker.

Git makes each of these anew when it wants it, but neither it nor dulwich goes on when
one is damaged.
"""

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gitmail.records.names import is_hex
from gitmail.store.findings import Case, Kind, replace_as_git

_CHECKED = (
    *("index", "objects/info/commit-graph", "objects/info/commit-graphs/*.graph"),
    *("objects/pack/multi-pack-index*", "objects/pack/pack-*.bitmap"),
    "objects/pack/pack-*.rev",
)
_CHAIN = Path("objects", "info", "commit-graphs", "commit-graph-chain")
_CHECKSUM_BYTES = 20


def check_byproducts(case: Case) -> None:
    """Find such files that are damaged."""
    for file in sorted(_checked(case.git_dir)):
        if not _is_sound(file):
            case.found(
                Kind.DAMAGED_INDEX,
                file,
                "it is not what git wrote, who can make it anew",
                mend=partial(case.rescue, file),
            )
    _check_rows(case, Kind.DAMAGED_INDEX, case.git_dir / _CHAIN)
    _check_rows(case, Kind.SHALLOW, case.git_dir / "shallow")
    borrowed = case.git_dir / "objects" / "info" / "alternates"
    if borrowed.is_file() and b"\0" in borrowed.read_bytes():
        case.found(
            Kind.ALTERNATES,
            borrowed,
            "it is damaged",
            mend=partial(case.rescue, borrowed),
        )


def _checked(git_dir: Path) -> Iterator[Path]:
    """Yield the files that end with a checksum of all that is before it."""
    for pattern in _CHECKED:
        yield from (path for path in git_dir.glob(pattern) if path.is_file())


def _is_sound(file: Path) -> bool:
    try:
        data = file.read_bytes()
    except FileNotFoundError:  # git was at it
        return True
    content, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    is_left_out = file.name == "index" and not any(checksum)  # by `index.skipHash`
    actual = hashlib.sha1(content, usedforsecurity=False).digest()
    return bool(content) and any(content) and (is_left_out or checksum == actual)


def _check_rows(case: Case, kind: Kind, file: Path) -> None:
    """Find out whether a list of ids is one."""
    if not file.is_file():
        return
    data = file.read_bytes()
    rows = data.decode("ascii", "replace").splitlines()
    sound = "".join(f"{row}\n" for row in rows if is_hex(row)).encode()
    if sound and data == sound:
        return

    def mend() -> str:
        if not sound:
            return case.rescue(file)
        was = case.copy(file)
        replace_as_git(file, sound)
        return f"its sound rows kept, the old one {was}"

    case.found(kind, file, "it is no list of commits as git writes it", mend=mend)
