"""Disks that are full, read-only or broken: what the caller is told, and what stays."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import DiskError, DiskFullError, GitmailError, ReadOnlyError
from tests.processes import (
    Child,
    assert_sound,
    make_mailbox,
    needs_git,
)

if sys.platform == "win32":
    pytest.skip("these faults are made by POSIX means", allow_module_level=True)

from tests.faults.trials import Steps

CHILDREN = "tests.faults.children"
pytestmark = needs_git
# A full disk still lets files go, and locks are taken on any.
SPARED = {
    errno.ENOSPC: ("flock", "unlink", "rmdir"),
    errno.EROFS: ("flock",),
    errno.EIO: ("flock",),
}


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="There before.")
    return box


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, DiskFullError),
        (errno.EDQUOT, DiskFullError),
        (errno.EROFS, ReadOnlyError),
        (errno.EACCES, ReadOnlyError),
        (errno.EIO, DiskError),
    ],
    ids=["full", "quota", "read-only", "denied", "broken"],
)
def test_a_step_that_fails_once_is_told_and_the_next_send_works(
    box: Path, number: int, expected: type[GitmailError]
) -> None:
    """At whichever step: all or nothing, in the very mailbox that failed (I5)."""

    def fail(step: str) -> None:
        raise failure(step, number)

    with Mailbox.open(box, folds=False) as mailbox:
        for step in range(1, 200):
            steps = Steps(step, fail)
            _assert_all_or_nothing(mailbox, steps, f"trial {step}", expected)
            if steps.count < step:
                break
        else:
            pytest.fail("a send has more steps than expected")
    assert_sound(box)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, DiskFullError), (errno.EROFS, ReadOnlyError)],
    ids=["full", "read-only"],
)
def test_a_disk_that_fails_from_some_step_on_keeps_all_that_was_there(
    box: Path, number: int, expected: type[GitmailError]
) -> None:
    """Reading goes on meanwhile, and all is well when the disk is (I1, I5)."""

    def fail(step: str) -> None:
        if step not in SPARED[number]:
            raise failure(step, number)

    for step in range(1, 200):
        with Mailbox.open(box, folds=False) as mailbox:
            steps = Steps(step, fail, goes_on=True)
            _assert_all_or_nothing(mailbox, steps, f"trial {step}", expected)
        if steps.count < step:
            break
    else:
        pytest.fail("a send has more steps than expected")
    assert_sound(box)


def failure(step: str, number: int) -> Exception:
    """Return what a step raises when the system refuses it."""
    if step not in ("execute", "connect"):
        return OSError(number, os.strerror(number))
    codes = {errno.ENOSPC: sqlite3.SQLITE_FULL, errno.EROFS: sqlite3.SQLITE_READONLY}
    error = sqlite3.OperationalError(os.strerror(number))
    error.sqlite_errorcode = codes.get(number, sqlite3.SQLITE_IOERR)
    return error


def _assert_all_or_nothing(
    mailbox: Mailbox, steps: Steps, body: str, expected: type[GitmailError]
) -> None:
    builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
    before = reviewer.poll(show="any", limit=200)
    after = {"show": "any", "after": before.cursor}
    error = None
    try:
        with steps.counted():
            builder.send(to="reviewer", body=body)
    except GitmailError as raised:
        error = raised
    said = str(error) if error else ""
    assert error is None or type(error) is expected or "may have" in said

    shown = [item.message.body for item in reviewer.poll(**after).items]
    if "may have" in said:
        assert shown in ([], [body])
    else:
        assert shown == ([] if said else [body])
    sent = builder.send(to="reviewer", body=f"after {body}")
    assert reviewer.poll(**after).items[-1].id == sent.message.id


@pytest.mark.parametrize("has_index", [True, False], ids=["index", "no-index"])
def test_a_read_only_mailbox_is_read_and_every_write_is_refused(
    box: Path, *, has_index: bool
) -> None:
    """Nothing in it changes, not even the index (I1)."""
    if not has_index:
        for file in (box / ".git" / "gitmail").glob("index.sqlite*"):
            file.unlink()
    before = _bytes_below(box)
    with (
        _write_protected(box),
        Child(f"{CHILDREN}:read_only", box, prefix=_powerless()) as reader,
    ):
        said = reader.answer()
        reader.finish()

    assert said == _READ_ONLY_ANSWERS
    assert _bytes_below(box) == before
    assert_sound(box)


def test_a_mailbox_on_a_read_only_mount_is_read_and_every_write_is_refused(
    box: Path,
) -> None:
    """As on a disk that was mounted so, or became so."""
    mount = mounting('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"', box)
    before = _bytes_below(box)
    with Child(f"{CHILDREN}:read_only", box, prefix=mount) as reader:
        said = reader.answer()
        reader.finish()

    assert said == _READ_ONLY_ANSWERS
    assert _bytes_below(box) == before


def test_a_full_disk_refuses_a_send_or_takes_it_whole(tmp_path: Path) -> None:
    """With whatever room is left, and it works at once when room is made (I5)."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = mounting('mount -t tmpfs -o size=4m tmpfs "$0"', disk)
    with Child(f"{CHILDREN}:full_disk", disk, prefix=mount) as sender:
        refused = sender.answer()
        sender.finish()

    assert 0 < refused < 20


def test_a_limit_on_the_size_of_files_is_a_full_disk(box: Path) -> None:
    """A shell may set one for all that it starts."""
    with Child(f"{CHILDREN}:too_large", box) as sender:
        refused = sender.answer()
        sender.finish()

    assert 0 < refused < 12
    assert_sound(box)


_READ_ONLY_ANSWERS = {
    "pending": ["There before."],
    "waited": ["There before."],
    "found": ["There before."],
    "codes": ["read_only"] * 4,
    "unacked": 1,
    "edits": [],
    "log": 4,
}


def mounting(script: str, folder: Path) -> list[str]:
    """Return what starts a process that sees a mount of its own, or skip the test."""
    if not shutil.which("unshare"):
        pytest.skip("no `unshare`, so nothing can be mounted for a test")
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    prefix = [*unshare, "sh", "-c", f'{script} && exec "$@"', str(folder)]
    done = subprocess.run(
        [*prefix, "true"], check=False, capture_output=True, text=True, timeout=30
    )
    if done.returncode:
        pytest.skip(f"nothing can be mounted for a test: {done.stderr.strip()}")
    return prefix


def _powerless() -> list[str]:
    """Return what starts a process for which permissions count, or skip the test."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("no `setpriv`, and root may write everywhere")
    return ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]


@contextmanager
def _write_protected(box: Path) -> Iterator[None]:
    modes = {path: path.stat().st_mode for path in (box, *box.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def _bytes_below(box: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in box.rglob("*") if path.is_file()}
