"""Flags before variables before defaults, into one value."""

import os
from pathlib import Path

import pytest

from gitmail import Mailbox, config
from gitmail.errors import MailboxNotFoundError
from tests.helpers import make_bare_bones_project
from tests.processes import posix_only


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a mailbox, which is the current folder."""
    project = make_bare_bones_project(tmp_path / "project")
    Mailbox.init(project / ".gitmail").close()
    monkeypatch.chdir(project)
    return project


def test_without_anything_the_defaults_hold(here: Path) -> None:
    """The mailbox is the one of the folder."""
    settings = config.load()

    assert settings == config.Settings(folder=here)
    assert settings.find() == here / ".gitmail"
    assert settings.place_to_init() == here / ".gitmail"


def test_variables_count_where_no_flag_is(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITMAIL_DIR, GITMAIL_AGENT, GITMAIL_LOCATION and NO_COLOR."""
    monkeypatch.setenv("GITMAIL_DIR", str(tmp_path / "mail"))
    monkeypatch.setenv("GITMAIL_AGENT", "builder")
    monkeypatch.setenv("GITMAIL_LOCATION", "Off")
    monkeypatch.setenv("NO_COLOR", "1")
    assert config.load() == config.Settings(
        folder=here,
        mailbox=tmp_path / "mail",
        agent="builder",
        has_color=False,
        stamps_location=False,
    )


def test_a_flag_counts_more_than_a_variable(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both for the mailbox and for the agent."""
    monkeypatch.setenv("GITMAIL_DIR", str(tmp_path / "mail"))
    monkeypatch.setenv("GITMAIL_AGENT", "builder")
    settings = config.load(mailbox=str(tmp_path / "other"), agent="reviewer")

    assert (settings.mailbox, settings.agent) == (tmp_path / "other", "reviewer")
    assert settings.find() == settings.place_to_init() == tmp_path / "other"
    assert settings.folder == here


@pytest.mark.usefixtures("here")
def test_empty_variables_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that cannot unset one sets it to nothing."""
    expected = config.load()
    for name in ("GITMAIL_DIR", "GITMAIL_AGENT", "NO_COLOR", "GITMAIL_LOCATION"):
        monkeypatch.setenv(name, "")
    assert config.load() == expected


@pytest.mark.parametrize("word", ["0", "off", "no", "false", "OFF", "No"])
@pytest.mark.usefixtures("here")
def test_the_place_is_stamped_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """By a word that people use for it (CAPABILITIES M10)."""
    look = config.load().location()
    assert look
    assert look() is not None
    monkeypatch.setenv("GITMAIL_LOCATION", word)
    assert config.load().location() is None


def test_a_relative_path_is_one_from_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made absolute at once, for the folder may change."""
    settings = config.load(mailbox=".gitmail")
    monkeypatch.chdir(here.parent)
    assert settings.find() == here / ".gitmail"


def test_no_mailbox_is_an_error_that_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what makes one."""
    monkeypatch.chdir(tmp_path)
    settings = config.load()
    with pytest.raises(MailboxNotFoundError) as caught:
        settings.find()
    assert caught.value.details == {"path": str(tmp_path)}
    assert settings.place_to_init() == tmp_path / ".gitmail"
    assert settings.project() is None
    look = settings.location()
    assert look
    assert look() is None


@posix_only
def test_a_folder_that_was_deleted_stops_only_who_needs_it(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may outlive the folder in which it was started."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(MailboxNotFoundError):
        config.load()
    with pytest.raises(MailboxNotFoundError):
        config.load(mailbox="relative")
    assert config.load(mailbox=str(here / ".gitmail")).find() == here / ".gitmail"
    os.chdir(tmp_path)
