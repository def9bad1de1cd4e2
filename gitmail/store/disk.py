"""Small file operations, with the operating system's errors translated once."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmail.errors import DiskError, DiskFullError, ReadOnlyError, StorageError

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
        raise translation(error, path) from error


def translation(error: OSError, path: Path | str) -> StorageError:
    """Return the error that says what to do about one of the operating system."""
    where = os.fsdecode(error.filename or path)
    if error.errno in _FULL:
        return DiskFullError(where)
    if error.errno in _READ_ONLY:
        return ReadOnlyError(where)
    return DiskError(where, error.strerror or str(error))


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

    Raises:
        StorageError: The file cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            return os.read(handle, 1024).decode("ascii", "replace").strip()
        finally:
            os.close(handle)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise translation(error, path) from error


def remove_quietly(path: Path | str) -> None:
    """Remove a file of ours that may be gone already."""
    with suppress(FileNotFoundError):
        _make_writable(path)
        os.unlink(path)


def replace(draft: Path | str, target: Path | str) -> None:
    """Rename a file over another of ours that may be there."""
    with suppress(FileNotFoundError):
        _make_writable(target)
    os.replace(draft, target)


def _make_writable(path: Path | str) -> None:
    if os.name == "nt":  # where a file that is read-only can neither go nor be replaced
        os.chmod(path, 0o600)


_BINARY = getattr(os, "O_BINARY", 0)
