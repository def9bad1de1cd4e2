"""Each command's answer as JSON, and that each option reaches the verb it is for."""

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import CommandLine

Send = Callable[..., str]


def _ids(answer: Any) -> list[str]:
    return [message["id"] for message in answer["messages"]]


@pytest.mark.parametrize(
    ("option", "marked"),
    [
        (["--from", "lead"], ["--as", "lead"]),
        (["--room", "r"], ["--room", "r"]),
        (["--topic", "Parser"], ["--topic", "parser"]),
        (["--kind", "review"], ["--kind", "review"]),
        (["--importance", "high"], ["--importance", "urgent"]),
    ],
)
@pytest.mark.parametrize("command", [["poll"], ["wait", "--timeout", "0"]])
def test_poll_and_wait_have_the_same_filters(
    command: list[str], option: list[str], marked: list[str], cli: CommandLine
) -> None:
    """A filter leaves what it names (CAPABILITIES R2)."""
    cli.ok("--as", "builder", "send", "--to", "reviewer", "Another.")
    sent = cli.ok("--as", "builder", "send", "--to", "reviewer", "This.", *marked)
    found = cli.ok("--as", "reviewer", *command, *option)

    assert _ids(found) == [sent["message"]["id"]]


def test_poll_shows_by_stage_by_age_by_thread_and_from_a_cursor_on(
    cli: CommandLine, send: Send
) -> None:
    """--unread, --unacked, --any, --overdue, --since, --thread, --after, --limit."""
    read = send("--ack-required")
    acked = send()
    cli.ok("--as", "reviewer", "ack", read, "--stage", "read")
    cli.ok("--as", "reviewer", "ack", acked)
    cli.clock.advance(hours=1)
    cursor = cli.ok("status")["tip"]
    new = send("--ack-required")

    def poll(*argv: str) -> list[str]:
        return _ids(cli.ok("--as", "reviewer", "poll", *argv))

    assert poll() == poll("--unacked") == [read, new]
    assert poll("--unread") == [new]
    assert poll("--any") == [read, acked, new]
    assert poll("--overdue") == [read]
    assert poll("--since", "30m") == [new]
    assert poll("--thread", new[:8]) == [new]
    assert poll("--any", "--after", cursor) == [new]
    assert poll("--limit", "1") == [read]


def test_a_poll_may_acknowledge_its_page_and_show_it_whole(
    cli: CommandLine, send: Send
) -> None:
    """--ack and --full (CAPABILITIES R4, R7)."""
    body = "word " * 200
    message = send(body=body)
    listed = cli.ok("--as", "reviewer", "poll")["messages"][0]
    taken = cli.ok("--as", "reviewer", "poll", "--ack", "--full")

    assert listed["truncated"] is True
    assert (taken["messages"][0]["id"], taken["messages"][0]["body"]) == (message, body)
    assert taken["messages"][0]["state"] == "acked"
    assert taken["commit"] == cli.ok("status")["tip"]
    assert _ids(cli.ok("--as", "reviewer", "wait", "--timeout", "0", "--any")) == [
        message
    ]


def test_a_wait_with_mail_answers_at_once_and_exits_with_0(
    cli: CommandLine, send: Send
) -> None:
    """What is pending already is not waited for (CAPABILITIES R9)."""
    message = send()
    page = cli.ok("--as", "reviewer", "wait", "--ack")

    assert (_ids(page), page["timed_out"]) == ([message], False)


def test_every_option_of_send_reaches_the_message(cli: CommandLine) -> None:
    """Addresses may have commas or be repeated; a body file may be anywhere."""
    sent = cli.ok(
        "send", "--as", "builder", "--to", "reviewer", "--to", "team:core,lead",
        "--cc", "builder", "--bcc", "lead", "--subject", "S", "--kind", "brief",
        "--importance", "urgent", "--ack-required", "--topic", "T", "--room", "R",
        "--request-id", "ID", "--expires-in", "2h", "Body.",
    )  # fmt: skip
    message = sent["message"]
    fields = ("to", "cc", "subject", "kind", "importance", "ack_required", "topic")

    assert {name: message[name] for name in (*fields, "room", "request_id")} == {
        "to": ["reviewer", "team:core", "lead"],
        "cc": ["builder"],
        "subject": "S",
        "kind": "brief",
        "importance": "urgent",
        "ack_required": True,
        "topic": "T",
        "room": "R",
        "request_id": "ID",
    }
    assert message["expires"] > message["date"]
    assert sent["replayed"] is False
    assert {line["name"] for line in sent["deliveries"]} == {
        "reviewer",
        "lead",
        "builder",
    }


def test_a_blind_copy_is_seen_by_its_sender_and_by_its_recipient_alone(
    cli: CommandLine, send: Send
) -> None:
    """No command shows a blind copy to another recipient (CAPABILITIES A2)."""
    message = send("--bcc", "lead")

    def seen_by(name: str) -> Any:
        return cli.ok("--as", name, "read", message)["message"].get("bcc")

    assert seen_by("builder") == seen_by("lead") == ["lead"]
    assert seen_by("reviewer") is None
    assert "lead" not in cli("--as", "reviewer", "read", message).out
    assert "Bcc:   lead" in cli("--as", "builder", "read", message).out


def test_every_option_of_reply_reaches_the_message(
    cli: CommandLine, send: Send
) -> None:
    """A reply says of itself what differs from the message it answers."""
    message = send("--subject", "Parser", "--topic", "T", "--ack-required")
    reply = cli.ok(
        "--as", "reviewer", "reply", message, "--to", "lead", "--cc", "builder",
        "--subject-prefix", "Fwd:", "--importance", "low", "--ack-required",
        "--request-id", "ID", "Body.",
    )["message"]  # fmt: skip

    assert (reply["to"], reply["cc"], reply["subject"]) == (
        ["lead"],
        ["builder"],
        "Fwd: Parser",
    )
    assert (reply["importance"], reply["ack_required"]) == ("low", True)
    assert (reply["topic"], reply["thread"], reply["reply_to"]) == (
        "T",
        message,
        message,
    )


def test_a_retry_with_the_same_request_id_says_that_it_was_sent_before(
    cli: CommandLine, send: Send
) -> None:
    """An identical retry writes nothing (CAPABILITIES S1)."""
    first = send("--request-id", "r1")
    tip = cli.ok("status")["tip"]
    again = cli.ok(
        "--as", "builder", "send", "--to", "reviewer", "--request-id", "r1",
        "The parser is ready.",
    )  # fmt: skip

    assert (again["replayed"], again["message"]["id"]) == (True, first)
    assert cli.ok("status")["tip"] == tip


def test_threads_rooms_history_and_search_show_what_belongs_to_each(
    cli: CommandLine, send: Send
) -> None:
    """The four ways of looking back, with their options."""
    first = send("--room", "parser", "--kind", "brief", body="Nested lists.")
    second = cli.ok("--as", "reviewer", "reply", first, "Lists are fine.")["message"]
    send("--to", "lead", body="Something else.")
    thread = cli.ok("--as", "builder", "thread", first[:8])
    room = cli.ok("--as", "builder", "room", "parser", "--limit", "1")
    history = cli.ok("--as", "builder", "history", "--peer", "lead")
    found = cli.ok("--as", "builder", "search", "lists", "--to", "reviewer")

    assert (thread["thread"], _ids(thread)) == (first, [first, second["id"]])
    assert (room["room"], _ids(room), room["more"]) == ("parser", [first], True)
    assert [m["body"] for m in history["messages"]] == ["Something else."]
    assert (found["query"], _ids(found)) == ("lists", [first])
    for option in (["--kind", "brief"], ["--from", "builder"], ["--order", "best"]):
        best = cli.ok("--as", "builder", "search", "nested", "lists", *option)
        assert (best["query"], _ids(best)) == ("nested lists", [first])
    older = cli.ok("--as", "builder", "history", "--limit", "1")
    rest = cli.ok("--as", "builder", "history", "--after", older["cursor"])
    assert len(older["messages"]) + len(rest["messages"]) == 3


def test_the_log_is_filtered_by_agent_operation_path_and_range(
    cli: CommandLine, send: Send
) -> None:
    """Who did what to which record when (CAPABILITIES V1)."""
    before = cli.ok("status")["tip"]
    message = send()
    cli.ok("--as", "reviewer", "ack", message)

    def log(*argv: str) -> list[tuple[str, str]]:
        return [(e["agent"], e["op"]) for e in cli.ok("log", *argv)["log"]]

    both = [("reviewer", "ack"), ("builder", "send")]
    assert log("--limit", "2") == log(f"{before}..") == log(f"{before[:8]}..HEAD")
    assert log(f"{before}..") == both
    assert log("--agent", "reviewer") == [both[0], ("reviewer", "register")]
    assert log("--op", "send") == log("--path", "messages") == both[1:]
    assert log(before, "--limit", "1") == [("lead", "register")]


def test_the_directory_shows_registers_retires_and_brings_back(
    cli: CommandLine,
) -> None:
    """register, agents, whois, retire and unretire."""
    options = ["--program", "P", "--model", "M", "--description", "D", "--team", "a"]
    changed = cli.ok("register", "lead", *options, "--team", "b")
    again = cli.ok("register", "lead")
    retired = cli.ok("--as", "builder", "retire", "lead")
    listed = cli.ok("agents")
    everybody = cli.ok("agents", "--all")
    back = cli.ok("unretire", "lead")
    whois = cli.ok("whois", "LEAD")["agent"]

    profile = {name: whois[name] for name in ("kind", "program", "model", "teams")}
    assert profile == {
        "kind": "human",
        "program": "P",
        "model": "M",
        "teams": ["a", "b"],
    }
    assert (whois["description"], whois["status"]) == ("D", "active")
    assert changed["new"] is again["new"] is False
    assert ("commit" in changed, "commit" in again) == (True, False)
    assert (retired["agent"]["status"], back["agent"]["status"]) == (
        "retired",
        "active",
    )
    assert listed["retired"] == 1
    assert [a["name"] for a in everybody["agents"]] == ["builder", "lead", "reviewer"]
    assert cli.ok("log", "--op", "retire")["log"][0]["agent"] == "builder"


def test_a_status_names_the_mailbox_its_counts_and_what_is_pending(
    cli: CommandLine, send: Send
) -> None:
    """Every command can say which mailbox it used (DESIGN 3)."""
    send()
    (cli.folder / ".gitmail" / "README.md").unlink()
    status = cli.ok("--as", "reviewer", "status")

    assert status["mailbox"] == str(cli.folder / ".gitmail")
    assert (status["messages"], status["agents"], status["commits"]) == (1, 3, 5)
    assert (status["agent"], status["unread"], status["unacked"]) == ("reviewer", 1, 1)
    assert status["uncommitted"] == [{"path": "README.md", "change": "deleted"}]
    assert (
        "Pending: 1 unacknowledged, 1 of them unread"
        in cli("--as", "reviewer", "status").out
    )


@pytest.mark.parametrize("place", ["below", "option", "environment"])
def test_the_mailbox_is_found_from_below_by_option_and_by_environment(
    place: str, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--mailbox PATH`, then GITMAIL_DIR, then discovery (DESIGN 3)."""
    mailbox = cli.folder / ".gitmail"
    below = cli.folder / "a" / "b"
    below.mkdir(parents=True)
    outside = cli.folder.parent
    monkeypatch.chdir(below if place == "below" else outside)
    if place == "environment":
        monkeypatch.setenv("GITMAIL_DIR", str(mailbox))
    option = ["--mailbox", "project/.gitmail"] if place == "option" else []
    ran = cli.here("--json", *option, "status")

    assert ran.json["mailbox"] == str(mailbox)


def test_a_lone_surrogate_in_an_answer_stays_valid_json(cli: CommandLine) -> None:
    """What an argument's bytes were is shown as an escape, and crashes nothing."""
    ran = cli("--json", "--as", "builder", "search", "word\udcff")

    assert ran.json["query"] == "word\udcff"
    assert "\\udcff" in ran.out


class _Terminal(io.StringIO):
    """Standard error of somebody who watches."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("watched", [True, False])
def test_a_long_piece_of_work_shows_its_progress_to_a_person_and_takes_it_away(
    watched: bool,  # noqa: FBT001 - a parameter of the test
    cli: CommandLine,
    send: Send,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is shown where standard error is no terminal."""
    send()
    local = cli.folder / ".gitmail" / ".git" / "gitmail"
    for file in local.glob("index.sqlite*"):
        file.unlink()
    monkeypatch.setattr("gitmail.cli.shell._PROGRESS_AFTER_S", -1)
    monkeypatch.setattr("gitmail.store.keeper._PROGRESS_STEP", 1)
    seen = _Terminal() if watched else io.StringIO()
    monkeypatch.setattr(sys, "stderr", seen)
    status = cli.ok("status")

    assert status["messages"] == 1
    if watched:
        assert "\rgitmail: 1 records read\x1b[K" in seen.getvalue()
        assert seen.getvalue().endswith("\r\x1b[K")
    else:
        assert seen.getvalue() == ""
