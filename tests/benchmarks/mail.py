"""Mailboxes and messages to measure with."""

from pathlib import Path

from gitmail import Mailbox
from gitmail.mailbox.agent import Agent

WORDS = (Path(__file__).parent / "floors.py").read_text("utf-8").split()


def make_mailbox(folder: Path) -> Mailbox:
    """Return a new mailbox with three agents."""
    mailbox = Mailbox.init(folder)
    for name in ("builder", "reviewer", "reader"):
        mailbox.register(name)
    return mailbox


def draft(number: int) -> dict[str, object]:
    """Return a message of about 300 bytes."""
    words = (WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(60))
    body = f"{number} {' '.join(words)}"[:300]
    return {"to": ["reviewer"], "subject": f"Message {number}", "body": body}


def post(agent: Agent, number: int) -> None:
    """Send one message."""
    agent.send(**draft(number))  # type: ignore[arg-type]


def fill(mailbox: Mailbox, count: int) -> None:
    """Put messages into a mailbox, and fifty that are pending for `reader`."""
    builder = mailbox.agent("builder")
    for start in range(0, count, 10_000):
        builder.send_many([draft(start + i) for i in range(min(10_000, count))])
    builder.send_many([draft(i) | {"to": ["reader"]} for i in range(50)])
    mailbox.store.housekeeping()
