"""Answers as JSON-ready objects: the fields of each, absent ones left out."""

import json
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AmbiguousIdError,
    BlankBodyError,
    GitmailError,
    InvalidFileError,
    UnknownRecipientError,
)
from gitmail.mailbox.values import Acked, AckOutcome, AckResult
from gitmail.records.message import Location
from gitmail.render import plain
from tests.helpers import SettableClock
from tests.mailboxes import still, tip

COMMIT = "a" * 40
DATE = "2026-11-30T14:00:00.000000Z"


@pytest.fixture(name="fixed")
def _fixed(mailbox: Mailbox) -> Mailbox:
    """Return the mailbox with a clock that stands still, and a place to stamp."""
    moment = mailbox.charter().created.replace(microsecond=0)
    place = Location(branch="main", worktree="compiler", commit=COMMIT)
    return Mailbox.open(mailbox.path, clock=still(moment), location=lambda: place)


def as_json(value: Any) -> Any:
    """Return an answer as it comes out of JSON."""
    return json.loads(json.dumps(value))


def test_a_message_that_says_all_has_all_fields(fixed: Mailbox) -> None:
    """In the order in which a person would read them."""
    with fixed:
        builder, reviewer = fixed.agent("builder"), fixed.agent("reviewer")
        first = builder.send(to="reviewer", body="Hello.").message.id
        sent = reviewer.reply(
            first,
            "One.\n\nTwo.",
            cc="lead",
            bcc="reviewer",
            subject="Subject",
            kind="review",
            importance="urgent",
            ack_required=True,
            topic="topic",
            room="room",
            request_id="r1",
            expires_in="2h",
        ).message.id
        answer = plain.item(reviewer.read(sent))

    expected = {
        "id": sent,
        "thread": first,
        "reply_to": first,
        "from": "reviewer",
        "to": ["builder"],
        "cc": ["lead"],
        "bcc": ["reviewer"],
        "recipients": ["builder", "lead"],
        "subject": "Subject",
        "kind": "review",
        "importance": "urgent",
        "ack_required": True,
        "topic": "topic",
        "room": "room",
        "date": DATE,
        "expires": "2026-11-30T16:00:00.000000Z",
        "location": {"branch": "main", "worktree": "compiler", "commit": COMMIT},
        "request_id": "r1",
        "state": "pending",
        "body": "One.\n\nTwo.",
    }
    assert as_json(answer) == expected
    assert list(answer) == list(expected)


def test_a_message_that_says_little_has_few_fields(builder: Agent) -> None:
    """What is absent is left out, never null or empty."""
    sent = builder.send(to="lead", body="Hello.").message.id

    answer = plain.item(builder.read(sent))

    date = answer.pop("date")
    assert as_json(answer) == {
        "id": sent,
        "thread": sent,
        "from": "builder",
        "to": ["lead"],
        "recipients": ["lead"],
        "kind": "note",
        "importance": "normal",
        "body": "Hello.",
    }
    assert date.startswith("2026-11-30T14:00:00.")


def test_a_long_body_is_a_preview_in_lists(builder: Agent, reviewer: Agent) -> None:
    """With the flag that says so; a short one is the body (R4)."""
    builder.send(to="reviewer", body="# Long\n\n" + "x" * 500)
    builder.send(to="reviewer", body="Short.\n\nMore.")

    long, short = plain.page(reviewer.poll())["messages"]

    assert (long["preview"][-4:], long["truncated"]) == ("x...", True)
    assert "body" not in long
    assert short["body"] == "Short.\n\nMore."
    assert not {"preview", "truncated"} & short.keys()
    assert (long["subject"], short["subject"]) == ("Long", "Short.")


def test_a_send_answers_with_message_commit_deliveries_and_replayed(
    builder: Agent, mailbox: Mailbox
) -> None:
    """A replay has no commit (S1, S2)."""
    said: dict[str, Any] = {"to": "reviewer", "body": "x", "request_id": "r1"}
    first = as_json(plain.sent(builder.send(bcc="lead", **said)))
    again = as_json(plain.sent(builder.send(bcc="lead", **said)))

    assert list(first) == ["message", "commit", "deliveries", "replayed"]
    assert (first["commit"], first["replayed"]) == (tip(mailbox), False)
    assert first["deliveries"] == [
        {
            "name": name,
            "kind": kind,
            "availability": "active",
            "last_seen": DATE,
        }
        for name, kind in (("reviewer", "to"), ("lead", "bcc"))
    ]
    assert not {"body", "preview"} & first["message"].keys()
    assert first["message"]["bcc"] == ["lead"]
    assert again == {
        "message": first["message"],
        "deliveries": first["deliveries"],
        "replayed": True,
    }


def test_a_batch_answers_with_one_commit_and_each_send(builder: Agent) -> None:
    """Replays among them (S3)."""
    drafts = [{"to": "lead", "body": str(n), "request_id": str(n)} for n in range(2)]
    builder.send_many(drafts[:1])
    sent = builder.send_many(drafts)

    answer = as_json(plain.sent_many(sent))
    again = as_json(plain.sent_many(builder.send_many(drafts)))

    assert list(answer) == ["commit", "sent"]
    assert answer["commit"] == sent[1].commit
    assert [each["replayed"] for each in answer["sent"]] == [True, False]
    assert list(again) == ["sent"]


def test_an_empty_page_has_a_cursor_and_no_more(
    mailbox: Mailbox, reviewer: Agent
) -> None:
    """And nothing that would be empty (R1)."""
    assert as_json(plain.page(reviewer.poll())) == {
        "messages": [],
        "cursor": tip(mailbox),
        "more": False,
    }


def test_a_page_notes_that_mail_grants_nothing(builder: Agent, reviewer: Agent) -> None:
    """Wherever there is mail, and that it was cut if it was (R5, R15)."""
    builder.send_many([{"to": "reviewer", "body": "x" * 20_000} for _ in range(2)])

    answer = plain.page(reviewer.poll(full=True))
    small = plain.page(reviewer.poll(limit=1))

    assert list(answer) == ["messages", "cursor", "more", "note"]
    assert answer["more"] is True
    assert answer["note"].startswith(plain.GRANTS_NOTHING)
    assert "32 KiB" in answer["note"]
    assert small["note"] == plain.GRANTS_NOTHING


def test_a_page_tells_of_expired_mail(
    builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Counted and named (R8)."""
    sent = builder.send(to="reviewer", body="x", expires_in="1s").message.id
    clock.advance(minutes=1)

    answer = as_json(plain.page(reviewer.poll()))

    assert answer["continuity"] == {"expired": 1, "ids": [sent]}
    assert "1 unacknowledged" in answer["note"]


def test_a_page_that_was_taken_has_its_commit(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """And shows the new state (R7)."""
    builder.send(to="reviewer", body="x")

    answer = as_json(plain.page(reviewer.poll(ack=True)))

    assert answer["commit"] == tip(mailbox)
    assert answer["messages"][0]["state"] == "acked"


def test_a_wait_says_whether_it_timed_out(builder: Agent, reviewer: Agent) -> None:
    """And how long it took (R9)."""
    empty = as_json(plain.page(reviewer.wait(0)))
    builder.send(to="reviewer", body="x")
    full = as_json(plain.page(reviewer.wait(1)))

    assert list(empty) == ["messages", "cursor", "more", "timed_out", "waited_s"]
    assert empty["timed_out"] is True
    assert isinstance(empty["waited_s"], float)
    assert full["timed_out"] is False


def test_an_ack_answers_per_id(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """What it was and what it is, and the commit if there was one (K2)."""
    sent = builder.send(to="reviewer", body="x").message.id

    first = as_json(plain.acked(reviewer.ack([sent, "0" * 40])))
    again = as_json(plain.acked(reviewer.ack(sent)))

    assert first == {
        "commit": tip(mailbox),
        "results": [
            {"id": sent, "result": "updated", "from": "pending", "to": "acked"},
            {"id": "0" * 40, "result": "not_found"},
        ],
    }
    assert again == {
        "results": [{"id": sent, "result": "unchanged", "from": "acked", "to": "acked"}]
    }


def test_an_ambiguous_id_of_an_ack_has_its_candidates() -> None:
    """Cut to what tells them apart (A8, K2)."""
    result = AckResult(
        id="c0ffee01", outcome=AckOutcome.CONFLICT, matches=("c0ffee01a", "c0ffee01b")
    )

    answer = as_json(plain.acked(Acked(results=(result,), commit=None)))

    assert answer["results"] == [
        {"id": "c0ffee01", "result": "conflict", "matches": ["c0ffee01a", "c0ffee01b"]}
    ]


def test_receipts_are_a_line_per_recipient(builder: Agent, reviewer: Agent) -> None:
    """With times and a note where there are any (K6)."""
    sent = builder.send(to="reviewer,lead", body="x").message.id
    reviewer.ack(sent, note="Done.")

    answer = as_json(plain.receipts(builder.receipts(sent)))

    acked_at = answer["receipts"][0].pop("acked_at")
    assert acked_at.startswith("2026-11-30T14:00:00.")
    assert answer == {
        "id": sent,
        "receipts": [
            {"name": "reviewer", "kind": "to", "state": "acked", "note": "Done."},
            {"name": "lead", "kind": "to", "state": "pending"},
        ],
    }


def test_a_thread_and_a_room_are_messages_with_what_belongs_to_them(
    builder: Agent,
) -> None:
    """Their name, counts and participants (R13)."""
    sent = builder.send(to="lead", body="x", room="room").message.id

    thread = as_json(plain.conversation(builder.thread(sent), "thread"))
    room = as_json(plain.conversation(builder.room("room"), "room"))

    keys = ["count", "participants", "messages", "more"]
    assert (list(thread), list(room)) == (["thread", *keys], ["room", *keys])
    assert (thread["thread"], room["room"]) == (sent, "room")
    assert thread["messages"] == room["messages"]
    assert (thread["count"], thread["more"]) == (1, False)
    assert thread["participants"] == ["builder", "lead"]


def test_a_search_is_its_query_and_messages_with_excerpts(builder: Agent) -> None:
    """Bodies are left out (R14)."""
    builder.send(to="lead", body="Some words.")

    answer = as_json(plain.found("words", builder.search("words")))

    assert answer["query"] == "words"
    assert answer["messages"][0]["excerpt"] == "Some «words»."
    assert not {"body", "preview", "truncated"} & answer["messages"][0].keys()


def test_a_registration_is_the_profile_and_whether_it_is_new(
    mailbox: Mailbox,
) -> None:
    """With the commit if there was one (G1)."""
    new = as_json(plain.registered(mailbox.register("newcomer")))
    again = as_json(plain.registered(mailbox.register("newcomer")))

    assert list(new) == ["agent", "commit", "new"]
    created = new["agent"].pop("created")
    assert created.startswith("2026-11-30T14:00:00.")
    assert new == {
        "agent": {"name": "newcomer", "kind": "agent", "status": "active"},
        "commit": tip(mailbox),
        "new": True,
    }
    assert list(again) == ["agent", "new"]
    assert again["new"] is False


def test_the_directory_is_agents_and_how_many_more(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Counts of none are left out, but nothing pending is a number (G2)."""
    mailbox.retire("lead")
    clock.advance(hours=3)
    builder.send(to="reviewer", body="x")

    active = as_json(plain.directory(mailbox.agents()))
    everybody = as_json(plain.directory(mailbox.agents(all=True)))

    assert [agent["name"] for agent in active["agents"]] == ["builder"]
    assert (active["idle"], active["retired"]) == (1, 1)
    assert list(everybody) == ["agents"]
    by_name = {agent["name"]: agent for agent in everybody["agents"]}
    assert by_name["reviewer"] | {"created": None, "last_seen": None} == {
        "name": "reviewer",
        "kind": "agent",
        "teams": ["core"],
        "status": "active",
        "created": None,
        "availability": "idle",
        "last_seen": None,
        "unread": 1,
        "unacked": 1,
    }
    assert by_name["builder"]["program"] == "an editor"
    assert by_name["builder"]["model"] == "a model"
    assert by_name["builder"]["unread"] == 0
    assert (by_name["lead"]["kind"], by_name["lead"]["status"]) == ("human", "retired")


def test_the_log_is_a_list_of_operations(mailbox: Mailbox, builder: Agent) -> None:
    """With the messages where there are any (V1)."""
    sent = builder.send(to="lead", body="x")

    answer = as_json(plain.log(mailbox.log(limit=2)))

    assert answer == {
        "log": [
            {
                "commit": sent.commit,
                "date": DATE,
                "agent": "builder",
                "op": "send",
                "subject": "x",
                "messages": [sent.message.id],
            },
            {
                "commit": answer["log"][1]["commit"],
                "date": DATE,
                "agent": "lead",
                "op": "register",
                "subject": "lead",
            },
        ]
    }


def test_status_names_the_mailbox_counts_and_what_is_wrong(mailbox: Mailbox) -> None:
    """Lists of what is wrong are there even when empty (V6)."""
    (mailbox.path / "stray.md").write_text("x", "utf-8")

    anonymous = as_json(plain.status(mailbox.status()))
    own = as_json(plain.status(mailbox.status(agent="lead")))

    assert anonymous == {
        "mailbox": str(mailbox.path),
        "id": mailbox.charter().id,
        "project": "box",
        "format": 1,
        "branch": "refs/heads/gitmail",
        "tip": tip(mailbox),
        "messages": 0,
        "agents": 3,
        "records": 0,
        "commits": 4,
        "lost": [],
        "quarantine": [],
        "uncommitted": [{"path": "stray.md", "change": "added"}],
    }
    assert own == anonymous | {"agent": "lead", "unread": 0, "unacked": 0}


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (
            UnknownRecipientError(["revewer"], ["reviewer"]),
            {
                "code": "unknown_recipient",
                "message": "Nothing was sent, for nobody is registered as revewer;"
                " did you mean reviewer?",
                "hint": "List the agents and teams with: gitmail agents --all",
                "names": ["revewer"],
                "similar": ["reviewer"],
            },
        ),
        (
            AmbiguousIdError("c0ffee01", ["c0ffee01a", "c0ffee01b"]),
            {
                "code": "ambiguous_id",
                "message": "'c0ffee01' fits 2 messages: c0ffee01a, c0ffee01b",
                "hint": "Use one of these ids",
                "given": "c0ffee01",
                "matches": ["c0ffee01a", "c0ffee01b"],
            },
        ),
        (
            BlankBodyError(),
            {
                "code": "blank_body",
                "message": "The body is blank: it needs text",
                "hint": "Pass the text as an argument, or as - on standard input",
                "field": "body",
            },
        ),
        (
            InvalidFileError("from is missing"),
            {
                "code": "invalid_file",
                "message": "the file, line 1: from is missing",
                "hint": "Compare the file with the output of: gitmail format",
                "line": 1,
                "reason": "from is missing",
            },
        ),
    ],
    ids=lambda value: value.code if isinstance(value, GitmailError) else "",
)
def test_an_error_is_its_code_message_hint_and_data(
    problem: GitmailError, expected: dict[str, Any]
) -> None:
    """What is absent is left out here too."""
    assert as_json(plain.error(problem)) == {"error": expected}
