"""Many processes at one memory, counted by what survived (DESIGN 6)."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from gitmail import Mailbox
from tests.concurrency.memory_children import SLOT, long_value
from tests.concurrency.test_git_meanwhile import push
from tests.helpers import git
from tests.indexes import contents, contents_made_anew
from tests.mailfiles import unguard
from tests.processes import (
    Child,
    Meanwhile,
    assert_sound,
    children,
    make_mailbox,
    needs_git,
    release,
)

CHILDREN = "tests.concurrency.memory_children"
SLOT_PATH = "memory/facts/parser/owner.md"
pytestmark = needs_git


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox that nobody has open."""
    return make_mailbox(tmp_path / ".gitmail")


def at_once(*calls: Sequence[object]) -> list[Any]:
    """Return what each of several children says that start at once."""
    with children(*calls) as started:
        release(started)
        answers = [child.answer() for child in started]
        for child in started:
            child.finish()
    return answers


def commit_count(box: Path) -> int:
    """Return the number of commits beyond those that made the mailbox."""
    return int(git(box, "rev-list", "--count", "gitmail")) - 3


def assert_index_is_true(box: Path) -> None:
    """Check that the index is what the tip alone would make it."""
    with Mailbox.open(box) as mailbox:
        assert contents(mailbox) == contents_made_anew(mailbox)
    assert_sound(box)


@pytest.mark.parametrize(
    "count", [8, pytest.param(150, marks=pytest.mark.stress)], ids=["short", "long"]
)
def test_no_line_is_lost_that_processes_add_to_one_value(box: Path, count: int) -> None:
    """Each sets what it read and a line more, expecting what it read (Y3)."""
    names = "abcd"
    calls = [(f"{CHILDREN}:append", box, name, count) for name in names]
    stale = list(chain(*at_once(*calls)))

    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        revisions = memory.history(*SLOT, limit=200).revisions
        lines = memory.get(*SLOT).text.splitlines()
    assert sorted(lines) == sorted(f"{x} {n}" for x in names for n in range(count))
    for name in names:  # what one process added stays in its order
        own = [line for line in lines if line.startswith(f"{name} ")]
        assert own == [f"{name} {number}" for number in range(count)]
    # Who was too late was told what was in force, and from whom.
    values = {
        each.revision: each.shown.record.value for each in revisions if each.shown
    }
    for told in stale:
        assert told["set_by"] == "builder"
        if told["revision"] in values:  # a long history shows only its end
            assert values[told["revision"]].startswith(told["value"][:400])
    assert commit_count(box) == len(lines)
    assert git(box, "rev-list", "--min-parents=2", "gitmail") == ""
    assert_index_is_true(box)


def test_of_those_who_expect_the_same_exactly_one_wins(box: Path) -> None:
    """And all others are told who it was and what is in force now (Y3)."""
    names, count = ("ann", "bob", "cid"), 8
    calls = [(f"{CHILDREN}:claim", box, name, count) for name in names]
    outcomes = at_once(*calls)

    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        for number in range(count):
            found = memory.get("world", f"slot {number}", "owner").record
            of_all = [each[number] for each in outcomes]
            assert [each for each in of_all if isinstance(each, str)] == [found.value]
            told = [each for each in of_all if not isinstance(each, str)]
            assert [(x["revision"], x["value"]) for x in told] == [
                (found.id, found.value)
            ] * 2
            assert len(memory.history("world", f"slot {number}").revisions) == 1
    assert commit_count(box) == count
    assert_index_is_true(box)


def test_no_note_is_lost_that_processes_add_at_once(box: Path) -> None:
    """Not even where author, text and time are those of another (Y1)."""
    names, count = "abc", 8
    calls = [(f"{CHILDREN}:note", box, name, count) for name in names]
    ids = list(chain(*at_once(*calls)))

    total = len(names) * count * 2
    assert len({*ids}) == total
    with Mailbox.open(box) as mailbox:
        records = mailbox.agent("builder").memory.list("note", limit=200).records
        assert sorted(each.record.id for each in records) == sorted(ids)
        same = [each for each in records if each.text == "The same."]
        assert len(same) == total // 2
    assert commit_count(box) == total
    assert_index_is_true(box)


def test_who_reads_a_slot_that_is_set_sees_whole_values_in_their_order(
    box: Path,
) -> None:
    """In answers and in the file beside the repository, which is replaced at once."""
    count = 40
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").memory.set(*SLOT, long_value(0))
    calls = [(f"{CHILDREN}:set_", box, count), *[(f"{CHILDREN}:look", box, "file")] * 2]
    for seen in _answers_when_the_first_is_done(calls):
        assert seen == sorted(seen)
        assert seen[-1] == count - 1
    assert_index_is_true(box)


def test_one_process_may_set_what_another_forgets_and_restores(box: Path) -> None:
    """Each sees whole values, and the history has every step of both (Y8)."""
    count = 30
    calls = [
        (f"{CHILDREN}:set_", box, count),
        (f"{CHILDREN}:forget_and_restore", box),
        (f"{CHILDREN}:look", box, ""),
    ]
    (forgotten, restored), seen = _answers_when_the_first_is_done(calls)

    assert {*seen} <= {*range(count)}
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        revisions = memory.history(*SLOT, limit=200).revisions
        log = mailbox.log(limit=1000)
    operations = [each.operation for each in revisions]
    assert operations.count("memory-forget") == forgotten
    assert operations.count("memory-restore") == restored
    assert len(operations) - forgotten - restored == count  # no value was set twice
    assert [each.commit for each in revisions] == [
        each.commit for each in log if each.operation.startswith("memory-")
    ]
    told = git(box, "log", "--format=%H", "gitmail", "--", SLOT_PATH).split()
    assert [each.commit for each in revisions] == told
    assert_index_is_true(box)


def _answers_when_the_first_is_done(calls: Sequence[Sequence[object]]) -> list[Any]:
    """Let children work until the first is done; return what the others say."""
    with children(*calls) as started:
        release(started)
        started[0].answer()
        for child in started[1:]:
            child.ask("no more")
        answers = [child.answer() for child in started[1:]]
        for child in started:
            child.finish()
    return answers


@pytest.mark.parametrize(
    "commands",
    [
        [["gc", "-q", "--prune=now"]],
        [["repack", "-q", "-a", "-d"], ["pack-refs", "--all"]],
    ],
    ids=["gc", "repack"],
)
@pytest.mark.parametrize(
    "count", [5, pytest.param(100, marks=pytest.mark.stress)], ids=["short", "long"]
)
def test_git_may_clean_up_while_memory_is_written_in_every_way(
    box: Path, commands: list[list[str]], count: int
) -> None:
    """What was forgotten is still in the history, and comes back from there."""
    with Meanwhile(box, *commands) as git_at_work:
        answers = at_once(*((f"{CHILDREN}:do_all", box, x, count) for x in "ab"))

    assert git_at_work.failed == []
    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("builder").memory
        for name, (facts, notes) in zip("ab", answers, strict=True):
            assert facts == [f"{count - 1}"]
            assert notes == sorted(f"Note {name} {n}" for n in range(count))
            steps = memory.history("fact", name, limit=200)
            assert steps.has_more is (count * 3 > 200)
            assert all(each.shown or not each.revision for each in steps.revisions)
        last = memory.history("lesson", "all of us", "last", limit=200).revisions
        assert len(last) == min(2 * count, 200)
    # Each verb of `do_all` is one commit.
    assert commit_count(box) == 2 * count * 8
    assert_index_is_true(box)


def test_a_push_and_a_set_at_once_both_count(box: Path, tmp_path: Path) -> None:
    """Whoever is later builds on what the other did, and no force is needed."""
    unguard(box)  # a person pushes what builder has set
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(box), str(clone))
    with Child(f"{CHILDREN}:answer", box) as setter:
        revisions = []
        for number in range(8):
            file = clone / "memory" / "facts" / "pushed" / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_fact("pushed", str(number)))
            git(clone, "add", str(file))
            git(clone, "commit", "-q", "-m", f"By hand: {number}")
            setter.ask(f"{number}")
            push(clone)
            revisions.append(setter.answer())
        setter.finish()

    with Mailbox.open(box) as mailbox:
        memory = mailbox.agent("reviewer").memory
        for entity in ("pushed", "sent"):
            found = memory.get_entity("fact", entity).records
            assert [each.text for each in found] == [str(n) for n in range(8)]
        sent = memory.history("fact", "sent").revisions
        assert {each.revision for each in sent} == {*revisions}
        pushed = memory.history("fact", "pushed").revisions
        assert {each.reason for each in pushed} == {f"By hand: {n}" for n in range(8)}
        assert mailbox.status().quarantine == ()
    assert_index_is_true(box)


def _fact(entity: str, attribute: str) -> bytes:
    return (
        f'---\nscope: fact\nentity: {entity}\nattribute: "{attribute}"\n'
        f"set_by: builder\nset_at: 2026-11-30T14:37:12.123456Z\n---\n\n{attribute}\n"
    ).encode()
