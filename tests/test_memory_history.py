"""The history of slots and notes, from the commits of the mailbox (Y8)."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidArgumentError, InvalidNameError, MemoryNotFoundError
from gitmail.mailbox.memory_values import Revision
from gitmail.render import plain
from tests.helpers import START, SettableClock, git
from tests.mailboxes import (
    by_hand,
    copied,
    edit,
    merge_into,
    refused,
    reopened,
    steps,
)

SCOPES = ("fact", "world", "lesson")
OWNER = "memory/facts/parser/owner.md"
OWNER_NAME = ("fact", "parser", "owner")


def told(revision: Revision) -> tuple[str | None, str, str, bool]:
    """Return operation, who, why, and whether there is something."""
    return (
        revision.operation,
        revision.agent,
        revision.reason,
        revision.revision is not None,
    )


def file_log(mailbox: Mailbox, path: str) -> list[str]:
    """Return the commits that changed a file, newest first, as git tells."""
    return git(mailbox.path, "log", "--format=%H", "gitmail", "--", path).split()


def test_the_history_of_a_fact_tells_who_did_what_when_and_why(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Each version with its value and its commit, newest first (Y8)."""
    builder.memory.set("fact", "Parser", "owner", "builder")
    clock.advance(hours=1)
    reviewer.memory.set("fact", "Parser", "owner", "reviewer")
    reviewer.memory.forget("fact", "Parser", "owner", reason="left: for good")
    builder.memory.restore("fact", "Parser", "owner", reason="came back")

    history = mailbox.agent("lead").memory.history("fact", "PARSER", "Owner")

    assert not history.has_more
    assert [told(each) for each in history.revisions] == [
        ("memory-restore", "builder", "came back", True),
        ("memory-forget", "reviewer", "left: for good", False),
        ("memory-set", "reviewer", "", True),
        ("memory-set", "builder", "", True),
    ]
    assert steps(history) == [
        ("memory-set", "builder"),
        ("memory-set", "reviewer"),
        ("memory-forget", None),
        ("memory-restore", "reviewer"),
    ]
    assert [each.commit for each in history.revisions] == file_log(mailbox, OWNER)
    assert {each.path for each in history.revisions} == {OWNER}
    dates = [each.date for each in history.revisions]
    assert dates == [START + timedelta(hours=1)] * 3 + [START]
    for each in history.revisions:
        if each.shown:
            assert each.shown.record.id == each.revision


@pytest.mark.parametrize("scope", ["world", "lesson"])
def test_a_retirement_is_a_version_with_its_value(builder: Agent, scope: str) -> None:
    """Of a slot that is still there (Y6, Y8)."""
    memory = builder.memory
    memory.set(scope, "x", "y", "1")
    memory.forget(scope, "x", "y", reason="#1: outdated")
    memory.restore(scope, "x", "y", reason="# not so")
    memory.set(scope, "x", "y", "2")

    revisions = memory.history(scope, "x", "y").revisions

    assert [told(each)[::2] for each in revisions] == [
        ("memory-set", ""),
        ("memory-restore", "# not so"),
        ("memory-retire", "#1: outdated"),
        ("memory-set", ""),
    ]
    shown = [each.shown.record for each in revisions if each.shown]
    assert [record.is_retired for record in shown] == [False, False, True, False]
    assert [record.value for record in shown] == ["2", "1", "1", "1"]


@pytest.mark.parametrize("reason", ["#42 says so", "a: b: c", "x" * 200, "- [x]", ": "])
def test_a_reason_is_told_as_it_was_given(builder: Agent, reason: str) -> None:
    """Of what leaves the tree too, where only the commit has it (Y8)."""
    memory = builder.memory
    note = memory.add("a note").record.id
    for scope in SCOPES:
        memory.set(scope, "x", "y", "1")
        memory.forget(scope, "x", "y", reason=reason)
        memory.restore(scope, "x", "y", reason=reason)
    memory.forget("note", note, reason=reason)
    memory.restore("note", note, reason=reason)

    for args in (*((scope, "x", "y") for scope in SCOPES), ("note", note)):
        restored, gone, _ = memory.history(*args).revisions
        assert (gone.reason, restored.reason) == (reason.strip(), reason.strip())


def test_the_history_of_an_entity_has_all_its_slots(builder: Agent) -> None:
    """In one order; those of other entities and scopes are left out (Y8)."""
    memory = builder.memory
    memory.set("fact", "a", "x", "1")
    memory.set("fact", "a b", "x", "other")
    memory.set("fact", "a-b", "x", "other")
    memory.set("world", "a", "x", "other")
    memory.set("fact", "a", "y", "2")
    memory.forget("fact", "A")
    memory.restore("fact", "a", "y")

    history = memory.history("fact", "A")

    assert steps(history)[:2] == [("memory-set", "1"), ("memory-set", "2")]
    assert steps(history)[2:] == [
        ("memory-forget", None),
        ("memory-forget", None),
        ("memory-restore", "2"),
    ]
    assert {each.path for each in history.revisions} == {
        "memory/facts/a/x.md",
        "memory/facts/a/y.md",
    }


def test_the_history_of_a_note_goes_back_to_those_before_it(
    builder: Agent, reviewer: Agent
) -> None:
    """From whichever of them one starts (Y8)."""
    first = builder.memory.add("first").record.id
    second = reviewer.memory.supersede(first, "second").record.id
    third = builder.memory.supersede(second, "third").record.id
    reviewer.memory.forget("note", third, reason="junk")
    builder.memory.restore("note", third[:8], reason="no junk")

    history = builder.memory.history("note", third[:8])

    assert [told(each)[:3] for each in history.revisions] == [
        ("memory-restore", "builder", "no junk"),
        ("memory-forget", "reviewer", "junk"),
        ("memory-supersede", "builder", ""),
        ("memory-supersede", "builder", ""),
        ("memory-supersede", "reviewer", ""),
        ("memory-supersede", "reviewer", ""),
        ("memory-add", "builder", ""),
    ]
    assert steps(history) == [
        ("memory-add", "first"),
        ("memory-supersede", None),
        ("memory-supersede", "second"),
        ("memory-supersede", None),
        ("memory-supersede", "third"),
        ("memory-forget", None),
        ("memory-restore", "third"),
    ]
    superseding = [each.superseded_by for each in history.revisions]
    assert superseding == [None, None, None, third, None, second, None]
    assert steps(builder.memory.history("note", first)) == [
        ("memory-add", "first"),
        ("memory-supersede", None),
    ]


def test_a_history_has_a_limit(builder: Agent) -> None:
    """And says whether there is more, of a slot, an entity and a note (Y8)."""
    memory = builder.memory
    note = memory.add("0").record.id
    for number in range(5):
        memory.set("fact", "x", "y", str(number))
        note = memory.supersede(note, str(number + 1)).record.id
    for args in (("fact", "x", "y"), ("fact", "x")):
        part = memory.history(*args, limit=2)
        assert steps(part) == [("memory-set", "3"), ("memory-set", "4")]
        assert part.has_more
        assert not memory.history(*args, limit=5).has_more
    part = memory.history("note", note, limit=3)
    assert len(part.revisions) == 3
    assert part.has_more
    assert not memory.history("note", note, limit=11).has_more


@pytest.mark.parametrize("limit", [0, -1, 1.5, "5", None, True, 10_000])
def test_a_limit_is_a_small_number(
    mailbox: Mailbox, builder: Agent, limit: Any
) -> None:
    """As of other lists (Y8)."""
    builder.memory.set("fact", "x", "y", "1")

    problem = refused(mailbox, builder.memory.history, "fact", "x", "y", limit=limit)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "limit"


def test_a_history_of_long_values_fits_a_page(builder: Agent) -> None:
    """The newest are whole, the older ones cut (R5)."""
    for number in range(10):
        builder.memory.set("fact", "x", "y", f"{number}" + "x" * 20_000)

    revisions = builder.memory.history("fact", "x", "y").revisions

    shown = [each.shown for each in revisions if each.shown]
    assert len(shown) == 10
    assert not shown[0].is_truncated
    assert shown[-1].is_truncated
    assert sum(len(each.text) for each in shown) < 40_000
    assert {len(each.record.value) for each in shown} == {20_001}


@pytest.mark.parametrize("scope", SCOPES)
def test_what_never_was_has_no_history(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """The error names what was probably meant (Y12)."""
    builder.memory.set(scope, "parser", "owner", "1")
    for args, similar in (
        (("parser", "ownr"), ["owner"]),
        (("parsr", "owner"), ["parser"]),
        (("parsr",), ["parser"]),
    ):
        problem = refused(mailbox, builder.memory.history, scope, *args)
        assert isinstance(problem, MemoryNotFoundError)
        assert problem.details["similar"] == similar


@pytest.mark.parametrize(
    ("note", "error"),
    [
        ("0" * 40, MemoryNotFoundError),
        ("deadbeef", MemoryNotFoundError),
        ("abc", InvalidNameError),
        ("a note", InvalidNameError),
    ],
)
def test_what_never_was_a_note_has_no_history(
    mailbox: Mailbox, builder: Agent, note: str, error: type
) -> None:
    """A note is known by its id (Y8)."""
    builder.memory.add("a note")

    assert isinstance(refused(mailbox, builder.memory.history, "note", note), error)


def test_the_commits_of_people_are_in_the_history(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """With their name, and their subject for a reason (Y8)."""
    record = builder.memory.set("fact", "parser", "owner", "builder").record
    text = record.data.decode().replace("\nbuilder\n", "\nby hand\n")
    edited = by_hand(
        mailbox.path,
        tmp_path / "one",
        lambda work: (work / OWNER).write_text(text, encoding="utf-8"),
        "facts: I know better",
    )
    deleted = by_hand(
        mailbox.path,
        tmp_path / "two",
        lambda work: (work / OWNER).unlink(),
        "Throw it away\n\nAs agreed.",
    )

    latest, before, first = builder.memory.history("fact", "parser", "owner").revisions

    assert told(latest) == (None, "A Person", "Throw it away", False)
    assert latest.commit == deleted
    assert told(before) == (None, "A Person", "facts: I know better", True)
    assert before.commit == edited
    assert before.shown
    assert before.shown.record.value == "by hand"
    assert first.operation == "memory-set"


def test_a_version_that_makes_no_sense_is_in_the_history(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, clock: SettableClock
) -> None:
    """By its blob and its commit, with nothing to show (Y8)."""
    builder.memory.set("fact", "parser", "owner", "1")
    edit(mailbox.path, tmp_path / "one", {OWNER: "nonsense \x1b[31m"})
    edit(mailbox.path, tmp_path / "two", {OWNER: None})
    builder.memory.set("fact", "parser", "owner", "2")

    expected = builder.memory.history("fact", "parser", "owner")

    assert steps(expected) == [
        ("memory-set", "1"),
        (None, None),
        (None, None),
        ("memory-set", "2"),
    ]
    assert [each.revision is None for each in expected.revisions] == [
        False,
        True,
        False,
        False,
    ]
    with reopened(mailbox, clock) as other:
        memory = other.agent("builder").memory
        assert memory.history("fact", "parser", "owner") == expected


@pytest.mark.skipif(os.name == "nt", reason="needs links and executable files")
@pytest.mark.parametrize("kind", ["link", "executable", "folder"])
def test_what_is_no_regular_file_is_no_version(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, kind: str
) -> None:
    """It is quarantined, and after it is gone the slot is what it was (DESIGN 11)."""
    record = builder.memory.set("fact", "parser", "owner", "1").record

    def change(work: Path) -> None:
        file = work / OWNER
        if kind == "executable":
            file.chmod(0o755)
            return
        file.unlink()
        if kind == "link":
            file.symlink_to("/etc/passwd")
        else:
            file.mkdir()
            (file / "x.md").write_text("x", encoding="utf-8")

    by_hand(mailbox.path, tmp_path / "one", change)

    (path,) = (each[0] for each in mailbox.status().quarantine)
    assert path.startswith(OWNER)
    for act, args in (
        (builder.memory.set, ("fact", "parser", "owner", "2")),
        (builder.memory.restore, ("fact", "parser", "owner")),
        (builder.memory.get, ("fact", "parser", "owner")),
        (builder.memory.forget, ("fact", "parser", "owner")),
    ):
        problem = refused(mailbox, act, *args)
        assert problem.code == "quarantined"
    history = builder.memory.history("fact", "parser", "owner")
    assert steps(history) == [("memory-set", "1"), (None, None)]
    assert history.revisions[0].shown is None

    by_hand(
        mailbox.path,
        tmp_path / "two",
        lambda work: (
            git(work, "checkout", "-q", "HEAD~1", "--", ".")
            if kind == "executable"
            else git(work, "rm", "-rq", OWNER)
        ),
    )

    assert mailbox.status().quarantine == ()
    if kind == "executable":
        assert builder.memory.get("fact", "parser", "owner").record == record
    else:
        assert builder.memory.restore("fact", "parser", "owner").record.value == "1"


def test_the_history_has_both_sides_of_a_merge(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, clock: SettableClock
) -> None:
    """Of slots that only one side changed, in the order of time (I6)."""
    builder.memory.set("fact", "parser", "owner", "1")
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    clock.advance(minutes=1)
    with Mailbox.open(twin, clock=clock) as other:
        other.agent("lead").memory.set("fact", "parser", "owner", "2")
        clock.advance(minutes=1)
        builder.memory.set("fact", "parser", "home", "3")
        clock.advance(minutes=1)
        other.agent("lead").memory.set("fact", "parser", "owner", "4")
    merge_into(mailbox.path, twin, tmp_path / "clone")

    memory = builder.memory
    both, owner = memory.history("fact", "parser"), memory.history(*OWNER_NAME)

    assert steps(both) == [("memory-set", value) for value in ("1", "2", "3", "4")]
    assert steps(owner) == [("memory-set", value) for value in ("1", "2", "4")]
    with reopened(mailbox, clock) as again:
        memory = again.agent("builder").memory
        assert memory.history("fact", "parser") == both
        assert memory.history(*OWNER_NAME) == owner


def test_both_sides_of_a_conflict_are_in_the_history(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, clock: SettableClock
) -> None:
    """Whatever a person made of it, either value can be restored (I6, Y7)."""
    builder.memory.set(*OWNER_NAME, "1")
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    clock.advance(minutes=1)
    with Mailbox.open(twin, clock=clock) as other:
        there = other.agent("lead").memory.set(*OWNER_NAME, "there").record.id
    clock.advance(minutes=1)
    here = builder.memory.set(*OWNER_NAME, "here").record.id
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(mailbox.path), str(work))
    git(work, "pull", "-q", "--no-rebase", str(twin), "gitmail", check=False)
    git(work, "rm", "-qf", OWNER)
    git(work, "commit", "-q", "-m", "Neither of them")
    git(work, "push", "-q", "origin", "HEAD:gitmail")

    history = builder.memory.history(*OWNER_NAME)

    assert [value for _, value in steps(history)] == ["1", "there", "here", None]
    assert history.revisions[0].reason == "Neither of them"
    with reopened(mailbox, clock) as again:
        assert again.agent("lead").memory.history(*OWNER_NAME) == history
    for revision, value in ((there, "there"), (here, "here")):
        restored = builder.memory.restore(*OWNER_NAME, revision=revision)
        assert restored.record.value == value


def test_folding_the_repository_loses_no_version(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Git may clean up at any time (DESIGN 6)."""
    note = builder.memory.add("a note").record.id
    first = builder.memory.set(*OWNER_NAME, "1").record.id
    builder.memory.set(*OWNER_NAME, "2")
    builder.memory.forget("fact", "parser")
    builder.memory.forget("note", note)
    git(mailbox.path, "gc", "-q", "--prune=now")

    for box in (mailbox, Mailbox.open(mailbox.path, clock=clock)):
        memory = box.agent("builder").memory
        assert memory.restore(*OWNER_NAME, revision=first).record.value == "1"
        assert memory.restore("note", note).record.value == "a note"
        memory.forget("fact", "parser")
        memory.forget("note", note)
        box.close()


def test_moving_a_note_by_hand_shows_in_its_history(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It left its path, where restoring brings it back."""
    note = builder.memory.add("a note").record
    path = builder.memory.history("note", note.id).revisions[0].path
    by_hand(
        mailbox.path,
        tmp_path / "work",
        lambda work: git(work, "mv", path, path.replace("builder", "a-person")),
    )

    history = builder.memory.history("note", note.id)

    assert steps(history) == [("memory-add", "a note"), (None, None)]
    assert builder.memory.restore("note", note.id).record == note


def test_the_history_is_that_of_git_log(mailbox: Mailbox, builder: Agent) -> None:
    """`git log -p` of the file reads as the history of the fact (Y8)."""
    for number in range(5):
        builder.memory.set("fact", "parser", "owner", f"value {number}")
        builder.memory.set("fact", "parser", "home", f"value {number}")
        builder.memory.add("a note")

    history = builder.memory.history("fact", "parser", "owner")
    shown = git(mailbox.path, "log", "-p", "gitmail", "--", OWNER)

    assert [each.commit for each in history.revisions] == file_log(mailbox, OWNER)
    for number in range(5):
        assert f"\n+value {number}\n" in shown


def test_an_earlier_version_is_not_called_active(builder: Agent) -> None:
    """Only what is in force is; the rest is superseded, retired or removed."""
    memory = builder.memory
    for value in ("1", "2", "1"):
        memory.set("world", "python", "latest", value)
    memory.forget("world", "python")
    memory.restore("world", "python", "latest")

    shown = plain.history(memory.history("world", "python", "latest"))["history"]

    assert [each["status"] for each in shown] == [
        "active",
        "retired",
        *["superseded"] * 3,
    ]
