"""The folders in which messages are put (DESIGN 4)."""

from pathlib import Path

from gitmail import Agent, Mailbox
from tests.helpers import SettableClock, files_in_tip
from tests.mailboxes import edit, reopened


def test_a_folder_that_is_full_is_followed_by_another(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """An hour of many messages goes on in a further folder, and all are found (I9)."""
    for count in (150, 100, 1):
        builder.send_many([{"to": "reviewer", "body": str(n)} for n in range(count)])
    paths = [path for path in files_in_tip(mailbox.path) if "builder" in path]
    folders = [path.split("/")[3] for path in paths if path.startswith("messages/")]

    assert (folders.count("14"), folders.count("14.001")) == (200, 51)
    with reopened(mailbox, clock) as other:
        assert other.status(agent="reviewer").unacked_count == 251
        assert reviewer.poll(show="any", limit=200).has_more


def test_a_folder_that_a_push_left_behind_does_no_harm(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tmp_path: Path
) -> None:
    """Whatever its name, the next message gets a place where it can be read again."""
    day = "messages/2026-11/30"
    names = ["14.9999999", "14.5", "14.x", "14.0000001", "14.-01", "140"]
    files: dict[str, str | None] = {f"{day}/{name}/a.md": "x" for name in names}
    edit(mailbox.path, tmp_path / "clone", files)

    sent = builder.send(to="lead", body="Hello.")

    assert f"{day}/14/" in "".join(files_in_tip(mailbox.path))
    with reopened(mailbox, clock) as other:
        assert other.agent("lead").read(sent.message.id).text == "Hello."
        assert len(other.status().quarantine) == len(names)


def test_a_file_in_the_place_of_a_folder_does_no_harm(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tmp_path: Path
) -> None:
    """What was pushed and is no part of a mailbox gives way."""
    edit(mailbox.path, tmp_path / "clone", {"messages/2026-11/30/14": "x"})

    sent = builder.send(to="lead", body="Hello.")

    with reopened(mailbox, clock) as other:
        assert other.agent("lead").read(sent.message.id).text == "Hello."
