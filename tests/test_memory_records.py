"""A note and a slot as files: what is written, what is read, what is refused."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitmail.errors import InvalidArgumentError, InvalidFileError
from gitmail.records.memory import (
    EPISODE_LIMIT,
    MOST_TAGS,
    REASON_LIMIT,
    SLOT_SCOPES,
    SOURCE_LIMIT,
    MemoryRecord,
    Scope,
    parse_memory,
    round_confidence,
)
from gitmail.records.message import parse_message
from gitmail.records.names import AgentName
from tests.helpers import blob_id

DATE = datetime(2026, 11, 30, 14, 40, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
BUILDER = AgentName("builder")
ID, OTHER = "7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d", "38" * 20
NOTE = MemoryRecord(scope=Scope.NOTE, value="Cold.", set_by=BUILDER, set_at=DATE)
FACT = replace(NOTE, scope=Scope.FACT, entity="Parser", attribute="owner")
FULL = replace(
    FACT,
    source=f"message:{ID}",
    confidence=0.75,
    tags=("people", "12:30"),
    supersedes=ID,
    contested=(OTHER,),
    retired_by=AgentName("lead"),
    retired_at=LATER,
    reason="Moved: see the news",
)
LINES = {
    "scope": 2,
    "entity": 3,
    "attribute": 4,
    "status": 5,
    "set_by": 6,
    "set_at": 7,
    "source": 8,
    "confidence": 9,
    "tags": 10,
    "supersedes": 11,
    "contested": 12,
    "retired_by": 13,
    "retired_at": 14,
    "reason": 15,
}
"""Where each key of `FULL` stands in its file."""


def with_key(record: MemoryRecord, key: str, text: str | None) -> bytes:
    """Return a record's file with the text of one key's value replaced."""
    lines = record.data.decode().split("\n")
    (number,) = [n for n, line in enumerate(lines) if line.startswith(f"{key}: ")]
    lines[number : number + 1] = [] if text is None else [f"{key}: {text}"]
    return "\n".join(lines).encode()


def refusal(data: bytes) -> InvalidFileError:
    """Return why a file is refused."""
    with pytest.raises(InvalidFileError) as caught:
        parse_memory(data)
    return caught.value


def test_a_note_is_a_text_with_who_and_when() -> None:
    """Nothing else stands in its header (CAPABILITIES Y1)."""
    assert NOTE.data.decode() == (
        "---\nscope: note\nset_by: builder\nset_at: 2026-11-30T14:40:00.000000Z\n---\n"
        "\nCold.\n"
    )
    assert parse_memory(NOTE.data) == NOTE


def test_a_slot_is_written_with_its_keys_in_one_order() -> None:
    """So that each version differs from the last only where it says something else."""
    assert FULL.data.decode() == (
        "---\nscope: fact\nentity: Parser\nattribute: owner\nstatus: retired\n"
        "set_by: builder\nset_at: 2026-11-30T14:40:00.000000Z\n"
        f'source: "message:{ID}"\nconfidence: 0.75\ntags: [people, "12:30"]\n'
        f'supersedes: {ID}\ncontested: ["{OTHER}"]\nretired_by: lead\n'
        'retired_at: 2026-12-01T08:00:00.000000Z\nreason: "Moved: see the news"\n---\n'
        "\nCold.\n"
    )
    assert parse_memory(FULL.data) == FULL
    lines = FULL.data.decode().split("\n")
    assert {lines[number - 1].split(":")[0]: number for number in LINES.values()} == (
        LINES
    )


@pytest.mark.parametrize("scope", SLOT_SCOPES)
def test_each_kind_of_slot_is_read_as_what_it_is(scope: Scope) -> None:
    """A lesson's task is its entity (CAPABILITIES Y2)."""
    record = replace(FULL, scope=scope)

    assert parse_memory(record.data) == record
    assert f"\nscope: {scope}\n" in record.data.decode()


def test_a_note_belongs_to_an_episode() -> None:
    """Which no slot does (CAPABILITIES Y1)."""
    note = replace(NOTE, episode="parser rewrite", tags=("perf",), supersedes=ID)

    assert parse_memory(note.data) == note
    assert "\nepisode: parser rewrite\ntags: [perf]\n" in note.data.decode()


def test_a_record_is_known_by_the_bytes_that_stand_there() -> None:
    """A slot's revision and a note's id are git's, however the file was written."""
    by_hand = FACT.data.replace(b"Parser", b"'Parser'  # by hand")
    record = parse_memory(by_hand)

    assert record == FACT
    assert record.id == blob_id(by_hand)
    assert FACT.id == blob_id(FACT.data)
    assert replace(record).id == FACT.id != record.id


def test_a_slot_is_in_force_until_it_has_been_retired() -> None:
    """The time of a retirement is what makes one (CAPABILITIES Y6)."""
    assert not FACT.is_retired
    assert FACT.changed_at == DATE
    assert FULL.is_retired
    assert FULL.changed_at == LATER
    assert b"status" not in FACT.data
    assert parse_memory(with_key(FULL, "status", "retired")) == FULL


def test_a_status_of_active_says_nothing_new() -> None:
    """A person may write it, gitmail leaves it out (FORMAT.md)."""
    by_hand = FACT.data.replace(b"\nset_by", b"\nstatus: active\nset_by")

    assert parse_memory(by_hand) == FACT
    assert replace(parse_memory(by_hand)).data == FACT.data


@pytest.mark.parametrize("number", [0.0, 0.001, 0.1, 0.333, 0.5, 0.999, 1.0])
def test_a_confidence_survives_its_file(number: float) -> None:
    """Nought is said, and not taken for nothing."""
    record = replace(FACT, confidence=number)

    assert parse_memory(record.data).confidence == number
    assert b"\nconfidence: " in record.data


@pytest.mark.parametrize(
    ("said", "kept"), [(1 / 3, 0.333), (0.9996, 1.0), (1e-9, 0.0), (1, 1), (None, None)]
)
def test_a_confidence_is_kept_to_three_decimals(
    said: float | None, kept: float | None
) -> None:
    """So that no exponent and no noise of floating point stands in a file."""
    record = replace(FACT, confidence=round_confidence(said))

    assert parse_memory(record.data).confidence == kept
    assert b"e-" not in record.data


@pytest.mark.parametrize("text", ["0", "1", "0.5", "0.50", "1.000", "0.000", "'0.25'"])
def test_a_confidence_may_be_written_with_fewer_decimals(text: str) -> None:
    """As people do (FORMAT.md)."""
    assert parse_memory(with_key(FULL, "confidence", text)).confidence == float(
        text.strip("'")
    )


UNKNOWN = "x-b: [1,   'two']  # why\n# more\nx-a: |\n  ---\n   text\n\n"


@pytest.mark.parametrize("record", [NOTE, FULL], ids=["note", "slot"])
def test_unknown_keys_are_kept_byte_for_byte(record: MemoryRecord) -> None:
    """What a later version or a person wrote outlives an update of ours."""
    by_hand = record.data.replace(b"---\n", f"---\n{UNKNOWN}".encode(), 1)

    found = parse_memory(by_hand)
    written = replace(found, value="Warm.", set_at=LATER).data.decode()

    assert found.extra == UNKNOWN
    assert written.count(UNKNOWN) == 1
    assert written.endswith(f"{UNKNOWN}---\n\nWarm.\n")
    assert replace(parse_memory(written.encode())).data.decode() == written


def test_keys_of_slots_mean_nothing_in_a_note() -> None:
    """Whatever they hold; they are kept, as unknown ones are."""
    odd = "entity: [a]\nattribute: A  B\nstatus: gone\nconfidence: 7\ncontested: x\n"
    odd += "retired_by: Nobody\nretired_at: never\nreason: {a: b}\n"

    found = parse_memory(NOTE.data.replace(b"---\n", f"---\n{odd}".encode(), 1))

    assert found == replace(NOTE, extra=odd)
    assert not found.is_retired
    assert found.data != NOTE.data
    assert odd in replace(found, value="Warm.").data.decode()


def test_an_episode_means_nothing_in_a_slot() -> None:
    """It is kept, as unknown keys are."""
    odd = "episode: [a, b]\n"

    found = parse_memory(FACT.data.replace(b"---\n", f"---\n{odd}".encode(), 1))

    assert found == replace(FACT, extra=odd)


@pytest.mark.parametrize(
    "value", [" a", "a\n", "\n\na\n\n", "---\na: b\n---", "\ufeffa"]
)
def test_a_value_is_kept_to_the_byte(value: str) -> None:
    """Fences, blank lines and spaces are the writer's own."""
    assert parse_memory(replace(FACT, value=value).data).value == value


REFUSED: list[tuple[str, str | None, str]] = [
    ("scope", None, "scope is missing"),
    ("scope", "''", "scope is missing"),
    ("scope", "facts", "is none of note, fact, world, lesson"),
    ("scope", "FACT", "is none of"),
    ("scope", "[fact]", "is not one value"),
    ("scope", "{fact: world}", "is not one value"),
    ("entity", None, "entity is missing"),
    ("entity", "[a]", "is not one value"),
    ("entity", "' '", "1 to 200 characters"),
    ("entity", "' a'", "where a is meant"),
    ("entity", "a  b", "where a b is meant"),
    ("entity", "a\u3000b", "where a b is meant"),
    ("entity", "A\u0308", "where \u00c4 is meant"),
    ("entity", "x" * 201, "the limit is 200"),
    ("entity", '"a\\nb"', "holds U+000A"),
    ("attribute", None, "attribute is missing"),
    ("attribute", '"\\e[31m"', "holds U+001B"),
    ("attribute", "x" * 201, "the limit is 200"),
    ("status", None, "does not go with retired_by and retired_at"),
    ("status", "active", "does not go with retired_by and retired_at"),
    ("status", "Retired", "is none of active, retired"),
    ("retired_by", None, "status does not go with"),
    ("retired_by", "Lead", "where lead is meant"),
    ("retired_by", "all", "reserved"),
    ("retired_by", "[lead]", "is not one value"),
    ("retired_at", None, "status does not go with"),
    ("retired_at", "2026-12-01", "is no RFC 3339 time"),
    ("retired_at", "2026-12-01T08:00:00", "is no RFC 3339 time"),
    ("set_by", None, "set_by is missing"),
    ("set_by", "Builder", "where builder is meant"),
    ("set_by", "a person", "is no agent name"),
    ("set_by", "gitmail", "reserved"),
    ("set_at", None, "set_at is missing"),
    ("set_at", "now", "is no RFC 3339 time"),
    ("source", "[a]", "is not one value"),
    ("source", "x" * (SOURCE_LIMIT + 1), "the limit is 1000"),
    ("source", '"a\\u2028b"', "holds U+2028"),
    ("confidence", "1.5", "is no number from 0 to 1"),
    ("confidence", "-0", "is no number from 0 to 1"),
    ("confidence", "+1", "is no number from 0 to 1"),
    ("confidence", "0.0001", "is no number from 0 to 1"),
    ("confidence", "00.5", "is no number from 0 to 1"),
    ("confidence", "nan", "is no number from 0 to 1"),
    ("confidence", "0,5", "is no number from 0 to 1"),
    ("confidence", '"0.5\\n"', "is no number from 0 to 1"),
    ("tags", "[People]", "where people is meant"),
    ("tags", "['a  b']", "where a b is meant"),
    ("tags", "[Stra\u00dfe]", "where strasse is meant"),
    ("tags", "[a, b, a]", "says the same twice"),
    ("tags", "[[a]]", "is no list of single values"),
    ("tags", f"[{'x' * 65}]", "the limit is 64"),
    ("supersedes", ID[:12], "is no id of 40 hex digits"),
    ("supersedes", ID.upper(), "is no id of 40 hex digits"),
    ("contested", f"[{ID}, x]", "holds what is no id"),
    ("contested", f"[{ID}, {ID}]", "says the same twice"),
    ("contested", "{a: b}", "is no list of single values"),
    ("reason", "x" * (REASON_LIMIT + 1), "the limit is 200"),
    ("reason", '"a\\rb"', "holds U+000D"),
]


@pytest.mark.parametrize(("key", "text", "reason"), REFUSED)
def test_what_breaks_a_rule_is_refused_in_its_line(
    key: str, text: str | None, reason: str
) -> None:
    """Whoever repairs the file is told where (FORMAT.md)."""
    problem = refusal(with_key(FULL, key, text))
    named = problem.reason.split()[0]

    assert reason in problem.message
    assert problem.line == (1 if text is None and named == key else LINES[named])


def test_every_key_of_a_slot_has_a_rule_that_is_tested() -> None:
    """The list above forgets none."""
    assert {key for key, _, _ in REFUSED} == {*LINES}


def test_a_note_keeps_the_limits_of_its_own_keys() -> None:
    """An episode is one line."""
    note = replace(NOTE, episode="x" * EPISODE_LIMIT)

    assert parse_memory(note.data) == note
    problem = refusal(with_key(note, "episode", "x" * (EPISODE_LIMIT + 1)))
    assert problem.line == 5
    assert "the limit is 120" in problem.message
    assert refusal(with_key(note, "episode", "[a, b]")).line == 5


@pytest.mark.parametrize("value", ["", " ", "\n\n", "\t\r\n", "\u3000"])
def test_a_value_that_says_nothing_is_refused(value: str) -> None:
    """A record of nothing could only have come about by mistake."""
    assert "value is blank" in refusal(replace(FACT, value=value).data).message


def test_a_message_is_no_record_of_memory_and_the_reverse() -> None:
    """A file in the wrong folder is told for what it is (CAPABILITIES Y10)."""
    message = b"---\nfrom: a\nto: [b]\ndate: 2026-11-30T14:40:00Z\n---\n\nHello.\n"

    assert "scope is missing" in refusal(message).message
    for record in (NOTE, FULL):
        with pytest.raises(InvalidFileError):
            parse_message(record.data)


def _nested(levels: int) -> bytes:
    return b"tags: " + b"[" * levels + b"]" * levels + b"\n"


@pytest.mark.parametrize(
    "hostile",
    [
        b"tags: &a [x]\ncontested: *a\n",
        b"source: !!python/object/apply:os.system [ls]\n",
        b"<<: {scope: world}\n",
        b"scope: world\n",
        b"? source\n: x\n",
        b'"source": x\n',
        b"source: x\n---\nscope: world\n...\n",
        b"source: a\nscope: world\n",
        b"source: 'a\nscope: world'\n",
        b'source: "a\\0b"\n',
        b'source: "\\ud83d"\n',
        b"source: \x1b]0;x\x07\n",
        b"source:\ta\n",
        b"sour\xffce: a\n",
        b"x: " + b"y" * 16_384 + b"\n",
        _nested(4),
        _nested(5_000),
    ],
)
def test_a_hostile_header_is_refused(hostile: bytes) -> None:
    """What two readers could see differently is read by none (DESIGN 11)."""
    head, rest = FACT.data.split(b"set_by", 1)

    problem = refusal(head + hostile + b"set_by" + rest)

    assert problem.line <= 8


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-20],
        lambda data: data.replace(b"---\n", b"--- x\n", 1),
        lambda data: b"\n" + data,
        lambda data: data + b"\x00",
        lambda data: data.decode().encode("utf-16"),
        lambda _: b"",
    ],
    ids=["cut", "fence", "line before", "NUL", "UTF-16", "empty"],
)
def test_a_file_that_is_none_is_refused(change: Callable[[bytes], bytes]) -> None:
    """Whatever happened to it, reading ends with a reason."""
    assert refusal(change(FACT.data)).reason


def test_a_record_that_could_not_be_read_again_is_not_written() -> None:
    """A slot that grew over the limit would be lost to everybody."""
    tags = tuple(f"{number:064}" for number in range(300))

    with pytest.raises(InvalidArgumentError):
        _ = replace(FACT, tags=tags).data


def test_the_most_that_may_be_said_fits_in_a_header() -> None:
    """With every key as long as may be, in letters of four bytes that need no quote."""
    wide = "\U0001f600"
    most: dict[str, Any] = {
        "entity": wide * 200,
        "attribute": wide * 200,
        "source": wide * SOURCE_LIMIT,
        "tags": tuple(f"{number:02}{wide * 62}" for number in range(MOST_TAGS)),
        "reason": wide * REASON_LIMIT,
    }

    record = replace(FULL, **most)

    assert parse_memory(record.data) == record
