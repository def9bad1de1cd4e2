"""Each example file in `fixtures/` is read as the JSON beside it says."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gitmail.errors import GitmailError, InvalidFileError
from gitmail.records.charter import parse_charter
from gitmail.records.memory import parse_memory
from gitmail.records.message import Message, parse_message
from gitmail.records.paths import (
    Family,
    copy_path,
    hour_folder,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
)
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import parse_blind_copy, parse_receipt
from gitmail.records.times import format_time

FIXTURES = Path(__file__).parent.parent / "fixtures"
FAMILIES = ("messages", "receipts", "agents", "memory", "mailboxes/charter")
OLD_MAILBOXES = sorted((FIXTURES / "mailboxes").glob("format-*"))
FAMILIES_OF = {
    "format-1": {*Family} - {Family.UNKNOWN, Family.ASIDE, Family.MEMORY},
    "format-1-with-memory": {*Family} - {Family.UNKNOWN, Family.ASIDE},
}
"""What stands in the mailbox of each format."""
PARSERS: dict[str, Callable[[bytes], Any]] = {
    "message": parse_message,
    "receipt": parse_receipt,
    "copy": parse_blind_copy,
    "profile": parse_profile,
    "memory": parse_memory,
    "charter": lambda data: parse_charter(data, "mailbox"),
}


def examples(verdict: str) -> list[Any]:
    """Return the example files of one verdict, named as they are in the tree."""
    files = [
        path for name in FAMILIES for path in (FIXTURES / name / verdict).iterdir()
    ]
    return [
        pytest.param(path, id=f"{path.parent.parent.name}-{path.stem}")
        for path in sorted(files)
        if path.suffix == ".md"
    ]


def expectation(file: Path) -> dict[str, Any]:
    """Return what the JSON beside an example says."""
    found: dict[str, Any] = json.loads(file.with_suffix(".json").read_text("utf-8"))
    return found


def as_json(record: Any) -> Any:
    """Return a record as JSON would give it back."""

    def plain(value: object) -> str:
        assert isinstance(value, datetime)
        return format_time(value)

    return json.loads(json.dumps(asdict(record), default=plain))


@pytest.mark.parametrize("file", examples("valid"))
def test_a_valid_file_is_read_as_its_value(file: Path) -> None:
    """Every field is as expected, and a message's id is of the very bytes."""
    expected = expectation(file)

    record = PARSERS[expected["record"]](file.read_bytes())

    assert as_json(record) == expected["value"]
    assert getattr(record, "id", None) == expected.get(
        "id", expected["value"].get("id")
    )


@pytest.mark.parametrize("file", examples("valid"))
def test_a_valid_file_is_written_as_it_was_or_as_expected(file: Path) -> None:
    """A file as gitmail writes it stays as it is; another is written the usual way."""
    expected = expectation(file)
    data = file.read_bytes()
    written = expected["rewritten"].encode() if "rewritten" in expected else data

    # A message keeps the bytes that it was read from; its copy is written anew.
    record = replace(PARSERS[expected["record"]](data))

    assert record.data == written
    assert PARSERS[expected["record"]](written) == record


@pytest.mark.parametrize("file", examples("invalid"))
def test_an_invalid_file_is_refused_where_it_is_wrong(file: Path) -> None:
    """The error has the expected code, and names the line and the reason."""
    expected = expectation(file)

    with pytest.raises(GitmailError) as caught:
        PARSERS[expected["record"]](file.read_bytes())

    problem = caught.value
    line = problem.line if isinstance(problem, InvalidFileError) else None
    assert (problem.code, line) == (expected["error"], expected.get("line"))
    assert expected.get("reason", "") in problem.message


def test_no_example_is_forgotten() -> None:
    """Each file in these folders is of a pair that the tests above use."""
    used = {
        parameter.values[0]
        for verdict in ("valid", "invalid")
        for parameter in examples(verdict)
    }
    pairs = {path.with_suffix(end) for path in used for end in (".md", ".json")}
    mailboxes = {path for root in OLD_MAILBOXES for path in root.rglob("*")}

    found = {
        path
        for name in ("messages", "receipts", "agents", "memory", "mailboxes")
        for path in (FIXTURES / name).rglob("*")
        if path.is_file()
    }

    assert found - mailboxes == pairs
    assert {root.name for root in OLD_MAILBOXES} == {*FAMILIES_OF}


@pytest.mark.parametrize("root", OLD_MAILBOXES, ids=lambda root: root.name)
def test_a_mailbox_of_each_format_stays_readable(root: Path) -> None:
    """Each file of a mailbox stands at the path that its content asks for."""
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    places = {path: parse_path(path) for path in files}
    messages: dict[str, tuple[Message, str]] = {}
    for path, place in places.items():
        if place.family is Family.MESSAGE:
            message = parse_message(files[path])
            folder = hour_folder(message.date, place.part)
            messages[message.id] = message, folder
            assert message_path(message, place.part) == path

    for path, place in places.items():
        data = files[path]
        match place.family:
            case Family.RECEIPT:
                receipt = parse_receipt(data)
                assert receipt_path(receipt, messages[receipt.message][1]) == path
            case Family.COPY:
                copy = parse_blind_copy(data)
                assert copy_path(copy, messages[copy.message][1]) == path
            case Family.PROFILE:
                assert profile_path(parse_profile(data).name) == path
            case Family.MEMORY:
                assert memory_path(parse_memory(data)) == path
            case family:
                assert family in (Family.MESSAGE, Family.FIXED)

    parse_charter(files["mailbox.md"], "mailbox")
    families = {place.family for place in places.values()}
    assert families == FAMILIES_OF[root.name]
