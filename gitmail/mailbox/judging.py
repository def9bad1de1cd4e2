"""Judging one commit: what it did to the tree, by the rules of `gitmail.records.rules`.

A merge is judged by what it did beyond merging: by how its tree differs from the one
that its sides merge to.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from gitmail.errors import (
    CorruptMailboxError,
    GitmailError,
    InvalidFileError,
    UnsupportedFormatError,
)
from gitmail.mailbox.acknowledging import NOTE_LIMIT_BYTES
from gitmail.mailbox.directory import DESCRIPTION_LIMIT
from gitmail.mailbox.past import Past
from gitmail.records import rules
from gitmail.records.charter import Charter, parse_charter
from gitmail.records.memory import parse_memory
from gitmail.records.message import blob_id, parse_message
from gitmail.records.names import Address, AgentName, MessageId
from gitmail.records.paths import (
    ATTRIBUTES_PATH,
    CHARTER_PATH,
    MEMORY,
    README_PATH,
    Family,
    Place,
    copy_path,
    memory_path,
    parse_path,
    set_aside_path,
)
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import BlindCopy, parse_blind_copy, parse_receipt
from gitmail.records.rules import Act, Problem, Problems, Rule
from gitmail.store.checking import Difference, Scratch, differences
from gitmail.store.repository import FILE_MODE, Commit, printable

R = TypeVar("R")
Tell = Callable[[str, Problem], None]
"""Told the path of what is amiss, and what."""
_NOTES = f"{MEMORY}/notes/"
_FACTS = f"{MEMORY}/facts/"
_MAIL = (Family.MESSAGE, Family.RECEIPT, Family.COPY)
_MERGED_BY_GITMAIL = "sync"
_LISTED_IN_COMMIT = 64
_SUBMODULE = 0o160000
_FOLDER = 0o40000


class Judge:
    """Judges one commit.

    Args:
        past: What was before.
        commit: The commit.
        tell: Told what is amiss.

    Attributes:
        counts: How many records of each family are new or were changed.
    """

    def __init__(self, past: Past, commit: Commit, tell: Tell) -> None:
        self._past = past
        self._repository = past.repository
        self._commit = commit
        self._tell = tell
        self._about: set[str] = set()
        self.counts = dict.fromkeys(Family, 0)
        address = f"{commit.author}@gitmail.invalid"
        is_agent = commit.email == address
        committer = f"{commit.author} <{address}>"
        self._is_whole = is_agent and commit.committer == committer
        self._act = Act(
            # Who only has the name of an agent is none.
            author=commit.author if is_agent else f"{commit.author!r}, a person",
            time=datetime.fromtimestamp(commit.time, UTC),
            operations=tuple(commit.trailers("Gitmail-Op")),
            body_limit=past.body_limit(commit.tree),
        )

    def run(self, scratch: Scratch) -> None:
        """Judge the commit; what cannot be read is told, and the rest goes on."""
        try:
            if len(self._commit.parents) > 1:
                self._judge_merge(scratch)
            else:
                self._judge_changes()
        except CorruptMailboxError as error:
            self._tell("", (Rule.OBJECT, str(error.details["what"])))
        if self._act.operations:
            self._judge_trailers()

    def _judge_changes(self) -> None:
        tree = None
        for parent in self._commit.parents:
            tree = self._repository.commit(parent).tree
        changes = differences(self._repository, tree, self._commit.tree, self._damage)
        for change in changes:
            self._judge(change)

    def _judge_merge(self, scratch: Scratch) -> None:
        repository, commit = self._repository, self._commit
        trees = [repository.commit(parent).tree for parent in commit.parents]
        # What the merge made itself, such as a slot that both sides had set; and every
        # tree of it is read, which comparing with what it should be does not do.
        made = [
            change
            for change in differences(repository, trees[0], commit.tree, self._damage)
            if change.new and change.new not in self._versions(change, trees[1:])
        ]
        for change in made:
            self._read(change)
        with scratch.merged(*commit.parents) as right:
            if right != commit.tree:
                changes = differences(scratch, right, commit.tree, self._damage)
                for change in changes:
                    self._judge_merged(change, trees)

    def _judge_merged(self, change: Difference, trees: list[str]) -> None:
        """Judge a path where a merge is not what its sides merge to."""
        if _MERGED_BY_GITMAIL in self._act.operations:
            self._tell(change.path, (Rule.MERGE, "is not what the sides merge to"))
        versions = self._versions(change, trees)
        family = parse_path(change.path).family
        # People may settle what both sides changed as one of them had it: not mail,
        # and no slot that merging would take from the other side as it is.
        is_taken = family is Family.MEMORY and change.old in versions
        is_settled = change.new in versions and family is not Family.MESSAGE
        if change.new is None or is_taken or not is_settled:
            self._judge(change)

    def _versions(self, change: Difference, trees: list[str]) -> list[str | None]:
        return [self._repository.lookup(tree, change.path) for tree in trees]

    def _judge_trailers(self) -> None:
        author, about = self._commit.author, self._about
        named = self._commit.trailers("Gitmail-Agent")
        if not self._is_whole or named != [author]:
            what = f"author, committer and Gitmail-Agent are not all {author}"
            self._tell("", (Rule.AUTHOR, what))
        said = {*self._commit.trailers("Gitmail-Message")}
        if said - about:
            what = f"names {min(said - about)}, which it is not about"
            self._tell("", (Rule.TRAILERS, what))
        elif said != about and len(about) <= _LISTED_IN_COMMIT:
            what = f"does not name {min(about - said)}, which it is about"
            self._tell("", (Rule.TRAILERS, what))

    def _judge(self, change: Difference) -> None:
        place = parse_path(change.path)
        old = change.old if change.old_mode == FILE_MODE else None
        if old and not self._belonged(change.path, place, old):
            old = None  # nobody's loss: it may be put right
        if old:
            self._past.has_gone(change.path, old)
        if change.new is None:
            if old and not _may_go(change.path, place):
                self._tell(change.path, (Rule.REMOVED, "stays for ever"))
            return
        data = self._read_new(change, place)
        if data is None:
            if old and place.family is not Family.UNKNOWN:
                self._tell(change.path, (Rule.CHANGED, f"stays for ever as {old}"))
        elif old and _is_written_once(change.path, place):
            self._tell(change.path, (Rule.CHANGED, f"stays for ever as {old}"))
        else:
            self._judge_record(change, place, old, data)

    def _read_new(self, change: Difference, place: Place) -> bytes | None:
        """Return the bytes of what is new, None where it is no file of a mailbox."""
        if place.family is Family.UNKNOWN:
            problems = rules.path_problems(change.path, lambda: self._beside(change))
            for problem in problems:
                self._tell(change.path, problem)
        if change.new_mode not in (FILE_MODE, _FOLDER):
            mode = f"has mode {change.new_mode:o}, and not {FILE_MODE:o}"
            self._tell(change.path, (Rule.MODE, mode))
        data = None
        if change.new_mode not in (_SUBMODULE, _FOLDER):
            data = self._read(change)
        is_file = change.new_mode == FILE_MODE and place.family is not Family.UNKNOWN
        return data if is_file else None

    def _read(self, change: Difference) -> bytes | None:
        try:
            return self._repository.blob(change.new or "")
        except CorruptMailboxError as error:
            self._damage(change.path, str(error.details["what"]))
            return None

    def _judge_record(
        self, change: Difference, place: Place, old: str | None, data: bytes
    ) -> None:
        self.counts[place.family] += 1
        judge = _JUDGES[place.family]
        try:
            for rule, detail in judge(self, change, place, old, data):
                if rule not in rules.OF_THE_FIRST or not self._is_back(change, place):
                    self._tell(change.path, (rule, detail))
        except InvalidFileError as error:
            self._tell(change.path, (Rule.FORMAT, f"line {error.line}: {error.reason}"))
        except UnsupportedFormatError as error:
            self._tell(change.path, (Rule.FORMAT, error.message))
        except CorruptMailboxError as error:
            self._damage(change.path, str(error.details["what"]))

    def _is_back(self, change: Difference, place: Place) -> bool:
        is_one = _is_written_once(change.path, place)
        return is_one and self._past.was_there(change.path, change.new or "")

    def _judge_message(
        self, change: Difference, place: Place, _old: str | None, data: bytes
    ) -> Problems:
        message = parse_message(data)
        self._past.keep_letter(message, place)
        self._about.add(message.id)
        yield from rules.message_problems(message, change.path, place.part, self._act)
        other = self._past.place(message.id, change.path, self._commit.tree)
        if other:
            yield Rule.TWICE, f"the same message stands at {other}"

    def _judge_receipt(
        self, change: Difference, place: Place, _old: str | None, data: bytes
    ) -> Problems:
        receipt = parse_receipt(data)
        self._about.add(receipt.message)
        letter = self._past.letter(receipt.message, place, self._commit.tree)
        yield from rules.size_problems(receipt.note, NOTE_LIMIT_BYTES)
        yield from rules.receipt_problems(
            receipt,
            change.path,
            place,
            self._act,
            letter,
            lambda: self._has_copy(receipt.agent, receipt.message, place),
        )

    def _has_copy(self, agent: AgentName, message: MessageId, place: Place) -> bool:
        copy = BlindCopy(message=message, agent=agent, address=Address(agent))
        path = copy_path(copy, place.folder)
        return self._repository.lookup(self._commit.tree, path) is not None

    def _judge_copy(
        self, change: Difference, place: Place, _old: str | None, data: bytes
    ) -> Problems:
        copy = parse_blind_copy(data)
        self._about.add(copy.message)
        letter = self._past.letter(copy.message, place, self._commit.tree)
        return rules.copy_problems(copy, change.path, place, self._act, letter)

    def _judge_profile(
        self, change: Difference, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        profile = parse_profile(data)
        before = self._parsed(old, parse_profile)
        if len(profile.description) > DESCRIPTION_LIMIT:
            what = f"the description has more than {DESCRIPTION_LIMIT:,} characters"
            yield Rule.SIZE, what
        yield from rules.profile_problems(profile, change.path, before, self._act)

    def _judge_memory(
        self, change: Difference, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        record = parse_memory(data)
        if change.path.startswith(_NOTES):
            return rules.note_problems(record, change.path, self._act)
        before = self._past.record(old) if old else None
        self._past.keep_record(record)
        return rules.slot_problems(record, change.path, old, before, self._act)

    def _judge_fixed(
        self, change: Difference, _place: Place, old: str | None, data: bytes
    ) -> Problems:
        if change.path == CHARTER_PATH:
            charter = _parse_charter(data)
            before = self._parsed(old, _parse_charter)
            yield from rules.charter_problems(charter, before)
        elif change.path == ATTRIBUTES_PATH and old:
            yield Rule.CHANGED, "tells git how the files are read and merged"
        yield from rules.other_problems(data)

    def _judge_aside(
        self, change: Difference, _place: Place, _old: str | None, data: bytes
    ) -> Problems:
        right = set_aside_path(blob_id(data))
        if change.path != right:
            yield Rule.PLACE, f"its content belongs at {right}"
        yield from rules.other_problems(data)

    def _parsed(self, blob: str | None, parse: Callable[[bytes], R]) -> R | None:
        try:
            return parse(self._repository.blob(blob)) if blob else None
        except GitmailError:  # it was named where it came
            return None

    def _belonged(self, path: str, place: Place, old: str) -> bool:
        """Tell whether what stood at a path was a record that has its place there."""
        if place.family is Family.MEMORY:
            record = self._past.record(old)
            return record is not None and memory_path(record, place.part) == path
        right = self._parsed(old, lambda data: rules.right_path(data, place))
        return right in (path, "")

    def _beside(self, change: Difference) -> list[str]:
        folder = change.path.rpartition("/")[0]
        return [
            printable(name)
            for name in self._repository.folder(self._commit.tree, folder)
        ]

    def _damage(self, path: str, what: str) -> None:
        self._tell(path, (Rule.OBJECT, what))


_JUDGES = {
    Family.MESSAGE: Judge._judge_message,  # noqa: SLF001 - the class's own table
    Family.RECEIPT: Judge._judge_receipt,  # noqa: SLF001
    Family.COPY: Judge._judge_copy,  # noqa: SLF001
    Family.PROFILE: Judge._judge_profile,  # noqa: SLF001
    Family.MEMORY: Judge._judge_memory,  # noqa: SLF001
    Family.FIXED: Judge._judge_fixed,  # noqa: SLF001
    Family.ASIDE: Judge._judge_aside,  # noqa: SLF001
}


def _parse_charter(data: bytes) -> Charter:
    return parse_charter(data, CHARTER_PATH)


def _is_written_once(path: str, place: Place) -> bool:
    return place.family in _MAIL or path.startswith(_NOTES)


def _may_go(path: str, place: Place) -> bool:
    if place.family is Family.FIXED:
        return path == README_PATH
    is_kept = place.family in (*_MAIL, Family.PROFILE, Family.MEMORY)
    return not is_kept or path.startswith((_NOTES, _FACTS))
