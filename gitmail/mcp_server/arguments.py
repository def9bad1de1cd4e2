"""What the tools accept, and the schemas that say so: closed, flat and strict."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gitmail.records.message import Importance, Kind
from gitmail.records.profile import AgentKind

Schema = dict[str, Any]


def _as_list(value: object) -> object:
    """Return the list that a text means; some models send every list as text."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            msg = "it looks like JSON text but cannot be read as a list"
            raise ValueError(msg) from None
    return [each.strip() for each in value.split(",") if each.strip()]


def one_of(*values: str) -> Any:
    """Return an optional parameter with these values."""
    # The core checks the value, whatever its case, and names what it accepts.
    return Field(default=None, json_schema_extra={"enum": list(values)})


Body = Annotated[str, Field(description="Markdown")]
Texts = Annotated[list[str], BeforeValidator(_as_list)]
MessageId = Annotated[str, Field(description="Id, or its first 8 or more digits")]
Limit = Annotated[int | None, Field(description="1 to 200, default 50")]


class Arguments(BaseModel):
    """The arguments of a tool; what is null counts as not said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, said: Mapping[str, object]) -> dict[str, object]:
        # Some models fill in every optional parameter that they do not use.
        return {name: value for name, value in said.items() if value is not None}

    def said(self) -> dict[str, Any]:
        """Return what the caller gave, by the names of the Python API."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the parameters."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @classmethod
    def schema_of(cls) -> Schema:
        """Return the JSON schema: single types, no titles, defaults or references."""
        full = cls.model_json_schema(by_alias=True)
        required = full.get("required", [])
        names = sorted(full["properties"], key=lambda name: name not in required)
        schema: Schema = {
            "type": "object",
            "properties": {name: _slim(full["properties"][name]) for name in names},
            "additionalProperties": False,
        }
        return schema | ({"required": required} if required else {})


def _slim(schema: Schema) -> Schema:
    kept = {k: v for k, v in schema.items() if k not in ("title", "default", "anyOf")}
    for branch in schema.get("anyOf", ()):
        if branch != {"type": "null"}:
            kept = branch | kept
    return kept


class Nothing(Arguments):
    """A tool without parameters."""


class _Written(Arguments):
    subject: str | None = None
    cc: Texts | None = None
    bcc: Texts | None = None
    kind: str | None = one_of(*Kind)
    importance: str | None = one_of(*Importance)
    ack_required: bool = False
    topic: str | None = None
    room: str | None = None
    request_id: str | None = Field(
        default=None, description="Makes a retry safe: the same id sends once"
    )
    expires_in: str | None = Field(default=None, description="Such as 2h")


class Send(_Written):
    """The arguments of message_send."""

    to: Texts = Field(description="Agents, team:NAME or all")
    body: Body


class Reply(_Written):
    """The arguments of message_reply."""

    message_id: MessageId
    body: Body
    to: Texts | None = Field(default=None, description="Instead of its sender")
    subject_prefix: str | None = Field(default=None, description="Instead of Re:")


class Poll(Arguments):
    """The arguments of message_poll."""

    unread: bool = Field(
        default=False, description="Only unread mail, not all that is unacked"
    )
    sender: str | None = Field(default=None, alias="from")
    room: str | None = None
    thread: str | None = Field(default=None, description="Id of any message in it")
    topic: str | None = None
    kind: str | None = one_of(*Kind)
    importance: str | None = Field(
        default=None,
        description="At least",
        json_schema_extra={"enum": list(Importance)},
    )
    overdue: bool = Field(default=False, description="Ack asked for over 30 min ago")
    since: str | None = Field(default=None, description="A time, or 2h for 2 h ago")
    after: str | None = Field(default=None, description="Cursor of an answer")
    limit: Limit = None
    full: bool = Field(default=False, description="Whole bodies, not previews")
    ack: bool = Field(default=False, description="Ack all that is returned")

    def filters(self) -> dict[str, Any]:
        """Return what `Agent.poll` takes."""
        said = {key: value for key, value in self.said().items() if key != "unread"}
        return said | ({"show": "unread"} if self.unread else {})


class Wait(Poll):
    """The arguments of message_wait."""

    timeout_s: float | None = Field(
        default=None, description="Default 25, at most 55 unless configured"
    )

    def filters(self) -> dict[str, Any]:
        """Return what `Agent.wait` takes beside the time."""
        return {k: v for k, v in super().filters().items() if k != "timeout_s"}


class Read(Arguments):
    """The arguments of message_read."""

    message_id: MessageId


class Ack(Arguments):
    """The arguments of message_ack."""

    message_ids: Texts = Field(description="1 to 64")
    stage: str | None = Field(
        default=None,
        description="Default acked",
        json_schema_extra={"enum": ["read", "acked"]},
    )
    note: str | None = None


class History(Arguments):
    """The arguments of message_history."""

    peer: str | None = Field(default=None, description="Only mail with this agent")
    after: str | None = Field(default=None, description="Cursor of an answer")
    limit: Limit = None


class Search(Arguments):
    """The arguments of message_search."""

    query: str
    sender: str | None = Field(default=None, alias="from")
    recipient: str | None = Field(default=None, alias="to")
    kind: str | None = one_of(*Kind)
    order: str | None = one_of("recent", "best")
    limit: int | None = Field(default=None, description="1 to 200, default 20")


class Thread(Arguments):
    """The arguments of message_thread."""

    message_id: MessageId
    limit: Limit = None


class Register(Arguments):
    """The arguments of agent_register."""

    name: str | None = None
    kind: str | None = one_of(*AgentKind)
    program: str | None = None
    model: str | None = None
    teams: Texts | None = None
    description: str | None = Field(default=None, description="What you work on")
    take_over: bool = Field(
        default=False, description="Also if another live server has the name"
    )


class Listing(Arguments):
    """The arguments of agent_list."""

    all: bool = Field(default=False, description="Also idle and retired ones")
