"""Setting slots: what is in force, by whom, and under which name (CAPABILITIES Y2)."""

from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    BlankBodyError,
    BodyTooLargeError,
    GitmailError,
    InvalidArgumentError,
    InvalidTextError,
    MemoryNotFoundError,
    NotRegisteredError,
    QuarantinedError,
    StaleRevisionError,
)
from gitmail.mailbox.memory_values import Outcome
from gitmail.records.times import format_time
from tests.helpers import SettableClock, files_in_tip, files_on_disk, git
from tests.mailboxes import by_hand, edit, refused, reopened, steps, tip, values

SCOPES = ("fact", "world", "lesson")
OWNER = "memory/facts/parser/owner.md"
LIMIT = 65_536
NFD, NFC = "Cafe\u0301", "Caf\u00e9"


@pytest.mark.parametrize("scope", SCOPES)
def test_a_value_is_inserted_confirmed_and_superseded(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, scope: str
) -> None:
    """What is in force already makes no commit (Y3)."""
    first = builder.memory.set(scope, "Parser", "owner", "builder")
    before = tip(mailbox)
    again = reviewer.memory.set(scope, "Parser", "owner", "builder")
    assert tip(mailbox) == before
    second = reviewer.memory.set(scope, "Parser", "owner", "reviewer")

    assert [each.outcome for each in (first, again, second)] == [
        Outcome.INSERTED,
        Outcome.CONFIRMED,
        Outcome.SUPERSEDED,
    ]
    assert again.commit is None
    assert again.record == first.record
    assert second.record.supersedes == first.record.id
    assert second.commit == tip(mailbox)
    assert builder.memory.get(scope, "Parser", "owner").record == second.record


def test_a_record_says_all_that_was_said(builder: Agent, clock: SettableClock) -> None:
    """Names, value, who, when, source, confidence and tags (Y2)."""
    before = clock.now
    stored = builder.memory.set(
        "world",
        "Python",
        "Latest",
        "3.14\n\n- fast\n",
        source="https://www.python.org/",
        confidence=0.75,
        tags="Language, runtime",
    )

    record = builder.memory.get("world", "python", "latest").record
    assert record == stored.record
    assert (record.entity, record.attribute) == ("Python", "Latest")
    assert record.value == "3.14\n\n- fast\n"
    assert (record.set_by, record.source) == ("builder", "https://www.python.org/")
    assert before < record.set_at <= clock.now
    assert (record.confidence, record.tags) == (0.75, ("language", "runtime"))
    assert not record.is_retired


@pytest.mark.parametrize("scope", SCOPES)
def test_the_revision_is_the_blob_of_the_file(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """In the tree, and beside the repository (I1, I4)."""
    record = builder.memory.set(scope, "parser", "owner", "builder").record

    folder = {"fact": "facts", "world": "world", "lesson": "lessons"}[scope]
    path = f"memory/{folder}/parser/owner.md"
    assert files_in_tip(mailbox.path)[path] == record.id
    assert files_on_disk(mailbox.path)[path] == record.id
    assert git(mailbox.path, "cat-file", "-p", record.id).endswith("\nbuilder\n")


def test_a_slot_keeps_its_path_for_ever(mailbox: Mailbox, builder: Agent) -> None:
    """So that the history of the path is that of the slot (I4)."""
    memory = builder.memory
    memory.set("world", "parser", "owner", "1")
    memory.forget("world", "parser", "owner")
    memory.restore("world", "parser", "owner")
    memory.set("world", "PARSER", " owner", "2")

    log = git(mailbox.path, "log", "--format=%s", "--", "memory/world/parser/owner.md")
    assert log.splitlines() == [
        "memory-set: world/parser/owner",
        "memory-restore: world/parser/owner",
        "memory-retire: world/parser/owner",
        "memory-set: world/parser/owner",
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"source": "another"},
        {"confidence": 0.5},
        {"tags": ["x"]},
        {"tags": []},
    ],
)
def test_the_same_value_with_something_new_is_a_new_version(
    builder: Agent, said: dict[str, Any]
) -> None:
    """The source, the confidence and the tags are part of what is said (Y3)."""
    known: dict[str, Any] = {"source": "one", "confidence": 0.25, "tags": ["y"]}
    builder.memory.set("fact", "parser", "owner", "builder", **known)

    stored = builder.memory.set("fact", "parser", "owner", "builder", **said)

    assert stored.outcome is Outcome.SUPERSEDED
    assert stored.commit


@pytest.mark.parametrize(
    "said",
    [
        {"source": "one"},
        {"source": " one "},
        {"confidence": 0.25},
        {"confidence": 0.2500001},
        {"tags": ["b", "A"]},
        {"tags": "a,b,a"},
    ],
)
def test_the_same_value_with_nothing_new_is_confirmed(
    builder: Agent, said: dict[str, Any]
) -> None:
    """Tags in any order; a confidence as a file can hold it (Y3)."""
    known: dict[str, Any] = {"source": "one", "confidence": 0.25, "tags": ["a", "b"]}
    builder.memory.set("fact", "parser", "owner", "builder", **known)

    stored = builder.memory.set("fact", "parser", "owner", "builder", **said)

    assert (stored.outcome, stored.commit) == (Outcome.CONFIRMED, None)


def test_a_contested_value_is_settled_by_setting_it(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Even to what it is: somebody has decided (DESIGN 10)."""
    record = builder.memory.set("fact", "parser", "owner", "builder").record
    text = record.data.decode().replace("\n---\n", f"\ncontested: [{'a' * 40}]\n---\n")
    edit(mailbox.path, tmp_path / "work", {OWNER: text})
    shown = builder.memory.get("fact", "parser", "owner").record
    assert shown.contested == ("a" * 40,)

    stored = builder.memory.set("fact", "parser", "owner", "builder")

    assert stored.outcome is Outcome.SUPERSEDED
    assert stored.record.contested == ()
    assert builder.memory.get("fact", "parser", "owner").record.contested == ()


def test_tags_stay_unless_some_are_given(builder: Agent) -> None:
    """Source and confidence do not, for they are about the value (Y3)."""
    memory = builder.memory
    memory.set("fact", "x", "y", "1", tags=["a", "b"], source="s", confidence=1)

    second = memory.set("fact", "x", "y", "2").record
    assert (second.tags, second.source, second.confidence) == (("a", "b"), None, None)
    assert memory.set("fact", "x", "y", "3", tags="c").record.tags == ("c",)
    assert memory.set("fact", "x", "y", "4", tags=()).record.tags == ()
    memory.set("world", "x", "y", "1", tags=["a"])
    memory.forget("world", "x")
    assert memory.set("world", "x", "y", "2").record.tags == ("a",)


def test_unknown_keys_of_a_file_survive(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Through setting, retiring and restoring, in their order (DESIGN 5)."""
    record = builder.memory.set("world", "python", "latest", "3.14").record
    unknown = "x-zebra: 1  # kept\nx-ape: [a, b]\n"
    path = "memory/world/python/latest.md"
    text = record.data.decode().replace("\n---\n", f"\n{unknown}---\n")
    edit(mailbox.path, tmp_path / "work", {path: text})

    def file() -> str:
        return git(mailbox.path, "show", f"gitmail:{path}")

    memory = builder.memory
    assert unknown in file()
    memory.set("world", "python", "latest", "3.15")
    assert unknown in file()
    memory.forget("world", "python")
    assert unknown in file()
    memory.restore("world", "python", "latest")
    assert unknown in file()
    assert memory.get("world", "python", "latest").record.value == "3.15"


@pytest.mark.parametrize(
    "spelling",
    ["PARSER x", " parser  X ", "Parser\N{NO-BREAK SPACE}x", "parser\N{EM SPACE}x"],
)
def test_case_and_spacing_make_no_other_slot(builder: Agent, spelling: str) -> None:
    """The spelling first used is the one shown."""
    memory = builder.memory
    memory.set("fact", "Parser x", "Owner Of", "builder")

    stored = memory.set("fact", spelling, "owner  OF", "reviewer")

    assert stored.outcome is Outcome.SUPERSEDED
    assert (stored.record.entity, stored.record.attribute) == ("Parser x", "Owner Of")
    shown = memory.get("fact", spelling, "OWNER of").record
    assert (shown.entity, shown.attribute) == ("Parser x", "Owner Of")
    assert values(memory.list("fact")) == ["reviewer"]
    assert len(memory.history("fact", spelling, "owner of").revisions) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NFC, NFD),
        ("STRASSE", "stra\u00dfe"),
        ("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2"),
        ("\u212bngstr\u00f6m", "a\u030angstro\u0308m"),
        ("\ud55c", "\u1112\u1161\u11ab"),
    ],
)
def test_two_unicode_forms_are_one_name(builder: Agent, one: str, other: str) -> None:
    """As people read them; also where upper case has more letters."""
    builder.memory.set("fact", one, one, "1")

    assert builder.memory.set("fact", other, other, "1").outcome is Outcome.CONFIRMED
    shown = builder.memory.get("fact", other, other).record.entity
    assert shown == normalize("NFC", one)


def test_a_new_attribute_has_the_entity_as_spelt_first(builder: Agent) -> None:
    """In another scope, or once all of it is gone, it may be spelt anew."""
    memory = builder.memory
    memory.set("fact", "Parser", "owner", "1")

    assert memory.set("fact", "PARSER", "Home", "2").record.entity == "Parser"
    assert memory.set("world", "PARSER", "Home", "2").record.entity == "PARSER"
    memory.forget("fact", "parser")
    assert memory.set("fact", "parser", "OWNER", "3").record.entity == "parser"


@pytest.mark.parametrize(
    "name",
    [
        ".",
        "..",
        "...",
        "/",
        "../../mailbox",
        "a/b",
        "a\\b",
        "-",
        "--help",
        "~",
        ".git",
        "x.lock",
        "README.md",
        "con",
        "NUL",
        "aux.txt",
        "com1",
        "lpt\u00b9",
        "\N{ROCKET}",
        "\N{ROCKET}\N{ROCKET}",
        "\u6771\u4eac",
        "null",
        "no",
        "1",
        "a: b",
        "#x",
        "'",
        '"',
        "[x]",
        "{x}",
        "!x",
        "&x",
        "*x",
        "%x",
        "- x",
        "\u200b",
        "\u202etxt",
        "\ufeffx",
        "\u0130",
        "\u0149",
        "x" * 200,
        "\u00e9" * 200,
        "\N{ROCKET}" * 200,
    ],
)
def test_any_line_of_text_is_a_name(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, name: str
) -> None:
    """It is shown as it was given; its file has a plain name that fits anywhere."""
    before = files_in_tip(mailbox.path)
    for scope in SCOPES:
        builder.memory.set(scope, name, name, scope)

    with reopened(mailbox, clock) as other:
        memory = other.agent("builder").memory
        assert other.status().quarantine == ()
        for scope in SCOPES:
            record = memory.get(scope, name, name).record
            assert (record.entity, record.attribute) == (name, name)
            assert record.value == scope
    new = files_in_tip(mailbox.path).keys() - before.keys()
    assert len(new) == 3
    for path in new:
        assert len(path) < 200
        folder, entity, attribute = path.removeprefix("memory/").split("/")
        assert folder in ("facts", "world", "lessons")
        for part in (entity, attribute.removesuffix(".md")):
            assert part.strip("abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
            assert part[0] not in ".-"


def test_names_whose_slugs_are_alike_are_different_slots(
    mailbox: Mailbox, builder: Agent
) -> None:
    """What the slug lost is in the digest beside it."""
    names = ["a b", "a-b", "a.b", "a_b", "a/b", "a - b", "a+b", "\u00e4 b", "x" * 40]
    names += ["x" * 41, "x" * 42, "\N{ROCKET}", "\N{ROBOT FACE}", "..", "..."]
    for name in names:
        for attribute in ("a b", "a-b"):
            builder.memory.set("fact", name, attribute, f"{name}, {attribute}")

    for name in names:
        for attribute in ("a b", "a-b"):
            record = builder.memory.get("fact", name, attribute).record
            assert record.value == f"{name}, {attribute}"
        assert len(builder.memory.get_entity("fact", name).records) == 2
    paths = [p for p in files_in_tip(mailbox.path) if p.startswith("memory/")]
    assert len({path.lower() for path in paths}) == 2 * len(names)


def test_the_name_of_a_file_is_a_name_of_its_own(builder: Agent) -> None:
    """Whoever takes what they saw on disk for a name reaches no other slot."""
    builder.memory.set("fact", "a b", "x", "1")
    (folder,) = {
        each.path.split("/")[2]
        for each in builder.memory.history("fact", "a b").revisions
    }

    assert builder.memory.set("fact", folder, "x", "2").outcome is Outcome.INSERTED
    assert builder.memory.get("fact", "a b", "x").record.value == "1"


@pytest.mark.parametrize("field", ["entity", "attribute"])
@pytest.mark.parametrize(
    ("name", "error", "details"),
    [
        ("", InvalidArgumentError, {"accepted": "1 to 200 characters"}),
        ("  ", InvalidArgumentError, {"accepted": "1 to 200 characters"}),
        (None, InvalidArgumentError, {"value": "None"}),
        (5, InvalidArgumentError, {"value": "5"}),
        (["x"], InvalidArgumentError, {"value": "['x']"}),
        (
            "x" * 201,
            InvalidArgumentError,
            {"accepted": "it has 201 characters, the limit is 200"},
        ),
        (
            "x" * 500,
            InvalidArgumentError,
            {"accepted": "it has 500 characters, the limit is 200"},
        ),
        ("a\nb", InvalidTextError, {"character": "U+000A", "position": 2}),
        ("a\tb", InvalidTextError, {"character": "U+0009", "position": 2}),
        ("a\0", InvalidTextError, {"character": "U+0000", "position": 2}),
        ("\x1b[31m", InvalidTextError, {"character": "U+001B", "position": 1}),
        ("a\x7f", InvalidTextError, {"character": "U+007F", "position": 2}),
        ("a\u2028b", InvalidTextError, {"character": "U+2028", "position": 2}),
        ("ab\ud800", InvalidTextError, {"character": "U+D800", "position": 3}),
    ],
)
def test_what_is_no_name_is_refused(
    mailbox: Mailbox,
    builder: Agent,
    field: str,
    name: Any,
    error: type,
    details: dict[str, Any],
) -> None:
    """By each verb that takes one, in each scope; the error names the argument."""
    builder.memory.set("fact", "x", "y", "value")
    said = {"entity": "x", "attribute": "y", field: name}
    memory = builder.memory
    for scope in SCOPES:
        problems = [
            refused(mailbox, memory.set, scope, **said, value="v"),
            refused(mailbox, memory.get, scope, **said),
            refused(mailbox, memory.restore, scope, **said),
        ]
        if name is not None:  # forget and history take an entity as a whole
            problems += [
                refused(mailbox, memory.forget, scope, **said),
                refused(mailbox, memory.history, scope, **said),
            ]
        for problem in problems:
            assert isinstance(problem, error)
            assert field in (problem.details.get(key) for key in ("argument", "field"))
            assert details.items() <= problem.details.items()


@pytest.mark.parametrize("scope", ["", "facts", "note", "notes", "Fakt", None, 5])
def test_an_unknown_scope_is_refused(
    mailbox: Mailbox, builder: Agent, scope: Any
) -> None:
    """By each verb of slots; the error names those there are (Y12)."""
    memory = builder.memory
    for problem in (
        refused(mailbox, memory.set, scope, "x", "y", "value"),
        refused(mailbox, memory.get, scope, "x", "y"),
    ):
        assert problem.code == "invalid_argument"
        assert problem.details["argument"] == "scope"
        if isinstance(scope, str):
            assert problem.details["accepted"] == "one of fact, world, lesson"


@pytest.mark.parametrize("scope", ["", "facts", "notes", None])
def test_an_unknown_scope_is_refused_also_where_notes_are_meant(
    mailbox: Mailbox, builder: Agent, scope: Any
) -> None:
    """By the verbs of slots and notes (Y12)."""
    memory = builder.memory
    for verb, args in (
        (memory.forget, ("x", "y")),
        (memory.restore, ("x", "y")),
        (memory.history, ("x", "y")),
        (memory.get_entity, ("x",)),
    ):
        problem = refused(mailbox, verb, scope, *args)
        assert problem.code == "invalid_argument"
        assert problem.details["accepted"] == "one of note, fact, world, lesson"


def test_a_scope_may_be_in_any_case(builder: Agent) -> None:
    """As other choices are."""
    builder.memory.set("FACT", "x", "y", "value")

    assert builder.memory.get(" Fact ", "x", "y").record.value == "value"


@pytest.mark.parametrize("value", ["", " ", "\n\n", "\t", "\N{NO-BREAK SPACE}"])
def test_a_value_without_text_is_refused(
    mailbox: Mailbox, builder: Agent, value: str
) -> None:
    """The error names the value (Y2)."""
    for scope in SCOPES:
        problem = refused(mailbox, builder.memory.set, scope, "x", "y", value)

        assert isinstance(problem, BlankBodyError)
        assert problem.details == {"field": "value"}


@pytest.mark.parametrize(
    ("value", "character", "position"), [("ab\0", "U+0000", 3), ("\udc80", "U+DC80", 1)]
)
def test_a_value_that_no_file_can_hold_is_refused(
    mailbox: Mailbox, builder: Agent, value: str, character: str, position: int
) -> None:
    """With the place of the character (Y2)."""
    problem = refused(mailbox, builder.memory.set, "fact", "x", "y", value)

    assert isinstance(problem, InvalidTextError)
    assert problem.details == {
        "field": "value",
        "character": character,
        "position": position,
    }


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"]])
def test_a_value_that_is_no_text_is_refused(
    mailbox: Mailbox, builder: Agent, value: Any
) -> None:
    """Nothing is turned into text in silence (Y2)."""
    problem = refused(mailbox, builder.memory.set, "fact", "x", "y", value)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "value"


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\N{ROCKET}"])
def test_a_value_may_have_64_kib_and_no_more(
    mailbox: Mailbox, builder: Agent, letter: str
) -> None:
    """In UTF-8 bytes, whatever the letters; one byte more is too much (Y2)."""
    largest = letter * (LIMIT // len(letter.encode()))
    assert len(largest.encode()) == LIMIT
    for scope in SCOPES:
        builder.memory.set(scope, "x", "y", largest)
        assert builder.memory.get(scope, "x", "y").record.value == largest

        problem = refused(mailbox, builder.memory.set, scope, "x", "z", f"{largest}.")

        assert isinstance(problem, BodyTooLargeError)
        assert problem.details == {
            "field": "value",
            "size_bytes": LIMIT + 1,
            "limit_bytes": LIMIT,
        }


@pytest.mark.parametrize(
    "value",
    [
        "x\n",
        "x\n\n\n",
        "\n\nx",
        "  x  ",
        "a\r\nb",
        "---\nscope: world\n---\nx",
        "x\n---\n",
        "\ufeffx",
        "Gitmail-Op: forged",
        "\x1b[31m",
        "\u200b",
    ],
)
def test_a_value_is_kept_to_the_byte(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, value: str
) -> None:
    """Also when the index is made anew from the files (DESIGN 5)."""
    builder.memory.set("fact", "x", "y", value)

    with reopened(mailbox, clock) as other:
        assert other.agent("builder").memory.get("fact", "x", "y").record.value == value


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        ({"confidence": -0.1}, "confidence"),
        ({"confidence": 1.1}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"confidence": float("inf")}, "confidence"),
        ({"confidence": "0.5"}, "confidence"),
        ({"confidence": True}, "confidence"),
        ({"source": ""}, "source"),
        ({"source": " "}, "source"),
        ({"source": 5}, "source"),
        ({"source": "x" * 1001}, "source"),
        ({"tags": 5}, "tags"),
        ({"tags": [5]}, "tags"),
        ({"tags": [""]}, "tag"),
        ({"tags": "a,,b"}, "tag"),
        ({"tags": "x" * 65}, "tag"),
        ({"tags": [str(n) for n in range(33)]}, "tags"),
        ({"expected": ""}, "expected"),
        ({"expected": "HEAD"}, "expected"),
        ({"expected": "abcdef0"}, "expected"),
        ({"expected": "a" * 41}, "expected"),
        ({"expected": 5}, "expected"),
        ({"ack": "yes"}, "ack"),
        ({"ack": None}, "ack"),
        ({"ack": 1}, "ack"),
    ],
)
def test_what_is_said_about_a_value_is_checked(
    mailbox: Mailbox, builder: Agent, said: dict[str, Any], argument: str
) -> None:
    """The error names the argument; nothing is written."""
    for scope in SCOPES:
        problem = refused(mailbox, builder.memory.set, scope, "x", "y", "v", **said)

        assert isinstance(problem, InvalidArgumentError)
        assert problem.details["argument"] == argument
    assert files_in_tip(mailbox.path).keys() == files_on_disk(mailbox.path).keys()


@pytest.mark.parametrize("field", ["source", "tags"])
@pytest.mark.parametrize("text", ["a\nb", "a\0b", "a\ud800b", "a\u2029b"])
def test_control_characters_are_refused_in_what_is_said(
    mailbox: Mailbox, builder: Agent, field: str, text: str
) -> None:
    """They could start another line of the header."""
    said: dict[str, Any] = {field: [text] if field == "tags" else text}

    problem = refused(mailbox, builder.memory.set, "fact", "x", "y", "v", **said)

    assert isinstance(problem, InvalidTextError)
    assert problem.details["position"] == 2


@pytest.mark.parametrize("digits", [8, 12, 40])
def test_the_expected_revision_may_be_in_force(builder: Agent, digits: int) -> None:
    """In full, or its first 8 or more digits in any case (Y3)."""
    revision = builder.memory.set("fact", "x", "y", "1").record.id

    stored = builder.memory.set(
        "fact", "x", "y", "2", expected=revision[:digits].upper()
    )

    assert stored.outcome is Outcome.SUPERSEDED


def test_a_stale_revision_is_refused_with_what_is_in_force(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Its value, and who set it when, so that the caller can decide (Y3)."""
    first = builder.memory.set("fact", "x", "y", "1").record
    second = reviewer.memory.set("fact", "x", "y", "2", expected=first.id).record

    problem = refused(
        mailbox, builder.memory.set, "fact", "x", "y", "3", expected=first.id
    )

    assert isinstance(problem, StaleRevisionError)
    assert problem.details == {
        "name": "fact x y",
        "expected": first.id,
        "in_force": {
            "revision": second.id,
            "value": "2",
            "set_by": "reviewer",
            "set_at": format_time(second.set_at),
        },
    }
    assert builder.memory.get("fact", "x", "y").record == second


def test_a_long_value_in_force_is_cut_in_the_error(
    mailbox: Mailbox, builder: Agent
) -> None:
    """An error is no place for 64 KiB (Y3)."""
    builder.memory.set("fact", "x", "y", "x" * LIMIT)

    problem = refused(
        mailbox, builder.memory.set, "fact", "x", "y", "3", expected="none"
    )

    in_force: Any = problem.details["in_force"]
    assert len(in_force["value"]) < 500


def test_nothing_can_be_expected(mailbox: Mailbox, builder: Agent) -> None:
    """Where nothing is in force: never set, removed or retired (Y3)."""
    memory = builder.memory
    for scope in SCOPES:
        assert memory.set(scope, "x", "y", "1", expected="none").commit
        problem = refused(mailbox, memory.set, scope, "x", "y", "2", expected="NONE")
        assert isinstance(problem, StaleRevisionError)
        memory.forget(scope, "x", "y")
        assert memory.set(scope, "x", "y", "3", expected=" None ").commit


def test_a_retired_version_can_be_expected(builder: Agent) -> None:
    """It stands at the path, and what comes after it says so (I4)."""
    memory = builder.memory
    before = memory.set("world", "x", "y", "1").record
    memory.forget("world", "x", "y")
    (retired,) = memory.list("world", retired=True).records

    stored = memory.set("world", "x", "y", "2", expected=retired.record.id[:8])

    assert retired.record.id != before.id
    assert stored.outcome is Outcome.INSERTED
    assert stored.record.supersedes == retired.record.id


def test_what_was_in_force_before_a_retirement_is_stale(
    mailbox: Mailbox, builder: Agent
) -> None:
    """The error says that nothing is in force (Y3)."""
    for scope in SCOPES:
        revision = builder.memory.set(scope, "x", "y", "1").record.id
        builder.memory.forget(scope, "x", "y")

        problem = refused(
            mailbox, builder.memory.set, scope, "x", "y", "2", expected=revision
        )

        assert isinstance(problem, StaleRevisionError)
        assert problem.details["in_force"] is None
        assert "nothing is in force" in problem.message
        assert "none" in str(problem.hint)


def test_a_revision_of_another_slot_is_stale(mailbox: Mailbox, builder: Agent) -> None:
    """Also where this slot never had any (Y3)."""
    other = builder.memory.set("fact", "x", "other", "1").record.id

    problem = refused(
        mailbox, builder.memory.set, "fact", "x", "y", "1", expected=other
    )

    assert isinstance(problem, StaleRevisionError)


def test_repeating_a_set_whose_answer_was_lost_is_confirmed(builder: Agent) -> None:
    """What was expected then is out of force, but the value is in (Y3)."""
    first = builder.memory.set("fact", "x", "y", "1").record.id
    builder.memory.set("fact", "x", "y", "2", expected=first)

    again = builder.memory.set("fact", "x", "y", "2", expected=first)

    assert (again.outcome, again.commit) == (Outcome.CONFIRMED, None)


def test_two_that_set_at_once_do_not_overwrite_each_other(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Both saw the same revision; the second is told of the first (Y3)."""
    seen = builder.memory.set("fact", "parser", "owner", "nobody").record.id
    with Mailbox.open(mailbox.path, clock=clock) as other:
        other.agent("reviewer").memory.set(
            "fact", "parser", "owner", "reviewer", expected=seen
        )

        problem = refused(
            mailbox,
            builder.memory.set,
            "fact",
            "parser",
            "owner",
            "builder",
            expected=seen,
        )

    in_force: Any = problem.details["in_force"]
    assert problem.code == "stale_revision"
    assert (in_force["value"], in_force["set_by"]) == ("reviewer", "reviewer")


def test_a_slot_that_was_never_set_is_not_found(
    mailbox: Mailbox, builder: Agent
) -> None:
    """The error names what was probably meant (Y12)."""
    builder.memory.set("fact", "parser", "owner", "builder")
    memory = builder.memory

    for problem, similar in (
        (refused(mailbox, memory.get, "fact", "parser", "ownr"), ["owner"]),
        (refused(mailbox, memory.get, "fact", "parsr", "owner"), ["parser"]),
        (refused(mailbox, memory.get_entity, "fact", "parsr"), ["parser"]),
        (refused(mailbox, memory.get, "world", "parser", "owner"), []),
    ):
        assert isinstance(problem, MemoryNotFoundError)
        assert problem.code == "not_found"
        assert problem.details["similar"] == similar


def test_an_entity_is_got_with_all_that_is_in_force(builder: Agent) -> None:
    """By attribute; what is retired, and other scopes, are left out."""
    memory = builder.memory
    for attribute in ("b", "C", "a", "d"):
        memory.set("world", "Python", attribute, attribute)
    memory.forget("world", "python", "d")
    memory.set("fact", "python", "e", "e")

    found = memory.get_entity("world", "PYTHON")

    assert values(found) == ["a", "b", "C"]
    assert not found.has_more


def test_who_is_not_registered_has_no_memory(mailbox: Mailbox) -> None:
    """No verb answers a stranger."""
    memory = mailbox.agent("stranger").memory
    for act, args in (
        (memory.set, ("fact", "x", "y", "v")),
        (memory.get, ("fact", "x", "y")),
        (memory.get_entity, ("fact", "x")),
        (memory.add, ("text",)),
        (memory.list, ()),
        (memory.search, ("word",)),
        (memory.supersede, ("a" * 8, "text")),
        (memory.history, ("fact", "x")),
        (memory.history, ("note", "a" * 8)),
        (memory.forget, ("fact", "x")),
        (memory.forget, ("note", "a" * 8)),
        (memory.restore, ("fact", "x", "y")),
        (memory.restore, ("note", "a" * 8)),
    ):
        problem = refused(mailbox, act, *args)
        assert isinstance(problem, NotRegisteredError)


def test_a_retired_agent_that_writes_memory_comes_back(mailbox: Mailbox) -> None:
    """In the same commit, by each verb that writes (G3)."""
    builder, lead = mailbox.agent("builder"), mailbox.agent("lead")
    note = builder.memory.add("a note").record.id
    builder.memory.set("fact", "x", "y", "1")
    memory = lead.memory
    for act in (
        lambda: memory.set("fact", "x", "y", "2"),
        lambda: memory.add("another"),
        lambda: memory.forget("fact", "x"),
        lambda: memory.restore("fact", "x", "y"),
        lambda: memory.supersede(note, "better"),
        lambda: memory.restore("note", note),
        lambda: memory.forget("note", note),
    ):
        mailbox.retire("lead")
        commits = mailbox.status().commit_count
        act()
        assert not mailbox.whois("lead").profile.is_retired
        assert mailbox.status().commit_count == commits + 1


def test_reading_memory_brings_nobody_back(mailbox: Mailbox, builder: Agent) -> None:
    """Who has retired may still look (G3)."""
    builder.memory.set("fact", "x", "y", "1")
    mailbox.retire("lead")
    before = tip(mailbox)
    memory = mailbox.agent("lead").memory

    memory.get("fact", "x", "y")
    memory.list()
    memory.search("1")
    memory.history("fact", "x")
    memory.forget("fact", "x", dry_run=True)

    assert tip(mailbox) == before


def nonsense(mailbox: Mailbox, builder: Agent, work: Path, path: str) -> str:
    """Set a slot and its neighbour, edit the slot into nonsense; return the file."""
    folder, entity, file = path.removeprefix("memory/").split("/")
    scope = {"facts": "fact", "world": "world", "lessons": "lesson"}[folder]
    attribute = file.removesuffix(".md")
    record = builder.memory.set(scope, entity, attribute, "sense").record
    builder.memory.set(scope, entity, "neighbour", "beside")
    edit(mailbox.path, work, {path: "<<<<<<< HEAD\nnonsense\n"})
    return record.data.decode()


@pytest.mark.parametrize("folder", ["facts", "world", "lessons"])
def test_a_slot_edited_into_nonsense_is_refused_until_it_is_repaired(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, folder: str
) -> None:
    """It is named, the rest works, and nothing overwrites what a person wrote."""
    path = f"memory/{folder}/parser/owner.md"
    scope = {"facts": "fact", "world": "world", "lessons": "lesson"}[folder]
    sense = nonsense(mailbox, builder, tmp_path / "one", path)
    memory = builder.memory

    assert [each[0] for each in mailbox.status().quarantine] == [path]
    for problem in (
        refused(mailbox, memory.set, scope, "Parser", "owner", "v"),
        refused(mailbox, memory.set, scope, "parser", "owner", "v", expected="none"),
        refused(mailbox, memory.get, scope, "parser", "owner"),
        refused(mailbox, memory.forget, scope, "parser", "owner"),
        refused(mailbox, memory.restore, scope, "parser", "owner"),
    ):
        assert isinstance(problem, QuarantinedError)
        assert problem.details["path"] == path
        assert problem.details["reason"]
    assert values(memory.list(scope)) == ["beside"]
    assert values(memory.get_entity(scope, "parser")) == ["beside"]
    assert memory.set(scope, "parser", "third", "3").commit
    assert steps(memory.history(scope, "parser", "owner")) == [
        ("memory-set", "sense"),
        (None, None),
    ]

    edit(mailbox.path, tmp_path / "two", {path: sense})

    assert mailbox.status().quarantine == ()
    assert memory.get(scope, "parser", "owner").record.value == "sense"
    assert memory.set(scope, "parser", "owner", "new").outcome is Outcome.SUPERSEDED
    memory.forget(scope, "parser", "owner")
    memory.restore(scope, "parser", "owner")


def test_a_slot_that_a_person_made_nonsense_and_then_deleted_is_free(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Deleting is a repair too; what was there before can be restored."""
    nonsense(mailbox, builder, tmp_path / "one", OWNER)
    edit(mailbox.path, tmp_path / "two", {OWNER: None})

    restored = builder.memory.restore("fact", "parser", "owner")

    assert restored.record.value == "sense"
    assert builder.memory.set("fact", "parser", "owner", "new").commit


def test_a_slot_file_with_the_name_of_another_slot_is_nonsense(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """A copy at another path would answer for what it is not (I4)."""
    record = builder.memory.set("fact", "parser", "owner", "builder").record
    copy = "memory/facts/lexer/owner.md"
    edit(mailbox.path, tmp_path / "work", {copy: record.data.decode()})

    assert [each[0] for each in mailbox.status().quarantine] == [copy]
    assert values(builder.memory.list()) == ["builder"]
    problem = refused(mailbox, builder.memory.set, "fact", "lexer", "owner", "x")
    assert isinstance(problem, QuarantinedError)


@pytest.mark.parametrize(
    "line",
    [
        "scope: facts",
        "scope: note",
        "entity: Other",
        "entity: ' parser'",
        "set_by: A Person",
        "set_at: yesterday",
        "confidence: 2",
        "confidence: 0.12345",
        "tags: [Upper]",
        "supersedes: abc",
        "status: gone",
        "status: retired",
        "retired_at: 2026-11-30T14:00:00Z",
        "contested: [x]",
    ],
)
def test_a_header_that_is_not_right_is_named_with_its_line(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, line: str
) -> None:
    """The person who edits by hand learns where to look (DESIGN 5)."""
    record = builder.memory.set("fact", "parser", "owner", "builder").record
    key = line.partition(":")[0]
    header, body = record.data.decode().removeprefix("---\n").split("---\n", 1)
    kept = [row for row in header.splitlines() if not row.startswith(f"{key}:")]
    text = "\n".join(["---", *kept, line, "---", body])
    edit(mailbox.path, tmp_path / "work", {OWNER: text})

    ((path, reason),) = mailbox.status().quarantine

    assert path == OWNER
    assert reason
    with pytest.raises(GitmailError) as caught:
        builder.memory.get("fact", "parser", "owner")
    assert caught.value.code == "quarantined"


def test_a_person_may_set_a_value_by_hand(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """In a clone, in any editor, and agents go on from there (DESIGN 3)."""
    text = (
        "\ufeff---\r\nscope: fact\r\nattribute: owner\r\nentity: Parser\r\n"
        "set_by: lead\r\nset_at: 2026-11-30T14:00:00Z\r\n---\r\n\r\nlead\r\n"
    )
    edit(mailbox.path, tmp_path / "work", {OWNER: text})

    record = builder.memory.get("fact", "parser", "owner").record
    assert (record.value.strip(), record.set_by) == ("lead", "lead")
    assert builder.memory.set(
        "fact", "parser", "owner", "builder", expected=record.id
    ).commit


@pytest.mark.parametrize(
    ("entity", "tag"),
    [
        ("\u0344" * 200, "t"),
        ("\U0001d160" * 100, "t"),
        ("\u0344" * 100, "t"),
        ("x", "\u00df" * 64),
        ("x", "\u00df" * 32),
        ("x", "\ufb03" * 30),
    ],
)
def test_names_that_grow_when_they_are_composed_can_be_read_or_are_refused(
    mailbox: Mailbox, builder: Agent, clock: SettableClock, entity: str, tag: str
) -> None:
    """What is acknowledged is read by every other reader of the file."""
    before = tip(mailbox)
    try:
        stored = builder.memory.set("fact", entity, "x", "v", tags=[tag])
    except InvalidArgumentError:
        assert tip(mailbox) == before
        return

    with reopened(mailbox, clock) as other:
        assert other.status().quarantine == ()
        got = other.agent("builder").memory.get("fact", entity, "x")
        assert got.record == stored.record


@pytest.mark.parametrize("path", ["memory", "memory/facts", "memory/facts/q"])
def test_a_persons_file_where_a_folder_must_be_is_not_replaced(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, path: str
) -> None:
    """A file that nobody understands stays, and the slots below it are refused."""

    def change(work: Path) -> None:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text("mine", encoding="utf-8")

    by_hand(mailbox.path, tmp_path / "work", change)

    problem = refused(mailbox, builder.memory.set, "fact", "q", "x", "v")

    assert isinstance(problem, QuarantinedError)
    assert problem.details["path"] == path
    assert (mailbox.path / path).is_dir() is False
    assert [each[0] for each in mailbox.status().quarantine] == [path]


def test_of_two_who_expect_the_same_one_wins_even_with_the_same_value(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Who takes a lock, or counts, must know that it was another who did (Y3)."""
    first = builder.memory.set("fact", "lock", "owner", "free").record.id
    taken = builder.memory.set("fact", "lock", "owner", "taken", expected=first)

    for expected in (first, "none"):
        problem = refused(
            mailbox,
            reviewer.memory.set,
            *("fact", "lock", "owner", "taken"),
            expected=expected,
        )
        assert isinstance(problem, StaleRevisionError)
    again = builder.memory.set("fact", "lock", "owner", "taken", expected=first)

    assert again.outcome is Outcome.CONFIRMED  # a retry, of which the answer was lost
    assert again.record == taken.record
    known = reviewer.memory.set(
        "fact", "lock", "owner", "taken", expected=taken.record.id
    )
    assert known.outcome is Outcome.CONFIRMED


def test_what_can_be_read_of_an_entity_is_answered_beside_what_cannot(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """Nothing is left out silently."""
    builder.memory.set("fact", "parser", "owner", "builder")
    builder.memory.set("fact", "parser", "home", "here")
    edit(mailbox.path, tmp_path / "one", {OWNER: "nonsense"})

    found = builder.memory.get_entity("fact", "parser")

    assert values(found) == ["here"]
    assert found.quarantined_count == 1
    builder.memory.forget("fact", "parser", "home")
    with pytest.raises(QuarantinedError):
        builder.memory.get_entity("fact", "parser")
