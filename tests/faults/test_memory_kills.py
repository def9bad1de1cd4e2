"""A writer killed at each step of what it does to memory (DESIGN 6)."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.faults.remembering import ACTS, empty_folders, make_memory, remembered
from tests.helpers import files_in_tip, files_on_disk
from tests.indexes import contents, contents_made_anew
from tests.processes import Child, assert_sound, needs_git

if sys.platform == "win32":
    pytest.skip("Windows cannot fork", allow_module_level=True)

from tests.faults.test_kills import Trials

pytestmark = needs_git

# Most steps are those of every commit, which the tests of mail kill one by one; what
# is new here is that files and folders go.
SOME_STEPS = [
    pytest.param("forget_facts", "before", 3, id="forget_facts"),
    pytest.param("set_and_acknowledge", "before", 13, id="set_and_acknowledge"),
    pytest.param("supersede", "before", 11, id="supersede"),
    pytest.param("restore", "before", 13, id="restore"),
    pytest.param("restore_removed", "within", 2, id="restore_removed"),
    *(
        pytest.param(act, where, 1, id=f"{act}-{where}-each", marks=pytest.mark.stress)
        for act in ACTS
        for where in ("before", "within")
    ),
]


@pytest.fixture(name="trials")
def _trials() -> Iterator[Trials]:
    """Return a server that runs trials."""
    with Child("tests.faults.trials:serve") as server:
        yield Trials(server)
        server.finish()


@pytest.fixture(name="box", scope="module")
def _box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a mailbox with something in memory, to be copied."""
    return make_memory(tmp_path_factory.mktemp("memory") / ".gitmail")


@pytest.mark.parametrize(("act", "where", "stride"), SOME_STEPS)
def test_what_a_killed_process_did_to_memory_is_wholly_there_or_not_at_all(
    box: Path, tmp_path: Path, trials: Trials, act: str, where: str, stride: int
) -> None:
    """At whichever step: records, history, receipt, index and files (I1, I5)."""
    before, after = remembered_in(box), _carried_out(box, tmp_path / "whole", act)
    assert before != after
    is_killed, step = True, 1 - stride
    while is_killed:
        step += stride
        copy = tmp_path / str(step)
        shutil.copytree(box, copy)
        is_killed = trials.run(act, copy, "", step, where)

        with Mailbox.open(copy) as mailbox:
            found = remembered(mailbox)
            # Whoever only reads finishes what was begun on the disk.
            assert files_on_disk(copy) == files_in_tip(copy)
            assert empty_folders(copy) == []
            assert found in (before, after)
            assert found == after or is_killed
            assert contents(mailbox) == contents_made_anew(mailbox)
            _assert_goes_on(mailbox)
        if not is_killed or step == 1 + 3 * stride:
            assert_sound(copy)
        shutil.rmtree(copy)


def remembered_in(box: Path) -> object:
    """Return what the memory of a mailbox answers that nobody has open."""
    with Mailbox.open(box) as mailbox:
        return remembered(mailbox)


def _carried_out(box: Path, copy: Path, act: str) -> object:
    """Return what memory answers after an act that nothing disturbs."""
    shutil.copytree(box, copy)
    with Mailbox.open(copy) as mailbox:
        ACTS[act](mailbox.agent("builder"))
        assert mailbox.log(limit=1)[0].operation.startswith("memory-")
    return remembered_in(copy)


def _assert_goes_on(mailbox: Mailbox) -> None:
    """Check that whatever was left lying about, the next writes work at once."""
    memory = mailbox.agent("builder").memory
    memory.set("fact", "parser", "owner", "It works.")
    memory.add("It works too.")
    assert memory.get("fact", "parser", "owner").text == "It works."
    assert mailbox.status().uncommitted == ()
    memory.forget("fact", "parser")
    assert not (mailbox.path / "memory" / "facts" / "parser").exists()
