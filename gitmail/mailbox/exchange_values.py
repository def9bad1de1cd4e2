"""The frozen values about exchanging a mailbox with a remote."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmail.records.names import CommitId

if TYPE_CHECKING:  # a server does not wait for these before it answers
    from gitmail.store.remote import Remote
    from gitmail.store.remote_book import Failure
    from gitmail.store.store import Step


class Relation(StrEnum):
    """How this mailbox stands to what was last seen of the remote."""

    SAME = "same"
    AHEAD = "ahead"
    BEHIND = "behind"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """How a mailbox stands to its remote, by what was last seen of it.

    Attributes:
        at: When an exchange last succeeded.
        failure: What went wrong since, None where nothing did.
    """

    remote: "Remote"
    relation: Relation
    ahead_count: int = 0
    behind_count: int = 0
    at: datetime | None = None
    failure: "Failure | None" = None


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What a mailbox that was made from a remote found there.

    Attributes:
        is_found: Whether the branch was there; otherwise the mailbox is a new one.
        branches: What branches are there otherwise, None where that is not known.
    """

    remote: "Remote"
    is_found: bool
    branches: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Synced:
    """What a sync did.

    Attributes:
        fetched_count: Commits that came.
        pushed_count: Commits that went.
        step: How what came was brought in.
        tip: The commit here, which is durable on this disk.
        remote_tip: The commit there, None where the branch does not exist yet.
        rounds: How often it was tried.
        notes: Pairs of path and what did not merge by itself.
    """

    fetched_count: int
    pushed_count: int
    step: "Step"
    tip: CommitId
    remote_tip: CommitId | None
    rounds: int
    notes: tuple[tuple[str, str], ...] = ()
