"""What the fault tests do to memory, and what of it they compare."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gitmail import Agent, Mailbox
from tests.processes import make_mailbox

EPISODE = "the first"


def make_memory(folder: Path) -> Path:
    """Make a mailbox in whose memory each act of `ACTS` has something to do."""
    box = make_mailbox(folder)
    with Mailbox.open(box) as mailbox:
        mailbox.agent("reviewer").send(to="builder", body="The parser is yours.")
        memory = mailbox.agent("builder").memory
        for attribute in ("owner", "state"):
            memory.set("fact", "Parser", attribute, f"The first {attribute}.")
        memory.set("fact", "lexer", "owner", "Gone.")
        memory.forget("fact", "lexer")
        memory.set("world", "python", "latest", "3.14")
        memory.set("world", "go", "latest", "1.30")
        memory.forget("world", "go", reason="Nobody asks.")
        for number in range(3):
            memory.add(f"Note {number}.", tags=["old"], episode=EPISODE)
        old = memory.add("This was wrong.").record
        memory.supersede(old.id, "This is right.")
    return box


def set_and_acknowledge(agent: Agent) -> object:
    """Set a slot anew, and acknowledge where the value comes from."""
    (item,) = agent.poll(show="any").items
    said = {"source": f"message:{item.id}", "ack": True}
    return agent.memory.set("fact", "parser", "owner", "builder", **said)


def set_first(agent: Agent) -> object:
    """Set a slot of an entity that has none, and so no folder."""
    return agent.memory.set("lesson", "releasing", "order", "Tests, then tag.")


def forget_facts(agent: Agent) -> object:
    """Remove two files, and their folder with them."""
    return agent.memory.forget("fact", "parser", reason="It was rewritten.")


def forget_notes(agent: Agent) -> object:
    """Remove three notes in one commit."""
    return agent.memory.forget("note", episode=EPISODE)


def retire(agent: Agent) -> object:
    """Put a world fact out of force."""
    return agent.memory.forget("world", "python", reason="It moved on.")


def supersede(agent: Agent) -> object:
    """Write a note and remove another."""
    return agent.memory.supersede("Note 1.", "Note 1, better.", by_text=True)


def restore(agent: Agent) -> object:
    """Put a retired world fact in force again."""
    return agent.memory.restore("world", "go", "latest", reason="Somebody asks.")


def restore_removed(agent: Agent) -> object:
    """Write a fact again whose file is gone."""
    return agent.memory.restore("fact", "lexer", "owner")


def restore_note(agent: Agent) -> object:
    """Write a note again that was superseded."""
    (right,) = agent.memory.search("right").records
    assert right.record.supersedes
    return agent.memory.restore("note", right.record.supersedes)


ACTS: dict[str, Callable[[Agent], object]] = {
    act.__name__: act
    for act in (
        *(set_and_acknowledge, set_first, forget_facts, forget_notes, retire),
        *(supersede, restore, restore_removed, restore_note),
    )
}
"""Each is one commit of builder's, in a mailbox of `make_memory`."""


def remembered(mailbox: Mailbox) -> dict[str, Any]:
    """Return what memory answers, without what differs from run to run."""
    agent = mailbox.agent("builder")
    memory = agent.memory
    records = [each.record for each in memory.list(retired=True, limit=200).records]
    slots = [
        *[("fact", "parser"), ("fact", "lexer"), ("world", "python"), ("world", "go")],
        *[("lesson", "releasing")],
    ]
    return {
        "records": sorted(
            (r.scope, r.entity, r.attribute, r.value, r.is_retired, r.reason or "")
            for r in records
        ),
        "found": {
            word: sorted(each.text for each in memory.search(word).records)
            for word in ("owner", "latest", "note", "this", "tests")
        },
        "history": [
            (each.operation, each.path, each.reason)
            for scope, entity in slots
            if (scope, entity) != slots[-1] or _has_lesson(records)
            for each in memory.history(scope, entity).revisions
        ],
        "log": [(each.operation, each.agent) for each in mailbox.log(limit=100)],
        "mail": [item.state for item in agent.poll(show="any").items],
    }


def _has_lesson(records: list[Any]) -> bool:
    # What never was has no history.
    return any(record.scope == "lesson" for record in records)


def empty_folders(box: Path) -> list[str]:
    """Return the folders beside the repository in which nothing is."""
    return [
        folder
        for folder, folders, files in os.walk(box)
        if not folders and not files and ".git" not in Path(folder).parts
    ]
