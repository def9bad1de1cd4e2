"""Judging one commit: what it did to the tree, by the rules of `gitmail.records.rules`.

A merge is judged by what it did beyond merging: by how its tree differs from the one
that its sides merge to. What was judged before makes no difference here, so that any
process may judge any commit; what it does make a difference to is left open.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum, auto
from typing import NamedTuple

from gitmail.errors import CorruptMailboxError
from gitmail.mailbox.judging_records import RecordJudge
from gitmail.mailbox.shelf import Shelf
from gitmail.records import rules
from gitmail.records.merging import is_removable
from gitmail.records.paths import NOTES, README_PATH, Family, Place, parse_path
from gitmail.records.rule import OF_THE_FIRST, Rule
from gitmail.records.rules import Act, Problem
from gitmail.store.checking import Scratch
from gitmail.store.differences import Difference, differences
from gitmail.store.repository import (
    EMPTY_TREE,
    FILE_MODE,
    FOLDER_MODE,
    SUBMODULE_MODE,
    Commit,
    printable,
)

_MAIL = (Family.MESSAGE, Family.RECEIPT, Family.COPY)
_MERGED_BY_GITMAIL = "sync"
_LISTED_IN_COMMIT = 64
_AGENTS = "@gitmail.invalid"


class What(Enum):
    """What is said of a path."""

    AMISS = auto()
    AMISS_UNLESS_BACK = auto()
    """A file is not by who may write it, unless it stood there before."""
    PLACED = auto()
    GONE = auto()


class Said(NamedTuple):
    """What came of judging one path of a commit.

    Attributes:
        path: Empty where it is the commit itself.
        blob: The file that is meant.
    """

    what: What
    path: str
    blob: str = ""
    problem: Problem | None = None


class Judge:
    """Judges one commit.

    Args:
        shelf: What is kept of files that were read.
        commit: The commit.

    Attributes:
        said: What came of it, in order.
        counts: How many records of each family are new or were changed.
    """

    def __init__(self, shelf: Shelf, commit: Commit) -> None:
        self._shelf = shelf
        self._repository = shelf.repository
        self._commit = commit
        self.said: list[Said] = []
        self.counts = dict.fromkeys(Family, 0)
        address = f"{commit.author}{_AGENTS}"
        is_agent = commit.email == address
        committer = f"{commit.author} <{address}>"
        self._is_whole = is_agent and commit.committer == committer
        self._act = Act(
            # Who only has the name of an agent is none.
            author=commit.author if is_agent else f"{commit.author!r}, a person",
            time=datetime.fromtimestamp(commit.time, UTC),
            operations=tuple(commit.trailers("Gitmail-Op")),
            body_limit=shelf.body_limit(commit.tree),
        )
        self._records = RecordJudge(shelf, commit.tree, self._act)

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
        elif self._commit.email.endswith(_AGENTS) and not self._is_whole:
            what = f"has an agent's address, and {self._commit.committer} committed it"
            self._tell("", (Rule.AUTHOR, what))

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
            changes: Iterator[Difference] = iter(())
            if right.tree != commit.tree:
                changes = differences(scratch, right.tree, commit.tree, self._damage)
            for change in changes:
                before = [
                    scratch.lookup(base, change.path) if base else None
                    for base in right.bases
                ]
                self._judge_merged(change, self._versions(change, trees), before)

    def _judge_merged(
        self,
        change: Difference,
        versions: Sequence[str | None],
        before: Sequence[str | None],
    ) -> None:
        """Judge a path where a merge is not what its sides merge to.

        Args:
            versions: What stands there on each side.
            before: What stood there where that side and the others went apart.
        """
        if _MERGED_BY_GITMAIL in self._act.operations:
            self._tell(change.path, (Rule.MERGE, "is not what the sides merge to"))
        family = parse_path(change.path).family
        sides = zip(versions, before, strict=True)
        changed = [side for side, was in sides if side != was]
        # People may settle what both sides changed as one of them had it: not mail,
        # and no slot that merging would take from the other side as it is.
        is_taken = family is Family.MEMORY and change.old in versions
        is_settled = change.new in changed and family is not Family.MESSAGE
        if change.new is None or is_taken or not is_settled:
            self._judge(change)

    def _versions(self, change: Difference, trees: list[str]) -> list[str | None]:
        return [self._repository.lookup(tree, change.path) for tree in trees]

    def _judge_trailers(self) -> None:
        author, about = self._commit.author, self._records.about
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
        if change.new_mode == FOLDER_MODE and change.new == EMPTY_TREE:
            self._tell(change.path, (Rule.PATH, "is a folder with nothing in it"))
            return
        place = parse_path(change.path)
        old = change.old if change.old_mode == FILE_MODE else None
        if old and not self._records.belonged(change.path, place, old):
            old = None  # nobody's loss: it may be put right
        if old:
            self.said.append(Said(What.GONE, change.path, old))
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
        if change.new_mode not in (FILE_MODE, FOLDER_MODE):
            mode = f"has mode {change.new_mode:o}, and not {FILE_MODE:o}"
            self._tell(change.path, (Rule.MODE, mode))
        data = self._read(change)
        is_file = change.new_mode == FILE_MODE and place.family is not Family.UNKNOWN
        return data if is_file else None

    def _read(self, change: Difference) -> bytes | None:
        if change.new_mode in (SUBMODULE_MODE, FOLDER_MODE):
            return None
        try:
            return self._repository.blob(change.new or "")
        except CorruptMailboxError as error:
            self._damage(change.path, str(error.details["what"]))
            return None

    def _judge_record(
        self, change: Difference, place: Place, old: str | None, data: bytes
    ) -> None:
        self.counts[place.family] += 1
        is_profile = place.family is Family.PROFILE and old is None
        is_one = is_profile or _is_written_once(change.path, place)
        blob = change.new or ""
        try:
            for problem in self._records.problems(change.path, place, old, blob, data):
                is_open = is_one and problem[0] in OF_THE_FIRST
                what = What.AMISS_UNLESS_BACK if is_open else What.AMISS
                self.said.append(Said(what, change.path, blob, problem))
        except CorruptMailboxError as error:
            self._damage(change.path, str(error.details["what"]))
        if place.family is Family.MESSAGE:
            self.said.append(Said(What.PLACED, change.path, blob))

    def _beside(self, change: Difference) -> list[str]:
        folder = change.path.rpartition("/")[0]
        return [
            printable(name)
            for name in self._repository.folder(self._commit.tree, folder)
        ]

    def _tell(self, path: str, problem: Problem) -> None:
        self.said.append(Said(What.AMISS, path, problem=problem))

    def _damage(self, path: str, what: str) -> None:
        self._tell(path, (Rule.OBJECT, what))


def _is_written_once(path: str, place: Place) -> bool:
    return place.family in _MAIL or path.startswith(NOTES)


def _may_go(path: str, place: Place) -> bool:
    if place.family is Family.FIXED:
        return path == README_PATH
    is_kept = place.family in (*_MAIL, Family.PROFILE, Family.MEMORY)
    return not is_kept or is_removable(path)
