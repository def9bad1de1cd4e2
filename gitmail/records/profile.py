"""An agent's profile and its file; pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import AgentName, parse_agent_name, parse_team_name
from gitmail.records.text import SUBJECT_LIMIT


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
    """

    name: AgentName
    created: datetime
    kind: AgentKind = AgentKind.AGENT
    program: str | None = None
    model: str | None = None
    teams: tuple[str, ...] = ()
    is_retired: bool = False
    description: str = ""
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
        description=body,
        extra=read.rest(),
    )
