"""Agents: registering, generated names, retiring, the directory (CAPABILITIES G)."""

import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitmail import Agent, Mailbox
from gitmail.errors import (
    AgentNotFoundError,
    InvalidArgumentError,
    InvalidNameError,
    InvalidTextError,
    NameInUseError,
    RetiredRecipientError,
    StorageError,
)
from gitmail.mailbox.values import Availability
from gitmail.records.profile import AgentKind, Profile
from tests.helpers import SettableClock, files_in_tip
from tests.mailboxes import edit, refused, reopened, tip


def test_registering_says_who_an_agent_is(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """All that is given is kept, teams sorted and in lower case (G1)."""
    answer = mailbox.register(
        " Newcomer ",
        kind="HUMAN",
        program="an editor",
        model="a model",
        teams=["team:Core", "core", "Alpha"],
        description="\nWorks on the parser.\n\nAsk me.\n",
    )

    assert answer.is_new is True
    assert answer.commit == tip(mailbox)
    assert answer.profile == mailbox.whois("NEWCOMER").profile
    assert (
        answer.profile
        == Profile(
            name=answer.profile.name,
            created=clock.now,
            kind=AgentKind.HUMAN,
            program="an editor",
            model="a model",
            teams=("alpha", "core"),
            description="Works on the parser.\n\nAsk me.",
        )
        or answer.profile.created < clock.now
    )
    assert answer.profile.name == "newcomer"
    assert "agents/newcomer.md" in files_in_tip(mailbox.path)


def test_an_agent_has_defaults(mailbox: Mailbox) -> None:
    """A name is enough (G1)."""
    profile = mailbox.register("newcomer").profile

    assert (profile.kind, profile.program, profile.model) == (
        AgentKind.AGENT,
        None,
        None,
    )
    assert (profile.teams, profile.description, profile.is_retired) == ((), "", False)


def test_registering_again_changes_nothing(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """With the same or with less to say, in any case of the name (G1)."""
    said: dict[str, Any] = {
        "kind": "human",
        "program": "p",
        "model": "m",
        "teams": ["b", "a"],
        "description": "d",
    }
    first = mailbox.register("newcomer", **said)
    before = tip(mailbox)
    clock.advance(days=1)

    for again in (
        mailbox.register("Newcomer", **said),
        mailbox.register("newcomer"),
        mailbox.register("newcomer", teams=["A", "team:b", "a"]),
    ):
        assert (again.profile, again.commit) == (first.profile, None)
        assert again.is_new is False
    assert tip(mailbox) == before


def test_registering_again_changes_what_is_given(mailbox: Mailbox) -> None:
    """An update is a commit, and everything else stays (G1)."""
    first = mailbox.register("newcomer", program="p", teams=["a"], description="d")

    second = mailbox.register("newcomer", program="q", description="")

    assert second.commit == tip(mailbox)
    assert second.is_new is False
    assert second.profile.program == "q"
    assert second.profile.description == ""
    assert second.profile.teams == ("a",)
    assert second.profile.created == first.profile.created
    assert mailbox.register("newcomer", teams=[], program="").profile.teams == ()
    assert mailbox.whois("newcomer").profile.program is None


def test_what_others_wrote_into_a_profile_is_kept(
    mailbox: Mailbox, tmp_path: Path
) -> None:
    """Keys of a later version survive an update (DESIGN 5)."""
    mailbox.register("newcomer")
    text = (mailbox.path / "agents" / "newcomer.md").read_text("utf-8")
    changed = text.replace("\ncreated:", "\nx-color: blue\ncreated:", 1)
    edit(mailbox.path, tmp_path / "clone", {"agents/newcomer.md": changed})

    mailbox.register("newcomer", program="p")

    assert "x-color: blue" in (mailbox.path / "agents" / "newcomer.md").read_text(
        "utf-8"
    )


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"name": "a b"}, InvalidNameError),
        ({"name": ""}, InvalidNameError),
        ({"name": "all"}, InvalidNameError),
        ({"name": "gitmail"}, InvalidNameError),
        ({"name": "team:core"}, InvalidNameError),
        ({"name": "../x"}, InvalidNameError),
        ({"name": "nul"}, InvalidNameError),
        ({"name": "x" * 64}, InvalidNameError),
        ({"name": "x."}, InvalidNameError),
        ({"name": "K\u212aelvin"}, InvalidNameError),
        ({"name": "x", "kind": "robot"}, InvalidArgumentError),
        ({"name": "x", "teams": ["a b"]}, InvalidNameError),
        ({"name": "x", "teams": ["team:"]}, InvalidNameError),
        ({"name": "x", "teams": ["all"]}, InvalidNameError),
        ({"name": "x", "program": "a\nb"}, InvalidTextError),
        ({"name": "x", "program": "p" * 201}, InvalidArgumentError),
        ({"name": "x", "model": "a\0b"}, InvalidTextError),
        ({"name": "x", "description": "a\0b"}, InvalidTextError),
        ({"name": "x", "description": "d" * 4097}, InvalidArgumentError),
    ],
)
def test_what_is_not_accepted_registers_nobody(
    mailbox: Mailbox, said: dict[str, Any], error: type
) -> None:
    """Nothing is written (G1)."""
    assert isinstance(refused(mailbox, mailbox.register, **said), error)


def test_a_name_is_made_up_where_none_is_given(mailbox: Mailbox) -> None:
    """An adjective and a noun that nobody has (G1)."""
    names = [mailbox.register().profile.name for _ in range(20)]

    assert len(set(names)) == 20
    assert all(re.fullmatch(r"[a-z]+-[a-z]+", name) for name in names)


class Unlucky(random.Random):
    """Chance that always makes the same choice, and counts up slowly."""

    _count = 0

    def choice(self, seq: Any) -> Any:
        """Return the first of a sequence."""
        return seq[0]

    def randrange(self, *_: Any) -> int:
        """Return each number twice."""
        self._count += 1
        return self._count // 2


def test_a_made_up_name_that_is_taken_gets_a_number(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """However unlucky chance is, a free one is found (G1)."""
    with Mailbox.open(mailbox.path, clock=clock, chance=Unlucky()) as other:
        first, *others = (other.register().profile.name for _ in range(4))

    assert others == [f"{first}-{number}" for number in (0, 1, 2)]


def test_who_retired_gets_no_mail_and_can_be_brought_back(
    mailbox: Mailbox, builder: Agent
) -> None:
    """Each change is one commit; repeating one is none (G3)."""
    retired = mailbox.retire("Lead")
    again = mailbox.retire("lead")
    assert retired.commit is not None
    assert (retired.profile.is_retired, again.commit) == (True, None)
    problem = refused(mailbox, builder.send, to="lead", body="x")
    assert isinstance(problem, RetiredRecipientError)

    back = mailbox.unretire("lead")

    assert back.commit == tip(mailbox)
    assert mailbox.unretire("lead").commit is None
    assert builder.send(to="lead", body="x").commit


def test_registering_again_ends_a_retirement(mailbox: Mailbox) -> None:
    """Who registers is there (G3)."""
    mailbox.retire("lead")

    answer = mailbox.register("lead")

    assert answer.commit is not None
    assert answer.profile.is_retired is False


def test_one_agent_may_retire_another_in_its_own_name(mailbox: Mailbox) -> None:
    """The log says who did it; that is activity of the one who did (G3, V1)."""
    mailbox.retire("lead", by="Builder")
    mailbox.unretire("lead")

    entries = mailbox.log(limit=2)
    assert [(e.operation, e.agent, e.subject) for e in entries] == [
        ("unretire", "lead", "lead"),
        ("retire", "builder", "lead"),
    ]


def test_nobody_retires_or_is_retired_who_is_not_there(mailbox: Mailbox) -> None:
    """Near names are suggested (G3)."""
    for act, said in (
        (mailbox.retire, {"name": "leed"}),
        (mailbox.unretire, {"name": "leed"}),
        (mailbox.retire, {"name": "builder", "by": "leed"}),
        (mailbox.whois, {"name": "Leed"}),
    ):
        problem = refused(mailbox, act, **said)
        assert isinstance(problem, AgentNotFoundError)
        assert problem.details == {"name": "leed", "similar": ["lead"]}


def test_the_directory_lists_the_active_and_counts_the_others(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """Idle after two hours without a commit of one's own (G2)."""
    mailbox.register("gone")
    mailbox.retire("gone")
    clock.advance(hours=1, minutes=59)
    builder.send(to="lead", body="x")
    assert len(mailbox.agents().entries) == 3
    clock.advance(hours=1)

    found = mailbox.agents()

    assert [entry.profile.name for entry in found.entries] == ["builder"]
    assert (found.idle_count, found.retired_count) == (2, 1)


def test_the_directory_lists_everybody_if_asked(
    mailbox: Mailbox, builder: Agent, clock: SettableClock
) -> None:
    """By name, with when each last wrote and how much is pending (G2)."""
    mailbox.retire("lead", by="builder")
    clock.advance(hours=3)
    sent = builder.send(to="reviewer", body="x")
    builder.send(to="reviewer", body="y")
    mailbox.agent("reviewer").ack(sent.message.id, stage="read")

    found = mailbox.agents(all=True)

    assert (found.idle_count, found.retired_count) == (0, 0)
    assert [
        (
            entry.profile.name,
            entry.availability,
            entry.last_seen,
            entry.unread_count,
            entry.unacked_count,
        )
        for entry in found.entries
    ] == [
        ("builder", Availability.ACTIVE, datetime(2026, 11, 30, 17, tzinfo=UTC), 0, 0),
        ("lead", Availability.RETIRED, datetime(2026, 11, 30, 14, tzinfo=UTC), 0, 0),
        ("reviewer", Availability.ACTIVE, datetime(2026, 11, 30, 17, tzinfo=UTC), 1, 2),
    ]


def test_last_activity_is_read_from_the_commits(
    mailbox: Mailbox, builder: Agent, reviewer: Agent, clock: SettableClock
) -> None:
    """Looking is none, acknowledging is one, and no index is needed (DESIGN 9)."""
    message = builder.send(to="reviewer", body="x").message.id
    clock.advance(hours=1)
    reviewer.poll()
    reviewer.read(message)
    seen = mailbox.whois("reviewer").last_seen
    clock.advance(hours=1)
    reviewer.ack(message)

    entry = mailbox.whois("reviewer")
    with reopened(mailbox, clock) as other:
        anew = other.agents(all=True)

    assert seen == datetime(2026, 11, 30, 14, tzinfo=UTC)
    assert entry.last_seen == datetime(2026, 11, 30, 16, tzinfo=UTC)
    assert anew == mailbox.agents(all=True)


def test_an_agent_that_a_person_added_by_hand_is_one(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It has never been seen, and can be written to (DESIGN 5, G2)."""
    text = (mailbox.path / "agents" / "lead.md").read_text("utf-8")
    new = text.replace("lead", "by-hand")
    edit(mailbox.path, tmp_path / "clone", {"agents/by-hand.md": new})

    entry = mailbox.whois("by-hand")

    assert (entry.availability, entry.last_seen) == (Availability.UNKNOWN, None)
    assert mailbox.agents().idle_count == 1
    sent = builder.send(to="by-hand", body="x")
    assert sent.deliveries[0].availability is Availability.UNKNOWN


def test_a_profile_that_cannot_be_read_is_no_agent(
    mailbox: Mailbox, builder: Agent, tmp_path: Path
) -> None:
    """It is named by status, and everybody else goes on (DESIGN 5)."""
    broken: dict[str, str | None] = {
        "agents/broken.md": "no header",
        "agents/other.md": (mailbox.path / "agents" / "lead.md").read_text("utf-8"),
    }
    edit(mailbox.path, tmp_path / "clone", broken)

    names = [entry.profile.name for entry in mailbox.agents(all=True).entries]

    assert names == ["builder", "lead", "reviewer"]
    assert [path for path, _ in mailbox.status().quarantine] == sorted(broken)
    assert builder.send(to="all", body="x").commit


def test_a_held_name_is_refused_to_another_server(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """Until it is let go, unless it is taken over on purpose (DESIGN 9)."""
    name = mailbox.agent("builder").name
    with Mailbox.open(mailbox.path, clock=clock) as server:
        server.liveness.hold(name)
        server.liveness.hold(name)
        with pytest.raises(NameInUseError):
            mailbox.liveness.hold(name)

    assert not mailbox.liveness.is_live("builder")
    mailbox.liveness.hold(name)
    assert mailbox.liveness.is_live("builder")
    mailbox.liveness.release()
    assert not mailbox.liveness.is_live("builder")


def test_a_name_that_was_taken_over_is_held_by_the_taker_alone(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """Also once it is taken back, and once either of them has ended (DESIGN 9)."""
    name = mailbox.agent("builder").name
    with (
        Mailbox.open(mailbox.path, clock=clock) as first,
        Mailbox.open(mailbox.path, clock=clock) as second,
    ):
        first.liveness.hold(name)
        for taker, loser in ((second, first), (first, second), (second, first)):
            taker.liveness.hold(name, take_over=True)
            assert taker.liveness.holds(name)
            assert not loser.liveness.holds(name)
            with pytest.raises(NameInUseError):
                loser.liveness.hold(name)
        first.close()
        assert mailbox.liveness.is_live("builder")

    assert not mailbox.liveness.is_live("builder")
    mailbox.liveness.hold(name)
    assert mailbox.liveness.holds(name)


def test_one_name_of_several_is_let_go(mailbox: Mailbox) -> None:
    """The others stay held (DESIGN 9)."""
    for name in ("builder", "lead"):
        mailbox.liveness.hold(mailbox.agent(name).name)
    mailbox.liveness.release(mailbox.agent("lead").name)
    mailbox.liveness.release(mailbox.agent("reviewer").name)

    assert mailbox.liveness.is_live("builder")
    assert not mailbox.liveness.is_live("lead")


def test_a_name_that_cannot_be_held_is_an_error_of_the_disk(mailbox: Mailbox) -> None:
    """What stands where the locks belong is named (DESIGN 9)."""
    (mailbox.store.local / "live").write_text("no folder", encoding="ascii")

    with pytest.raises(StorageError, match="live"):
        mailbox.liveness.hold(mailbox.agent("builder").name)


@pytest.mark.parametrize("text", ["x" * 4097, "a" + "\n" * 5_000_000 + "b"])
def test_a_description_is_bounded_with_its_line_ends(
    mailbox: Mailbox, text: str
) -> None:
    """It is counted as it would be stored (G1)."""
    problem = refused(mailbox, mailbox.register, "tester", description=text)

    assert "the limit is 4096" in problem.message


def test_pending_mail_is_counted_without_what_has_expired(
    mailbox: Mailbox, clock: SettableClock
) -> None:
    """Whatever of it was read or acknowledged before (G2)."""
    builder, reviewer = mailbox.register("builder"), mailbox.agent("reviewer")
    mailbox.register("reviewer")
    sent = mailbox.agent(builder.profile.name).send_many(
        {"to": "reviewer", "body": f"{n}", "expires_in": "1h" if n < 4 else "2h"}
        for n in range(8)
    )
    reviewer.ack([sent[0].message.id, sent[4].message.id])
    reviewer.ack([sent[1].message.id, sent[5].message.id], stage="read")
    before = mailbox.whois("reviewer")
    clock.advance(hours=1.5)
    after = mailbox.whois("reviewer")

    assert (before.unread_count, before.unacked_count) == (4, 6)
    assert (after.unread_count, after.unacked_count) == (2, 3)
