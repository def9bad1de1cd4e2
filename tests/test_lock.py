"""The lock between processes and threads (DESIGN 6)."""

import threading
from pathlib import Path

import pytest

from gitmail.errors import DiskError, LockTimeoutError, ReadOnlyError
from gitmail.store.lock import Lock
from tests.processes import Child, make_mailbox, posix_only

LIMIT_S = 30


def test_one_thread_at_a_time_holds_a_lock(tmp_path: Path) -> None:
    """Counted by what increments without any other guard leave behind."""
    lock = Lock(tmp_path / "lock")
    counter = [0]

    def count() -> None:
        for _ in range(50):
            with lock.held(LIMIT_S):
                seen = counter[0]
                threading.Event().wait(0)  # let others run
                counter[0] = seen + 1

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)

    assert counter == [400]


def test_two_locks_on_one_file_exclude_each_other(tmp_path: Path) -> None:
    """As two mailboxes in one process do."""
    one, two = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert one.take()
    assert not two.take()
    one.free()
    assert two.take()
    two.free()


def test_who_waits_too_long_is_told_which_lock_it_was(tmp_path: Path) -> None:
    """Nothing was changed, so the caller may simply try again."""
    lock = Lock(tmp_path / "lock")
    with lock.held(0), pytest.raises(LockTimeoutError) as caught:
        Lock(tmp_path / "lock").held(0.01).__enter__()

    assert caught.value.code == "busy"
    assert caught.value.details == {
        "path": str(tmp_path / "lock"),
        "timeout_s": 0.01,
    }


def test_a_thread_that_waits_too_long_for_another_is_told_too(tmp_path: Path) -> None:
    """It does not get as far as the file."""
    lock = Lock(tmp_path / "lock")
    with lock.held(0), pytest.raises(LockTimeoutError):
        lock.held(0.01).__enter__()
    with lock.held(0):
        pass


def test_an_error_under_a_lock_frees_it(tmp_path: Path) -> None:
    """Whatever it was."""
    lock = Lock(tmp_path / "lock")
    with pytest.raises(KeyboardInterrupt), lock.held(0):
        raise KeyboardInterrupt
    with lock.held(0):
        pass


def test_the_file_of_a_lock_stays(tmp_path: Path) -> None:
    """Removing it on release would let two processes hold "the" lock."""
    file = tmp_path / "lock"
    with Lock(file).held(0):
        before = file.stat().st_ino
    with Lock(file).held(0):
        assert file.stat().st_ino == before
    assert file.exists()


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    """The operating system frees its locks (DESIGN 9)."""
    box = make_mailbox(tmp_path / ".gitmail")
    lock = Lock(box / ".git" / "gitmail" / "write.lock")
    with Child("tests.faults.children:hold_lock", box) as holder:
        assert holder.answer() == "held"
        assert not lock.take()
        holder.process.kill()
        holder.process.wait()
        with lock.held(0):
            pass


@pytest.mark.parametrize("number_of_locks", [1, 2])
def test_a_lock_that_cannot_be_unlocked_at_first_is_unlocked_all_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    number_of_locks: int,
) -> None:
    """Network file systems fail at times; what was done has been done."""
    fcntl = pytest.importorskip("fcntl", reason="Windows locks otherwise")
    plain, failures = fcntl.flock, [OSError(5, "Input/output error")]

    def flock(handle: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN and failures:
            raise failures.pop()
        plain(handle, operation)

    locks = [Lock(tmp_path / "lock") for _ in range(number_of_locks)]
    with locks[0].held(0):
        monkeypatch.setattr(fcntl, "flock", flock)
    with locks[-1].held(0):
        pass
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@posix_only
def test_a_lock_file_that_cannot_be_opened_is_a_disk_error(tmp_path: Path) -> None:
    """The caller is told its path, and the lock can be taken when it can."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for name in ("folder", "link"):
        with pytest.raises(DiskError) as caught:
            Lock(tmp_path / name).take()
        assert str(tmp_path / name) in caught.value.message
    (tmp_path / "folder").rmdir()
    assert Lock(tmp_path / "folder").take()


def test_a_folder_without_permission_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is not the owner can still read."""

    def deny(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(tmp_path / "lock"))

    lock = Lock(tmp_path / "lock")
    with monkeypatch.context() as patch:
        patch.setattr("os.open", deny)
        with pytest.raises(ReadOnlyError):
            lock.take()
    with lock.held(0):
        pass
