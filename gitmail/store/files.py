"""The files beside the repository: a read-only copy of the tip for people's eyes.

A marker says which commit the copy shows; whoever finds it behind the tip rolls it
forward by the difference (DESIGN 6). Nothing is ever answered from these files.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitmail.records.message import blob_id
from gitmail.records.names import CommitId, is_hex
from gitmail.records.paths import Family, parse_path
from gitmail.store.disk import read_small, translated, write_all
from gitmail.store.repository import Change, Repository

_READ_ONLY = 0o444
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

    def shown(self) -> CommitId | None:
        """Return the commit that the files show, None where that is not known."""
        value = read_small(self._marker_name)
        return CommitId(value) if value and is_hex(value) else None

    def show(self, files: Iterable[tuple[str, bytes | None]], commit: CommitId) -> None:
        """Make files match a commit and move the marker; the caller has the lock.

        Args:
            files: Path and content, None for a file that must go.
            commit: The commit that all files show then.
        """
        with translated(self._root):
            self._draft.unlink(missing_ok=True)
            for path, data in files:
                if data is None:
                    self._remove(path)
                else:
                    self._write(path, data)
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
        tree = self._repository.commit(tip).tree
        changes = self._repository.changes(None, tree)
        wanted = {c.path: c.new for c in changes if _is_shown(c)}
        found = [(path, "added") for path in self._present() if path not in wanted]
        for path, object_id in wanted.items():
            data = self._read(path)
            if data is None:
                found.append((path, "deleted"))
            elif blob_id(data) != object_id:
                found.append((path, "modified"))
        return sorted(found)

    def _differences(
        self, old_tree: str | None, new_tree: str
    ) -> Iterator[tuple[str, bytes | None]]:
        for change in self._repository.changes(old_tree, new_tree):
            if change.new and _is_shown(change):
                yield change.path, self._repository.blob(change.new)
            elif parse_path(change.path).family is not Family.UNKNOWN:
                yield change.path, None

    def _present(self) -> Iterator[str]:
        """Yield the path of everything on disk that is no folder."""
        todo = [("", str(self._root))]
        while todo:
            prefix, folder = todo.pop()
            with translated(Path(folder)), os.scandir(folder) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if not prefix and entry.name == ".git":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        todo.append((f"{path}/", entry.path))
                    else:
                        yield path

    def _read(self, path: str) -> bytes | None:
        """Return the bytes on disk, None where no readable regular file is there."""
        place = self._root / path
        try:
            return None if place.is_symlink() else place.read_bytes()
        except OSError:
            return None

    def _write(self, path: str, data: bytes) -> None:
        target = f"{self._root}/{path}"
        try:
            _create(target, data)
        except FileNotFoundError:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            _create(target, data)
        except FileExistsError:
            # Rare: a profile, or what a killed writer began and we roll forward.
            _create(self._draft, data)
            self._draft.replace(target)

    def _remove(self, path: str) -> None:
        place = self._root / path
        place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == self._root or any(os.scandir(folder)):
                break
            folder.rmdir()


def _create(path: str | Path, data: bytes) -> None:
    handle = os.open(path, _CREATE, _READ_ONLY)
    try:
        write_all(handle, data)
    finally:
        os.close(handle)


def _is_shown(change: Change) -> bool:
    """Tell whether what stands there now is a file that may be put on the disk."""
    return change.is_plain and parse_path(change.path).family is not Family.UNKNOWN
