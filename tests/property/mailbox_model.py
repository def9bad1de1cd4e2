"""A mailbox as plain dictionaries: what each verb must answer, by the rules alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from gitmail.errors import GitmailError

PENDING, READ, ACKED = range(3)
STAGES = {"pending": PENDING, "read": READ, "acked": ACKED}


class Refusal(Exception):  # noqa: N818 - it stands for the error that has the code
    """That a verb must refuse, and with which code."""


def agree(expected: Callable[[], Any], act: Callable[[], Any]) -> Any:
    """Return what a model and a mailbox answer, or None if both refuse alike."""
    try:
        wanted = expected()
    except Refusal as refusal:
        with pytest.raises(GitmailError) as caught:
            act()
        code = str(refusal)
    else:
        return wanted, act()
    assert caught.value.code == code
    return None


@dataclass
class Member:
    """An agent."""

    teams: frozenset[str] = frozenset()
    is_retired: bool = False


@dataclass
class Letter:
    """A message that was sent.

    Attributes:
        listed: The recipients that all may know of.
        blind: The others, with the address through which each was reached.
        groups: The teams, or all, to which it is open.
        said: What the sender asked for, to ask for it again.
    """

    id: str
    sender: str
    date: datetime
    expires: datetime | None
    thread: str
    listed: tuple[str, ...]
    blind: dict[str, str]
    groups: frozenset[str]
    said: dict[str, Any]
    answers: str | None = None
    stages: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[datetime, str]:
        """Where it stands in every list."""
        return self.date, self.id


class Model:
    """All agents and letters."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.letters: list[Letter] = []

    def check_member(self, name: str) -> None:
        """Refuse who is not registered."""
        if name not in self.members:
            raise Refusal("not_registered")

    def deliver(
        self, sender: str, to: Sequence[str], cc: Sequence[str], bcc: Sequence[str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return who gets a message openly, and who blindly through which address."""
        self.check_member(sender)
        listed = self._reach(sender, [*to, *cc])
        blind = self._reach(sender, bcc)
        if not listed and not blind:
            raise Refusal("no_recipients")
        return tuple(listed), blind

    def _reach(self, sender: str, addresses: Iterable[str]) -> dict[str, str]:
        names = [a for a in addresses if a != "all" and ":" not in a]
        if any(name not in self.members for name in names):
            raise Refusal("unknown_recipient")
        if any(self.members[name].is_retired for name in names):
            raise Refusal("retired_recipient")
        reach: dict[str, str] = {}
        for address in addresses:
            for name in self._expand(sender, address):
                reach.setdefault(name, address)
        return reach

    def _expand(self, sender: str, address: str) -> list[str]:
        if address in self.members:
            return [address]
        team = address.partition(":")[2]
        if team and not any(team in member.teams for member in self.members.values()):
            raise Refusal("unknown_recipient")
        found = [
            name
            for name, member in sorted(self.members.items())
            if (not team or team in member.teams)
            and not member.is_retired
            and name != sender
        ]
        if not found:
            raise Refusal("no_recipients")
        return found

    def add(self, letter: Letter) -> None:
        """Take in a letter; its sender is active."""
        for name in (*letter.listed, *letter.blind):
            letter.stages[name] = PENDING
        self.letters.append(letter)
        self.members[letter.sender].is_retired = False

    def may_see(self, name: str, letter: Letter) -> bool:
        """Tell whether an agent may see a letter."""
        groups = {"all", *(f"team:{team}" for team in self.members[name].teams)}
        return (
            name == letter.sender
            or name in letter.stages
            or bool(groups & letter.groups)
        )

    def history(self, name: str) -> list[str]:
        """Return the ids of what an agent may see, newest first."""
        seen = [each for each in self.letters if self.may_see(name, each)]
        return [each.id for each in sorted(seen, key=lambda x: x.key, reverse=True)]

    def inbox(self, name: str, below: int, now: datetime | None = None) -> list[Letter]:
        """Return what was delivered to an agent and is below a stage, oldest first.

        Args:
            now: Where it is given, without what has expired by then.
        """
        found = [
            each for each in self.letters if each.stages.get(name, ACKED + 1) < below
        ]
        if now:
            found = [each for each in found if not each.expires or each.expires > now]
        return sorted(found, key=lambda each: each.key)

    def blind_of(self, name: str, letter: Letter) -> set[str]:
        """Return the blind addresses that an agent may know of."""
        if name == letter.sender:
            return {*letter.blind.values()}
        return (
            {letter.blind[name]} & {*letter.blind.values()}
            if name in letter.blind
            else set()
        )

    def receipts_of(self, name: str, letter: Letter) -> dict[str, int]:
        """Return the stages of the recipients that an agent may know of."""
        known = {*letter.listed, *(letter.blind if name == letter.sender else ())}
        if name in letter.blind:
            known.add(name)
        return {each: letter.stages[each] for each in known}

    def acknowledge(self, name: str, letter: Letter, stage: int) -> str:
        """Raise an agent's stage with a letter; return what an ack must answer."""
        if not self.may_see(name, letter):
            return "not_found"
        if name not in letter.stages:
            return "conflict"
        if letter.stages[name] >= stage:
            return "unchanged"
        letter.stages[name] = stage
        self.members[name].is_retired = False
        return "updated"

    def thread(self, name: str, thread: str) -> Iterator[str]:
        """Yield the ids of what an agent may see of a thread, oldest first."""
        for letter in sorted(self.letters, key=lambda each: each.key):
            if letter.thread == thread and self.may_see(name, letter):
                yield letter.id
