"""Full-text search in mail that the caller may see (CAPABILITIES R14)."""

import re
import sqlite3
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidArgumentError, InvalidNameError
from gitmail.store.index import WORD
from gitmail.store.schema import TABLES
from tests.helpers import START, SettableClock
from tests.mailboxes import bodies, refused, reopened, still


def send(agent: Agent, *texts: str, **said: Any) -> list[str]:
    """Send a message of each text to reviewer in one commit; return the ids."""
    drafts = [{"to": "reviewer", "body": text, **said} for text in texts]
    return [sent.message.id for sent in agent.send_many(drafts)]


def found(agent: Agent, query: str, **said: Any) -> list[str]:
    """Return the bodies that a search finds."""
    return bodies(agent.search(query, **said))


def test_all_words_must_occur(builder: Agent, reviewer: Agent) -> None:
    """In the subject or the body, in any order, newest first (R14)."""
    send(builder, "the parser is fast")
    send(builder, "the parser is slow", subject="Lexer")
    send(builder, "the lexer is fast")

    assert found(reviewer, "parser") == ["the parser is slow", "the parser is fast"]
    assert found(reviewer, "fast parser") == ["the parser is fast"]
    assert found(reviewer, "lexer slow") == ["the parser is slow"]
    assert found(reviewer, "parser fast lexer") == []
    assert found(reviewer, "parse") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Déjà vu", "deja"),
        ("deja vu", "DÉJÀ"),
        ("de\u0301ja\u0300 vu", "d\u00e9j\u00e0"),
        ("d\u00e9j\u00e0 vu", "de\u0301ja\u0300"),
        ("Ärger mit Straße", "arger straße"),
        ("ΑΘΗΝΑ", "αθηνα"),
        (
            "\u041c\u041e\u0421\u041a\u0412\u0410",
            "\u043c\u043e\u0441\u043a\u0432\u0430",
        ),
        ("東京 タワー", "東京"),
        ("हिन्दी में", "हिन्दी"),
        ("snake_case_name", "case"),
        ("snake_case_name", "snake_case_name"),
        ("call foo.bar(baz)", "foo.bar"),
        ("see src/parser.py:12", "parser.py"),
        ('He said "no!"', '"no!"'),
        ("C++ and C#", "c++"),
        ("2026-11-30", "2026-11-30"),
        ("issue #42", "#42"),
        ("NOT AND OR NEAR", "not and or near"),
        ("a*b^c", "b*"),
        ("it's", "it's"),
        ("tab\tnew\nline", "line new"),
        ("x\ufeffy", "x"),
        ("soft\u00adhyphen", "soft"),
        ("\u19b0\u19c8a\u19b0b", "a"),
        ("word\u1cf2", "word"),
        ("from:somebody", "somebody"),
    ],
)
def test_words_are_found_whatever_their_case_accents_and_punctuation(
    builder: Agent, reviewer: Agent, text: str, query: str
) -> None:
    """Both sides are cut into words in the same way (R14)."""
    send(builder, text, "something else")

    assert found(reviewer, query) == [text]


@pytest.mark.parametrize(
    "query",
    [
        'a" OR "b',
        "NEAR(a b)",
        "text : a",
        "a AND NOT b",
        "^a",
        "{a b}",
        "a*",
        "(((",
        "';--",
        "a\0b",
        "a\u19b0b",
        "\u1cf2x\u1cf3",
        "\U0001e900\U000e0100x",
        "\ud800 a",
        "word:",
        ":word",
        "from:",
        "to: a",
    ],
)
def test_no_query_has_a_meaning_of_its_own(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, query: str
) -> None:
    """Each is words, or is refused; the index stays what it is (R14, I8)."""
    send(builder, "a word")

    with suppress(InvalidArgumentError):
        assert set(found(reviewer, query)) <= {"a word"}
    assert found(reviewer, "a word") == ["a word"]
    assert mailbox.store._keeper._index is mailbox.store._keeper.index()


@pytest.mark.parametrize("query", ["", " ", "?!", "from:builder", "kind:note to:lead"])
def test_a_query_without_words_is_refused(
    mailbox: Mailbox, reviewer: Agent, query: str
) -> None:
    """Filters alone are a matter of polling or history (R14)."""
    problem = refused(mailbox, reviewer.search, query)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "query"


def test_a_query_of_too_many_words_is_refused(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """Thirty-two are enough (R14)."""
    assert reviewer.search(" ".join(["x"] * 32)) == []
    problem = refused(mailbox, reviewer.search, " ".join(["x"] * 33))

    assert isinstance(problem, InvalidArgumentError)


def test_filters_stand_in_the_query_or_beside_it(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """From, to and kind; in the query they count more (R14)."""
    lead = mailbox.agent("lead")
    send(builder, "x 1", kind="brief")
    send(lead, "x 2", cc="builder")
    reviewer.send(to="lead", body="x 3")
    builder.send(to="all", body="x 4", kind="brief")

    assert found(reviewer, "x from:builder") == ["x 4", "x 1"]
    assert found(reviewer, "FROM:BUILDER x") == ["x 4", "x 1"]
    assert found(reviewer, "x", sender="Builder") == ["x 4", "x 1"]
    assert found(reviewer, "x to:lead") == ["x 4", "x 3"]
    assert found(reviewer, "x", recipient="builder") == ["x 2"]
    assert found(reviewer, "x kind:Brief to:reviewer") == ["x 4", "x 1"]
    assert found(reviewer, "x from:lead to:builder kind:note") == ["x 2"]
    assert found(reviewer, "x from:lead", sender="builder") == ["x 2"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"query": "x kind:memo"}, InvalidArgumentError),
        ({"query": "x", "kind": "memo"}, InvalidArgumentError),
        ({"query": "x", "order": "worst"}, InvalidArgumentError),
        ({"query": "x from:a/b"}, InvalidNameError),
        ({"query": "x to:team:core"}, InvalidNameError),
        ({"query": "x", "sender": "a b"}, InvalidNameError),
        ({"query": "x", "recipient": "all"}, InvalidNameError),
    ],
)
def test_a_filter_that_is_not_accepted_is_refused(
    mailbox: Mailbox, reviewer: Agent, said: dict[str, Any], error: type
) -> None:
    """As with a poll (R14)."""
    assert isinstance(refused(mailbox, reviewer.search, **said), error)


def test_only_mail_that_the_caller_may_see_is_found(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """A word that occurs in somebody else's mail only is as good as none (R14, R16)."""
    builder.send(to="lead", body="private word", subject="Secret")
    builder.send(to="lead", bcc="reviewer", body="blind word")
    builder.send(to="all", body="public word")
    mailbox.register("late", teams=["core"])
    builder.send(to="team:core", body="team word")

    late = mailbox.agent("late")
    assert found(reviewer, "private") == found(reviewer, "secret") == []
    assert found(reviewer, "word") == ["team word", "public word", "blind word"]
    assert found(late, "word") == ["team word", "public word"]
    assert found(builder, "word") == [
        "team word",
        "public word",
        "blind word",
        "private word",
    ]


def test_each_message_is_found_once(builder: Agent, reviewer: Agent) -> None:
    """Through however many addresses one may see it (R14)."""
    builder.send(to="reviewer,team:core", cc="all,reviewer", bcc="reviewer", body="x")

    (item,) = reviewer.search("x")
    assert item.state == "pending"
    assert len(builder.search("x")) == 1


def test_a_search_finds_at_most_the_limit(builder: Agent, reviewer: Agent) -> None:
    """Twenty, or as many as are asked for, the newest ones (R14)."""
    for number in range(25):
        send(builder, f"x {number}")

    assert found(reviewer, "x") == [f"x {n}" for n in range(24, 4, -1)]
    assert found(reviewer, "x", limit=2) == ["x 24", "x 23"]
    assert len(found(reviewer, "x", limit=200)) == 25


def test_the_limit_is_of_what_the_caller_may_see(
    builder: Agent, reviewer: Agent
) -> None:
    """Other people's mail takes no place (R14)."""
    send(builder, "x mine")
    for number in range(5):
        builder.send(to="lead", body=f"x {number}")

    assert found(reviewer, "x", limit=1) == ["x mine"]


def test_the_best_match_comes_first_if_asked_for(
    builder: Agent, reviewer: Agent
) -> None:
    """Short and to the point before long (R14)."""
    send(
        builder, "parser " + "word " * 200, "parser", "word parser " * 2 + "more " * 90
    )

    best = found(reviewer, "parser", order="BEST")

    assert best[0] == "parser"
    assert sorted(best) == sorted(found(reviewer, "parser", order="recent"))


def test_an_excerpt_shows_the_place_with_markers(
    builder: Agent, reviewer: Agent
) -> None:
    """All words that were looked for are marked, as they stand in the text (R14)."""
    after = "after " * 60
    send(builder, f"{'before ' * 40}the Parser\nis a parser. {after}parser")

    (item,) = reviewer.search("PARSER the")

    excerpt = item.excerpt or ""
    assert "«the» «Parser» is a «parser»." in excerpt
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert len(excerpt) < 300
    assert item.text is None


def test_an_excerpt_of_a_short_message_is_all_of_it(
    builder: Agent, reviewer: Agent
) -> None:
    """The subject stands before the body (R14)."""
    send(builder, "no\n\nvery long Café", subject="Über")

    (item,) = reviewer.search("cafe uber")

    assert item.excerpt == "«Über» no very long «Café»"


def test_the_newest_is_first_whatever_order_mail_arrived_in(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """By the date of the message (R14)."""
    for days in (3, 1, 2):
        clock = still(START + timedelta(days=days))
        with Mailbox.open(mailbox.path, clock=clock) as other:
            other.agent("builder").send(to="reviewer", body=f"x {days}")

    assert found(reviewer, "x") == ["x 3", "x 2", "x 1"]


def test_the_same_is_found_without_the_index(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """There is no search-only state (DESIGN 7)."""
    lead = mailbox.agent("lead")
    for number in range(5):
        for agent, subject in ((builder, "B"), (lead, "A")):
            send(agent, f"x {number}", subject=subject)

    expected = reviewer.search("x", limit=20)
    with reopened(mailbox, clock) as other:
        assert other.agent("reviewer").search("x", limit=20) == expected


def test_every_word_of_a_query_is_one_word_to_the_index() -> None:
    """SQLite refuses a word that it would cut in two (R14)."""
    tokenizer = re.search(r'tokenize="([^"]*)"', TABLES)
    assert tokenizer
    database = sqlite3.connect(":memory:")
    database.execute(
        f"CREATE VIRTUAL TABLE words USING fts5 (text, tokenize='{tokenizer[1]}')"
    )
    database.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (words, 'instance')")
    letters = [
        chr(code)
        for code in range(0x110000)
        if chr(code).isalnum() and WORD.fullmatch(chr(code))
    ]
    database.executemany(
        "INSERT INTO words (rowid, text) VALUES (?, ?)",
        ((ord(letter), f"a{letter}b") for letter in letters),
    )

    cut = database.execute(
        "SELECT doc FROM terms GROUP BY doc HAVING count(*) > 1"
    ).fetchall()
    database.close()

    assert len(letters) > 100_000
    assert [chr(row[0]) for row in cut] == []


def test_a_sign_beside_a_word_is_no_part_of_it(builder: Agent, reviewer: Agent) -> None:
    """Whatever SQLite's tables of Unicode know of the sign (R14)."""
    send(builder, "Done\N{ROBOT FACE}", "\N{ROCKET}shipped\N{MELTING FACE}")

    assert found(reviewer, "done") == ["Done\N{ROBOT FACE}"]
    assert len(found(reviewer, "shipped")) == 1


def test_no_filter_or_order_lets_memory_into_mail_search(
    builder: Agent, reviewer: Agent
) -> None:
    """Its words are in an index of their own (Y10)."""
    send(builder, "a word")
    builder.memory.add("word in a note", tags="word")
    builder.memory.set("fact", "word", "word", "word in a fact", source="word")

    for agent in (builder, reviewer):
        assert found(agent, "word") == ["a word"]
        assert found(agent, "word", order="best") == ["a word"]
        assert found(agent, "word from:builder kind:note") == ["a word"]
        assert found(agent, "fact") == []
