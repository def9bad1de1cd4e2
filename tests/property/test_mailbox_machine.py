"""A mailbox does what a model of plain dictionaries says, whatever is done to it."""

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from gitmail import Agent, Mailbox
from gitmail.mailbox.values import Page, Sent
from tests.helpers import SettableClock
from tests.mailboxes import INDEX, everything
from tests.property.mailbox_model import (
    ACKED,
    STAGES,
    Letter,
    Member,
    Model,
    Refusal,
    agree,
)

NAMES = ("ann", "bob", "cid", "dot")
TEAMS = ("red", "blue")
ADDRESSES = (*NAMES * 4, "all", "team:red", "team:blue", "nobody")
names = st.sampled_from(NAMES)
addresses = st.lists(st.sampled_from(ADDRESSES), max_size=3, unique=True)
copies: st.SearchStrategy[list[str]] = st.just([]) | addresses
teams = st.frozensets(st.sampled_from(TEAMS))
expiry = st.sampled_from([None, None, "10m", "1h"])


class MailboxMachine(RuleBasedStateMachine):
    """Random verbs of four agents on one mailbox, which is opened anew at times."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = SettableClock()
        self.model = Model()
        self.count = 0
        self.read_so_far: dict[str, list[str]] = {name: [] for name in NAMES}
        self.cursors: dict[str, str | None] = dict.fromkeys(NAMES)
        path = self.folder / ".gitmail"
        chance = random.Random(7)  # noqa: S311 - the same names in each run
        self.mailbox = Mailbox.init(path, clock=self.clock, chance=chance)

    def teardown(self) -> None:
        """Compare all answers with those of a mailbox whose index is made anew."""
        registered = [*self.model.members]
        before = everything(self.mailbox, *registered)
        words = {n: self.agent(n).search("mail", limit=200) for n in registered}
        self.reopen(is_index_lost=True)
        assert everything(self.mailbox, *registered) == before
        for name in registered:
            agent = self.agent(name)
            assert agent.search("mail", limit=200) == words[name]
            assert {item.id for item in words[name]} == {*self.model.history(name)}
            self.read_to_the_end(name)
        assert self.mailbox.status().quarantine == ()
        assert self.mailbox.status().uncommitted == ()
        self.mailbox.close()
        shutil.rmtree(self.folder)

    def agent(self, name: str) -> Agent:
        """Return the verbs of an agent."""
        return self.mailbox.agent(name)

    def reopen(self, *, is_index_lost: bool) -> None:
        """Close the mailbox and open it again."""
        self.mailbox.close()
        if is_index_lost:
            for ending in ("", "-wal", "-shm"):
                file = self.folder / ".gitmail" / f"{INDEX}{ending}"
                file.unlink(missing_ok=True)
        self.mailbox = Mailbox.open(self.folder / ".gitmail", clock=self.clock)

    def written(self, sent: Sent, delivered: Any, said: dict[str, Any]) -> None:
        """Take a message that was sent into the model, as the model delivers it."""
        listed, blind = delivered
        message = sent.message.message
        assert message.recipients == listed
        assert {d.name for d in sent.deliveries} == {*listed, *blind}
        groups = (a for a in (*message.to, *message.cc) if a not in NAMES)
        self.model.add(
            Letter(
                id=message.id,
                sender=message.sender,
                date=message.date,
                expires=message.expires,
                thread=message.thread_id,
                listed=listed,
                blind=blind,
                groups=frozenset(groups),
                said=said,
                answers=message.reply_to,
            )
        )

    def body(self) -> str:
        """Return a text that no other message has."""
        self.count += 1
        return f"Mail {self.count}."

    @initialize()
    def start(self) -> None:
        """Begin with three agents, two of them in a team."""
        for name, of in (("ann", "red"), ("bob", "red"), ("cid", "blue")):
            self.register(name, frozenset([of]))
        self.send("ann", ["team:red"], ["cid"], ["all"], None, may_retry=True)

    def register(self, name: str, of: frozenset[str] | None) -> None:
        """Register an agent, or change its teams."""
        self.mailbox.register(name, teams=None if of is None else sorted(of))
        member = self.model.members.setdefault(name, Member())
        member.is_retired = False
        member.teams = member.teams if of is None else of

    def retire(self, name: str, *, retire: bool) -> None:
        """Retire an agent, or bring one back."""
        if name not in self.model.members:
            return
        (self.mailbox.retire if retire else self.mailbox.unretire)(name)
        self.model.members[name].is_retired = retire

    @rule(
        name=names,
        of=st.none() | teams,
        what=st.sampled_from(["register", "retire", "unretire", "restart", "rebuild"]),
        minutes=st.sampled_from([-3, 0, 7, 61]),
    )
    def change(
        self, name: str, of: frozenset[str] | None, what: str, minutes: int
    ) -> None:
        """Change who there is, or open the mailbox anew; the clock is set too."""
        self.clock.advance(minutes=minutes)
        if what == "register":
            self.register(name, of)
        elif what in ("retire", "unretire"):
            self.retire(name, retire=what == "retire")
        else:
            self.reopen(is_index_lost=what == "rebuild")

    @rule(
        name=names,
        to=addresses,
        cc=copies,
        bcc=copies,
        expires_in=expiry,
        may_retry=st.booleans(),
    )
    def send(
        self,
        name: str,
        to: list[str],
        cc: list[str],
        bcc: list[str],
        expires_in: str | None,
        *,
        may_retry: bool,
    ) -> None:
        """Send a message, at times so that it can be sent again."""
        said: dict[str, Any] = {"to": to, "cc": cc, "bcc": bcc, "body": self.body()}
        said |= {"expires_in": expires_in}
        said |= {"request_id": said["body"]} if may_retry else {}
        both = agree(
            lambda: self.model.deliver(name, to, cc, bcc),
            lambda: self.agent(name).send(**said),
        )
        if both:
            self.written(both[1], both[0], said)

    @rule(
        pick=st.randoms(use_true_random=False),
        count=st.integers(1, 3),
        expires_in=expiry,
        is_blind=st.booleans(),
    )
    def write(
        self, pick: random.Random, count: int, expires_in: str | None, *, is_blind: bool
    ) -> None:
        """Send messages that nothing speaks against, in one commit."""
        active = [n for n, m in self.model.members.items() if not m.is_retired]
        if not active:
            return
        name, to = pick.choice(active), pick.choice(active)
        bcc = [pick.choice(active)] if is_blind else []
        said = {"to": [to], "bcc": bcc, "expires_in": expires_in}
        drafts = [{**said, "body": self.body()} for _ in range(count)]
        sent = self.agent(name).send_many(drafts)
        for each, draft in zip(sent, drafts, strict=True):
            self.written(each, self.model.deliver(name, [to], [], bcc), draft)

    @rule(name=names, to=st.lists(addresses, min_size=2, max_size=4))
    def send_many(self, name: str, to: list[list[str]]) -> None:
        """Send several messages, all or none."""
        drafts = [{"to": each, "body": self.body()} for each in to]
        both = agree(
            lambda: [self.model.deliver(name, each, (), ()) for each in to],
            lambda: self.agent(name).send_many(drafts),
        )
        if both:
            for delivered, sent, draft in zip(*both, drafts, strict=True):
                self.written(sent, delivered, dict(draft))

    @rule(name=names, pick=st.randoms(use_true_random=False), cc=copies)
    def reply(self, name: str, pick: random.Random, cc: list[str]) -> None:
        """Answer a message, whoever may."""
        if not self.model.letters:
            return
        letter = pick.choice(self.model.letters)
        body = self.body()

        def expected() -> Any:
            self.model.check_member(name)
            if not self.model.may_see(name, letter):
                raise Refusal("not_found")
            if name != letter.sender and name not in letter.stages:
                raise Refusal("not_a_participant")
            own = name == letter.sender and name not in letter.stages
            to = (
                letter.said["to"] if own and letter.answers is None else [letter.sender]
            )
            if own and letter.answers is not None:
                to = self.agent(name).read(letter.id).message.to
            return self.model.deliver(name, to, cc, ())

        both = agree(
            expected, lambda: self.agent(name).reply(letter.id[:20], body, cc=cc)
        )
        if both:
            self.written(both[1], both[0], {"body": body, "cc": cc})
            assert self.model.letters[-1].thread == letter.thread

    @rule(pick=st.randoms(use_true_random=False), is_changed=st.booleans())
    def retry(self, pick: random.Random, *, is_changed: bool) -> None:
        """Send again what was sent under a request id, or something else."""
        letters = [x for x in self.model.letters if "request_id" in x.said]
        if not letters:
            return
        letter = pick.choice(letters)
        said = dict(letter.said)
        for key in ("to", "cc", "bcc"):
            said[key] = pick.sample(said[key], len(said[key]))
        before = self.mailbox.status().tip
        if is_changed:
            said["body"] += " And more."

        def expected() -> str:
            if is_changed:
                raise Refusal("request_conflict")
            return letter.id

        both = agree(expected, lambda: self.agent(letter.sender).send(**said))
        if both:
            assert (both[1].message.id, both[1].is_replayed) == (both[0], True)
        assert self.mailbox.status().tip == before

    @rule(
        name=names,
        pick=st.randoms(use_true_random=False),
        count=st.integers(1, 4),
        stage=st.sampled_from(["read", "acked"]),
    )
    def ack(self, name: str, pick: random.Random, count: int, stage: str) -> None:
        """Acknowledge some messages, whoever they are for."""
        if not self.model.letters:
            return
        letters = pick.choices(self.model.letters, k=count)

        def expected() -> dict[str, str]:
            self.model.check_member(name)
            outcomes: dict[str, str] = {}
            for each in letters:
                if each.id not in outcomes:
                    outcome = self.model.acknowledge(name, each, STAGES[stage])
                    outcomes[each.id] = outcome
            return outcomes

        both = agree(
            expected,
            lambda: self.agent(name).ack([each.id for each in letters], stage=stage),
        )
        if both:
            outcomes, acked = both
            assert {r.id: r.outcome for r in acked.results} == outcomes
            assert (acked.commit is not None) == ("updated" in outcomes.values())

    @rule(
        name=names,
        limit=st.integers(1, 3),
        show=st.sampled_from(["unread", "unacked", "any"]),
    )
    def take(self, name: str, limit: int, show: str) -> None:
        """Poll and acknowledge in one step."""

        def expected() -> list[Letter]:
            self.model.check_member(name)
            below = {"unread": 1, "unacked": 2, "any": 3}[show]
            now = None if show == "any" else self.clock.now
            return self.model.inbox(name, below, now)[:limit]

        both = agree(
            expected, lambda: self.agent(name).poll(limit=limit, show=show, ack=True)
        )
        if both:
            letters, page = both
            assert [item.id for item in page.items] == [each.id for each in letters]
            outcomes = [self.model.acknowledge(name, x, ACKED) for x in letters]
            assert (page.commit is not None) == ("updated" in outcomes)

    @rule(name=names, limit=st.integers(1, 4))
    def read_on(self, name: str, limit: int) -> None:
        """Read the next page of all own mail, from where one had stopped."""
        if name in self.model.members:
            self._next_page(name, limit)

    def _next_page(self, name: str, limit: int) -> Page:
        agent, seen = self.agent(name), self.read_so_far[name]
        page = agent.poll(show="any", after=self.cursors[name], limit=limit)
        seen += [item.id for item in page.items]
        self.cursors[name] = page.cursor
        assert len(seen) == len({*seen}), "a message was on two pages"
        if page.has_more:
            assert agent.poll(show="any", after=page.cursor, limit=1).items
        else:
            delivered = {each.id for each in self.model.inbox(name, ACKED + 1)}
            assert {*seen} == delivered
        return page

    def read_to_the_end(self, name: str) -> None:
        """Read page after page until there is no more."""
        while self._next_page(name, 3).has_more:
            pass

    @rule(name=names, pick=st.randoms(use_true_random=False))
    def look(self, name: str, pick: random.Random) -> None:
        """Read a message, its thread and its receipts, whoever may."""
        if not self.model.letters:
            return
        letter = pick.choice(self.model.letters)

        def expected() -> Letter:
            self.model.check_member(name)
            if not self.model.may_see(name, letter):
                raise Refusal("not_found")
            return letter

        both = agree(expected, lambda: self.agent(name).read(letter.id))
        if both:
            item = both[1]
            stage = letter.stages.get(name)
            assert item.state == (None if stage is None else [*STAGES][stage])
            assert {*item.bcc} == self.model.blind_of(name, letter)
            lines = self.agent(name).receipts(letter.id).lines
            found = {line.name: STAGES[line.state] for line in lines}
            assert found == self.model.receipts_of(name, letter)
            thread = self.agent(name).thread(letter.id, limit=200)
            assert [each.id for each in thread.items] == [
                *self.model.thread(name, letter.thread)
            ]

    @invariant()
    def lists_agree(self) -> None:
        """Inboxes, states, history and the directory are as the model says."""
        for name, member in self.model.members.items():
            agent = self.agent(name)
            page = agent.poll(limit=200)
            unacked = self.model.inbox(name, ACKED, self.clock.now)
            assert [item.id for item in page.items] == [each.id for each in unacked]
            gone = len(self.model.inbox(name, ACKED)) - len(unacked)
            assert page.expired_count == gone
            assert [item.id for item in agent.history(limit=200).items] == (
                self.model.history(name)
            )
            entry = self.mailbox.whois(name)
            unread = self.model.inbox(name, 1, self.clock.now)
            assert entry.profile.is_retired is member.is_retired
            assert {*entry.profile.teams} == member.teams
            assert (entry.unread_count, entry.unacked_count) == (
                len(unread),
                len(unacked),
            )


# A case has forty steps, each of them looked at from all sides.
MailboxMachine.TestCase.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=40
)
# Finding the smallest failing case takes longer than the tests' common limit.
test_a_mailbox_does_what_the_model_says = pytest.mark.timeout(600)(
    MailboxMachine.TestCase
)
