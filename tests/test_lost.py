"""A branch that goes back is followed; what it had is kept, named and brought back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.store.creation import install_guard
from gitmail.store.doctoring import examine
from gitmail.store.findings import Checkup, Kind
from gitmail.store.lost import LOST
from gitmail.store.refs import REF
from tests.helpers import git
from tests.indexes import contents, contents_made_anew
from tests.mailboxes import pending
from tests.mailfiles import Clone, message_file
from tests.processes import assert_sound, make_mailbox_with_mail, needs_git

pytestmark = needs_git
Loss = Callable[[Path], None]


@pytest.fixture(name="box")
def _box(tmp_path: Path) -> Path:
    """Return the folder of a mailbox with three messages, which nobody has open."""
    return make_mailbox_with_mail(tmp_path / ".gitmail")


@pytest.fixture(name="opened")
def _opened(box: Path) -> Iterator[Mailbox]:
    """Return that mailbox, open."""
    with Mailbox.open(box) as mailbox:
        yield mailbox


def examined(box: Path, *, repair: bool = False) -> Checkup:
    """Return what a doctor finds."""
    return examine(box, repair=repair, moment=system_clock())


def set_back(box: Path) -> None:
    """Have the branch name an earlier commit, as somebody can by hand."""
    git(box, "update-ref", REF, "gitmail~2")


def lose_the_loose_ref(box: Path) -> None:
    """Have the branch read as it was packed, as after a crash."""
    tip = git(box, "rev-parse", REF).strip()
    git(box, "update-ref", REF, "gitmail~2")
    git(box, "pack-refs", "--all")
    assert not (box / ".git" / REF).exists()
    assert git(box, "rev-parse", REF).strip() != tip


def rewrite(box: Path) -> None:
    """Have the branch name another commit on an earlier one, as a rebase does."""
    clone = Clone(box, box.parent / "clone")
    path, data = message_file("builder", ["reviewer"], "Rewritten.")
    other = clone.commit("origin/gitmail~2", {path: data})
    git(box, "fetch", "-q", str(clone.folder), other)
    git(box, "update-ref", REF, other)
    install_guard(box / ".git")


LOSSES = pytest.mark.parametrize("lose", [set_back, lose_the_loose_ref, rewrite])


@LOSSES
def test_what_the_branch_had_is_named_and_brought_back(
    box: Path, opened: Mailbox, lose: Loss
) -> None:
    """Mail that was sent meanwhile stays as well, and no commit is written twice."""
    reviewer = opened.agent("reviewer")
    had = pending(reviewer)
    tip = opened.status().tip
    lose(box)
    left = pending(reviewer)
    assert left != had
    assert opened.status().lost == (tip,)
    opened.agent("builder").send(to="reviewer", body="Sent.")
    opened.close()
    (found,) = examined(box).findings
    (mended,) = examined(box, repair=True).findings

    assert found.kind is mended.kind is Kind.LOST_COMMITS
    assert not found.is_repaired
    assert mended.is_repaired
    assert examined(box).findings == ()
    with Mailbox.open(box) as again:
        assert {*pending(again.agent("reviewer"))} == {*had, *left, "Sent."}
        assert again.status().lost == ()
        assert again.status().uncommitted == ()
        assert contents(again) == contents_made_anew(again)
        assert again.verify().finding_count == 0 or lose is rewrite
    assert_sound(box)


@LOSSES
def test_the_doctor_brings_back_what_no_command_has_noticed(
    box: Path, lose: Loss
) -> None:
    """What the files on disk show says where the branch was."""
    with Mailbox.open(box) as mailbox:
        had = pending(mailbox.agent("reviewer"))
    lose(box)
    (mended,) = examined(box, repair=True).findings

    assert mended.kind is Kind.LOST_COMMITS
    with Mailbox.open(box) as again:
        assert {*had} <= {*pending(again.agent("reviewer"))}


def test_what_was_lost_can_be_let_go(box: Path, opened: Mailbox) -> None:
    """By deleting its ref, after which nothing speaks of it."""
    set_back(box)
    (lost,) = opened.status().lost
    git(box, "update-ref", "-d", f"{LOST}/{lost}")

    assert opened.status().lost == ()
    assert examined(box).findings == ()


def test_what_was_lost_outlives_a_cleaning_up(box: Path, opened: Mailbox) -> None:
    """Packed or not, its ref keeps git from dropping it."""
    tip = opened.status().tip
    set_back(box)
    assert opened.status().lost == (tip,)
    git(box, "pack-refs", "--all")
    git(box, "gc", "-q", "--prune=now")

    assert opened.status().lost == (tip,)
    assert git(box, "cat-file", "-t", tip).strip() == "commit"


def test_a_branch_that_goes_on_has_lost_nothing(box: Path, opened: Mailbox) -> None:
    """However far others have brought it since the files were written."""
    marker = box / ".git" / "gitmail" / "shown"
    before = marker.read_bytes()
    for number in range(5):
        opened.agent("builder").send(to="reviewer", body=f"Number {number}.")
    marker.write_bytes(before)

    assert opened.status().lost == ()
    assert not (box / ".git" / LOST).exists()


@pytest.mark.parametrize("behind", [0, 1, 3])
def test_a_lost_branch_is_set_to_the_last_commit_that_gitmail_wrote(
    box: Path, behind: int
) -> None:
    """Though the files on disk show an earlier one, as after a push or a crash."""
    tip = git(box, "rev-parse", REF).strip()
    shown = git(box, "rev-parse", f"gitmail~{behind}").strip()
    (box / ".git" / "gitmail" / "shown").write_text(f"{shown}\n", "ascii")
    (box / ".git" / "gitmail" / "checked").unlink(missing_ok=True)
    (box / ".git" / REF).write_bytes(b"")
    done = examined(box, repair=True)

    assert done.left_count == 0
    assert Kind.FILE_ADDED not in {each.kind for each in done.findings}
    assert git(box, "rev-parse", REF).strip() == tip
    assert examined(box).findings == ()


def test_a_branch_of_a_persons_own_is_not_taken_for_lost_mail(box: Path) -> None:
    """What has a name of its own waits for whoever gave it."""
    tip = git(box, "rev-parse", REF).strip()
    git(box, "update-ref", "refs/heads/mine", tip)
    shown = git(box, "rev-parse", "gitmail~1").strip()
    (box / ".git" / "gitmail" / "shown").write_text(f"{shown}\n", "ascii")
    (box / ".git" / "gitmail" / "checked").unlink(missing_ok=True)
    (box / ".git" / REF).unlink()
    examined(box, repair=True)

    assert git(box, "rev-parse", REF).strip() == shown


def test_what_has_no_commit_in_common_is_left_to_a_person(
    box: Path, opened: Mailbox
) -> None:
    """The advice names both ways, and they work."""
    tip = opened.status().tip
    squash = git(box, "commit-tree", "gitmail^{tree}", "-m", "Squashed").strip()
    git(box, "update-ref", REF, squash)
    opened.status()
    opened.close()
    (found,) = examined(box, repair=True).findings
    back, away = (words.split() for words in (found.advice or "").split(": ")[1:])

    assert (found.kind, found.is_repaired) == (Kind.LOST_COMMITS, False)
    assert away[:3] == ["git", "-C", str(box)]
    assert back[3:6] == ["update-ref", REF, f"{tip};"]
    git(box, *away[3:])
    assert examined(box).findings == ()
    git(box, "update-ref", REF, tip)
    assert git(box, "rev-parse", REF).strip() == tip


def test_bad_files_that_come_back_are_told(box: Path, opened: Mailbox) -> None:
    """As a sync tells them."""
    clone = Clone(box, box.parent / "clone")
    clone.push({"stray.txt": b"x"})
    install_guard(box / ".git")
    opened.status()
    git(box, "update-ref", REF, "gitmail~1")
    (mended,) = examined(box, repair=True).findings

    assert mended.is_repaired
    assert "1 bad file" in (mended.done or "")
