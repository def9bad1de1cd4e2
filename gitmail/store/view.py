"""What an operation sees of a mailbox, and what it hands over to be written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from gitmail.records.charter import Charter
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.message import Message, parse_message
from gitmail.records.names import CommitId, MessageId
from gitmail.store.index import Index
from gitmail.store.kept import Kept
from gitmail.store.repository import Repository

T = TypeVar("T")


class File(Protocol):
    """Anything that has the bytes of a file."""

    @property
    def data(self) -> bytes:
        """The bytes."""


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file that is no record."""

    data: bytes


@dataclass(frozen=True, slots=True)
class View:
    """The mailbox at one commit; valid only inside the function it was passed to."""

    tip: CommitId
    tree: str
    charter: Charter
    repository: Repository
    index: Index
    messages: Kept[Message]
    memories: Kept[MemoryRecord]
    revisions: Kept[Any]
    """What a caller derived from a commit and a path, which never changes."""
    memo: dict[object, Any] = field(default_factory=dict)
    """What was derived from this view and would be derived again."""

    def message(self, message: MessageId) -> Message:
        """Return a message that the index knows."""
        found = self.messages.get(message)
        if found is None:
            found = parse_message(self.repository.blob(message))
            self.messages.put(message, found)
        return found

    def memory(self, record: str) -> MemoryRecord:
        """Return a version of a record of memory.

        Raises:
            InvalidFileError: The blob does not follow FORMAT.md.
        """
        found = self.memories.get(record)
        if found is None:
            found = parse_memory(self.repository.blob(record))
            self.memories.put(record, found)
        return found

    def file(self, path: str) -> bytes | None:
        """Return the bytes at a path of the tip, None where there is no file."""
        blob = self.repository.lookup(self.tree, path)
        return self.repository.blob(blob) if blob else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan(Generic[T]):
    """What one operation writes, all of it in one commit.

    Attributes:
        files: Path to record, messages before copies before receipts, None for a file
            to remove; none at all where there turns out to be nothing to write.
        operation: The word after `Gitmail-Op`.
        agent: Who does it: author, committer and `Gitmail-Agent`.
        subject: The rest of the subject line, already one line.
        trailers: Further trailers, built from validated ids only.
        result: What `update` returns along with the commit.
    """

    result: T
    files: Mapping[str, File | None] = field(default_factory=dict)
    operation: str = ""
    agent: str = ""
    subject: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    moment: datetime | None = None

    @property
    def commit_message(self) -> str:
        """The message of the commit; no body of any message enters it."""
        trailers = [
            ("Gitmail-Op", self.operation),
            ("Gitmail-Agent", self.agent),
            *self.trailers,
        ]
        head = f"{self.operation}: {self.subject}" if self.subject else self.operation
        return f"{head}\n\n" + "".join(f"{key}: {value}\n" for key, value in trailers)
