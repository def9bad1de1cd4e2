"""Bundles that are not let in, and looking at bundles (DESIGN 11)."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail import Agent, Mailbox, config
from gitmail.errors import (
    BundleBlockedError,
    BundleIncompleteError,
    BundleInvalidError,
    DiskError,
    FolderInUseError,
    LockTimeoutError,
    OtherMailboxError,
    UnrelatedHistoriesError,
    UnsupportedFormatError,
)
from gitmail.mailbox import bundles
from gitmail.mailbox.bundle_values import Contents
from gitmail.store import store as storing
from gitmail.store.additions import Added
from gitmail.store.incoming import Incoming
from gitmail.store.lock import Lock
from gitmail.store.pack_numbers import LARGEST_BYTES
from gitmail.store.store import Step
from gitmail.store.transport import Git
from tests.bundlefiles import (
    BLOB,
    bundle_of,
    entries_of,
    pack,
    packed,
    parts,
    refused,
    state,
    twin,
)
from tests.helpers import SettableClock, git
from tests.mailboxes import pending, tip
from tests.mailfiles import (
    EXECUTABLE,
    FOLDER,
    LINK,
    SUBMODULE,
    Clone,
    Entry,
    Path_,
    copy_file,
    message_file,
    note_file,
    receipt_file,
    slot_file,
)
from tests.processes import assert_sound, needs_git, posix_only

pytestmark = needs_git

MESSAGE_PATH, MESSAGE = message_file("builder", ["reviewer"], "By hand.")
ELSEWHERE = MESSAGE_PATH.replace("builder", "lead")
SLOT_PATH, SLOT = slot_file("parser", "ada")
LONG_FOLDERS = 11 * ("x" * 100 + "/")
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture(name="far")
def _far(mailbox: Mailbox, tmp_path: Path, clock: SettableClock) -> Iterator[Mailbox]:
    """Return the mailbox on a second machine, as it was at the start."""
    with twin(mailbox, tmp_path / "far", clock) as far:
        yield far


@pytest.fixture(name="other")
def _other(tmp_path: Path, clock: SettableClock) -> Iterator[Mailbox]:
    """Return another mailbox."""
    with Mailbox.init(tmp_path / "other" / ".gitmail", clock=clock) as other:
        yield other


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """Return where a bundle goes."""
    return tmp_path / "carried.bundle"


@pytest.fixture(name="clone")
def _clone(mailbox: Mailbox, tmp_path: Path) -> Clone:
    """Return an ordinary clone in which any commit can be made."""
    return Clone(mailbox.path, tmp_path / "clone")


@pytest.mark.parametrize("since", ["all", "last"])
def test_a_bundle_of_another_mailbox_is_refused_with_both_ids(
    mailbox: Mailbox, other: Mailbox, file: Path, since: str
) -> None:
    """Whether it holds everything or only what is new there."""
    mailbox.create_bundle(file)
    mailbox.register("somebody")
    mailbox.create_bundle(file, since=since)

    reason = refused(other, file, OtherMailboxError)

    assert mailbox.charter().id in reason
    assert other.charter().id in reason


def test_a_history_that_began_anew_is_refused(
    clone: Clone, far: Mailbox, file: Path
) -> None:
    """It names the same mailbox and has no commit in common with it."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    commit = git(clone.folder, "commit-tree", tree, "-m", "Anew").strip()
    bundle_of(clone, commit, file)

    assert commit[:12] in refused(far, file, UnrelatedHistoriesError)


def test_all_missing_commits_are_named(
    mailbox: Mailbox, far: Mailbox, clone: Clone, builder: Agent, file: Path
) -> None:
    """Where a bundle of git's stands on two of them."""
    builder.send(to="reviewer", body="One side.")
    git(clone.folder, "fetch", "-q", "origin")
    one = tip(mailbox)
    two = clone.commit("origin/gitmail~1", {MESSAGE_PATH: MESSAGE})
    tree = git(clone.folder, "rev-parse", f"{one}^{{tree}}").strip()
    words = ["commit-tree", tree, "-p", one, "-p", two, "-m", "Merge"]
    bundle_of(clone, git(clone.folder, *words).strip(), file, f"^{one}", f"^{two}")

    reason = refused(far, file, BundleIncompleteError)

    assert one in reason
    assert two in reason


@pytest.mark.parametrize("more", [(), ("^origin/gitmail",), ("HEAD",)])
def test_a_bundle_by_git_is_applied(
    far: Mailbox, clone: Clone, file: Path, more: tuple[str, ...]
) -> None:
    """Also one that tells objects by their difference to what is here."""
    body = "".join(f"Line {number} of many.\n" for number in range(500))
    far.agent("builder").memory.set("fact", "parser", "grammar", body)
    git(
        clone.folder,
        "fetch",
        "-q",
        str(far.path),
        "gitmail:refs/remotes/origin/gitmail",
    )
    path = "memory/facts/parser/grammar.md"
    old = git(clone.folder, "show", f"origin/gitmail:{path}")
    new = old.replace("Line 7 ", "Line seven ").encode()
    commit = clone.commit("origin/gitmail", {path: new})
    git(clone.folder, "symbolic-ref", "HEAD", "refs/heads/gitmail")
    bundle_of(clone, commit, file, *more)
    if more == ("^origin/gitmail",):
        assert len(file.read_bytes()) < 1500  # thin, or all of the text would be in it

    assert far.inspect_bundle(file).problem is None
    applied = far.apply_bundle(file)

    assert (applied.step, applied.tip) == (Step.FAST_FORWARD, commit)
    assert applied.contents == Contents(commit_count=1, record_count=1)
    found = far.agent("lead").memory.get("fact", "parser", "grammar")
    assert "Line seven of many." in found.record.value
    assert_sound(far.path)


def test_a_thin_bundle_whose_bases_are_elsewhere_names_what_is_missing(
    mailbox: Mailbox, far: Mailbox, clone: Clone, builder: Agent, file: Path
) -> None:
    """They come with the commits that it stands on."""
    body = "".join(f"Line {number} of many.\n" for number in range(500))
    builder.memory.set("fact", "parser", "grammar", body)
    git(clone.folder, "fetch", "-q", "origin")
    path = "memory/facts/parser/grammar.md"
    old = git(clone.folder, "show", f"origin/gitmail:{path}")
    new = old.replace("Line 7 ", "Line seven ").encode()
    commit = clone.commit("origin/gitmail", {path: new})
    bundle_of(clone, commit, file, "^origin/gitmail")

    assert tip(mailbox) in refused(far, file, BundleIncompleteError)


def bad(what: str, reason: str, changes: dict[Path_, Entry | bytes | None]) -> object:
    """Return a case of a tree that no mailbox has."""
    return pytest.param(changes, reason, id=what)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        bad("a program", "regular", {SLOT_PATH: Entry(SLOT, EXECUTABLE)}),
        bad("code", "at no path", {"code.py": b"print(1)\n"}),
        bad("upper case", "at no path", {"agents/Zoe.md": b"text"}),
        bad("a device", "at no path", {"agents/con.md": b"text"}),
        bad("no text", "in line 1", {"agents/zoe.md": b"\xff\xfe"}),
        bad("half a message", "in line 1", {MESSAGE_PATH: MESSAGE[:40]}),
        bad("a message elsewhere", "not fit it", {ELSEWHERE: MESSAGE}),
        bad("a receipt elsewhere", "not fit it", {
            receipt_file("lead", MESSAGE)[0]: receipt_file("builder", MESSAGE)[1],
        }),
        bad("a copy elsewhere", "not fit it", {
            copy_file("lead", MESSAGE)[0]: copy_file("builder", MESSAGE)[1],
        }),
        bad("a profile elsewhere", "in line 1", {"agents/builder.md": SLOT}),
        bad("a slot elsewhere", "not fit it", {
            SLOT_PATH.replace("parser", "lexer"): SLOT,
        }),
        bad("a note elsewhere", "not fit it", {
            note_file("A note.")[0]: note_file("Another note.")[1],
        }),
        bad("another file set aside", "not fit it", {
            f"quarantine/{'0' * 40}.md": b"text",
        }),
        bad("an empty folder", "folder of no mailbox", {
            "rooms": Entry(mode=FOLDER, sha=EMPTY_TREE),
        }),
        bad("a deep folder", "folder of no mailbox", {f"{'x/' * 10}x.md": b"text"}),
        bad("no charter", "mailbox.md", {"mailbox.md": None}),
        bad("a broken charter", "mailbox.md", {"mailbox.md": b"text"}),
    ],
)  # fmt: skip
def test_a_bundle_with_anything_else_than_a_mailbox_is_refused_as_a_whole(
    mailbox: Mailbox,
    far: Mailbox,
    clone: Clone,
    file: Path,
    changes: dict[Path_, Entry | bytes | None],
    reason: str,
) -> None:
    """Nor is it made. The good mail beside it gets in once the rest is put right."""
    since = tip(mailbox)
    good = dict([message_file("builder", ["reviewer"], "Good.")])
    commit = clone.commit("origin/gitmail", {**good, **changes})
    bundle_of(clone, commit, file, "^origin/gitmail")

    assert reason in refused(far, file, BundleInvalidError)
    with pytest.raises(BundleInvalidError):
        far.inspect_bundle(file)

    clone.bring(commit)
    if "mailbox.md" not in changes:
        for program in (config.git(), None):
            error = blocked(mailbox, since, program)
            assert (error.details["commit"], reason in error.message) == (commit, True)
            assert "--since" not in str(error.hint)

    clone.bring(put_right(clone, commit))
    for program in (None, config.git()):
        mailbox.create_bundle(file, since=since, git=program)
        assert far.inspect_bundle(file).problem is None
    assert far.apply_bundle(file).step is Step.FAST_FORWARD
    assert far.store.read(lambda view: view.index.quarantined()) == []
    assert_sound(far.path)


ODD_MODE: dict[Path_, Entry | bytes | None] = {SLOT_PATH: Entry(SLOT, b"106777")}
SLASH: dict[Path_, Entry | bytes | None] = {(b"agents/x.md",): b"text"}
SMOOTHED = (ODD_MODE, SLASH)
"""What git shows as if it were in order: a file of an odd mode, a file in a folder."""


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        bad("a link", "nor a folder", {SLOT_PATH: Entry(b"/etc/passwd", LINK)}),
        bad("a submodule", "nor a folder", {"x": Entry(mode=SUBMODULE, sha="1" * 40)}),
        bad("an odd mode", "nor a folder", ODD_MODE),
        bad("a hook", "not safe", {".git/hooks/post-update": b"#!/bin/sh\n"}),
        bad("a hook elsewhere", "not safe", {"x/.GIT /hooks/x": b"#!/bin/sh\n"}),
        bad("an unseen mark", "not safe", {".g\u200cit/hooks/x": b"#!/bin/sh\n"}),
        bad("a short name", "not safe", {"git~1/hooks/x": b"#!/bin/sh\n"}),
        bad("the parent", "not safe", {(b"..", b"x.md"): b"text"}),
        bad("a slash", "not safe", SLASH),
        bad("a backslash", "not safe", {"agents\\x.md": b"text"}),
        bad("a drive", "not safe", {"c:x.md": b"text"}),
        bad("a line end", "not safe", {"agents/x\ny.md": b"text"}),
        bad("no text", "not safe", {(b"agents", b"x\xff.md"): b"text"}),
        bad("a long name", "not safe", {f"{'x' * 256}.md": b"text"}),
        bad("a long path", "not safe", {LONG_FOLDERS + "x.md": b"text"}),
    ],
)  # fmt: skip
def test_what_could_do_harm_is_refused_in_whatever_commit_it_is(
    mailbox: Mailbox,
    far: Mailbox,
    clone: Clone,
    file: Path,
    changes: dict[Path_, Entry | bytes | None],
    reason: str,
) -> None:
    """Somebody may look at that commit, with a program that knows nothing of us."""
    since = tip(mailbox)
    commit = clone.commit("origin/gitmail", changes)
    for last in (commit, put_right(clone, commit)):
        bundle_of(clone, last, file, "^origin/gitmail")
        assert reason in refused(far, file, BundleInvalidError)

        clone.bring(last)
        programs = [None, config.git()]
        if changes in SMOOTHED and last != commit:
            programs.remove(config.git())
        for program in programs:
            error = blocked(mailbox, since, program)
            assert (error.details["commit"], reason in error.message) == (commit, True)
            assert f"--since {commit}" in str(error.hint)

    mailbox.agent("builder").send(to="reviewer", body="Behind it.")
    assert mailbox.create_bundle(file, since=commit).contents.message_count == 1


def test_names_that_only_look_odd_do_no_harm_in_an_older_commit(
    far: Mailbox, clone: Clone, file: Path
) -> None:
    """Such as those of a project that was committed into the mailbox and taken out."""
    changes: dict[Path_, Entry | bytes | None] = {
        "Stra\u00dfe (alt).TXT": b"text",
        "agents/Zoe.md": b"text",
        "agents/zoe.md": b"text",
        ".gitignore": b"text",
        "src/con.py": b"text",
        "src/run.sh": Entry(b"#!/bin/sh\n", EXECUTABLE),
        f"{'x/' * 40}x.md": b"text",
        "quarantine": Entry(mode=FOLDER, sha=EMPTY_TREE),
    }
    commit = clone.commit("origin/gitmail", changes)
    bundle_of(clone, put_right(clone, commit), file, "^origin/gitmail")

    assert far.apply_bundle(file).step is Step.FAST_FORWARD
    assert_sound(far.path)


def blocked(mailbox: Mailbox, since: str, program: Git | None) -> BundleBlockedError:
    """Return why no bundle is made, which must have changed nothing."""
    mailbox.status()  # so that the files are the tip's
    before = state(mailbox.path)
    file = mailbox.path.parent / "blocked.bundle"
    with pytest.raises(BundleBlockedError) as caught:
        mailbox.create_bundle(file, since=since, git=program)
    assert (file.exists(), state(mailbox.path)) == (False, before)
    return caught.value


@pytest.mark.parametrize("program", ["git", "python"])
def test_no_bundle_is_made_of_what_is_malformed_or_too_large(
    mailbox: Mailbox, clone: Clone, program: str
) -> None:
    """A commit, a folder and a file, as they would be refused where it is applied."""
    base = tip(mailbox)
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    blob = bytes.fromhex(clone.write("blob", SLOT))
    twice = 2 * (b"100644 a.md\0" + blob)
    folder = Entry(mode=FOLDER, sha=clone.write("tree", twice))
    large = bytes(LARGEST_BYTES + 1)
    nobody = f"tree {tree}\nparent {base}\nauthor nobody\n\nText\n"
    by_git = config.git() if program == "git" else None

    for commit, reason in (
        (clone.write("commit", nobody.encode()), "malformed"),
        (clone.commit("origin/gitmail", {"agents": folder}), "malformed"),
        (clone.commit("origin/gitmail", {"large.bin": large}), "16,777,216 bytes"),
    ):
        clone.bring(commit)
        error = blocked(mailbox, base, by_git)
        assert (error.details["commit"], reason in error.message) == (commit, True)


def test_what_is_wrong_here_already_hinders_no_later_bundle(
    mailbox: Mailbox, far: Mailbox, clone: Clone, file: Path
) -> None:
    """It came by sync, and is named by status; mail goes on."""
    commit = clone.commit("origin/gitmail", {"code.py": b"print(1)\n"})
    clone.bring(commit)
    git(far.path, "fetch", "-q", str(clone.folder), "brought")
    git(far.path, "update-ref", "refs/heads/gitmail", commit)
    mailbox.agent("builder").send(to="reviewer", body="Behind it.")
    mailbox.create_bundle(file, since=commit)

    assert far.apply_bundle(file).step is Step.FAST_FORWARD
    assert pending(far.agent("reviewer")) == ["Behind it."]


def put_right(clone: Clone, commit: str) -> str:
    """Return a commit that takes back what another one did."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    return git(
        clone.folder, "commit-tree", tree, "-p", commit, "-m", "Put right"
    ).strip()


def test_trees_that_hold_one_another_many_times_end_at_once(
    far: Mailbox, clone: Clone, file: Path
) -> None:
    """Ten folders of ten folders and so on, which no machine could walk."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail:agents").strip()
    for _ in range(12):
        rows = b"".join(
            b"40000 %c\0" % name + bytes.fromhex(tree) for name in b"abcdefghij"
        )
        tree = clone.write("tree", rows)
    changes: dict[Path_, Entry | bytes | None] = {
        "memory": Entry(mode=FOLDER, sha=tree)
    }
    commit = clone.commit("origin/gitmail", changes)
    bundle_of(clone, commit, file, "^origin/gitmail")

    assert "of no mailbox" in refused(far, file, BundleInvalidError)


@pytest.mark.parametrize(
    "data",
    [
        b"tree %s\nauthor nobody\n\nText\n",
        b"tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> x +0000\n\nText\n",
        b"tree %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nText\0\n",
    ],
)
def test_a_malformed_commit_is_refused(
    far: Mailbox, clone: Clone, file: Path, data: bytes
) -> None:
    """What `git fsck` would complain about is not let in."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    parent = git(clone.folder, "rev-parse", "origin/gitmail").strip()
    said = data % f"{tree}\nparent {parent}".encode()
    bundle_of(clone, clone.write("commit", said), file, "^origin/gitmail")

    assert "malformed" in refused(far, file, BundleInvalidError)


@pytest.mark.parametrize(
    "rows",
    [
        [(b"100644", b"b.md"), (b"100644", b"a.md")],
        [(b"100644", b"a.md"), (b"100644", b"a.md")],
        [(b"0100644", b"a.md")],
    ],
)
def test_a_malformed_tree_is_refused(
    far: Mailbox, clone: Clone, file: Path, rows: list[tuple[bytes, bytes]]
) -> None:
    """Two readers could see different files in it."""
    blob = bytes.fromhex(clone.write("blob", SLOT))
    data = b"".join(mode + b" " + name + b"\0" + blob for mode, name in rows)
    entry = Entry(mode=FOLDER, sha=clone.write("tree", data))
    commit = clone.commit("origin/gitmail", {"agents": entry})
    bundle_of(clone, commit, file, "^origin/gitmail")

    reason = refused(far, file, BundleInvalidError)

    assert "malformed" in reason or "at no path" in reason


def test_a_mailbox_of_a_newer_format_is_left_to_a_newer_gitmail(
    far: Mailbox, clone: Clone, file: Path
) -> None:
    """It is not called damaged."""
    charter = git(clone.folder, "show", "origin/gitmail:mailbox.md")
    newer = charter.replace("format: 1", "format: 2").encode()
    commit = clone.commit("origin/gitmail", {"mailbox.md": newer})
    bundle_of(clone, commit, file, "^origin/gitmail")

    refused(far, file, UnsupportedFormatError)


def test_an_object_that_no_commit_needs_is_refused(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """Nothing travels with the mail."""
    builder.send(to="reviewer", body="Good.")
    mailbox.create_bundle(file)
    head, data = parts(file)
    secret = packed(BLOB, b"print(1)\n")
    file.write_bytes(head + pack([*entries_of(data), secret]))

    assert "does not need" in refused(far, file, BundleInvalidError)


def test_a_bundle_that_lacks_an_object_is_refused(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """Whichever of them it is."""
    builder.send(to="reviewer", body="Good.")
    mailbox.create_bundle(file)
    head, data = parts(file)
    entries = entries_of(data)

    assert len(entries) == 7
    for number in range(7):
        rest = entries[:number] + entries[number + 1 :]
        file.write_bytes(head + pack(rest))
        kind = BundleInvalidError if number else BundleIncompleteError  # the commit
        refused(far, file, kind)

    file.write_bytes(head + pack(entries))
    assert far.apply_bundle(file).step is Step.FAST_FORWARD


@pytest.mark.parametrize("words", [("--all",), ("--version=3", "gitmail")])
def test_a_bundle_of_more_than_the_mailbox_or_of_another_version_is_refused(
    far: Mailbox, clone: Clone, file: Path, words: tuple[str, ...]
) -> None:
    """The code beside it has nothing to do here."""
    commit = clone.commit("origin/gitmail", {"code.py": b"print(1)\n"})
    git(clone.folder, "update-ref", "refs/heads/main", commit)
    version = [word for word in words if word.startswith("--version")]
    revisions = [word for word in words if word not in version]
    git(clone.folder, "bundle", "create", "-q", *version, str(file), *revisions)

    refused(far, file, BundleInvalidError)


@pytest.mark.parametrize(
    "data", [b"", b"text", b"# v2 git bundle\n", b"# v2 git bundle\n\nPACK", b"\0" * 99]
)
def test_a_file_that_is_no_bundle_is_refused(
    far: Mailbox, file: Path, data: bytes
) -> None:
    """Whatever it is."""
    file.write_bytes(data)

    refused(far, file, BundleInvalidError)


@posix_only
def test_what_is_no_file_is_refused_and_not_waited_for(
    far: Mailbox, tmp_path: Path
) -> None:
    """A pipe that nobody writes to, a folder, and nothing at all."""
    os.mkfifo(tmp_path / "pipe")

    assert "regular" in refused(far, tmp_path / "pipe", BundleInvalidError)
    assert "regular" in refused(far, tmp_path, BundleInvalidError)
    refused(far, tmp_path / "missing", DiskError)


def test_a_remark_that_nobody_wrote_is_refused(
    mailbox: Mailbox, far: Mailbox, clone: Clone, builder: Agent, file: Path
) -> None:
    """The head has no checksum, so what it says must be what it can only say."""
    builder.send(to="reviewer", body="Good.")
    mailbox.create_bundle(file)
    ours = file.read_bytes()
    git(clone.folder, "fetch", "-q", "origin")
    bundle_of(clone, tip(mailbox), file, f"^{tip(far)}")
    theirs = file.read_bytes()
    assert b" register: lead\n" in theirs

    for data in (
        ours.replace(b" mailbox ", b" mailbux "),
        theirs.replace(b" register: lead", b" register: bead"),
    ):
        file.write_bytes(data)
        assert "head" in refused(far, file, BundleInvalidError)


def test_a_bundle_that_cannot_be_let_in_now_can_be_later(
    mailbox: Mailbox,
    far: Mailbox,
    builder: Agent,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A writer that keeps the lock changes nothing but the time."""
    builder.send(to="reviewer", body="Good.")
    mailbox.create_bundle(file)
    before = tip(far)
    monkeypatch.setattr(storing, "LOCK_TIMEOUT_S", 0.05)
    with Lock(far.store.local / "write.lock").held(1), pytest.raises(LockTimeoutError):
        far.apply_bundle(file)
    assert tip(far) == before

    assert far.apply_bundle(file).step is Step.FAST_FORWARD
    assert pending(far.agent("reviewer")) == ["Good."]
    assert not [*far.path.glob(".git/objects/pack/*.keep")]


def test_inspecting_tells_what_a_bundle_has_and_whether_it_applies(
    mailbox: Mailbox, far: Mailbox, builder: Agent, file: Path
) -> None:
    """And changes nothing."""
    since = tip(mailbox)
    sent = builder.send(to="reviewer", body="Good.").message
    mailbox.agent("reviewer").ack([sent.id])
    builder.memory.set("fact", "parser", "owner", "reviewer")
    made = mailbox.create_bundle(file)
    before = state(far.path)

    found = far.inspect_bundle(file)

    counted = Contents(commit_count=3, message_count=1, receipt_count=1, record_count=1)
    assert found.contents == made.contents == counted
    assert (found.tip, found.prerequisites) == (made.tip, (since,))
    assert found.mailbox == mailbox.charter().id
    assert found.size_bytes == made.size_bytes == file.stat().st_size
    assert (found.problem, found.is_known) == (None, False)
    assert state(far.path) == before
    assert mailbox.inspect_bundle(file).is_known


def test_inspecting_tells_why_a_bundle_does_not_apply(
    mailbox: Mailbox, far: Mailbox, other: Mailbox, builder: Agent, file: Path
) -> None:
    """A gap, another mailbox, and nothing to put it on."""
    for _ in range(2):
        builder.send(to="reviewer", body="Good.")
        mailbox.create_bundle(file)

    kinds = [
        type(found.problem)
        for found in (
            far.inspect_bundle(file),
            other.inspect_bundle(file),
            bundles.inspect(None, file),
        )
    ]

    assert kinds == [BundleIncompleteError, OtherMailboxError, BundleIncompleteError]
    assert bundles.inspect(None, file).mailbox == mailbox.charter().id
    assert bundles.inspect(None, file).contents.message_count == 1


def test_a_new_machine_does_not_start_with_a_part(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, file: Path
) -> None:
    """Nor with a damaged file; no folder is made for them."""
    mailbox.create_bundle(file)
    whole = file.read_bytes()
    builder.send(to="reviewer", body="Good.")
    mailbox.create_bundle(file)
    with pytest.raises(BundleIncompleteError):
        bundles.start(tmp_path / "new", file)
    file.write_bytes(whole[:-1])
    with pytest.raises(BundleInvalidError):
        bundles.start(tmp_path / "new", file)
    assert not (tmp_path / "new").exists()

    file.write_bytes(whole)
    bundles.start(tmp_path / "new", file)

    with pytest.raises(FolderInUseError):
        bundles.start(tmp_path / "new", file)


def test_a_start_that_was_cut_off_can_be_made_again(
    mailbox: Mailbox, tmp_path: Path, file: Path
) -> None:
    """All that a crash before the branch leaves is a repository without one."""
    made = mailbox.create_bundle(file)
    bundles.start(tmp_path / "new", file)
    for left in ("refs/heads/gitmail", "gitmail"):
        place = tmp_path / "new" / ".git" / left
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    for place in (tmp_path / "new").iterdir():
        if place.name != ".git":
            shutil.rmtree(place) if place.is_dir() else place.unlink()

    assert bundles.start(tmp_path / "new", file) == made.tip
    assert_sound(tmp_path / "new")


def test_files_that_came_and_went_again_and_again_are_let_in(
    mailbox: Mailbox, far: Mailbox, file: Path, tmp_path: Path
) -> None:
    """The same trees come back in later commits, and no object is taken for idle."""
    memory = mailbox.agent("builder").memory
    for value in ("ada", "bob", "ada"):
        memory.set("fact", "parser", "owner", value)
        memory.forget("fact", entity="parser", attribute="owner")
        memory.restore("fact", "parser", "owner")
        memory.forget("fact", entity="parser", attribute="owner")
    for since in (tip(far), "all"):
        mailbox.create_bundle(file, since=since)
        bundle = far.inspect_bundle(file)
        assert (bundle.problem, bundle.contents.commit_count > 11) == (None, True)

    bundles.start(tmp_path / "new", file)

    assert far.apply_bundle(file).step is Step.FAST_FORWARD
    for box in (far.path, tmp_path / "new"):
        assert_sound(box)


def test_a_history_that_goes_to_and_fro_between_large_trees_is_walked_once(
    far: Mailbox, clone: Clone, file: Path
) -> None:
    """A few bytes for each commit must not cost a walk through all files each."""
    many = dict(
        message_file("builder", ["reviewer"], f"Number {number}.")
        for number in range(300)
    )
    full = clone.commit("origin/gitmail", dict(many))
    trees = [
        git(clone.folder, "rev-parse", f"{name}^{{tree}}").strip()
        for name in (full, "origin/gitmail")
    ]
    commit = full
    for number in range(60):
        words = ["commit-tree", trees[1 - number % 2], "-p", commit, "-m", str(number)]
        commit = git(clone.folder, *words).strip()
    bundle_of(clone, commit, file, "^origin/gitmail")
    looks = 0
    plain = Incoming._check_added

    def look(incoming: Incoming, each: Added) -> None:
        nonlocal looks
        looks += 1
        plain(incoming, each)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Incoming, "_check_added", look)
        assert far.inspect_bundle(file).problem is None

    assert looks < 400
