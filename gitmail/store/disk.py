"""Small file operations, with the operating system's errors translated once."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmail.errors import DiskError, DiskFullError, ReadOnlyError

_FULL = frozenset([errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
_READ_ONLY = frozenset([errno.EROFS, errno.EACCES, errno.EPERM])


@contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Turn an OSError into the error that says what to do, with its path.

    Raises:
        DiskFullError: There is no room.
        ReadOnlyError: Writing is not allowed.
        DiskError: Anything else.
    """
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename or path)
        if error.errno in _FULL:
            raise DiskFullError(where) from error
        if error.errno in _READ_ONLY:
            raise ReadOnlyError(where) from error
        raise DiskError(where, error.strerror or str(error)) from error


def write_durably(path: Path | str, data: bytes, mode: int = 0o444) -> None:
    """Create a file that must not exist and flush its bytes to the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte; the system may take fewer at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def flush_folder(path: Path | str) -> None:
    """Flush a folder's entries, so that a rename in it outlives a power cut."""
    if os.name == "nt":  # Windows keeps renames by itself and opens no folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_small(path: Path | str) -> str | None:
    """Return the first kilobyte of a file, without outer white space; None if none.

    Every call reads a few such files, and this takes a third of `Path.read_text`.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return os.read(handle, 1024).decode("ascii", "replace").strip()
    finally:
        os.close(handle)


def remove_quietly(path: Path | str) -> None:
    """Remove a file of ours that may be gone already."""
    with suppress(FileNotFoundError):
        os.unlink(path)


_BINARY = getattr(os, "O_BINARY", 0)
