"""Waiting until the branch may have moved (DESIGN 8)."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmail import watch as watching
from gitmail.watch import Watch

LIMIT_S = 20
FAR_S = 1000.0
"""No test lasts so long: who returns earlier was woken."""


@pytest.fixture(name="watch")
def _watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Return a watch on a folder, which nothing but a change there ends."""
    monkeypatch.setattr(watching, "RESCAN_S", FAR_S)
    (tmp_path / "refs").mkdir()
    return Watch([tmp_path / "refs"])


def woken(watch: Watch, act: Callable[[], object]) -> bool:
    """Tell whether a thread that waits is woken by what is done."""
    with watch.armed():
        position = watch.position()
        waiter = threading.Thread(target=watch.wait, args=(position, LIMIT_S))
        waiter.start()
        act()
        waiter.join(LIMIT_S / 2)
        is_woken = not waiter.is_alive()
        watch.wake()
        waiter.join()
    return is_woken


def publish(folder: Path) -> None:
    """Move a ref, as gitmail and git do: by renaming a file over it."""
    (folder / "draft").write_text("x", "ascii")
    (folder / "draft").replace(folder / "gitmail")


def test_a_rename_wakes(watch: Watch, tmp_path: Path) -> None:
    """However often, and whether the file was there or not."""
    for _ in range(3):
        assert woken(watch, lambda: publish(tmp_path / "refs"))


def test_a_file_that_goes_wakes(watch: Watch, tmp_path: Path) -> None:
    """As the ref goes when `git pack-refs` moves it."""
    publish(tmp_path / "refs")
    assert woken(watch, (tmp_path / "refs" / "gitmail").unlink)


def test_waking_by_hand_wakes_all(watch: Watch) -> None:
    """They look for themselves whether to stop."""
    with watch.armed():
        position = watch.position()
        waiters = [
            threading.Thread(target=watch.wait, args=(position, FAR_S))
            for _ in range(100)
        ]
        for waiter in waiters:
            waiter.start()
        watch.wake()
        for waiter in waiters:
            waiter.join(LIMIT_S)
        assert not any(waiter.is_alive() for waiter in waiters)


def test_what_happened_before_the_wait_ends_it_at_once(
    watch: Watch, tmp_path: Path
) -> None:
    """The position is taken first, so nothing falls between looking and waiting."""
    with watch.armed():
        position = watch.position()
        publish(tmp_path / "refs")
        watch.wait(position, FAR_S)
        assert watch.position() > position


def test_all_waiters_share_one_watch(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred of them cost one thread (DESIGN 8: one watch)."""
    started, woken_up = threading.Barrier(101), threading.Barrier(101)
    watches = []
    notifier = watch._notifier
    monkeypatch.setattr(watch, "_notifier", lambda: watches.append(1) or notifier())

    def wait() -> None:
        with watch.armed():
            position = watch.position()
            started.wait(LIMIT_S)
            watch.wait(position, FAR_S)
            woken_up.wait(LIMIT_S)

    waiters = [threading.Thread(target=wait) for _ in range(100)]
    for waiter in waiters:
        waiter.start()
    started.wait(LIMIT_S)
    publish(tmp_path / "refs")
    woken_up.wait(LIMIT_S)
    for waiter in waiters:
        waiter.join(LIMIT_S)
    assert len(watches) == 1


def test_a_watch_ends_when_nobody_waits_and_begins_again(
    watch: Watch, tmp_path: Path
) -> None:
    """A server that waits for nobody costs nothing."""
    for _ in range(2):
        assert woken(watch, lambda: publish(tmp_path / "refs"))
        for thread in threading.enumerate():
            if thread.name == "gitmail-watch":
                thread.join(LIMIT_S)
                assert not thread.is_alive()


@pytest.mark.parametrize("error", [OSError(28, "No watches left"), RuntimeError("x")])
def test_without_a_watch_one_looks_again_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Where the system has no watches left, or the file system none."""
    watchfiles = pytest.importorskip("watchfiles._rust_notify")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(watchfiles, "RustNotify", refuse)
    watch = Watch([tmp_path])
    with watch.armed():
        position = watch.position()
        watch.wait(position, FAR_S)
        assert watch.position() == position
        assert watch._rescan_s == watching.BLIND_RESCAN_S


def test_a_folder_that_is_missing_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tools remove an empty folder of refs; one looks again soon."""
    monkeypatch.setattr(watching, "RESCAN_S", 0.01)
    watch = Watch([tmp_path / "missing"])
    with watch.armed():
        watch.wait(watch.position(), FAR_S)


def test_a_watch_that_breaks_is_replaced_by_looking_again(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its waiters are not left to sleep for long."""
    broken = threading.Event()

    class Notify:
        def watch(self, *_: object) -> None:
            raise RuntimeError

        def close(self) -> None:
            broken.set()

    monkeypatch.setattr(watch, "_notifier", Notify)
    with watch.armed():
        assert broken.wait(LIMIT_S)
        watch.wait(watch.position(), FAR_S)
        assert watch._rescan_s == watching.BLIND_RESCAN_S
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    # Who waits next tries a watch again.
    monkeypatch.undo()
    monkeypatch.setattr(watching, "RESCAN_S", FAR_S)
    assert woken(watch, lambda: publish(Path(watch._folders[0])))


def test_every_wait_ends_in_time_for_another_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some mounts deliver no events, and say so to nobody."""
    monkeypatch.setattr(watching, "RESCAN_S", 0.01)
    watch = Watch([tmp_path])
    with watch.armed():
        position = watch.position()
        watch.wait(position, FAR_S)
        assert watch.position() == position


def test_a_wait_without_time_left_returns(watch: Watch) -> None:
    """Whatever is left, even less than nothing."""
    with watch.armed():
        for left_s in (0, -1):
            watch.wait(watch.position(), left_s)


def test_an_error_in_a_wait_leaves_no_waiter_behind(watch: Watch) -> None:
    """The watch would never end otherwise."""
    with pytest.raises(KeyboardInterrupt), watch.armed():
        raise KeyboardInterrupt
    assert watch._waiters == 0
