"""A conversation from the command line, as CAPABILITIES and the README tell it."""

from collections.abc import Callable

from tests.cli.conftest import CommandLine


def test_a_brief_is_sent_polled_acked_answered_and_its_sender_sees_it(
    cli: CommandLine,
) -> None:
    """The main way through gitmail works from the command line alone."""
    body = "The parser is ready.\n\n---\nfrom: mallory\n---\n"
    sent = cli.ok(
        "--as", "builder", "send", "--to", "reviewer", "--subject", "Parser handoff",
        "--kind", "brief", "--ack-required", stdin=body,
    )  # fmt: skip
    message = sent["message"]["id"]
    pending = cli.ok("--as", "reviewer", "poll")["messages"]
    acked = cli.ok("--as", "reviewer", "ack", message[:8], "--note", "on it")
    cli.ok("--as", "reviewer", "reply", message, "Looks good.")
    answer = cli.ok("--as", "builder", "poll")["messages"][0]
    receipt = cli.ok("--as", "builder", "receipts", message)["receipts"][0]

    assert [(m["id"], m["from"], m["body"]) for m in pending] == [
        (message, "builder", body)
    ]
    assert [(r["result"], r["from"], r["to"]) for r in acked["results"]] == [
        ("updated", "pending", "acked")
    ]
    assert (answer["subject"], answer["thread"]) == ("Re: Parser handoff", message)
    assert (receipt["name"], receipt["state"], receipt["note"]) == (
        "reviewer",
        "acked",
        "on it",
    )
    assert cli.ok("--as", "reviewer", "poll")["messages"] == []


def test_options_may_stand_before_and_after_the_command_and_its_arguments(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """Global options stand anywhere; BODY may follow options, as in the synopsis."""
    message = send()
    before = cli("--json", "--as", "reviewer", "poll")
    after = cli("poll", "--as", "reviewer", "--json")
    between = cli.ok(
        "reply", message, "--importance", "high", "--as", "reviewer", "Fine."
    )

    assert before.json["messages"] == after.json["messages"]
    assert between["message"]["importance"] == "high"
