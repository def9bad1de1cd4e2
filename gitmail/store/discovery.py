"""Finding the mailbox of a folder, and the project around it, by reading git's files.

Neither the environment nor an installed git is asked (DESIGN 3).
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from gitmail.errors import CorruptMailboxError, MailboxNotFoundError
from gitmail.records.message import Location
from gitmail.records.text import headline
from gitmail.store.disk import translated
from gitmail.store.refs import REF

MAILBOX_FOLDER = ".gitmail"
LOCAL = "gitmail"
"""Folder of a mailbox's repository for what must never be synced."""
_WRITER_LOCK = "write.lock"
_BARE_FOLDER = "gitmail"
EXCLUDE_LINE = f"/{MAILBOX_FOLDER}/"
_BARE = re.compile(r"^\s*bare\s*=\s*true\s*$", re.MULTILINE)
_HAS_BARE = re.compile(r"(^|\])\s*bare\b", re.MULTILINE | re.IGNORECASE)
_HEAD = re.compile(r"ref: .+|[0-9a-f]{40}")
_WORKTREE = re.compile(r'^\s*worktree\s*=\s*"?(.+?)"?\s*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Project:
    """A project's git repository, as seen from one folder.

    Attributes:
        checkout: The folder's work tree, None inside a bare repository.
        git_dir: Where that work tree's HEAD is.
        common_dir: What all work trees of the repository share.
        mailbox: The mailbox's folder.
    """

    checkout: Path | None
    git_dir: Path
    common_dir: Path
    mailbox: Path

    @property
    def name(self) -> str:
        """The name of the folder that people know the project by."""
        if self.mailbox.name == MAILBOX_FOLDER:
            name = self.mailbox.parent.name
        else:
            name = self.common_dir.name.removesuffix(".git").strip(".")
        return headline(name) or "project"

    def exclude(self) -> None:
        """Make the project's git ignore the mailbox, by one line, once."""
        if self.mailbox.name != MAILBOX_FOLDER:
            return
        file = self.common_dir / "info" / "exclude"
        with translated(file):
            text = file.read_text("utf-8", "surrogateescape") if file.exists() else ""
            if EXCLUDE_LINE in text.splitlines():
                return
            file.parent.mkdir(exist_ok=True)
            newline = "" if not text or text.endswith("\n") else "\n"
            with file.open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(f"{newline}{EXCLUDE_LINE}\n")

    def location(self) -> Location:
        """Return the branch, work tree and commit that are checked out here."""
        head = _first_line(self.git_dir / "HEAD")
        branch = None
        if head.startswith("ref: "):
            ref = head.removeprefix("ref: ")
            branch = ref.removeprefix("refs/heads/")
            head = _ref_value(self.common_dir, ref)
        commit = head if re.fullmatch(r"[0-9a-f]{40,64}", head) else None
        worktree = self.checkout.name if self.checkout else None
        return Location(branch=branch, worktree=worktree, commit=commit)


def find_project(start: Path) -> Project | None:
    """Return the project that a folder is in, None where it is in none."""
    return next(filter(None, map(_project_at, (start, *start.parents))), None)


def find_mailbox(start: Path) -> Path | None:
    """Return the mailbox's folder that a folder belongs to, None if there is none."""
    for folder in (start, *start.parents):
        if may_be_mailbox(folder):
            return folder
        if may_be_mailbox(folder / MAILBOX_FOLDER):
            return folder / MAILBOX_FOLDER
        project = _project_at(folder)
        if project:  # a project's mailbox is its own, never that of a folder above
            return project.mailbox if may_be_mailbox(project.mailbox) else None
    return None


def may_be_mailbox(folder: Path) -> bool:
    """Tell whether a folder is a mailbox, or was one before it was damaged."""
    return _is_marked(folder) and not _was_begun(folder)


def check_mailbox(folder: Path) -> None:
    """Refuse a folder that is no mailbox, or one that must be mended first.

    Raises:
        MailboxNotFoundError: It is none.
        CorruptMailboxError: It is damaged.
    """
    if not may_be_mailbox(folder):
        raise MailboxNotFoundError(str(folder))
    damage = _damage(folder / ".git")
    if damage:
        raise CorruptMailboxError(damage, str(folder))


def _is_marked(folder: Path) -> bool:
    """Tell whether a folder bears the marks of a mailbox, which damage may reduce.

    Only gitmail writes local state. Where that was deleted, a mailbox is bare although
    it has files beside it; that tells it from a project that happens to have such a
    branch, and from an ordinary clone.
    """
    git_dir = folder / ".git"
    if os.path.lexists(git_dir / LOCAL / _WRITER_LOCK):
        return True
    if not _BARE.search(_text(git_dir / "config")):
        return False
    is_ours = _first_line(git_dir / "HEAD") == f"ref: {REF}"
    return is_ours or os.path.lexists(git_dir / LOCAL)


def _was_begun(folder: Path) -> bool:
    """Tell whether a folder is what a killed `init` leaves, and never was a mailbox."""
    git_dir = folder / ".git"
    if os.path.lexists(git_dir / "HEAD"):
        return False
    with translated(folder):
        if os.listdir(folder) != [".git"]:
            return False
    return not any(names for _, _, names in os.walk(git_dir / "objects"))


def _damage(git_dir: Path) -> str | None:
    """Return what keeps git or gitmail from using a mailbox at all."""
    local = git_dir / LOCAL
    # A person's `git init` says that it is not bare, which hinders nobody.
    if not _HAS_BARE.search(_text(git_dir / "config")):
        return "its settings, .git/config, are missing or not what they were"
    if not _HEAD.fullmatch(_first_line(git_dir / "HEAD")):
        return ".git/HEAD is missing or not what it was"
    if not os.path.isdir(git_dir / "objects"):
        return ".git/objects is missing"
    if os.path.lexists(local) and not os.path.isdir(local):
        return f".git/{LOCAL} is no folder"
    return None


# `os.path` says no to a folder that may not be looked into, where `Path` raises.
def _is_git_dir(folder: Path) -> bool:
    return os.path.isfile(folder / "HEAD") and os.path.isdir(folder / "objects")


def _project_at(folder: Path) -> Project | None:
    """Return the project whose work tree or bare repository the folder itself is."""
    dot_git = folder / ".git"
    if may_be_mailbox(folder):
        return None
    if _is_git_dir(dot_git):
        return _project(folder, dot_git)
    if os.path.isfile(dot_git):
        target = _first_line(dot_git).removeprefix("gitdir:").strip()
        git_dir = Path(os.path.normpath(folder / target))
        if os.path.isfile(git_dir / "HEAD"):
            return _project(folder, git_dir)
    if _is_git_dir(folder) and folder.name != dot_git.name:
        return _project(_main_checkout(folder), folder)
    return None


def _project(checkout: Path | None, git_dir: Path) -> Project:
    shared = git_dir / "commondir"
    if not os.path.isfile(shared):
        # The main work tree, or a submodule's: `.git` stands in the checkout itself.
        home = checkout / MAILBOX_FOLDER if checkout else git_dir / _BARE_FOLDER
        return Project(checkout, git_dir, git_dir, home)
    common = Path(os.path.normpath(git_dir / _first_line(shared)))
    if common.name == ".git":
        return Project(checkout, git_dir, common, common.parent / MAILBOX_FOLDER)
    main = _main_checkout(common)
    home = main / MAILBOX_FOLDER if main else common / _BARE_FOLDER
    return Project(checkout, git_dir, common, home)


def _main_checkout(common: Path) -> Path | None:
    """Return a submodule's checkout, which only its configuration names."""
    found = _WORKTREE.search(_text(common / "config"))
    return Path(os.path.normpath(common / found[1])) if found else None


def _ref_value(common: Path, ref: str) -> str:
    loose = _first_line(common / ref)
    if loose:
        return loose
    try:
        packed = (common / "packed-refs").read_text("ascii", "replace").splitlines()
    except OSError:
        return ""
    return next((x.split(" ", 1)[0] for x in packed if x.endswith(f" {ref}")), "")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _first_line(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(4096).strip()
    except OSError:
        return ""
