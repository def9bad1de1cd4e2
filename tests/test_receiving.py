"""Polling and waiting: own mail, filters, pages, taking (CAPABILITIES R1 to R9)."""

import queue
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail import watch as watching
from gitmail.errors import (
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
    MessageNotFoundError,
    NotRegisteredError,
)
from gitmail.mailbox.values import Page
from gitmail.records.receipt import Stage
from gitmail.store.index import Index
from tests.helpers import START, SettableClock
from tests.mailboxes import bodies, edit, pages, pending, refused, reopened, still, tip

LONG_S = 30
"""Longer than anything here takes, however busy the machine is."""


def send(agent: Agent, *texts: str, **said: Any) -> list[str]:
    """Send a message of each text to reviewer in one commit; return the ids."""
    drafts = [{"to": "reviewer", "body": text, **said} for text in texts]
    return [sent.message.id for sent in agent.send_many(drafts)]


def shown(agent: Agent, **filters: Any) -> list[str]:
    """Return the bodies that a poll with these filters lists."""
    return bodies(agent.poll(**filters).items)


class Waits:
    """Waits in threads of their own, and their answers as they come."""

    def __init__(self) -> None:
        self._answers: queue.Queue[Page | BaseException] = queue.Queue()

    def start(self, agent: Agent, **said: Any) -> None:
        """Let an agent wait."""

        def run() -> None:
            try:
                self._answers.put(agent.wait(LONG_S, **said))
            except BaseException as error:  # noqa: BLE001 - the test shall see it
                self._answers.put(error)

        threading.Thread(target=run, daemon=True).start()

    def next(self) -> Page:
        """Return the next answer."""
        answer = self._answers.get(timeout=LONG_S)
        assert isinstance(answer, Page), answer
        return answer


def test_an_empty_inbox_is_an_empty_page(mailbox: Mailbox, reviewer: Agent) -> None:
    """Its cursor is the tip (R1, R6)."""
    assert reviewer.poll() == Page(items=(), cursor=tip(mailbox))


def test_mail_is_listed_oldest_first_and_polling_changes_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Whoever sent it, and however often one looks (R1)."""
    send(builder, "1", "2")
    mailbox.agent("lead").send(to="all", body="3")
    send(builder, "4")
    before = tip(mailbox)

    pages = [reviewer.poll() for _ in range(2)]

    assert bodies(pages[0].items) == ["1", "2", "3", "4"]
    assert pages[0] == pages[1]
    assert tip(mailbox) == before


def test_mail_of_one_moment_is_listed_by_id(mailbox: Mailbox, reviewer: Agent) -> None:
    """So that every clone lists it in the same order (R1)."""
    with Mailbox.open(mailbox.path, clock=still(START)) as other:
        for name in ("builder", "lead"):
            for text in "abcdefgh":
                other.agent(name).send(to="reviewer", body=text)

    ids = [(item.message.date, item.id) for item in reviewer.poll().items]

    assert len(ids) == 16
    assert ids == sorted(ids)


def test_only_own_mail_is_listed(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Neither what one sent nor what others got (R1)."""
    builder.send(to="lead", body="to lead")
    reviewer.send(to="lead", body="from reviewer")
    builder.send(to="builder", bcc="reviewer", body="blind")

    assert shown(reviewer, show="any") == ["blind"]
    assert pending(builder) == ["blind"]
    assert pending(mailbox.agent("lead")) == ["to lead", "from reviewer"]


def test_each_show_lists_by_the_callers_own_stage(
    builder: Agent, reviewer: Agent
) -> None:
    """Unacked is the default (R2)."""
    _, read, acked = send(builder, "new", "read", "acked")
    reviewer.ack(read, stage="read")
    reviewer.ack(acked)

    assert shown(reviewer) == ["new", "read"]
    assert shown(reviewer, show="UNACKED") == ["new", "read"]
    assert shown(reviewer, show="unread") == ["new"]
    assert shown(reviewer, show="any") == ["new", "read", "acked"]


def test_each_filter_lists_what_fits_it(mailbox: Mailbox, builder: Agent) -> None:
    """From, room, thread, topic, kind and importance, and all of them at once (R2)."""
    lead = mailbox.agent("lead")
    reviewer = mailbox.agent("reviewer")
    said: dict[str, Any] = {
        "room": "Parser",
        "topic": "Speed",
        "kind": "brief",
        "importance": "high",
    }
    (first,) = send(builder, "1", **said)
    send(builder, "2", importance="urgent")
    send(lead, "3", **said)
    reply = reviewer.reply(first, "4", to="reviewer", topic="x", room="x", kind="ack")

    assert shown(reviewer, sender="BUILDER") == ["1", "2"]
    assert shown(reviewer, room="Parser") == ["1", "3"]
    assert shown(reviewer, room="parser") == []
    assert shown(reviewer, thread=first[:8]) == ["1", "4"]
    assert shown(reviewer, thread=reply.message.id) == ["1", "4"]
    assert shown(reviewer, topic="sPEED") == ["1", "3"]
    assert shown(reviewer, topic="other") == []
    assert shown(reviewer, kind="Brief") == ["1", "3"]
    assert shown(reviewer, kind="ack") == ["4"]
    assert shown(reviewer, importance="high") == ["1", "2", "3", "4"]
    assert shown(reviewer, importance="urgent") == ["2"]
    assert shown(reviewer, importance="low", sender="lead", **_less(said)) == ["3"]


def _less(said: dict[str, Any]) -> dict[str, Any]:
    return {key: said[key] for key in ("room", "topic", "kind")}


def test_a_thread_can_be_named_by_a_first_message_that_one_may_not_see(
    builder: Agent, reviewer: Agent
) -> None:
    """Its id is what the later messages say of their thread (R2, R13)."""
    first = builder.send(to="builder", body="private").message.id
    builder.reply(first, "shared", to="reviewer")

    assert shown(reviewer, thread=first) == ["shared"]
    assert shown(reviewer, thread=first[:8]) == ["shared"]


def test_overdue_is_what_asked_for_an_ack_half_an_hour_ago(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Not what asked for none, is younger, or was acknowledged (R2)."""
    send(builder, "asks not")
    send(builder, "late", ack_required=True)
    (read,) = send(builder, "read", ack_required=True)
    (acked,) = send(builder, "acked", ack_required=True)
    reviewer.ack(read, stage="read")
    reviewer.ack(acked)
    clock.advance(minutes=29, seconds=59)
    assert shown(reviewer, overdue=True) == []

    send(builder, "young", ack_required=True)
    clock.advance(seconds=2)

    assert shown(reviewer, overdue=True) == ["late", "read"]
    assert shown(reviewer, overdue=True, show="unread") == ["late"]
    assert shown(reviewer, overdue=True, show="any") == ["late", "read"]


def test_since_is_a_time_a_date_or_a_duration(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """A time without a zone is UTC (R2)."""
    send(builder, "old")
    clock.advance(days=1)
    middle = clock.now
    send(builder, "new")
    clock.advance(hours=1)

    expected = ["new"]
    for since in (
        "2h",
        "90m",
        "2026-12-01",
        "2026-12-01T14:00:00Z",
        "2026-12-01T14:00",
        "2026-12-01T16:00:00+02:00",
        middle,
        middle.astimezone(),
    ):
        assert shown(reviewer, since=since) == expected
    assert shown(reviewer, since="2d") == ["old", "new"]
    assert shown(reviewer, since="2026-12-02") == []


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("show", "all", InvalidArgumentError),
        ("show", "", InvalidArgumentError),
        ("sender", "a b", InvalidNameError),
        ("sender", "", InvalidNameError),
        ("room", "a b", InvalidNameError),
        ("thread", "xyz", InvalidNameError),
        ("thread", "0" * 40, MessageNotFoundError),
        ("topic", "x" * 65, InvalidArgumentError),
        ("topic", "a\nb", InvalidTextError),
        ("kind", "memo", InvalidArgumentError),
        ("importance", "top", InvalidArgumentError),
        ("since", "yesterday", InvalidArgumentError),
        ("since", "", InvalidArgumentError),
        ("since", "2026-13-01", InvalidArgumentError),
        ("limit", 0, InvalidArgumentError),
        ("limit", -1, InvalidArgumentError),
        ("limit", 201, InvalidArgumentError),
    ],
)
def test_a_filter_that_is_not_accepted_is_refused(
    mailbox: Mailbox, reviewer: Agent, field: str, value: Any, error: type
) -> None:
    """Polling, waiting and taking alike (R2, R3)."""
    said = {field: value}

    for act in (reviewer.poll, reviewer.wait):
        for ack in (False, True):
            assert isinstance(refused(mailbox, act, ack=ack, **said), error)


def test_the_range_of_a_limit_is_named(mailbox: Mailbox, reviewer: Agent) -> None:
    """1 to 200 (R3)."""
    problem = refused(mailbox, reviewer.poll, limit=201)

    assert problem.details["accepted"] == "a whole number from 1 to 200"


def test_fifty_messages_are_a_page(builder: Agent, reviewer: Agent) -> None:
    """Where no limit is given (R3)."""
    send(builder, *(str(number) for number in range(201)))

    assert len(reviewer.poll().items) == 50
    assert len(reviewer.poll(limit=200).items) == 200
    assert [reviewer.poll(limit=n).has_more for n in (1, 200)] == [True, True]


def test_a_stranger_has_no_inbox(mailbox: Mailbox) -> None:
    """Who is not registered is told so."""
    problem = refused(mailbox, mailbox.agent("nobody").poll)

    assert isinstance(problem, NotRegisteredError)


def test_looking_does_not_end_a_retirement(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Taking does (G3)."""
    send(builder, "x")
    mailbox.retire("reviewer")

    assert pending(reviewer) == ["x"]
    assert mailbox.whois("reviewer").profile.is_retired is True

    reviewer.poll(ack=True)
    assert mailbox.whois("reviewer").profile.is_retired is False


def test_a_preview_is_the_first_480_characters(builder: Agent, reviewer: Agent) -> None:
    """Then three dots, and it says so; what is shorter is whole (R4)."""
    long = "é" * 481
    send(builder, long, long[:480])

    cut, whole = reviewer.poll().items

    assert (cut.text, cut.is_truncated) == ("é" * 480 + "...", True)
    assert (whole.text, whole.is_truncated) == ("é" * 480, False)
    assert reviewer.read(cut.id).text == long


def test_full_bodies_are_shown_within_the_budget(
    builder: Agent, reviewer: Agent
) -> None:
    """A page stops before the text that would exceed 32 KiB, and says so (R4, R5)."""
    texts = ["a" * 15_000, "b" * 15_000, "c" * 15_000]
    send(builder, *texts)

    first = reviewer.poll(full=True)
    second = reviewer.poll(full=True, after=first.cursor)

    assert [item.text for item in first.items] == texts[:2]
    assert (first.is_full, first.has_more) == (True, True)
    assert [item.text for item in second.items] == texts[2:]
    assert (second.is_full, second.has_more) == (False, False)


def test_a_body_larger_than_a_page_is_shown_as_a_preview(
    builder: Agent, reviewer: Agent
) -> None:
    """So that a page never stands still (R5)."""
    send(builder, "a" * 40_000, "b" * 40_000, "c")

    found = [
        (item.text or "", item.is_truncated)
        for page in pages(reviewer, full=True)
        for item in page.items
    ]

    assert [(text[0], len(text), cut) for text, cut in found] == [
        ("a", 483, True),
        ("b", 483, True),
        ("c", 1, False),
    ]


def test_previews_count_against_the_budget_too(builder: Agent, reviewer: Agent) -> None:
    """In bytes of UTF-8, subjects included (R5)."""
    send(builder, *["\U0001f600" * 480] * 30, subject="\U0001f600" * 200)

    sizes = [
        sum(len(f"{i.text}{i.message.title}".encode()) for i in page.items)
        for page in pages(reviewer)
    ]

    assert max(sizes) <= 32_768
    assert sum(sizes) == 30 * 680 * 4


def test_what_has_expired_is_no_longer_pending_but_told_of(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Counted and named, and still there by id (M12, R8)."""
    (gone,) = send(builder, "gone", expires_in="1h")
    send(builder, "stays", expires_in="3h")
    send(builder, "for ever")
    assert reviewer.poll().expired_count == 0

    clock.advance(hours=2)

    page = reviewer.poll()
    assert bodies(page.items) == ["stays", "for ever"]
    assert (page.expired_count, page.expired) == (1, (gone,))
    assert shown(reviewer, show="unread") == ["stays", "for ever"]
    assert shown(reviewer, show="any") == ["gone", "stays", "for ever"]
    assert reviewer.read(gone).text == "gone"


def test_a_message_expires_at_its_very_time(mailbox: Mailbox, builder: Agent) -> None:
    """Until then it is listed, from then on it is not (M12)."""
    (message,) = send(builder, "x", expires_in="60s")
    expires = builder.read(message).message.expires
    assert expires is not None

    for early, expected in ((1, ["x"]), (0, [])):
        moment = expires - timedelta(microseconds=early)
        with Mailbox.open(mailbox.path, clock=still(moment)) as other:
            page = other.agent("reviewer").poll()
        assert bodies(page.items) == expected
        assert page.expired_count == 1 - len(expected)


def test_what_was_acknowledged_in_time_or_afterwards_is_not_told_of(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Expired mail can still be acknowledged (R8)."""
    first, second, third = send(builder, "1", "2", "3", expires_in="1h")
    reviewer.ack(first)
    clock.advance(hours=2)
    reviewer.ack(second)
    reviewer.ack(third, stage="read")

    page = reviewer.poll()

    assert (page.expired_count, page.expired) == (1, (third,))


def test_expired_mail_of_others_is_not_told_of(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Each recipient hears of their own, a sender of none (R8)."""
    builder.send(to="lead", body="x", expires_in="1h")
    clock.advance(hours=2)

    assert reviewer.poll().expired_count == 0
    assert builder.poll().expired_count == 0
    assert mailbox.agent("lead").poll().expired_count == 1


def test_of_many_expired_messages_the_latest_twenty_are_named(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """All are counted (R8)."""
    ids = send(builder, *(str(n) for n in range(30)), expires_in="1h")
    clock.advance(hours=2)

    page = reviewer.poll()

    assert (page.expired_count, page.expired) == (30, tuple(ids[10:]))


def test_pending_counts_are_without_what_has_expired(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Status and the directory count what a poll lists (M12, G2, V6)."""
    send(builder, "gone", expires_in="1h")
    read, _ = send(builder, "read", "new")
    reviewer.ack(read, stage="read")
    clock.advance(hours=2)

    status = mailbox.status(agent="Reviewer")
    entry = mailbox.whois("reviewer")

    assert len(reviewer.poll().items) == 2
    assert (status.unread_count, status.unacked_count) == (1, 2)
    assert (entry.unread_count, entry.unacked_count) == (1, 2)


def test_taking_acknowledges_the_page_in_one_commit(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """What it shows, and nothing else (R7)."""
    ids = send(builder, "1", "2", "3")
    count = mailbox.status().commit_count

    page = reviewer.poll(limit=2, ack=True)

    assert bodies(page.items) == ["1", "2"]
    assert {item.state for item in page.items} == {Stage.ACKED}
    assert page.commit == tip(mailbox)
    assert mailbox.status().commit_count == count + 1
    assert mailbox.log(limit=1)[0].messages == tuple(ids[:2])
    assert pending(reviewer) == ["3"]


def test_taking_nothing_writes_nothing(mailbox: Mailbox, reviewer: Agent) -> None:
    """The page is an empty one without a commit (R7)."""
    before = tip(mailbox)

    assert reviewer.poll(ack=True) == Page(items=(), cursor=before)
    assert tip(mailbox) == before


def test_taking_stops_at_the_budget(builder: Agent, reviewer: Agent) -> None:
    """What the page had no room for is still pending (R5, R7)."""
    send(builder, "a" * 20_000, "b" * 20_000)

    page = reviewer.poll(full=True, ack=True)

    assert len(page.items) == 1
    assert len(reviewer.poll().items) == 1


def test_taking_takes_what_the_filters_let_through(
    builder: Agent, reviewer: Agent
) -> None:
    """Everything else stays pending (R2, R7)."""
    send(builder, "1", kind="status")
    send(builder, "2", kind="brief")
    (read,) = send(builder, "3", kind="status")
    reviewer.ack(read, stage="read")

    assert shown(reviewer, kind="status", ack=True) == ["1", "3"]
    assert pending(reviewer) == ["2"]


def test_taking_any_mail_acknowledges_what_was_not(
    builder: Agent, reviewer: Agent
) -> None:
    """What is acknowledged already gets no second receipt (R7, K4)."""
    first, second = send(builder, "1", "2")
    reviewer.ack(first, note="Done.")

    page = reviewer.poll(show="any", ack=True)

    assert bodies(page.items) == ["1", "2"]
    assert builder.receipts(first).lines[0].note == "Done."
    assert builder.receipts(second).lines[0].state is Stage.ACKED


def test_threads_that_take_never_get_the_same_message(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Nor does one get lost between them, whoever shares a mailbox object (R7)."""
    texts = [str(number) for number in range(60)]
    send(builder, *texts)
    taken: list[list[str]] = [[] for _ in range(6)]
    barrier = threading.Barrier(6)

    def work(number: int, box: Mailbox) -> None:
        barrier.wait(LONG_S)
        agent = box.agent("reviewer")
        while page := bodies(agent.poll(limit=3, ack=True).items):
            taken[number] += page

    with Mailbox.open(mailbox.path, clock=clock) as other:
        boxes = [mailbox, mailbox, mailbox, other, other, other]
        threads = [
            threading.Thread(target=work, args=pair) for pair in enumerate(boxes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG_S)

    counts = Counter(text for part in taken for text in part)
    assert counts == Counter(texts)


def test_taking_while_others_send_loses_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Each message is taken once, whenever it arrives (R7)."""
    sent = threading.Event()

    def write() -> None:
        try:
            for number in range(30):
                send(builder, str(number))
        finally:
            sent.set()

    thread = threading.Thread(target=write)
    thread.start()
    taken: list[str] = []
    while not sent.is_set():
        taken += shown(reviewer, limit=2, ack=True)
    thread.join(LONG_S)
    while page := shown(reviewer, ack=True):
        taken += page

    assert taken == [str(number) for number in range(30)]
    assert mailbox.status(agent="reviewer").unacked_count == 0


def test_what_was_taken_stays_taken_without_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Receipts are files of the tip (I1, R7)."""
    send(builder, "1", "2")
    reviewer.poll(limit=1, ack=True)

    with reopened(mailbox, clock) as other:
        assert pending(other.agent("reviewer")) == ["2"]


def test_an_unreadable_message_does_not_stop_the_others(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, tmp_path: Path
) -> None:
    """It is named by status, and everything else goes on (DESIGN 5)."""
    send(builder, "1")
    path = "messages/2026-11/30/14/140000-builder-x-01234567.md"
    edit(mailbox.path, tmp_path / "clone", {path: "---\nfrom: builder\n"})
    send(builder, "2")

    assert pending(reviewer) == ["1", "2"]
    assert [name for name, _ in mailbox.status().quarantine] == [path]


def test_a_wait_answers_at_once_if_mail_is_pending(
    builder: Agent, reviewer: Agent
) -> None:
    """It is a poll then (R9)."""
    send(builder, "x")

    page = reviewer.wait(LONG_S)

    assert bodies(page.items) == ["x"]
    assert page.is_timed_out is False
    assert page.waited_s is not None


def test_a_wait_that_sees_nothing_is_an_empty_page(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """It timed out, and has a cursor to go on from (R9)."""
    page = reviewer.wait(0)

    assert (page.items, page.is_timed_out) == ((), True)
    assert page.cursor == tip(mailbox)


@pytest.mark.parametrize("timeout_s", [-1, 86_401, float("nan"), float("inf")])
def test_a_wait_has_a_longest_time(
    mailbox: Mailbox, reviewer: Agent, timeout_s: float
) -> None:
    """The error names the range (R9)."""
    problem = refused(mailbox, reviewer.wait, timeout_s)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "timeout_s"


def test_a_wait_wakes_when_mail_arrives(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """From this mailbox object or from another one, as from another process (R9)."""
    waits = Waits()
    with Mailbox.open(mailbox.path, clock=clock) as other:
        for sender in (builder, other.agent("lead")):
            waits.start(reviewer, after=reviewer.poll().cursor)
            send(sender, sender.name)

            page = waits.next()
            assert bodies(page.items) == [sender.name]
            assert page.is_timed_out is False


def test_a_wait_sees_through_mail_that_does_not_fit(
    builder: Agent, reviewer: Agent
) -> None:
    """Other mail does not end it (R9)."""
    waits = Waits()
    waits.start(reviewer, kind="brief")
    send(builder, "no", kind="status")
    builder.send(to="lead", body="no", kind="brief")
    send(builder, "yes", kind="brief")

    assert bodies(waits.next().items) == ["yes"]


def test_a_wait_from_the_middle_of_a_commit_sees_what_arrives_later(
    builder: Agent, reviewer: Agent
) -> None:
    """Where the rest of that commit does not fit any more, the wait goes on (R6)."""
    first, second = send(builder, "1", "2")
    cursor = reviewer.poll(limit=1).cursor
    reviewer.ack([first, second])

    waits = Waits()
    waits.start(reviewer, after=cursor)
    send(builder, "3")

    assert bodies(waits.next().items) == ["3"]


def test_of_two_waits_that_take_one_gets_the_message_and_the_other_the_next(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Who comes too late goes on waiting (R7, R9)."""
    waits = Waits()
    with Mailbox.open(mailbox.path, clock=clock) as other:
        for box in (mailbox, other):
            waits.start(box.agent("reviewer"), ack=True)

        for text in ("1", "2"):
            send(builder, text)
            assert bodies(waits.next().items) == [text]


def test_a_stopped_wait_marks_nothing(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """It ends at once, long before its time (R11)."""
    stop = threading.Event()
    waits = Waits()
    waits.start(reviewer, stop=stop, ack=True)

    stop.set()
    mailbox.wake()

    assert waits.next().items == ()
    send(builder, "x")
    before = tip(mailbox)
    assert bodies(reviewer.wait(LONG_S, stop=stop, ack=True).items) == ["x"]
    assert tip(mailbox) == before
    assert pending(reviewer) == ["x"]


@pytest.mark.parametrize("show", ["unacked", "unread"])
def test_what_was_acknowledged_costs_a_poll_nothing(
    mailbox: Mailbox, reviewer: Agent, show: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite goes through the index of what is pending, not all mail (I9)."""
    asked: list[tuple[str, Sequence[object]]] = []
    execute = Index.execute

    def noted(self: Index, statement: str, values: Sequence[object] = ()) -> Any:
        asked.append((statement, values))
        return execute(self, statement, values)

    with monkeypatch.context() as patched:
        patched.setattr(Index, "execute", noted)
        reviewer.poll(show=show, topic="x", since="1h")
        mailbox.whois("reviewer")
    about = [each for each in asked if "FROM mail s" in each[0]]
    plans = mailbox.store.read(
        lambda view: [
            [row[3] for row in view.index.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in about
        ]
    )

    assert len(plans) == 3
    assert all("INDEX mail_pending" in plan[0] for plan in plans)


def test_a_stop_between_two_looks_ends_the_wait(
    mailbox: Mailbox, reviewer: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it falls in with the looks, no rescan has to come first (R11)."""
    monkeypatch.setattr(watching, "RESCAN_S", LONG_S)

    class StopAfterTheQuestion(threading.Event):
        def is_set(self) -> bool:
            was_set = super().is_set()
            self.set()
            mailbox.wake()
            return was_set

    stop = StopAfterTheQuestion()
    waiter = threading.Thread(
        target=reviewer.wait, args=(LONG_S,), kwargs={"stop": stop}, daemon=True
    )
    waiter.start()
    waiter.join(10)

    assert not waiter.is_alive()
