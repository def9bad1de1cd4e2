"""`memory` and its commands: answers, options, errors, and text for people."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmail.mailbox.memory_values import (
    Forgotten,
    History,
    Outcome,
    Recollection,
    Recollections,
    Revision,
    Stored,
)
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.names import AgentName, CommitId
from gitmail.render import memories
from tests.cli.conftest import CommandLine, Ran
from tests.cli.test_text import _STEERING, COLORED, EVIL, PLAIN
from tests.helpers import START, environment, files_in_tip, git
from tests.mailfiles import unguard

_OID = "0123456789abcdef0123456789abcdef01234567"
_ODD = "\n\n  Tabs\tand spaces  \r\n---\nscope: fact\n---\nhä 日本 🎉\n\n"


class MemoryLine:
    """`gitmail memory` as builder, in a mailbox."""

    def __init__(self, cli: CommandLine) -> None:
        self.cli = cli

    def __call__(self, *argv: str, stdin: bytes | str = b"") -> Ran:
        """Run a command with text as its answer."""
        return self.cli("--as", "builder", "memory", *argv, stdin=stdin)

    def ok(self, *argv: str, stdin: bytes | str = b"") -> Any:
        """Run a command that must go well, and return its answer."""
        return self.cli.ok("--as", "builder", "memory", *argv, stdin=stdin)

    def refused(self, *argv: str, stdin: bytes | str = b"") -> dict[str, Any]:
        """Run a command that must fail, and return its error with the exit code."""
        ran = self.cli("--json", "--as", "builder", "memory", *argv, stdin=stdin)
        return {**ran.error, "exit": ran.code}


@pytest.fixture(name="memory")
def _memory(cli: CommandLine) -> MemoryLine:
    return MemoryLine(cli)


def _values(answer: Any, key: str = "records") -> list[str]:
    return [record.get("value", "") for record in answer[key]]


def test_a_fact_is_recorded_with_its_source_acknowledged_in_one_commit(
    memory: MemoryLine, cli: CommandLine
) -> None:
    """Every option of set reaches the record (CAPABILITIES Y2, Y11)."""
    message = cli.ok("--as", "lead", "send", "--to", "builder", "The parser is yours.")
    source = message["message"]["id"]
    commits = cli.ok("status")["commits"]
    answer = memory.ok(
        "set", "fact", "parser", "owner", "builder",
        "--source", f"message:{source[:8]}", "--confidence", "0.75", "--expected",
        "none", "--tag", "people", "--tag", "Parser", "--ack",
    )  # fmt: skip
    record = answer["record"]

    assert (answer["result"], answer["acked"]) == ("inserted", source)
    assert answer["commit"] == cli.ok("status")["tip"]
    assert cli.ok("status")["commits"] == commits + 1
    assert {key: record[key] for key in ("scope", "entity", "attribute", "value")} == {
        "scope": "fact",
        "entity": "parser",
        "attribute": "owner",
        "value": "builder",
    }
    assert (record["source"], record["confidence"], record["tags"]) == (
        f"message:{source}",
        0.75,
        ["people", "parser"],
    )
    assert cli.ok("--as", "builder", "poll")["messages"] == []
    assert memory.ok("get", "FACT", "Parser", "owner")["record"] == record
    assert memory.ok("get", "fact", "parser")["records"] == [record]


def test_what_is_in_force_is_confirmed_and_what_is_not_expected_refused(
    memory: MemoryLine, cli: CommandLine
) -> None:
    """The error has the value in force, in both forms of output (CAPABILITIES Y3)."""
    memory.ok("set", "fact", "parser", "owner", "builder")
    tip = cli.ok("status")["tip"]
    again = memory.ok("set", "fact", "Parser", " owner ", "builder")
    argv = ["set", "fact", "parser", "owner", "lead", "--expected", "0" * 8]
    error, ran = memory.refused(*argv), memory(*argv)

    assert (again["result"], "commit" in again) == ("confirmed", False)
    assert (error["code"], error["exit"]) == ("stale_revision", 1)
    assert error["in_force"]["value"] == "builder"
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[1].split() == [
        error["in_force"]["revision"][:10],
        "builder",
    ]
    assert cli.ok("status")["tip"] == tip


@pytest.mark.parametrize("way", ["absent", "dash", "argument"])
@pytest.mark.parametrize(
    "argv", [["add"], ["set", "fact", "a", "b"], ["supersede", "ID"]], ids="".join
)
def test_a_text_is_kept_byte_for_byte_whichever_way_it_comes(
    argv: list[str], way: str, memory: MemoryLine
) -> None:
    """TEXT, VALUE and NEW are read as `send` reads a body."""
    note = memory.ok("add", "An old note.")["record"]["revision"]
    said = {"absent": [], "dash": ["-"], "argument": [_ODD]}[way]
    words = [note if word == "ID" else word for word in argv]
    stdin = "not this" if way == "argument" else _ODD

    assert memory.ok(*words, *said, stdin=stdin)["record"]["value"] == _ODD


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["add"], "text"),
        (["set", "fact", "a", "b"], "value"),
        (["supersede", "12345678"], "new"),
    ],
)
def test_a_text_that_cannot_be_taken_from_standard_input_is_named(
    argv: list[str], field: str, memory: MemoryLine
) -> None:
    """The error says which, and no more is read than the limit."""
    broken = memory.refused(*argv, stdin=b"a\xff")
    endless = memory.refused(*argv, "-", stdin="x" * 70_000)

    assert (broken["code"], broken["field"], broken["exit"]) == (
        "invalid_text",
        field,
        2,
    )
    assert (endless["code"], endless["field"], endless["exit"]) == (
        "body_too_large",
        field,
        2,
    )
    assert endless["message"].startswith(f"The {field} has more")


def test_a_note_is_superseded_by_id_or_by_its_text_and_keeps_its_labels(
    memory: MemoryLine,
) -> None:
    """Its history goes back to the first (CAPABILITIES Y1, Y8)."""
    first = memory.ok(
        "add", "One.", "--tag", "speed", "--episode", "e1", "--source", "https://a"
    )["record"]
    second = memory.ok("supersede", first["revision"][:8], "Two.")
    third = memory.ok("supersede", "--text", "Two.", "Three.")
    entries = memory.ok("history", third["record"]["revision"])["history"]
    newest = memory.ok("history", "note", third["record"]["revision"], "--limit", "1")

    assert (first["source"], first["episode"], first["tags"]) == (
        "https://a",
        "e1",
        ["speed"],
    )
    assert (second["result"], third["result"]) == ("superseded", "superseded")
    assert (third["record"]["tags"], third["record"]["episode"]) == (["speed"], "e1")
    assert [(each["op"], each.get("value")) for each in entries] == [
        ("memory-supersede", "Three."),
        ("memory-supersede", None),
        ("memory-supersede", "Two."),
        ("memory-supersede", None),
        ("memory-add", "One."),
    ]
    assert (newest["history"], newest["more"]) == (entries[:1], True)
    assert _values(memory.ok("list", "note")) == ["Three."]


def test_a_note_is_shown_whole_by_its_id(memory: MemoryLine) -> None:
    """Lists have only the start of a long one."""
    text = f"A headline.\n\n{'word ' * 200}end"
    note = memory.ok("add", text, "--episode", "e1")["record"]["revision"]
    shown = memory("get", note[:8]).out
    about, _, value = shown.partition("\n\n")

    assert _values(memory.ok("get", "note", note)) == [text]
    assert value == f"{text}\n"
    assert about.split("\n")[0].split() == ["Scope:", "note"]
    assert {"Episode:", note} <= {*about.split()}


def test_a_lesson_is_retired_with_a_reason_and_restored(
    memory: MemoryLine,
) -> None:
    """It leaves every answer but history and what asks for it (CAPABILITIES Y6, Y7)."""
    memory.ok("set", "lesson", "release", "what to check", "The manual.")
    dry = memory.ok("forget", "lesson", "release", "--dry-run", "--reason", "x")
    gone = memory.ok("forget", "lesson", "release", "what to check", "--reason", "old")
    missing = memory.refused("get", "lesson", "release", "what to check")
    hidden = memory.ok("list", "--task", "release")["records"]
    shown = memory.ok("list", "lesson", "--entity", "release", "--retired")["records"]
    history = memory.ok("history", "lesson", "release", "what to check")["history"]
    back = memory.ok(
        "restore", "lesson", "release", "what to check", "--reason", "true again"
    )

    assert (dry["count"], dry["dry_run"], "commit" in dry) == (1, True, False)
    assert (gone["count"], gone["dry_run"]) == (1, False)
    assert (missing["code"], missing["exit"]) == ("not_found", 1)
    assert hidden == []
    assert [(each["status"], each["reason"]) for each in shown] == [("retired", "old")]
    assert [(each["op"], each.get("reason")) for each in history] == [
        ("memory-retire", "old"),
        ("memory-set", None),
    ]
    assert (back["result"], back["record"]["reason"]) == ("restored", "true again")


def test_what_was_forgotten_or_replaced_comes_back_from_history(
    memory: MemoryLine,
) -> None:
    """A fact by its last value or a revision, a note by its id (CAPABILITIES Y7)."""
    first = memory.ok("set", "fact", "parser", "owner", "lead")["record"]["revision"]
    memory.ok("set", "fact", "parser", "owner", "builder")
    memory.ok("forget", "fact", "parser")
    last = memory.ok("restore", "fact", "parser", "owner")["record"]
    again = memory.refused("restore", "fact", "parser", "owner")
    earlier = memory.ok("restore", "fact", "parser", "owner", "--revision", first[:8])
    note = memory.ok("add", "A note.")["record"]["revision"]
    gone = memory.ok("forget", "note", note[:8])
    back = memory.ok("restore", note)

    assert last["value"] == "builder"
    assert (again["code"], again["exit"]) == ("already_in_force", 1)
    assert earlier["record"]["value"] == "lead"
    assert _values(gone) == ["A note."]
    assert (back["result"], back["record"]["revision"]) == ("restored", note)


def test_notes_go_by_filters_that_any_or_all_must_fit(memory: MemoryLine) -> None:
    """Each filter, --match and --dry-run (CAPABILITIES Y4)."""
    notes = [
        ["One.", "--tag", "t"],
        ["Two.", "--source", "s"],
        ["Three.", "--episode", "e", "--tag", "t"],
        ["Four and five."],
    ]
    for argv in notes:
        memory.ok("add", *argv)

    def would_go(*argv: str) -> list[str]:
        return sorted(_values(memory.ok("forget", "note", "--dry-run", *argv)))

    assert would_go("--text", "One.") == ["One."]
    assert would_go("--substring", "and") == ["Four and five."]
    assert would_go("--source", "s") == ["Two."]
    assert would_go("--episode", "e") == ["Three."]
    assert would_go("--tag", "T") == ["One.", "Three."]
    assert would_go("--tag", "t", "--source", "s") == ["One.", "Three.", "Two."]
    assert would_go("--tag", "t", "--episode", "e", "--match", "all") == ["Three."]
    assert would_go("--text", "none such") == []
    assert memory.ok("forget", "note", "--tag", "t")["count"] == 2
    assert sorted(_values(memory.ok("list"))) == ["Four and five.", "Two."]


def test_many_notes_go_only_when_confirmed(memory: MemoryLine) -> None:
    """The refusal has a sample, in both forms of output (CAPABILITIES Y4)."""
    for number in range(21):
        memory.ok("add", f"Note {number}.", "--tag", "t")
    error = memory.refused("forget", "note", "--tag", "t")
    ran = memory("forget", "note", "--tag", "t")
    gone = memory.ok("forget", "note", "--tag", "t", "--confirm")

    assert (error["code"], error["exit"], error["count"]) == ("too_many_matches", 1, 21)
    assert [each["value"] for each in error["sample"]][:2] == ["Note 0.", "Note 1."]
    assert "Note 0." in ran.err
    assert (ran.code, gone["count"]) == (1, 21)


def test_lists_and_searches_have_filters(memory: MemoryLine, cli: CommandLine) -> None:
    """Each option of list and search leaves what it names (CAPABILITIES Y9)."""
    memory.ok("set", "fact", "parser", "owner", "the builder", "--tag", "people")
    memory.ok("set", "world", "python", "parser", "the builder", "--source", "s")
    cli.ok("--as", "lead", "memory", "set", "lesson", "parser", "x", "the builder")
    cli.clock.advance(hours=2)
    memory.ok("add", "the builder is a parser")

    def scopes(*argv: str) -> list[str]:
        answer = memory.ok(*argv)
        return sorted(record["scope"] for record in answer["records"])

    every = ["fact", "lesson", "note", "world"]
    assert scopes("list") == scopes("search", "the", "builder") == every
    assert scopes("list", "World") == ["world"]
    assert scopes("list", "--tag", "people", "--tag", "none") == ["fact"]
    assert scopes("list", "--entity", "PARSER") == ["fact", "lesson"]
    assert memory.ok("list", "--limit", "1")["more"] is True
    search = ("search", "builder")
    assert scopes(*search, "--scope", "note", "--scope", "fact") == ["fact", "note"]
    assert scopes(*search, "--task", "parser") == ["fact", "lesson"]
    assert scopes(*search, "--tag", "people") == ["fact"]
    assert scopes(*search, "--source", "s") == ["world"]
    assert scopes(*search, "--by", "lead") == ["lesson"]
    assert scopes(*search, "--since", "1h") == ["note"]
    assert len(scopes(*search, "--limit", "2")) == 2
    assert scopes("search", "nothing like it") == []


_PARTS = (["fact"], ["parser"], ["-5"], ["--as", "builder"], ["--source=-s"])
_ORDERS = [
    list(itertools.chain(*order))
    for order in itertools.permutations(_PARTS)
    if order.index(["fact"]) < order.index(["parser"]) < order.index(["-5"])
]


@pytest.mark.parametrize("argv", _ORDERS, ids=" ".join)
def test_options_of_a_nested_command_stand_anywhere(
    argv: list[str], cli: CommandLine
) -> None:
    """Values and arguments may start with a dash, as in other commands."""
    record = cli.ok("memory", "set", *argv, "- a list")["record"]

    assert (record["attribute"], record["value"], record["source"]) == (
        "-5",
        "- a list",
        "-s",
    )


@pytest.mark.parametrize("place", range(4))
def test_global_options_stand_before_between_and_after_nested_commands(
    place: int, cli: CommandLine
) -> None:
    """Also between `memory` and its command."""
    argv = ["memory", "add", "A note."]
    argv[place:place] = ["--as", "lead", "--json"]
    ran = cli(*argv)

    assert (ran.code, ran.json["record"]["set_by"]) == (0, "lead")


def test_what_looks_like_an_option_follows_a_double_dash(memory: MemoryLine) -> None:
    """`--` ends the options of a nested command too."""
    record = memory.ok("set", "fact", "--", "--json", "--as", "--help")["record"]

    assert (record["entity"], record["attribute"], record["value"]) == (
        "--json",
        "--as",
        "--help",
    )
    told = memory("forget", "fact", "--", "--json").out
    assert "gitmail memory restore -- fact --json --as" in told


@pytest.mark.parametrize(
    ("argv", "said", "command"),
    [
        ([], "a command is missing", "memory"),
        (["sett"], "did you mean set?", "memory"),
        (["--unknown"], "--unknown", "memory"),
        (["set", "fact"], "ENTITY, ATTRIBUTE", "memory set"),
        (["set", "fact", "a", "b", "c", "d"], "not understood: d", "memory set"),
        (["set", "--sorce", "fact", "a", "b", "c"], "--sorce", "memory set"),
        (["list", "--limit"], "argument --limit", "memory list"),
        (["search"], "QUERY", "memory search"),
        (["supersede"], "NOTE or --text is required", "memory supersede"),
        (["supersede", "--text", "a", "b", "c"], "cannot both", "memory supersede"),
        (["forget"], "SCOPE", "memory forget"),
        (["forget", "fact"], "ENTITY is required", "memory forget"),
        (["get", "fact"], "ENTITY is required", "memory get"),
        (["history"], "SCOPE", "memory history"),
        (["history", "world"], "ENTITY is required", "memory history"),
        (["restore", "note"], "NOTE is required", "memory restore"),
        (["restore", "fact", "a"], "ATTRIBUTE is required", "memory restore"),
    ],
)
def test_misuse_of_a_nested_command_points_to_its_own_help(
    argv: list[str], said: str, command: str, memory: MemoryLine
) -> None:
    """And is an error like all others."""
    error, ran = memory.refused(*argv), memory(*argv)

    assert (error["code"], error["exit"]) == ("usage", 2)
    assert said in error["message"]
    assert error["hint"] == f"See: gitmail {command} --help"
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1] == f"  {error['hint']}"


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["set", "facts", "a", "b", "c"], "invalid_argument"),
        (["set", "note", "a", "b", "c"], "invalid_argument"),
        (["set", "fact", "", "b", "c"], "invalid_argument"),
        (["set", "fact", "a", "x" * 201, "c"], "invalid_argument"),
        (["set", "fact", "a\nb", "b", "c"], "invalid_text"),
        (["set", "fact", "a", "b", " \n"], "blank_body"),
        (["set", "fact", "a", "b", "x" * 65_537], "body_too_large"),
        (["set", "fact", "a", "b", "c", "--confidence", "1.01"], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--confidence", "-1"], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--confidence", "nan"], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--confidence", ""], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--expected", "zz"], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--expected", ""], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--source", ""], "invalid_argument"),
        (["set", "fact", "a", "b", "c", "--source", "message:x"], "invalid_name"),
        (["set", "fact", "a", "b", "c", "--ack"], "invalid_argument"),
        (["add", "a", "--tag", ""], "invalid_argument"),
        (["add", "a", "--episode", " "], "invalid_argument"),
        (["get", "note", "a"], "invalid_name"),
        (["get", "a"], "invalid_name"),
        (["list", "facts"], "invalid_argument"),
        (["list", "--limit", "201"], "invalid_argument"),
        (["list", "--entity", ""], "invalid_argument"),
        (["search", "..."], "invalid_argument"),
        (["search", "a", "--scope", "mail"], "invalid_argument"),
        (["search", "a", "--by", "a b"], "invalid_name"),
        (["search", "a", "--since", "soon"], "invalid_argument"),
        (["supersede", "zz", "a"], "invalid_name"),
        (["history", "zz"], "invalid_name"),
        (["history", "note", "12345678", "x"], "invalid_argument"),
        (["forget", "note"], "invalid_argument"),
        (["forget", "facts"], "invalid_argument"),
        (["forget", "note", "12345678", "--tag", "t"], "invalid_argument"),
        (["forget", "note", "--tag", "t", "--match", "some"], "invalid_argument"),
        (["forget", "fact", "a", "--tag", "t"], "invalid_argument"),
        (["forget", "fact", "a", "--reason", ""], "invalid_argument"),
        (["restore", "12345678", "--revision", "12345678"], "invalid_argument"),
        (["restore", "fact", "a", "b", "--revision", "zz"], "invalid_name"),
    ],
)
def test_bad_input_to_memory_exits_with_2_and_writes_nothing(
    argv: list[str], code: str, memory: MemoryLine, cli: CommandLine
) -> None:
    """Each mistake has its code (CAPABILITIES Y12)."""
    tip = cli.ok("status")["tip"]
    error = memory.refused(*argv)

    assert (error["code"], error["exit"]) == (code, 2)
    assert cli.ok("status")["tip"] == tip


@pytest.mark.parametrize(
    "argv",
    [
        ["get", "fact", "a"],
        ["get", "fact", "a", "b"],
        ["get", "12345678"],
        ["history", "12345678"],
        ["history", "world", "a"],
        ["forget", "fact", "a", "b"],
        ["forget", "note", "12345678"],
        ["restore", "12345678"],
        ["restore", "lesson", "a", "b"],
        ["supersede", "12345678", "x"],
        ["supersede", "--text", "no such note", "x"],
        ["set", "fact", "a", "b", "c", "--source", "message:12345678"],
    ],
    ids=" ".join,
)
def test_what_memory_never_had_exits_with_1(
    argv: list[str], memory: MemoryLine
) -> None:
    """The code is that of a message that is not there."""
    error = memory.refused(*argv)

    assert (error["code"], error["exit"]) == ("not_found", 1)


def test_a_slot_edited_into_nonsense_is_quarantined_and_the_rest_works(
    memory: MemoryLine, cli: CommandLine, tmp_path: Path
) -> None:
    """`set` on it is refused until somebody puts it right."""
    memory.ok("set", "fact", "parser", "owner", "builder")
    memory.ok("set", "fact", "parser", "home", "src")
    unguard(cli.folder / ".gitmail")  # which would refuse the nonsense
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(cli.folder / ".gitmail"), str(clone))
    path = clone / "memory" / "facts" / "parser" / "owner.md"
    path.write_text("nonsense\n", "utf-8")
    git(clone, "commit", "-qam", "by hand")
    git(clone, "push", "-q")
    errors = [
        memory.refused(*argv, "fact", "parser", "owner", *more)
        for argv, more in ((["set"], ["x"]), (["get"], []))
    ]

    assert [(each["code"], each["exit"]) for each in errors] == [("quarantined", 1)] * 2
    assert _values(memory.ok("get", "fact", "parser")) == ["src"]
    newest, oldest = memory("history", "fact", "parser", "owner").out.split("\n")[1:4:2]
    assert (newest.strip(), oldest.strip()) == ("(cannot be read)", "builder")


def test_memory_is_not_among_the_mail_and_mail_is_not_in_memory(
    memory: MemoryLine, cli: CommandLine
) -> None:
    """Each search finds its own (CAPABILITIES Y10)."""
    sent = cli.ok("--as", "builder", "send", "--to", "lead", "caching in mail")
    memory.ok("add", "caching in memory")

    assert _values(memory.ok("search", "caching")) == ["caching in memory"]
    found = cli.ok("--as", "builder", "search", "caching")["messages"]
    assert [each["id"] for each in found] == [sent["message"]["id"]]


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full"
)
@pytest.mark.parametrize(
    "argv",
    [
        ["add", "A new note."],
        ["set", "world", "a", "b", "c"],
        ["supersede", "ID", "x"],
        ["forget", "note", "ID"],
        ["forget", "fact", "parser"],
        ["restore", "fact", "parser", "owner", "--revision", "FIRST"],
    ],
    ids=" ".join,
)
def test_what_was_written_is_told_where_the_answer_is_lost(
    argv: list[str], memory: MemoryLine, cli: CommandLine
) -> None:
    """The error names the commit: a retry would do it twice (DESIGN I5)."""
    first = memory.ok("set", "fact", "parser", "owner", "lead")["record"]["revision"]
    memory.ok("set", "fact", "parser", "owner", "builder")
    note = memory.ok("add", "A note.")["record"]["revision"]
    known = {"ID": note, "FIRST": first}
    words = [known.get(word, word) for word in argv]
    command = [sys.executable, "-m", "gitmail", "--json", "--as", "builder", "memory"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*command, *words],
            cwd=cli.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=30,
        )
    error = json.loads(done.stderr)["error"]

    assert (done.returncode, error["code"]) == (1, "answer_lost")
    assert error["commit"] == cli.ok("status")["tip"]
    assert len(error["ids"]) == 1


def test_text_for_people_is_a_line_for_what_was_written(memory: MemoryLine) -> None:
    """Outcome, names, short revision and commit."""
    put = memory("set", "fact", "the parser", "owner", "builder").out
    revision = memory.ok("get", "fact", "the parser", "owner")["record"]["revision"]
    tip = memory.cli.ok("status")["tip"]

    assert put == (
        f"Set fact 'the parser' owner, {revision[:10]} (commit {tip[:10]})\n"
    )


def _evil_record(scope: Scope) -> MemoryRecord:
    record = MemoryRecord(
        scope=scope,
        entity=EVIL,
        attribute=EVIL,
        value=f"{EVIL}\n\t{EVIL}",
        set_by=AgentName(EVIL),
        set_at=START,
        source=EVIL,
        episode=EVIL,
        confidence=0.5,
        tags=(EVIL,),
        supersedes=_OID,
        contested=(EVIL, _OID),
        retired_by=AgentName(EVIL),
        retired_at=START,
        reason=EVIL,
    )
    record.__dict__["id"] = _OID  # EVIL has no UTF-8 form to be hashed
    return record


_RENDERINGS: dict[str, Callable[..., str]] = {
    "stored": lambda each, look: "\n".join(
        memories.stored(
            Stored(outcome=outcome, record=each.record, commit=commit, acked=_OID), look
        )
        for outcome in Outcome
        for commit in (None, CommitId(_OID))
    ),
    "remembered": memories.remembered,
    "entity": lambda each, look: memories.entity(Recollections(records=(each,)), look),
    "found": lambda each, look: memories.found(
        Recollections(records=(each, each.found(EVIL)), has_more=True), look
    ),
    "forgotten": lambda each, look: memories.forgotten(
        Forgotten(count=1, records=(each,), commit=CommitId(_OID)), look
    ),
    "history": lambda each, look: memories.history(
        History(
            revisions=tuple(
                Revision(
                    commit=CommitId(_OID),
                    date=START,
                    agent=EVIL,
                    operation=EVIL,
                    path=path,
                    reason=EVIL,
                    shown=shown,
                )
                for shown in (each, None)
                for path in (EVIL, "memory/facts/a/b.md")
            )
        ),
        look,
    ),
}


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("kind", list(_RENDERINGS))
def test_no_text_in_memory_steers_a_terminal(kind: str, scope: Scope) -> None:
    """Control, direction and hidden characters are shown, in every field."""
    record = _evil_record(scope)
    each = Recollection(record=record, text=record.value, is_truncated=True)
    plain, colored = (_RENDERINGS[kind](each, look) for look in (PLAIN, COLORED))

    assert not _STEERING.search(plain)
    assert not _STEERING.search(_without_color(colored))


def test_hostile_text_is_harmless_on_a_real_terminal(
    memory: MemoryLine, cli: CommandLine
) -> None:
    """The only escape sequences are those of our own colours."""
    if os.name == "nt":
        pytest.skip("there are no pseudo-terminals on Windows")
    import pty  # noqa: PLC0415 - there is none on Windows

    evil = "\x1b[2J\x1b]0;mine\x07 \u202ereversed"
    memory.ok("set", "fact", "\u202eparser", "owner", evil)
    main, side = pty.openpty()
    with os.fdopen(main, "rb", buffering=0) as terminal:
        argv = [sys.executable, "-m", "gitmail", "--as", "builder", "memory", "list"]
        done = subprocess.run(
            argv,
            cwd=cli.folder,
            env=environment(NO_COLOR="", TERM="xterm"),
            stdin=subprocess.DEVNULL,
            stdout=side,
            stderr=subprocess.PIPE,
            check=False,
            timeout=30,
        )
        os.close(side)
        seen = _without_color(terminal.read(65_536).decode())

    assert (done.returncode, done.stderr) == (0, b"")
    assert "\\u{202e}parser" in seen
    assert not _STEERING.search(seen.replace("\r\n", "\n"))


def test_a_contested_value_is_shown_with_the_command_that_shows_the_others() -> None:
    """Wherever it is shown, until somebody sets it again (CAPABILITIES Y9)."""
    record = MemoryRecord(
        scope=Scope.FACT,
        entity="the parser",
        attribute="owner",
        value="builder",
        set_by=AgentName("builder"),
        set_at=START,
        contested=(_OID,),
    )
    each = Recollection.whole(record)
    records = Recollections(records=(each,))
    said = "by 0123456789; see: gitmail memory history fact 'the parser' owner"

    assert f"Contested: {said}" in memories.remembered(each, PLAIN)
    assert f"    contested {said}" in memories.found(records, PLAIN).split("\n")
    assert f"    contested {said}" in memories.entity(records, PLAIN).split("\n")


def test_a_history_of_several_attributes_says_whose_each_version_is(
    memory: MemoryLine,
) -> None:
    """By the attribute as it was spelt, and by the file where nothing is left."""
    memory.ok("set", "fact", "parser", "Lines of code", "300")
    memory.ok("set", "fact", "parser", "owner", "builder")
    memory.ok("forget", "fact", "parser", "owner", "--reason", "left")
    rows = memory("history", "fact", "parser").out.split("\n")[:6:2]

    assert [row.split("builder")[1].split() for row in rows] == [
        ["forget", "owner", "left"],
        ["set", "owner"],
        ["set", "Lines", "of", "code"],
    ]


def test_a_value_of_many_lines_cannot_pass_for_another_record() -> None:
    """Lists show its headline; what is shown whole is indented."""
    value = "ok\n0123456789  just now  lead  fact  parser  owner\n    lead"
    record = MemoryRecord(
        scope=Scope.FACT,
        entity="parser",
        attribute="owner",
        value=value,
        set_by=AgentName("a"),
        set_at=START,
    )
    records = Recollections(records=(Recollection.whole(record),))

    assert memories.found(records, PLAIN).split("\n")[1:] == ["    ok"]
    lines = memories.entity(records, PLAIN).split("\n")[1:]
    assert [line for line in lines if not line.startswith("    ")] == []


def test_one_commit_holds_fact_and_receipt_and_git_tells_its_history(
    memory: MemoryLine, cli: CommandLine
) -> None:
    """`git log -p` on the slot's path reads as its history."""
    sent = cli.ok("--as", "lead", "send", "--to", "builder", "The parser is yours.")
    before = files_in_tip(cli.folder / ".gitmail")
    source = f"message:{sent['message']['id']}"
    memory.ok("set", "fact", "parser", "owner", "builder", "--source", source, "--ack")
    after = files_in_tip(cli.folder / ".gitmail")
    path = "memory/facts/parser/owner.md"
    told = git(cli.folder / ".gitmail", "log", "-p", "--", path)

    new = {name for name in after if name not in before}
    assert {name.split("/")[0] for name in new} == {"memory", "receipts"}
    assert path in new
    assert "+builder" in told
    assert source in told


def _without_color(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)
