"""Many processes at once, counted by what survived (DESIGN 6)."""

from itertools import chain
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.helpers import git
from tests.indexes import contents, contents_made_anew
from tests.processes import (
    assert_sound,
    children,
    make_mailbox,
    needs_git,
    release,
)

CHILDREN = "tests.concurrency.children"
pytestmark = needs_git


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox that nobody has open."""
    return make_mailbox(tmp_path / ".gitmail")


@pytest.mark.parametrize(("how", "count"), [("one", 20), ("fresh", 8)])
def test_nothing_is_lost_when_processes_send_at_once(
    box: Path, how: str, count: int
) -> None:
    """Each send is one commit and one message, whoever else sends (DESIGN I5)."""
    _send_at_once(box, how, processes=4, count=count)


@pytest.mark.stress
@pytest.mark.parametrize("how", ["one", "fresh"])
def test_nothing_is_lost_in_a_long_run(box: Path, how: str) -> None:
    """Four processes send 250 messages each, and packs are folded meanwhile."""
    _send_at_once(box, how, processes=4, count=250)


def _send_at_once(box: Path, how: str, *, processes: int, count: int) -> None:
    calls = [(f"{CHILDREN}:send", box, name, count, how) for name in range(processes)]
    with children(*calls) as senders:
        release(senders)
        ids = [sender.answer() for sender in senders]
        for sender in senders:
            sender.finish()

    total = processes * count
    with Mailbox.open(box) as mailbox:
        found = _everything(mailbox)
        bodies = [item.message.body for item in found]
        assert sorted(item.id for item in found) == sorted(chain(*ids))
        assert len(set(bodies)) == total
        for name in range(processes):
            # What one process sent stays in its order.
            own = [b for b in bodies if b.startswith(f"{name} ")]
            assert own == [f"{name} {number}" for number in range(count)]
        commits = mailbox.log(op="send", limit=10_000)
        assert sorted(c.messages[0] for c in commits) == sorted(chain(*ids))
        assert mailbox.status("reviewer").unacked_count == total
    # One operation is one commit, and no commit has two parents.
    assert git(box, "rev-list", "--count", "gitmail").strip() == str(total + 3)
    assert git(box, "rev-list", "--min-parents=2", "gitmail") == ""
    assert_sound(box)


def _everything(mailbox: Mailbox) -> list:
    items, cursor = [], None
    while True:
        page = mailbox.agent("reviewer").poll(show="any", after=cursor, limit=200)
        items += page.items
        cursor = page.cursor
        if not page.has_more:
            return items


def test_nothing_is_lost_where_the_writer_lock_does_not_work(box: Path) -> None:
    """What is right rests on the compare-and-set alone (DESIGN 6)."""
    calls = [(f"{CHILDREN}:send_unlocked", box, name, 15) for name in range(3)]
    with children(*calls) as senders:
        release(senders)
        ids = [sender.answer() for sender in senders]
        for sender in senders:
            sender.finish()

    with Mailbox.open(box) as mailbox:
        found = _everything(mailbox)
        assert sorted(item.id for item in found) == sorted(chain(*ids))
        assert len({item.message.body for item in found}) == 45
        assert contents(mailbox) == contents_made_anew(mailbox)
        mailbox.agent("builder").send(to="reviewer", body="It works.")
    # The copies on the disk may lag; what is true is in git.
    assert git(box, "fsck", "--strict", "--full", "--no-dangling") == ""
    assert git(box, "rev-list", "--count", "gitmail").strip() == "49"


def test_each_message_is_taken_by_exactly_one_process(box: Path) -> None:
    """Two callers never get the same message from `poll(ack=True)` (R7)."""
    senders = [(f"{CHILDREN}:send", box, name, 15, "one") for name in range(2)]
    takers = [(f"{CHILDREN}:take", box)] * 3
    with children(*senders, *takers) as started:
        release(started)
        sent = [*chain(*(child.answer() for child in started[:2]))]
        for child in started[2:]:
            child.ask("no more")
        taken = [child.answer() for child in started[2:]]
        for child in started:
            child.finish()

    assert sorted(chain(*taken)) == sorted(sent)
    with Mailbox.open(box) as mailbox:
        assert mailbox.agent("reviewer").poll().items == ()
        states = {
            line.state
            for message in sent
            for line in mailbox.agent("builder").receipts(message).lines
        }
        assert states == {"acked"}
    assert_sound(box)


def test_mailboxes_that_are_made_at_once_are_one_mailbox(tmp_path: Path) -> None:
    """Whoever comes first makes it, and all others open it."""
    box = tmp_path / ".gitmail"
    calls = [("tests.concurrency.children:make", box, name) for name in "abcd"]
    with children(*calls) as makers:
        release(makers)
        ids = {maker.answer() for maker in makers}
        for maker in makers:
            maker.finish()

    assert len(ids) == 1
    assert git(box, "rev-list", "--count", "gitmail").strip() == "5"
    assert_sound(box)
