"""A receipt and a blind copy, the two files that go with a message; pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import (
    Address,
    AgentName,
    MessageId,
    parse_address,
    parse_agent_name,
)


class Stage(StrEnum):
    """How far a recipient is with a message, in rising order (CAPABILITIES K1)."""

    PENDING = "pending"
    READ = "read"
    ACKED = "acked"

    @property
    def rank(self) -> int:
        """Return the place in the rising order, from 0."""
        return list(Stage).index(self)


RECORDED_STAGES = (Stage.READ, Stage.ACKED)
"""The stages that have a receipt file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """That one agent reached one stage with one message, and when."""

    message: MessageId
    agent: AgentName
    stage: Stage
    date: datetime
    note: str = ""
    extra: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the receipt's file."""
        fields: list[tuple[str, frontmatter.Field]] = [
            ("message", self.message),
            ("agent", self.agent),
            ("stage", self.stage),
            ("date", self.date),
        ]
        return frontmatter.render(fields, self.extra, self.note)


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindCopy:
    """That a message was delivered to one more agent, whom it does not name.

    Attributes:
        address: The address through which the agent was reached.
    """

    message: MessageId
    agent: AgentName
    address: Address
    extra: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the copy's file."""
        fields: list[tuple[str, frontmatter.Field]] = [
            ("message", self.message),
            ("agent", self.agent),
            ("address", self.address),
        ]
        return frontmatter.render(fields, self.extra, "")


def parse_receipt(data: bytes) -> Receipt:
    """Return the receipt that a file holds.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    header, body = frontmatter.parse(data)
    read = FieldReader(header)
    stage = read.needed("stage")
    if stage not in RECORDED_STAGES:
        read.refuse("stage", f"is none of {', '.join(RECORDED_STAGES)}")
    return Receipt(
        message=MessageId(read.needed_id("message")),
        agent=read.name("agent", parse_agent_name),
        stage=Stage(stage),
        date=read.needed_time("date"),
        note=body,
        extra=read.rest(),
    )


def parse_blind_copy(data: bytes) -> BlindCopy:
    """Return the blind copy that a file holds.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
    """
    header, _ = frontmatter.parse(data)
    read = FieldReader(header)
    return BlindCopy(
        message=MessageId(read.needed_id("message")),
        agent=read.name("agent", parse_agent_name),
        address=read.name("address", parse_address),
        extra=read.rest(),
    )
