"""What git, dulwich and remotes complain of, as errors that say what to do."""

import re

from gitmail.errors import (
    DiskError,
    DiskFullError,
    GitmailError,
    PushRefusedError,
    ReadOnlyError,
    RefLockedError,
    RemoteDeniedError,
    RemoteFailedError,
    RemoteFullError,
    RemoteLockedError,
    RemoteMovedError,
)
from gitmail.store.remote import hide_secrets

_LONGEST_REASON = 500
_FULL = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
)
_READ_ONLY = ("Read-only file system", "insufficient permission for adding an object")
_UNWRITTEN = re.compile(r"(could ?n.t|unable to|failed to|cannot) (write|create)")
_MOVED = (
    "non-fast-forward",
    "fetch first",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value provided",
    "reference already exists",
)
_LOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
_DENIED = re.compile(
    r"Authentication failed|could not read (Username|Password)|Permission denied \("
    r"|returned error: 40[13]|http resp 40[13]|HTTPUnauthorized|HTTPProxyUnauthorized"
)


def refusal(where: str, short: str, told: str = "") -> GitmailError:
    """Return the error about a push that did not go through.

    Args:
        short: What git says of the branch.
        told: What the remote says besides.
    """
    locked, full = _LOCKED.search(told), full_disk(told)
    if locked:
        return RemoteLockedError(where, reason_of(locked[1]))
    if full:
        return RemoteFullError(where, full)
    if any(each in short for each in _MOVED):
        return RemoteMovedError(where)
    return PushRefusedError(where, reason_of(f"{short} {told}"))


def failure(where: str, said: str) -> GitmailError:
    """Return the error about a remote with which nothing could be exchanged."""
    kind = RemoteDeniedError if _DENIED.search(said) else RemoteFailedError
    return kind(where, reason_of(said))


def reason_of(text: str) -> str:
    """Return what a remote or a program said, in one line and without secrets."""
    words = " ".join(hide_secrets(text).split())
    return words[:_LONGEST_REASON] or "it gave no reason"


def problem_here(complaint: str, place: str) -> GitmailError | None:
    """Return the error about the disk here that git complains of, None if none."""
    ours = [line for line in complaint.splitlines() if not line.startswith("remote:")]
    said = "\n".join(ours)
    locked = _LOCKED.search(said)
    if locked:
        return RefLockedError(locked[1])
    if full_disk(said):
        return DiskFullError(place)
    if any(each in said for each in _READ_ONLY):
        return ReadOnlyError(place)
    return DiskError(place, reason_of(said)) if _UNWRITTEN.search(said) else None


def full_disk(said: str) -> str | None:
    """Return the words in which a program complains of a full disk."""
    return next((each for each in _FULL if each in said), None)
