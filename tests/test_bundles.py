"""Bundles: the mailbox goes where no network reaches (CAPABILITIES V4)."""

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Agent, Mailbox, config
from gitmail.errors import (
    BundleIncompleteError,
    CorruptMailboxError,
    DiskError,
    DiskFullError,
    InvalidArgumentError,
    InvalidCursorError,
    InvalidNameError,
)
from gitmail.mailbox import bundles
from gitmail.mailbox.bundle_bases import commits_since
from gitmail.mailbox.bundle_values import Contents
from gitmail.store.bundle import write_bundle
from gitmail.store.store import Step
from gitmail.store.transport import Git
from tests.bundlefiles import objects_of, state, twin
from tests.helpers import SettableClock, files_in_tip, git
from tests.mailboxes import pending, tip
from tests.mailfiles import Clone
from tests.processes import assert_sound, needs_git, posix_only

pytestmark = needs_git


@pytest.fixture(name="program", params=["git", "python"])
def _program(request: pytest.FixtureRequest) -> Git | None:
    """Return the installed git, and then none."""
    return config.git() if request.param == "git" else None


@pytest.fixture(name="far")
def _far(mailbox: Mailbox, tmp_path: Path, clock: SettableClock) -> Iterator[Mailbox]:
    """Return the mailbox on a second machine, as it was at the start."""
    with twin(mailbox, tmp_path / "far", clock) as far:
        yield far


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """Return where a bundle goes."""
    return tmp_path / "carried.bundle"


def names(folder: Path) -> list[str]:
    """Return the names of what is in a folder."""
    return sorted(each.name for each in folder.iterdir())


def test_a_new_machine_starts_with_all_of_a_mailbox(
    mailbox: Mailbox,
    builder: Agent,
    tmp_path: Path,
    file: Path,
    program: Git | None,
    clock: SettableClock,
) -> None:
    """Mail, memory and names are there, a cursor stays good, local state is fresh."""
    builder.send(to="reviewer", body="Before.")
    cursor = mailbox.agent("reviewer").poll().cursor
    builder.memory.set("fact", "parser", "owner", "reviewer")
    builder.send(to="reviewer", body="After.")
    mailbox.create_bundle(file, since="all", git=program)

    commit = bundles.start(tmp_path / "new", file)

    assert commit == tip(mailbox)
    with Mailbox.open(tmp_path / "new", clock=clock) as new:
        assert files_in_tip(new.path) == files_in_tip(mailbox.path)
        assert new.charter() == mailbox.charter()
        reviewer = new.agent("reviewer")
        assert pending(reviewer) == ["Before.", "After."]
        after = reviewer.poll(after=cursor)
        assert [item.message.body for item in after.items] == ["After."]
        assert not (new.path / ".git" / "gitmail" / "live").exists()
    assert_sound(tmp_path / "new")


def test_where_git_fails_a_bundle_is_made_without_it(
    mailbox: Mailbox, file: Path, tmp_path: Path
) -> None:
    """A program that is gone, and one that answers nothing."""
    for program in (tmp_path / "gone", Path("/bin/false")):
        made = mailbox.create_bundle(file, since="all", git=Git(str(program), {}))

        assert made.contents.commit_count == 4
        assert mailbox.inspect_bundle(file).is_known


def test_how_far_a_long_bundle_is_taken_in_is_told(
    mailbox: Mailbox, far: Mailbox, builder: Agent, tmp_path: Path, file: Path
) -> None:
    """Where a machine starts with it, and where it is applied."""
    builder.send_many([{"to": ["reviewer"], "body": f"{i}"} for i in range(1000)])
    mailbox.create_bundle(file, since="all")
    started: list[tuple[str, int]] = []
    applied: list[tuple[str, int]] = []

    Mailbox.clone(
        tmp_path / "new", str(file), progress=lambda *said: started.append(said)
    ).close()
    far.store.progress = lambda *said: applied.append(said)
    far.apply_bundle(file)

    assert started == applied == [("files checked", 1000)]


def test_an_answer_comes_back_by_the_next_bundle(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path, program: Git | None
) -> None:
    """Who sent sees the receipt and the answer, and both sides have the same."""
    sent = builder.send(to="reviewer", body="The parser is ready.").message
    there = mailbox.create_bundle(file, git=program)
    far.apply_bundle(file)
    far.agent("reviewer").ack([sent.id], note="On it.")
    far.agent("reviewer").reply(sent.id, body="Merge it.")
    back = far.create_bundle(file, git=program)

    applied = mailbox.apply_bundle(file)

    assert there.contents == Contents(commit_count=1, message_count=1)
    assert back.contents == Contents(commit_count=2, message_count=1, receipt_count=1)
    assert applied.contents == back.contents
    assert applied.step is Step.FAST_FORWARD
    assert pending(builder) == ["Merge it."]
    (receipt,) = builder.receipts(sent.id).lines
    assert (receipt.name, receipt.state) == ("reviewer", "acked")
    assert tip(mailbox) == tip(far)


def test_both_sides_may_have_gone_on(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """What they did is merged, and the way back brings the merge."""
    builder.send(to="reviewer", body="From here.")
    far.agent("builder").send(to="reviewer", body="From there.")
    mailbox.create_bundle(file)
    merged = far.apply_bundle(file, by="reviewer")
    back = far.create_bundle(file)
    forward = mailbox.apply_bundle(file)

    assert (merged.step, forward.step) == (Step.MERGED, Step.FAST_FORWARD)
    assert back.contents == Contents(commit_count=2, message_count=1)
    assert forward.tip == merged.tip == tip(mailbox)
    assert pending(mailbox.agent("reviewer")) == ["From here.", "From there."]
    assert git(far.path, "log", "-1", "--format=%an %s", "gitmail").startswith(
        "reviewer sync: bundle "
    )
    for box in (mailbox, far):
        assert_sound(box.path)


def test_what_did_not_merge_by_itself_is_told(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """A slot that both sides have set is named."""
    builder.memory.set("fact", "parser", "owner", "here")
    far.agent("reviewer").memory.set("fact", "parser", "owner", "there")
    mailbox.create_bundle(file)

    applied = far.apply_bundle(file)

    assert [note.path for note in applied.notes] == ["memory/facts/parser/owner.md"]


def test_a_merge_by_nobody_in_particular_is_by_gitmail(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """And a name that is none is refused before the file is looked at."""
    builder.send(to="reviewer", body="From here.")
    far.agent("builder").send(to="reviewer", body="From there.")
    mailbox.create_bundle(file)
    with pytest.raises(InvalidNameError):
        far.apply_bundle(file, by="No Name")

    far.apply_bundle(file)

    assert git(far.path, "log", "-1", "--format=%an", "gitmail") == "gitmail\n"


def test_applying_twice_changes_nothing(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path, tmp_path: Path
) -> None:
    """Not a file of the repository, and not up to where the other side is known."""
    builder.send(to="reviewer", body="Once.")
    mailbox.create_bundle(file)
    far.apply_bundle(file)
    before = state(far.path)

    again = far.apply_bundle(file)
    older = far.apply_bundle(tmp_path / "far.bundle")

    assert (again.step, older.step) == (Step.NOTHING, Step.NOTHING)
    assert again.contents == older.contents == Contents()
    assert state(far.path) == before


def test_a_bundle_may_overlap_what_is_here(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """Only what is new is counted and written."""
    builder.send(to="reviewer", body="New.")
    mailbox.create_bundle(file, since="all")
    before = set(far.path.joinpath(".git", "objects", "pack").glob("*.idx"))

    applied = far.apply_bundle(file)

    assert applied.contents == Contents(commit_count=1, message_count=1)
    made = set(far.path.joinpath(".git", "objects", "pack").glob("*.idx")) - before
    rows = git(far.path, "verify-pack", "-v", *map(str, made)).splitlines()
    assert len([row for row in rows if row[40:41] == " "]) == 7
    assert_sound(far.path)


def test_git_takes_what_is_made(
    mailbox: Mailbox, far: Mailbox, builder: Agent, tmp_path: Path, program: Git | None
) -> None:
    """It verifies, clones and fetches."""
    builder.send(to="reviewer", body="New.")
    whole, new = tmp_path / "whole.bundle", tmp_path / "new.bundle"
    mailbox.create_bundle(new, git=program)
    mailbox.create_bundle(whole, since="all", git=program)

    for file in (whole, new):
        git(far.path, "bundle", "verify", "-q", str(file))
    git(tmp_path, "clone", "-q", str(whole), "plain")
    git(tmp_path, "clone", "-q", "-b", "gitmail", str(whole), "cloned")
    git(far.path, "fetch", "-q", str(new), "gitmail:fetched")

    assert git(tmp_path / "cloned", "rev-parse", "HEAD").strip() == tip(mailbox)
    assert git(far.path, "rev-parse", "fetched").strip() == tip(mailbox)


@pytest.mark.parametrize("is_folded", [False, True])
def test_exactly_the_new_objects_of_the_history_are_in_a_bundle(
    mailbox: Mailbox,
    builder: Agent,
    tmp_path: Path,
    program: Git | None,
    *,
    is_folded: bool,
) -> None:
    """Not those of another branch, nor any that nobody names."""
    sent = builder.send(to="reviewer", body="Old.").message
    since = tip(mailbox)
    builder.memory.set("fact", "parser", "owner", "reviewer")
    builder.memory.forget("fact", entity="parser", attribute="owner")
    mailbox.agent("reviewer").ack([sent.id])
    builder.send_many([{"to": ["reviewer"], "body": f"New {i}."} for i in range(60)])
    for number in range(50):
        builder.send(to="reviewer", body=f"Later {number}.")
    clone = Clone(mailbox.path, tmp_path / "clone")
    secret = clone.commit("origin/gitmail", {"code.py": b"print(1)\n"})
    git(clone.folder, "push", "-q", "origin", f"{secret}:refs/heads/code")
    if is_folded:
        assert mailbox.store.housekeeping()

    for name, base in (("new", since), ("whole", "all")):
        file = tmp_path / f"{name}.bundle"
        mailbox.create_bundle(file, since=base, git=program)

        words = ["gitmail", *([f"^{base}"] if base != "all" else [])]
        rows = git(mailbox.path, "rev-list", "--objects", *words).splitlines()
        found = objects_of(file, tmp_path / name)
        assert found == {row.split()[0] for row in rows}
        assert secret not in found


def test_what_is_new_since_a_commit_is_what_git_says(
    mailbox: Mailbox, far: Mailbox, tmp_path: Path, clock: SettableClock
) -> None:
    """From any commit of a history with merges and a clock that went wrong."""
    file = tmp_path / "to-and-fro.bundle"
    for number in range(6):
        for box in (mailbox, far):
            box.agent("builder").send(to="reviewer", body=f"Number {number}.")
            clock.advance(hours=-5 if number % 2 else 7)
        source, target = (mailbox, far) if number % 2 else (far, mailbox)
        source.create_bundle(file)
        target.apply_bundle(file)
    commits = git(mailbox.path, "rev-list", "gitmail").split()
    assert len(git(mailbox.path, "rev-list", "--merges", "gitmail").split()) > 3

    for base in commits:
        found = mailbox.store.read(lambda view, base=base: commits_since(view, base))
        said = git(mailbox.path, "rev-list", "gitmail", f"^{base}").split()
        assert sorted(found) == sorted(said)
        places = {commit: place for place, commit in enumerate(found)}
        for commit in found:
            parents = git(mailbox.path, "rev-parse", f"{commit}^@").split()
            assert all(places.get(each, 10**6) > places[commit] for each in parents)


def test_last_is_the_last_that_was_made_or_applied(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """Neither what was sent there already nor what came from there is sent."""
    builder.send(to="reviewer", body="One.")
    assert mailbox.create_bundle(file).contents.commit_count == 1
    far.apply_bundle(file)
    builder.send(to="reviewer", body="Two.")
    made = mailbox.create_bundle(file)
    assert (made.contents.commit_count, made.since) == (1, tip(far))
    far.apply_bundle(file)
    far.agent("builder").send(to="reviewer", body="Three.")

    back = far.create_bundle(file)

    assert (back.since, back.contents.commit_count) == (made.tip, 1)


def test_what_was_made_but_got_lost_is_in_a_bundle_since_what_is_there(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """The gap is told first: what is missing, and what the other side is to say."""
    builder.send(to="reviewer", body="Lost.")
    lost = mailbox.create_bundle(file)
    builder.send(to="reviewer", body="Next.")
    mailbox.create_bundle(file)

    with pytest.raises(BundleIncompleteError) as caught:
        far.apply_bundle(file)
    ours = str(caught.value.details["ours"])
    mailbox.create_bundle(file, since=ours)
    far.apply_bundle(file)

    assert lost.tip in caught.value.message
    assert f"--since {ours}" in str(caught.value.hint)
    assert pending(far.agent("reviewer")) == ["Lost.", "Next."]


@pytest.mark.parametrize("left", ["", "nonsense", "0" * 40, None])
def test_without_a_last_bundle_everything_is_in_it(
    mailbox: Mailbox, file: Path, left: str | None
) -> None:
    """The same where what was remembered says nothing, or a commit of no history."""
    marker = mailbox.path / ".git" / "gitmail" / "bundled"
    if left is not None:
        marker.write_text(left, "ascii")

    made = mailbox.create_bundle(file)

    assert (made.since, made.contents.commit_count) == (None, 4)
    assert marker.read_text("ascii") == f"{made.tip}\n"


def test_a_bundle_since_a_cursor_leaves_out_what_its_commit_has(
    mailbox: Mailbox, builder: Agent, file: Path
) -> None:
    """Whether the cursor stands between commits or in the middle of one."""
    builder.send_many([{"to": ["reviewer"], "body": f"{i}"} for i in range(3)])
    old = tip(mailbox)
    page = mailbox.agent("reviewer").poll(limit=2)
    builder.send(to="reviewer", body="New.")

    for cursor in (old, page.cursor):
        made = mailbox.create_bundle(file, since=cursor)
        assert (made.since, made.contents.message_count) == (old, 1)


@pytest.mark.parametrize("since", ["0" * 40, "yesterday", "", "HEAD"])
def test_a_bundle_since_nothing_that_is_known_is_not_made(
    mailbox: Mailbox, file: Path, since: str
) -> None:
    """A slip of the pen must not become a bundle of something else."""
    with pytest.raises(InvalidCursorError) as caught:
        mailbox.create_bundle(file, since=since)

    assert "last, which is the default, all, or" in str(caught.value.hint)
    assert not file.exists()


def test_where_nothing_is_new_no_bundle_is_written(
    mailbox: Mailbox, file: Path
) -> None:
    """A file that is there stays as it is."""
    mailbox.create_bundle(file)
    file.write_text("another file", "ascii")

    made = mailbox.create_bundle(file)

    assert not made.is_written
    assert made.since == made.tip
    assert file.read_text("ascii") == "another file"


def test_a_bundle_replaces_a_file_in_one_step(mailbox: Mailbox, tmp_path: Path) -> None:
    """Nothing is left beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "x.bundle").write_text("another file", "ascii")

    made = mailbox.create_bundle(folder / "x.bundle")

    assert names(folder) == ["x.bundle"]
    assert made.size_bytes == (folder / "x.bundle").stat().st_size


@posix_only
def test_a_bundle_replaces_nothing_but_a_file(mailbox: Mailbox, tmp_path: Path) -> None:
    """A folder, a pipe and a device stay, and the next bundle has all of it."""
    folder = tmp_path / "out"
    (folder / "taken").mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    before = names(folder)

    for bad in (folder / "taken", folder / "pipe", Path("/dev/null")):
        with pytest.raises(InvalidArgumentError, match=r"FILE .* a regular file"):
            mailbox.create_bundle(bad)
    with pytest.raises(InvalidArgumentError, match=r"FILE .* folder"):
        mailbox.create_bundle(folder / "missing" / "x.bundle")
    with pytest.raises(DiskError, match="loop"):
        mailbox.create_bundle(folder / "loop")

    assert names(folder) == before
    assert stat.S_ISFIFO((folder / "pipe").lstat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)
    assert mailbox.create_bundle(folder / "x.bundle").since is None


@posix_only
def test_a_bundle_is_written_where_a_link_leads(
    mailbox: Mailbox, tmp_path: Path
) -> None:
    """To the drive that it is carried on, say, whether a file is there or not."""
    (tmp_path / "drive").mkdir()
    link = tmp_path / "link.bundle"
    link.symlink_to(tmp_path / "drive" / "x.bundle")

    for _ in range(2):
        made = mailbox.create_bundle(link, since="all")

        assert (made.path, link.is_symlink()) == (str(link), True)
        assert names(tmp_path / "drive") == ["x.bundle"]
        assert mailbox.inspect_bundle(link).is_known


@posix_only
def test_no_bundle_is_written_into_the_mailbox(
    mailbox: Mailbox, tmp_path: Path
) -> None:
    """Neither over what it is made of nor beside it, nor by way of a link."""
    before = state(mailbox.path)
    (tmp_path / "link").symlink_to(mailbox.path / ".git")

    for bad in (
        mailbox.path / ".git" / "HEAD",
        mailbox.path / "new.bundle",
        tmp_path / "link" / "HEAD",
    ):
        with pytest.raises(InvalidArgumentError, match="outside of the mailbox"):
            mailbox.create_bundle(bad)

    assert state(mailbox.path) == before


@posix_only
def test_where_there_is_no_room_for_a_bundle_its_own_name_is_told(
    mailbox: Mailbox, file: Path
) -> None:
    """Not that of the draft, which is gone."""
    import resource  # noqa: PLC0415 - Windows has none

    commit = tip(mailbox)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, allowed[1]))
    try:
        with pytest.raises(DiskFullError) as caught:
            write_bundle(file, commit, None, "", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)

    assert str(file) in caught.value.message
    assert not list(file.parent.glob("*bundle*"))


@pytest.mark.parametrize("name", ["", "a\0b", "/"])
def test_a_name_of_no_file_is_refused(mailbox: Mailbox, name: str) -> None:
    """Before anything is looked at."""
    with pytest.raises(InvalidArgumentError):
        mailbox.create_bundle(name)
    with pytest.raises(InvalidArgumentError):
        mailbox.apply_bundle(name)


def test_a_damaged_mailbox_makes_no_bundle(
    mailbox: Mailbox,
    builder: Agent,
    tmp_path: Path,
    file: Path,
    program: Git | None,
) -> None:
    """An object that cannot be read is told, and no file is written."""
    sent = builder.send(to="reviewer", body="Gone.").message
    for pack in mailbox.path.glob(".git/objects/pack/*.pack"):
        for name in mailbox.path.glob(f".git/objects/pack/{pack.stem}.*"):
            name.rename(tmp_path / name.name)
        with (tmp_path / pack.name).open("rb") as stream:
            unpack = ["git", "-C", str(mailbox.path), "unpack-objects", "-q"]
            subprocess.run(unpack, stdin=stream, check=True, timeout=30)
    (mailbox.path / ".git" / "objects" / sent.id[:2] / sent.id[2:]).unlink()

    with pytest.raises(CorruptMailboxError, match=sent.id):
        mailbox.create_bundle(file, git=program)

    assert not file.exists()
