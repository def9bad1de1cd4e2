"""An agent's profile and its file; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import AgentName, parse_agent_name, parse_team_name
from gitmail.records.text import SUBJECT_LIMIT
from gitmail.records.times import format_time, later_than

FIELDS = ("kind", "program", "model", "teams", "is_retired", "description")
"""What may be said anew of an agent."""


class AgentKind(StrEnum):
    """Whether a program or a person is behind a name."""

    AGENT = "agent"
    HUMAN = "human"


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """Who an agent is (CAPABILITIES G1, G3).

    Attributes:
        program: The program that runs it, such as an editor or a coding agent.
        teams: Names of the teams it belongs to, sorted, without `team:`.
        created: When the name was first registered.
        description: Free Markdown text.
        changed: Field to when it was last said; what is absent was at `created`.
    """

    name: AgentName
    created: datetime
    kind: AgentKind = AgentKind.AGENT
    program: str | None = None
    model: str | None = None
    teams: tuple[str, ...] = ()
    is_retired: bool = False
    description: str = ""
    changed: Mapping[str, datetime] = field(default_factory=dict)
    extra: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the profile's file."""
        fields: list[tuple[str, frontmatter.Field]] = [
            ("name", self.name),
            ("kind", self.kind),
            ("program", self.program),
            ("model", self.model),
            ("teams", self.teams),
            ("status", "retired" if self.is_retired else "active"),
            ("created", self.created),
            ("changed", {k: format_time(at) for k, at in sorted(self.changed.items())}),
        ]
        return frontmatter.render(fields, self.extra, self.description)


def parse_profile(data: bytes) -> Profile:
    """Return the profile that a file holds.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    header, body = frontmatter.parse(data)
    read = FieldReader(header)
    return Profile(
        name=read.name("name", parse_agent_name),
        kind=AgentKind(read.choice("kind", list(AgentKind), AgentKind.AGENT)),
        program=read.line("program", SUBJECT_LIMIT),
        model=read.line("model", SUBJECT_LIMIT),
        teams=read.names("teams", parse_team_name),
        is_retired=read.choice("status", ("active", "retired"), "active") == "retired",
        created=read.needed_time("created"),
        changed=read.times("changed"),
        description=body,
        extra=read.rest(),
    )


def changed_profile(known: Profile, now: datetime, **said: Any) -> Profile:
    """Return a profile with some fields said anew, the same one where nothing differs.

    A field's time is after that of what it takes over from, whatever the clocks say.
    """
    new = {key: value for key, value in said.items() if getattr(known, key) != value}
    times = {key: later_than(_said_at(known, key), now) for key in new}
    return replace(known, changed={**known.changed, **times}, **new) if new else known


def merged_profiles(a: Profile, b: Profile) -> Profile:
    """Return each field as it was said last; ties go to the larger text."""
    chosen = {}
    for key in FIELDS:
        said = [(_said_at(each, key), str(getattr(each, key)), each) for each in (a, b)]
        at, _, later = max(said, key=lambda item: item[:2])
        chosen[key] = at, getattr(later, key)
    created = min(a.created, b.created)
    return replace(
        a,
        created=created,
        extra=max(a.extra, b.extra),
        changed={key: at for key, (at, _) in chosen.items() if at > created},
        **{key: value for key, (_, value) in chosen.items()},
    )


def _said_at(profile: Profile, key: str) -> datetime:
    """Return when a field was said; what was left open was said long before."""
    is_open = getattr(profile, key) == getattr(_OPEN, key)
    return profile.changed.get(key, _LONG_AGO if is_open else profile.created)


_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_OPEN = Profile(name=AgentName(""), created=_LONG_AGO)
