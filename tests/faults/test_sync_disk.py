"""Syncing where the disk is full, here or there (CAPABILITIES V3)."""

from pathlib import Path

from gitmail import Mailbox
from tests.exchanges import both, shared
from tests.faults.test_disk import mounting
from tests.processes import Child, make_mailbox, needs_git

pytestmark = needs_git


@both
def test_a_full_disk_refuses_a_sync_or_takes_it_whole(tmp_path: Path, how: str) -> None:
    """With whatever room is left, and it works at once when room is made (I5)."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = mounting('mount -t tmpfs -o size=4m tmpfs "$0"', disk)
    with Mailbox.open(make_mailbox(tmp_path / "there")) as mailbox:
        remote = shared(mailbox, tmp_path / "remote.git", how)
    child = "tests.faults.sync_children:full_disk_of_sync"
    with Child(child, disk, remote, how, prefix=mount) as worker:
        refused = worker.answer()
        worker.finish()

    assert 0 < refused < 16
