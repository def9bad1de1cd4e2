"""`doctor`: what crashes leave behind is found and mended (CAPABILITIES V7)."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.errors import LockTimeoutError
from gitmail.store import doctoring
from gitmail.store.doctoring import examine
from gitmail.store.findings import Checkup, Kind
from gitmail.store.lock import Lock
from gitmail.store.slots import _host
from tests import damages
from tests.damages import (
    FACT,
    LEFT_OVERS,
    OBJECTS,
    REF,
    REPOSITORY,
    Damage,
    Found,
    blob_at,
    explode,
    leave,
    loose,
    make_patient,
    message_of,
)
from tests.faults.test_hand_edits import EDITS
from tests.helpers import environment, git
from tests.mailfiles import Clone
from tests.processes import assert_sound, needs_git, posix_only

pytestmark = [needs_git, posix_only]

NOTES_OF_ITS_OWN = (
    "gitmail/checked",
    "gitmail/doctor.lock",
    "gitmail/fold.lock",
    "gitmail/write.lock",
)


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail and memory, closed."""
    return make_patient(tmp_path / ".gitmail")


def checkup(box: Path) -> Checkup:
    """Look at a mailbox."""
    return examine(box, repair=False, moment=system_clock())


def repair(box: Path) -> Checkup:
    """Mend a mailbox."""
    return examine(box, repair=True, moment=system_clock())


def found_in(value: Checkup) -> Found:
    """Return where something was found, and what."""
    return {(each.path, each.kind) for each in value.findings}


def everything(box: Path) -> dict[str, object]:
    """Return all that is below a folder, without what looking at it writes."""
    return {
        name: path.read_bytes() if path.is_file() else path.lstat().st_mode
        for path in box.rglob("*")
        if (name := path.relative_to(box).as_posix()).removeprefix(".git/")
        not in NOTES_OF_ITS_OWN
        and not name.startswith(".git/gitmail/index")
    }


def objects(box: Path) -> set[str]:
    """Return every object that git finds, with its kind and size."""
    rows = git(box, "cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    return set(rows.splitlines())


def state(box: Path) -> tuple[str, list[str], list[str]]:
    """Return the tip, the mail, and what is remembered."""
    with Mailbox.open(box) as mailbox:
        reviewer = mailbox.agent("reviewer")
        mail = [each.message.body for each in reviewer.poll(show="any").items]
        memory = [each.text for each in reviewer.memory.list().records]
        return mailbox.status().tip, mail, memory


@pytest.mark.parametrize("damage", [*LEFT_OVERS, *OBJECTS, *REPOSITORY])
def test_what_is_wrong_is_found_and_nothing_is_touched(
    box: Path, damage: Damage
) -> None:
    """Without --repair the doctor only looks."""
    expected = damage(box)
    before = everything(box)

    value = checkup(box)

    assert found_in(value) == expected
    assert value.left_count == len(value.findings) > 0
    assert all("gitmail doctor --repair" in str(f.advice) for f in value.findings)
    assert value.rescued is None
    assert everything(box) == before


@pytest.mark.parametrize("damage", [*LEFT_OVERS, *OBJECTS, *REPOSITORY])
def test_what_is_wrong_is_mended_and_nothing_is_lost(box: Path, damage: Damage) -> None:
    """All objects are there again, the tip is the same, and git finds no fault."""
    before, kept = state(box), objects(box)
    expected = damage(box)

    value = repair(box)

    assert expected <= found_in(value)
    assert [each for each in value.findings if not each.is_repaired] == []
    assert found_in(checkup(box)) == set()
    tip, mail, memory = state(box)
    assert (mail[:3], memory) == before[1:]
    assert git(box, "merge-base", tip, before[0]).strip() == before[0]
    assert kept <= objects(box)
    assert_sound(box)
    _assert_usable(box)


def test_a_healthy_mailbox_has_no_findings(box: Path) -> None:
    """Whether it is looked at or mended, as it is or after git has cleaned it up."""
    for look in (checkup, repair):
        assert look(box) == Checkup(path=str(box), findings=(), rescued=None)
    explode(box)
    assert found_in(checkup(box)) == set()
    git(box, "gc", "-q")
    git(box, "pack-refs", "--all")
    before = everything(box)
    assert found_in(repair(box)) == set()
    assert everything(box) == before


def test_a_mailbox_that_is_open_is_mended_through_it(box: Path) -> None:
    """It goes on with the mended files."""
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").poll()
        expected = damages.garble_the_index(box) | damages.empty_the_branch(box)
        assert found_in(mailbox.doctor()) == expected
        assert mailbox.doctor(repair=True).left_count == 0
        mailbox.agent("builder").send(to="reviewer", body="Four.")
        assert len(mailbox.agent("reviewer").poll(show="any").items) == 4
        assert mailbox.doctor().findings == ()


@pytest.mark.parametrize("edit", EDITS)
def test_files_on_disk_are_put_back_and_a_persons_are_kept(
    tmp_path: Path, edit: Callable[[Path], dict[Path, str]]
) -> None:
    """What somebody wrote is moved aside as it is."""
    box = make_patient(tmp_path / ".gitmail")
    before = everything(box)
    edited = edit(box)
    with Mailbox.open(box) as mailbox:
        expected = {
            (path, Kind[f"FILE_{what.upper()}"])
            for path, what in mailbox.status().uncommitted
        }
    theirs = {
        path.relative_to(box): _content(path)
        for path in edited
        if path.is_file() or path.is_symlink()
    }
    assert found_in(checkup(box)) == expected

    value = repair(box)

    assert expected <= found_in(value)
    assert value.left_count == 0
    assert everything(box) == before | _rescued_entries(box)
    for path, data in theirs.items():
        kept = Path(str(value.rescued), "files", path)
        assert _content(kept) == data
    assert_sound(box)


@pytest.mark.parametrize("lost", ["gitmail~2", "gitmail~1^{tree}", f"gitmail~2:{FACT}"])
def test_what_cannot_be_rebuilt_is_left_with_the_command_that_brings_it(
    box: Path, tmp_path: Path, lost: str
) -> None:
    """A clone has it; what is damaged of it is kept all the same."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--no-local", str(box), str(clone))
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").memory.set("fact", "parser", "owner", "It is lead.")
    git(clone, "pull", "-q")
    explode(box)
    object_id = git(box, "rev-parse", lost.replace("gitmail~", "gitmail~1~")).strip()
    file = loose(box, object_id)
    torn = file.read_bytes()[:-3]
    file.write_bytes(torn)

    value = repair(box)

    (missing,) = (each for each in value.findings if not each.is_repaired)
    assert missing.kind is Kind.MISSING_OBJECT
    assert object_id in missing.detail
    (kept,) = Path(str(value.rescued)).rglob(object_id[2:])
    assert kept.read_bytes() == torn
    assert found_in(repair(box)) == {(missing.path, Kind.MISSING_OBJECT)}

    command = str(missing.advice).split(": ", 1)[1].replace("CLONE", str(clone))
    subprocess.run(shlex.split(command), check=True, env=environment(), timeout=30)
    assert found_in(repair(box)) == set()
    assert_sound(box)


def test_a_folder_is_rebuilt_from_the_files_that_are_in_it(box: Path) -> None:
    """A folder with a file that is not the tip's is another folder, and stays lost."""
    folder = str(Path(message_of(box)).parent)
    explode(box)
    loose(box, blob_at(box, folder)).unlink()
    (box / message_of(box)).unlink()

    (left,) = repair(box).findings

    assert (left.path, left.kind) == (folder, Kind.MISSING_OBJECT)
    assert not left.is_repaired


def test_a_branch_of_which_nothing_is_known_is_left_to_a_person(box: Path) -> None:
    """The command that names the commit is told, and it works."""
    tip = git(box, "rev-parse", "gitmail").strip()
    damages.lose_the_branch(box)
    for name in ("shown", "checked"):
        (box / ".git" / "gitmail" / name).unlink(missing_ok=True)

    (left,) = repair(box).findings

    assert (left.kind, left.is_repaired) == (Kind.BRANCH_UNREADABLE, False)
    command = str(left.advice).split(": ", 1)[1].replace("COMMIT", tip)
    subprocess.run(shlex.split(command), check=True, env=environment(), timeout=30)
    assert found_in(repair(box)) == set()
    assert_sound(box)


def test_a_branch_comes_back_only_with_all_its_objects(box: Path) -> None:
    """Else its history would seem sound, and is not."""
    explode(box)
    loose(box, git(box, "rev-parse", "gitmail~1").strip()).unlink()
    damages.empty_the_branch(box)

    value = repair(box)

    assert {each.kind for each in value.findings} == {
        Kind.BRANCH_UNREADABLE,
        Kind.MISSING_OBJECT,
    }
    assert not any(each.is_repaired for each in value.findings)
    assert (box / REF).read_bytes() == b""


def test_a_branch_that_went_two_ways_is_left_to_a_person(box: Path) -> None:
    """What the files show and what is packed must be of one history."""
    git(box, "update-ref", f"refs/heads/{REF.name}", "gitmail~2")
    tree = git(box, "rev-parse", "gitmail^{tree}").strip()
    other = git(box, "commit-tree", tree, "-p", "gitmail", "-m", "Another").strip()
    git(box, "update-ref", f"refs/heads/{REF.name}", other)
    git(box, "pack-refs", "--all")
    (box / REF).write_bytes(b"")

    value = repair(box)

    assert {each.kind for each in value.findings} == {Kind.BRANCH_UNREADABLE}
    assert value.left_count == 1


def test_a_lock_that_may_be_in_use_is_left_alone(box: Path) -> None:
    """It is young, or somebody has it open, or a git is at work in the mailbox."""
    lock = box / f"{REF}.lock"
    lock.touch()
    assert repair(box).findings == ()

    leave(lock)
    with lock.open("rb"):
        (held,) = repair(box).findings
    with subprocess.Popen(
        ["git", "-C", str(box), "cat-file", "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as git_at_work:
        assert git_at_work.stdin
        assert git_at_work.stdout
        git_at_work.stdin.write(b"gitmail\n")
        git_at_work.stdin.flush()
        assert git_at_work.stdout.readline()
        (possible,) = repair(box).findings
        git_at_work.stdin.close()
        git_at_work.stdout.read()
    for each, holder in ((held, os.getpid()), (possible, git_at_work.pid)):
        assert (each.kind, each.is_repaired) == (Kind.STALE_LOCK, False)
        assert f"process {holder} " in each.detail
    assert lock.exists()

    assert repair(box).left_count == 0
    assert not lock.exists()


def test_a_lock_of_a_running_gitmail_is_left_alone(box: Path) -> None:
    """However old it is; the slot that it links to names the process."""
    owner = f"{_host()}-{os.getppid()}-0123abcd"
    slot = leave(box / ".git" / "gitmail" / f"ref-{owner}-0a")
    os.link(slot, box / f"{REF}.lock")

    assert repair(box).findings == ()
    assert slot.exists()


def test_young_temporary_files_are_left_alone(box: Path) -> None:
    """Somebody is still writing them."""
    damages.leave_drafts(box)
    for path in (box / ".git").rglob("*"):
        os.utime(path)
    assert repair(box).findings == ()


def test_a_shallow_mailbox_is_named_with_the_command_that_fills_it(
    box: Path, tmp_path: Path
) -> None:
    """Its history is somewhere else."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--no-local", str(box), str(clone))
    old = git(box, "rev-parse", "gitmail~3").strip()
    (box / ".git" / "shallow").write_text(f"{old}\n", "ascii")
    explode(box)
    loose(box, git(box, "rev-parse", f"{old}:").strip())
    for commit in git(clone, "rev-list", f"{old}~1").split():
        loose(box, commit).unlink()

    (left,) = repair(box).findings

    assert (left.kind, left.is_repaired) == (Kind.SHALLOW, False)
    command = str(left.advice).split(": ", 1)[1].replace("REMOTE", f"file://{clone}")
    subprocess.run(shlex.split(command), check=True, env=environment(), timeout=30)
    assert found_in(checkup(box)) == set()
    assert_sound(box)


def test_borrowed_objects_are_named_with_the_command_that_copies_them(
    box: Path, tmp_path: Path
) -> None:
    """They count as there, as long as the other repository is."""
    lender = tmp_path / "lender"
    git(tmp_path, "clone", "-q", "--bare", "--no-local", str(box), str(lender))
    mark = box / ".git" / "objects" / "info" / "alternates"
    mark.write_text(f"{lender / 'objects'}\n", "utf-8")
    shutil.rmtree(box / ".git" / "objects" / "pack")
    (box / ".git" / "objects" / "pack").mkdir()

    (left,) = repair(box).findings

    assert (left.kind, left.is_repaired) == (Kind.ALTERNATES, False)
    command = str(left.advice).split(": ", 1)[1].split(";")[0]
    subprocess.run(shlex.split(command), check=True, env=environment(), timeout=30)
    mark.unlink()
    shutil.rmtree(lender)
    assert found_in(checkup(box)) == set()
    assert_sound(box)


def test_settings_that_a_person_added_stay(box: Path) -> None:
    """Only what the mailbox rests on is set again, in git's own way."""
    damages.change_settings(box)
    before = (box / ".git" / "config").read_text("utf-8")
    repair(box)

    assert (box / ".git" / "config").read_text("utf-8").startswith(before)
    for name, value in (
        ("core.fsync", "all"),
        ("receive.denyDeletes", "true"),
        ("remote.origin.url", "/somewhere"),
    ):
        assert git(box, "config", name) == f"{value}\n"


def test_settings_with_which_git_does_not_work_leave_the_others(box: Path) -> None:
    """Each is put right, and the file as it was before the first is kept."""
    damages.set_what_git_refuses(box)
    before = (box / ".git" / "config").read_bytes()

    value = repair(box)

    assert value.left_count == 0
    assert git(box, "config", "remote.origin.url").strip() == "/somewhere"
    assert git(box, "config", "core.bare").strip() == "true"
    assert git(box, "config", "--get-regexp", "extensions", check=False) == ""
    assert Path(str(value.rescued), "git", "config").read_bytes() == before


def test_refs_that_git_keeps_otherwise_are_left_to_a_person(box: Path) -> None:
    """They are not lost, so nothing is put in their place."""
    with (box / ".git" / "config").open("a", encoding="ascii") as stream:
        stream.write("[extensions]\n\trefStorage = reftable\n")

    (left,) = repair(box).findings

    assert (left.kind, left.is_repaired) == (Kind.SETTING, False)
    assert "refs migrate --ref-format=files" in str(left.advice)


def test_a_link_in_the_place_of_what_was_rescued_is_not_followed(
    box: Path, tmp_path: Path
) -> None:
    """It may lead to anywhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (box / ".git" / "gitmail" / "rescued").symlink_to(elsewhere)
    (box / "mine.txt").write_text("Mine.", "ascii")

    value = repair(box)

    assert value.left_count == 0
    assert list(elsewhere.iterdir()) == []
    assert Path(str(value.rescued), "files", "mine.txt").read_text("ascii") == "Mine."
    assert Path(str(value.rescued)).is_relative_to(box)


def test_what_was_replaced_is_kept_as_it_was(box: Path) -> None:
    """Also what was in a file that could not be read."""
    damages.garble_the_settings(box)
    said = (box / ".git" / "config").read_text("ascii")

    value = repair(box)

    assert Path(str(value.rescued), "git", "config").read_text("ascii") == said


def test_a_second_salvage_of_the_same_objects_is_written_all_the_same(
    box: Path,
) -> None:
    """A pack is named after its content, so the second has the name of the first."""
    git(box, "gc", "-q")
    kept = objects(box)
    for _ in range(2):
        (pack,) = (box / ".git" / "objects" / "pack").glob("*.pack")
        damages.overwrite(pack, -4, b"\0\0\0\0")
        assert repair(box).left_count == 0
        assert objects(box) == kept
    assert_sound(box)


def test_two_doctors_do_not_mend_at_once(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits, and says so in the end; looking goes on."""
    monkeypatch.setattr(doctoring, "LOCK_TIMEOUT_S", 0.02)
    with Lock(box / ".git" / "gitmail" / "doctor.lock").held(1):
        with pytest.raises(LockTimeoutError):
            repair(box)
        assert checkup(box).findings == ()


def test_what_a_busy_writer_keeps_from_being_mended_is_left(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says who is in the way, and goes on with the rest."""
    monkeypatch.setattr(doctoring, "LOCK_TIMEOUT_S", 0.02)
    (box / "README.md").unlink()
    damages.garble_the_index(box)
    with Lock(box / ".git" / "gitmail" / "write.lock").held(1):
        value = repair(box)

    assert {(each.kind, each.is_repaired) for each in value.findings} == {
        (Kind.FILE_DELETED, False),
        (Kind.DAMAGED_INDEX, True),
    }
    assert "write.lock" in next(str(f.advice) for f in value.findings if f.advice)
    assert found_in(repair(box)) == {("README.md", Kind.FILE_DELETED)}


def test_a_mailbox_that_says_nonsense_of_itself_is_named(
    box: Path, tmp_path: Path
) -> None:
    """Nothing on the disk is wrong, and yet nobody can open it."""
    Clone(box, tmp_path / "clone").push({"mailbox.md": b"Nonsense."})

    (left,) = (each for each in repair(box).findings if not each.is_repaired)

    assert left.kind is Kind.UNUSABLE
    assert "mailbox.md" in left.detail


def _assert_usable(box: Path) -> None:
    """Check that whoever writes next can, and is read."""
    with Mailbox.open(box) as mailbox:
        before = len(mailbox.agent("reviewer").poll(show="any").items)
        mailbox.agent("builder").send(to="reviewer", body="It works.")
        assert len(mailbox.agent("reviewer").poll(show="any").items) == before + 1


def _content(path: Path) -> object:
    return path.readlink() if path.is_symlink() else path.read_bytes()


def _rescued_entries(box: Path) -> dict[str, object]:
    return {n: e for n, e in everything(box).items() if n.startswith(".git/gitmail/r")}
