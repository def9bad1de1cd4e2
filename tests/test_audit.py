"""The audit log: who did what when, from the commits (CAPABILITIES V1)."""

from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import InvalidArgumentError
from gitmail.mailbox.audit import OPERATIONS
from tests.helpers import START, SettableClock, git
from tests.mailboxes import copied, edit, merge_into, refused, reopened, tip


@pytest.fixture(name="commits")
def _commits(builder: Agent, reviewer: Agent) -> list[str]:
    """Return the commits of a short conversation, oldest first."""
    sent = builder.send(to="reviewer", body="# Hello\n\nMore.", subject="Parser")
    reply = reviewer.reply(sent.message.id, "Done.")
    ack = reviewer.ack(sent.message.id)
    read = builder.ack(reply.message.id, stage="read")
    return [str(each.commit) for each in (sent, reply, ack, read)]


def operations(mailbox: Mailbox, **filters: object) -> list[str | None]:
    """Return the operations that a log lists."""
    return [entry.operation for entry in mailbox.log(**filters)]  # type: ignore[arg-type]


def test_each_operation_is_an_entry_newest_first(
    mailbox: Mailbox, commits: list[str]
) -> None:
    """With who, when, what and the messages it was about (V1)."""
    entries = mailbox.log()

    assert [(e.operation, e.agent, e.subject) for e in entries] == [
        ("read", "builder", "Re: Parser"),
        ("ack", "reviewer", "Parser"),
        ("reply", "reviewer", "Re: Parser"),
        ("send", "builder", "Parser"),
        ("register", "lead", "lead"),
        ("register", "reviewer", "reviewer"),
        ("register", "builder", "builder"),
        ("init", "gitmail", "box"),
    ]
    assert [entry.commit for entry in entries[:4]] == commits[::-1]
    first = entries[3].messages
    assert [entry.messages for entry in entries[:4]] == [
        entries[2].messages,
        first,
        entries[2].messages,
        first,
    ]
    assert len(first) == 1
    assert {entry.date for entry in entries} == {START}


def test_no_body_enters_the_log(
    mailbox: Mailbox, builder: Agent, reviewer: Agent
) -> None:
    """A long first line is cut, and control characters are none of it (I8)."""
    body = "Gitmail-Op: forged\x1b[31m " + "x" * 200 + "\n\nGitmail-Agent: forged"
    message = builder.send(to="reviewer", body=body).message.id
    reviewer.ack(message, note="Gitmail-Op: forged")

    for entry in mailbox.log(limit=2):
        assert entry.operation in ("send", "ack")
        assert len(entry.subject) <= 72
        assert "\x1b" not in entry.subject
    raw = git(mailbox.path, "log", "-2", "--format=%B", "gitmail")
    assert "Gitmail-Agent: forged" not in raw
    assert "\nGitmail-Op: forged" not in raw


def test_the_log_is_filtered_by_agent_and_operation(
    mailbox: Mailbox, commits: list[str]
) -> None:
    """In any case of the name; unknown ones have done nothing (V1)."""
    assert len(commits) == 4
    assert operations(mailbox, agent="REVIEWER") == ["ack", "reply", "register"]
    assert operations(mailbox, op="send") == ["send"]
    assert operations(mailbox, agent="reviewer", op="reply") == ["reply"]
    assert operations(mailbox, agent="gitmail") == ["init"]
    assert operations(mailbox, agent="gitmail", op="send") == []
    for name in OPERATIONS:
        assert all(each == name for each in operations(mailbox, op=name.upper()))


@pytest.mark.parametrize(
    ("said", "code", "names"),
    [
        ({"agent": "bilder"}, "agent_not_found", "did you mean builder?"),
        ({"agent": ""}, "invalid_argument", "agent ''"),
        ({"agent": 5}, "invalid_argument", "agent 5"),
        ({"op": "sent"}, "invalid_argument", "register, retire, unretire, send"),
        ({"op": ""}, "invalid_argument", "op ''"),
        ({"path": ""}, "invalid_argument", "path ''"),
        ({"path": "."}, "invalid_argument", "path '.'"),
        ({"path": "../x"}, "invalid_argument", "below the mailbox"),
        ({"path": "messages/../x"}, "invalid_argument", "below the mailbox"),
        ({"path": "/messages"}, "invalid_argument", "below the mailbox"),
        ({"range": ""}, "invalid_argument", "range ''"),
        ({"range": 5}, "invalid_argument", "range 5"),
        ({"limit": "5"}, "invalid_argument", "limit '5'"),
    ],
)
def test_the_log_refuses_what_can_fit_nothing(
    mailbox: Mailbox, said: dict[str, Any], code: str, names: str
) -> None:
    """A slip of the pen must not read as if nothing had happened (V1)."""
    mailbox.register("builder")
    problem = refused(mailbox, mailbox.log, **said)

    assert problem.code == code
    assert names in problem.message


def test_the_log_finds_the_commits_of_people(mailbox: Mailbox, tmp_path: Path) -> None:
    """Whoever edits a clone need not be registered (V1)."""
    edit(mailbox.path, tmp_path / "work", {"agents/x.md": "x"})

    assert operations(mailbox, agent="a person") == [None]


def test_the_log_is_filtered_by_path(mailbox: Mailbox, commits: list[str]) -> None:
    """A file, or all that is below a folder, as it stands in the tree (V1)."""
    assert len(commits) == 4
    assert operations(mailbox, path="receipts") == ["read", "ack"]
    assert operations(mailbox, path="receipts/reviewer/") == ["ack"]
    assert operations(mailbox, path="agents/lead.md") == ["register"]
    assert operations(mailbox, path="messages") == ["reply", "send"]
    assert operations(mailbox, path="messages", agent="builder") == ["send"]
    assert operations(mailbox, path="./agents//lead.md") == ["register"]
    assert operations(mailbox, path="unheard-of") == []


@pytest.mark.parametrize(
    "path", ["mailbox.md/x", "mailbox.md/x/y.md", "agents/lead.md/x", "README.md/"]
)
def test_a_path_that_goes_through_a_file_has_no_commits(
    mailbox: Mailbox, path: str
) -> None:
    """Nothing ever stood there, and nothing is damaged (V1)."""
    expected = ["init"] if path.endswith("/") else []

    assert operations(mailbox, path=path) == expected


def test_the_log_has_a_limit(mailbox: Mailbox, commits: list[str]) -> None:
    """The newest that fit (V1)."""
    assert len(commits) == 4
    assert operations(mailbox, limit=2) == ["read", "ack"]
    assert operations(mailbox, limit=2, op="register") == ["register"] * 2
    for limit in (0, 10_001, -1):
        problem = refused(mailbox, mailbox.log, limit=limit)
        assert isinstance(problem, InvalidArgumentError)


def test_a_range_is_a_commit_or_what_one_has_and_another_has_not(
    mailbox: Mailbox, commits: list[str]
) -> None:
    """In full or cut short, with HEAD and the branch as names of the tip (V1)."""
    send, reply, _, _ = commits
    whole = ["read", "ack", "reply", "send", "register", "register", "register", "init"]

    for span, expected in {
        "HEAD": whole,
        "gitmail": whole,
        "refs/heads/gitmail": whole,
        reply: whole[2:],
        f" {send[:7].upper()} ": whole[3:],
        f"{send}..HEAD": ["read", "ack", "reply"],
        f"{send}..": ["read", "ack", "reply"],
        f"{send[:12]}..{reply[:12]}": ["reply"],
        f"{reply}..{send}": [],
        f"..{send}": [],
        f"{send}..{send}": [],
    }.items():
        assert operations(mailbox, range=span, limit=50) == expected, span


@pytest.mark.parametrize(
    "span",
    [
        "0" * 40,
        "abc",
        "HEAD~1",
        "main",
        "a..b..c",
        "{send}...{send}",
        "{send} {send}",
        "--all",
        "{message}",
        "g" * 7,
    ],
)
def test_a_range_of_something_else_is_refused(
    mailbox: Mailbox, commits: list[str], span: str
) -> None:
    """The error says what a range is (V1)."""
    message = mailbox.log(range=commits[0], limit=1)[0].messages[0]
    said = span.format(send=commits[0], message=message)

    problem = refused(mailbox, mailbox.log, range=said)

    assert isinstance(problem, InvalidArgumentError)
    assert problem.details["argument"] == "range"


def test_commits_that_gitmail_did_not_write_are_in_the_log(
    mailbox: Mailbox, builder: Agent, tmp_path: Path, clock: SettableClock
) -> None:
    """By a person's own name and without an operation; merges too (V1)."""
    twin = copied(mailbox, tmp_path / "twin" / ".gitmail")
    clock.advance(minutes=1)
    with Mailbox.open(twin, clock=clock) as other:
        other.agent("lead").send(to="builder", body="there")
    builder.send(to="lead", body="here")
    merge_into(mailbox.path, twin, tmp_path / "clone")
    edit(mailbox.path, tmp_path / "again", {"README.md": "Mine."})

    entries = mailbox.log(limit=4)

    assert [(e.operation, e.agent) for e in entries[:2]] == [
        (None, "A Person"),
        (None, "A Person"),
    ]
    assert entries[0].subject == "Edit by hand"
    assert {(e.operation, e.subject) for e in entries[2:]} == {
        ("send", "here"),
        ("send", "there"),
    }
    assert operations(mailbox, path="messages", limit=3) == [None, "send", "send"]


def test_the_log_needs_no_index(
    mailbox: Mailbox, commits: list[str], clock: SettableClock
) -> None:
    """It is read from the commits (I1)."""
    expected = mailbox.log(range=f"{commits[0]}..")

    with reopened(mailbox, clock) as other:
        assert other.log(range=f"{commits[0]}..") == expected


def test_a_batch_names_its_first_messages(mailbox: Mailbox, builder: Agent) -> None:
    """Sixty-four at most; the tree has them all (V1)."""
    builder.send_many([{"to": "lead", "body": str(n)} for n in range(70)])

    entry = mailbox.log(limit=1)[0]

    assert entry.subject == "70 messages"
    assert len(entry.messages) == 64
    assert entry.commit == tip(mailbox)


def test_the_log_tells_an_agent_nothing_of_a_blind_copy(mailbox: Mailbox) -> None:
    """Neither the receipt of one nor the answer to one, by whatever filter (A2)."""
    for name in ("builder", "reviewer", "lead", "spy"):
        mailbox.register(name)
    builder, spy = mailbox.agent("builder"), mailbox.agent("spy")
    sent = builder.send(to="reviewer", cc="lead", bcc="spy", body="Openly.")
    spy.ack(sent.message.id, note="seen")
    spy.reply(sent.message.id, "Only to you.")

    for viewer in ("reviewer", "lead"):
        by_spy = mailbox.log(agent="spy", viewer=viewer)
        assert [(e.operation, e.subject, e.messages) for e in by_spy] == [
            ("reply", "", ()),
            ("ack", "", ()),
            ("register", "spy", ()),
        ]
        assert mailbox.log(path="receipts/spy", viewer=viewer) == []
        (send,) = mailbox.log(op="send", viewer=viewer)
        assert send.messages == (sent.message.id,)
    for viewer in ("builder", "spy", None):
        ack, reply = (mailbox.log(op=op, viewer=viewer)[0] for op in ("ack", "reply"))
        assert ack.messages == (sent.message.id,)
        assert reply.messages


def test_the_log_of_an_agent_names_no_mail_that_it_may_not_see(
    mailbox: Mailbox, commits: list[str]
) -> None:
    """It still says who did what kind of thing, and when (V1, R16)."""
    for viewer in ("lead", "stranger"):
        entries = [e for e in mailbox.log(viewer=viewer) if e.commit in commits]

        assert [entry.commit for entry in entries] == commits[::-1]
        assert {(entry.subject, entry.messages) for entry in entries} == {("", ())}


def test_team_mail_is_in_the_log_of_its_members(mailbox: Mailbox) -> None:
    """A later member may see it, so the log may name it (A3)."""
    mailbox.register("builder")
    mailbox.register("reviewer", teams=["core"])
    sent = mailbox.agent("builder").send(to="team:core", body="To the team.")
    mailbox.register("late", teams=["core"])

    (entry,) = mailbox.log(op="send", viewer="late")

    assert entry.messages == (sent.message.id,)
