"""Making a mailbox: where one may be, and what is told where none may."""

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.config import load
from gitmail.errors import (
    CorruptMailboxError,
    DiskError,
    FolderInUseError,
    MailboxNotFoundError,
)
from gitmail.store.refs import REF


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_no_mailbox_is_made_where_other_files_are(tmp_path: Path) -> None:
    """A project named by mistake keeps its README and all else (DESIGN I10)."""
    (tmp_path / "README.md").write_text("mine", "utf-8")
    before = contents(tmp_path)

    with pytest.raises(FolderInUseError):
        Mailbox.init(tmp_path)

    assert contents(tmp_path) == before


@pytest.mark.parametrize("inside", ["messages", ".git", "new", "messages/new/below"])
def test_no_mailbox_is_made_inside_another(tmp_path: Path, inside: str) -> None:
    """Nobody would find it, and `status` would call it a hand edit."""
    with Mailbox.init(tmp_path / "box") as mailbox:
        mailbox.register("builder")
        mailbox.agent("builder").send(to="builder", body="A note.")

        with pytest.raises(FolderInUseError):
            Mailbox.init(tmp_path / "box" / inside)


def test_a_folder_that_is_a_project_means_the_mailbox_in_it(tmp_path: Path) -> None:
    """Whoever names the project need not know the name of the folder."""
    box = tmp_path / ".gitmail"
    Mailbox.init(box).close()

    settings = load(mailbox=str(tmp_path))

    assert settings.find() == box
    assert settings.place_to_init() == box


def test_all_local_state_may_be_deleted(tmp_path: Path) -> None:
    """What is derived is made anew without a word (DESIGN I1)."""
    box = tmp_path / "box"
    with Mailbox.init(box) as mailbox:
        mailbox.register("builder")
        sent = mailbox.agent("builder").send(to="builder", body="A note.")
    shutil.rmtree(box / ".git" / "gitmail")

    with Mailbox.open(load(mailbox=str(box)).find()) as mailbox:
        agent = mailbox.agent("builder")
        assert [item.id for item in agent.poll().items] == [sent.message.id]
        agent.send(to="builder", body="Another.")
        assert mailbox.status().uncommitted == ()


def test_a_branch_that_is_gone_is_damage_and_never_a_new_mailbox(
    tmp_path: Path,
) -> None:
    """To start anew would hide mail that git still has."""
    box = tmp_path / "box"
    Mailbox.init(box).close()
    (box / ".git" / REF).unlink()

    with pytest.raises(CorruptMailboxError, match="refs/heads/gitmail is missing"):
        Mailbox.open(box).status()
    with pytest.raises(CorruptMailboxError, match="refs/heads/gitmail is missing"):
        Mailbox.init(box)


def test_an_ordinary_repository_is_no_mailbox(tmp_path: Path) -> None:
    """Not even one with a branch and a folder of these names, as a clone has."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    Mailbox.init(tmp_path / "box").close()
    clone = tmp_path / "clone"
    command = ["git", "clone", "-q", str(tmp_path / "box"), str(clone)]
    subprocess.run(command, check=True)
    (clone / ".git" / "gitmail").mkdir()

    with pytest.raises(MailboxNotFoundError):
        Mailbox.open(clone)


def test_a_folder_that_cannot_be_looked_into_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may look everywhere, so the system's answer is made up here."""
    Mailbox.init(tmp_path / "box").close()
    look = Path.stat

    def refuse(path: Path, **options: bool) -> object:
        if path.name == ".git":
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)

    with pytest.raises(DiskError) as caught:
        Mailbox.open(tmp_path / "box")

    assert "ermission" in caught.value.message


@pytest.mark.parametrize(("name", "project"), [("a\nb", "a"), ("\x01", "project")])
def test_a_folder_of_any_name_can_hold_a_mailbox(
    tmp_path: Path, name: str, project: str
) -> None:
    """The project's name is the folder's, as far as it fits into one line."""
    with Mailbox.init(tmp_path / name / ".gitmail") as mailbox:
        assert mailbox.charter().project == project


def test_a_clock_before_git_knows_time_makes_a_sound_commit(tmp_path: Path) -> None:
    """Git has no time before 1970 (gitformat-pack(5) and fsck's badDate)."""
    early = datetime(1960, 1, 1, tzinfo=UTC)
    with Mailbox.init(tmp_path / "box", clock=lambda: early) as mailbox:
        mailbox.register("builder")
        mailbox.agent("builder").send(to="builder", body="An early note.")
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    command = ["git", "-C", str(tmp_path / "box"), "fsck", "--strict"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")
