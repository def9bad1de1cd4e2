"""Listing and searching what is in force (CAPABILITIES Y9, Y10, Y12)."""

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidArgumentError, InvalidNameError, InvalidTextError
from gitmail.mailbox.receiving import Query
from gitmail.mailbox.values import Page
from tests.helpers import START, SettableClock
from tests.mailboxes import bodies, edit, pending, refused, reopened, tip, values

LONG_S = 60.0
"""Longer than any test takes; a wait that it ends has failed."""


def found(agent: Agent, query: str, **said: Any) -> list[str]:
    """Return the values that a search of memory finds."""
    return values(agent.memory.search(query, **said))


@pytest.fixture(name="known")
def _known(mailbox: Mailbox, builder: Agent, clock: SettableClock) -> None:
    """Let memory hold a record of each scope, an hour between any two."""
    lead = mailbox.agent("lead")
    builder.memory.add("x note", tags="io,perf", source="s1", episode="e")
    clock.advance(hours=1)
    builder.memory.set("fact", "Parser", "owner", "x fact", tags="io", source="s2")
    clock.advance(hours=1)
    lead.memory.set("world", "Python", "latest", "x world", tags="perf", source="s1")
    clock.advance(hours=1)
    lead.memory.set("lesson", "Parser", "speed", "x lesson")
    clock.advance(minutes=1)


def test_all_words_must_occur(builder: Agent) -> None:
    """In any order, in the value, the names or the tags (Y9)."""
    memory = builder.memory
    memory.set("fact", "Parser", "owner", "builder is fast", tags="core")
    memory.set("fact", "Lexer", "owner", "builder is slow")
    memory.add("the parser is slow", tags="perf")

    assert found(builder, "builder fast") == ["builder is fast"]
    assert found(builder, "FAST core parser owner") == ["builder is fast"]
    assert sorted(found(builder, "slow")) == ["builder is slow", "the parser is slow"]
    assert found(builder, "slow perf") == ["the parser is slow"]
    assert found(builder, "slow fast") == []
    assert found(builder, "pars") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("D\u00e9j\u00e0 vu", "deja"),
        ("de\u0301ja\u0300 vu", "D\u00c9J\u00c0"),
        ("\u6771\u4eac \u30bf\u30ef\u30fc", "\u6771\u4eac"),
        ("snake_case_name", "case"),
        ("call foo.bar(baz)", "foo.bar"),
        ("C++ and C#", "c++"),
        ("NOT AND OR NEAR", "not and or near"),
        ("a*b^c", "b*"),
        ('He said "no!"', '"no!"'),
        ("\N{ROCKET}shipped", "shipped"),
    ],
)
def test_words_are_found_whatever_their_case_accents_and_punctuation(
    builder: Agent, text: str, query: str
) -> None:
    """As in mail (Y9)."""
    builder.memory.add("something else")
    builder.memory.add(text)

    assert found(builder, query) == [text]


@pytest.mark.parametrize(
    "query", ["", " ", "?!", "\N{ROCKET}", " ".join(["x"] * 33), "x" * 1001, 5, ["x"]]
)
def test_a_query_that_is_no_words_is_refused(
    mailbox: Mailbox, builder: Agent, query: Any
) -> None:
    """The error names it (Y9)."""
    problem = refused(mailbox, builder.memory.search, query)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "query"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ["lesson", "world", "fact", "note"]),
        ({"scopes": "note"}, ["note"]),
        ({"scopes": "FACT"}, ["fact"]),
        ({"scopes": ["world", "note"]}, ["world", "note"]),
        ({"scopes": "world,note"}, ["world", "note"]),
        ({"entity": " PARSER"}, ["lesson", "fact"]),
        ({"entity": "parse"}, []),
        ({"tags": "io"}, ["fact", "note"]),
        ({"tags": " Perf "}, ["world", "note"]),
        ({"tags": ["io", "perf"]}, ["world", "fact", "note"]),
        ({"tags": "io,perf"}, ["world", "fact", "note"]),
        ({"tags": "unheard of"}, []),
        ({"source": "s1"}, ["world", "note"]),
        ({"source": "s"}, []),
        ({"by": "Builder"}, ["fact", "note"]),
        ({"by": "nobody"}, []),
        ({"since": "90m"}, ["lesson", "world"]),
        ({"since": "1d"}, ["lesson", "world", "fact", "note"]),
        ({"since": START + timedelta(minutes=150)}, ["lesson"]),
        ({"since": "2026-11-30T15:30:00Z"}, ["lesson", "world"]),
        ({"scopes": ["fact", "note"], "tags": ["perf", "io"]}, ["fact", "note"]),
        ({"scopes": ["fact", "world"], "tags": ["perf"]}, ["world"]),
        ({"entity": "parser", "by": "lead"}, ["lesson"]),
        ({"source": "s1", "tags": "perf", "by": "builder"}, ["note"]),
        ({"entity": "parser", "scopes": "note"}, []),
        ({"since": "90m", "by": "builder"}, []),
    ],
)
@pytest.mark.usefixtures("known")
def test_filters_all_apply_and_any_value_of_one_fits(
    builder: Agent, said: dict[str, Any], expected: list[str]
) -> None:
    """AND across kinds, OR within; without words the newest comes first (Y9)."""
    by_word = builder.memory.search("x", **said)
    newest = builder.memory.search(**said)

    assert [each.record.scope for each in newest.records] == expected
    assert sorted(values(by_word)) == sorted(values(newest))
    assert not newest.has_more


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, ["lesson", "world", "fact", "note"]),
        ({"scope": "Fact"}, ["fact"]),
        ({"entity": "PARSER "}, ["lesson", "fact"]),
        ({"tags": "io"}, ["fact", "note"]),
        ({"tags": ["IO", "perf"]}, ["world", "fact", "note"]),
        ({"scope": "note", "tags": "perf"}, ["note"]),
        ({"scope": "world", "entity": "parser"}, []),
    ],
)
@pytest.mark.usefixtures("known")
def test_a_list_is_what_is_in_force_newest_first(
    builder: Agent, said: dict[str, Any], expected: list[str]
) -> None:
    """By scope, entity and tag (Y1, Y2)."""
    shown = builder.memory.list(**said)

    assert [each.record.scope for each in shown.records] == expected
    assert not shown.has_more
    assert {each.excerpt for each in shown.records} <= {None}


@pytest.mark.parametrize(
    ("said", "error", "argument"),
    [
        ({"scopes": "facts"}, InvalidArgumentError, "scope"),
        ({"scopes": ["fact", ""]}, InvalidArgumentError, "scope"),
        ({"scopes": 5}, InvalidArgumentError, "scope"),
        ({"scopes": [None]}, InvalidArgumentError, "scope"),
        ({"entity": ""}, InvalidArgumentError, "entity"),
        ({"entity": "x" * 201}, InvalidArgumentError, "entity"),
        ({"entity": "a\nb"}, InvalidTextError, "entity"),
        ({"tags": ""}, InvalidArgumentError, "tag"),
        ({"tags": 5}, InvalidArgumentError, "tags"),
        ({"source": ""}, InvalidArgumentError, "source"),
        ({"by": "a b"}, InvalidNameError, None),
        ({"by": 5}, InvalidNameError, None),
        ({"since": "yesterday"}, InvalidArgumentError, "since"),
        ({"since": ""}, InvalidArgumentError, "since"),
        ({"retired": "yes"}, InvalidArgumentError, "retired"),
        ({"limit": 0}, InvalidArgumentError, "limit"),
        ({"limit": 201}, InvalidArgumentError, "limit"),
        ({"limit": "5"}, InvalidArgumentError, "limit"),
    ],
)
def test_a_filter_that_is_not_accepted_is_refused(
    mailbox: Mailbox,
    builder: Agent,
    said: dict[str, Any],
    error: type,
    argument: str | None,
) -> None:
    """A slip of the pen must not read as if memory held nothing (Y12)."""
    problem = refused(mailbox, builder.memory.search, "x", **said)

    assert isinstance(problem, error)
    if argument:
        shown = problem.details.get("argument") or problem.details.get("field")
        assert shown == argument


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        ({"scope": "facts"}, "scope"),
        ({"scope": 5}, "scope"),
        ({"scope": ""}, "scope"),
        ({"entity": " "}, "entity"),
        ({"tags": [""]}, "tag"),
        ({"retired": 1}, "retired"),
        ({"limit": True}, "limit"),
    ],
)
def test_a_list_refuses_what_can_fit_nothing(
    mailbox: Mailbox, builder: Agent, said: dict[str, Any], argument: str
) -> None:
    """As a search does (Y12)."""
    problem = refused(mailbox, builder.memory.list, **said)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == argument


def test_the_best_match_comes_first(builder: Agent) -> None:
    """Short and to the point before long; among equals the newer (Y9)."""
    long = "parser " + "word " * 200
    for text in ("parser 1", long, "parser 2", "parser 3"):
        builder.memory.add(text)

    assert found(builder, "parser") == ["parser 3", "parser 2", "parser 1", long]


@pytest.mark.parametrize("verb", ["list", "search"])
def test_there_is_a_limit_and_a_sign_of_more(builder: Agent, verb: str) -> None:
    """The first ones, in the order of all (Y9)."""
    for number in range(5):
        builder.memory.add(f"word {number}")
    memory = builder.memory
    look = partial(memory.search, "word") if verb == "search" else memory.list

    assert values(look(limit=2)) == ["word 4", "word 3"]
    assert look(limit=4).has_more
    assert not look(limit=5).has_more
    assert len(look().records) == 5


def test_a_search_shows_twenty_unless_told_otherwise(builder: Agent) -> None:
    """And says that there are more (Y9)."""
    for number in range(21):
        builder.memory.add(f"word {number}")

    shown = builder.memory.search("word")

    assert (len(shown.records), shown.has_more) == (20, True)
    assert len(builder.memory.search("word", limit=200).records) == 21


def test_an_excerpt_shows_the_place_with_markers(builder: Agent) -> None:
    """The value itself is cut where it is long (Y9)."""
    builder.memory.add(f"{'before ' * 100}the Parser\nis fast. {'after ' * 100}")

    (shown,) = builder.memory.search("PARSER the").records

    assert "«the» «Parser» is fast." in (shown.excerpt or "")
    assert len(shown.excerpt or "") < 300
    assert shown.is_truncated
    assert shown.record.value.startswith(shown.text.removesuffix("..."))
    assert len(shown.text) < 500


def test_a_search_tells_author_date_and_source(builder: Agent) -> None:
    """Whoever reads it can judge it (Y9)."""
    builder.memory.set("fact", "x", "y", "word", source="file:a.py", confidence=0.5)

    (shown,) = builder.memory.search("word").records

    record = builder.memory.get("fact", "x", "y").record
    assert shown.record == record
    assert (record.set_by, record.source, record.confidence) == (
        "builder",
        "file:a.py",
        0.5,
    )


def test_a_contested_slot_says_so(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """With the versions that lost, wherever it is shown (Y9)."""
    record = builder.memory.set("fact", "x", "y", "word").record
    text = record.data.decode().replace("\n---\n", f"\ncontested: [{'a' * 40}]\n---\n")
    edit(mailbox.path, tmp_path / "work", {"memory/facts/x/y.md": text})
    memory = builder.memory

    for shown in (
        memory.get("fact", "x", "y"),
        *memory.list().records,
        *memory.search("word").records,
        *memory.get_entity("fact", "x").records,
    ):
        assert shown.record.contested == ("a" * 40,)


def test_only_what_is_in_force_is_found(builder: Agent) -> None:
    """No earlier value, and nothing that has left (Y9)."""
    memory = builder.memory
    memory.set("fact", "x", "y", "word one")
    memory.set("fact", "x", "y", "word two")
    memory.set("world", "x", "y", "word three")
    memory.set("world", "x", "y", "word four")
    memory.set("fact", "gone", "y", "word five")
    memory.forget("fact", "gone")
    old = memory.add("word six").record.id
    memory.supersede(old, "word seven")

    assert sorted(found(builder, "word")) == ["word four", "word seven", "word two"]
    memory.forget("world", "x")
    assert sorted(found(builder, "word")) == ["word seven", "word two"]
    assert sorted(found(builder, "word", retired=True)) == [
        "word four",
        "word seven",
        "word two",
    ]
    for gone in ("one", "three", "five", "six"):
        assert found(builder, gone, retired=True) == []


def test_the_same_is_found_without_the_index(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """There is no search-only state (DESIGN 7)."""
    memory = builder.memory
    for number in range(6):
        memory.add(f"word {number}", tags=f"t{number % 2}")
        memory.set("fact", f"entity {number}", "x", f"word {number}")
        memory.set("world", f"entity {number}", "x", f"word {number}")
    memory.forget("note", text="word 2")
    memory.forget("world", "entity 3")
    memory.forget("fact", "entity 4")

    calls: list[Callable[[Agent], object]] = [
        lambda agent: agent.memory.search("word", limit=200),
        lambda agent: agent.memory.search("word", retired=True, limit=200),
        lambda agent: agent.memory.search("word", tags="t1"),
        lambda agent: agent.memory.list(limit=200),
        lambda agent: agent.memory.list(retired=True, limit=200),
        lambda agent: agent.memory.get_entity("fact", "Entity 2"),
    ]
    expected = [call(builder) for call in calls]
    with reopened(mailbox, clock) as other:
        agent = other.agent("builder")
        assert [call(agent) for call in calls] == expected


def test_what_another_process_wrote_is_found(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """At once: the tip is the truth (I1)."""
    with Mailbox.open(mailbox.path, clock=clock) as other:
        memory = other.agent("lead").memory
        memory.set("fact", "x", "y", "word 1")
        assert found(builder, "word") == ["word 1"]
        memory.set("fact", "x", "y", "word 2")
        assert found(builder, "word") == ["word 2"]
        memory.forget("fact", "x")
        assert found(builder, "word") == []


def test_mail_is_not_in_memory_nor_memory_in_mail(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """Each has its own search and its own lists (Y10)."""
    builder.send(to="reviewer,builder", subject="word", body="word by mail")
    builder.memory.add("word in a note")
    for scope in ("fact", "world", "lesson"):
        builder.memory.set(scope, "word", "word", f"word in a {scope}")

    for agent in (builder, reviewer):
        assert bodies(agent.search("word")) == ["word by mail"]
        assert bodies(agent.history().items) == ["word by mail"]
        assert len(agent.memory.search("word", limit=200).records) == 4
        assert found(agent, "mail") == []
        assert len(agent.memory.list().records) == 4
    assert mailbox.status().message_count == 1


def test_memory_is_no_mail_to_anybody(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """A cursor from before passes over its commits (I7)."""
    builder.send(to="reviewer", body="one")
    cursor = reviewer.poll().cursor
    builder.memory.add("a note")
    builder.memory.set("fact", "x", "y", "1")
    builder.memory.forget("fact", "x")

    page = reviewer.poll(after=cursor)
    assert page.items == ()
    assert page.cursor == tip(mailbox)
    builder.send(to="reviewer", body="two")
    builder.memory.set("fact", "x", "y", "2")

    for start in (cursor, page.cursor):
        later = reviewer.poll(after=start)
        assert bodies(later.items) == ["two"]
        assert later.cursor == tip(mailbox)
    assert pending(reviewer) == ["one", "two"]


def test_a_wait_goes_on_through_what_is_done_to_memory(
    mailbox: Mailbox,
    builder: Agent,
    reviewer: Agent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The branch moves and the waiter looks, but nothing has come for it (R9)."""
    looks: queue.Queue[str] = queue.Queue()
    answers: queue.Queue[Page] = queue.Queue()
    look = Agent._look

    def noted(self: Agent, query: Query) -> Page:
        page = look(self, query)
        looks.put(page.cursor)
        return page

    monkeypatch.setattr(Agent, "_look", noted)
    waiter = threading.Thread(
        target=lambda: answers.put(reviewer.wait(LONG_S)), daemon=True
    )
    waiter.start()
    for act in (
        lambda: builder.memory.add("a note"),
        lambda: builder.memory.set("world", "x", "y", "1"),
        lambda: builder.memory.forget("world", "x"),
    ):
        act()
        while looks.get(timeout=LONG_S) != tip(mailbox):
            assert waiter.is_alive()
    assert answers.empty()

    builder.send(to="reviewer", body="mail")

    assert bodies(answers.get(timeout=LONG_S).items) == ["mail"]
