"""Whatever bytes stand in a file, reading ends, in a value or with a reason."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitmail.errors import InvalidFileError, UnsupportedFormatError
from gitmail.records import frontmatter
from gitmail.records.charter import parse_charter
from gitmail.records.header import HEADER_LIMIT_BYTES, Header
from gitmail.records.memory import parse_memory
from gitmail.records.message import parse_message
from gitmail.records.profile import parse_profile
from gitmail.records.receipt import parse_blind_copy, parse_receipt
from tests.strategies import anything, headers, memories, messages, tokens

PARSERS = [
    parse_message,
    parse_receipt,
    parse_blind_copy,
    parse_profile,
    parse_memory,
]
LOADERS = ["libyaml", "python"]


@pytest.fixture(name="loader", params=LOADERS)
def _loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.delattr(yaml, "CBaseLoader")


def read(text: str) -> Header | None:
    """Return the header of a file with this text between its fences, None if bad."""
    with suppress(InvalidFileError):
        return frontmatter.parse(f"---\n{text}\n---\n".encode())[0]
    return None


def refusal(parse: Callable[[bytes], Any], data: bytes) -> InvalidFileError | None:
    """Return why a parser refuses a file, None if it does not."""
    try:
        parse(data)
    except InvalidFileError as error:
        return error
    return None


nearly_files = st.one_of(
    st.binary(max_size=200),
    anything.map(str.encode),
    headers.map(lambda text: f"---\n{text}---\n\nbody\n".encode()),
    st.tuples(messages | memories, st.binary(max_size=3), st.integers(0, 400)).map(
        lambda said: said[0].data[: said[2]] + said[1] + said[0].data[said[2] :]
    ),
)


@pytest.mark.parametrize("parse", PARSERS)
@given(data=nearly_files)
def test_any_bytes_are_a_record_or_an_invalid_file(
    parse: Callable[[bytes], Any], data: bytes
) -> None:
    """Nothing but InvalidFileError leaves a parser, and it names a line of the file."""
    problem = refusal(parse, data)

    assert problem is None or 1 <= problem.line <= data.count(b"\n") + 1


@given(data=nearly_files)
def test_any_bytes_are_a_charter_or_refused(data: bytes) -> None:
    """A charter may be of a newer format besides."""
    with suppress(InvalidFileError, UnsupportedFormatError):
        parse_charter(data, "mailbox")


@given(headers)
def test_both_loaders_of_yaml_read_the_same(text: str) -> None:
    """A machine without libyaml accepts the same files and sees the same in them."""
    fast = read(text)
    with pytest.MonkeyPatch.context() as without_libyaml:
        without_libyaml.delattr(yaml, "CBaseLoader")
        slow = read(text)

    assert fast == slow


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize("start", ["", "a: ", "a: [", 'a: "', "a:\n", "a: |\n "])
def test_a_header_full_of_one_thing_is_read_or_refused(start: str) -> None:
    """No repetition makes the reader recurse, explode or go on for ever."""
    pieces = ("[", "{", "- ", "? ", "a: ", "[a]: ", '"', "\n", "a,", "{}", ",", "''")
    for piece in (*pieces, "&a ", "!a ", "#", " ", "%A\n", ":", "\\n", "é", "- -\n"):
        text = start + piece * HEADER_LIMIT_BYTES

        read(text.encode()[: HEADER_LIMIT_BYTES - 1].decode(errors="ignore"))


@given(st.lists(tokens, min_size=1, max_size=4).map("".join), st.integers(1, 400))
def test_any_repeated_pattern_is_read_or_refused(piece: str, times: int) -> None:
    """As above, for patterns nobody thought of."""
    read(piece * times)
