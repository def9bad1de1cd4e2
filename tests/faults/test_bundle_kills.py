"""Who applies a bundle, or starts from one, killed at each step (all or nothing)."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.mailbox import bundles
from tests.helpers import files_in_tip, files_on_disk
from tests.processes import (
    Child,
    assert_sound,
    make_mailbox,
    needs_git,
    posix_only,
)

pytestmark = [needs_git, posix_only]


@pytest.fixture(name="trials")
def _trials() -> Iterator[Child]:
    """Return a server that runs operations, each killed at one step."""
    with Child("tests.faults.trials:serve") as server:
        yield server
        server.finish()


def run(trials: Child, operation: str, box: Path, file: Path, step: int) -> bool:
    """Run an operation that is killed at a step; tell whether it came so far."""
    said = {"operation": operation, "mailbox": str(box), "name": str(file)}
    trials.ask({**said, "step": step, "torn": False})
    ended = trials.answer()
    assert ended["killed"] or ended["said"] == "done", ended
    return bool(ended["killed"])


def bodies(box: Path) -> list[str]:
    """Return the bodies of all that reviewer was sent, as any command finds them."""
    with Mailbox.open(box) as mailbox:
        found = mailbox.agent("reviewer").poll(show="any", limit=50).items
    assert files_on_disk(box) == files_in_tip(box)
    return [each.message.body for each in found]


EACH_STEP = pytest.mark.parametrize(
    "stride", [4, pytest.param(1, marks=pytest.mark.stress)]
)


@EACH_STEP
@pytest.mark.parametrize("is_merge", [False, True])
def test_a_killed_apply_has_brought_all_of_the_bundle_or_nothing(
    tmp_path: Path, trials: Child, stride: int, *, is_merge: bool
) -> None:
    """At whichever step, whether the mailbox went on meanwhile or not."""
    near, far, file = make_mailbox(tmp_path / "near"), tmp_path / "far", tmp_path / "b"
    with Mailbox.open(near) as mailbox:
        mailbox.create_bundle(file)
        bundles.start(far, file)
        for number in range(2):
            mailbox.agent("builder").send(to="reviewer", body=f"Carried {number}.")
        mailbox.create_bundle(file)
    if is_merge:
        with Mailbox.open(far) as mailbox:
            mailbox.agent("builder").send(to="reviewer", body="Here.")
    before = bodies(far)
    after = sorted([*before, "Carried 0.", "Carried 1."])

    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        box = tmp_path / f"trial-{step}"
        shutil.copytree(far, box)
        is_killed = run(trials, "apply", box, file, step)

        found = sorted(bodies(box))
        assert found in ([after] if not is_killed else [before, after])
        with Mailbox.open(box) as mailbox:
            mailbox.apply_bundle(file)
        assert sorted(bodies(box)) == after
        assert_sound(box)
        shutil.rmtree(box)
    assert step > 10


@EACH_STEP
def test_a_killed_start_can_be_made_again(
    tmp_path: Path, trials: Child, stride: int
) -> None:
    """Or has made the mailbox, with all that the bundle has."""
    near, file = make_mailbox(tmp_path / "near"), tmp_path / "b"
    with Mailbox.open(near) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Carried.")
        made = mailbox.create_bundle(file)

    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        box = tmp_path / f"trial-{step}"
        is_killed = run(trials, "start", box, file, step)

        if not (box / ".git" / "refs" / "heads" / "gitmail").exists():
            assert is_killed
            assert bundles.start(box, file) == made.tip
        assert bodies(box) == ["Carried."]
        assert_sound(box)
        shutil.rmtree(box)
    assert step > 10
