"""Files and trees as plain git brings them into a mailbox, the odd ones included."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.message import Message, blob_id
from gitmail.records.names import AgentName, MessageId
from gitmail.records.paths import (
    copy_path,
    hour_folder,
    memory_path,
    message_path,
    receipt_path,
)
from gitmail.records.receipt import BlindCopy, Receipt, Stage
from gitmail.store.refs import REF
from tests.helpers import IDENTITY, environment, git

FILE, EXECUTABLE, LINK, FOLDER, SUBMODULE = (
    *(b"100644", b"100755", b"120000"),
    *(b"40000", b"160000"),
)
MOMENT = datetime(2026, 11, 30, 14, 37, 12, 123456, tzinfo=UTC)

_DATES = {f"GIT_{role}_DATE": MOMENT.isoformat() for role in ("AUTHOR", "COMMITTER")}

Path_ = str | tuple[bytes, ...]
"""A path, or the very names of its folders and file."""


def message_file(
    sender: str, to: Sequence[str], body: str, *, part: int = 0, **more: Any
) -> tuple[str, bytes]:
    """Return path and bytes of a message."""
    names = tuple(AgentName(name) for name in to)
    said = {"date": MOMENT, "recipients": names, **more}
    message = Message(sender=AgentName(sender), to=names, body=body, **said)
    return message_path(message, part), message.data


def receipt_file(
    agent: str,
    message: bytes,
    stage: Stage = Stage.ACKED,
    *,
    part: int = 0,
    date: datetime = MOMENT,
) -> tuple[str, bytes]:
    """Return path and bytes of the receipt of a message made by `message_file`."""
    receipt = Receipt(
        message=MessageId(blob_id(message)),
        agent=AgentName(agent),
        stage=stage,
        date=date,
    )
    return receipt_path(receipt, hour_folder(MOMENT, part)), receipt.data


def copy_file(agent: str, message: bytes, *, part: int = 0) -> tuple[str, bytes]:
    """Return path and bytes of a blind copy of a message made by `message_file`."""
    name = AgentName(agent)
    copy = BlindCopy(message=MessageId(blob_id(message)), agent=name, address=name)
    return copy_path(copy, hour_folder(MOMENT, part)), copy.data


def slot_file(
    entity: str, value: str, *, scope: Scope = Scope.FACT, **more: Any
) -> tuple[str, bytes]:
    """Return path and bytes of a slot with the attribute owner."""
    said = {"attribute": "owner", "set_by": AgentName("builder"), "set_at": MOMENT}
    record = MemoryRecord(scope=scope, entity=entity, value=value, **{**said, **more})
    return memory_path(record), record.data


def note_file(value: str, **more: Any) -> tuple[str, bytes]:
    """Return path and bytes of a note."""
    said = {"set_by": AgentName("builder"), "set_at": MOMENT, **more}
    note = MemoryRecord(scope=Scope.NOTE, value=value, **said)
    return memory_path(note), note.data


class Entry:
    """What stands at a path: bytes of a file by default, or an object by its id."""

    def __init__(self, data: bytes = b"", mode: bytes = FILE, sha: str = "") -> None:
        self.data = data
        self.mode = mode
        self.sha = sha


def unguard(mailbox: Path) -> None:
    """Have a mailbox take any push, as one does whose guard was never installed."""
    (mailbox / ".git" / "hooks" / "pre-receive").unlink(missing_ok=True)


class Clone:
    """A clone in which commits are made by git's plumbing, so that any tree can be.

    Args:
        mailbox: The mailbox's folder.
        folder: Where the clone is made.
    """

    def __init__(self, mailbox: Path, folder: Path) -> None:
        self.folder = folder
        unguard(mailbox)  # what comes from here is mostly what it would refuse
        self._mailbox = mailbox
        git(folder.parent, "clone", "-q", "--no-checkout", str(mailbox), str(folder))

    def push(
        self, changes: Mapping[Path_, Entry | bytes | None], *, second: bool = False
    ) -> str:
        """Change paths of the mailbox's tip and push the commit; return its id.

        What git refuses in a push is brought by a fetch, as people can.

        Args:
            changes: Bytes are a regular file, None removes what is there.
            second: Put entries beside those of the same name, not in their place.
        """
        git(self.folder, "fetch", "-q", "origin")
        commit = self.commit("origin/gitmail", changes, second=second)
        git(self.folder, "push", "-q", "origin", f"{commit}:{REF}", check=False)
        # Somebody may have built on it already.
        if commit not in git(self._mailbox, "rev-list", REF).split():
            self.bring(commit)
        return commit

    def bring(self, commit: str) -> None:
        """Make a commit of the clone the mailbox's tip without pushing it."""
        git(self.folder, "update-ref", "refs/heads/brought", commit)
        git(self._mailbox, "fetch", "-q", str(self.folder), "brought")
        git(self._mailbox, "update-ref", REF, commit)

    def commit(
        self,
        base: str,
        changes: Mapping[Path_, Entry | bytes | None],
        *,
        second: bool = False,
    ) -> str:
        """Make a commit that changes paths of another, and return its id."""
        tree = _Tree.read(self, f"{base}^{{tree}}")
        for path, entry in changes.items():
            names = _names(path)
            tree.folder(names[:-1]).put(names[-1], self._entry(entry), second=second)
        words = ["commit-tree", tree.write(), "-p", base, "-m", "By hand"]
        return self.git(*words).decode().strip()

    def write(self, kind: str, data: bytes) -> str:
        """Write an object, however odd, and return its id."""
        words = ["hash-object", "-w", "--literally", "-t", kind, "--stdin"]
        return self.git(*words, given=data).decode().strip()

    def git(self, *words: str, given: bytes = b"") -> bytes:
        """Return what git prints in the clone, of which not all may be text."""
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words],
            input=given,
            capture_output=True,
            check=True,
            env=environment(**IDENTITY, **_DATES),
            timeout=30,
        )
        return done.stdout

    def _entry(self, entry: Entry | bytes | None) -> tuple[bytes, str] | None:
        if entry is None:
            return None
        if isinstance(entry, bytes):
            entry = Entry(entry)
        return entry.mode, entry.sha or self.write("blob", entry.data)


class _Tree:
    """A tree with its entries in a list, where names may stand twice."""

    def __init__(self, clone: Clone) -> None:
        self._clone = clone
        self._rows: list[tuple[bytes, bytes, str | _Tree]] = []

    @classmethod
    def read(cls, clone: Clone, revision: str) -> Self:
        tree = cls(clone)
        for row in filter(None, clone.git("ls-tree", "-z", revision).split(b"\0")):
            head, name = row.split(b"\t", 1)
            mode, _, sha = head.split()
            tree._rows.append((name, mode.lstrip(b"0"), sha.decode()))
        return tree

    def folder(self, names: Sequence[bytes]) -> "_Tree":
        """Return the tree at a path, made where there is none."""
        if not names:
            return self
        for place, (name, mode, known) in enumerate(self._rows):
            if name == names[0] and mode == FOLDER:
                read = isinstance(known, str)
                found = _Tree.read(self._clone, known) if read else known
                self._rows[place] = name, mode, found
                return found.folder(names[1:])
        made = _Tree(self._clone)
        self._rows.append((names[0], FOLDER, made))
        return made.folder(names[1:])

    def put(
        self, name: bytes, entry: tuple[bytes, str] | None, *, second: bool
    ) -> None:
        """Put an entry in the place of those that have its name, or beside them."""
        if not second:
            self._rows = [row for row in self._rows if row[0] != name]
        if entry:
            self._rows.append((name, *entry))

    def has_files(self) -> bool:
        """Tell whether git would keep the folder, as it keeps none that is empty."""
        trees = (found for _, _, found in self._rows)
        return any(isinstance(tree, str) or tree.has_files() for tree in trees)

    def write(self) -> str:
        """Write the tree and those below it, and return its id."""
        made = [
            (name, mode, found.write() if isinstance(found, _Tree) else found)
            for name, mode, found in self._rows
            if not isinstance(found, _Tree) or found.has_files()
        ]
        made.sort(key=lambda row: row[0] + (b"/" if row[1] == FOLDER else b""))
        data = b"".join(
            mode + b" " + name + b"\0" + bytes.fromhex(sha) for name, mode, sha in made
        )
        return self._clone.write("tree", data)


def _names(path: Path_) -> tuple[bytes, ...]:
    if isinstance(path, str):
        return tuple(path.encode().split(b"/"))
    return path
