"""Git's own programs at work in the mailbox while agents are (DESIGN 6)."""

import subprocess
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.helpers import IDENTITY, environment, git
from tests.mailfiles import message_file, unguard
from tests.processes import (
    LIMIT_S,
    Child,
    Meanwhile,
    assert_sound,
    children,
    make_mailbox,
    needs_git,
    release,
)

CHILDREN = "tests.concurrency.children"
pytestmark = needs_git

# `-A` of plain `gc` keeps what nobody names yet, `-a` of these two drops it.
GC = ["gc", "-q"]
PRUNE = ["gc", "-q", "--prune=now"]
REPACK = ["repack", "-q", "-a", "-d"]
PACK_REFS = ["pack-refs", "--all"]
MULTI_PACK = ["multi-pack-index", "write"]


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox that nobody has open."""
    return make_mailbox(tmp_path / ".gitmail")


@pytest.mark.parametrize(
    "commands",
    [[GC], [PRUNE], [REPACK], [PACK_REFS], [MULTI_PACK, REPACK, PACK_REFS]],
    ids=["gc", "prune", "repack", "pack-refs", "multi-pack"],
)
def test_git_may_clean_up_while_agents_send_and_read(
    box: Path, commands: list[list[str]]
) -> None:
    """Nothing is lost, no call fails, and git itself does not either."""
    _work_meanwhile(box, commands, count=25)


@pytest.mark.parametrize("commands", [[GC], [REPACK, PACK_REFS]], ids=["gc", "repack"])
def test_packs_may_be_folded_while_git_cleans_up(
    box: Path, commands: list[list[str]]
) -> None:
    """Both remove only what another pack has."""
    _work_meanwhile(box, commands, count=25, folders=2)


@pytest.mark.stress
@pytest.mark.parametrize("commands", [[GC, PACK_REFS], [REPACK, PACK_REFS], [PRUNE]])
def test_git_may_clean_up_for_long(box: Path, commands: list[list[str]]) -> None:
    """As above, for a thousand messages."""
    _work_meanwhile(box, commands, count=500, folders=1)


def _work_meanwhile(
    box: Path, commands: Sequence[Sequence[str]], *, count: int, folders: int = 0
) -> None:
    senders = [(f"{CHILDREN}:send", box, name, count, "one") for name in range(2)]
    others = [(f"{CHILDREN}:look", box), *[(f"{CHILDREN}:fold", box)] * folders]
    with children(*senders, *others) as started:
        with Meanwhile(box, *commands) as git_at_work:
            release(started)
            sent = sorted(chain(*(child.answer() for child in started[:2])))
        for child in started[2:]:
            child.ask("no more")
        assert started[2].answer() == sent
        for child in started:
            child.finish()

    assert git_at_work.failed == []
    with Mailbox.open(box) as mailbox:
        assert mailbox.status("reviewer").unacked_count == len(sent)
        for message in sent:
            mailbox.agent("reviewer").read(message)
    assert git(box, "rev-list", "--count", "gitmail").strip() == str(len(sent) + 3)
    assert_sound(box)


def test_a_push_and_a_send_at_once_both_count(box: Path, tmp_path: Path) -> None:
    """Whoever is later builds on what the other did, and no force is needed."""
    unguard(box)  # a person pushes mail of builder's
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(box), str(clone))
    pushed, sent = [], []
    with Child(f"{CHILDREN}:answer", box) as sender:
        for number in range(12):
            path, data = message_file("builder", ["reviewer"], f"pushed {number}")
            pushed.append(_commit(clone, path, data))
            sender.ask(f"sent {number}")
            push(clone)
            sent.append(sender.answer())
        sender.finish()

    with Mailbox.open(box) as mailbox:
        found = mailbox.agent("reviewer").poll(limit=200).items
        assert sorted(item.id for item in found) == sorted(pushed + sent)
        assert mailbox.status().quarantine == ()
    assert_sound(box)


def _commit(clone: Path, path: str, data: bytes) -> str:
    file = clone / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    git(clone, "add", path)
    git(clone, "commit", "-q", "-m", "By hand")
    return git(clone, "rev-parse", f"HEAD:{path}").strip()


def push(clone: Path) -> None:
    """Push, and pull before where somebody was quicker, as people do."""
    for _ in range(20):
        done = subprocess.run(
            ["git", "-C", str(clone), "push", "-q", "origin", "HEAD:gitmail"],
            capture_output=True,
            check=False,
            env=environment(**IDENTITY),
            timeout=LIMIT_S,
        )
        if not done.returncode:
            return
        git(clone, "pull", "-q", "--no-rebase", "--no-edit", "origin", "gitmail")
    raise AssertionError(done.stderr)
