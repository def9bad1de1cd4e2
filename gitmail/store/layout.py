"""What belongs to a mailbox's repository besides objects and refs.

That is what `init` would make today, so that a mailbox of an older version gets what
has been added since.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path

from dulwich.config import ConfigFile

from gitmail.errors import DiskError
from gitmail.store.creation import (
    CONFIG,
    PARTS,
    complete_repository,
    guard_python,
    install_guard,
)
from gitmail.store.disk import replace, write_durably
from gitmail.store.findings import Case, Kind
from gitmail.store.refs import REF

_HEAD = f"ref: {REF}\n"
# These depend on the file system, and on what git has put into the repository since.
_FREE = ("filemode", "repositoryformatversion")
_TRUE = (b"true", b"yes", b"on", b"1")
_PATIENCE_S = 30

_Setting = tuple[tuple[bytes, ...], bytes, bytes]


def check_layout(case: Case) -> None:
    """Find settings, folders and files that are missing or were changed."""
    _check_config(case)
    _check_head(case)
    _check_parts(case)
    _check_guard(case)


def _check_config(case: Case) -> None:
    config = case.git_dir / "config"
    problem, actual = _read(config)
    if actual is None:

        def renew() -> str:
            was = f", the old one {case.copy(config)}" if config.exists() else ""
            _write(config, CONFIG.encode())
            return f"made anew{was}"

        case.found(Kind.SETTING, config, problem, mend=renew)
        return
    for section, name, value in _settings():
        found = _value(actual, section, name)
        is_free = name.decode().lower() in _FREE and found is not None
        if is_free or _plain(found) == _plain(value):
            continue
        key = f"{b'.'.join(section).decode()}.{name.decode()}"
        was = "not set" if found is None else found.decode("utf-8", "replace")
        line = b"[%b]\n\t%b = %b\n" % (b".".join(section), name, value)

        def add(line: bytes = line) -> str:
            text = config.read_bytes()
            newline = b"" if text.endswith(b"\n") or not text else b"\n"
            _write(config, text + newline + line)
            return "set"

        case.found(
            Kind.SETTING,
            config,
            f"{key} should be {value.decode()}, and is {was}",
            mend=add,
        )


def _read(config: Path) -> tuple[str, ConfigFile | None]:
    try:
        if b"\0" in config.read_bytes():  # a power cut leaves that
            return "it is damaged", None
        return "", ConfigFile.from_path(config, expand_includes=False)
    except FileNotFoundError:
        return "it is missing", None
    except ValueError as error:
        return f"it cannot be read: {error}", None


def _settings() -> Iterator[_Setting]:
    wanted = ConfigFile.from_file(BytesIO(CONFIG.encode()))
    for section in wanted.sections():
        for name, value in wanted.items(section):
            yield section, name, value


def _value(config: ConfigFile, section: tuple[bytes, ...], name: bytes) -> bytes | None:
    try:
        return config.get(section, name)
    except KeyError:
        return None


def _plain(value: bytes | None) -> bytes | None:
    if value is None:
        return None
    return b"true" if value.lower() in _TRUE else value.lower()


def _write(file: Path, data: bytes) -> None:
    """Replace a file as git does, which then cannot write it at the same time."""
    lock = file.with_name(f"{file.name}.lock")
    write_durably(lock, data, 0o644)
    replace(lock, file)


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
        _write(head, _HEAD.encode())
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
