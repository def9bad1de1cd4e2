"""What is written is read again as the same, by gitmail and by any reader of YAML."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, reject
from hypothesis import strategies as st

from gitmail.errors import InvalidFileError
from gitmail.records import frontmatter
from gitmail.records.charter import parse_charter
from gitmail.records.fields import FieldReader
from gitmail.records.memory import parse_memory
from gitmail.records.message import parse_message
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import parse_blind_copy, parse_receipt
from tests.strategies import (
    addresses,
    bodies,
    charters,
    copies,
    distinct,
    headers,
    ids,
    lines,
    memories,
    messages,
    profiles,
    receipts,
)

RECORDS = [
    pytest.param(messages, parse_message, id="message"),
    pytest.param(receipts, parse_receipt, id="receipt"),
    pytest.param(copies, parse_blind_copy, id="copy"),
    pytest.param(profiles, parse_profile, id="profile"),
    pytest.param(memories, parse_memory, id="memory"),
    pytest.param(charters, lambda data: parse_charter(data, "x"), id="charter"),
]

# The core schema of YAML 1.2: what a plain scalar must not look like to stay text.
_CORE_1_2 = re.compile(
    r"null|Null|NULL|~|true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+"
    r"|0x[0-9a-fA-F]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.nan|\.NaN|\.NAN"
)


@pytest.mark.parametrize(("records", "parse"), RECORDS)
@given(data=st.data())
def test_a_record_survives_its_file(
    records: st.SearchStrategy[Any], parse: Callable[[bytes], Any], data: st.DataObject
) -> None:
    """Reading what was written gives the same value (FORMAT.md)."""
    record = data.draw(records)

    assert parse(record.data) == record


@pytest.mark.parametrize(("records", "parse"), RECORDS)
@given(data=st.data())
def test_a_file_survives_being_read_and_written(
    records: st.SearchStrategy[Any], parse: Callable[[bytes], Any], data: st.DataObject
) -> None:
    """Writing what was read gives the same bytes, so a rewrite changes nothing else."""
    written = data.draw(records).data

    assert replace(parse(written)).data == written


@given(messages)
def test_every_reader_of_yaml_sees_the_texts_of_a_message(message: Any) -> None:
    """PyYAML's default loader, which has opinions, reads each text as that text."""
    header = message.data.split(b"\n---\n", 1)[0].removeprefix(b"---\n")
    place = message.location
    expected = {
        "from": message.sender,
        "to": list(message.to),
        "cc": list(message.cc),
        "recipients": list(message.recipients),
        "subject": message.subject,
        "kind": str(message.kind),
        "importance": str(message.importance),
        "ack_required": message.ack_required,
        "topic": message.topic,
        "room": message.room,
        "thread": message.thread,
        "reply_to": message.reply_to,
        "request_id": message.request_id,
        "location": place
        and {
            key: getattr(place, key)
            for key in ("branch", "worktree", "commit")
            if getattr(place, key)
        },
    }

    seen = yaml.safe_load(header)

    assert {key: seen.get(key) for key in expected if expected[key]} == {
        key: value for key, value in expected.items() if value
    }


@given(memories)
def test_every_reader_of_yaml_sees_the_texts_of_a_record_of_memory(record: Any) -> None:
    """PyYAML's default loader reads each text as that text, and the number as one."""
    header = record.data.split(b"\n---\n", 1)[0].removeprefix(b"---\n")
    expected = {
        "scope": str(record.scope),
        "entity": record.entity or None,
        "attribute": record.attribute or None,
        "status": "retired" if record.is_retired else None,
        "set_by": record.set_by,
        "source": record.source,
        "episode": record.episode,
        "confidence": record.confidence,
        "tags": [*record.tags] or None,
        "supersedes": record.supersedes,
        "contested": [*record.contested] or None,
        "retired_by": record.retired_by,
        "reason": record.reason,
    }

    seen = yaml.safe_load(header)

    assert {key: seen.get(key) for key in expected} == expected


@given(st.one_of(lines(), addresses, ids))
def test_a_text_without_quotes_is_text_in_yaml_1_2(text: str) -> None:
    """What is written without quotes is no number, no null and no flag in YAML 1.2."""
    written = frontmatter.render([("key", text)], "", "").decode().split("\n")[1]
    value = written.removeprefix("key: ")

    assert value.startswith('"') or (value == text and not _CORE_1_2.fullmatch(value))


@given(distinct(lines()), st.dictionaries(st.sampled_from("abc"), lines()))
def test_lists_and_mappings_survive_the_default_loader(
    items: tuple[str, ...], pairs: dict[str, str]
) -> None:
    """Each item is the text it was, whatever commas, colons and brackets it holds."""
    file = frontmatter.render([("list", items), ("map", pairs)], "", "")

    seen = yaml.safe_load(file.decode().split("---\n")[1]) or {}

    assert (seen.get("list", []), seen.get("map", {})) == ([*items], pairs)


@given(bodies)
def test_a_body_is_kept_to_the_byte(body: str) -> None:
    """No line end, fence or space of a body is changed, added or lost."""
    assert frontmatter.parse(frontmatter.render([("a", "b")], "", body))[1] == body


@given(headers)
def test_what_is_not_understood_survives_a_rewrite(text: str) -> None:
    """Unknown keys, in whatever style, are kept as they were, with their values."""
    try:
        header, _ = frontmatter.parse(f"---\n{text}---\n".encode())
    except InvalidFileError:
        reject()
    extra = FieldReader(header).rest()

    again, _ = frontmatter.parse(frontmatter.render([("name", "a")], extra, "b"))

    assert again.fields == {"name": "a", **header.fields}
    assert again.raw == {"name": "name: a\n", **header.raw}
