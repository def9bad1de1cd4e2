"""The file mailbox.md, which names a mailbox and sets its limits; pure."""

from dataclasses import dataclass
from datetime import datetime

from gitmail.errors import UnsupportedFormatError
from gitmail.records import frontmatter
from gitmail.records.fields import FieldReader

FORMAT = 1
"""The newest format that this version reads and the one that it writes."""

_TEXT = """This is the mailbox of a project, written by gitmail. Limits may be changed \
here, in
an ordinary clone: `max_body_bytes` and `max_wait_s`."""


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
    found = read.needed("format")
    if found != str(FORMAT):
        raise UnsupportedFormatError(path, found, FORMAT)
    return Charter(
        id=read.needed("id"),
        project=read.needed("project"),
        created=read.needed_time("created"),
        max_body_bytes=read.number("max_body_bytes", 65_536),
        max_wait_s=read.number("max_wait_s", 55),
        extra=read.rest(),
        text=body,
    )
