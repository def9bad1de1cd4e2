"""Bundles and packs as others make them, and what a mailbox is made of on disk."""

import hashlib
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import GitmailError
from gitmail.mailbox import bundles
from tests.helpers import SettableClock, git
from tests.mailfiles import Clone

COMMIT, TREE, BLOB, OFS_DELTA, REF_DELTA = 1, 2, 3, 6, 7
DERIVED = ("index.sqlite", "write.lock", "index.lock", "fold.lock", "checked", "ref-")
"""Starts of the names of local state that comes and goes."""


def object_id(kind: bytes, data: bytes) -> bytes:
    """Return the id of an object."""
    head = b"%b %d\0" % (kind, len(data))
    return hashlib.sha1(head + data, usedforsecurity=False).digest()


def number(size: int) -> bytes:
    """Return a size as deltas have it."""
    found = bytearray()
    while size >= 0x80:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size])


def head(kind: int, size: int) -> bytes:
    """Return the head of an object in a pack."""
    first, rest = kind << 4 | size & 15, size >> 4
    return bytes([first]) if not rest else bytes([first | 0x80]) + number(rest)


def packed(
    kind: int, data: bytes, base: bytes = b"", *, size: int | None = None
) -> bytes:
    """Return an object as it stands in a pack.

    Args:
        base: What names the base of a delta.
        size: What the head says, if not the truth.
    """
    said = len(data) if size is None else size
    return head(kind, said) + base + zlib.compress(data)


def delta(base: bytes, *steps: bytes, size: int | None = None) -> bytes:
    """Return a delta that puts in the steps one after the other."""
    whole = sum(map(len, steps)) if size is None else size
    inserts = b"".join(bytes([len(step)]) + step for step in steps)
    return number(len(base)) + number(whole) + inserts


def copying(base: bytes, times: int, more: bytes) -> bytes:
    """Return a delta to many copies of a base of up to 16 MB, and more behind them."""
    step = b"\xf0" + struct.pack("<L", len(base))[:3]
    size = number(len(base) * times + len(more))
    return number(len(base)) + size + step * times + bytes([len(more)]) + more


def pack(entries: Sequence[bytes], *, count: int | None = None) -> bytes:
    """Return a pack with a checksum that is right."""
    many = len(entries) if count is None else count
    data = b"PACK" + struct.pack(">LL", 2, many) + b"".join(entries)
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def parts(file: Path) -> tuple[bytes, bytes]:
    """Return the head of a bundle and its pack."""
    data = file.read_bytes()
    at = data.index(b"\n\nPACK") + 2
    return data[:at], data[at:]


def entries_of(data: bytes) -> list[bytes]:
    """Return the objects of a pack without deltas, as they stand in it."""
    at, found = 12, []
    while at < len(data) - 20:
        start = at
        while data[at] & 0x80:
            at += 1
        stream = zlib.decompressobj()
        stream.decompress(data[at + 1 :])
        at = len(data) - len(stream.unused_data)
        found.append(data[start:at])
    return found


def objects_of(file: Path, folder: Path) -> set[str]:
    """Return the ids of all objects in a bundle, as git itself finds them."""
    git(folder.parent, "init", "-q", "--bare", str(folder))
    (folder / "x.pack").write_bytes(parts(file)[1])
    git(folder, "index-pack", "x.pack")
    rows = git(folder, "verify-pack", "-v", "x.idx").splitlines()
    return {row.split()[0] for row in rows if row[40:41] == " "}


def state(mailbox: Path) -> dict[str, bytes]:
    """Return all that a mailbox is made of on disk, but for what is derived."""
    return {
        path.relative_to(mailbox).as_posix(): path.read_bytes()
        for path in mailbox.rglob("*")
        if path.is_file() and not path.name.startswith(DERIVED)
    }


def twin(mailbox: Mailbox, folder: Path, clock: SettableClock) -> Mailbox:
    """Return the same mailbox on another machine, carried there as a bundle."""
    file = folder.with_suffix(".bundle")
    mailbox.create_bundle(file, since="all")
    bundles.start(folder, file)
    return Mailbox.open(folder, clock=clock)


def refused(mailbox: Mailbox, file: Path, kind: type[GitmailError]) -> str:
    """Return why a bundle is refused, which must have changed nothing."""
    before = state(mailbox.path)
    with pytest.raises(kind) as caught:
        mailbox.apply_bundle(file)
    assert state(mailbox.path) == before
    return caught.value.message


def bundle_of(clone: Clone, commit: str, file: Path, *more: str) -> Path:
    """Have git make a bundle in which a commit is the branch's tip.

    Args:
        more: Further revisions, such as `^origin/gitmail`.
    """
    git(clone.folder, "update-ref", "refs/heads/gitmail", commit)
    git(clone.folder, "bundle", "create", "-q", str(file), "gitmail", *more)
    return file
