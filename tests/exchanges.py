"""What the tests of syncing share: remotes, clones, and both ways to reach them."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitmail import Agent, Mailbox, config
from gitmail.clock import Clock
from gitmail.mailbox.exchange_values import Synced
from gitmail.store.transport import Git
from tests.helpers import files_in_tip, git

both = pytest.mark.parametrize("how", ["git", "dulwich"])
"""Runs a test with an installed git, and without."""


def by(how: str) -> Git | None:
    """Return the git to use, None to do without."""
    if how == "dulwich":
        return None
    found = config.git()
    assert found is not None
    return found


def make_remote(folder: Path, branch: str = "main") -> Path:
    """Make an empty bare repository, as a host gives one."""
    git(folder.parent, "init", "-q", "--bare", "-b", branch, str(folder))
    return folder


def shared(mailbox: Mailbox, folder: Path, how: str) -> Path:
    """Return a new remote that a mailbox was synced with."""
    remote = make_remote(folder)
    mailbox.set_remote(str(remote))
    mailbox.sync(git=by(how))
    return remote


@contextmanager
def cloned(folder: Path, url: object, how: str, clock: Clock) -> Iterator[Mailbox]:
    """Open a new clone of a mailbox."""
    with Mailbox.clone(folder, str(url), git=by(how), clock=clock) as mailbox:
        yield mailbox


def in_turn(how: str, *mailboxes: Mailbox) -> list[Synced]:
    """Sync several mailboxes, and the first ones again, until all have all."""
    return [each.sync(git=by(how)) for each in (*mailboxes, *mailboxes[:-1])]


def bodies_of(agent: Agent) -> list[str]:
    """Return the bodies of all mail to an agent, sorted."""
    items = agent.poll(show="any", limit=200).items
    return sorted(item.message.body for item in items)


def assert_same(*mailboxes: Mailbox) -> None:
    """Check that several mailboxes have the same commit and files, and are sound."""
    first = mailboxes[0]
    for each in mailboxes:
        status = each.status()
        assert (status.tip, status.uncommitted) == (first.status().tip, ())
        assert files_in_tip(each.path) == files_in_tip(first.path)
        assert git(each.path, "fsck", "--strict", "--no-dangling") == ""


def install_hook(remote: Path, script: str, name: str = "pre-receive") -> Path:
    """Install a hook in a repository."""
    hook = remote / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    hook.chmod(0o755)
    return hook


def in_clone(remote: Path, work: Path, act: Callable[[Path], object]) -> str:
    """Do something in an ordinary clone of a remote's mailbox; return its commit."""
    git(remote.parent, "clone", "-q", "-b", "gitmail", str(remote), str(work))
    act(work)
    return git(work, "rev-parse", "HEAD").strip()


def lose(remote: Path, object_id: str) -> None:
    """Remove one object from a repository whose objects are in packs."""
    packs = remote / "objects" / "pack"
    aside = remote / "packs-before"
    shutil.move(packs, aside)
    packs.mkdir()
    for pack in aside.glob("*.pack"):
        with pack.open("rb") as stream:
            git_unpack(remote, stream.read())
    shutil.rmtree(aside)
    loose = remote / "objects" / object_id[:2] / object_id[2:]
    loose.unlink()


def git_unpack(remote: Path, pack: bytes) -> None:
    """Write the objects of a pack as loose ones."""
    import subprocess  # noqa: PLC0415 - only here

    command = ["git", "-C", str(remote), "unpack-objects", "-q"]
    subprocess.run(command, input=pack, check=True, timeout=30)
