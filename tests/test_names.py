"""The grammar of names and ids (DESIGN 4, CAPABILITIES A and M7)."""

import pytest

from gitmail.errors import InvalidNameError
from gitmail.records.names import (
    is_component,
    is_hex,
    parse_address,
    parse_agent_name,
    parse_id_prefix,
    parse_mailbox_id,
    parse_room,
    parse_team_name,
    similar_names,
)

NO_NAMES = [
    *("", " ", ".", "..", ".a", "-a", "_a", "a.", "a b", "a/b", "a\\b", "a:b", "a\n.b"),
    *("é", "a\u200bb", "\u212aevin", "\u0131d", "\uff41", "a" * 64, "a\0", "*", "a,b"),
    *("con", "CON", "nul.x", "aux.tar.gz", "com1", "lpt9", "prn", "all", "gitmail"),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("builder", "builder"),
        (" Builder\n", "builder"),
        ("A.b-C_9", "a.b-c_9"),
        ("0", "0"),
        ("a..b", "a..b"),
        ("console", "console"),
        ("a.con", "a.con"),
        ("a" * 63, "a" * 63),
    ],
)
def test_a_name_is_compared_in_lower_case(text: str, name: str) -> None:
    """Names differ by more than case and the space around them (CAPABILITIES A1)."""
    assert parse_agent_name(text) == name
    assert parse_team_name(text) == name
    assert parse_address(text) == name


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_no_file_system_could_hold_is_no_name(text: str) -> None:
    """A name is a file's name on every system, and leaves no folder (DESIGN 4)."""
    with pytest.raises(InvalidNameError):
        parse_agent_name(text)
    with pytest.raises(InvalidNameError):
        parse_team_name(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Reviewer", "reviewer"),
        (" ALL ", "all"),
        ("Team:Core", "team:core"),
        ("team: core", "team:core"),
    ],
)
def test_an_address_is_a_name_a_team_or_all(text: str, address: str) -> None:
    """What stands in to, cc and bcc (CAPABILITIES A1, A3, A4)."""
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["team:", "team:all", "team:team:a", "project:x", "a@b", "@a", "team:a:b"]
)
def test_other_addresses_are_refused(text: str) -> None:
    """An address of no known kind is never sent to anybody."""
    with pytest.raises(InvalidNameError):
        parse_address(text)


def test_a_team_is_named_with_or_without_its_prefix() -> None:
    """Profiles store the bare name, whichever way it was said."""
    assert parse_team_name("TEAM:Core") == parse_team_name("core") == "core"


@pytest.mark.parametrize("text", ["a", "A", "Parser.2", "-", "..", "x" * 64])
def test_a_room_keeps_its_case(text: str) -> None:
    """A room is 1 to 64 of letters, digits, dot, dash, underscore (CAPABILITIES M7)."""
    assert parse_room(text) == text


@pytest.mark.parametrize("text", ["", "a b", "a\n", "é", "a/b", "x" * 65, " a"])
def test_other_rooms_are_refused(text: str) -> None:
    """Nothing around a room's name is cut off; nobody types one by hand twice."""
    with pytest.raises(InvalidNameError):
        parse_room(text)


def test_an_id_may_be_cut_to_eight_digits() -> None:
    """Prefixes of 8 to 40 hex digits, whatever their case (CAPABILITIES A8)."""
    assert parse_id_prefix(" 0123ABCD ") == "0123abcd"
    assert parse_id_prefix("f" * 40) == "f" * 40


@pytest.mark.parametrize("text", ["", "0123abc", "f" * 41, "0123abcg", "0123 abcd"])
def test_a_shorter_or_other_id_is_refused(text: str) -> None:
    """Seven digits fit too much, and an id is nothing but hex digits."""
    with pytest.raises(InvalidNameError):
        parse_id_prefix(text)


def test_hex_digits_are_lower_case_and_ascii() -> None:
    """Ids in files have one spelling."""
    assert is_hex("0" * 40)
    assert not is_hex("A" * 40)
    assert not is_hex("\u0661" * 40)
    assert not is_hex("0" * 40 + "\n", longest=41)
    assert is_hex("0123abc", 7)


def test_a_mailbox_id_is_a_uuid_in_one_spelling() -> None:
    """Two clones compare their ids as text."""
    text = "2a1b6c1e-7f0d-4a55-9a3e-0d5b1c2e3f40"

    assert parse_mailbox_id(text) == text
    for other in (
        text.upper(),
        text.replace("-", ""),
        f"{text}\n",
        "",
        "{" + text + "}",
    ):
        with pytest.raises(InvalidNameError):
            parse_mailbox_id(other)


def test_a_component_is_what_every_file_system_takes() -> None:
    """No hidden file, no device of Windows, no dot at the end, nothing but ASCII."""
    assert all(map(is_component, ["a", "14.001", "x.md", "2026-11", "a" * 200]))
    for bad in (
        "",
        ".",
        "..",
        ".git",
        "-x",
        "x.",
        "A",
        "nul",
        "nul.md",
        "com0.a",
        "a/b",
    ):
        assert not is_component(bad)


def test_near_names_are_suggested_best_first() -> None:
    """A typist's neighbour is found, a stranger is not (CAPABILITIES A5)."""
    known = ["reviewer", "reviewer-2", "builder", "lead"]

    assert similar_names("Reviwer", known) == ["reviewer", "reviewer-2"]
    assert similar_names("zzz", known) == []
