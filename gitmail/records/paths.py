"""Where each record stands in the tree, and back (DESIGN 4); pure."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import lru_cache

from gitmail.records.keys import component_of, key_of, slugify
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.message import Message
from gitmail.records.names import AgentName, MessageId, is_component
from gitmail.records.receipt import BlindCopy, Receipt, Stage
from gitmail.records.text import headline

CHARTER_PATH = "mailbox.md"
README_PATH = "README.md"
ATTRIBUTES_PATH = ".gitattributes"
MESSAGES = "messages"
PATH_LIMIT = 200
"""Characters that every path has fewer than."""
FIXED_FILES = frozenset([CHARTER_PATH, README_PATH, ATTRIBUTES_PATH])
MEMORY = "memory"
NOTES = f"{MEMORY}/notes"
SLOT_FOLDERS = {Scope.FACT: "facts", Scope.WORLD: "world", Scope.LESSON: "lessons"}
"""Below `memory/`; each slot has one path for ever (DESIGN I4)."""

_FOLDER = r"(?P<folder>\d{4}-\d\d/\d\d/\d\d(?:\.(?P<part>\d{3,6}))?)"
_MESSAGE = re.compile(rf"messages/{_FOLDER}/\d{{6}}-[a-z0-9][a-z0-9._-]*\.md", re.ASCII)
_RECEIPT = re.compile(
    rf"receipts/(?P<agent>[a-z0-9][a-z0-9._-]*)/{_FOLDER}/(?P<message>[0-9a-f]{{40}})"
    r"\.(?P<stage>read|acked)\.md",
    re.ASCII,
)
_COPY = re.compile(
    rf"copies/(?P<agent>[a-z0-9][a-z0-9._-]*)/{_FOLDER}/(?P<message>[0-9a-f]{{40}})\.md",
    re.ASCII,
)
_SLOT = re.compile(
    rf"memory/(?:{'|'.join(SLOT_FOLDERS.values())})/[a-z0-9._-]+/[a-z0-9._-]+\.md",
    re.ASCII,
)
_NOTE = re.compile(
    r"memory/notes/\d{4}-\d\d/\d\d(?:\.(?P<part>\d{3,6}))?"
    r"/\d{6}-[a-z0-9][a-z0-9._-]*\.md",
    re.ASCII,
)
_PROFILE = re.compile(r"agents/(?P<agent>[a-z0-9][a-z0-9._-]*)\.md", re.ASCII)


class Family(Enum):
    """What kind of record a path belongs to."""

    MESSAGE = auto()
    RECEIPT = auto()
    COPY = auto()
    PROFILE = auto()
    MEMORY = auto()
    ASIDE = auto()
    FIXED = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """What a path says about the record that stands there.

    Attributes:
        folder: The message's folder below `messages/`, such as `2026-11/30/14.001`.
        part: The number behind the hour, 0 for the hour's first folder.
    """

    family: Family
    folder: str = ""
    part: int = 0
    agent: str = ""
    message: str = ""
    stage: str = ""


_SHAPES = {
    "messages": (Family.MESSAGE, _MESSAGE),
    "receipts": (Family.RECEIPT, _RECEIPT),
    "copies": (Family.COPY, _COPY),
    "agents": (Family.PROFILE, _PROFILE),
    "quarantine": (Family.ASIDE, re.compile(r"quarantine/[0-9a-f]{40}\.md", re.ASCII)),
    MEMORY: (Family.MEMORY, re.compile(f"{_SLOT.pattern}|{_NOTE.pattern}", re.ASCII)),
}


def parse_path(path: str) -> Place:
    """Return what a path of the tree says, or the family UNKNOWN."""
    if path in FIXED_FILES:
        return Place(Family.FIXED)
    parts = path.split("/")
    family, shape = _SHAPES.get(parts[0], (Family.UNKNOWN, None))
    found = shape.fullmatch(path) if shape else None
    if not found or len(path) >= PATH_LIMIT or not all(map(is_component, parts)):
        return Place(Family.UNKNOWN)
    said = found.groupdict(default="")
    part = int(said.pop("part", "") or 0)
    return Place(family, part=part, **said)


def hour_folder(date: datetime, part: int = 0) -> str:
    """Return the folder of a time, below `messages/`.

    An hour that is full goes on in `14.001`, `14.002` and so on, since every commit
    writes the tree of the folder again.
    """
    hour = f"{date.year:04}-{date.month:02}/{date.day:02}/{date.hour:02}"
    return f"{hour}.{part:03}" if part else hour


def day_folder(date: datetime, part: int = 0) -> str:
    """Return the folder of a note of a day, below `memory/notes/`.

    A day that is full goes on in `30.001`, as an hour of messages does.
    """
    day = f"{date.year:04}-{date.month:02}/{date.day:02}"
    return f"{day}.{part:03}" if part else day


def message_path(message: Message, part: int = 0) -> str:
    """Return the path of a message's file."""
    slug = slugify(message.title)
    date = message.date
    second = f"{date.hour:02}{date.minute:02}{date.second:02}"
    words = [second, message.sender, slug, message.id[:8]]
    name = "-".join(word for word in words if word)
    return f"{MESSAGES}/{hour_folder(message.date, part)}/{name}.md"


def receipt_path(receipt: Receipt, folder: str) -> str:
    """Return the path of a receipt, in the folder of the message's name."""
    return stage_path(receipt.agent, folder, receipt.message, receipt.stage)


def stage_path(agent: AgentName, folder: str, message: MessageId, stage: Stage) -> str:
    """Return the path at which an agent's receipt of that stage stands."""
    return f"receipts/{agent}/{folder}/{message}.{stage}.md"


def copy_path(copy: BlindCopy, folder: str) -> str:
    """Return the path of a blind copy, in the folder of the message's name."""
    return f"copies/{copy.agent}/{folder}/{copy.message}.md"


def set_aside_path(blob: str) -> str:
    """Return the path of a file that a merge found in the way of another."""
    return f"quarantine/{blob}.md"


def profile_path(name: AgentName) -> str:
    """Return the path of an agent's profile."""
    return f"agents/{name}.md"


@lru_cache(maxsize=4096)
def slot_path(scope: Scope, entity: str, attribute: str) -> str:
    """Return the path of a slot, whatever the spelling of its names."""
    folder, file = (component_of(key_of(name)) for name in (entity, attribute))
    return f"{MEMORY}/{SLOT_FOLDERS[scope]}/{folder}/{file}.md"


def memory_path(record: MemoryRecord, part: int = 0) -> str:
    """Return the path of a record of memory; only of a note there may be parts."""
    if record.scope is not Scope.NOTE:
        return slot_path(record.scope, record.entity, record.attribute)
    date = record.set_at
    second = f"{date.hour:02}{date.minute:02}{date.second:02}"
    words = [second, record.set_by, slugify(headline(record.value)), record.id[:8]]
    name = "-".join(word for word in words if word)
    return f"{NOTES}/{day_folder(date, part)}/{name}.md"
