"""Threads of one process, on one mailbox or on one each (DESIGN 6)."""

import threading
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.processes import assert_sound, make_mailbox, needs_git

LIMIT_S = 40


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox that nobody has open."""
    return make_mailbox(tmp_path / ".gitmail")


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Run functions in threads that start at once, and return what each returns."""
    barrier = threading.Barrier(len(acts))
    results: list[object] = [None] * len(acts)

    def run(place: int) -> None:
        barrier.wait(LIMIT_S)
        try:
            results[place] = acts[place]()
        except BaseException as error:  # noqa: BLE001 - the test shall see it
            results[place] = error

    threads = [
        threading.Thread(target=run, args=(place,), daemon=True)
        for place in range(len(acts))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert not any(thread.is_alive() for thread in threads)
    errors = [result for result in results if isinstance(result, BaseException)]
    assert errors == []
    return results


@needs_git
@pytest.mark.parametrize("is_shared", [True, False], ids=["one-mailbox", "one-each"])
def test_nothing_is_lost_when_threads_send_at_once(
    box: Path, *, is_shared: bool
) -> None:
    """Nor does anybody who reads meanwhile see half of anything."""
    with Mailbox.open(box) as shared:

        def send(name: int) -> list[str]:
            opened = shared if is_shared else Mailbox.open(box)
            agent = opened.agent("builder")
            ids = [
                agent.send(to="reviewer", body=f"{name} {number}").message.id
                for number in range(10)
            ]
            if opened is not shared:
                opened.close()
            return ids

        def look() -> None:
            for _ in range(40):
                status = shared.status("reviewer")
                assert status.unacked_count == status.message_count
                assert status.uncommitted == ()

        names = range(8)
        sends = [lambda name=name: send(name) for name in names]
        results = at_once(*sends, look, look)
        found = shared.agent("reviewer").poll(limit=200).items

    sent = chain(*results[: len(names)])  # type: ignore[arg-type]
    assert sorted(item.id for item in found) == sorted(sent)
    assert len({item.message.body for item in found}) == 80
    assert_sound(box)


@pytest.mark.parametrize("is_shared", [True, False], ids=["one-mailbox", "one-each"])
def test_each_message_is_taken_by_exactly_one_thread(
    box: Path, *, is_shared: bool
) -> None:
    """While others still send (R7)."""
    with Mailbox.open(box) as shared:
        done = threading.Event()

        def send() -> list[str]:
            agent = shared.agent("builder")
            ids = [agent.send(to="reviewer", body=str(n)).message.id for n in range(40)]
            done.set()
            return ids

        def take() -> list[str]:
            opened = shared if is_shared else Mailbox.open(box)
            taken: list[str] = []
            while True:
                is_last = done.is_set()
                page = opened.agent("reviewer").poll(ack=True, limit=3)
                taken += [item.id for item in page.items]
                if is_last and not page.items:
                    break
            if opened is not shared:
                opened.close()
            return taken

        sent, *taken = at_once(send, take, take, take, take)
        assert sorted(chain(*taken)) == sorted(sent)  # type: ignore[call-overload]
        assert shared.agent("reviewer").poll().items == ()


def test_one_request_is_sent_once_however_often_it_is_tried_at_once(box: Path) -> None:
    """All callers get the one message (CAPABILITIES S1)."""
    with Mailbox.open(box) as shared, Mailbox.open(box) as other:
        agents = [mailbox.agent("builder") for mailbox in (shared, other) * 4]
        answers = at_once(
            *(
                lambda agent=agent: agent.send(
                    to="reviewer", body="Once.", request_id="one"
                )
                for agent in agents
            )
        )
        assert len({answer.message.id for answer in answers}) == 1  # type: ignore[attr-defined]
        assert sum(not answer.is_replayed for answer in answers) == 1  # type: ignore[attr-defined]
        assert len(shared.agent("reviewer").poll().items) == 1


def test_one_name_is_registered_once(box: Path) -> None:
    """And generated names never meet."""
    with Mailbox.open(box) as shared, Mailbox.open(box) as other:
        mailboxes = (shared, other) * 4
        answers = at_once(
            *(lambda box=box: box.register("newcomer").is_new for box in mailboxes)
        )
        assert sum(map(bool, answers)) == 1
        names = at_once(
            *(lambda box=box: box.register().profile.name for box in mailboxes)
        )
        assert len(set(names)) == len(mailboxes)


def test_packs_are_folded_beside_everything_else(box: Path) -> None:
    """The thread that folds is waited for when the mailbox is closed."""
    with Mailbox.open(box) as shared:
        agents = [shared.agent("builder"), shared.agent("reviewer")] * 2

        def send(agent_number: int) -> None:
            for number in range(40):
                agents[agent_number].send(to="reviewer", body=str(number))

        at_once(*(lambda number=number: send(number) for number in range(4)))
    assert "gitmail-fold" not in [thread.name for thread in threading.enumerate()]
    packs = list((box / ".git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) < 160
