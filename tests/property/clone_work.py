"""What is done in clones, and what must have become of it, by the commits alone."""

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from gitmail import Mailbox
from gitmail.errors import ConflictError, InvalidInputError, NotFoundError
from gitmail.records.contesting import version_of
from gitmail.records.names import CommitId
from gitmail.records.paths import Family, parse_path
from gitmail.records.profile import FIELDS, Profile, parse_profile
from gitmail.records.receipt import parse_receipt
from gitmail.store.repository import Repository
from tests.clones import commit_by_hand
from tests.helpers import SettableClock
from tests.mailfiles import message_file, slot_file

NAMES = ("ann", "bob")
SLOTS = [(s, e, "owner") for s in ("fact", "world", "lesson") for e in ("a", "b")]
Work = Callable[[Mailbox, random.Random], object]


class Ticking(SettableClock):
    """A clone's clock, which never shows what another clone's shows."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.now += timedelta(microseconds=number)

    def jump(self, pick: random.Random) -> None:
        """Be set to another time, at times an earlier one."""
        self.advance(seconds=pick.choice([0, 0, 1, -3, 5]), microseconds=17)


def start(mailbox: Mailbox) -> None:
    """Put something into a mailbox that all clones begin with."""
    for name in NAMES:
        mailbox.register(name, program="x", teams=["team"])
    ann = mailbox.agent("ann")
    for scope, entity, attribute in SLOTS[::2]:
        ann.memory.set(scope, entity, attribute, "first")
    ann.memory.add("A note.")
    ann.send(to=["ann", "bob"], body="For both.")


def _agent(mailbox: Mailbox, pick: random.Random) -> Any:
    return mailbox.agent(pick.choice(NAMES))


def _set(mailbox: Mailbox, pick: random.Random) -> None:
    _agent(mailbox, pick).memory.set(*pick.choice(SLOTS), str(pick.randrange(4)))


def _forget(mailbox: Mailbox, pick: random.Random) -> None:
    _agent(mailbox, pick).memory.forget(*pick.choice(SLOTS))


def _restore(mailbox: Mailbox, pick: random.Random) -> None:
    _agent(mailbox, pick).memory.restore(*pick.choice(SLOTS))


def _note(mailbox: Mailbox, pick: random.Random) -> None:
    memory = _agent(mailbox, pick).memory
    found = [each.record for each in memory.list("note").records]
    what = pick.choice(["add", "forget", "supersede"] if found else ["add"])
    if what == "add":
        memory.add(f"Note {pick.random()}.")
    elif what == "forget":
        memory.forget("note", pick.choice(found).id)
    else:
        memory.supersede(pick.choice(found).id, f"Better {pick.random()}.")


def _send(mailbox: Mailbox, pick: random.Random) -> None:
    said = {"to": pick.choice([["ann"], ["bob"], ["team:team"]]), "bcc": ["ann"]}
    _agent(mailbox, pick).send(**said, body=f"Mail {pick.random()}.")


def _acknowledge(mailbox: Mailbox, pick: random.Random) -> None:
    agent = _agent(mailbox, pick)
    found = agent.poll(show="unacked", limit=200).items
    if found:
        agent.ack(pick.choice(found).id, stage=pick.choice(["read", "acked"]))


def _register(mailbox: Mailbox, pick: random.Random) -> None:
    said = {
        "program": pick.choice(["", "x", "y"]),
        "model": pick.choice(["", "m"]),
        "teams": pick.choice([[], ["team"]]),
        "description": pick.choice(["", "Text."]),
        "kind": pick.choice(["agent", "human"]),
    }
    chosen = dict(pick.sample(sorted(said.items()), 2))
    mailbox.register(pick.choice([*NAMES, "cid"]), **chosen)  # type: ignore[arg-type]


def _retire(mailbox: Mailbox, pick: random.Random) -> None:
    pick.choice([mailbox.retire, mailbox.unretire])(pick.choice(NAMES))


VERBS: tuple[Work, ...] = (
    *(_set, _set, _set, _forget, _restore, _note),
    *(_send, _acknowledge, _register, _retire),
)

LINK, EXECUTABLE = 0o120000, 0o100755
_MESSAGE = message_file("ann", ["bob"], "By hand.")
_SLOT, _SLOT_DATA = slot_file("a", "By hand.")
NONSENSE = (
    {"README.md": b"One.\n"},
    {"README.md": b"Two.\n"},
    {"README.md": None},
    {"mailbox.txt": b"Unknown.\n"},
    {"mailbox.txt": b"Other.\n"},
    {"mailbox.txt/inner.md": b"Below.\n"},
    {"messages": b"A file for a folder.\n"},
    {"quarantine": b"In the way.\n"},
    {"agents/ann.md": b"Unreadable.\n"},
    {"agents/ann.md": (LINK, b"/etc/passwd")},
    {"agents/bob.md": None},
    {_SLOT: b"Unreadable.\n"},
    {_SLOT: b"Unreadable too.\n"},
    {_SLOT: _SLOT_DATA.replace(b"scope: fact", b"scope:   fact")},
    {_SLOT: _SLOT_DATA.replace(b"\n", b"\r\n")},
    {
        _SLOT: _SLOT_DATA.replace(
            b"\n---\n\n", b"\ncontested: [%s]\n---\n\n" % (b"a" * 40)
        )
    },
    {_SLOT: (EXECUTABLE, _SLOT_DATA)},
    {_MESSAGE[0]: _MESSAGE[1]},
    {_MESSAGE[0]: b"Tampered with.\n"},
    {_MESSAGE[0]: (LINK, b"elsewhere")},
)


def by_hand(mailbox: Mailbox, pick: random.Random) -> None:
    """Commit what no verb writes."""
    changes = pick.choice(NONSENSE)
    (path,) = changes
    is_there = mailbox.store.read(lambda view: view.repository.lookup(view.tree, path))
    if is_there or changes[path] is not None:
        seconds = int(mailbox.now().timestamp())
        commit_by_hand(mailbox.path, changes, seconds)


def work(mailbox: Mailbox, pick: random.Random, verbs: tuple[Work, ...]) -> None:
    """Do something that may be refused, as agents do."""
    try:
        pick.choice(verbs)(mailbox, pick)
    except (InvalidInputError, NotFoundError, ConflictError):
        return  # it did not fit what is there


class Expected:
    """What verbs wrote in all commits below some tips, each counted once.

    A version of a slot, or a note, is there if a commit made it and none removed it.

    Attributes:
        versions: Path to the ids of the versions in force there, and of notes.
        receipts: Path to the date of the first receipt.
        messages: Path to blob, of messages and blind copies.
        profiles: Path to field to what was said last, with its time.
    """

    def __init__(self, repository: Repository, tips: Iterable[CommitId]) -> None:
        self._repository = repository
        self.receipts: dict[str, str] = {}
        self.messages: dict[str, str | None] = {}
        self.profiles: dict[str, dict[str, tuple[Any, str]]] = {}
        self._made: dict[str, set[str]] = {}
        self._gone: dict[str, set[str]] = {}
        seen: set[CommitId] = set()
        for tip in tips:
            for commit in repository.walk(tip):
                if commit.id not in seen and len(commit.parents) < 2:
                    before = [repository.commit(each).tree for each in commit.parents]
                    self.take(before[0] if before else None, commit.tree)
                seen.add(commit.id)

    @property
    def versions(self) -> dict[str, set[str]]:
        """Path to what is in force there."""
        left = {
            path: made - self._gone.get(path, set())
            for path, made in self._made.items()
        }
        return {path: ids for path, ids in left.items() if ids}

    def take(self, before: str | None, tree: str) -> None:
        """Take in what one commit did."""
        for change in self._repository.changes(before, tree):
            family = parse_path(change.path).family
            if family is Family.MEMORY:
                old, new = (
                    ids(self._repository, change.path, x)
                    for x in (change.old, change.new)
                )
                self._made.setdefault(change.path, set()).update(new - old)
                self._gone.setdefault(change.path, set()).update(old - new)
            elif family is Family.RECEIPT and change.new:
                date = str(parse_receipt(self._repository.blob(change.new)).date)
                self.receipts[change.path] = min(
                    date, self.receipts.get(change.path, date)
                )
            elif family in (Family.MESSAGE, Family.COPY):
                self.messages[change.path] = change.new
            elif family is Family.PROFILE and change.new:
                profile = parse_profile(self._repository.blob(change.new))
                known = self.profiles.setdefault(change.path, {})
                for key, said in sayings(profile).items():
                    known[key] = max(said, known.get(key, said))


def sayings(profile: Profile) -> dict[str, tuple[Any, str]]:
    """Return when each field was said, and what, as FORMAT.md has it."""
    found = {}
    for key, word in FIELDS.items():
        value = getattr(profile, key)
        is_said = bool(value) and value != "agent"
        first = str(profile.created) if is_said else ""
        found[key] = str(profile.changed.get(word, first)), str(value)
    return found


def ids(repository: Repository, path: str, blob: str | None) -> set[str]:
    """Return the versions that a file of memory holds, else its own id."""
    if blob is None:
        return set()
    is_slot = parse_path(path).family is Family.MEMORY
    if not is_slot or path.startswith("memory/notes/"):
        return {blob}
    return {*version_of(path, repository.blob(blob)).all_ids}


def found_in(repository: Repository, tree: str) -> Expected:
    """Return what a tree holds, in the form of `Expected`."""
    found = Expected(repository, ())
    found.take(None, tree)
    return found
