"""The file mailbox.md, which names a mailbox and sets its limits; pure."""

from dataclasses import dataclass
from datetime import datetime

from gitmail.errors import UnsupportedFormatError
from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader
from gitmail.records.names import parse_mailbox_id
from gitmail.records.text import check_line

FORMAT = 1
"""The newest format that this version reads and the one that it writes."""
PROJECT_LIMIT = 100
"""Characters of a project's name."""

_TEXT = """This is the mailbox of a project, written by gitmail.
Its limits, `max_body_bytes` and `max_wait_s`, may be changed in an ordinary clone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Charter:
    """What a mailbox is and what it allows.

    Attributes:
        id: A UUID; two clones of one mailbox share it.
        project: What people call the project.
        max_body_bytes: Limit of a message's body, in UTF-8 bytes.
        max_wait_s: Longest time that one wait may take, in seconds.
    """

    id: str
    project: str
    created: datetime
    max_body_bytes: int = 65_536
    max_wait_s: int = 55
    extra: str = ""
    text: str = _TEXT

    @property
    def data(self) -> bytes:
        """The bytes of mailbox.md."""
        fields: list[tuple[str, frontmatter.Field]] = [
            ("format", FORMAT),
            ("id", self.id),
            ("project", self.project),
            ("created", self.created),
            ("max_body_bytes", self.max_body_bytes),
            ("max_wait_s", self.max_wait_s),
        ]
        return frontmatter.render(fields, self.extra, self.text)


def parse_charter(data: bytes, path: str) -> Charter:
    """Return the charter that a file holds.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
        UnsupportedFormatError: The mailbox is of a newer format.
    """
    header, body = frontmatter.parse(data)
    read = FieldReader(header)
    found = read.number("format", 0)
    if found > FORMAT:
        raise UnsupportedFormatError(path, str(found), FORMAT)
    if found < FORMAT:
        read.refuse("format", "is missing or was never used")
    return Charter(
        id=read.name("id", parse_mailbox_id),
        project=read.name(
            "project", lambda text: check_line("project", text, PROJECT_LIMIT)
        ),
        created=read.needed_time("created"),
        max_body_bytes=read.number("max_body_bytes", 65_536),
        max_wait_s=read.number("max_wait_s", 55),
        extra=read.rest(),
        text=body,
    )
