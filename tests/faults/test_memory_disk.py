"""Memory on disks that are full, read-only or broken (DESIGN I5)."""

import errno
import shutil
import sys
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import DiskError, DiskFullError, GitmailError, ReadOnlyError
from tests.faults.remembering import ACTS, empty_folders, make_memory, remembered
from tests.indexes import contents, contents_made_anew
from tests.processes import Child, assert_sound, needs_git

if sys.platform == "win32":
    pytest.skip("these faults are made by POSIX means", allow_module_level=True)

from tests.faults.test_disk import SPARED, failure, mounting
from tests.faults.trials import Steps

CHILDREN = "tests.faults.children"
pytestmark = needs_git
MOST_STEPS = 200
FULL, READ_ONLY, BROKEN = (
    (errno.ENOSPC, DiskFullError),
    (errno.EROFS, ReadOnlyError),
    (errno.EIO, DiskError),
)
FAULTS = [
    *[("forget_facts", FULL), ("set_and_acknowledge", BROKEN)],
    *[("supersede", READ_ONLY), ("restore_removed", FULL)],
]


@pytest.fixture(name="box", scope="module")
def _box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a mailbox with something in memory, to be copied."""
    return make_memory(tmp_path_factory.mktemp("memory") / ".gitmail")


@pytest.mark.parametrize("goes_on", [False, True], ids=["once", "on-and-on"])
@pytest.mark.parametrize(
    ("act", "fault", "stride"),
    [
        *(pytest.param(*case, 6, id=case[0]) for case in FAULTS),
        *(
            pytest.param(act, fault, 1, id=f"{act}-each", marks=pytest.mark.stress)
            for act in ACTS
            for fault in (FULL, READ_ONLY, BROKEN)
        ),
    ],
)
def test_a_step_that_fails_leaves_memory_as_it_was_or_as_it_was_to_be(
    box: Path,
    tmp_path: Path,
    act: str,
    fault: tuple[int, type[GitmailError]],
    stride: int,
    *,
    goes_on: bool,
) -> None:
    """The caller is told which, can read meanwhile, and write when the disk is well."""
    number, expected = fault

    def fail(step: str) -> None:
        if not goes_on or step not in SPARED[number]:
            raise failure(step, number)

    with Mailbox.open(box) as mailbox:
        before = remembered(mailbox)
    for step in range(1, MOST_STEPS, stride):
        copy = tmp_path / str(step)
        shutil.copytree(box, copy)
        steps = Steps(step, fail, goes_on=goes_on)
        with Mailbox.open(copy, folds=False) as mailbox:
            mailbox.agent("builder").poll()
            with steps.counted():
                error = _error_of(mailbox, act)
                found = remembered(mailbox)
            said = str(error or "")
            if "may have" not in said:
                assert error is None or type(error) is expected
                assert (found == before) is bool(said), said
            _assert_is_whole(mailbox, found, before)
        assert_sound(copy)
        assert empty_folders(copy) == []
        shutil.rmtree(copy)
        if steps.count < step:
            return
    pytest.fail(f"{act} has more steps than expected")


def _error_of(mailbox: Mailbox, act: str) -> GitmailError | None:
    """Do something to memory, and return the error with which it was refused."""
    try:
        ACTS[act](mailbox.agent("builder"))
    except GitmailError as error:
        return error
    return None


def _assert_is_whole(mailbox: Mailbox, found: object, before: object) -> None:
    """Check that memory stays what it was found to be, and can be written."""
    assert remembered(mailbox) == found
    memory = mailbox.agent("builder").memory
    count = mailbox.status().commit_count
    memory.set("fact", "parser", "owner", "It works.")
    assert memory.get("fact", "parser", "owner").text == "It works."
    assert mailbox.status().commit_count == count + 1
    assert (found == before) is (count == _COMMITS)
    assert contents(mailbox) == contents_made_anew(mailbox)


_COMMITS = 16
"""Of a mailbox of `make_memory`."""


def test_a_full_disk_refuses_what_is_done_to_memory_or_takes_it_whole(
    tmp_path: Path,
) -> None:
    """With whatever room is left, and it works at once when room is made (I5)."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = mounting('mount -t tmpfs -o size=4m tmpfs "$0"', disk)
    with Child(f"{CHILDREN}:full_disk_of_memory", disk, prefix=mount) as writer:
        refused = writer.answer()
        writer.finish()

    assert 0 < refused < 20


def test_memory_on_a_read_only_mount_is_read_and_not_written(
    box: Path, tmp_path: Path
) -> None:
    """Each verb that writes says so, and one with nothing to write does not fail."""
    copy = tmp_path / ".gitmail"
    shutil.copytree(box, copy)
    mount = mounting('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"', copy)
    with Child(f"{CHILDREN}:read_only_memory", copy, prefix=mount) as reader:
        said = reader.answer()
        reader.finish()

    assert said == {
        "codes": dict.fromkeys(ACTS, "read_only"),
        "is_as_it_was": True,
        "found": ["The first owner."],
    }
