"""Proving a history: what gitmail wrote passes, and what was tampered with shows."""

import random
import re
import zlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import CorruptMailboxError, InvalidArgumentError
from gitmail.mailbox.verifying import MOST_FINDINGS, verify_new
from gitmail.records.memory import Scope
from gitmail.records.message import blob_id
from gitmail.records.names import AgentName, CommitId
from gitmail.records.receipt import Stage
from gitmail.store.refs import REF
from gitmail.store.store import Step
from tests.helpers import SettableClock, git
from tests.mailboxes import copied, edit, merge_into
from tests.mailfiles import (
    EXECUTABLE,
    FOLDER,
    LINK,
    MOMENT,
    SUBMODULE,
    Clone,
    Entry,
    copy_file,
    message_file,
    note_file,
    receipt_file,
    slot_file,
)
from tests.processes import needs_git
from tests.tampering import Changes, forge, loose, unpack

pytestmark = needs_git
BUILDER, REVIEWER, LEAD = (AgentName(n) for n in ("builder", "reviewer", "lead"))
PATH, DATA = message_file("builder", ["reviewer"], "The parser is ready.")
RECEIPT_PATH, RECEIPT_DATA = receipt_file("reviewer", DATA)
COPY_PATH, COPY_DATA = copy_file("lead", DATA)
OTHER_PATH, OTHER_DATA = message_file("builder", ["reviewer"], "Another.")
LATER_PATH, LATER_DATA = message_file(
    "builder", ["reviewer"], "Later.", date=MOMENT + timedelta(days=1)
)
EARLIER_PATH, EARLIER_DATA = message_file(
    "builder", ["reviewer"], "Earlier.", date=MOMENT - timedelta(minutes=20)
)
LONG_AGO = MOMENT - timedelta(days=8)
OLD_PATH, OLD_DATA = message_file("builder", ["reviewer"], "Old.", date=LONG_AGO)
LARGE_PATH, LARGE_DATA = message_file("builder", ["reviewer"], "x" * 65_537)
FACT_PATH, FACT_DATA = slot_file("parser", "builder")
WORLD_PATH, WORLD_DATA = slot_file("yaml", "somebody", scope=Scope.WORLD)
NOTE_PATH, NOTE_DATA = note_file("Comments are read.")
TWIN_PATH = PATH.replace("/14/", "/14.001/")


@pytest.fixture(name="clone")
def _clone(mailbox: Mailbox, tmp_path: Path) -> Clone:
    """Return a clone of a mailbox in which a record of each kind was written."""
    clone = Clone(mailbox.path, tmp_path / "clone")
    about = [blob_id(DATA)]
    forge(clone, {PATH: DATA, COPY_PATH: COPY_DATA}, op="send", about=about)
    said = {RECEIPT_PATH: RECEIPT_DATA}
    forge(clone, said, by="reviewer", op="ack", about=about)
    records = {FACT_PATH: FACT_DATA, WORLD_PATH: WORLD_DATA, NOTE_PATH: NOTE_DATA}
    forge(clone, records)
    assert found(mailbox) == []
    return clone


def found(mailbox: Mailbox, span: str | None = None) -> list[tuple[str, str]]:
    """Return rule and path of each finding."""
    return [(each.rule.value, each.path) for each in mailbox.verify(span).findings]


def remarked(mailbox: Mailbox) -> list[tuple[str, str, str]]:
    """Return rule, commit and author of each remark."""
    remarks = mailbox.verify().remarks
    return [(each.rule.value, each.commit, each.author) for each in remarks]


def of(data: bytes, old: str, new: str) -> bytes:
    """Return the bytes of a file with a word changed."""
    assert old.encode() in data
    return data.replace(old.encode(), new.encode())


def retired(number: int) -> bytes:
    """Return the world fact, retired, each time with another reason."""
    more = {"retired_by": BUILDER, "retired_at": MOMENT, "reason": f"Reason {number}."}
    return slot_file("yaml", "somebody", scope=Scope.WORLD, **more)[1]


# What one commit of builder's does, and which rule is broken at which path.
CASES = {
    "a message edited": ({PATH: of(DATA, "ready", "broken")}, "changed", PATH),
    "a message deleted": ({PATH: None}, "removed", PATH),
    "a message for another": ({PATH: OTHER_DATA}, "changed", PATH),
    "a link for a message": ({PATH: Entry(b"x", LINK)}, "changed", PATH),
    "a receipt edited": (
        {RECEIPT_PATH: receipt_file("reviewer", DATA, Stage.READ)[1]},
        "changed",
        RECEIPT_PATH,
    ),
    "a receipt deleted": ({RECEIPT_PATH: None}, "removed", RECEIPT_PATH),
    "a blind copy deleted": ({COPY_PATH: None}, "removed", COPY_PATH),
    "a receipt of a stranger": (
        dict([receipt_file("builder", DATA)]),
        "recipient",
        receipt_file("builder", DATA)[0],
    ),
    "a receipt for somebody else": (
        dict([receipt_file("reviewer", DATA, Stage.READ)]),
        "actor",
        receipt_file("reviewer", DATA, Stage.READ)[0],
    ),
    "a receipt of nothing": (
        dict([receipt_file("builder", OTHER_DATA)]),
        "message",
        receipt_file("builder", OTHER_DATA)[0],
    ),
    "a receipt elsewhere": (
        {receipt_file("builder", DATA, part=3)[0]: RECEIPT_DATA},
        "place",
        receipt_file("builder", DATA, part=3)[0],
    ),
    "a message of somebody else": (
        dict([message_file("lead", ["reviewer"], "Do it.")]),
        "sender",
        message_file("lead", ["reviewer"], "Do it.")[0],
    ),
    "a date that is not yet": ({LATER_PATH: LATER_DATA}, "date", LATER_PATH),
    "a message of long ago": ({OLD_PATH: OLD_DATA}, "date", OLD_PATH),
    "a message in another's place": ({OTHER_PATH: LATER_DATA}, "place", OTHER_PATH),
    "a message that is none": ({OTHER_PATH: b"Text.\n"}, "format", OTHER_PATH),
    "a message twice": ({TWIN_PATH: DATA}, "twice", TWIN_PATH),
    "a large message": ({LARGE_PATH: LARGE_DATA}, "size", LARGE_PATH),
    "an executable": (
        {OTHER_PATH: Entry(OTHER_DATA, EXECUTABLE)},
        "mode",
        OTHER_PATH,
    ),
    "a link": ({OTHER_PATH: Entry(b"/etc/passwd", LINK)}, "mode", OTHER_PATH),
    "a submodule": (
        {"agents/zoe.md": Entry(mode=SUBMODULE, sha="1" * 40)},
        "mode",
        "agents/zoe.md",
    ),
    "a path outside": ({"notes.txt": b"Text."}, "path", "notes.txt"),
    "a path beside": ({"messages/notes.md": b"Text."}, "path", "messages/notes.md"),
    "a path that is too deep": (
        {"/".join("a" * 20): b"Text."},
        "path",
        "/".join("a" * 17),
    ),
    "git's own folder": ({".git/config": b"[core]"}, "name", ".git/config"),
    "a device": ({"agents/con.md": b"Text."}, "name", "agents/con.md"),
    "a name like another": ({"README.MD": b"Text."}, "case", "README.MD"),
    "a long path": (
        {f"agents/{'a' * 200}.md": b"Text."},
        "name",
        f"agents/{'a' * 200}.md",
    ),
    "a profile of somebody else": (
        {"agents/zoe.md": b"---\nname: zoe\ncreated: 2026-11-30T14:00:00Z\n---\n"},
        "profile",
        "agents/zoe.md",
    ),
    "a profile removed": ({"agents/lead.md": None}, "removed", "agents/lead.md"),
    "a charter removed": ({"mailbox.md": None}, "removed", "mailbox.md"),
    "a slot removed": ({WORLD_PATH: None}, "removed", WORLD_PATH),
    "a slot of somebody else": (
        dict([slot_file("lexer", "lead", set_by=LEAD)]),
        "actor",
        slot_file("lexer", "lead")[0],
    ),
    "a slot out of nothing": (
        {FACT_PATH: slot_file("parser", "lead")[1]},
        "supersedes",
        FACT_PATH,
    ),
    "a slot spelt otherwise": (
        {FACT_PATH: slot_file("PARSER", "x", supersedes=blob_id(FACT_DATA))[1]},
        "spelling",
        FACT_PATH,
    ),
    "a slot retired before it was set": (
        dict([slot_file("go", "x", retired_by=BUILDER, retired_at=MOMENT)]),
        "retired",
        slot_file("go", "x")[0],
    ),
    "a slot changed by its retirement": (
        {WORLD_PATH: of(retired(1), "somebody", "nobody")},
        "retired",
        WORLD_PATH,
    ),
    "a slot from the future": (
        dict([slot_file("lexer", "x", set_at=MOMENT + timedelta(days=9))]),
        "date",
        slot_file("lexer", "x")[0],
    ),
    "a slot of long ago": (
        dict([slot_file("lexer", "x", set_at=LONG_AGO)]),
        "date",
        slot_file("lexer", "x")[0],
    ),
    "a note of long ago": (
        dict([note_file("Old.", set_at=LONG_AGO)]),
        "date",
        note_file("Old.", set_at=LONG_AGO)[0],
    ),
    "a note edited": ({NOTE_PATH: of(NOTE_DATA, "read", "lost")}, "changed", NOTE_PATH),
    "a note of somebody else": (
        dict([note_file("Mine.", set_by=LEAD)]),
        "actor",
        note_file("Mine.", set_by=LEAD)[0],
    ),
    "git's attributes": (
        {".gitattributes": b"* ident\n"},
        "changed",
        ".gitattributes",
    ),
    "a large file": ({"README.md": b"x" * (1 << 21)}, "size", "README.md"),
    "a file that was in no way": (
        {f"quarantine/{'0' * 40}.md": b"x"},
        "place",
        f"quarantine/{'0' * 40}.md",
    ),
}


@pytest.mark.parametrize(("changes", "rule", "path"), CASES.values(), ids=CASES)
def test_what_was_done_behind_gitmails_back_is_named(
    mailbox: Mailbox, clone: Clone, changes: Changes, rule: str, path: str
) -> None:
    """With the commit, its author, the path and the rule, and nothing else is."""
    commit = forge(clone, changes)
    verified = mailbox.verify()

    assert {(each.rule.value, each.path) for each in verified.findings} >= {
        (rule, path)
    }
    assert {(each.commit, each.author) for each in verified.findings} == {
        (commit, "builder")
    }
    assert {each.path for each in verified.findings} == {path}
    assert verified.finding_count == len(verified.findings)


def test_a_whole_folder_that_is_gone_is_named_file_by_file(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Also where a file stands in its place."""
    forge(clone, {"messages": b"Text."})

    assert found(mailbox) == [("path", "messages"), ("removed", PATH)]


def test_a_second_retirement_in_a_row_is_named(mailbox: Mailbox, clone: Clone) -> None:
    """Once retired, a slot has to be restored before it can be retired again."""
    forge(clone, {WORLD_PATH: retired(1)})
    assert found(mailbox) == []
    forge(clone, {WORLD_PATH: retired(2)})

    assert found(mailbox) == [("retired", WORLD_PATH)]


def test_an_operation_is_dated_as_its_commit(mailbox: Mailbox, clone: Clone) -> None:
    """A person may commit later what was written by hand; gitmail does both at once."""
    forge(clone, {EARLIER_PATH: EARLIER_DATA})
    assert found(mailbox) == []
    path, data = message_file("builder", ["lead"], "Hm.", date=MOMENT.replace(hour=13))
    forge(clone, {path: data}, op="send", about=[blob_id(data)])

    assert found(mailbox) == [("date", path)]


def test_a_commit_from_the_future_is_named(
    mailbox: Mailbox, clone: Clone, clock: SettableClock
) -> None:
    """Until that has come; what stands on it is not named for it."""
    moment = MOMENT + timedelta(days=2)
    path, data = message_file("builder", ["lead"], "Hm.", date=moment)
    commit = forge(clone, {path: data}, moment=moment)
    forge(clone, {OTHER_PATH: OTHER_DATA}, by="lead")
    (finding, *_) = mailbox.verify().findings
    assert (finding.rule, finding.commit, finding.path) == ("date", commit, "")
    assert finding.author == "builder"
    clock.advance(days=1, hours=12)
    assert remarked(mailbox)[:1] == [("clock", commit, "builder")]
    clock.advance(days=1)

    assert commit not in {each.commit for each in mailbox.verify().findings}


def test_the_commit_that_is_dated_before_its_parent_is_remarked_once(
    mailbox: Mailbox, clone: Clone
) -> None:
    """With its own author, however many it stands on; and that is no failure."""
    moment = MOMENT - timedelta(days=300)
    path, data = message_file("builder", ["lead"], "Hm.", date=moment)
    before = mailbox.status().tip
    commit = forge(clone, {path: data}, moment=moment)
    forge(clone, {OTHER_PATH: OTHER_DATA})
    verified = mailbox.verify()

    assert verified.findings == ()
    assert verified.remark_count == 1
    assert remarked(mailbox) == [("clock", commit, "builder")]
    assert before[:10] in verified.remarks[0].detail
    assert [each.commit for each in mailbox.verify(f"{before}..HEAD").remarks] == [
        commit
    ]


def test_a_machine_whose_clock_is_hours_off_breaks_nothing(
    mailbox: Mailbox, clock: SettableClock, tmp_path: Path
) -> None:
    """Whatever is done there, and here after it: nobody could ever undo it."""
    clock.advance(days=1)
    path = copied(mailbox, tmp_path / "twin" / ".gitmail")
    for hours in (-3, 5):
        odd = SettableClock(clock.now + timedelta(hours=hours))
        with Mailbox.open(path, clock=odd) as twin:
            for box in (mailbox, twin):
                do_everything(box, clock if box is mailbox else odd)
            integrate(twin, mailbox, odd)
            integrate(mailbox, twin, clock)
            do_everything(mailbox, clock)
            integrate(twin, mailbox, odd)
            do_everything(twin, odd)
            integrate(mailbox, twin, clock)
        verified = mailbox.verify()

        assert [(each.rule, each.detail) for each in verified.findings] == []
        assert verified.remark_count > 0


@pytest.mark.parametrize("waited", [timedelta(days=6), timedelta(days=8)])
def test_a_file_may_wait_a_week_for_a_person_to_commit_it(
    mailbox: Mailbox, clone: Clone, waited: timedelta
) -> None:
    """Longer ago it was not written when it says."""
    date = MOMENT - waited
    path, data = message_file("builder", ["reviewer"], "Waited.", date=date)
    note, text = note_file("Waited.", set_at=date)
    forge(clone, {path: data, note: text})

    late = [("date", note), ("date", path)] if waited.days > 7 else []
    assert sorted(found(mailbox)) == late


def test_a_receipt_is_not_dated_before_its_message(
    mailbox: Mailbox, clone: Clone
) -> None:
    """But for an hour between two clocks, or where a clock was wrong altogether."""
    base = mailbox.status().tip
    path, _ = receipt_file("reviewer", DATA, Stage.READ)

    def receive(hours: float, commit_hours: float) -> tuple[list, list]:
        """Return what is found of a receipt, and the paths of the remarks."""
        date, moment = (MOMENT - timedelta(hours=h) for h in (hours, commit_hours))
        _, data = receipt_file("reviewer", DATA, Stage.READ, date=date)
        said = {path: data}
        forge(clone, said, by="reviewer", moment=moment, parents=[base])
        return found(mailbox), [each.path for each in mailbox.verify().remarks]

    assert receive(0.5, 0) == ([], [])
    assert receive(2, 0) == ([("date", path)], [])
    assert receive(2, 2) == ([], ["", path])


PROFILE = "agents/builder.md"
YEAR_9999 = "9999-12-31T23:59:59.999999Z"


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ({"created": "1999-01-01T00:00:00.000000Z"}, ["date"]),
        ({"model": "x", "changed": f'{{model: "{YEAR_9999}"}}'}, ["date"]),
        ({"changed": '{model: "2026-11-30T14:30:00.000000Z"}'}, ["date"]),
        ({"model": "x", "changed": '{model: "2026-11-30T14:30:00.000000Z"}'}, []),
        ({"model": "x"}, []),
    ],
)
def test_a_profile_is_dated_by_what_was_done_to_it(
    mailbox: Mailbox, clone: Clone, said: dict[str, str], rules: list[str]
) -> None:
    """Who is in it from the start, and when each field was last said."""
    text = git(mailbox.path, "show", f"gitmail:{PROFILE}")
    for key, value in said.items():
        line = f'{key}: "{value}"' if key == "created" else f"{key}: {value}"
        rest = re.sub(rf"^{key}: .*\n", "", text, flags=re.MULTILINE)
        text = rest.replace("name: builder\n", f"name: builder\n{line}\n")
    forge(clone, {PROFILE: text.encode()})

    assert found(mailbox) == [(rule, PROFILE) for rule in rules]


def test_a_profile_that_is_new_is_not_from_the_future(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Neither itself nor what it says of its fields."""
    text = f'---\nname: zoe\ncreated: "{YEAR_9999}"\n---\n'.encode()
    forge(clone, {"agents/zoe.md": text}, by="zoe")

    assert found(mailbox) == [("date", "agents/zoe.md")]


def test_an_agents_address_has_no_other_committer(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Also where the commit does not claim to be an operation."""
    commit = forge(clone, {OTHER_PATH: OTHER_DATA}, committer="A Person")
    (finding,) = mailbox.verify().findings

    assert (finding.rule, finding.commit) == ("author", commit)
    assert "A Person" in finding.detail


def test_a_folder_with_nothing_in_it_is_named(mailbox: Mailbox, clone: Clone) -> None:
    """Git itself never commits one, and no bundle carries it."""
    empty = Entry(mode=FOLDER, sha=clone.write("tree", b""))
    commit = forge(clone, {"quarantine": empty})
    forge(clone, {OTHER_PATH: OTHER_DATA})
    (finding,) = mailbox.verify().findings

    assert (finding.rule, finding.path) == ("path", "quarantine")
    assert finding.commit == commit


WHO = "builder <builder@gitmail.invalid>"
TIME = int(MOMENT.timestamp())


@pytest.mark.parametrize(
    "heads",
    [
        f"author {WHO} {TIME} +0000",
        f"committer {WHO} {TIME} +0000",
        f"author {WHO} {TIME} +0000\n" * 2 + f"committer {WHO} {TIME} +0000",
        f"author {WHO} {TIME} +0000\ncommitter {WHO} 253402300800 +0000",
        f"author {WHO} {TIME} +0000\ncommitter {WHO} {1 << 63} +0000",
        f"author {WHO} -5 +0000\ncommitter {WHO} -5 +0000",
        f"author {WHO}\ncommitter {WHO}",
        f"author {WHO} {TIME} +0000\ncommitter {WHO} {TIME} +0000\nodd\0: x",
    ],
    ids=[
        *("no committer", "no author", "two authors", "after the year 9999"),
        *("beyond 64 bits", "before 1970", "no time", "a NUL"),
    ],
)
def test_a_malformed_commit_is_named_and_its_neighbours_are_not(
    mailbox: Mailbox, clone: Clone, heads: str
) -> None:
    """What stands below it and on it is judged all the same."""
    below = forge(clone, {"notes.txt": b"Text."})
    tree = git(mailbox.path, "rev-parse", "gitmail^{tree}").strip()
    text = f"tree {tree}\nparent {below}\n{heads}\n\nOdd\n"
    git(clone.folder, "fetch", "-q", "origin")
    bad = clone.write("commit", text.encode())
    clone.bring(bad)
    forge(clone, {"notes.txt": None})
    assert git(mailbox.path, "rev-parse", "gitmail~1").strip() == bad
    verified = mailbox.verify()

    assert (verified.findings[0].rule, verified.findings[0].commit) == ("object", bad)
    assert {f.commit for f in verified.findings} == {below, bad}
    assert verified.remarks == ()


def test_a_person_with_the_name_of_an_agent_is_not_the_agent(
    mailbox: Mailbox, clone: Clone
) -> None:
    """The address belongs to the name."""
    commit = clone.commit("origin/gitmail", {OTHER_PATH: OTHER_DATA})
    raw = git(clone.folder, "cat-file", "commit", commit)
    forged = raw.replace("A Person <person@", "builder <builder@")
    clone.bring(clone.write("commit", forged.encode()))

    assert ("sender", OTHER_PATH) in found(mailbox)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"op": "send", "about": [blob_id(OTHER_DATA)], "committer": "lead"}, "author"),
        ({"op": "send", "about": [blob_id(OTHER_DATA), "1" * 40]}, "trailers"),
        ({"op": "send"}, "trailers"),
        ({"op": "ack", "about": [blob_id(DATA)]}, "trailers"),
    ],
)
def test_what_a_commit_says_of_itself_must_be_so(
    mailbox: Mailbox, clone: Clone, said: dict, rule: str
) -> None:
    """The log and the directory are read from it."""
    commit = forge(clone, {OTHER_PATH: OTHER_DATA}, **said)
    (finding,) = mailbox.verify().findings

    assert (finding.rule, finding.commit, finding.path) == (rule, commit, "")


def test_anybody_may_retire_an_agent_and_change_nothing_else(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Who says more of another agent than that is named."""
    mailbox.retire("lead", by="builder")
    mailbox.unretire("lead", by="reviewer")
    assert found(mailbox) == []
    git(clone.folder, "fetch", "-q", "origin")
    was = git(clone.folder, "show", "origin/gitmail:agents/lead.md").encode()
    text = of(was, "kind: human", "kind: agent")
    forge(clone, {"agents/lead.md": text}, op="retire")

    assert found(mailbox) == [("profile", "agents/lead.md")]


def test_people_may_change_limits_and_readme_but_not_which_mailbox_it_is(
    mailbox: Mailbox, clone: Clone, tmp_path: Path
) -> None:
    """What mailbox.md sets is for people to set; its id is not."""
    text = (mailbox.path / "mailbox.md").read_text("utf-8")
    wider = text.replace("max_body_bytes: 65536", "max_body_bytes: 70000")
    assert wider != text
    edit(mailbox.path, tmp_path / "a", {"mailbox.md": wider, "README.md": "Ours.\n"})
    forge(clone, {LARGE_PATH: LARGE_DATA})
    assert [each for each in found(mailbox) if each[1]] == []
    number = mailbox.charter().id
    forge(clone, {"mailbox.md": of(wider.encode(), number, f"00{number[2:]}")})

    assert [each for each in found(mailbox) if each[1]] == [("charter", "mailbox.md")]


def test_what_was_tampered_with_may_be_put_right(
    mailbox: Mailbox, clone: Clone
) -> None:
    """By anybody: only what was done wrong stays named, for ever."""
    forge(clone, {PATH: of(DATA, "ready", "broken"), RECEIPT_PATH: None})
    forge(clone, {"agents/zoe.md": b"Text.\n"})
    wrong = found(mailbox)
    assert len(wrong) == 3
    forge(
        clone,
        {PATH: DATA, RECEIPT_PATH: RECEIPT_DATA, "agents/zoe.md": None},
        by="A Person",
    )

    assert found(mailbox) == wrong
    before = git(mailbox.path, "rev-parse", "gitmail~1").strip()
    assert found(mailbox, f"{before}..HEAD") == []


def test_a_note_that_comes_back_keeps_its_author(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Also in a range that does not have the commit that removed it."""
    note = builder.memory.add("Read the manual.").record.id
    builder.memory.forget("note", note)
    before = mailbox.status().tip
    reviewer.memory.restore("note", note)

    assert found(mailbox) == []
    assert found(mailbox, f"{before}..HEAD") == []


def do_everything(mailbox: Mailbox, clock: SettableClock) -> None:
    """Do all there is to do to a mailbox, some of it more than once."""
    builder, reviewer, lead = map(mailbox.agent, ("builder", "reviewer", "lead"))
    first = builder.send(
        to=["reviewer", "team:core"], cc=["lead"], subject="Parser", body="It is ready."
    ).message.id
    blind = builder.send(to="reviewer", bcc=["lead"], body="Between us.").message.id
    builder.send_many([{"to": ["all"], "body": f"Line {n}."} for n in range(70)])
    reviewer.ack(first, stage="read")
    reviewer.ack([first, blind], note="Well done.")
    lead.ack(blind)
    reviewer.poll(limit=50, ack=True)
    reviewer.reply(first, "Merge it.")
    mailbox.register("builder", description="Writes parsers.")
    mailbox.retire("lead", by="builder")
    clock.advance(hours=1)
    lead.memory.set("fact", "Parser  Core", "Owner", "lead", confidence=0.5)
    mailbox.retire("lead")
    mailbox.unretire("lead", by="reviewer")
    for scope in ("fact", "world", "lesson"):
        builder.memory.set(scope, "parser", "owner", "builder")
        reviewer.memory.set(
            scope, "Parser", "OWNER", "reviewer", source=f"message:{first}"
        )
        lead.memory.forget(scope, "parser", "owner", reason="Nobody.")
        builder.memory.restore(scope, "parser", "owner", reason="Somebody.")
        builder.memory.forget(scope, "parser")
        builder.memory.set(scope, "parser", "owner", "nobody")
    builder.memory.set(
        "fact", "parser", "state", "good", source=f"message:{first}", tags=["a", "b"]
    )
    note = builder.memory.add("It reads lists.", episode="one").record.id
    other = reviewer.memory.supersede(note, "It reads nested lists.").record.id
    lead.memory.forget("note", other)
    builder.memory.restore("note", other)


def test_all_that_gitmail_writes_passes(mailbox: Mailbox, clock: SettableClock) -> None:
    """Whatever the operation; all of it is counted."""
    do_everything(mailbox, clock)

    verified = mailbox.verify()

    assert verified.findings == ()
    assert verified.commit_count == mailbox.status().commit_count
    assert verified.message_count == mailbox.status().message_count
    assert verified.receipt_count > 50
    assert verified.record_count > 25
    assert verified.tip == mailbox.status().tip
    assert verified.since is None


def test_clones_that_were_merged_pass(
    mailbox: Mailbox, clock: SettableClock, tmp_path: Path
) -> None:
    """By gitmail, however often and across, with slots that both sides had set."""
    path = copied(mailbox, tmp_path / "twin" / ".gitmail")
    do_everything(mailbox, clock)
    chance = random.Random(3)  # noqa: S311 - the same story in each run
    with Mailbox.open(path, clock=clock) as twin:
        for number in range(6):
            for box, name in ((mailbox, "builder"), (twin, "reviewer")):
                clock.advance(minutes=1)
                agent = box.agent(name)
                agent.send(to="lead", body=f"{number} of {name}")
                agent.memory.set("world", "x", str(number % 2), f"{number} {name}")
                agent.memory.set("fact", "y", "z", f"{number} {name}")
                box.agent("lead").poll(ack=True)
                if number % 2:
                    agent.memory.forget("fact", "y")
            a, b = chance.sample([mailbox, twin], 2)
            integrate(a, b, clock)
            if number % 3:
                integrate(b, a, clock)

    assert mailbox.verify().findings == ()
    assert int(git(mailbox.path, "rev-list", "--count", "--merges", "gitmail")) > 3


def integrate(mailbox: Mailbox, other: Mailbox, clock: SettableClock) -> Step:
    """Bring what another mailbox has into one, as a sync does."""
    git(mailbox.path, "fetch", "-q", str(other.path), f"+{REF}:refs/remotes/x/gitmail")
    theirs = CommitId(git(mailbox.path, "rev-parse", "refs/remotes/x/gitmail").strip())
    return mailbox.store.integrate(theirs, "builder", clock(), "another").step


def diverged(mailbox: Mailbox, clone: Clone) -> tuple[str, str]:
    """Return two commits, of which each added a message, as builder and as lead."""
    base = mailbox.status().tip
    ours = forge(clone, {OTHER_PATH: OTHER_DATA})
    path, data = message_file("lead", ["reviewer"], "Mine.")
    theirs = forge(clone, {path: data}, by="lead", parents=[base])
    return ours, theirs


def test_a_merge_by_a_person_passes(mailbox: Mailbox, clone: Clone) -> None:
    """Both sides' mail in one tree, whoever merged it."""
    ours, theirs = diverged(mailbox, clone)
    path, data = message_file("lead", ["reviewer"], "Mine.")
    forge(clone, {path: data}, by="A Person", parents=[ours, theirs])

    assert found(mailbox) == []


def test_a_merge_that_loses_mail_is_named(mailbox: Mailbox, clone: Clone) -> None:
    """As git's `-s ours` has it."""
    ours, theirs = diverged(mailbox, clone)
    commit = forge(clone, {}, by="A Person", parents=[ours, theirs])
    path, _ = message_file("lead", ["reviewer"], "Mine.")
    (finding,) = mailbox.verify().findings

    assert (finding.rule, finding.path) == ("removed", path)
    assert (finding.commit, finding.author) == (commit, "A Person")


def test_a_merge_that_brings_what_no_side_has_is_named(
    mailbox: Mailbox, clone: Clone
) -> None:
    """It is judged as if somebody had written it."""
    ours, theirs = diverged(mailbox, clone)
    path, data = message_file("lead", ["reviewer"], "Mine.")
    mine, forged = message_file("reviewer", ["lead"], "Never said.")
    changes = {path: data, mine: forged}
    forge(clone, changes, by="A Person", parents=[ours, theirs])

    assert found(mailbox) == [("sender", mine)]


def test_a_merge_of_three_that_brings_back_what_one_removed_is_named(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Though another one still had it: both stand on what has it."""
    base = mailbox.status().tip
    path, data = slot_file("lexer", "builder")
    with_fact = forge(clone, {path: data})
    forgot = forge(clone, {path: None}, parents=[with_fact])
    mine, said = message_file("lead", ["reviewer"], "Mine.")
    first = forge(clone, {mine: said}, by="lead", parents=[base])
    third = forge(clone, {OTHER_PATH: OTHER_DATA}, parents=[with_fact])
    everything = {path: data, OTHER_PATH: OTHER_DATA}
    forge(clone, everything, by="A Person", parents=[first, forgot, third])

    assert found(mailbox) == [("actor", path)]


def test_a_merge_by_gitmail_is_what_its_sides_merge_to(
    mailbox: Mailbox, clone: Clone
) -> None:
    """It adds nothing of its own, not even what its author could write."""
    ours, theirs = diverged(mailbox, clone)
    path, data = message_file("lead", ["reviewer"], "Mine.")
    more = message_file("builder", ["lead"], "By the way.")
    changes = {path: data, more[0]: more[1]}
    forge(clone, changes, op="sync", parents=[ours, theirs], about=[blob_id(more[1])])

    assert found(mailbox) == [("merge", more[0])]


def test_a_merge_that_undoes_what_one_side_said_of_an_agent_is_named(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Nobody settles by that what only one side had changed."""
    base = mailbox.status().tip
    mailbox.register("builder", model="good")
    mailbox.retire("reviewer", by="builder")
    theirs = mailbox.status().tip
    path, data = message_file("lead", ["reviewer"], "Mine.")
    mine = forge(clone, {path: data}, by="lead", parents=[base])
    commit = forge(clone, {}, by="lead", parents=[mine, theirs])
    verified = mailbox.verify()

    assert {(f.rule, f.path) for f in verified.findings} == {
        ("profile", "agents/builder.md"),
        ("profile", "agents/reviewer.md"),
    }
    assert {(f.commit, f.author) for f in verified.findings} == {(commit, "lead")}


def test_a_person_may_settle_what_both_sides_changed(
    mailbox: Mailbox, clone: Clone
) -> None:
    """As the one or the other of them had it."""
    base = mailbox.status().tip
    ours = forge(clone, {"README.md": b"Ours.\n"}, by="A Person")
    theirs = forge(clone, {"README.md": b"Theirs.\n"}, by="lead", parents=[base])
    for text in (b"Ours.\n", b"Theirs.\n"):
        both = {"README.md": text}
        forge(clone, both, by="A Person", parents=[ours, theirs])

        assert found(mailbox) == []


def test_a_history_that_began_elsewhere_is_named(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Nothing says what was done to it before it came."""
    tree = git(clone.folder, "rev-parse", "origin/gitmail^{tree}").strip()
    root = git(clone.folder, "commit-tree", tree, "-m", "Another").strip()
    base = mailbox.status().tip
    forge(clone, {}, by="A Person", parents=[base, root])

    assert ("root", "") in found(mailbox)
    assert ("root", "") in found(mailbox, f"{base}..HEAD")


def lose(mailbox: Mailbox, object_id: str) -> None:
    """Take an object away."""
    loose(mailbox.path, object_id).unlink()


def damage(mailbox: Mailbox, object_id: str) -> None:
    """Put bytes of the same kind in the place of an object."""
    place = loose(mailbox.path, object_id)
    kind, _, _ = zlib.decompress(place.read_bytes()).partition(b" ")
    place.chmod(0o644)
    place.write_bytes(zlib.compress(kind + b" 3\0xyz"))


def retype(mailbox: Mailbox, object_id: str) -> None:
    """Put another kind of object there."""
    place = loose(mailbox.path, object_id)
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"tag 0\0"))


@pytest.mark.parametrize("harm", [lose, damage, retype])
@pytest.mark.parametrize("what", ["blob", "tree", "commit"])
def test_an_object_that_is_missing_or_damaged_is_named(
    mailbox: Mailbox,
    clone: Clone,
    harm: Callable[[Mailbox, str], None],
    what: str,
) -> None:
    """With the commit that brought it, and the rest is verified all the same."""
    path, data = message_file("builder", ["lead"], "To be lost.")
    commit = forge(clone, {path: data})
    folder = path.rpartition("/")[0]
    names = {"blob": path, "tree": folder}
    object_id = commit
    if what != "commit":
        object_id = git(mailbox.path, "rev-parse", f"gitmail:{names[what]}").strip()
    forge(clone, {"notes.txt": b"Text."})
    unpack(mailbox.path)
    harm(mailbox, object_id)

    with Mailbox.open(mailbox.path) as again:
        verified = again.verify()

    first = verified.findings[0]
    assert (first.rule, first.commit) == ("object", commit)
    assert object_id in first.detail
    if what == "blob":
        assert first.path == path
        assert ("path", "notes.txt") in [(f.rule, f.path) for f in verified.findings]


@pytest.mark.usefixtures("clone")
def test_what_git_has_packed_is_read_and_proven_too(mailbox: Mailbox) -> None:
    """Deltas pass, and an entry of a pack that is not what it was is named."""
    builder = mailbox.agent("builder")
    text = "\n".join(str(number) for number in range(2000))
    for number in range(5):
        builder.send(to="reviewer", body=f"{text}\n{number}")
    git(mailbox.path, "gc", "-q")
    packs = mailbox.path / ".git" / "objects" / "pack"
    (index,) = packs.glob("*.idx")
    rows = git(mailbox.path, "verify-pack", "-v", str(index)).splitlines()
    assert [row for row in rows if row.startswith("chain length")]
    assert found(mailbox) == []
    (place,) = [int(row.split()[4]) for row in rows if row.startswith(blob_id(DATA))]
    pack = index.with_suffix(".pack")
    pack.chmod(0o644)
    with pack.open("r+b") as file:
        file.seek(place + 20)
        file.write(b"xyz")

    with Mailbox.open(mailbox.path) as again:
        assert ("object", PATH) in found(again)


def test_a_tree_that_readers_see_differently_is_named(
    mailbox: Mailbox, clone: Clone
) -> None:
    """Two entries of one name, of which each program takes another."""
    git(clone.folder, "fetch", "-q", "origin")
    clone.push({"README.md": b"Another."}, second=True)
    (finding,) = mailbox.verify().findings

    assert finding.rule == "object"
    assert "no tree as git writes them" in finding.detail


def test_a_range_is_judged_alone(mailbox: Mailbox, clone: Clone) -> None:
    """What was wrong before it is not what it is about."""
    wrong = forge(clone, {PATH: None})
    right = forge(clone, {OTHER_PATH: OTHER_DATA})
    also = forge(clone, {"notes.txt": b"Text."})

    assert found(mailbox, f"{wrong}..HEAD") == [("path", "notes.txt")]
    assert found(mailbox, f"{wrong[:9]}..{right[:9].upper()}") == []
    assert found(mailbox, right) == [("removed", PATH)]
    assert found(mailbox, f"{also}..{wrong}") == []
    verified = mailbox.verify(f"{wrong}..{also}")
    assert (verified.since, verified.tip) == (wrong, also)
    assert (verified.commit_count, verified.message_count) == (2, 1)


def test_a_range_may_end_at_a_commit_that_is_not_in_the_mailbox_yet(
    mailbox: Mailbox, clone: Clone
) -> None:
    """As that of a pull request that was fetched to be looked at."""
    commit = clone.commit("origin/gitmail", {"notes.txt": b"Text."})
    git(clone.folder, "update-ref", "refs/heads/proposed", commit)
    git(mailbox.path, "fetch", "-q", str(clone.folder), "proposed:refs/pull/1")

    assert found(mailbox) == []
    assert found(mailbox, f"gitmail..{commit}") == [("path", "notes.txt")]


def test_a_message_twice_shows_in_a_range_too(mailbox: Mailbox, clone: Clone) -> None:
    """Where only the second is in the range."""
    base = mailbox.status().tip
    forge(clone, {TWIN_PATH: DATA})

    assert found(mailbox, f"{base}..HEAD") == [("twice", TWIN_PATH)]


@pytest.mark.parametrize(
    "span", ["", "nowhere", "1234567", "a..b..c", "HEAD..12345678"]
)
def test_a_range_that_names_nothing_is_refused(mailbox: Mailbox, span: str) -> None:
    """With what is accepted."""
    with pytest.raises(InvalidArgumentError):
        mailbox.verify(span)


def test_without_a_branch_there_is_nothing_to_verify(mailbox: Mailbox) -> None:
    """That is damage, not an empty mailbox."""
    git(mailbox.path, "update-ref", "-d", REF)

    with pytest.raises(CorruptMailboxError):
        mailbox.verify()


def test_verifying_writes_nothing(mailbox: Mailbox, tmp_path: Path) -> None:
    """Not even an index."""
    builder = mailbox.agent("builder")
    builder.send(to="reviewer", body="Hello.")
    builder.memory.set("world", "parser", "owner", "builder")
    path = copied(mailbox, tmp_path / "twin")
    with Mailbox.open(path) as twin:
        before = sorted(path.rglob("*"))
        assert twin.verify().findings == ()

        assert sorted(path.rglob("*")) == before


def test_findings_are_named_up_to_a_limit_and_counted_beyond(
    mailbox: Mailbox, clone: Clone
) -> None:
    """A mailbox that somebody ruined does not fill the memory."""
    number = MOST_FINDINGS + 5
    forge(clone, {f"junk/{n}.txt": b"x" for n in range(number)})
    verified = mailbox.verify()

    assert verified.finding_count == number
    assert len(verified.findings) == MOST_FINDINGS


def test_several_processes_find_the_same_as_one(
    mailbox: Mailbox, clone: Clone, clock: SettableClock
) -> None:
    """In the same order, also what only the history before tells."""
    do_everything(mailbox, clock)
    forge(clone, {PATH: of(DATA, "ready", "broken"), TWIN_PATH: DATA, "x": b"Text."})
    forge(clone, {PATH: DATA, "x": None}, by="A Person")
    forge(clone, dict([message_file("lead", ["reviewer"], "Do it.")]))
    tip = CommitId(mailbox.status().tip)
    one, several = (
        verify_new(
            mailbox.store.git_dir,
            tip,
            lambda _: False,
            since=None,
            now=clock(),
            processes=number,
            patience_s=0,
        )
        for number in (1, 2)
    )

    assert several == one
    rules = sorted(each.rule for each in one.findings)
    assert rules == ["changed", "path", "sender", "twice"]


def test_the_number_of_processes_is_checked(mailbox: Mailbox) -> None:
    """None at all cannot work."""
    with pytest.raises(InvalidArgumentError):
        mailbox.verify(processes=0)


def test_merges_by_plain_git_pass(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, tmp_path: Path
) -> None:
    """Messages and receipts merge without gitmail (DESIGN 10)."""
    message = builder.send(to=["reviewer", "lead"], body="Before.").message.id
    path = copied(mailbox, tmp_path / "twin" / ".gitmail")
    with Mailbox.open(path, clock=clock) as twin:
        twin.agent("lead").ack(message)
        twin.agent("lead").send(to="builder", body="There.")
    mailbox.agent("reviewer").ack(message)
    builder.send(to="lead", body="Here.")
    merge_into(mailbox.path, path, tmp_path / "work")

    # Whatever is said of the commit: a person's clock is the machine's.
    assert [each for each in found(mailbox) if each[1]] == []
