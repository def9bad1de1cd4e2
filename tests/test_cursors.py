"""Cursors: paging without gaps or repeats, in every clone (DESIGN I7, R6, R12)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidCursorError
from gitmail.mailbox.values import Page
from tests.helpers import START, SettableClock, git
from tests.mailboxes import (
    bodies,
    copied,
    edit,
    merge_into,
    pages,
    pending,
    refused,
    reopened,
    still,
    tip,
)


def send(agent: Agent, *texts: str, **said: Any) -> list[str]:
    """Send a message of each text to reviewer in one commit; return the ids."""
    drafts = [{"to": "reviewer", "body": text, **said} for text in texts]
    return [sent.message.id for sent in agent.send_many(drafts)]


def numbers(count: int, start: int = 0) -> list[str]:
    """Return texts of numbers that sort like them."""
    return [f"{number:04}" for number in range(start, start + count)]


def test_a_cursor_leads_to_what_came_after_it(builder: Agent, reviewer: Agent) -> None:
    """And to nothing where nothing came (R6)."""
    send(builder, "old")
    first = reviewer.poll()
    assert reviewer.poll(after=first.cursor).items == ()

    send(builder, "new")

    second = reviewer.poll(after=first.cursor)
    assert bodies(second.items) == ["new"]
    assert bodies(reviewer.poll(after=f" {first.cursor} ").items) == ["new"]
    assert pending(reviewer) == ["old", "new"]


def test_a_cursor_is_no_acknowledgement(builder: Agent, reviewer: Agent) -> None:
    """What was passed by is still pending, and each cursor stays good (R6)."""
    send(builder, *numbers(3))
    cursors = [page.cursor for page in pages(reviewer, limit=1)]

    assert pending(reviewer) == numbers(3)
    assert bodies(reviewer.poll(after=cursors[0]).items) == numbers(2, 1)


def test_paging_goes_through_one_large_commit(builder: Agent, reviewer: Agent) -> None:
    """A page may end inside a commit; nothing is shown twice or missing (I7)."""
    send(builder, *numbers(300))

    found = list(pages(reviewer, limit=7))

    assert [text for page in found for text in bodies(page.items)] == numbers(300)
    assert [page.has_more for page in found] == [True] * 42 + [False]
    assert {len(page.items) for page in found[:-1]} == {7}


def test_paging_by_the_budget_shows_everything_once(
    builder: Agent, reviewer: Agent
) -> None:
    """Pages that end at 32 KiB go on where they ended (R5, R6)."""
    texts = [text + "x" * 3_000 for text in numbers(60)]
    send(builder, *texts)

    found = list(pages(reviewer, limit=50, full=True))

    assert [item.text for page in found for item in page.items] == texts
    assert [page.is_full for page in found] == [True] * 5 + [False]


def test_a_page_that_ends_with_the_last_message_says_that_there_is_no_more(
    builder: Agent, reviewer: Agent
) -> None:
    """Going on would find nothing right now (R6)."""
    send(builder, *numbers(4))

    found = list(pages(reviewer, limit=2))

    assert [bodies(page.items) for page in found] == [numbers(2), numbers(2, 2)]
    assert found[-1].cursor == tip_of(reviewer)


def tip_of(agent: Agent) -> str:
    """Return the cursor of an empty page, which is the tip."""
    return agent.poll(topic="nothing").cursor


def test_mail_that_keeps_arriving_is_shown_once(
    builder: Agent, reviewer: Agent
) -> None:
    """Between any two pages, in commits of one and of many (I7)."""
    send(builder, *numbers(20))
    sent = 20
    seen: list[str] = []
    cursor = None
    for turn in range(40):
        if turn < 25:
            send(builder, *numbers(1 + turn % 4, sent))
            sent += 1 + turn % 4
        page = reviewer.poll(after=cursor, limit=3)
        seen += bodies(page.items)
        cursor = page.cursor
        if not page.has_more and turn >= 25:
            break

    assert seen == numbers(sent)


def test_mail_that_is_older_than_the_page_is_shown_later(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """A clock that was set back hides nothing (I7)."""
    send(builder, *numbers(5))
    first = reviewer.poll(limit=3)
    clock.now = START
    send(builder, "older")
    clock.advance(days=2)
    send(builder, "newer")

    rest = [
        text
        for page in pages(reviewer, limit=1, after=first.cursor)
        for text in bodies(page.items)
    ]

    assert sorted(rest) == ["0003", "0004", "newer", "older"]


def test_messages_of_one_moment_are_paged_one_by_one(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """The order goes by id where the time is the same (R1)."""
    with Mailbox.open(mailbox.path, clock=still(START)) as other:
        for name in ("builder", "lead"):
            for text in "abcdef":
                other.agent(name).send(to="reviewer", body=name + text)

    seen = [text for page in pages(reviewer, limit=1) for text in bodies(page.items)]

    assert sorted(seen) == sorted(n + t for n in ("builder", "lead") for t in "abcdef")
    assert seen == pending(reviewer)


def test_paging_while_acknowledging_shows_everything_once(
    builder: Agent, reviewer: Agent
) -> None:
    """Own acknowledgements do not move the pages (R6, R7)."""
    send(builder, *numbers(25))

    found = list(pages(reviewer, limit=10, ack=True))

    assert [text for page in found for text in bodies(page.items)] == numbers(25)
    assert [page.has_more for page in found] == [True, True, False]
    assert pending(reviewer) == []


def test_a_page_whose_rest_was_acknowledged_leads_on_to_newer_mail(
    builder: Agent, reviewer: Agent
) -> None:
    """Nobody has to ask twice (R6)."""
    ids = send(builder, *numbers(4))
    cursor = reviewer.poll(limit=2).cursor
    reviewer.ack(ids)
    assert reviewer.poll(after=cursor) == Page(items=(), cursor=tip_of(reviewer))

    send(builder, "new")

    page = reviewer.poll(after=cursor)
    assert bodies(page.items) == ["new"]
    assert page.cursor == tip_of(reviewer)


def test_more_is_promised_only_where_there_is_more(
    builder: Agent, reviewer: Agent
) -> None:
    """Commits that brought nothing which fits are no more mail (R6)."""
    send(builder, *numbers(3))
    cursor = reviewer.poll(limit=2).cursor
    builder.send(to="lead", body="not yours")
    assert reviewer.poll(after=cursor).has_more is False

    send(builder, "new", kind="brief")

    assert reviewer.poll(after=cursor).has_more is True
    assert reviewer.poll(after=cursor, kind="note").has_more is False


def test_filters_and_cursors_work_together(builder: Agent, reviewer: Agent) -> None:
    """Each page has only what fits (R2, R6)."""
    for number, text in enumerate(numbers(30)):
        send(builder, text, kind="brief" if number % 3 else "status")

    seen = [
        text
        for page in pages(reviewer, limit=4, kind="status", show="any")
        for text in bodies(page.items)
    ]

    assert seen == numbers(30)[::3]


def test_a_cursor_survives_the_loss_of_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """It is a commit, not a row (I7)."""
    send(builder, *numbers(6))
    inside = reviewer.poll(limit=2).cursor
    end = reviewer.poll().cursor
    send(builder, "new")

    with reopened(mailbox, clock) as other:
        agent = other.agent("reviewer")
        assert bodies(agent.poll(after=end).items) == ["new"]
        seen = [t for p in pages(agent, after=inside) for t in bodies(p.items)]

    assert seen == [*numbers(4, 2), "new"]


@pytest.fixture(name="merged")
def _merged(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tmp_path: Path
) -> Iterator[Callable[[], None]]:
    """Return what brings in mail that another clone has sent two days before."""
    send(builder, *numbers(4))
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    early = SettableClock(START)
    with Mailbox.open(twin, clock=early) as other:
        send(other.agent("lead"), "late one", "late two")
    clock.advance(days=2)

    def merge() -> None:
        merge_into(mailbox.path, twin, tmp_path / "clone")

    yield merge
    assert twin.is_dir()


def test_mail_that_arrives_late_by_sync_is_not_skipped(
    builder: Agent, reviewer: Agent, merged: Callable[[], None]
) -> None:
    """Its date is before that of the page, and a cursor does not care (R6, I7)."""
    send(builder, *numbers(4, 4))
    inside = reviewer.poll(limit=6).cursor
    end = reviewer.poll().cursor

    merged()
    send(builder, "new")

    expected = ["late one", "late two", "new"]
    assert bodies(reviewer.poll(after=end).items) == expected
    seen = [
        text
        for page in pages(reviewer, after=inside, limit=1)
        for text in bodies(page.items)
    ]
    assert seen == [*numbers(2, 6), *expected]


def test_a_cursor_of_one_clone_is_good_in_another(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, tmp_path: Path
) -> None:
    """Any clone that has the commit knows what came after it (I7)."""
    send(builder, *numbers(4))
    inside, end = reviewer.poll(limit=2).cursor, reviewer.poll().cursor
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")

    with Mailbox.open(twin, clock=SettableClock()) as other:
        send(other.agent("builder"), "there")
        agent = other.agent("reviewer")
        assert bodies(agent.poll(after=end).items) == ["there"]
        seen = [t for p in pages(agent, after=inside) for t in bodies(p.items)]

    assert seen == [*numbers(2, 2), "there"]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "HEAD",
        "gitmail",
        "0" * 39,
        "0" * 41,
        "g" * 40,
        "A" * 40,
        "{tip}^",
        "{tip}~1",
        "{tip}+",
        "{tip}+abc",
        "+{message}",
        "{tip}..{tip}",
        "..{tip}+{message}",
        "{tip}\n{tip}",
        "--upload-pack=x",
        "x" * 10_000,
    ],
)
def test_a_malformed_cursor_is_refused(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, cursor: str
) -> None:
    """The error says so, and what to do (R6)."""
    (message,) = send(builder, "x")
    said = cursor.format(tip=tip(mailbox), message=message) if "{" in cursor else cursor

    for act in (reviewer.poll, reviewer.wait, reviewer.history):
        problem = refused(mailbox, act, after=said)
        assert isinstance(problem, InvalidCursorError)
        assert problem.details["detail"] == "malformed"


@pytest.mark.parametrize(
    "cursor",
    [
        "0" * 40,
        "{message}",
        "{tree}",
        "{tip}+{zero}",
        "{tip}+{tip}",
        "{zero}+{message}",
        "{zero}..{tip}+{message}",
        "{message}+{message}",
    ],
)
def test_a_cursor_that_is_not_of_this_mailbox_is_unknown(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, cursor: str
) -> None:
    """So is the id of something that is no commit, such as a message (R6)."""
    (message,) = send(builder, "x")
    said = cursor.format(
        tip=tip(mailbox),
        tree=git(mailbox.path, "rev-parse", "gitmail^{tree}").strip(),
        message=message,
        zero="0" * 40,
    )

    for act in (reviewer.poll, reviewer.history):
        problem = refused(mailbox, act, after=said)
        assert isinstance(problem, InvalidCursorError)
        assert problem.details["detail"] == "unknown"


def test_a_cursor_newer_than_a_branch_that_was_set_back_is_ahead(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """It is told apart from one that never was (R6)."""
    send(builder, "1")
    back = tip(mailbox)
    send(builder, "2")
    send(builder, "3", "4")
    inside = reviewer.poll(limit=3).cursor
    end = reviewer.poll().cursor
    git(mailbox.path, "update-ref", "refs/heads/gitmail", back)

    for cursor in (end, inside):
        problem = refused(mailbox, reviewer.poll, after=cursor)
        assert isinstance(problem, InvalidCursorError)
        assert problem.details["detail"] == "cursor_ahead"
    assert pending(reviewer) == ["1"]


def test_a_cursor_that_git_has_thrown_away_is_unknown(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """After the branch was set back and git cleaned up (R6)."""
    send(builder, "1")
    back = tip(mailbox)
    send(builder, "2")
    lost = reviewer.poll().cursor
    git(mailbox.path, "update-ref", "refs/heads/gitmail", back)
    git(mailbox.path, "gc", "-q", "--prune=now")

    with Mailbox.open(mailbox.path) as other:
        problem = refused(other, other.agent("reviewer").poll, after=lost)

    assert isinstance(problem, InvalidCursorError)
    assert problem.details["detail"] == "unknown"


def test_a_cursor_of_another_line_of_history_is_no_ancestor(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """After the branch was set back and went on elsewhere (R6)."""
    send(builder, "1")
    back = tip(mailbox)
    send(builder, "2")
    lost = reviewer.poll().cursor
    git(mailbox.path, "update-ref", "refs/heads/gitmail", back)
    send(builder, "3")

    problem = refused(mailbox, reviewer.poll, after=lost)

    assert isinstance(problem, InvalidCursorError)
    assert problem.details["detail"] == "not_an_ancestor"
    assert pending(reviewer) == ["1", "3"]


def test_a_cursor_survives_that_a_message_was_taken_away(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, tmp_path: Path
) -> None:
    """By hand in a clone, which is the end of that message alone (I7)."""
    send(builder, "1")
    cursor = reviewer.poll().cursor
    (gone,) = (mailbox.path / "messages").rglob("*.md")
    path = gone.relative_to(mailbox.path).as_posix()
    send(builder, "2")
    edit(mailbox.path, tmp_path / "clone", {path: None})

    assert bodies(reviewer.poll(after=cursor).items) == ["2"]
    assert pending(reviewer) == ["2"]


def test_history_is_paged_from_new_to_old(builder: Agent, reviewer: Agent) -> None:
    """Mail that arrives meanwhile moves no page (R12)."""
    send(builder, *numbers(25))
    page = reviewer.history(limit=5)
    seen = bodies(page.items)
    for _ in range(4):
        send(builder, f"new {len(seen)}")
        page = reviewer.history(after=page.cursor, limit=5)
        seen += bodies(page.items)
    send(builder, "new 25")

    assert seen == numbers(25)[::-1]
    assert page.has_more is True
    newer = reviewer.history(after=page.cursor)
    assert bodies(newer.items) == [f"new {n}" for n in (25, 20, 15, 10, 5)]
    assert newer.has_more is False


def test_history_has_the_budget_of_a_page(builder: Agent, reviewer: Agent) -> None:
    """It goes on where it stopped (R5, R12)."""
    send(builder, *[f"{text}{'é' * 476}" for text in numbers(100)])

    seen: list[str] = []
    page = reviewer.history(limit=200)
    assert page.is_full
    while True:
        seen += [text[:4] for text in bodies(page.items)]
        if not page.has_more:
            break
        page = reviewer.history(after=page.cursor, limit=200)

    assert seen == numbers(100)[::-1]


def test_history_promises_more_only_where_there_is_more(
    builder: Agent, reviewer: Agent
) -> None:
    """Other people's commits are none of it (R12)."""
    send(builder, "1", "2", "3")
    first = reviewer.history(limit=2)
    builder.send(to="lead", body="not yours")

    second = reviewer.history(after=first.cursor, limit=2)

    assert (first.has_more, second.has_more) == (True, False)
    assert bodies(second.items) == ["1"]


def test_history_after_a_commit_is_what_came_since(
    builder: Agent, reviewer: Agent
) -> None:
    """Sent and received alike (R12)."""
    send(builder, "old")
    cursor = reviewer.history().cursor
    reviewer.send(to="lead", body="sent")
    send(builder, "received")

    assert bodies(reviewer.history(after=cursor).items) == ["received", "sent"]


def test_a_cursor_of_a_poll_is_good_for_history(
    builder: Agent, reviewer: Agent
) -> None:
    """Both are commits (R6, R12)."""
    send(builder, "old")
    cursor = reviewer.poll().cursor
    send(builder, "new")

    assert bodies(reviewer.history(after=cursor).items) == ["new"]
