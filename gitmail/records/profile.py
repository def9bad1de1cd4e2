"""An agent's profile and its file; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import AgentName, parse_agent_name, parse_team_name
from gitmail.records.text import SUBJECT_LIMIT
from gitmail.records.times import format_time, later_than

T = TypeVar("T")
_WORD = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
FIELDS = {
    "kind": "kind",
    "program": "program",
    "model": "model",
    "teams": "teams",
    "is_retired": "status",
    "description": "description",
}
"""What may be said anew of an agent, and what a file's `changed` calls it."""


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
        changed: Field to when it was last said; what is absent was at `created`, or
            never where nothing is said.
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
        # Nothing but words are keys when it is written again.
        changed={
            k: at for k, at in read.times("changed").items() if _WORD.fullmatch(k)
        },
        description=body,
        extra=read.rest(),
    )


def changed_profile(known: Profile, now: datetime, **said: Any) -> Profile:
    """Return a profile with some fields said anew, the same one where nothing differs.

    A field's time is after that of what it takes over from, whatever the clocks say.
    """
    new = {key: value for key, value in said.items() if getattr(known, key) != value}
    times = {FIELDS[key]: later_than(_said(known, key)[0], now) for key in new}
    return replace(known, changed={**known.changed, **times}, **new) if new else known


def merged_profiles(origin: Profile | None, a: Profile, b: Profile) -> Profile:
    """Return each field as it was said last; ties go to the larger text.

    Args:
        origin: What both started from. A field that a person changed without saying
            when counts as changed by that.
    """
    chosen = {
        key: max(
            _changed(_said(origin, key), _said(a, key), _said(b, key)),
            key=lambda said: (said[0], str(said[1])),
        )
        for key in FIELDS
    }
    merged = replace(
        a,
        created=min(a.created, b.created),
        extra=max(_changed(origin.extra if origin else None, a.extra, b.extra)),
        changed=_unknown_times(a, b),
        **{key: value for key, (_, value) in chosen.items()},
    )
    # What a file implies is left out, so that the same profile is the same bytes.
    times = {
        FIELDS[key]: at
        for key, (at, _) in chosen.items()
        if at != _said(merged, key)[0]
    }
    return replace(merged, changed={**merged.changed, **times})


def _unknown_times(a: Profile, b: Profile) -> dict[str, datetime]:
    """Return the later time of each field that another version may know."""
    keys = {*a.changed, *b.changed} - {*FIELDS.values()}
    return {
        key: max(each.changed[key] for each in (a, b) if key in each.changed)
        for key in keys
    }


def _changed(origin: T | None, a: T, b: T) -> tuple[T, ...]:
    """Return what has to be chosen from: the sides, without one that is as before."""
    return tuple(side for side in (a, b) if side != origin) or (a,)


def _said(profile: Profile | None, key: str) -> tuple[datetime, Any]:
    """Return when a field was said, and what; what is open was said long before."""
    if profile is None:
        return _LONG_AGO, None
    value = getattr(profile, key)
    implied = _LONG_AGO if value == getattr(_OPEN, key) else profile.created
    return profile.changed.get(FIELDS[key], implied), value


_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_OPEN = Profile(name=AgentName(""), created=_LONG_AGO)
