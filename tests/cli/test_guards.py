"""The guards of `tests/conftest.py` themselves."""

import os
from pathlib import Path

import pytest

from tests.conftest import ATestTouchesTheRealHomeError


def test_a_test_cannot_open_the_settings_of_the_person_who_runs_it() -> None:
    """The real home is out of bounds, however it is found."""
    pwd = pytest.importorskip("pwd", reason="this system has no user database")
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)

    with pytest.raises(ATestTouchesTheRealHomeError):
        (home / ".gitconfig").read_bytes()


def test_a_test_sees_no_settings_of_git_or_gitmail() -> None:
    """Only what keeps a machine's git settings out is set."""
    names = [name for name in os.environ if name.startswith(("GIT_", "GITMAIL_"))]  # noqa: TID251 - what the guard is about

    assert names == ["GIT_CONFIG_NOSYSTEM"]
    assert Path.home().name.startswith("home")
