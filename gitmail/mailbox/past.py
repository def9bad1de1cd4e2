"""What judging a commit takes from those before it; it stays small however many."""

import re
import stat
from collections.abc import Iterator

from gitmail.errors import CorruptMailboxError, GitmailError, InvalidFileError
from gitmail.records.charter import parse_charter
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.message import Message, parse_message
from gitmail.records.names import CommitId
from gitmail.records.paths import CHARTER_PATH, Place, message_path
from gitmail.records.rules import Letter
from gitmail.store.checking import CheckedRepository, differences
from gitmail.store.repository import Kept

_LETTERS_KEPT = 20_000
_RECORDS_KEPT = 512
_BODY_LIMIT = 65_536
_PART = re.compile(r"\d\d(?:\.\d{3,6})?", re.ASCII)


class Past:
    """What earlier commits did, as far as it matters for later ones.

    Args:
        repository: Where the objects are.
        since: The commit from which on commits are judged, None for all.
    """

    def __init__(self, repository: CheckedRepository, since: CommitId | None) -> None:
        self.repository = repository
        self._since = since
        self._letters: Kept[Letter] = Kept(_LETTERS_KEPT)
        self._records: Kept[MemoryRecord] = Kept(_RECORDS_KEPT)
        self._limits: Kept[int] = Kept(_RECORDS_KEPT)
        self._places: dict[bytes, str] = {}
        self._gone: set[tuple[str, str]] = set()
        self._is_read = since is None

    def keep_letter(self, message: Message, part: int) -> Letter:
        """Remember what receipts of a message are judged by."""
        path = message_path(message, part)
        letter = Letter(path, message.sender, message.recipients)
        self._letters.put((message.id, part), letter)
        return letter

    def letter(self, message: str, place: Place, tree: str) -> Letter | None:
        """Return a message that stands in the folder of a place, None if none does."""
        letter = self._letters.get((message, place.part))
        if letter is None:
            try:
                read = parse_message(self.repository.blob(message))
            except (CorruptMailboxError, InvalidFileError):
                return None
            letter = self.keep_letter(read, place.part)
        is_there = self.repository.lookup(tree, letter.path) == message
        return letter if is_there else None

    def keep_record(self, record: MemoryRecord) -> None:
        """Remember a version of memory, for the next one to be compared with."""
        self._records.put(record.id, record)

    def record(self, blob: str) -> MemoryRecord | None:
        """Return a version of memory, None if it cannot be read."""
        if self._records.get(blob) is None:
            try:
                self.keep_record(parse_memory(self.repository.blob(blob)))
            except (CorruptMailboxError, InvalidFileError):
                return None
        return self._records.get(blob)

    def body_limit(self, tree: str) -> int:
        """Return the bytes that a body may have by the charter in a tree."""
        try:
            blob = self.repository.lookup(tree, CHARTER_PATH) or ""
            limit = self._limits.get(blob)
            if limit is None and blob:
                charter = parse_charter(self.repository.blob(blob), CHARTER_PATH)
                limit = charter.max_body_bytes
                self._limits.put(blob, limit)
        except GitmailError:  # it is named where it came
            limit = None
        return _BODY_LIMIT if limit is None else limit

    def place(self, message: str, path: str, tree: str) -> str | None:
        """Take down where a message stands, and return where else it does, if it does.

        Args:
            tree: The tree of the commit that put it there.
        """
        before = self._places.setdefault(bytes.fromhex(message), path)
        if before != path and self.repository.lookup(tree, before) == message:
            return before
        self._places[bytes.fromhex(message)] = path
        others = self._beside(path, tree) if self._since else ()
        return next((p for p in others if self.repository.lookup(tree, p)), None)

    def _beside(self, path: str, tree: str) -> Iterator[str]:
        """Yield the paths of a message's name in the other folders of its hour."""
        folder, _, name = path.rpartition("/")
        day, _, hour = folder.rpartition("/")
        for key, (mode, _) in self.repository.folder(tree, day).items():
            other = key.decode("ascii", "replace")
            is_part = stat.S_ISDIR(mode) and _PART.fullmatch(other)
            if is_part and other != hour and other[:2] == hour[:2]:
                yield f"{day}/{other}/{name}"

    def has_gone(self, path: str, blob: str) -> None:
        """Take down that a file no longer stands where it stood."""
        self._gone.add((path, blob))

    def was_there(self, path: str, blob: str) -> bool:
        """Tell whether a file stood there before, in what was or was not judged."""
        if self._places.get(bytes.fromhex(blob)) == path:
            return True
        if not self._is_read and (path, blob) not in self._gone:
            self._read_all()
        return (path, blob) in self._gone

    def _read_all(self) -> None:
        """Take down what has gone in commits that are not judged; rarely asked for."""
        self._is_read = True
        repository = self.repository
        for commit in repository.walk(CommitId(self._since or "")):
            for parent in commit.parents[:1]:
                old = repository.commit(parent).tree
                for change in differences(repository, old, commit.tree, _ignore):
                    if change.old:
                        self._gone.add((change.path, change.old))


def _ignore(_path: str, _why: str) -> None:
    """Say nothing of what is not judged."""
