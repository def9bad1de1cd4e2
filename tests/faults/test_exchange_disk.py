"""Disks that are full at either end of a sync: who is told to make room, and where."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from gitmail import Mailbox
from tests.exchanges import bodies_of, both, by, cloned, shared
from tests.helpers import SettableClock, environment, git
from tests.processes import LIMIT_S, needs_git, posix_only

pytestmark = [needs_git, posix_only]
LONG = "".join(f"{number:x}\n" for number in range(0, 9_000_000, 1_000))
"""More than the limit even when it is compressed."""


def cramped_sync(mailbox: Path, how: str) -> dict[str, Any]:
    """Sync where no file may be large, and return the error."""
    words = ("-P", "-m", "gitmail", "--json", "--mailbox", str(mailbox), "sync")
    done = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 16; exec "$0" "$@"', sys.executable, *words],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(GITMAIL_GIT="git" if how == "git" else "off"),
        timeout=LIMIT_S,
    )
    told = [line for line in done.stderr.splitlines() if line.startswith("{")]
    error: dict[str, Any] = json.loads(told[-1])["error"]
    return error


@both
def test_a_fetch_without_room_here_says_so_and_leaves_nothing(
    mailbox: Mailbox, tmp_path: Path, clock: SettableClock, how: str
) -> None:
    """Else each try would take more room; when there is some, the mail comes."""
    remote = shared(mailbox, tmp_path / "remote.git", how)
    with cloned(tmp_path / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body=LONG)
        clone.sync(git=by(how))
    error = cramped_sync(mailbox.path, how)

    assert error["code"] == "disk_full"
    assert error["path"].startswith(str(mailbox.path))
    packs = (mailbox.path / ".git" / "objects" / "pack").iterdir()
    assert [pack for pack in packs if not pack.name.startswith("pack-")] == []
    mailbox.sync(git=by(how))
    assert bodies_of(mailbox.agent("reviewer")) == [LONG]


@both
def test_a_push_without_room_there_says_where_room_is_needed(
    mailbox: Mailbox, tmp_path: Path, how: str
) -> None:
    """What was sent is safe here, and goes when there is room."""
    remote = shared(mailbox, tmp_path / "remote.git", how)
    mailbox.agent("builder").send(to="reviewer", body=LONG)
    error = cramped_sync(mailbox.path, how)

    assert error["code"] == "remote_full"
    assert error["url"] == str(remote)
    assert git(remote, "fsck", "--strict", "--no-dangling") == ""
    assert mailbox.sync(git=by(how)).pushed_count == 1
