"""Waiting for what other processes and git do (DESIGN 8)."""

import queue
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail import watch as watching
from gitmail.mailbox.values import Page
from tests.helpers import git
from tests.mailfiles import Clone, message_file
from tests.processes import Child, Meanwhile, make_mailbox, needs_git

CHILDREN = "tests.concurrency.children"
LIMIT_S = 30
FAR_S = 1000.0
"""No test lasts so long: who returns earlier was woken."""


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox that nobody has open."""
    return make_mailbox(tmp_path / ".gitmail")


@pytest.fixture(name="mailbox")
def _mailbox(box: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mailbox]:
    """Return it open; its waits end by nothing but being woken."""
    monkeypatch.setattr(watching, "RESCAN_S", FAR_S)
    with Mailbox.open(box) as mailbox:
        yield mailbox


class Waits:
    """Waits in threads, and what they return."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._answers: queue.Queue[Page | BaseException] = queue.Queue()

    def start(self, *, ack: bool = False, stop: threading.Event | None = None) -> None:
        """Let reviewer wait in a thread."""

        def run() -> None:
            try:
                self._answers.put(
                    self._mailbox.agent("reviewer").wait(LIMIT_S, ack=ack, stop=stop)
                )
            except BaseException as error:  # noqa: BLE001 - the test shall see it
                self._answers.put(error)

        threading.Thread(target=run, daemon=True).start()

    def page(self) -> Page:
        """Return the next page that a wait returns."""
        page = self._answers.get(timeout=LIMIT_S)
        assert isinstance(page, Page), page
        return page

    def bodies(self) -> list[str]:
        """Return the texts of the next page that a wait returns with mail."""
        page = self.page()
        assert not page.is_timed_out
        return [item.message.body for item in page.items]


def test_no_message_is_missed_whenever_it_is_sent(mailbox: Mailbox, box: Path) -> None:
    """Before the watch is armed, between that and the look, or behind it."""
    chance = random.Random(8)  # noqa: S311 - the same moments in each run
    waits = Waits(mailbox)
    with Child(f"{CHILDREN}:answer", box) as sender:
        for number in range(60):
            waits.start(ack=True)
            for _ in range(chance.randrange(6)):
                mailbox.charter()  # takes as long as a step of the wait
            sender.ask(f"{number}")
            sender.answer()
            assert waits.bodies() == [f"{number}"]
        sender.finish()


def test_a_hundred_waits_on_one_mailbox_all_wake(mailbox: Mailbox, box: Path) -> None:
    """They share one watch, and none is left behind."""
    watches = []
    notifier = mailbox.watch._notifier
    mailbox.watch._notifier = lambda: watches.append(1) or notifier()
    waits = Waits(mailbox)
    for _ in range(100):
        waits.start()
    with Child(f"{CHILDREN}:answer", box) as sender:
        sender.ask("For all.")
        sender.answer()
        assert [waits.bodies() for _ in range(100)] == [["For all."]] * 100
        sender.finish()
    assert len(watches) == 1


@needs_git
def test_a_push_wakes_like_any_send(
    mailbox: Mailbox, box: Path, tmp_path: Path
) -> None:
    """Whoever moves the branch (DESIGN 8)."""
    clone = Clone(box, tmp_path / "clone")
    waits = Waits(mailbox)
    for number in range(3):
        waits.start(ack=True)
        clone.push(dict([message_file("builder", ["reviewer"], f"{number}")]))
        assert waits.bodies() == [f"{number}"]


@needs_git
def test_a_packed_branch_wakes_too(mailbox: Mailbox, box: Path) -> None:
    """The file of the branch comes and goes while one waits."""
    waits = Waits(mailbox)
    with (
        Child(f"{CHILDREN}:answer", box) as sender,
        Meanwhile(box, ["pack-refs", "--all"]) as packing,
    ):
        for number in range(10):
            waits.start(ack=True)
            sender.ask(f"{number}")
            sender.answer()
            assert waits.bodies() == [f"{number}"]
        sender.finish()
    assert packing.failed == []
    assert git(box, "for-each-ref", "--format=%(refname)") == "refs/heads/gitmail\n"


def test_mail_comes_where_nothing_can_be_watched(
    mailbox: Mailbox, box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By looking again (DESIGN 8: some mounts deliver no events)."""
    monkeypatch.setattr(mailbox.watch, "_notifier", lambda: None)
    waits = Waits(mailbox)
    with Child(f"{CHILDREN}:answer", box) as sender:
        for number in range(3):
            waits.start(ack=True)
            sender.ask(f"{number}")
            assert waits.bodies() == [f"{number}"]
            sender.answer()
        sender.finish()


def test_waits_in_two_processes_share_the_mail(box: Path) -> None:
    """Each message goes to one of them (R7)."""
    with (
        Child(f"{CHILDREN}:wait", box, 5) as one,
        Child(f"{CHILDREN}:wait", box, 5) as two,
        Child(f"{CHILDREN}:answer", box) as sender,
    ):
        for child in (one, two):
            assert child.answer() == "ready"
            child.ask("go")
        for number in range(5):
            sender.ask(f"{number}")
            sender.answer()
        # Each waits for five, so one of them is still waiting for the rest.
        for number in range(5, 10):
            sender.ask(f"{number}")
            sender.answer()
        got = one.answer(), two.answer()
        for child in (one, two, sender):
            child.finish()
    assert sorted(got[0] + got[1], key=int) == [str(number) for number in range(10)]


def test_a_stopped_wait_ends_and_marks_nothing(box: Path) -> None:
    """At whatever moment it is stopped (CAPABILITIES R11)."""
    with Mailbox.open(box) as mailbox:
        tip = mailbox.status().tip
        waits = Waits(mailbox)
        for _ in range(20):
            stop = threading.Event()
            waits.start(ack=True, stop=stop)
            stop.set()
            mailbox.wake()
            assert waits.page().items == ()
        assert mailbox.status().tip == tip
