"""The frozen values that the verbs of bundles hand out."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmail.errors import GitmailError
from gitmail.records.names import CommitId
from gitmail.records.paths import Family
from gitmail.store.store import Step

if TYPE_CHECKING:
    from gitmail.store.merging import Note


@dataclass(frozen=True, kw_only=True)
class Contents:
    """How much a bundle holds, or brought.

    Attributes:
        record_count: Files of memory.
    """

    commit_count: int = 0
    message_count: int = 0
    receipt_count: int = 0
    record_count: int = 0


def contents_of(commit_count: int, counts: Counter[Family]) -> Contents:
    """Return how much some commits hold.

    Args:
        counts: How many files of each kind.
    """
    return Contents(
        commit_count=commit_count,
        message_count=counts[Family.MESSAGE],
        receipt_count=counts[Family.RECEIPT],
        record_count=counts[Family.MEMORY],
    )


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """The answer to making a bundle.

    Attributes:
        since: The commit that it stands on, None where it holds everything.
        size_bytes: 0 where nothing is new, so that no file was written.
    """

    path: str
    tip: CommitId
    since: CommitId | None
    contents: Contents
    size_bytes: int

    @property
    def is_written(self) -> bool:
        """Whether there was anything to write."""
        return self.size_bytes > 0


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The answer to applying a bundle.

    Attributes:
        tip: The commit at the mailbox's tip now.
        contents: What was not here before.
        notes: What did not merge by itself.
    """

    path: str
    step: Step
    tip: CommitId
    contents: Contents
    notes: "tuple[Note, ...]" = ()

    @property
    def is_news(self) -> bool:
        """Whether anything of it was not here."""
        return self.step is not Step.NOTHING


@dataclass(frozen=True, kw_only=True)
class Inspected:
    """What a bundle is.

    Attributes:
        mailbox: Id of the mailbox that it is of, None where that cannot be told here.
        prerequisites: The commits that it stands on.
        is_known: Whether all that it has is here.
        problem: Why it cannot be applied here, None where it can.
    """

    path: str
    mailbox: str | None
    tip: CommitId
    prerequisites: tuple[CommitId, ...]
    contents: Contents
    size_bytes: int
    is_known: bool
    problem: GitmailError | None
