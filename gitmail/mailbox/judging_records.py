"""Judging one file of a commit, by what kind of record it is."""

from collections.abc import Callable
from typing import TypeVar

from gitmail.errors import (
    CorruptMailboxError,
    GitmailError,
    InvalidFileError,
    UnsupportedFormatError,
)
from gitmail.mailbox.acknowledging import NOTE_LIMIT_BYTES
from gitmail.mailbox.directory import DESCRIPTION_LIMIT
from gitmail.mailbox.shelf import Shelf
from gitmail.records import rules
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.memory import parse_memory
from gitmail.records.message import blob_id, parse_message
from gitmail.records.names import Address, AgentName, MessageId
from gitmail.records.paths import (
    ATTRIBUTES_PATH,
    CHARTER_PATH,
    NOTES,
    Family,
    Place,
    copy_path,
    memory_path,
    set_aside_path,
)
from gitmail.records.places import right_path
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import BlindCopy, parse_blind_copy, parse_receipt
from gitmail.records.rule import Rule
from gitmail.records.rules import Act, Problems

R = TypeVar("R")


class RecordJudge:
    """Judges what is new in one commit, file by file.

    Args:
        shelf: What is kept of files that were read.
        tree: The commit's tree.
        act: What the commit says of itself.

    Attributes:
        about: Ids of the messages that it is about.
    """

    def __init__(self, shelf: Shelf, tree: str, act: Act) -> None:
        self._shelf = shelf
        self._repository = shelf.repository
        self._tree = tree
        self._act = act
        self.about: set[str] = set()

    def problems(
        self, path: str, place: Place, old: str | None, new: str, data: bytes
    ) -> Problems:
        """Judge a file that is new, or new in place of an old one.

        Args:
            old, new: Ids of the files; the new one's has been proven.
            data: The bytes of the new one.

        Raises:
            CorruptMailboxError: What it is judged by cannot be read.
        """
        try:
            if place.family is Family.MESSAGE:
                yield from self._judge_message(path, place, new, data)
            else:
                yield from _JUDGES[place.family](self, path, place, old, data)
        except InvalidFileError as error:
            yield Rule.FORMAT, f"line {error.line}: {error.reason}"
        except UnsupportedFormatError as error:
            yield Rule.FORMAT, error.message

    def belonged(self, path: str, place: Place, old: str) -> bool:
        """Tell whether what stood at a path was a record that has its place there.

        What cannot be read any more may have been one.
        """
        try:
            data = self._repository.blob(old)
        except CorruptMailboxError:
            return True
        if place.family is Family.MEMORY:
            record = self._shelf.record(old)
            return record is not None and memory_path(record, place.part) == path
        try:
            is_fixed = place.family is Family.FIXED
            return is_fixed or right_path(path, data) in (path, "")
        except InvalidFileError:
            return False

    def _judge_message(
        self, path: str, place: Place, new: str, data: bytes
    ) -> Problems:
        message = parse_message(data, new)
        right = self._shelf.keep_letter(message, place.part).path
        self.about.add(message.id)
        yield from rules.message_problems(message, path, right, self._act)

    def _judge_receipt(
        self, path: str, place: Place, _old: str | None, data: bytes
    ) -> Problems:
        receipt = parse_receipt(data)
        self.about.add(receipt.message)
        letter = self._shelf.letter(receipt.message, place, self._tree)
        yield from rules.size_problems(receipt.note, NOTE_LIMIT_BYTES)
        yield from rules.receipt_problems(
            receipt,
            path,
            place,
            self._act,
            letter,
            lambda: self._has_copy(receipt.agent, receipt.message, place),
        )

    def _has_copy(self, agent: AgentName, message: MessageId, place: Place) -> bool:
        copy = BlindCopy(message=message, agent=agent, address=Address(agent))
        path = copy_path(copy, place.folder)
        return self._repository.lookup(self._tree, path) is not None

    def _judge_copy(
        self, path: str, place: Place, _old: str | None, data: bytes
    ) -> Problems:
        copy = parse_blind_copy(data)
        self.about.add(copy.message)
        letter = self._shelf.letter(copy.message, place, self._tree)
        return rules.copy_problems(copy, path, place, self._act, letter)

    def _judge_profile(
        self, path: str, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        profile = parse_profile(data)
        before = self._parsed(old, parse_profile)
        if len(profile.description) > DESCRIPTION_LIMIT:
            what = f"the description has more than {DESCRIPTION_LIMIT:,} characters"
            yield Rule.SIZE, what
        yield from rules.profile_problems(profile, path, before, self._act)

    def _judge_memory(
        self, path: str, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        record = parse_memory(data)
        if path.startswith(NOTES):
            return rules.note_problems(record, path, self._act)
        before = self._shelf.record(old) if old else None
        self._shelf.keep_record(record)
        return rules.slot_problems(record, path, old, before, self._act)

    def _judge_fixed(
        self, path: str, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        if path == CHARTER_PATH:
            charter = _parse_charter(data)
            before = self._parsed(old, _parse_charter)
            yield from rules.charter_problems(charter, before)
        elif path == ATTRIBUTES_PATH and old:
            yield Rule.CHANGED, "tells git how the files are read and merged"
        yield from rules.other_problems(data)

    def _judge_aside(
        self, path: str, _place: Place, _old: str | None, data: bytes
    ) -> Problems:
        right = set_aside_path(blob_id(data))
        if path != right:
            yield Rule.PLACE, f"its content belongs at {right}"
        yield from rules.other_problems(data)

    def _parsed(self, blob: str | None, parse: Callable[[bytes], R]) -> R | None:
        try:
            return parse(self._repository.blob(blob)) if blob else None
        except GitmailError:  # it was named where it came
            return None


_JUDGES = {
    Family.RECEIPT: RecordJudge._judge_receipt,  # noqa: SLF001 - the class's own table
    Family.COPY: RecordJudge._judge_copy,  # noqa: SLF001
    Family.PROFILE: RecordJudge._judge_profile,  # noqa: SLF001
    Family.MEMORY: RecordJudge._judge_memory,  # noqa: SLF001
    Family.FIXED: RecordJudge._judge_fixed,  # noqa: SLF001
    Family.ASIDE: RecordJudge._judge_aside,  # noqa: SLF001
}


def _parse_charter(data: bytes) -> Charter:
    return parse_charter(data, CHARTER_PATH)
