"""The state of a mailbox (CAPABILITIES V6)."""

from pathlib import Path

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidNameError
from gitmail.render import plain
from tests.helpers import SettableClock, git
from tests.mailboxes import edit, reopened


def test_status_names_the_mailbox_and_its_tip(mailbox: Mailbox) -> None:
    """Without an agent it counts nothing that is pending (V6)."""
    status = mailbox.status()

    assert status.path == str(mailbox.path)
    assert status.id == mailbox.charter().id
    assert (status.project, status.format) == ("box", 1)
    assert status.branch == "refs/heads/gitmail"
    assert status.tip == git(mailbox.path, "rev-parse", "gitmail").strip()
    assert (status.agent, status.unread_count, status.unacked_count) == (
        None,
        None,
        None,
    )
    assert (status.quarantine, status.uncommitted) == ((), ())


def test_status_counts_messages_agents_and_commits(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """As git does, and the same without the index (V6, I1)."""
    builder.send_many([{"to": "all", "body": str(n)} for n in range(3)])
    reviewer.poll(limit=1, ack=True)
    builder.memory.add("A note.")
    builder.memory.set("world", "python", "latest", "3.14")
    builder.memory.forget("world", "python")

    status = mailbox.status(agent="reviewer")

    count = git(mailbox.path, "rev-list", "--count", "gitmail").strip()
    assert (status.message_count, status.agent_count) == (3, 3)
    assert status.memory_count == 1
    assert status.commit_count == int(count) == 9
    assert (status.unread_count, status.unacked_count) == (2, 2)
    with reopened(mailbox, clock) as other:
        assert other.status(agent="reviewer") == status


def test_status_of_an_agent_counts_its_own_mail(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Read mail is unacknowledged, sent mail is neither (V6)."""
    builder.send(to="reviewer,lead", body="1")
    message = builder.send(to="reviewer", bcc="lead", body="2").message.id
    reviewer.ack(message, stage="read")

    counts = {
        name: (status.unread_count, status.unacked_count)
        for name in ("builder", "Reviewer", "lead", "unheard-of")
        for status in [mailbox.status(agent=name)]
    }

    assert counts == {
        "builder": (0, 0),
        "Reviewer": (1, 2),
        "lead": (2, 2),
        "unheard-of": (0, 0),
    }
    assert mailbox.status(agent="Reviewer").agent == "reviewer"


def test_status_of_what_is_no_name_is_refused(mailbox: Mailbox) -> None:
    """As everywhere."""
    with pytest.raises(InvalidNameError):
        mailbox.status(agent="a b")


def test_status_names_what_was_changed_on_disk_by_hand(
    mailbox: Mailbox, builder: Agent
) -> None:
    """It is not mail, and no answer has it (V6, DESIGN 11)."""
    kept = builder.send(to="lead", body="kept").message.id
    builder.send(to="lead", subject="removed", body="removed")
    edited, removed = sorted((mailbox.path / "messages").rglob("*.md"))
    edited.chmod(0o644)
    edited.write_text("edited", "utf-8")
    removed.unlink()
    (mailbox.path / "messages" / "notes.md").write_text("added", "utf-8")

    status = mailbox.status()

    assert dict(status.uncommitted) == {
        edited.relative_to(mailbox.path).as_posix(): "modified",
        removed.relative_to(mailbox.path).as_posix(): "deleted",
        "messages/notes.md": "added",
    }
    lead = mailbox.agent("lead")
    assert [item.text for item in lead.poll().items] == ["kept", "removed"]
    assert lead.read(kept).text == "kept"


def test_status_names_what_the_tip_has_and_no_mailbox_should(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Each path with a reason; what is put right is no longer named (V6)."""
    message = builder.send(to="lead", body="x").message.id
    path = next((mailbox.path / "messages").rglob("*.md"))
    text = path.read_text("utf-8")
    misplaced = path.relative_to(mailbox.path).as_posix().replace("builder", "other")
    bad: dict[str, str | None] = {
        misplaced: text,
        "agents/half.md": "---\nname: half\n",
        "stray.txt": "x",
        f"receipts/lead/2026-11/30/14/{'0' * 40}.acked.md": "x",
    }
    edit(mailbox.path, tmp_path / "one", bad)

    status = mailbox.status()

    assert [name for name, _ in status.quarantine] == sorted(bad)
    assert all(reason for _, reason in status.quarantine)
    page = mailbox.agent("builder").poll()
    assert page.quarantined_count == len(bad)
    assert plain.page(page)["quarantined"] == len(bad)
    assert mailbox.agent("lead").read(message).text == "x"
    edit(mailbox.path, tmp_path / "two", dict.fromkeys(bad))
    assert mailbox.status().quarantine == ()
