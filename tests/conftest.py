"""Guards that hold for every test, and the fixtures that most tests start from."""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

try:
    import pwd
except ImportError:  # Windows
    pwd = None

from gitmail import Agent, Mailbox
from tests.helpers import (
    SettableClock,
    make_bare_bones_project,
    make_git_project,
)

# The one that HOME names, and on systems that have one the user database's.
_REAL_HOMES = {os.path.expanduser("~")}  # noqa: PTH111 - text, for the audit hook
if pwd is not None:
    _REAL_HOMES.add(pwd.getpwuid(os.getuid()).pw_dir)
_OUT_OF_BOUNDS = tuple(
    os.path.join(home, name)  # noqa: PTH118 - as above
    for home in sorted(_REAL_HOMES)
    for name in (
        ".gitconfig",
        ".git-credentials",
        ".gitmail",
        ".config/git",
        ".config/gitmail",
        ".cache/gitmail",
        ".local/share/gitmail",
        ".local/state/gitmail",
    )
)
_KEPT_OUT = ("GIT_", "GITMAIL_", "XDG_")
_NEUTRAL = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "PAGER", "EDITOR")


class ATestTouchesTheRealHomeError(AssertionError):
    """A test opened something of the person who runs it: pass a path below tmp_path."""


def _watch_home(event: str, args: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.mkdir") and args:
        path = args[0]
        if isinstance(path, str) and path.startswith(_OUT_OF_BOUNDS):
            raise ATestTouchesTheRealHomeError(path)


sys.addaudithook(_watch_home)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes golden files anew."""
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="write the golden files of fixtures/cli as the command line prints now",
    )


@pytest.fixture(autouse=True)
def _sealed_environment(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give each test a home of its own, and nothing of git's or gitmail's settings."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):  # noqa: TID251 - what the guard is about
        if name.startswith(_KEPT_OUT) or name in _NEUTRAL:
            monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CONFIG_HOME", "CACHE_HOME", "DATA_HOME", "STATE_HOME"):
        monkeypatch.setenv(f"XDG_{name}", str(home / name.lower()))
    # A person's git is asked about the mailbox, not about the machine it runs on.
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(name="clock")
def _clock() -> SettableClock:
    """Return a clock that stands at `START` and moves only as the test says."""
    return SettableClock()


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """Return a project that gitmail takes for a git repository; made without git."""
    return make_bare_bones_project(tmp_path / "project")


@pytest.fixture(name="git_project")
def _git_project(tmp_path: Path) -> Path:
    """Return a real git repository with a commit and an uncommitted change."""
    return make_git_project(tmp_path / "git-project")


@pytest.fixture(name="mailbox")
def _mailbox(tmp_path: Path, clock: SettableClock) -> Iterator[Mailbox]:
    """Return a mailbox with the agents builder, reviewer (team core) and lead."""
    path = tmp_path / "box" / ".gitmail"
    chance = random.Random(7)  # noqa: S311 - the same names in each run
    with Mailbox.init(path, project="box", clock=clock, chance=chance) as mailbox:
        mailbox.register("builder", program="an editor", model="a model")
        mailbox.register("reviewer", teams=["core"])
        mailbox.register("lead", kind="human")
        yield mailbox


@pytest.fixture(name="builder")
def _builder(mailbox: Mailbox) -> Agent:
    """Return the verbs of builder."""
    return mailbox.agent("builder")


@pytest.fixture(name="reviewer")
def _reviewer(mailbox: Mailbox) -> Agent:
    """Return the verbs of reviewer, who is in the team core."""
    return mailbox.agent("reviewer")
