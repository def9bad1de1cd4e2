"""A writer killed at each step of what it does (DESIGN 6: all or nothing)."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.helpers import (
    files_in_tip,
    files_on_disk,
    git,
    make_bare_bones_project,
)
from tests.processes import Child, assert_sound, make_mailbox, needs_git

pytestmark = [
    needs_git,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork"),
]

# The steps of sending and of acknowledging are the same but for their number.
EACH_STEP = [("before", 1), ("within", 1)]
SOME_STEPS = [
    ("before", 3),
    ("within", 1),
    pytest.param("before", 1, marks=pytest.mark.stress),
]


class Trials:
    """Operations on a mailbox, each killed at one step."""

    def __init__(self, server: Child) -> None:
        self._server = server

    def run(
        self, operation: str, mailbox: Path, name: str, step: int, where: str
    ) -> bool:
        """Run an operation that is killed at a step; tell whether it came so far.

        Args:
            where: `before` a step of any kind, or `within` one that writes.
        """
        said = {"operation": operation, "mailbox": str(mailbox), "name": name}
        self._server.ask({**said, "step": step, "torn": where == "within"})
        ended = self._server.answer()
        assert ended["killed"] or ended["said"] == "done", ended
        return bool(ended["killed"])


@pytest.fixture(name="trials")
def _trials() -> Iterator[Trials]:
    """Return a server that runs trials."""
    with Child("tests.faults.trials:serve") as server:
        yield Trials(server)
        server.finish()


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with an agent more, and some mail."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.register("lead")
        mailbox.agent("lead").send(to="reviewer", body="There before.")
    return box


@pytest.mark.parametrize(("where", "stride"), EACH_STEP)
def test_a_killed_send_is_wholly_there_or_not_at_all(
    box: Path, trials: Trials, where: str, stride: int
) -> None:
    """At whichever step: message and blind copy, in tree, index and on disk (I5)."""
    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        before = _take_all(box)
        is_killed = trials.run("send", box, f"trial {step}", step, where)

        with Mailbox.open(box) as mailbox:
            shown = [_after(mailbox, name, before) for name in ("reviewer", "lead")]
            assert shown in ([[], []], [[f"trial {step}"], [f"trial {step}"]])
            assert shown[0] or is_killed
            # Whoever only reads finishes what was begun on the disk.
            assert files_on_disk(box) == files_in_tip(box)
        _assert_works(box)
    assert_sound(box)  # what a kill damages stays damaged


@pytest.mark.parametrize(("where", "stride"), SOME_STEPS)
def test_a_killed_ack_raises_all_of_its_messages_or_none(
    box: Path, trials: Trials, where: str, stride: int
) -> None:
    """Three receipts are one commit (CAPABILITIES K2)."""
    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        _take_all(box)
        with Mailbox.open(box) as mailbox:
            drafts = [{"to": "reviewer", "body": str(number)} for number in range(3)]
            sent = mailbox.agent("lead").send_many(drafts)
        is_killed = trials.run("ack", box, f"trial {step}", step, where)

        with Mailbox.open(box) as mailbox:
            receipts = [
                mailbox.agent("lead").receipts(s.message.id).lines[0].state
                for s in sent
            ]
            pending = [item.id for item in mailbox.agent("reviewer").poll().items]
            assert (set(receipts), len(pending)) in (({"pending"}, 3), ({"acked"}, 0))
            assert not pending or is_killed
        _assert_works(box)
    assert_sound(box)


@pytest.mark.parametrize(("where", "stride"), SOME_STEPS)
def test_a_killed_change_of_a_profile_leaves_the_old_one_or_the_new(
    box: Path, trials: Trials, where: str, stride: int
) -> None:
    """A profile is the one file that is written again."""
    is_killed, step, was = True, 1 - stride, ""
    while is_killed:
        step += stride
        is_killed = trials.run("register", box, f"trial {step}", step, where)

        with Mailbox.open(box) as mailbox:
            now = mailbox.whois("builder").profile.description
            assert now in (was, f"trial {step}")
            assert now != was or is_killed
            was = now
        _assert_works(box)
    assert_sound(box)


@pytest.mark.parametrize(("where", "stride"), SOME_STEPS)
def test_a_killed_init_can_be_repeated(
    tmp_path: Path, trials: Trials, where: str, stride: int
) -> None:
    """What the first left is taken up by the second, and the project is unharmed."""
    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        project = make_bare_bones_project(tmp_path / str(step))
        is_killed = trials.run("init", project / ".gitmail", "one", step, where)
        assert not trials.run("init", project / ".gitmail", "two", 0, where)

        with Mailbox.open(project / ".gitmail") as mailbox:
            assert mailbox.charter().project in ("one", "two")
            for name in ("builder", "reviewer"):
                mailbox.register(name)
        _assert_works(project / ".gitmail")
        assert_sound(project / ".gitmail")
        exclude = (project / ".git" / "info" / "exclude").read_text("ascii")
        assert exclude == "/.gitmail/\n"
        assert sorted(path.name for path in (project / ".git").iterdir()) == [
            *("HEAD", "info", "objects", "refs")
        ]


@pytest.mark.parametrize(("where", "stride"), SOME_STEPS)
def test_killed_folding_loses_no_object(
    box: Path, tmp_path: Path, trials: Trials, where: str, stride: int
) -> None:
    """Every object is in some pack at each moment (DESIGN 6)."""
    with Mailbox.open(box, folds=False) as mailbox:
        for number in range(10):
            mailbox.agent("builder").send(to="reviewer", body=str(number))
    objects = _objects(box)
    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        copy = tmp_path / str(step) / ".gitmail"
        shutil.copytree(box, copy)
        is_killed = trials.run("fold", copy, "", step, where)

        assert _objects(copy) == objects
        assert is_killed or len(list(_packs(copy))) == 1
        _assert_works(copy)
        assert_sound(copy)
        shutil.rmtree(copy)


def test_a_killed_batch_is_wholly_there_or_not_at_all(
    box: Path, trials: Trials
) -> None:
    """Three hundred messages are one commit (CAPABILITIES S3)."""
    is_killed, step = True, 1
    while is_killed:
        step += 211
        before = _take_all(box)
        is_killed = trials.run("send_many", box, f"trial {step}", step, "before")

        with Mailbox.open(box) as mailbox:
            shown = _after(mailbox, "reviewer", before)
            assert len(shown) in (0, 200)  # a page of 300, or nothing
            assert shown or is_killed
        _assert_works(box)
    assert_sound(box)


def test_a_killed_rebuild_of_the_index_is_begun_again(
    box: Path, trials: Trials
) -> None:
    """An index is whole, or it is not taken for one (DESIGN 7)."""
    is_killed, step = True, 0
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Here.")
    while is_killed:
        step += 1
        is_killed = trials.run("rebuild", box, "", step, "before")

        with Mailbox.open(box) as mailbox:
            pending = mailbox.agent("reviewer").poll().items
            assert [item.message.body for item in pending] == ["There before.", "Here."]
            assert mailbox.status().commit_count == 6
    assert_sound(box)


def _take_all(box: Path) -> str:
    """Acknowledge what is pending, and return the cursor behind it."""
    with Mailbox.open(box, folds=False) as mailbox:
        page = mailbox.agent("reviewer").poll(ack=True, limit=200)
        while page.has_more:
            page = mailbox.agent("reviewer").poll(ack=True, limit=200)
        return mailbox.agent("reviewer").poll().cursor


def _after(mailbox: Mailbox, name: str, cursor: str) -> list[str]:
    page = mailbox.agent(name).poll(show="any", after=cursor, limit=200)
    return [item.message.body for item in page.items]


def _assert_works(box: Path) -> None:
    """Check that whatever was left lying about, the next send works at once."""
    with Mailbox.open(box) as mailbox:
        before = mailbox.status("reviewer")
        mailbox.agent("builder").send(to="reviewer", body="It works.")
        after = mailbox.status("reviewer")
    assert after.message_count == before.message_count + 1
    assert after.unacked_count == (before.unacked_count or 0) + 1
    assert after.uncommitted == before.uncommitted == ()
    assert not list((box / ".git" / "refs" / "heads").glob("*.lock"))


def _objects(box: Path) -> set[str]:
    rows = git(box, "cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    return set(rows.splitlines())


def _packs(box: Path) -> Iterator[Path]:
    return (box / ".git" / "objects" / "pack").glob("*.pack")
