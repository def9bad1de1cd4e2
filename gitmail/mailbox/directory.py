"""Registering, retiring and listing agents."""

import random
from collections.abc import Iterable
from datetime import datetime

from gitmail.errors import AgentNotFoundError
from gitmail.mailbox.availability import Liveness, availability
from gitmail.mailbox.checks import choice, texts
from gitmail.mailbox.lookup import Member, members
from gitmail.mailbox.values import Availability, Directory, Entry, Registered
from gitmail.records.message import RECIPIENT_LIMIT
from gitmail.records.names import (
    AgentName,
    parse_agent_name,
    parse_team_name,
    similar_names,
)
from gitmail.records.paths import profile_path
from gitmail.records.profile import AgentKind, Profile, changed_profile
from gitmail.records.text import SUBJECT_LIMIT, check_length, check_line, check_text
from gitmail.records.times import to_microseconds
from gitmail.store.view import Plan, View

DESCRIPTION_LIMIT = 4096
_ADJECTIVES = (  # noqa: SIM905 - a few lines instead of fifty
    "amber bold brave bright brisk calm clear clever cool deft eager fair fleet"
    " gentle glad golden grand keen kind light lively lucky merry mild neat nimble"
    " noble proud quick quiet rapid ready sharp shy silent silver smart snug solid"
    " steady still sunny swift tidy vivid warm wise witty young"
).split()
_NOUNS = (  # noqa: SIM905 - as above
    "badger bear beaver bee bison crane crow deer dove eagle elk falcon finch fox"
    " gecko hare hawk heron horse ibis jay koala lark lemur linnet lion lynx marten"
    " mole moose newt otter owl panda pike plover puffin raven robin seal sparrow"
    " stork swan tern tiger toad trout vole whale wolf wren"
).split()


def make_profile(
    created: datetime,
    *,
    name: AgentName,
    kind: str | None = None,
    program: str | None = None,
    model: str | None = None,
    teams: Iterable[str] | None = None,
    description: str | None = None,
) -> Profile:
    """Return a checked profile; what is None keeps its default.

    Raises:
        InvalidInputError: A value is not accepted; the class says how.
    """
    text = check_text("description", "" if description is None else description).strip()
    check_length("description", text, DESCRIPTION_LIMIT)
    check_line("description", " ".join(text.split()), DESCRIPTION_LIMIT)
    named = texts("teams", teams, RECIPIENT_LIMIT) if teams is not None else ()
    return Profile(
        name=name,
        created=created,
        kind=choice("kind", AgentKind, kind) or AgentKind.AGENT,
        program=_line("program", program),
        model=_line("model", model),
        teams=tuple(sorted({parse_team_name(team) for team in named})),
        description=text,
    )


def plan_registering(
    view: View, wanted: Profile, said: frozenset[str], now: datetime
) -> Plan[Registered]:
    """Plan to add an agent, or to change what was said of one that exists.

    Args:
        wanted: The checked profile.
        said: Names of its fields that the caller gave.
    """
    known = members(view).get(wanted.name)
    if known is None:
        return _write(wanted, "register", now, is_new=True)
    values = {field: getattr(wanted, field) for field in said}
    changed = changed_profile(known.profile, now, is_retired=False, **values)
    if changed == known.profile:
        return Plan(result=Registered(profile=changed, commit=None))
    return _write(changed, "register", now)


def plan_retiring(
    view: View, name: AgentName, actor: AgentName, now: datetime, *, retire: bool
) -> Plan[Registered]:
    """Plan to retire an agent or to bring one back (CAPABILITIES G3)."""
    member = known(view, name)
    if member.profile.is_retired is retire:
        return Plan(result=Registered(profile=member.profile, commit=None))
    changed = changed_profile(member.profile, now, is_retired=retire)
    operation = "retire" if retire else "unretire"
    return _write(changed, operation, now, actor=actor)


def free_name(view: View, chance: random.Random) -> AgentName:
    """Return an adjective and a noun that nobody is registered as."""
    taken = members(view)
    while True:
        name = f"{chance.choice(_ADJECTIVES)}-{chance.choice(_NOUNS)}"
        if len(taken) >= len(_ADJECTIVES) * len(_NOUNS) // 2 or name in taken:
            name = f"{name}-{chance.randrange(1_000_000)}"
        if name not in taken:
            return parse_agent_name(name)


def known(view: View, name: AgentName) -> Member:
    """Return the entry of a registered agent.

    Raises:
        AgentNotFoundError: Nobody has that name.
    """
    found = members(view)
    if name not in found:
        raise AgentNotFoundError(name, similar_names(name, found))
    return found[name]


def whois(view: View, name: AgentName, now: datetime, live: Liveness) -> Entry:
    """Return one agent, whatever its state."""
    return _entry(view, known(view, name), now, live)


def directory(
    view: View, now: datetime, live: Liveness, *, everybody: bool
) -> Directory:
    """Return the agents that are active; the others are counted (CAPABILITIES G2)."""
    entries = [_entry(view, member, now, live) for member in members(view).values()]
    retired = [e for e in entries if e.availability is Availability.RETIRED]
    active = [e for e in entries if e.availability is Availability.ACTIVE]
    if everybody:
        return Directory(entries=tuple(entries))
    return Directory(
        entries=tuple(active),
        idle_count=len(entries) - len(active) - len(retired),
        retired_count=len(retired),
    )


def pending(view: View, name: AgentName, now: datetime) -> tuple[int, int]:
    """Return how many messages an agent has not read, and not acknowledged.

    What has expired is not counted, as no list has it.
    """
    counts = "SELECT ifnull(sum(s.stage = 0), 0), count(*) FROM"
    own = "s.who = ? AND s.stage < 2"
    values = view.index.number_of(name), to_microseconds(now)
    unread, unacked = view.index.execute(
        f"{counts} mail s INDEXED BY mail_pending WHERE {own}", values[:1]
    ).fetchone()
    if not unacked:
        return 0, 0
    # Not a look at the message of all that is pending, of which there may be a lot.
    gone = view.index.execute(
        f"{counts} message m CROSS JOIN mail s ON s.date = m.date AND s.n = m.n"
        f" WHERE {own} AND m.expires <= ?",
        values,
    ).fetchone()
    return unread - gone[0], unacked - gone[1]


def _entry(view: View, member: Member, now: datetime, live: Liveness) -> Entry:
    unread, unacked = pending(view, member.profile.name, now)
    return Entry(
        profile=member.profile,
        availability=availability(member, now, live),
        last_seen=member.last_seen,
        unread_count=unread,
        unacked_count=unacked,
    )


def _line(field: str, value: str | None) -> str | None:
    return None if value is None else check_line(field, value, SUBJECT_LIMIT) or None


def _write(
    profile: Profile,
    operation: str,
    now: datetime,
    *,
    actor: AgentName | None = None,
    is_new: bool = False,
) -> Plan[Registered]:
    return Plan(
        result=Registered(profile=profile, commit=None, is_new=is_new),
        files={profile_path(profile.name): profile},
        operation=operation,
        agent=actor or profile.name,
        subject=profile.name,
        moment=now,
    )
