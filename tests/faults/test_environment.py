"""What surrounds the mailbox: variables, a person's git settings, the project (I10)."""

import stat
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import git, make_git_project
from tests.processes import Child, assert_sound, needs_git, posix_only

CHILDREN = "tests.faults.children"
pytestmark = [needs_git, posix_only]
HARMFUL = {
    "GIT_DIR": "/nonexistent",
    "GIT_WORK_TREE": "/nonexistent",
    "GIT_COMMON_DIR": "/nonexistent",
    "GIT_INDEX_FILE": "/nonexistent/index",
    "GIT_OBJECT_DIRECTORY": "/nonexistent/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent/more",
    "GIT_NAMESPACE": "elsewhere",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "0",
    "GIT_AUTHOR_NAME": "Mallory",
    "GIT_AUTHOR_EMAIL": "mallory@example.org",
    "GIT_AUTHOR_DATE": "1 +0000",
    "GIT_COMMITTER_NAME": "Mallory",
    "GIT_COMMITTER_DATE": "1 +0000",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.bare",
    "GIT_CONFIG_VALUE_0": "nonsense",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_TEMPLATE_DIR": "/nonexistent",
    "GIT_TRACE": "1",
}
SETTINGS = """
[commit]
    gpgSign = true
[gpg]
    program = /bin/false
[user]
    useConfigOnly = true
[core]
    hooksPath = {hooks}
    autocrlf = true
    bare = maybe
    fsync = none
    excludesFile = {hooks}
    worktree = /nonexistent
[init]
    defaultBranch = elsewhere
    defaultObjectFormat = sha256
    templateDir = {hooks}
[receive]
    fsckObjects = true
[gc]
    auto = 1
"""
HOOKS = (
    *("pre-commit", "commit-msg", "post-commit", "post-checkout", "pre-receive"),
    *("update", "post-receive", "post-update", "reference-transaction"),
)


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """Return a repository with a change in the index, one beside it, and a stash."""
    project = make_git_project(tmp_path / "project")
    git(project, "stash", "-q")
    (project / "code.py").write_text("print(3)\n", "ascii")
    (project / "new.py").write_text("print(4)\n", "ascii")
    git(project, "add", "new.py")
    return project


@pytest.mark.parametrize(
    "variables",
    [HARMFUL, {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index"}],
    ids=["harmful", "of a hook"],
)
def test_variables_of_git_have_no_effect(
    project: Path, variables: dict[str, str]
) -> None:
    """Also those that a hook of git's sets for what it starts (DESIGN 3)."""
    before = _project_state(project)
    _assert_conversation(project, variables)
    _assert_unchanged(project, before)


def test_settings_of_a_person_have_no_effect(project: Path, tmp_path: Path) -> None:
    """Neither hooks nor signing nor names: a commit is built, not made by git."""
    home = tmp_path / "home"
    hooks = _hooks(home / "hooks")
    (home / ".gitconfig").write_text(SETTINGS.format(hooks=hooks), "utf-8")
    before = _project_state(project)
    _assert_conversation(project, {"HOME": str(home), "XDG_CONFIG_HOME": str(home)})
    _assert_unchanged(project, before)
    assert not (home / "ran").exists()


def test_hooks_and_settings_of_the_project_have_no_effect(project: Path) -> None:
    """The mailbox is a repository of its own (I10)."""
    hooks = _hooks(project / ".git" / "hooks")
    with (project / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n")
    before = _project_state(project)
    _assert_conversation(project, {})
    _assert_unchanged(project, before)
    assert not (hooks.parent / "ran").exists()


def test_no_name_and_no_home_are_needed(project: Path) -> None:
    """A container often has neither."""
    before = _project_state(project)
    nothing = dict.fromkeys(("HOME", "USERPROFILE", "XDG_CONFIG_HOME"), "")
    _assert_conversation(project, nothing, absent=tuple(nothing))
    _assert_unchanged(project, before)


def test_a_second_conversation_changes_nothing_more(project: Path) -> None:
    """Repeated `init` adds no second line."""
    _assert_conversation(project, {})
    before = _project_state(project)
    with Child(f"{CHILDREN}:converse", project) as talk:
        assert talk.answer()[0][1]["created"] is False
        talk.finish()
    assert _project_state(project) == before


def _assert_conversation(
    project: Path, variables: dict[str, str], absent: tuple[str, ...] = ()
) -> None:
    prefix = ["env", *(word for name in absent for word in ("-u", name))]
    with Child(
        f"{CHILDREN}:converse", project, prefix=prefix, variables=variables
    ) as talk:
        said: list[Any] = talk.answer()
        talk.finish()
        assert talk.said() == "it ended"
    assert [code for code, _ in said] == [0] * 7
    assert [m["body"] for m in said[4][1]["messages"]] == ["Hello."]
    box = project / ".gitmail"
    assert said[0][1]["mailbox"] == str(box)
    people = git(box, "log", "--format=%an <%ae> %cn <%ce> %G?", "gitmail").split("\n")
    assert people[0] == (
        "reviewer <reviewer@gitmail.invalid> reviewer <reviewer@gitmail.invalid> N"
    )
    assert {path.name for path in project.iterdir()} == {
        *(".git", ".gitmail", "code.py", "new.py")
    }
    assert_sound(box)


def _assert_unchanged(project: Path, before: dict[str, bytes]) -> None:
    """Check that only one line in `info/exclude` is new, and the mailbox unseen."""
    after = _project_state(project)
    assert after.pop("info/exclude") == before.pop("info/exclude") + b"/.gitmail/\n"
    assert after == before
    assert git(project, "status", "--porcelain") == " M code.py\nA  new.py\n"
    assert git(project, "stash", "list").count("\n") == 1


def _project_state(project: Path) -> dict[str, bytes]:
    folder = project / ".git"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _hooks(folder: Path) -> Path:
    """Make hooks that leave a file behind when they run, and then fail."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        hook = folder / name
        hook.write_text(f"#!/bin/sh\ntouch '{folder.parent}/ran'\nexit 1\n", "utf-8")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    return folder
