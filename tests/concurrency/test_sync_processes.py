"""Clones whose processes send and sync all at once, counted by what survived (V3)."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest

from gitmail import Mailbox
from tests.exchanges import assert_same, by, in_turn, make_remote
from tests.indexes import contents, contents_made_anew
from tests.processes import Child, children, needs_git, release
from tests.servers import git_daemon

CHILDREN = "tests.concurrency.sync_children"
NAMES = ("one", "two", "three")
pytestmark = needs_git


@pytest.fixture(name="url", params=["path", "daemon"])
def _url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of an empty remote: its path, or that of a server."""
    host = tmp_path / "host"
    host.mkdir()
    remote = make_remote(host / "remote.git")
    if request.param == "path":
        yield str(remote)
        return
    with git_daemon(host) as url:
        yield f"{url}/remote.git"


@pytest.fixture(name="clones")
def _clones(tmp_path: Path, url: str) -> list[Path]:
    """Return the folders of three clones of one mailbox with an agent each."""
    folders = [tmp_path / name for name in NAMES]
    with Mailbox.clone(folders[0], url, git=by("git")) as mailbox:
        for name in NAMES:
            mailbox.register(name, teams=["all-three"])
        mailbox.sync(git=by("git"))
    for folder in folders[1:]:
        Mailbox.clone(folder, url, git=by("git")).close()
    return folders


@pytest.mark.parametrize(
    "ways", [["git"] * 3, ["dulwich"] * 3, ["git", "dulwich", "git"]], ids="-".join
)
def test_three_clones_that_sync_in_loops_end_with_the_same(
    clones: list[Path], ways: list[str]
) -> None:
    """Nothing is lost or doubled, ids stay, and each cursor is still valid."""
    _work_at_once(clones, ways, count=4)


@pytest.mark.stress
@pytest.mark.parametrize("ways", [["git"] * 3, ["git", "dulwich", "git"]], ids="-".join)
def test_three_clones_end_with_the_same_after_a_long_run(
    clones: list[Path], ways: list[str]
) -> None:
    """Forty messages of each, with every race that comes by."""
    _work_at_once(clones, ways, count=40)


def _work_at_once(clones: list[Path], ways: list[str], *, count: int) -> None:
    calls = [
        (f"{CHILDREN}:work", *each, count, how)
        for *each, how in zip(clones, NAMES, ways, strict=True)
    ]
    with children(*calls) as workers:
        release(workers)
        said = {name: w.answer() for name, w in zip(NAMES, workers, strict=True)}
        for worker in workers:
            worker.finish()

    sent = {*chain(*(each["sent"] for each in said.values()))}
    acked = Counter(
        (name, message) for name in NAMES for message in said[name]["acked"]
    )
    assert len(sent) == 3 * count
    assert {*acked.values()} == {1}
    with ExitStack() as stack:
        boxes = [stack.enter_context(Mailbox.open(each)) for each in clones]
        for _ in range(2):  # so that even two that diverged have each other's merge
            in_turn(ways[0], *boxes)
        assert_same(*boxes)
        for box in boxes:
            assert contents(box) == contents_made_anew(box)
            assert box.status().quarantine == ()
            bodies = Counter(_bodies(box))
            assert bodies == Counter(f"{n} {i}" for n in NAMES for i in range(count))
            for name in NAMES:
                _assert_as_said(box, name, said[name], sent)


def _bodies(box: Mailbox) -> list[str]:
    """Return the bodies of all mail; who sends one finds it in its history."""
    return [
        item.message.body
        for name in NAMES
        for item in box.agent(name).history(limit=200).items
        if item.message.sender == name
    ]


def _assert_as_said(box: Mailbox, name: str, said: dict, sent: set[str]) -> None:
    agent = box.agent(name)
    own = {*said["sent"]}
    everything = {item.id for item in agent.poll(show="any", limit=200).items}
    assert everything - own == sent - own
    pending = {item.id for item in agent.poll(limit=200).items}
    assert everything - pending == {*said["acked"]}
    for cursor, seen in said["seen"]:
        later = agent.poll(show="any", after=cursor, limit=200).items
        assert Counter(item.id for item in later) == Counter(everything - {*seen})
    (fact,) = agent.memory.list("world", entity=f"of {name}").records
    assert fact.record.value == str(len(own) - 1)


@pytest.mark.parametrize("how", ["git", "dulwich"])
def test_a_wait_in_one_clone_is_woken_by_mail_sent_in_another(
    clones: list[Path], how: str
) -> None:
    """Four processes: one waits, two keep their clones in step, one sends."""
    with (
        Child(f"{CHILDREN}:wait", clones[0], "one") as waiter,
        Child(f"{CHILDREN}:keep_in_step", clones[0], how) as here,
        Child(f"{CHILDREN}:keep_in_step", clones[1], how) as there,
        Mailbox.open(clones[1]) as mailbox,
    ):
        release([waiter, here, there])
        sent = mailbox.agent("two").send(to="one", body="Wake up.").message.id
        assert waiter.answer() == [sent]
        for each in (here, there):
            each.ask("no more")
            assert each.answer() > 0
        for each in (waiter, here, there):
            each.finish()
