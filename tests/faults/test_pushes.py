"""Trees that plain git pushes: whatever is in them, mail goes on (DESIGN 11)."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import CorruptMailboxError, NotRegisteredError
from gitmail.records.message import blob_id
from gitmail.records.paths import Family, parse_path
from gitmail.records.receipt import Stage
from tests.helpers import git
from tests.indexes import contents, contents_made_anew
from tests.mailfiles import (
    EXECUTABLE,
    LINK,
    SUBMODULE,
    Clone,
    Entry,
    Path_,
    copy_file,
    message_file,
    receipt_file,
)
from tests.processes import assert_sound, make_mailbox, needs_git

pytestmark = needs_git
PATH, DATA = message_file("builder", ["reviewer"], "Pushed.")
OTHER_PATH, OTHER_DATA = message_file("builder", ["reviewer"], "Another.")
RECEIPT_PATH, RECEIPT_DATA = receipt_file("reviewer", DATA)
Changes = Mapping[Path_, Entry | bytes | None]


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with some mail, in a folder of its own."""
    box = make_mailbox(tmp_path / "project" / ".gitmail")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="There before.")
    return box


@pytest.fixture(name="clone")
def _clone(box: Path, tmp_path: Path) -> Clone:
    """Return a clone from which any tree can be pushed."""
    return Clone(box, tmp_path / "clone")


def bad(name: str, path: str, changes: Changes) -> object:
    """Return a case: what is pushed, and the path that must be named for it."""
    return pytest.param(path, changes, id=name)


def named(*names: bytes) -> Changes:
    """Return a file whose folders and name are these bytes."""
    return {names: b"Text.\n"}


STRANGERS_PATH, STRANGERS_DATA = receipt_file("builder", DATA)
ELSEWHERE_PATH, _ = receipt_file("reviewer", DATA, part=3)
COPY_PATH, COPY_DATA = copy_file("reviewer", DATA)
STRAY_PATH = f"messages/2026-11/30/{PATH.rsplit('/', 1)[1]}"
SECOND_PATH = PATH.replace("/14/", "/14.001/")

BAD = [
    bad("bad YAML", PATH, {PATH: b"---\nfrom: [a\n---\n\nText.\n"}),
    bad("no header", PATH, {PATH: b"Text.\n"}),
    bad("an empty file", PATH, {PATH: b""}),
    bad("no text", PATH, {PATH: bytes(range(256))}),
    bad("the content of another", PATH, {PATH: OTHER_DATA}),
    bad("a link", PATH, {PATH: Entry(b"/etc/passwd", LINK)}),
    bad("a link for a folder", "copies", {"copies": Entry(b"..", LINK)}),
    bad("a link for README", "README.md", {"README.md": Entry(b"/etc/passwd", LINK)}),
    bad("an executable", PATH, {PATH: Entry(DATA, EXECUTABLE)}),
    bad("a submodule", PATH, {PATH: Entry(mode=SUBMODULE, sha="1" * 40)}),
    bad("a file for a folder", "receipts", {"receipts": b"Text."}),
    bad("an unknown file", "notes.txt", {"notes.txt": b"Text."}),
    bad("a hook", "hooks/x", {"hooks/x": Entry(b"#!/bin/sh\n", EXECUTABLE)}),
    bad("git's own folder", ".git/config", named(b".git", b"config")),
    bad(
        "git's own folder below",
        "agents/.git/config",
        named(b"agents", b".git", b"config"),
    ),
    bad("upwards", "../outside.md", named(b"..", b"outside.md")),
    bad(
        "upwards from below",
        "agents/../../x.md",
        named(b"agents", b"..", b"..", b"x.md"),
    ),
    bad(
        "slashes in a name",
        "agents/..\\x2f..\\x2fx.md",
        named(b"agents", b"../../x.md"),
    ),
    bad("a path from the root", "\\x2fx.md", named(b"/x.md")),
    bad("a name not in UTF-8", "agents/\\xff.md", named(b"agents", b"\xff.md")),
    bad("a backslash", "agents/..\\\\x.md", named(b"agents", b"..\\x.md")),
    bad("a line break", "agents/x\ny.md", named(b"agents", b"x\ny.md")),
    bad("a device", "agents/con.md", named(b"agents", b"con.md")),
    bad("upper case", "agents/Builder.md", named(b"agents", b"Builder.md")),
    bad("an option", "agents/-rf.md", named(b"agents", b"-rf.md")),
    bad("a long name", f"agents/{'a' * 250}.md", named(b"agents", b"a" * 250 + b".md")),
    bad("a stray message", STRAY_PATH, {STRAY_PATH: DATA}),
    bad("a message twice", SECOND_PATH, {PATH: DATA, SECOND_PATH: DATA}),
    bad("a receipt of nothing", RECEIPT_PATH, {RECEIPT_PATH: RECEIPT_DATA}),
    bad(
        "a receipt of a stranger",
        STRANGERS_PATH,
        {PATH: DATA, STRANGERS_PATH: STRANGERS_DATA},
    ),
    bad(
        "a receipt elsewhere",
        ELSEWHERE_PATH,
        {PATH: DATA, ELSEWHERE_PATH: RECEIPT_DATA},
    ),
    bad("a copy of nothing", COPY_PATH, {COPY_PATH: COPY_DATA}),
    bad("a profile of nobody", "agents/zoe.md", {"agents/zoe.md": b"Text."}),
]


@pytest.mark.parametrize(("path", "changes"), BAD)
def test_a_bad_file_is_named_and_everything_else_goes_on(
    box: Path, clone: Clone, path: str, changes: Changes
) -> None:
    """It is quarantined, never on the disk as more than a file, and stops no mail."""
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").poll()
        around = _around(box)
        clone.push(changes)

        reviewer = mailbox.agent("reviewer")
        assert "There before." in _bodies(reviewer.poll().items)
        assert [each for each, _ in mailbox.status().quarantine] == [path]
        sent = mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert sent.message.id in [item.id for item in reviewer.poll().items]
        assert [each for each, _ in mailbox.status().quarantine] == [path]
        assert contents(mailbox) == contents_made_anew(mailbox)
        assert mailbox.status().uncommitted == ()
        assert _unsafe(box) == []
        assert _around(box) == around

        # When it goes, all is as if it had never been there.
        clone.push(dict.fromkeys(changes))
        assert mailbox.status().quarantine == ()
        assert contents(mailbox) == contents_made_anew(mailbox)
        assert _unsafe(box) == []


@pytest.mark.parametrize("entry", [b"Text.", Entry(b"..", LINK), None])
def test_messages_that_are_gone_from_the_tip_are_gone_and_mail_goes_on(
    box: Path, clone: Clone, entry: Entry | bytes | None
) -> None:
    """The tip alone is true, and git's history still has them (I1)."""
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").poll()
        clone.push({"messages": entry})
        assert mailbox.agent("reviewer").poll().items == ()

        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert _bodies(mailbox.agent("reviewer").poll().items) == ["Sent after."]
        assert contents(mailbox) == contents_made_anew(mailbox)
    assert_sound(box)


def test_two_entries_of_one_name_are_one_file(box: Path, clone: Clone) -> None:
    """Git lets such a tree in; each reader must see the same one of the two."""
    clone.push({PATH: DATA})
    clone.push({PATH: OTHER_DATA}, second=True)
    with Mailbox.open(box) as mailbox:
        assert len(mailbox.agent("reviewer").poll().items) in (1, 2)
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert contents(mailbox) == contents_made_anew(mailbox)
        assert mailbox.status().uncommitted == ()


def test_a_receipt_that_comes_before_its_message_counts_when_that_comes(
    box: Path, clone: Clone
) -> None:
    """As when the message travels by another way."""
    clone.push({RECEIPT_PATH: RECEIPT_DATA})
    with Mailbox.open(box) as mailbox:
        assert [path for path, _ in mailbox.status().quarantine] == [RECEIPT_PATH]
        clone.push({PATH: DATA})

        assert mailbox.status().quarantine == ()
        line = mailbox.agent("builder").receipts(blob_id(DATA)).lines[0]
        assert (line.name, line.state) == ("reviewer", Stage.ACKED)
        assert contents(mailbox) == contents_made_anew(mailbox)
    assert_sound(box)


def test_a_receipt_that_comes_before_the_blind_copy_counts_when_that_comes(
    box: Path, clone: Clone
) -> None:
    """Until then its agent is nobody whom the message reached."""
    path, data = message_file("reviewer", ["reviewer"], "For more than one.")
    receipt, copy = receipt_file("builder", data), copy_file("builder", data)
    clone.push(dict([(path, data), receipt]))
    with Mailbox.open(box) as mailbox:
        assert [each for each, _ in mailbox.status().quarantine] == [receipt[0]]
        clone.push(dict([copy]))

        assert mailbox.status().quarantine == ()
        assert mailbox.agent("builder").poll().items == ()
        assert contents(mailbox) == contents_made_anew(mailbox)


def test_a_profile_that_becomes_unreadable_is_no_longer_registered(
    box: Path, clone: Clone
) -> None:
    """What is unreadable at the tip does not count, whatever was known before (I1)."""
    was = git(clone.folder, "show", "origin/gitmail:agents/builder.md").encode()
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").poll()
        clone.push({"agents/builder.md": b"Text."})
        with pytest.raises(NotRegisteredError):
            mailbox.agent("builder").poll()
        assert contents(mailbox) == contents_made_anew(mailbox)

        clone.push({"agents/builder.md": was})
        mailbox.agent("builder").poll()
        assert contents(mailbox) == contents_made_anew(mailbox)
    assert_sound(box)


def test_a_charter_that_is_unreadable_stops_the_mailbox_until_it_is_mended(
    box: Path, clone: Clone
) -> None:
    """Without it nothing says which mailbox this is, nor what it allows."""
    was = git(clone.folder, "show", "origin/gitmail:mailbox.md").encode()
    with Mailbox.open(box) as mailbox:
        for broken in (b"Text.", None, Entry(b"/etc/passwd", LINK)):
            clone.push({"mailbox.md": broken})
            with pytest.raises(CorruptMailboxError):
                mailbox.agent("reviewer").poll()
        clone.push({"mailbox.md": was})
        assert _bodies(mailbox.agent("reviewer").poll().items) == ["There before."]
    assert_sound(box)


@pytest.mark.parametrize(
    ("who", "when"),
    [
        (b"builder <builder@gitmail.invalid>", b"99999999999999999999 +0000"),
        (b"builder <builder@gitmail.invalid>", b"999999999999 +0000"),
        (b"builder <builder@gitmail.invalid>", b"-5 +0000"),
        (b"builder <builder@gitmail.invalid>", b""),
        (b"No Address", b"1 +0000"),
        (b"", b""),
        (b"\xff\x1b[2J <\n", b""),
    ],
)
def test_a_commit_with_an_odd_author_or_time_stops_no_mail(
    box: Path, clone: Clone, who: bytes, when: bytes
) -> None:
    """A person's clock or name may be anything; the tree is what counts."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    tip = git(clone.folder, "rev-parse", "origin/gitmail").strip()
    role = who + b" " + when + b"\n"
    head = f"tree {tree}\nparent {tip}\n".encode()
    commit = head + b"author " + role + b"committer " + role + b"\nBy hand\n"
    made = clone.write("commit", commit)
    clone.bring(made)

    with Mailbox.open(box) as mailbox:
        assert _bodies(mailbox.agent("reviewer").poll().items) == ["There before."]
        mailbox.agent("builder").send(to="reviewer", body="Sent after.")
        assert mailbox.log()[1].commit == made
        assert mailbox.whois("builder").last_seen
        assert contents(mailbox) == contents_made_anew(mailbox)


def test_an_ordinary_clone_is_complete(box: Path, clone: Clone) -> None:
    """Git's own tools read a clone as they read the mailbox (DESIGN 3)."""
    clone.push({PATH: DATA})
    folder = clone.folder.parent / "another"
    git(folder.parent, "clone", "-q", str(box), str(folder))

    assert git(folder, "fsck", "--strict", "--full") == ""
    assert (folder / PATH).read_bytes() == DATA
    assert "Pushed." in git(folder, "log", "-p")
    assert git(folder, "status", "--porcelain") == ""
    assert_sound(box)


def _bodies(items: tuple) -> list[str]:
    return [item.message.body for item in items]


def _around(box: Path) -> set[Path]:
    """Return all that is beside the mailbox, where nothing may appear."""
    return {
        path
        for path in box.parents[1].rglob("*")
        if box not in path.parents and "clone" not in path.parts
    }


def _unsafe(box: Path) -> list[Path]:
    """Return what is on the disk and no plain file at a path of a mailbox."""
    return [
        path
        for path in box.rglob("*")
        if (name := path.relative_to(box).as_posix()).split("/")[0] != ".git"
        if path.is_symlink() or not path.is_dir()
        if path.is_symlink()
        or path.stat().st_mode & 0o111
        or parse_path(name).family is Family.UNKNOWN
    ]
