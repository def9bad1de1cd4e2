"""Forgetting: notes and facts go, world facts and lessons retire (Y4 to Y6)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
    MemoryNotFoundError,
    QuarantinedError,
    TooManyMatchesError,
)
from gitmail.mailbox.memory_values import Forgotten
from tests.helpers import SettableClock, files_in_tip
from tests.mailboxes import edit, refused, reopened, steps, tip, values

FILTERS = ("text", "substring", "source", "episode", "tag")


@pytest.fixture(name="notes")
def _notes(builder: Agent) -> list[str]:
    """Return the ids of four notes: one, two, three and four."""
    add = builder.memory.add
    said: list[dict[str, Any]] = [
        {"text": "one cache", "tags": "io,perf", "source": "s1", "episode": "e1"},
        {"text": "two Cache", "tags": "perf", "source": "s2", "episode": "e1"},
        {"text": "three", "tags": "IO", "source": "s1"},
        {"text": "four\ncache hit"},
    ]
    return [add(**each).record.id for each in said]


def gone(forgotten: Forgotten) -> list[str]:
    """Return the first word of each value that went, oldest first."""
    return [each.record.value.split()[0] for each in forgotten.records]


def left(agent: Agent) -> list[str]:
    """Return the first word of each note in force, oldest first."""
    found = values(agent.memory.list("note", limit=200))
    return [value.split()[0] for value in reversed(found)]


def memory_paths(mailbox: Mailbox) -> list[str]:
    """Return the paths of memory in the tip."""
    return [path for path in files_in_tip(mailbox.path) if path.startswith("memory/")]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"text": "three"}, ["three"]),
        ({"text": "four\ncache hit"}, ["four"]),
        ({"text": "thr"}, []),
        ({"text": "THREE"}, []),
        ({"text": " three"}, []),
        ({"substring": "cache"}, ["one", "four"]),
        ({"substring": "Cache"}, ["two"]),
        ({"substring": "\ncache"}, ["four"]),
        ({"substring": "%"}, []),
        ({"substring": "o_e"}, []),
        ({"source": "s1"}, ["one", "three"]),
        ({"source": " s1 "}, ["one", "three"]),
        ({"source": "S1"}, []),
        ({"episode": "e1"}, ["one", "two"]),
        ({"episode": "e"}, []),
        ({"tag": "io"}, ["one", "three"]),
        ({"tag": " IO "}, ["one", "three"]),
        ({"tag": "i"}, []),
    ],
)
def test_each_filter_finds_what_it_says(
    mailbox: Mailbox,
    builder: Agent,
    notes: list[str],
    filters: dict[str, Any],
    expected: list[str],
) -> None:
    """Text, source and episode exactly; tags as they are compared elsewhere (Y4)."""
    before = tip(mailbox)
    forgotten = builder.memory.forget("note", **filters)

    assert gone(forgotten) == expected
    assert forgotten.count == len(expected)
    kept = [w for w in ("one", "two", "three", "four") if w not in expected]
    assert left(builder) == kept
    assert len(memory_paths(mailbox)) == len(kept) <= len(notes)
    assert forgotten.commit == (tip(mailbox) if expected else None)
    assert expected or tip(mailbox) == before


@pytest.mark.parametrize(
    ("filters", "any_of", "all_of"),
    [
        ({"tag": "io", "episode": "e1"}, ["one", "two", "three"], ["one"]),
        (
            {"substring": "cache", "source": "s1"},
            ["one", "three", "four"],
            ["one"],
        ),
        ({"text": "three", "tag": "perf"}, ["one", "two", "three"], []),
        (
            {"text": "one cache", "substring": "one", "tag": "perf", "source": "s1"},
            ["one", "two", "three"],
            ["one"],
        ),
        ({"tag": "unheard of", "text": "three"}, ["three"], []),
    ],
)
def test_filters_match_any_or_all(
    builder: Agent,
    notes: list[str],
    filters: dict[str, Any],
    any_of: list[str],
    all_of: list[str],
) -> None:
    """Any, where nothing is said (Y4)."""
    forget = builder.memory.forget

    for match, expected in (("any", any_of), (None, any_of), (" ALL ", all_of)):
        found = forget("note", **filters, match=match, dry_run=True)
        assert gone(found) == expected
    assert gone(forget("note", **filters, match="all")) == all_of
    assert len(left(builder)) == len(notes) - len(all_of)


def test_a_dry_run_shows_what_would_go_and_writes_nothing(
    mailbox: Mailbox, builder: Agent, notes: list[str]
) -> None:
    """The same list as that of the act, for notes and slots (Y4)."""
    memory = builder.memory
    for scope in ("fact", "world", "lesson"):
        memory.set(scope, "x", "a", "1")
        memory.set(scope, "x", "b", "2")
    calls: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("note",), {"tag": "io", "text": "four\ncache hit"}),
        (("note", notes[1]), {}),
        (("fact", "x"), {}),
        (("world", "x", "a"), {}),
        (("lesson", "X", "b"), {}),
    ]
    for args, said in calls:
        before, paths = tip(mailbox), memory_paths(mailbox)

        shown = memory.forget(*args, **said, dry_run=True)

        assert (tip(mailbox), memory_paths(mailbox)) == (before, paths)
        assert (shown.is_dry_run, shown.commit) == (True, None)
        done = memory.forget(*args, **said)
        assert (done.records, done.count) == (shown.records, shown.count)
        assert (done.is_dry_run, done.commit) == (False, tip(mailbox))


def test_twenty_notes_may_go_at_once_and_no_more(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Twenty-one are refused with a sample, until the caller is sure (Y4)."""
    ids = [builder.memory.add(f"junk {n}", tags="junk").record.id for n in range(21)]
    builder.memory.add("kept")

    problem = refused(mailbox, builder.memory.forget, "note", tag="junk")

    assert isinstance(problem, TooManyMatchesError)
    assert problem.details == {
        "count": 21,
        "limit": 20,
        "sample": [
            {"revision": note, "value": f"junk {n}"} for n, note in enumerate(ids[:5])
        ],
    }
    shown = builder.memory.forget("note", tag="junk", dry_run=True)
    assert shown.count == len(shown.records) == 21
    commits = mailbox.status().commit_count
    done = builder.memory.forget("note", tag="junk", confirm=True)
    assert (done.count, done.records) == (21, shown.records)
    assert mailbox.status().commit_count == commits + 1
    assert left(builder) == ["kept"]


def test_twenty_notes_need_no_confirmation(builder: Agent) -> None:
    """It is more than twenty that is suspicious (Y4)."""
    for number in range(20):
        builder.memory.add(f"junk {number}")

    assert builder.memory.forget("note", substring="junk").count == 20
    assert left(builder) == []


def test_very_many_notes_are_counted_and_the_first_are_shown(
    mailbox: Mailbox, builder: Agent
) -> None:
    """An answer stays readable (Y4)."""
    for number in range(205):
        builder.memory.add(f"junk {number}")

    done = builder.memory.forget("note", substring="junk", confirm=True)

    assert (done.count, len(done.records)) == (205, 200)
    assert memory_paths(mailbox) == []


def test_a_sample_shows_the_start_of_long_notes(
    mailbox: Mailbox, builder: Agent
) -> None:
    """An error is no place for 64 KiB (Y4)."""
    for number in range(21):
        builder.memory.add(f"{number} " + "x" * 2000, tags="junk")

    problem = refused(mailbox, builder.memory.forget, "note", tag="junk")

    sample: Any = problem.details["sample"]
    assert [len(each["value"]) < 500 for each in sample] == [True] * 5


@pytest.mark.parametrize("digits", [8, 40])
def test_a_note_is_forgotten_by_its_id(
    mailbox: Mailbox, builder: Agent, notes: list[str], digits: int
) -> None:
    """Whoever wrote it (Y4)."""
    done = mailbox.agent("lead").memory.forget("note", notes[1][:digits].upper())

    assert (done.count, gone(done)) == (1, ["two"])
    assert left(builder) == ["one", "three", "four"]


@pytest.mark.parametrize(
    ("note", "error"),
    [
        ("0" * 40, MemoryNotFoundError),
        ("deadbeef", MemoryNotFoundError),
        ("abc", InvalidNameError),
        ("one cache", InvalidNameError),
        (5, InvalidNameError),
    ],
)
def test_what_names_no_note_is_refused(
    mailbox: Mailbox, builder: Agent, notes: list[str], note: Any, error: type
) -> None:
    """Nothing goes that was not meant (Y4)."""
    assert isinstance(refused(mailbox, builder.memory.forget, "note", note), error)
    assert len(left(builder)) == len(notes)


def test_a_note_that_was_forgotten_is_not_there(
    mailbox: Mailbox, builder: Agent, notes: list[str]
) -> None:
    """Forgetting it twice is refused; by a filter it is no match (Y4)."""
    builder.memory.forget("note", notes[0])

    problem = refused(mailbox, builder.memory.forget, "note", notes[0])
    assert isinstance(problem, MemoryNotFoundError)
    assert builder.memory.forget("note", text="one cache").count == 0


@pytest.mark.parametrize("said", [{}, {"match": "all"}, {"confirm": True}])
def test_forgetting_notes_without_a_filter_is_refused(
    mailbox: Mailbox, builder: Agent, notes: list[str], said: dict[str, Any]
) -> None:
    """Nobody means all of them by saying nothing; the error names filters (Y12)."""
    for entity in (None, ""):
        problem = refused(mailbox, builder.memory.forget, "note", entity, **said)

        assert isinstance(problem, InvalidArgumentError)
        assert problem.details["argument"] == "entity"
        assert all(name in problem.message for name in FILTERS)
    assert len(left(builder)) == len(notes)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("", InvalidArgumentError),
        (" \n", InvalidArgumentError),
        (5, InvalidArgumentError),
        (["x"], InvalidArgumentError),
    ],
)
def test_an_empty_filter_is_refused(
    mailbox: Mailbox,
    builder: Agent,
    notes: list[str],
    name: str,
    value: Any,
    error: type,
) -> None:
    """An empty substring would match every note (Y4)."""
    problem = refused(
        mailbox, builder.memory.forget, "note", **{name: value}, confirm=True
    )

    assert isinstance(problem, error)
    assert problem.details["argument"] == name
    assert len(left(builder)) == len(notes)


@pytest.mark.parametrize(
    ("said", "error", "argument"),
    [
        ({"match": "most"}, InvalidArgumentError, "match"),
        ({"match": ""}, InvalidArgumentError, "match"),
        ({"match": 1}, InvalidArgumentError, "match"),
        ({"confirm": "yes"}, InvalidArgumentError, "confirm"),
        ({"confirm": 1}, InvalidArgumentError, "confirm"),
        ({"dry_run": None}, InvalidArgumentError, "dry_run"),
        ({"dry_run": "no"}, InvalidArgumentError, "dry_run"),
        ({"reason": ""}, InvalidArgumentError, "reason"),
        ({"reason": "x" * 201}, InvalidArgumentError, "reason"),
        ({"reason": "a\nb"}, InvalidTextError, "reason"),
        ({"reason": 5}, InvalidArgumentError, "reason"),
        ({"source": "a\nb"}, InvalidTextError, "source"),
        ({"tag": "a\0"}, InvalidTextError, "tag"),
        ({"tag": "x" * 65}, InvalidArgumentError, "tag"),
        ({"episode": "x" * 121}, InvalidArgumentError, "episode"),
    ],
)
def test_what_is_said_about_forgetting_is_checked(
    mailbox: Mailbox,
    builder: Agent,
    notes: list[str],
    said: dict[str, Any],
    error: type,
    argument: str,
) -> None:
    """The error names the argument; nothing goes (Y4)."""
    problem = refused(
        mailbox, builder.memory.forget, "note", **{"substring": "o", **said}
    )

    assert isinstance(problem, error)
    shown = problem.details.get("argument") or problem.details.get("field")
    assert shown == argument
    assert len(left(builder)) == len(notes)


def test_an_id_and_filters_are_not_mixed(
    mailbox: Mailbox, builder: Agent, notes: list[str]
) -> None:
    """Nobody can tell what that would mean (Y4)."""
    problem = refused(mailbox, builder.memory.forget, "note", notes[0], tag="io")

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "entity"


def test_a_note_has_no_attribute(
    mailbox: Mailbox, builder: Agent, notes: list[str]
) -> None:
    """The verbs that take notes and slots refuse it (Y12)."""
    memory = builder.memory
    for verb in (memory.forget, memory.restore, memory.history):
        problem = refused(mailbox, verb, "note", notes[0], "attribute")
        assert isinstance(problem, InvalidArgumentError)
        assert problem.details["argument"] == "attribute"


@pytest.mark.parametrize("scope", ["fact", "world", "lesson"])
@pytest.mark.parametrize(
    ("args", "said", "argument"),
    [
        ((), {}, "entity"),
        ((None, "owner"), {}, "entity"),
        (("", "owner"), {}, "entity"),
        (("parser", ""), {}, "attribute"),
        (("parser", 5), {}, "attribute"),
        (("parser",), {"text": "x"}, "scope"),
        (("parser",), {"tag": "x"}, "scope"),
        (("parser", "owner"), {"match": "any"}, "scope"),
        ((), {"substring": "x"}, "scope"),
    ],
)
def test_slots_go_by_their_names_alone(
    mailbox: Mailbox,
    builder: Agent,
    scope: str,
    args: tuple[Any, ...],
    said: dict[str, Any],
    argument: str,
) -> None:
    """No entity, an attribute without one, or a filter of notes (Y12)."""
    builder.memory.set(scope, "parser", "owner", "builder")

    problem = refused(mailbox, builder.memory.forget, scope, *args, **said)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == argument
    assert values(builder.memory.list(scope)) == ["builder"]


def test_a_fact_leaves_the_tree_and_every_answer(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Only git still has it (Y5)."""
    builder.memory.set("fact", "Parser", "owner", "a word")
    builder.memory.set("fact", "Parser", "home", "another word")

    done = reviewer.memory.forget("fact", "PARSER", "Owner", reason="wrong")

    assert (done.count, gone(done)) == (1, ["a"])
    assert memory_paths(mailbox) == ["memory/facts/parser/home.md"]
    with reopened(mailbox, clock) as other:
        for memory in (builder.memory, other.agent("builder").memory):
            assert values(memory.list(retired=True)) == ["another word"]
            assert values(memory.search("word", retired=True)) == ["another word"]
            assert values(memory.get_entity("fact", "parser")) == ["another word"]
            problem = refused(mailbox, memory.get, "fact", "parser", "owner")
            assert isinstance(problem, MemoryNotFoundError)


def test_all_facts_of_an_entity_go_in_one_commit(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Those of other entities and scopes stay (Y5)."""
    memory = builder.memory
    for scope, entity in (("fact", "a"), ("fact", "a b"), ("world", "a")):
        memory.set(scope, entity, "x", "1")
        memory.set(scope, entity, "y", "2")
    commits = mailbox.status().commit_count

    done = memory.forget("fact", "A", reason="gone")

    assert (done.count, sorted(gone(done))) == (2, ["1", "2"])
    assert mailbox.status().commit_count == commits + 1
    assert len(memory.get_entity("fact", "a b").records) == 2
    assert len(memory.get_entity("world", "a").records) == 2
    assert len(memory_paths(mailbox)) == 4


@pytest.mark.parametrize("scope", ["world", "lesson"])
def test_world_facts_and_lessons_retire(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, scope: str
) -> None:
    """With reason, by whom and when; the value stays in its file (Y6, I4)."""
    said: Any = {"source": "s", "confidence": 0.5, "tags": "t"}
    record = builder.memory.set(scope, "Python", "latest", "3.14", **said).record

    done = reviewer.memory.forget(scope, "python", "Latest", reason="2: outdated")

    assert done.count == 1
    assert len(memory_paths(mailbox)) == 1
    (shown,) = builder.memory.list(scope, retired=True).records
    retired = shown.record
    assert retired.is_retired
    assert (retired.retired_by, retired.reason) == ("reviewer", "2: outdated")
    assert retired.retired_at is not None
    assert retired.retired_at > record.set_at
    assert (retired.value, retired.set_by, retired.set_at, retired.source) == (
        record.value,
        record.set_by,
        record.set_at,
        record.source,
    )
    assert mailbox.log(limit=1)[0].operation == "memory-retire"


@pytest.mark.parametrize("scope", ["world", "lesson"])
def test_what_has_retired_leaves_every_answer_but_history(
    mailbox: Mailbox, builder: Agent, scope: str, clock: SettableClock
) -> None:
    """Unless the retired are asked for; also when the index is made anew (Y6)."""
    builder.memory.set(scope, "python", "latest", "a word")
    builder.memory.forget(scope, "python")

    with reopened(mailbox, clock) as other:
        for memory in (builder.memory, other.agent("lead").memory):
            assert memory.list().records == memory.list(scope).records == ()
            assert memory.search("word").records == ()
            for act, args in (
                (memory.get, (scope, "python", "latest")),
                (memory.get_entity, (scope, "python")),
                (memory.forget, (scope, "python", "latest")),
                (memory.forget, (scope, "python")),
            ):
                problem = refused(mailbox, act, *args)
                assert isinstance(problem, MemoryNotFoundError)
            assert values(memory.list(scope, retired=True)) == ["a word"]
            assert values(memory.search("word", retired=True)) == ["a word"]
            history = memory.history(scope, "python", "latest")
            assert steps(history) == [
                ("memory-set", "a word"),
                ("memory-retire", "a word"),
            ]


def test_retiring_an_entity_leaves_what_had_retired_before(builder: Agent) -> None:
    """Its reason and its date stay what they were (Y6)."""
    memory = builder.memory
    memory.set("world", "python", "a", "1")
    memory.set("world", "python", "b", "2")
    memory.forget("world", "python", "a", reason="first")

    done = memory.forget("world", "python", reason="second")

    assert gone(done) == ["2"]
    retired = memory.list("world", retired=True).records
    assert {r.record.attribute: r.record.reason for r in retired} == {
        "a": "first",
        "b": "second",
    }


@pytest.mark.parametrize("scope", ["fact", "world", "lesson"])
def test_forgetting_what_is_not_there_is_refused(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """With what was probably meant; a dry run too (Y12)."""
    builder.memory.set(scope, "parser", "owner", "builder")
    for args, similar in (
        (("parsr",), ["parser"]),
        (("parser", "ownr"), ["owner"]),
        (("parsr", "owner"), ["parser"]),
        (("unheard of",), []),
    ):
        for dry_run in (False, True):
            problem = refused(
                mailbox, builder.memory.forget, scope, *args, dry_run=dry_run
            )
            assert isinstance(problem, MemoryNotFoundError)
            assert problem.details["similar"] == similar


@pytest.mark.parametrize("folder", ["facts", "world", "lessons"])
def test_an_entity_with_a_file_that_is_no_slot_is_not_forgotten_in_part(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, folder: str
) -> None:
    """The caller would take it for gone; its other slots can go by name (Y5)."""
    scope = {"facts": "fact", "world": "world", "lessons": "lesson"}[folder]
    forget = builder.memory.forget
    for attribute in ("a", "b"):
        builder.memory.set(scope, "parser", attribute, attribute)
    path = f"memory/{folder}/parser/b.md"
    stray = f"memory/{folder}/parser/stray.txt"
    edit(mailbox.path, tmp_path / "one", {path: "nonsense", stray: "a person's"})

    for dry_run in (True, False):
        problem = refused(mailbox, forget, scope, "Parser", dry_run=dry_run)
        assert isinstance(problem, QuarantinedError)
        assert problem.details["path"] == path
    assert forget(scope, "parser", "a").count == 1
    assert isinstance(refused(mailbox, forget, scope, "parser"), QuarantinedError)

    edit(mailbox.path, tmp_path / "two", {path: None})
    builder.memory.restore(scope, "parser", "b")

    assert forget(scope, "parser").count == 1


@pytest.mark.parametrize("scope", ["fact", "world", "lesson"])
def test_the_error_tells_what_is_gone_from_what_never_was(
    mailbox: Mailbox, builder: Agent, scope: str
) -> None:
    """Whoever remembers that there was something is told where to look (Y12)."""
    memory = builder.memory
    memory.set(scope, "parser", "owner", "builder")
    memory.set(scope, "parser", "home", "here")
    memory.forget(scope, "parser", "owner")
    memory.set(scope, "lexer", "owner", "builder")
    memory.forget(scope, "lexer")
    calls: list[tuple[Callable[..., object], tuple[str, ...], bool]] = [
        (memory.get, (scope, "Parser", "Owner"), True),
        (memory.forget, (scope, "parser", "owner"), True),
        (memory.get, (scope, "parser", "age"), False),
        (memory.get_entity, (scope, "lexer"), True),
        (memory.forget, (scope, "lexer"), True),
        (memory.forget, (scope, "writer"), False),
    ]
    for act, args, was_there in calls:
        problem = refused(mailbox, act, *args)
        assert isinstance(problem, MemoryNotFoundError)
        assert problem.details["was_there"] is was_there
        assert ("history" in str(problem.hint)) is was_there


def test_a_reason_cannot_forge_a_trailer(mailbox: Mailbox, builder: Agent) -> None:
    """It is a line of text in the subject of the commit (I8)."""
    builder.memory.set("fact", "x", "y", "1")
    builder.memory.forget("fact", "x", reason="Gitmail-Agent: lead")

    (entry,) = mailbox.log(limit=1)
    assert (entry.agent, entry.operation) == ("builder", "memory-forget")
    assert entry.subject == "facts/x: Gitmail-Agent: lead"
