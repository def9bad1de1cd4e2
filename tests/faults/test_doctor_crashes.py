"""The doctor after a crash, during one of its own, and while others write."""

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.errors import StorageError
from gitmail.store.doctoring import examine
from gitmail.store.findings import Checkup, Finding
from tests import damages
from tests.helpers import git
from tests.processes import (
    Child,
    Meanwhile,
    assert_sound,
    children,
    make_mailbox,
    needs_git,
)

if sys.platform == "win32":
    pytest.skip("these faults are made by POSIX means", allow_module_level=True)

from tests.faults.test_disk import failure, mounting
from tests.faults.trials import Steps

CHILDREN = "tests.faults.doctor_children"
pytestmark = needs_git
STRIDES = [97, pytest.param(1, marks=pytest.mark.stress)]
"""The doctor has several hundred steps, each of which takes a third of a second."""


class Trials:
    """Operations on a mailbox, each killed at one step."""

    def __init__(self, server: Child) -> None:
        self._server = server

    def run(self, operation: str, box: Path, step: int) -> bool:
        """Run an operation, killed before a step; tell whether it came so far."""
        said = {"operation": operation, "mailbox": str(box), "name": f"trial {step}"}
        self._server.ask({**said, "step": step, "torn": False})
        ended = self._server.answer()
        assert ended["killed"] or ended["said"] == "done", ended
        return bool(ended["killed"])


@pytest.fixture(name="trials")
def _trials() -> Iterator[Trials]:
    """Return a server that runs trials, mending among them."""
    with Child(f"{CHILDREN}:serve") as server:
        yield Trials(server)
        server.finish()


def repair(box: Path) -> Checkup:
    """Mend a mailbox."""
    return examine(box, repair=True, moment=system_clock())


def findings(box: Path) -> tuple[Finding, ...]:
    """Return what is wrong with a mailbox."""
    return examine(box, repair=False, moment=system_clock()).findings


@pytest.mark.parametrize("operation", ["send", "register", "fold"])
def test_what_a_killed_writer_leaves_is_mended(
    tmp_path: Path, trials: Trials, operation: str
) -> None:
    """At whichever step; what had happened has happened, and nothing is left over."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.register("lead")
        for number in range(4):
            mailbox.agent("lead").send(to="reviewer", body=str(number))
    is_killed, step = True, 0
    while is_killed:
        step += 2
        copy = tmp_path / str(step) / ".gitmail"
        shutil.copytree(box, copy)
        before = _objects(copy)
        is_killed = trials.run(operation, copy, step)

        assert repair(copy).left_count == 0
        assert findings(copy) == ()
        assert before <= _objects(copy)
        assert_sound(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("stride", STRIDES)
def test_a_killed_doctor_leaves_it_no_worse(
    tmp_path: Path, trials: Trials, stride: int
) -> None:
    """At whichever step: the next one finishes, and every object is there."""
    box = damages.make_patient(tmp_path / "box" / ".gitmail")
    kept = _objects(box)
    _damage_all(box)
    is_killed, step = True, 1
    while is_killed:
        step += stride
        copy = tmp_path / str(step) / ".gitmail"
        shutil.copytree(box, copy, symlinks=True)
        is_killed = trials.run("doctor", copy, step)
        for lock in (copy / ".git").rglob("*.lock"):
            os.utime(lock, (damages.LONG_AGO_S, damages.LONG_AGO_S))

        assert repair(copy).left_count == 0
        assert findings(copy) == ()
        assert kept <= _objects(copy)
        assert_sound(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
def test_a_step_of_the_doctor_that_fails_is_told_and_leaves_it_no_worse(
    tmp_path: Path, number: int, stride: int
) -> None:
    """What could not be mended is named, and is mended once it can be."""
    box = damages.make_patient(tmp_path / "box" / ".gitmail")
    kept = _objects(box)
    _damage_all(box)
    tried = step = 1
    while tried >= step:
        step += stride
        copy = tmp_path / str(step) / ".gitmail"
        shutil.copytree(box, copy, symlinks=True)

        def fail(name: str) -> None:
            raise failure(name, number)

        steps = Steps(step, fail)
        with steps.counted(), suppress(StorageError):
            assert repair(copy).findings
        tried = steps.count
        for lock in (copy / ".git").rglob("*.lock"):
            os.utime(lock, (damages.LONG_AGO_S, damages.LONG_AGO_S))

        assert repair(copy).left_count == 0
        assert kept <= _objects(copy)
        assert_sound(copy)
        shutil.rmtree(copy)


def test_a_mailbox_in_use_has_no_findings(tmp_path: Path) -> None:
    """Nothing that is under way is taken for a leftover, by git or by gitmail."""
    box = make_mailbox(tmp_path / ".gitmail")
    with children(*[(f"{CHILDREN}:send_until_told", box)] * 2) as senders:
        with Meanwhile(box, ["gc", "-q"], ["pack-refs", "--all"]) as cleaning:
            for sender in senders:
                sender.answer()
            for _ in range(8):
                assert repair(box).findings == ()
        counts = [_told_to_stop(sender) for sender in senders]
    assert cleaning.failed == []
    _assert_all_there(box, sum(counts))


def test_a_mailbox_is_mended_while_others_write(tmp_path: Path) -> None:
    """Nothing that they write is lost, and none of them fails."""
    box = damages.make_patient(tmp_path / "box" / ".gitmail")
    damages.damage_a_message_in_its_pack(box)  # before somebody folds it away
    with children(*[(f"{CHILDREN}:send_until_told", box)] * 2) as senders:
        for sender in senders:
            sender.answer()
        (box / "README.md").unlink()
        damages.leave_drafts(box)
        damages.change_settings(box)
        assert [each for each in repair(box).findings if not each.is_repaired] == []
        assert findings(box) == ()
        counts = [_told_to_stop(sender) for sender in senders]
    _assert_all_there(box, 3 + sum(counts))


def test_a_mailbox_that_cannot_be_written_can_be_looked_at(tmp_path: Path) -> None:
    """Mending it says that it cannot be written."""
    box = damages.make_patient(tmp_path / "box" / ".gitmail")
    damages.garble_the_index(box)
    mount = mounting('mount --bind -o ro "$0" "$0"', box)
    with Child(f"{CHILDREN}:look", box, prefix=mount) as child:
        assert child.answer() == ["damaged_index"]
        assert child.answer() == "read_only"
        child.finish()


def _damage_all(box: Path) -> None:
    """Do what can be done at once."""
    damages.lock_everything_else(box)
    damages.lock_the_branch_by_a_slot(box)
    damages.leave_drafts(box)
    damages.damage_a_message_in_its_pack(box)
    damages.damage_an_object_that_nobody_needs(box)
    damages.empty_the_branch(box)
    damages.lose_head(box)
    damages.garble_the_settings(box)
    damages.garble_the_index(box)
    (box / "README.md").unlink()
    (box / "agents" / "builder.md").unlink()
    (box / "agents" / "builder.md").mkdir()
    (box / "agents" / "builder.md" / "mine.txt").write_text("Mine.", "ascii")


def _told_to_stop(sender: Child) -> Any:
    """End a sender, and return how many messages it has sent."""
    assert sender.process.stdin
    assert sender.process.stdout
    sender.process.stdin.close()
    lines = sender.process.stdout.read().split()
    assert sender.process.wait() == 0, sender.said()
    return int(lines[-1])


def _assert_all_there(box: Path, count: int) -> None:
    with Mailbox.open(box) as mailbox:
        assert mailbox.status().message_count == count
    assert_sound(box)


def _objects(box: Path) -> set[str]:
    rows = git(box, "cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    return set(rows.splitlines())
