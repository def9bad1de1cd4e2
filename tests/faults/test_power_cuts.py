"""A power cut: any file of the repository may be empty or full of zeros after it."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.errors import GitmailError
from gitmail.store.doctoring import examine
from tests.damages import make_patient
from tests.helpers import git
from tests.processes import assert_sound, needs_git, posix_only

pytestmark = [needs_git, posix_only]

# All that gitmail and git have there but the packs, whose content only clones have.
FILES = (
    *("HEAD", "config", "description", "hooks/pre-receive", "packed-refs", "shallow"),
    *("refs/heads/gitmail", "refs/tags/one", "refs/remotes/origin/gitmail", "index"),
    *("logs/refs/heads/gitmail", "FETCH_HEAD", "info/exclude"),
    *("objects/info/commit-graph", "objects/info/packs", "objects/info/alternates"),
    *("objects/pack/multi-pack-index", "objects/pack/*.idx", "objects/pack/*.bitmap"),
    *("gitmail/index.sqlite", "gitmail/index.sqlite-wal", "gitmail/shown"),
    *("gitmail/checked", "gitmail/remote.json", "gitmail/bundled"),
    *("gitmail/write.lock", "gitmail/index.lock", "gitmail/doctor.lock"),
)


def prepare(box: Path) -> str:
    """Make a mailbox with all that git can keep of it; return its tip."""
    make_patient(box)
    git(box, "tag", "one", "gitmail~2")
    git(box, "update-ref", "refs/remotes/origin/gitmail", "gitmail~1")
    git(box, "repack", "-q", "-a", "-d", "--write-bitmap-index")
    git(box, "commit-graph", "write", "--reachable")
    git(box, "multi-pack-index", "write")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Four.")
    return git(box, "rev-parse", "gitmail").strip()


def use(box: Path) -> None:
    """Read and write; only what gitmail says itself may be raised."""
    for act in (
        lambda mailbox: mailbox.agent("reviewer").poll(show="any"),
        lambda mailbox: mailbox.agent("builder").send(to="reviewer", body="Five."),
        lambda mailbox: mailbox.status(),
        lambda mailbox: mailbox.log(),
        lambda mailbox: mailbox.verify(),
    ):
        with suppress(GitmailError), Mailbox.open(box) as mailbox:
            act(mailbox)


def zeros(file: Path) -> None:
    """Fill a file with zeros."""
    file.write_bytes(bytes(file.stat().st_size or 100))


def empty(file: Path) -> None:
    """Leave nothing of a file."""
    os.truncate(file, 0)


@pytest.mark.parametrize("spoil", [empty, zeros])
@pytest.mark.parametrize("name", FILES)
def test_whatever_file_a_power_cut_spoils_the_mailbox_comes_back(
    tmp_path: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    """Every call works or says what to do, and a repair leads back to all the mail."""
    box = tmp_path / "box"
    tip = prepare(box)
    files = sorted((box / ".git").glob(name)) or [box / ".git" / name]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        file.chmod(file.stat().st_mode | 0o200)
        spoil(file)
    shutil.copytree(box, tmp_path / "used", symlinks=True)
    use(tmp_path / "used")

    value = examine(box, repair=True, moment=system_clock())

    assert [each for each in value.findings if not each.is_repaired] == []
    assert examine(box, repair=False, moment=system_clock()).findings == ()
    assert git(box, "rev-parse", "gitmail").strip() == tip
    assert_sound(box)
    with Mailbox.open(box) as mailbox:
        assert mailbox.verify().findings == ()
        bodies = [
            each.message.body
            for each in mailbox.agent("reviewer").poll(show="any").items
        ]
    assert bodies == ["One.", "Two.", "Three.", "Four."]
