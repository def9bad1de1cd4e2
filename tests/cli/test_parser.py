"""Where options and arguments may stand."""

import itertools
from collections.abc import Callable

import pytest

from tests.cli.conftest import CommandLine

_PARTS = (["MESSAGE"], ["BODY"], ["--as", "reviewer"], ["--importance=low"])
_ORDERS = [
    list(itertools.chain(*order))
    for order in itertools.permutations(_PARTS)
    if order.index(["MESSAGE"]) < order.index(["BODY"])
]


@pytest.mark.parametrize("argv", _ORDERS, ids=" ".join)
def test_options_stand_before_between_and_after_the_arguments(
    argv: list[str], cli: CommandLine, send: Callable[..., str]
) -> None:
    """Any order that keeps MESSAGE before BODY means the same."""
    message = send()
    reply = cli.ok("reply", *[message if x == "MESSAGE" else x for x in argv])

    assert reply["message"]["reply_to"] == message
    assert (reply["message"]["from"], reply["message"]["importance"]) == (
        "reviewer",
        "low",
    )
    assert cli.ok("--as", "builder", "read", reply["message"]["id"])["message"][
        "body"
    ] == ("BODY")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["poll", "--limt", "5"], "--limt 5"),
        (["poll", "extra"], "extra"),
        (["whois", "a", "b", "--json=1"], "argument --json"),
        (["send", "--to", "a", "two", "words"], "words"),
        (["poll", "--lim", "5"], "--lim 5"),
        (["wait", "--limit"], "argument --limit"),
    ],
)
def test_what_is_not_understood_is_named(
    argv: list[str], said: str, cli: CommandLine
) -> None:
    """Options are never guessed from their first letters."""
    ran = cli(*argv)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert f"See: gitmail {argv[0]} --help" in ran.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["send", "--to", "lead", "--expires-in", "-2h", "x"], "expires_in '-2h'"),
        (["wait", "--timeout", "-2h"], "--timeout '-2h'"),
        (["search", "x", "--from", "-a"], "'-a' is no"),
    ],
)
def test_a_value_may_start_with_a_dash(
    argv: list[str], said: str, cli: CommandLine
) -> None:
    """What an option takes is its value, and judged as one."""
    assert said in cli("--as", "builder", *argv).err
    sent = cli.ok("--as", "builder", "send", "--to", "lead", "--subject", "-v", "x")
    assert sent["message"]["subject"] == "-v"
    missing = cli("--as", "builder", "send", "--to", "lead", "--subject", "--json", "x")
    assert "expected one argument" in missing.err


@pytest.mark.parametrize(
    "body", ["-5", "-.5", "- a list", "--as in a sentence", "-", "--", "--json"]
)
def test_a_body_may_start_with_a_dash(body: str, cli: CommandLine) -> None:
    """What is no option is a text, and after -- everything is."""
    dashes = ["--"] if body in ("-", "--", "--json") else []
    stdin = "-" if body == "-" else ""
    sent = cli.ok(
        "--as", "builder", "send", "--to", "reviewer", *dashes, body, stdin=stdin
    )
    read = cli.ok("--as", "reviewer", "read", sent["message"]["id"])

    assert read["message"]["body"] == body
