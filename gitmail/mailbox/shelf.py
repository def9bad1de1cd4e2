"""What is kept of files that were read, since judging others takes it."""

from gitmail.errors import CorruptMailboxError, GitmailError, InvalidFileError
from gitmail.records.charter import parse_charter
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.message import Message, parse_message
from gitmail.records.paths import CHARTER_PATH, Place, message_path
from gitmail.records.rules import Letter
from gitmail.store.checking import CheckedRepository
from gitmail.store.kept import Kept

_LETTERS_KEPT = 20_000
_RECORDS_KEPT = 512
_BODY_LIMIT = 65_536


class Shelf:
    """The letters, records and limits that were needed last; all can be read again.

    Args:
        repository: Where the objects are.
    """

    def __init__(self, repository: CheckedRepository) -> None:
        self.repository = repository
        self._letters: Kept[Letter] = Kept(_LETTERS_KEPT)
        self._records: Kept[MemoryRecord] = Kept(_RECORDS_KEPT)
        self._limits: Kept[int] = Kept(_RECORDS_KEPT)

    def keep_letter(self, message: Message, part: int) -> Letter:
        """Remember what receipts of a message are judged by."""
        path = message_path(message, part)
        letter = Letter(path, message.sender, message.recipients, message.date)
        self._letters.put((message.id, part), letter)
        return letter

    def letter(self, message: str, place: Place, tree: str) -> Letter | None:
        """Return a message that stands in the folder of a place, None if none does."""
        letter = self._letters.get((message, place.part))
        if letter is None:
            try:
                read = parse_message(self.repository.blob(message), message)
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
