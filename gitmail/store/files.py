"""The files beside the repository: a read-only copy of the tip for people's eyes.

A marker says which commit the copy shows; whoever finds it behind the tip rolls it
forward by the difference (DESIGN 6). Nothing is ever answered from these files.
"""

import errno
import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from gitmail.records.message import blob_id
from gitmail.records.names import CommitId, is_hex
from gitmail.records.paths import Family, parse_path
from gitmail.store.disk import (
    read_small,
    remove_quietly,
    replace,
    translated,
    write_all,
)
from gitmail.store.repository import FILE_MODE, Change, Repository

logger = logging.getLogger("gitmail")

_READ_ONLY = 0o444
_TICK_NS = 2_000_000_000  # the coarsest clock of a file system that is in use
# A person put a folder where a file belongs, or the reverse.
_IN_THE_WAY = (FileExistsError, IsADirectoryError, NotADirectoryError)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class Files:
    """The copy of the tip below one folder.

    Args:
        root: The folder that holds the files and `.git`.
        marker: The file that names the commit they show.
        repository: Where the truth is.
    """

    def __init__(self, root: Path, marker: Path, repository: Repository) -> None:
        self._root = root
        self._repository = repository
        self._marker = marker
        self._marker_name = str(marker)
        # One name will do, for the writer lock is held; a killed writer's is dropped.
        self._draft = marker.with_name("file.draft")
        self._checked = marker.with_name("checked")
        self._real = ""

    def shown(self) -> CommitId | None:
        """Return the commit that the files show, None where that is not known."""
        value = read_small(self._marker_name)
        return CommitId(value) if value and is_hex(value) else None

    def show(self, files: Iterable[tuple[str, bytes | None]], commit: CommitId) -> None:
        """Make files match a commit and move the marker; the caller has the lock.

        What a person put in the way stays, and is no reason to leave other files out.

        Args:
            files: Path and content, None for a file that must go.
            commit: The commit that all files show then.
        """
        self._real = ""
        with translated(self._root):
            for path, data in files:
                try:
                    self._refuse_links(path)
                    if data is None:
                        self._remove(path)
                    else:
                        self._write(path, data)
                except _IN_THE_WAY as error:
                    logger.warning(
                        "the files on disk stay behind the mailbox: %s", error
                    )
            # In place: what a crash leaves half written says nothing, and then the
            # files are compared with the tip from the beginning.
            handle = os.open(self._marker, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                write_all(handle, f"{commit}\n".encode())
            finally:
                os.close(handle)

    def roll_to(self, tip: CommitId) -> None:
        """Bring all files to a commit, from wherever they are; the caller has the lock.

        A person's own files and edits are left, unless the tip has something newer.
        """
        at = self.shown()
        known = at if at and self._repository.has(at) else None
        old_tree = self._repository.commit(known).tree if known else None
        new_tree = self._repository.commit(tip).tree
        self.show(self._differences(old_tree, new_tree), tip)

    def hand_edits(self, tip: CommitId) -> list[tuple[str, str]]:
        """Return what on disk is not the tip's, each with what was done to it.

        Returns:
            Pairs of path and one of `modified`, `deleted`, `added`.
        """
        began_ns = self._now_ns()
        tree = self._repository.commit(tip).tree
        is_known = self._known_clean(tree)
        changes = self._repository.changes(None, tree)
        missing = {c.path: c.new for c in changes if c.new and _is_shown(c)}
        found: list[tuple[str, str | None]] = []
        for path, entry in self._present():
            object_id = missing.pop(path, None)
            if object_id is None:
                found.append((path, "added"))
            elif not is_known(path, entry):
                found.append((path, self._edit(path, object_id)))
        found += [(path, self._edit(path, key)) for path, key in missing.items()]
        edits = sorted((path, edit) for path, edit in found if edit)
        if not edits and began_ns:
            with suppress(OSError):  # the next look will take longer, that is all
                self._checked.write_text(f"{tip} {began_ns}\n", "ascii")
        return edits

    def _now_ns(self) -> int:
        """Return the time by the clock that stamps the files, 0 if it cannot be had."""
        with suppress(OSError):
            self._checked.touch()
            return self._checked.stat().st_mtime_ns
        return 0

    def _known_clean(self, tree: str) -> "Callable[[str, os.DirEntry[str]], bool]":
        """Return what tells whether a file is as it was when all were found clean.

        Reading 100,000 files takes seconds. A change of one shows in its change time,
        which nobody can set, unless it came with the last look's own tick of the clock.
        """
        commit, _, began = (read_small(self._checked) or "").partition(" ")
        if not (is_hex(commit) and began.isdigit() and self._repository.has(commit)):
            return lambda _path, _entry: False
        earliest_ns = int(began) - _TICK_NS
        old = self._repository.commit(commit).tree
        changed = {change.path for change in self._repository.changes(old, tree)}

        def is_known(path: str, entry: "os.DirEntry[str]") -> bool:
            if path in changed:
                return False
            found = entry.stat(follow_symlinks=False)
            return stat.S_ISREG(found.st_mode) and found.st_ctime_ns < earliest_ns

        return is_known

    def still_edited(
        self, found: Iterable[tuple[str, str]], tip: CommitId
    ) -> list[tuple[str, str]]:
        """Return which of these hand edits there are with regard to a later tip."""
        tree = self._repository.commit(tip).tree
        again = []
        for path, _ in found:
            folder, _, name = f"/{path}".rpartition("/")
            entries = self._repository.folder(tree, folder[1:])
            mode, object_id = entries.get(os.fsencode(name), (0, b""))
            if mode == FILE_MODE and parse_path(path).family is not Family.UNKNOWN:
                edit = self._edit(path, object_id.hex())
            else:
                edit = "added" if os.path.lexists(self._root / path) else None
            if edit:
                again.append((path, edit))
        return again

    def _differences(
        self, old_tree: str | None, new_tree: str
    ) -> Iterator[tuple[str, bytes | None]]:
        for change in self._repository.changes(old_tree, new_tree):
            if change.new and _is_shown(change):
                yield change.path, self._repository.blob(change.new)
            elif parse_path(change.path).family is not Family.UNKNOWN:
                yield change.path, None

    def _present(self) -> "Iterator[tuple[str, os.DirEntry[str]]]":
        """Yield the path and entry of everything on disk that is no folder."""
        todo = [("", str(self._root))]
        while todo:
            prefix, folder = todo.pop()
            for entry in _entries(folder):
                path = prefix + entry.name
                if not prefix and entry.name == ".git":
                    continue
                if entry.is_dir(follow_symlinks=False):
                    todo.append((f"{path}/", entry.path))
                else:
                    yield path, entry

    def _edit(self, path: str, object_id: str) -> str | None:
        """Return what was done to the file that should have these bytes."""
        place = self._root / path
        try:
            is_file = stat.S_ISREG(place.lstat().st_mode)  # a pipe would never end
            data = place.read_bytes() if is_file else None
        except (FileNotFoundError, NotADirectoryError):
            return "deleted"
        except OSError:
            data = None
        is_same = data is not None and blob_id(data) == object_id
        return None if is_same else "modified"

    def _refuse_links(self, path: str) -> None:
        """Refuse a path through a link, which may lead out of the mailbox.

        Raises:
            FileExistsError: A link is in the way.
        """
        folder = path.rpartition("/")[0]
        if folder == self._real:  # as of the file before
            return
        place = str(self._root)
        for name in folder.split("/"):
            place = f"{place}/{name}"
            if os.path.islink(place):
                raise FileExistsError(errno.EEXIST, "a link is in the way", place)
        self._real = folder

    def _write(self, path: str, data: bytes) -> None:
        target = f"{self._root}/{path}"
        try:
            _create(target, data)
        except FileNotFoundError:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            _create(target, data)
        except FileExistsError:
            # Rare: a profile, or what a killed writer began and we roll forward.
            if os.path.isdir(target):
                raise
            remove_quietly(self._draft)
            _create(self._draft, data)
            replace(self._draft, target)

    def _remove(self, path: str) -> None:
        place = self._root / path
        if place.is_dir():
            return
        remove_quietly(place)
        for folder in place.parents:
            if folder == self._root:
                break
            try:
                folder.rmdir()
            except FileNotFoundError:  # a killed writer's work, who came no further
                continue
            except OSError:  # something else is in it
                break


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with translated(folder):
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except FileNotFoundError:  # it was emptied and removed meanwhile
            return []


def _create(path: str | Path, data: bytes) -> None:
    handle = os.open(path, _CREATE, _READ_ONLY)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def _is_shown(change: Change) -> bool:
    """Tell whether what stands there now is a file that may be put on the disk."""
    return change.is_plain and parse_path(change.path).family is not Family.UNKNOWN
