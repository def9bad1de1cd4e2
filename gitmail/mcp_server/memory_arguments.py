"""What the tools of memory accept."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, model_validator

from gitmail.mcp_server.arguments import Arguments, Body, Limit, Texts, one_of
from gitmail.records.memory import SLOT_SCOPES, Scope

_LESSON_WORDS = {"task": "entity", "aspect": "attribute"}
"""What a lesson calls them; not in the schemas, which every session pays for."""

SlotScope = Annotated[str, Field(json_schema_extra={"enum": list(SLOT_SCOPES)})]
AnyScope = Annotated[str, Field(json_schema_extra={"enum": list(Scope)})]
Source = Annotated[
    str | None,
    Field(description="message:ID, file:PATH[@COMMIT], a URL or free text"),
]


class _Slot(Arguments):
    """Arguments that name a slot, also in a lesson's words."""

    @model_validator(mode="before")
    @classmethod
    def _as_slot(cls, said: Mapping[str, object]) -> dict[str, object]:
        given = {name: value for name, value in said.items() if value is not None}
        words = {word: at for word, at in _LESSON_WORDS.items() if at not in given}
        return {words.get(name, name): value for name, value in given.items()}


class Add(Arguments):
    """The arguments of memory_add."""

    text: Body
    tags: Texts | None = None
    source: Source = None
    episode: str | None = Field(
        default=None, description="The piece of work that it belongs to"
    )


class Set(_Slot):
    """The arguments of memory_set."""

    scope: SlotScope
    entity: str
    attribute: str
    value: Body
    source: Source = None
    confidence: float | None = Field(default=None, description="0 to 1")
    tags: Texts | None = None
    expected: str | None = Field(
        default=None, description="Revision that must be in force, or none"
    )
    ack_source: bool = Field(
        default=False, description="Ack the message that is the source"
    )


class Get(_Slot):
    """The arguments of memory_get."""

    scope: AnyScope
    entity: str
    attribute: str | None = None


class Search(_Slot):
    """The arguments of memory_search."""

    query: str | None = None
    scopes: Texts | None = Field(default=None, description=f"Of {', '.join(Scope)}")
    entity: str | None = None
    tags: Texts | None = Field(default=None, description="One of them")
    source: str | None = Field(default=None, description="Exactly this")
    by: str | None = Field(default=None, description="Who set it")
    since: str | None = Field(default=None, description="A time, or 2h for 2 h ago")
    retired: bool = Field(default=False, description="Also what is retired")
    limit: int | None = Field(default=None, description="1 to 200, default 20")


class Supersede(Arguments):
    """The arguments of memory_supersede."""

    text: Body
    note: str | None = Field(default=None, description="Id of the old note")
    old_text: str | None = Field(default=None, description="Or all its text")


class _Named(_Slot):
    scope: AnyScope
    entity: str = Field(description="Or a note's id")
    attribute: str | None = None


class Forget(_Slot):
    """The arguments of memory_forget."""

    scope: AnyScope
    entity: str | None = Field(default=None, description="Or a note's id")
    attribute: str | None = None
    text: str | None = Field(default=None, description="All of a note's text")
    substring: str | None = None
    source: str | None = None
    episode: str | None = None
    tag: str | None = None
    match: str | None = one_of("any", "all")
    confirm: bool = Field(default=False, description="Even more than 20 notes")
    dry_run: bool = Field(default=False, description="Only show what would go")
    reason: str | None = None


class Restore(_Named):
    """The arguments of memory_restore."""

    revision: str | None = Field(
        default=None, description="Of a slot; replaces what is in force"
    )
    reason: str | None = None


class History(_Named):
    """The arguments of memory_history."""

    limit: Limit = None
