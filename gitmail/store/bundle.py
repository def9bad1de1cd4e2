"""Bundles: files that carry a history, or what is new in it, as git has them.

The format is version 2 of git's (gitformat-bundle(5)): a head that names the branch's
tip and the commits that it stands on, and a pack. `git bundle verify`, `git clone` and
`git fetch` read such a file too.
"""

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from uuid import uuid4

from gitmail.errors import BundleInvalidError, InvalidArgumentError
from gitmail.records.names import CommitId
from gitmail.store.disk import (
    flush_folder,
    remove_quietly,
    replace,
    translated,
    translation,
    write_durably,
)
from gitmail.store.refs import REF

_SIGNATURE = b"# v2 git bundle\n"
_OTHER_VERSION = re.compile(rb"# v(\d) git bundle\n")
_PREREQUISITE = re.compile(rb"-(?P<id>[0-9a-f]{40})(?: (?P<remark>[^\n]*))?\n")
_REF = re.compile(rb"(?P<id>[0-9a-f]{40}) (?P<name>[^\n]+)\n")
_REMARK = re.compile(r"mailbox (?P<id>[0-9a-f-]{36})")
_LARGEST_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as it stands in a file; only its head is known to be sound.

    Attributes:
        prerequisites: The commits that it stands on, each with the remark behind it.
    """

    path: str
    tip: CommitId
    prerequisites: dict[CommitId, str]
    pack: bytes
    size_bytes: int


def read_bundle(path: Path, name: str) -> Bundle:
    """Return what a file holds.

    Args:
        name: What errors and the bundle call the file.

    Raises:
        BundleInvalidError: It is no bundle of a mailbox's branch.
        StorageError: The file cannot be read.
    """
    with translated(path):
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe would never end
            raise BundleInvalidError(name, "it is no regular file")
        if found.st_size > _LARGEST_BYTES:
            reason = f"it has {found.st_size:,} bytes, the limit is {_LARGEST_BYTES:,}"
            raise BundleInvalidError(name, reason)
        data = path.read_bytes()
    if not data.startswith(_SIGNATURE):
        other = _OTHER_VERSION.match(data)
        reason = f"it is of version {other[1].decode()}, not of 2" if other else ""
        raise BundleInvalidError(name, reason or "it is no git bundle")
    at = len(_SIGNATURE)
    prerequisites: dict[CommitId, str] = {}
    while line := _PREREQUISITE.match(data, at):
        remark = (line["remark"] or b"").decode("utf-8", "replace")
        prerequisites[CommitId(line["id"].decode())] = remark
        at = line.end()
    refs: dict[bytes, bytes] = {}
    while line := _REF.match(data, at):
        refs[line["name"]] = line["id"]
        at = line.end()
    if data[at : at + 1] != b"\n":
        raise BundleInvalidError(name, "its head is damaged")
    tip = refs.pop(REF.encode(), None)
    if tip is None or refs.pop(b"HEAD", tip) != tip or refs:
        reason = f"it has to hold {REF} and nothing else"
        raise BundleInvalidError(name, reason)
    return Bundle(
        name, CommitId(tip.decode()), prerequisites, data[at + 1 :], len(data)
    )


def shown_path(path: Path) -> str:
    """Return a path as text, whatever bytes are in it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def target_of(path: Path, mailbox: Path) -> Path:
    """Return where a bundle for a path is to be written, with links followed.

    Args:
        mailbox: The mailbox's folder, in which no bundle may be.

    Raises:
        InvalidArgumentError: No bundle may be written there.
        StorageError: That cannot be told.
    """
    with translated(path):
        target = Path(os.path.realpath(path))
        accepted = ""
        if os.path.lexists(target) and not stat.S_ISREG(target.stat().st_mode):
            accepted = "it must be a regular file, or not there yet"
        elif not target.parent.is_dir():
            accepted = "it must be in a folder that is there"
        elif any(each.samefile(mailbox) for each in target.parents):
            accepted = "it must be outside of the mailbox's own folder"
    if accepted:
        raise InvalidArgumentError("FILE", shown_path(path), accepted)
    return target


def write_bundle(
    path: Path,
    tip: CommitId,
    prerequisite: CommitId | None,
    remark: str,
    pack: bytes,
) -> int:
    """Write a bundle, durably and in one step; returns its size in bytes.

    Args:
        prerequisite: The commit that it stands on.
        remark: What stands behind the prerequisite.
    """
    before = f"-{prerequisite} {remark}\n" if prerequisite else ""
    data = _SIGNATURE + f"{before}{tip} {REF}\n\n".encode() + pack
    draft = path.with_name(f".bundle.{uuid4().hex}")
    try:
        write_durably(draft, data, 0o644)
        replace(draft, path)
        flush_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            remove_quietly(draft)
        # The system names the draft, of which nobody knows.
        unnamed = OSError(error.errno, error.strerror)
        raise translation(unnamed, shown_path(path)) from error
    return len(data)


def remark_of(mailbox: str) -> str:
    """Return what stands behind a prerequisite, and tells what mailbox it is of.

    The file that says so is seldom among what is new.
    """
    return f"mailbox {mailbox}"


def mailbox_of(remark: str) -> str | None:
    """Return the mailbox that a remark tells, None where it tells none."""
    said = _REMARK.fullmatch(remark)
    return said["id"] if said else None


def title_of(commit: bytes) -> str:
    """Return the remark that git itself makes: a commit's title in one line."""
    lines = commit.partition(b"\n\n")[2].lstrip().split(b"\n")
    texts = (each.decode("utf-8", "replace").rstrip() for each in lines)
    return " ".join(takewhile(bool, texts))
