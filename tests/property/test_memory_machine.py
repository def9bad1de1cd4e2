"""Memory does what a model of plain lists says, whatever is done to it."""

import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dulwich.object_store import commit_tree_changes
from dulwich.objects import Blob, Commit
from dulwich.repo import Repo
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from gitmail import Mailbox
from gitmail.mailbox.memory import Memory
from gitmail.mailbox.memory_values import History, Recollections, Stored
from gitmail.records.keys import key_of
from gitmail.records.memory import MemoryRecord, parse_memory
from gitmail.records.paths import memory_path
from gitmail.store.refs import REF
from tests.faults.remembering import empty_folders
from tests.helpers import START, SettableClock, blob_id, files_on_disk
from tests.indexes import contents, contents_made_anew, delete_index
from tests.processes import assert_sound, needs_git
from tests.property.mailbox_model import Refusal, agree
from tests.property.memory_model import Key, Model, Text

NAMES = ("ann", "bob")
SCOPES = ("fact", "world", "lesson")
ENTITIES = ("Parser", "parser ", "PARSER", "Größe/B")
ATTRIBUTES = ("owner", " Owner", "con")
WORDS = ("red", "Green", "blue")
TAGS = ("old", "new")
EPISODES, SOURCES = ("first", "second"), ("https://example.org", "a book")

names = st.sampled_from(NAMES)
scopes = st.sampled_from(("fact", "world", *SCOPES))
entities = st.sampled_from(ENTITIES)
attributes = st.sampled_from(ATTRIBUTES)
values = st.sampled_from(("red", "red", "blue", "blue red", "Green"))
tags = st.none() | st.lists(st.sampled_from(TAGS), unique=True).map(tuple)
sources = st.none() | st.sampled_from(SOURCES)
episodes = st.none() | st.sampled_from(EPISODES)
reasons = st.none() | st.sampled_from(["it is so", "because: it was"])
picks = st.randoms(use_true_random=False)


class MemoryMachine(RuleBasedStateMachine):
    """Random verbs of two agents and edits of a person on one memory."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = SettableClock()
        self.model = Model()
        self.box = self.folder / ".gitmail"
        self.mailbox = Mailbox.init(self.box, clock=self.clock)

    def teardown(self) -> None:
        """Compare what is kept with what is made anew, and let git look at it all."""
        self.same_when_made_anew()
        self.mailbox.close()
        assert_sound(self.box)
        shutil.rmtree(self.folder)

    def memory(self, name: str) -> Memory:
        """Return the verbs of an agent."""
        return self.mailbox.agent(name).memory

    def agree(self, expected: Callable[[], Any], act: Callable[[], Any]) -> Any:
        """Return both outcomes, or None if both refuse, with the same code."""
        before = self.tip
        both = agree(expected, act)
        assert both is not None or self.tip == before
        return both

    @property
    def tip(self) -> str | None:
        """The commit at the tip."""
        return self.mailbox.store.branch.read()

    def written(
        self, stored: Stored, operation: str, reason: str | None = None
    ) -> None:
        """Take a record that was written into the model, with a check of its commit."""
        record = stored.record
        gone = self.model.past_notes().get(record.supersedes or "")
        changes = dict([self.taken(record)])
        if operation == "memory-supersede":
            assert gone
            changes |= {gone.path: None}
        assert stored.commit == self.tip
        self.model.happened(stored.commit, operation, changes, reason or "")

    def taken(self, record: MemoryRecord) -> tuple[str, Text | None]:
        """Return path and version of a record as the model knows them."""
        path = memory_path(record)
        key = None
        if record.scope != "note":
            key = _key(record.scope, record.entity, record.attribute)
            assert self.model.paths.setdefault(key, path) == path
        return path, Text(
            id=record.id,
            value=record.value,
            date=record.changed_at,
            path=path,
            set_by=record.set_by,
            tags=record.tags,
            source=record.source,
            episode=record.episode,
            confidence=record.confidence,
            supersedes=record.supersedes,
            reason=record.reason or "",
            key=key,
            is_retired=record.is_retired,
        )

    @initialize()
    def start(self) -> None:
        """Begin with two agents and a little of everything."""
        for name in NAMES:
            self.mailbox.register(name)
        for scope in SCOPES:
            self.set(scope, "ann", "Parser", "owner", "red", None, None, None, "none")
        self.set("fact", "bob", "parser", "con", "blue", None, 0.5, ("old",), None)
        self.forget("world", "bob", "Parser", None, "it is so", dry_run=False)
        self.add("bob", 2, "blue", ("old",), None, "first")

    @rule(
        scope=scopes,
        name=names,
        entity=entities,
        attribute=attributes,
        value=values,
        source=st.none() | sources,
        confidence=st.sampled_from([None, None, 0.5, 1]),
        tags=st.none() | tags,
        expected=st.sampled_from([None, None, "none", "standing", "earlier"]),
    )
    def set(
        self,
        scope: str,
        name: str,
        entity: str,
        attribute: str,
        value: str,
        source: str | None,
        confidence: float | None,
        tags: tuple[str, ...] | None,
        expected: str | None,
    ) -> None:
        """Set a slot, expecting something or not."""
        key = _key(scope, entity, attribute)
        past = self.revisions(key)
        if expected in ("standing", "earlier"):
            place = -1 if expected == "standing" else 0
            expected = past[place][:12] if past else "0" * 12
        said: dict[str, Any] = {"source": source, "confidence": confidence}
        said |= {"tags": tags, "expected": expected}
        both = self.agree(
            lambda: self.model.set(name, key, value, **said),
            lambda: self.memory(name).set(scope, entity, attribute, value, **said),
        )
        if not both:
            return
        (outcome, kept), stored = both
        record = stored.record
        assert (stored.outcome, record.value, record.tags) == (outcome, value, kept)
        if outcome == "confirmed":
            assert stored.commit is None
            return
        standing = self.model.slot(key)
        assert record.supersedes == (standing.id if standing else None)
        assert (record.source, record.confidence) == (source, confidence)
        self.written(stored, "memory-set")

    @rule(name=names, pick=picks, value=values, tags=tags)
    def set_again(
        self, name: str, pick: random.Random, value: str, tags: tuple[str, ...] | None
    ) -> None:
        """Set what is in force, or retired, to what it is or to something else."""
        standing = [t for t in self.model.standing.values() if t.key and t.is_readable]
        if standing:
            text = pick.choice(standing)
            assert text.key
            said = pick.choice([(text.value, None), (value, tags), (value, text.tags)])
            expected = pick.choice([None, "standing", "earlier"])
            self.set(
                text.key[0], name, *text.key[1:], said[0], None, None, said[1], expected
            )

    def revisions(self, key: Key) -> list[str]:
        """Return the revisions that a slot ever had, oldest first."""
        events = self.model.events.get(self.model.paths.get(key, ""), [])
        return [event.version.id for event in events if event.version]

    @rule(
        scope=scopes,
        name=names,
        entity=entities,
        attribute=st.none() | attributes,
        reason=reasons,
        dry_run=st.sampled_from([False, False, True]),
    )
    def forget(
        self,
        scope: str,
        name: str,
        entity: str,
        attribute: str | None,
        reason: str | None,
        *,
        dry_run: bool,
    ) -> None:
        """Forget a slot, or all of an entity."""
        aspect = None if attribute is None else key_of(attribute)
        said = {"reason": reason, "dry_run": dry_run}
        both = self.agree(
            lambda: self.model.forget_slots(scope, key_of(entity), aspect),
            lambda: self.memory(name).forget(scope, entity, attribute, **said),
        )
        if not both:
            return
        paths, forgotten = both
        gone = {memory_path(each.record): each.record for each in forgotten.records}
        assert (sorted(gone), forgotten.count) == (paths, len(paths))
        if dry_run:
            assert forgotten.commit is None
            return
        if scope == "fact":
            changes: dict[str, Text | None] = dict.fromkeys(paths)
            operation = "memory-forget"
        else:
            retired = [self.standing_record(path) for path in paths]
            for each in retired:
                assert (each.retired_by, each.reason) == (name, reason)
                assert each.value == gone[memory_path(each)].value
            changes, operation = dict(map(self.taken, retired)), "memory-retire"
        self.model.happened(forgotten.commit, operation, changes, reason or "")

    def standing_record(self, path: str) -> MemoryRecord:
        """Return the record at a path of the tip, read past the index."""
        return self.mailbox.store.read(
            lambda v: v.memory(v.repository.lookup(v.tree, path) or "")
        )

    @rule(
        scope=scopes,
        name=names,
        entity=entities,
        attribute=attributes,
        pick=picks,
        is_named=st.booleans(),
        reason=reasons,
    )
    def restore(
        self,
        scope: str,
        name: str,
        entity: str,
        attribute: str,
        pick: random.Random,
        reason: str | None,
        *,
        is_named: bool,
    ) -> None:
        """Restore a slot, to its last version or to any."""
        key = _key(scope, entity, attribute)
        revision = None
        if is_named:
            revision = pick.choice([*self.revisions(key), "f" * 40])
        both = self.agree(
            lambda: self.model.restore_slot(key, revision),
            lambda: self.memory(name).restore(
                scope, entity, attribute, revision=revision, reason=reason
            ),
        )
        if not both:
            return
        (outcome, wanted), stored = both
        record = stored.record
        assert stored.outcome == outcome
        assert (record.value, record.tags) == (wanted.value, wanted.tags)
        assert not record.is_retired
        if outcome == "restored":
            standing = self.model.slot(key)
            assert record.supersedes == (standing.id if standing else None)
            assert (record.set_by, record.reason) == (name, reason)
            self.written(stored, "memory-restore", reason)

    @rule(
        name=names,
        count=st.sampled_from([1, 1, 1, 8]),
        text=values,
        tags=tags,
        source=sources,
        episode=episodes,
    )
    def add(
        self,
        name: str,
        count: int,
        text: str,
        tags: tuple[str, ...] | None,
        source: str | None,
        episode: str | None,
    ) -> None:
        """Add notes, which are as many even where all of them say the same."""
        for _ in range(count):
            said: dict[str, Any] = {"tags": tags, "source": source, "episode": episode}
            stored = self.memory(name).add(text, **said)
            assert stored.record.id not in self.model.past_notes()
            assert (stored.outcome, stored.record.value) == ("inserted", text)
            self.written(stored, "memory-add")

    @rule(name=names, pick=picks, text=values, by_text=st.booleans())
    def supersede(
        self, name: str, pick: random.Random, text: str, *, by_text: bool
    ) -> None:
        """Put a note in the place of another, if there is exactly that one."""
        old = self.pick_note(pick)
        wanted = old.value if by_text else old.id
        both = self.agree(
            lambda: self.model.note(wanted, by_text=by_text),
            lambda: self.memory(name).supersede(wanted, text, by_text=by_text),
        )
        if both:
            gone, stored = both
            record = stored.record
            assert (record.supersedes, record.tags) == (gone.id, gone.tags)
            assert (record.value, record.episode) == (text, gone.episode)
            self.written(stored, "memory-supersede")

    def pick_note(self, pick: random.Random) -> Text:
        """Return some note that is or was, one in force more often than not."""
        return pick.choice([*self.model.past_notes().values(), *self.model.notes * 2])

    @rule(
        name=names,
        filters=st.fixed_dictionaries(
            {},
            optional={
                "text": values,
                "substring": st.sampled_from(["red", "e b", "een"]),
                "source": st.sampled_from(SOURCES),
                "episode": st.sampled_from(EPISODES),
                "tag": st.sampled_from(TAGS),
            },
        ),
        match=st.sampled_from([None, "any", "all", "all"]),
        what=st.sampled_from(["confirm", "dry_run", None, None]),
        reason=reasons,
    )
    def forget_notes(
        self,
        name: str,
        filters: dict[str, str],
        match: str | None,
        what: str | None,
        reason: str | None,
    ) -> None:
        """Forget what matches one filter, or all of them."""
        said: dict[str, Any] = {**filters, "match": match, "reason": reason}
        if what:
            said[what] = True
        both = self.agree(
            lambda: self.model.forget_notes(filters, match, is_sure=bool(what)),
            lambda: self.memory(name).forget("note", **said),
        )
        if both:
            gone, forgotten = both
            assert [r.record.id for r in forgotten.records] == [n.id for n in gone]
            self.forgotten(gone, forgotten.commit, reason, is_shown=what == "dry_run")

    def forgotten(
        self,
        gone: list[Text],
        commit: str | None,
        reason: str | None,
        *,
        is_shown: bool = False,
    ) -> None:
        """Take into the model that notes are gone, unless they were only shown."""
        assert (commit is None) is (is_shown or not gone)
        if commit:
            changes: dict[str, Text | None] = {note.path: None for note in gone}
            self.model.happened(commit, "memory-forget", changes, reason or "")

    @rule(name=names, pick=picks, reason=reasons, comes_back=st.booleans())
    def forget_or_restore_note(
        self, name: str, pick: random.Random, reason: str | None, *, comes_back: bool
    ) -> None:
        """Forget a note by its id, or bring one back."""
        note = self.pick_note(pick)
        is_there = note.path in self.model.standing

        def expected() -> Text:
            if not comes_back:
                return self.model.note(note.id)
            if is_there:
                raise Refusal("already_in_force")
            return note

        verb = self.memory(name).restore if comes_back else self.memory(name).forget
        both = self.agree(expected, lambda: verb("note", note.id[:20], reason=reason))
        if both and comes_back:
            assert both[1].record.id == note.id
            self.written(both[1], "memory-restore", reason)
        elif both:
            self.forgotten([note], both[1].commit, reason)

    @rule(
        pick=picks,
        what=st.sampled_from(["value", "as it was", "remove", "nonsense", "other"]),
    )
    def edit(self, pick: random.Random, what: str) -> None:
        """Change a file of a slot as a person does, who pushes the commit."""
        path = pick.choice([*self.model.paths.values()])
        known = [event.version for event in self.model.events[path] if event.version]
        readable = [version for version in known if version.is_readable]
        standing = self.model.standing.get(path)
        if what == "other":
            self.by_hand({"README.md": f"{pick.random()}\n".encode()}, "The README")
        elif what == "nonsense":
            data = f"---\nscope: {pick.random()}\n---\n\nNonsense.\n".encode()
            self.edited(path, data, _broken(path, data, known[0].key), "No: sense")
        elif what == "remove" or not readable:
            if standing:
                self.edited(path, None, None, "Removed")
        else:
            record = parse_memory(self.blob(pick.choice(readable).id))
            if what == "value":
                record = replace(record, value="By hand")
            if not standing or standing.id != record.id:
                self.edited(path, record.data, self.taken(record)[1], "By hand")

    def edited(
        self, path: str, data: bytes | None, version: Text | None, subject: str
    ) -> None:
        """Change a file by hand, and in the model."""
        commit = self.by_hand({path: data}, subject)
        self.model.happened(commit, None, {path: version}, subject)

    def by_hand(self, changes: dict[str, bytes | None], subject: str) -> str:
        """Commit to the branch as another program than gitmail, and return the id."""
        with Repo(str(self.box / ".git")) as repo:
            tip = repo.refs[REF.encode()]
            blobs = {
                path.encode(): Blob.from_string(data) if data is not None else None
                for path, data in changes.items()
            }
            for blob in filter(None, blobs.values()):
                repo.object_store.add_object(blob)
            entries = [
                (p, 0o100644 if b else None, b and b.id) for p, b in blobs.items()
            ]
            commit = Commit()
            commit.tree = commit_tree_changes(
                repo.object_store, repo[tip].tree, entries
            )
            commit.parents = [tip]
            commit.author = commit.committer = b"A Person <person@example.org>"
            commit.author_time = commit.commit_time = int(self.clock().timestamp())
            commit.author_timezone = commit.commit_timezone = 0
            commit.message = subject.encode()
            repo.object_store.add_object(commit)
            assert repo.refs.set_if_equals(REF.encode(), tip, commit.id)
            return commit.id.decode()

    def blob(self, revision: str) -> bytes:
        """Return the bytes of a revision."""
        return self.mailbox.store.read(lambda view: view.repository.blob(revision))

    @rule(
        words=st.lists(st.sampled_from((*WORDS, "parser", "Owner", "old")), max_size=2),
        scope=st.none() | st.sampled_from((*SCOPES, "note")),
        entity=st.none() | entities,
        tags=tags,
        retired=st.booleans(),
    )
    def recall(
        self,
        words: list[str],
        scope: str | None,
        entity: str | None,
        tags: tuple[str, ...] | None,
        *,
        retired: bool,
    ) -> None:
        """List or search what all filters fit."""
        memory = self.memory("bob")
        expected = self.model.recall(
            words=[word.casefold() for word in words],
            scope=scope,
            entity=None if entity is None else key_of(entity),
            tags=tags or (),
            retired=retired,
        )
        said: dict[str, Any] = {"entity": entity, "tags": tags or None}
        said |= {"retired": retired, "limit": 200}
        if words:
            found = memory.search(" ".join(words), scopes=scope, **said)
            assert sorted(_ids(found)) == sorted(each.id for each in expected)
        else:
            found = memory.list(scope, **said)
            assert _ids(found) == [each.id for each in expected]

    @rule(is_index_lost=st.booleans(), minutes=st.sampled_from([-3, 0, 7]))
    def reopen(self, *, is_index_lost: bool, minutes: int) -> None:
        """Open the mailbox anew, at times without its index; the clock is set too."""
        self.clock.advance(minutes=minutes)
        self.mailbox.close()
        if is_index_lost:
            delete_index(self.box)
        self.mailbox = Mailbox.open(self.box, clock=self.clock)

    @rule(pick=picks)
    def look_back(self, pick: random.Random) -> None:
        """Read the history of a slot, of its entity, and of a note."""
        memory = self.memory("bob")
        (scope, entity, attribute), path = pick.choice([*self.model.paths.items()])
        steps = self.model.history(path)
        assert _steps(memory.history(scope, entity, attribute, limit=200)) == steps
        assert _steps(memory.history(scope, entity, attribute, limit=1)) == steps[:1]

        paths = [p for key, p in self.model.paths.items() if key[:2] == (scope, entity)]
        of_all = [step for each in paths for step in self.model.history(each)]
        found = _steps(memory.history(scope, entity, limit=200))
        # Which of the paths of one commit comes first is open.
        assert sorted(found, key=repr) == sorted(of_all, key=repr)

        note = self.pick_note(pick)
        steps = [*self.model.note_history(note)]
        assert _steps(memory.history("note", note.id, limit=200)) == steps

    def same_when_made_anew(self) -> None:
        """Check that the index says the same when it is made in one step."""
        assert contents(self.mailbox) == contents_made_anew(self.mailbox)

    @invariant()
    def answers_agree(self) -> None:
        """Lists, slots and what is not what it should be are as the model says."""
        memory = self.memory("ann")
        for retired in (False, True):
            expected = [each.id for each in self.model.recall(retired=retired)]
            assert _ids(memory.list(retired=retired, limit=200)) == expected
        for key in self.model.paths:
            both = self.agree(
                lambda key=key: self.model.get(key), lambda key=key: memory.get(*key)
            )
            if both:
                assert (both[1].record.id, both[1].text) == (both[0].id, both[0].value)
        broken = [t.path for t in self.model.standing.values() if not t.is_readable]
        status = self.mailbox.status()
        assert [path for path, _ in status.quarantine] == sorted(broken)

    @invariant()
    def files_agree(self) -> None:
        """Tip, disk and model have the same files, and no folder is left empty."""
        found = files_on_disk(self.box)
        assert found == self.mailbox.store.read(
            lambda v: {c.path: c.new for c in v.repository.changes(None, v.tree)}
        )
        assert {p: i for p, i in found.items() if p.startswith("memory/")} == {
            path: text.id for path, text in self.model.standing.items()
        }
        assert empty_folders(self.box) == []


def _broken(path: str, data: bytes, key: Key | None) -> Text:
    return Text(
        id=blob_id(data), value="", date=START, path=path, key=key, is_readable=False
    )


def _steps(history: History) -> list[tuple[str, str | None, str | None, str]]:
    return [(r.commit, r.operation, r.revision, r.reason) for r in history.revisions]


def _key(scope: str, entity: str, attribute: str) -> Key:
    return str(scope), key_of(entity), key_of(attribute)


def _ids(found: Recollections) -> list[str]:
    return [each.record.id for each in found.records]


# A case has forty steps, each of them looked at from all sides.
MemoryMachine.TestCase.settings = settings(
    max_examples=settings().max_examples // 8, stateful_step_count=40
)
# Finding the smallest failing case takes longer than the tests' common limit.
test_memory_does_what_the_model_says = pytest.mark.timeout(600)(
    needs_git(MemoryMachine.TestCase)
)
