"""Which mailbox a folder belongs to, found by reading git's files (DESIGN 3)."""

import os
import shutil
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import (
    CorruptMailboxError,
    FolderInUseError,
    MailboxNotFoundError,
    ReadOnlyError,
)
from gitmail.records.message import Location
from gitmail.store.discovery import find_mailbox, find_project
from tests.helpers import git, make_bare_bones_project, make_git_project
from tests.processes import needs_git, posix_only


def make_mailbox(place: Path) -> Path:
    """Make a mailbox, and return the folder it is in."""
    with Mailbox.init(place) as mailbox:
        return mailbox.path


def init(start: Path) -> Path:
    """Make the mailbox that belongs to a folder, as `gitmail init` does."""
    project = find_project(start)
    assert project
    return make_mailbox(project.mailbox)


def test_a_folder_outside_of_all_has_no_mailbox(tmp_path: Path) -> None:
    """Nor a project."""
    assert find_mailbox(tmp_path) is None
    assert find_project(tmp_path) is None


def test_a_project_without_mailbox_has_none(project: Path) -> None:
    """But a place for one."""
    found = find_project(project)
    assert found
    assert found.mailbox == project / ".gitmail"
    assert find_mailbox(project) is None


def test_a_mailbox_is_found_from_anywhere_in_the_project(project: Path) -> None:
    """From the top, from below, and from inside git's own folder."""
    box = init(project)
    below = project / "a" / "b"
    below.mkdir(parents=True)
    (project / ".git" / "hooks").mkdir()
    for start in (project, below, project / ".git", project / ".git" / "hooks"):
        assert find_mailbox(start) == box == project / ".gitmail"


def test_a_mailbox_is_found_from_inside_itself(project: Path) -> None:
    """Also where git keeps its files, and where a message's folder is."""
    box = init(project)
    (box / "messages" / "2026-11").mkdir(parents=True)
    for inside in (".", "agents", "messages/2026-11", ".git", ".git/objects/pack"):
        start = Path(os.path.normpath(box / inside))
        start.mkdir(parents=True, exist_ok=True)
        assert find_mailbox(start) == box
        found = find_project(start)
        assert found
        assert found.mailbox == box


def test_a_plain_folder_may_have_a_mailbox(tmp_path: Path) -> None:
    """A folder that is no git project works too."""
    box = make_mailbox(tmp_path / ".gitmail")
    (tmp_path / "below").mkdir()
    assert find_mailbox(tmp_path / "below") == box
    assert find_project(tmp_path / "below") is None


@posix_only
def test_a_mailbox_is_found_through_a_link(project: Path, tmp_path: Path) -> None:
    """A link to the project, to a folder in it, or to the mailbox itself."""
    box = init(project)
    (project / "below").mkdir()
    for name, target in (("a", project), ("b", project / "below"), ("c", box)):
        (tmp_path / name).symlink_to(target)
    for name in ("a", "b", "c"):
        found = find_mailbox((tmp_path / name).resolve())
        assert found == box
    with Mailbox.open(tmp_path / "c") as mailbox:
        assert mailbox.path == box
    moved = tmp_path / "elsewhere"
    box.rename(moved)
    box.symlink_to(moved)
    with Mailbox.open(find_mailbox(project) or "") as mailbox:
        assert mailbox.path == moved


@needs_git
def test_linked_work_trees_share_the_mailbox_of_the_main_one(tmp_path: Path) -> None:
    """Through the git common directory, wherever the tree is."""
    project = make_git_project(tmp_path / "project")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(project, "worktree", "add", "-q", str(project / "nested"))
    box = init(tmp_path / "tree")
    assert box == project / ".gitmail"
    for start in (project, tmp_path / "tree", project / "nested"):
        assert find_mailbox(start) == box

    found = find_project(tmp_path / "tree")
    assert found
    head = git(project, "rev-parse", "HEAD").strip()
    expected = Location(branch="tree", worktree="tree", commit=head)
    assert found.location() == expected
    found.exclude()
    assert ".gitmail" not in git(project, "status", "--porcelain")
    assert (
        (project / ".git" / "info" / "exclude")
        .read_text("utf-8")
        .endswith("\n/.gitmail/\n")
    )


@needs_git
def test_work_trees_of_a_bare_repository_share_one_mailbox(tmp_path: Path) -> None:
    """It is in the repository itself, and there is nothing to exclude."""
    project = make_git_project(tmp_path / "project")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(project), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"))
    box = init(tmp_path / "tree")
    assert box == bare / "gitmail"
    for start in (bare, bare / "hooks", tmp_path / "tree", box, box / ".git"):
        assert find_mailbox(start) == box

    found = find_project(tmp_path / "tree")
    assert found
    assert found.name == "bare"
    before = (bare / "info" / "exclude").read_bytes()
    found.exclude()
    assert (bare / "info" / "exclude").read_bytes() == before


@needs_git
def test_a_bare_repository_named_dot_git_keeps_it_beside_its_work_trees(
    tmp_path: Path,
) -> None:
    """As many people arrange the work trees of one project."""
    bare = tmp_path / "project" / ".git"
    source = make_git_project(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", str(source), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "project" / "tree"))
    box = init(tmp_path / "project" / "tree")
    assert box == tmp_path / "project" / ".gitmail"
    for start in (bare.parent, bare, bare.parent / "tree"):
        assert find_mailbox(start) == box


@needs_git
@pytest.mark.parametrize("name", ["module", "a #module"])
def test_a_submodule_has_a_mailbox_of_its_own(tmp_path: Path, name: str) -> None:
    """Which repository owns the mail is never a matter of where one stands."""
    project = make_git_project(tmp_path / "project")
    source = make_git_project(tmp_path / "source")
    allow = ["-c", "protocol.file.allow=always"]
    git(project, *allow, "submodule", "add", "-q", str(source), name)
    module = project / name
    outer = init(project)
    assert find_mailbox(module) is None

    box = init(module)
    assert box == module / ".gitmail"
    git(module, "worktree", "add", "-q", str(tmp_path / "tree"))
    inside = project / ".git" / "modules" / name
    for start in (module, tmp_path / "tree", inside):
        assert find_mailbox(start) == box
    assert find_mailbox(project) == outer
    found = find_project(module)
    assert found
    found.exclude()
    assert git(module, "status", "--porcelain") == ""


def test_a_nested_repository_never_sees_the_mailbox_around_it(project: Path) -> None:
    """Its mail is its own business, whether it has a work tree or none."""
    init(project)
    nested = make_bare_bones_project(project / "vendor" / "nested")
    bare = project / "vendor" / "bare.git"
    shutil.copytree(nested / ".git", bare)
    for inner in (nested, bare):
        assert find_mailbox(inner) is None
        box = init(inner)
        assert find_mailbox(inner) == box
        assert box.parent == inner


def test_a_nested_mailbox_is_not_part_of_the_project(project: Path) -> None:
    """A mailbox is a repository too, but no project that could have one."""
    box = make_mailbox(project / "mail")
    found = find_project(box)
    assert found
    assert found.checkout == project


@needs_git
def test_a_clone_of_a_mailbox_is_an_ordinary_repository(
    project: Path, tmp_path: Path
) -> None:
    """Nobody sends mail by accident from where it is edited by hand."""
    box = init(project)
    git(tmp_path, "clone", "-q", str(box), str(project / "clone"))
    assert find_mailbox(project / "clone") is None


@pytest.mark.parametrize(
    "content", ["gitdir: ../missing\n", "", "gitdir:\n", "\0\n", "x" * 5000]
)
def test_a_git_file_that_leads_nowhere_is_passed_by(
    project: Path, content: str
) -> None:
    """As the folder of a work tree that was removed."""
    box = init(project)
    (project / "below").mkdir()
    (project / "below" / ".git").write_text(content, "ascii")
    assert find_mailbox(project / "below") == box


def test_a_folder_that_may_not_be_looked_into_is_passed_by(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's repository above is no error."""
    box = init(project)
    below = project / "below"
    (below / ".git").mkdir(parents=True)
    plain = os.stat

    def stat(path: object, **said: object) -> os.stat_result:
        if str(path).startswith(str(below / ".git")):
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, **said)  # type: ignore[call-overload, no-any-return]

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)
        assert find_mailbox(below) == box


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b"/.gitmail/\n"),
        (b"", b"/.gitmail/\n"),
        (b"*.o\n", b"*.o\n/.gitmail/\n"),
        (b"*.o", b"*.o\n/.gitmail/\n"),
        (b"\xff\xfe\n", b"\xff\xfe\n/.gitmail/\n"),
        (b"*.o\r\n", b"*.o\r\n/.gitmail/\n"),
        (b"/.gitmail/\n*.o", b"/.gitmail/\n*.o"),
        (b"/.gitmail/\r\n", b"/.gitmail/\r\n"),
    ],
)
def test_the_line_that_excludes_the_mailbox_is_added_once(
    project: Path, before: bytes | None, after: bytes
) -> None:
    """Whatever else is in the file stays byte for byte (I10)."""
    file = project / ".git" / "info" / "exclude"
    if before is None:
        file.parent.rmdir()
    else:
        file.write_bytes(before)
    found = find_project(project)
    assert found
    for _ in range(2):
        found.exclude()
        assert file.read_bytes() == after


def test_an_exclude_file_that_cannot_be_written_is_an_error(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is told which file it was."""
    found = find_project(project)
    assert found

    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "exclude")

    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(ReadOnlyError):
        found.exclude()


@needs_git
def test_a_place_is_branch_tree_and_commit(tmp_path: Path) -> None:
    """Loose, packed, detached, or without a commit yet (CAPABILITIES M10)."""
    project = make_git_project(tmp_path / "project")
    head = git(project, "rev-parse", "HEAD").strip()

    def place() -> Location:
        found = find_project(project)
        assert found
        return found.location()

    on_main = Location(branch="main", worktree="project", commit=head)
    assert place() == on_main
    git(project, "pack-refs", "--all")
    assert place() == on_main
    git(project, "checkout", "-q", "-b", "feature/one")
    assert place() == Location(branch="feature/one", worktree="project", commit=head)
    git(project, "checkout", "-q", "--detach")
    assert place() == Location(worktree="project", commit=head)
    git(project, "checkout", "-q", "--orphan", "empty")
    assert place() == Location(branch="empty", worktree="project")


@needs_git
def test_a_mailbox_that_git_was_told_is_not_bare_works_all_the_same(
    project: Path,
) -> None:
    """As by somebody's `git init` in it, which changes nothing else."""
    box = init(project)
    git(box, "init", "-q")
    assert git(box, "config", "core.bare") == "false\n"
    assert find_mailbox(project) == box
    (box / ".git" / "config").write_text("[core] bare = false ; a note\n", "ascii")
    with Mailbox.open(box) as mailbox:
        mailbox.register("builder")


DAMAGES = [
    ("config", None),
    ("config", b""),
    ("config", bytes(300)),
    ("config", b"[core]\n\trepositoryformatversion = 0\n"),
    ("HEAD", None),
    ("HEAD", b""),
    ("HEAD", bytes(23)),
    ("objects", None),
    ("gitmail", b""),
]


@pytest.mark.parametrize(("name", "left"), DAMAGES)
def test_a_damaged_mailbox_is_found_and_called_damaged(
    project: Path, name: str, left: bytes | None
) -> None:
    """To make one is no way out: it is there, and can be mended."""
    box = init(project)
    place = box / ".git" / name
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    if left is not None:
        place.write_bytes(left)

    assert find_mailbox(project) == find_mailbox(box / "messages") == box
    assert find_project(box) == find_project(project)
    for act in (Mailbox.open, Mailbox.init):
        with pytest.raises(CorruptMailboxError) as caught:
            act(box)
        assert "gitmail doctor --repair" in caught.value.hint
        assert name in caught.value.details["what"]
    with pytest.raises(FolderInUseError, match="part of a mailbox"):
        Mailbox.init(box / "inner")


@needs_git
@pytest.mark.parametrize("content", [b"", bytes(300)])
def test_a_damaged_repository_of_somebody_else_is_no_mailbox(
    project: Path, content: bytes
) -> None:
    """Neither the project's own, nor a clone of a mailbox."""
    box = init(project)
    git(project, "clone", "-q", str(box), str(project / "clone"))
    shutil.rmtree(box)
    for folder in (project, project / "clone"):
        (folder / ".git" / "config").write_bytes(content)
        assert find_mailbox(folder) is None
        with pytest.raises(MailboxNotFoundError):
            Mailbox.open(folder)
