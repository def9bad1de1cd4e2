"""What a bundle may hold, for who makes one and for who is given one; pure.

A file that is wrong at the tip would be shown, and is refused. One that is wrong in an
older commit alone is idle: nothing is read from it or written for it, and everybody who
syncs has it for good. So it is let through, unless it could do harm even there.
"""

import re
import stat

from gitmail.errors import InvalidFileError, UnsupportedFormatError
from gitmail.records.paths import Family, parse_path
from gitmail.records.places import right_path
from gitmail.store.pack_numbers import LARGEST_BYTES
from gitmail.store.repository import (
    FILE_MODE,
    FOLDER_MODE,
    Tree,
)

# Git itself once wrote files that a group may write.
_HARMLESS_MODES = frozenset([FILE_MODE, FOLDER_MODE, 0o100755, 0o100664])
_PERSON = rb"[^<>\n\0]* <[^<>\n\0]*> (?:0|[1-9]\d{0,11}) [+-]\d{4}\n"
_COMMIT = re.compile(
    rb"tree [0-9a-f]{40}\n(?:parent [0-9a-f]{40}\n)*"
    rb"author " + _PERSON + rb"committer " + _PERSON + rb"(?:[^\n\0]+\n)*\n[^\0]*"
)
_PART = r"(?!\.)[A-Za-z0-9._-]{1,100}"
_PLAIN = re.compile(rf"{_PART}(?:/{_PART}){{0,5}}")
"""Most paths, told at once."""
# A backslash also stands for what is no text. `~1` is the end of a short name, under
# which Windows finds another file, and what is behind a colon is no part of a name.
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\\:]|~\d|^\.{1,2}$|^$")
_OF_GIT = frozenset([".gitattributes", ".gitignore", ".gitkeep"])
_DEEPEST = 8
"""Folders in one another that no record is below of."""
_LONGEST_NAME = 255
_LONGEST_PATH = 1023
"""Bytes that every file system in use takes, as those of a name."""


def is_sound_commit(data: bytes) -> bool:
    """Tell whether git would find nothing wrong with the bytes of a commit."""
    return _COMMIT.fullmatch(data) is not None


def is_sound_tree(tree: Tree, data: bytes) -> bool:
    """Tell whether bytes are those that git writes for a tree with these entries."""
    rows = sorted(
        (name + b"/" if stat.S_ISDIR(mode) else name, name, mode, sha)
        for name, (mode, sha) in tree.items()
    )
    parts = (b"%o %b\x00%b" % (mode, name, sha) for _, name, mode, sha in rows)
    return b"".join(parts) == data


def harm_of(path: str, mode: int) -> str | None:
    """Return why an entry is refused in whatever commit it is, None if it need not be.

    Args:
        path: As `printable` writes names.
    """
    if mode not in _HARMLESS_MODES:
        return f"it has what is neither a file nor a folder: {path}"
    if not _PLAIN.fullmatch(path) and not _is_harmless(path):
        return f"it has a name that is not safe everywhere: {path}"
    return None


def fault_of(path: str, mode: int, data: bytes) -> str | None:
    """Return why a file is refused at the tip, None if it is what it should be."""
    if mode != FILE_MODE:
        return f"it has what is no regular file: {path}"
    if parse_path(path).family is Family.UNKNOWN:
        return f"it has a file at no path of a mailbox: {path}"
    try:
        right = right_path(path, data)
    except InvalidFileError as error:
        return f"{error.reason}, in line {error.line} of {path}"
    except UnsupportedFormatError as error:
        return f"{error.message}, in {path}"
    return (
        None if right == path else f"it has a file whose path does not fit it: {path}"
    )


def fault_of_folder(path: str, tree: Tree) -> str | None:
    """Return why a folder is refused at the tip, None if it is what it should be.

    Args:
        path: Empty for the root.
        tree: What is in it.
    """
    is_sound = not path or (tree and path.count("/") < _DEEPEST)
    return None if is_sound else f"it has a folder of no mailbox: {path}"


def too_large(path: str) -> str:
    """Return why a file or folder of too many bytes is refused in whatever commit."""
    return f"it has more than {LARGEST_BYTES:,} bytes at {path or 'its root'}"


def _is_harmless(path: str) -> bool:
    is_short = len(path.encode()) <= _LONGEST_PATH
    return is_short and all(map(_is_harmless_name, path.split("/")))


def _is_harmless_name(name: str) -> bool:
    # Some file systems drop some marks from a name, and so see `.git` in it.
    letters = name.encode("ascii", "ignore").lower()
    is_for_git = letters.startswith(b".git") and name not in _OF_GIT
    is_short = len(name.encode()) <= _LONGEST_NAME
    return is_short and not is_for_git and not _ODD.search(name)
