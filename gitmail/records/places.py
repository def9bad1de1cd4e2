"""Where a file belongs by what it says; pure."""

from collections.abc import Callable

from gitmail.records.charter import parse_charter
from gitmail.records.memory import parse_memory
from gitmail.records.message import blob_id, parse_message
from gitmail.records.paths import (
    CHARTER_PATH,
    Family,
    Place,
    copy_path,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
    set_aside_path,
)
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import parse_blind_copy, parse_receipt


def right_path(path: str, data: bytes) -> str:
    """Return where a file belongs by what it says; empty where no record could stand.

    Args:
        path: Where it stands, which gives what the file does not say.

    Raises:
        InvalidFileError: The bytes do not follow FORMAT.md.
        UnsupportedFormatError: The mailbox was written by a newer gitmail.
    """
    place = parse_path(path)
    return _RIGHT[place.family](path, place, data)


def _fixed_path(path: str, _place: Place, data: bytes) -> str:
    if path == CHARTER_PATH:
        parse_charter(data, path)
    return path


_RIGHT: dict[Family, Callable[[str, Place, bytes], str]] = {
    Family.MESSAGE: lambda _, place, data: message_path(
        parse_message(data), place.part
    ),
    Family.RECEIPT: lambda _, place, data: receipt_path(
        parse_receipt(data), place.folder
    ),
    Family.COPY: lambda _, place, data: copy_path(parse_blind_copy(data), place.folder),
    Family.PROFILE: lambda _, __, data: profile_path(parse_profile(data).name),
    Family.MEMORY: lambda _, place, data: memory_path(parse_memory(data), place.part),
    Family.ASIDE: lambda _, __, data: set_aside_path(blob_id(data)),
    Family.FIXED: _fixed_path,
    Family.UNKNOWN: lambda *_: "",
}
