"""The guard: what plain git pushes into a mailbox is verified before it is accepted."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.errors import InvalidArgumentError
from gitmail.mailbox.guarding import parse_updates
from gitmail.records.message import blob_id
from gitmail.store.creation import guard_script, has_guard, install_guard
from gitmail.store.lost import LOST
from gitmail.store.refs import REF
from tests.helpers import IDENTITY, environment, files_in_tip, git
from tests.mailfiles import Clone, message_file
from tests.processes import LIMIT_S, assert_sound, make_mailbox, needs_git, posix_only
from tests.tampering import forge

pytestmark = needs_git
PATH, DATA = message_file("builder", ["reviewer"], "Pushed.")
HOOK = Path(".git", "hooks", "pre-receive")


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with a message."""
    box = make_mailbox(tmp_path / "project" / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="There before.")
    return box


@pytest.fixture(name="work")
def _work(box: Path, tmp_path: Path) -> Path:
    """Return an ordinary clone of the mailbox."""
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(box), str(work))
    return work


def push(
    work: Path, *words: str, **settings: str
) -> "subprocess.CompletedProcess[str]":
    """Push from a clone, by default the branch."""
    return subprocess.run(
        ["git", "-C", str(work), "push", "-q", "origin", *(words or [f"HEAD:{REF}"])],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(**IDENTITY, **settings),
        timeout=LIMIT_S,
    )


def commit(work: Path, message: str = "By hand", **identity: str) -> str:
    """Commit all that was done in a clone; return the commit."""
    git(work, "add", "-A")
    subprocess.run(
        ["git", "-C", str(work), "commit", "-q", "--allow-empty", "-m", message],
        check=True,
        env=environment(**(IDENTITY | identity)),
        timeout=LIMIT_S,
    )
    return git(work, "rev-parse", "HEAD").strip()


def tip(box: Path) -> str:
    """Return the commit at the tip of a mailbox."""
    return git(box, "rev-parse", REF).strip()


def first_message(work: Path) -> Path:
    """Return the file of the message that is there."""
    return next((work / "messages").rglob("*.md"))


def test_an_honest_push_is_accepted_and_seen_at_once(box: Path, work: Path) -> None:
    """What a person may change in a clone, they may push."""
    with Mailbox.open(box) as mailbox:
        (work / "README.md").write_text("Ours.\n", "utf-8")
        made = commit(work)
        done = push(work)

        assert (done.returncode, done.stderr) == (0, "")
        assert mailbox.status().tip == made
    assert_sound(box)


def test_what_gitmail_wrote_in_another_clone_is_accepted(
    box: Path, tmp_path: Path
) -> None:
    """Many commits at once, which git keeps in a pack of their own until then."""
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", "--bare", str(box), str(other / ".git"))
    with Mailbox.open(other) as mailbox:
        builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
        for number in range(30):
            message = builder.send(to="reviewer", body=f"Number {number}.").message
            reviewer.ack(message.id)
            builder.memory.set("world", "x", "y", str(number))
        made = mailbox.status().tip
    done = push(other, f"gitmail:{REF}")

    assert (done.returncode, done.stderr) == (0, "")
    assert tip(box) == made
    assert_sound(box)


def test_a_message_that_was_edited_is_refused_by_name(box: Path, work: Path) -> None:
    """The person who pushes reads which file, which commit and which rule."""
    before, files = tip(box), files_in_tip(box)
    message = first_message(work)
    message.chmod(0o644)
    message.write_text(message.read_text("utf-8") + "And more.\n", "utf-8")
    made = commit(work)
    done = push(work)

    path = message.relative_to(work).as_posix()
    assert done.returncode != 0
    assert f"changed, commit {made[:10]} by A Person: {path}" in done.stderr
    assert (tip(box), files_in_tip(box)) == (before, files)
    assert_sound(box)


def test_a_bad_commit_below_a_good_one_is_refused(box: Path, work: Path) -> None:
    """Every commit is judged, not the tree that comes out."""
    before = tip(box)
    message = first_message(work)
    data = message.read_bytes()
    message.unlink()
    commit(work)
    message.write_bytes(data)
    commit(work)

    assert "removed, commit" in push(work).stderr
    assert tip(box) == before


def test_mail_in_the_name_of_an_agent_is_refused_from_a_person(
    box: Path, work: Path
) -> None:
    """Who commits as the agent passes: names are not proven, only held to."""
    (work / PATH).parent.mkdir(parents=True, exist_ok=True)
    (work / PATH).write_bytes(DATA)
    commit(work)
    assert "sender, commit" in push(work).stderr
    git(work, "reset", "-q", "--soft", "HEAD~1")
    address = "builder@gitmail.invalid"
    role = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "builder"), ("EMAIL", address))
    }
    dates = {"GIT_COMMITTER_DATE": "2026-11-30T14:38:00Z"}
    git(work, "add", "-A")
    subprocess.run(
        ["git", "-C", str(work), "commit", "-q", "-m", "By hand"],
        check=True,
        env=environment(**(IDENTITY | role | dates)),
        timeout=LIMIT_S,
    )

    assert push(work).returncode == 0
    with Mailbox.open(box) as mailbox:
        found = [item.id for item in mailbox.agent("reviewer").poll().items]
    assert blob_id(DATA) in found


def test_a_clock_that_is_hours_off_is_accepted_and_one_of_next_week_is_not(
    box: Path, work: Path
) -> None:
    """What is told and nothing more by `verify` stops no push, and what fails does."""
    before = tip(box)
    now = system_clock()

    def dated(days: float) -> dict[str, str]:
        date = (now + timedelta(days=days)).isoformat()
        return {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}

    commit(work, **dated(7))
    assert "date, commit" in push(work).stderr
    assert tip(box) == before
    git(work, "reset", "-q", "--hard", before)
    commit(work, **dated(-0.2))
    made = commit(work, **dated(0.2))

    assert push(work).returncode == 0
    assert tip(box) == made
    with Mailbox.open(box) as mailbox:
        verified = mailbox.verify()
    assert (verified.finding_count, verified.remark_count) == (0, 2)


def test_other_branches_only_grow(box: Path, work: Path) -> None:
    """They are not mail, and not anybody's to take away either."""
    first = commit(work)
    assert push(work, "HEAD:refs/heads/other").returncode == 0
    commit(work)
    assert push(work, "HEAD:refs/heads/other").returncode == 0
    git(box, "config", "receive.denyNonFastForwards", "false")
    git(box, "config", "receive.denyDeletes", "false")
    now = git(box, "rev-parse", "other")

    back = push(work, "--force", f"{first}:refs/heads/other")
    gone = push(work, "--delete", "other")

    assert "does not stand on what is there" in back.stderr
    assert "may not be deleted" in gone.stderr
    assert git(box, "rev-parse", "other") == now


def test_nobody_pushes_what_would_be_brought_back(box: Path, work: Path) -> None:
    """A repair would take it for mail that the branch had."""
    made = commit(work)
    done = push(work, f"HEAD:{LOST}/{made}")

    assert done.returncode != 0
    assert "gitmail alone" in done.stderr
    assert git(box, "for-each-ref", LOST) == ""


def test_the_mailbox_itself_is_never_rewound(box: Path, work: Path) -> None:
    """Also where git's own settings would let it."""
    before = tip(box)
    git(box, "config", "receive.denyNonFastForwards", "false")
    git(box, "config", "receive.denyDeletes", "false")

    back = push(work, "--force", f"HEAD~1:{REF}")
    gone = push(work, "--delete", REF)

    assert "does not stand on what is there" in back.stderr
    assert "may not be deleted" in gone.stderr
    assert tip(box) == before


def test_one_bad_branch_refuses_the_whole_push(box: Path, work: Path) -> None:
    """As git has it: a hook accepts all of a push or none of it."""
    before = tip(box)
    (work / "README.md").write_text("Ours.\n", "utf-8")
    good = commit(work)
    first_message(work).unlink()
    bad = commit(work)
    done = push(work, f"{good}:refs/heads/other", f"{bad}:{REF}")

    assert done.returncode != 0
    assert tip(box) == before
    assert git(box, "branch", "--list", "other") == ""


def test_what_was_wrong_before_a_push_does_not_stop_it(
    box: Path, work: Path, tmp_path: Path
) -> None:
    """Nobody who pushes now can do anything about it."""
    guard = (box / HOOK).read_bytes()
    forge(Clone(box, tmp_path / "clone"), {"notes.txt": b"Text."})
    (box / HOOK).write_bytes(guard)
    (box / HOOK).chmod(0o755)
    git(work, "pull", "-q")
    (work / "README.md").write_text("Ours.\n", "utf-8")
    made = commit(work)

    assert push(work).returncode == 0
    assert tip(box) == made


def test_a_branch_that_was_lost_may_be_pushed_back(box: Path, work: Path) -> None:
    """All of it is verified then."""
    before = tip(box)
    git(box, "update-ref", "-d", REF)

    assert push(work).returncode == 0
    assert tip(box) == before


@posix_only
@pytest.mark.parametrize("python", ["/nowhere/python3", "/bin/false"])
def test_without_gitmail_a_push_is_refused_with_what_to_do(
    box: Path, work: Path, python: str
) -> None:
    """A guard that cannot look does not let anything pass."""
    before = tip(box)
    script = (box / HOOK).read_text("utf-8")
    (box / HOOK).write_text(script.replace(sys.executable, python), "utf-8")
    commit(work)
    done = push(work)

    assert done.returncode != 0
    assert "was not verified" in done.stderr
    assert "doctor --repair" in done.stderr
    assert tip(box) == before


@posix_only
def test_a_mailbox_that_cannot_be_read_accepts_nothing(box: Path, work: Path) -> None:
    """What is wrong with it is said to who pushes."""
    before = tip(box)
    for pack in (box / ".git" / "objects" / "pack").glob("*.pack"):
        pack.rename(pack.with_suffix(".aside"))
    commit(work)
    done = push(work)

    assert done.returncode != 0
    assert tip(box) == before


@pytest.mark.parametrize(
    "script",
    [None, guard_script("/gone"), guard_script() + "exit 0\n"],
    ids=["none", "of a Python that is gone", "edited"],
)
def test_a_guard_is_installed_where_there_is_none(
    box: Path, script: str | None
) -> None:
    """And where it could not look, or was made to look away."""
    assert has_guard(box / ".git")
    assert not install_guard(box / ".git")
    if script is None:
        (box / HOOK).unlink()
    else:
        (box / HOOK).write_text(script, "utf-8")
    assert not has_guard(box / ".git")
    assert install_guard(box / ".git")

    assert (box / HOOK).read_text("utf-8") == guard_script()
    assert has_guard(box / ".git")


@posix_only
@pytest.mark.parametrize("script", [guard_script(), "#!/bin/sh\nexit 0\n"])
def test_a_guard_that_git_cannot_run_is_made_one_that_it_can(
    box: Path, script: str
) -> None:
    """Git passes by a hook that is not executable."""
    (box / HOOK).write_text(script, "utf-8")
    (box / HOOK).chmod(0o644)
    assert not has_guard(box / ".git")
    assert install_guard(box / ".git")

    assert has_guard(box / ".git")
    assert (box / HOOK).read_text("utf-8") == script


@posix_only
def test_two_installations_leave_each_others_guard_alone(
    box: Path, tmp_path: Path
) -> None:
    """A team whose members have environments of their own does not quarrel."""
    other = tmp_path / "other's python"
    other.symlink_to(sys.executable)
    (box / HOOK).write_text(guard_script(str(other)), "utf-8")

    assert has_guard(box / ".git")
    assert not install_guard(box / ".git")
    assert (box / HOOK).read_text("utf-8") == guard_script(str(other))


@posix_only
def test_the_doctor_replaces_a_guard_whose_python_has_no_gitmail(
    box: Path, tmp_path: Path
) -> None:
    """As the guard itself advises who is refused by it."""
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    other.chmod(0o755)
    (box / HOOK).write_text(guard_script(str(other)), "utf-8")
    with Mailbox.open(box) as mailbox:
        (found,) = mailbox.doctor().findings
        (mended,) = mailbox.doctor(repair=True).findings

        assert str(other) in found.detail
        assert mended.is_repaired
        assert (box / HOOK).read_text("utf-8") == guard_script()
        assert mailbox.doctor().findings == ()


@posix_only
def test_a_users_own_hooks_do_not_take_the_guards_place(
    box: Path, work: Path, tmp_path: Path
) -> None:
    """Many keep a folder of hooks for all their repositories."""
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {tmp_path}\n", "utf-8")
    first_message(work).write_text("tampered\n", "utf-8")
    commit(work)
    before = tip(box)
    done = push(work, f"HEAD:{REF}", GIT_CONFIG_GLOBAL=str(config))

    assert done.returncode != 0
    assert "stays for ever" in done.stderr
    assert tip(box) == before


def test_a_hook_of_a_persons_own_is_left_alone(box: Path) -> None:
    """Whoever puts one there decides what is accepted."""
    (box / HOOK).write_text("#!/bin/sh\nexit 0\n", "utf-8")

    assert has_guard(box / ".git")
    assert not install_guard(box / ".git")
    assert (box / HOOK).read_text("utf-8") == "#!/bin/sh\nexit 0\n"


@pytest.mark.parametrize("line", ["", "a b c", f"{'0' * 40} {'1' * 40}", "x" * 90])
def test_what_git_would_not_say_to_a_hook_is_refused(line: str) -> None:
    """A guard that does not understand must not accept."""
    with pytest.raises(InvalidArgumentError):
        parse_updates([f"{line}\n"])
