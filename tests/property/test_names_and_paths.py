"""Names and paths stay within their grammar, whatever they are made from."""

import re
from collections.abc import Callable
from dataclasses import replace
from unicodedata import ucd_3_2_0

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmail.errors import GitmailError, InvalidNameError
from gitmail.records.keys import check_name, component_of, key_of, slugify
from gitmail.records.memory import SLOT_SCOPES, MemoryRecord, Scope
from gitmail.records.message import Message
from gitmail.records.names import (
    parse_address,
    parse_agent_name,
    parse_id_prefix,
    parse_mailbox_id,
    parse_room,
    parse_team_name,
)
from gitmail.records.paths import (
    Family,
    Place,
    copy_path,
    hour_folder,
    memory_path,
    message_path,
    parse_path,
    profile_path,
    receipt_path,
    slot_path,
)
from gitmail.records.profile import Profile
from gitmail.records.receipt import BlindCopy, Receipt
from tests.strategies import (
    anything,
    bodies,
    copies,
    memories,
    messages,
    names,
    notes,
    profiles,
    receipts,
    times,
    titles,
)

# Written from DESIGN 4 and the rules of Windows, apart from the code.
_COMPONENT = re.compile(r"[a-z0-9][a-z0-9._-]*(?<!\.)")
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")

PARSERS = [
    parse_address,
    parse_agent_name,
    parse_id_prefix,
    parse_mailbox_id,
    parse_room,
    parse_team_name,
]
parts = st.integers(0, 999_999)
odd_names = st.one_of(
    anything,
    names,
    names.map(str.upper),
    names.map(" {}\n".format),
    st.from_regex(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.[a-z]*)?", fullmatch=True),
    st.text(".-_a/\\:K\u212a\u0131 ", max_size=8),
)
path_pieces = st.sampled_from(
    [
        *("messages", "receipts", "copies", "agents", "memory", "/", "2026-11/30/14"),
        *(
            "builder",
            ".md",
            "..",
            ".",
            "143712-a",
            "\0",
            "\n",
            "A",
            "é",
            "con",
            "/facts",
        ),
        *(
            "0123456789abcdef0123456789abcdef01234567",
            ".read",
            "mailbox.md",
            " ",
            "~",
            ":",
        ),
    ]
)


def assert_is_sound(path: str) -> None:
    """Assert that every file system and git take the path, and nothing leaves it."""
    assert len(path) < 200
    for component in path.split("/"):
        assert _COMPONENT.fullmatch(component)
        assert not _DEVICE.fullmatch(component)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=odd_names)
def test_a_name_is_refused_or_stable(parse: Callable[[str], str], text: str) -> None:
    """Reading a name that was read gives the same name, in ASCII."""
    try:
        name = parse(text)
    except InvalidNameError:
        return

    assert parse(name) == name
    assert name.isascii()


@given(odd_names)
def test_an_agent_name_can_name_a_file(text: str) -> None:
    """Whoever can be registered has a profile's path on every system."""
    try:
        name = parse_agent_name(text)
    except InvalidNameError:
        return

    assert_is_sound(profile_path(name))
    assert_is_sound(name)


@given(messages, parts)
def test_a_message_path_says_its_folder(message: Message, part: int) -> None:
    """A path is sound and tells folder and part, whatever subject, body and time."""
    path = message_path(message, part)

    assert_is_sound(path)
    assert parse_path(path) == Place(
        Family.MESSAGE, hour_folder(message.date, part), part
    )


@given(receipts, times, parts)
def test_a_receipt_path_says_whose_it_is(receipt: Receipt, date, part: int) -> None:
    """Agent, message and stage can be read from the path alone."""
    folder = hour_folder(date, part)
    path = receipt_path(receipt, folder)

    assert_is_sound(path)
    assert parse_path(path) == Place(
        Family.RECEIPT, folder, part, receipt.agent, receipt.message, receipt.stage
    )


@given(copies, times, parts)
def test_a_copy_path_says_whose_it_is(copy: BlindCopy, date, part: int) -> None:
    """Agent and message can be read from the path alone."""
    folder = hour_folder(date, part)
    path = copy_path(copy, folder)

    assert_is_sound(path)
    assert parse_path(path) == Place(
        Family.COPY, folder, part, copy.agent, copy.message
    )


@given(profiles)
def test_a_profile_path_says_whose_it_is(profile: Profile) -> None:
    """The name can be read from the path alone."""
    path = profile_path(profile.name)

    assert parse_path(path) == Place(Family.PROFILE, agent=profile.name)


@given(receipts, receipts, times, times)
def test_two_receipts_never_share_a_path(
    one: Receipt, two: Receipt, here, there
) -> None:
    """Only the same agent, stage, message and folder make the same path."""
    folders = hour_folder(here), hour_folder(there)
    same = (one.agent, one.stage, one.message, folders[0]) == (
        two.agent,
        two.stage,
        two.message,
        folders[1],
    )

    assert (receipt_path(one, folders[0]) == receipt_path(two, folders[1])) == same
    assert receipt_path(one, folders[0]) != receipt_path(
        replace(one, agent=f"{one.agent}x"), folders[0]
    )


@given(copies, copies, times)
def test_two_copies_never_share_a_path(one: BlindCopy, two: BlindCopy, date) -> None:
    """Only the same agent and message make the same path."""
    folder = hour_folder(date)
    same = (one.agent, one.message) == (two.agent, two.message)

    assert (copy_path(one, folder) == copy_path(two, folder)) == same


@given(st.one_of(anything, st.lists(path_pieces, max_size=9).map("".join)))
def test_a_known_path_is_a_sound_path(path: str) -> None:
    """No text that could leave the tree or trip a file system is of a known family."""
    family = parse_path(path).family

    if family is not Family.UNKNOWN and path not in ("README.md", ".gitattributes"):
        assert_is_sound(path)


@given(messages, parts, st.integers(0, 200), st.sampled_from("/A\0\n é\\:~"))
def test_a_path_with_something_foreign_in_it_is_unknown(
    message: Message, part: int, at: int, foreign: str
) -> None:
    """One character of another grammar anywhere, and no family takes the path."""
    path = message_path(message, part)
    odd = path[:at] + foreign + path[at:]

    assert parse_path(odd).family is Family.UNKNOWN
    assert parse_path(f"../{path}").family is Family.UNKNOWN
    assert parse_path(f"/{path}").family is Family.UNKNOWN
    assert parse_path(path.replace("/", "//", 1)).family is Family.UNKNOWN
    assert parse_path(path.replace("/", "/../", 1)).family is Family.UNKNOWN
    assert parse_path(path.upper()).family is Family.UNKNOWN


@given(bodies)
def test_a_slug_is_short_and_plain(text: str) -> None:
    """A slug is up to 40 of a-z, 0-9 and single dashes, none at either end."""
    assert re.fullmatch(r"(?=.{0,40}\Z)([a-z0-9]+(-[a-z0-9]+)*)?", slugify(text))


# What counts as one name, and what is two (FORMAT.md, "The key of a name").

_SPACES = st.text(
    " \u00a0\u1680\u2000\u2003\u2007\u200a\u202f\u205f\u3000", min_size=1, max_size=3
)
_MARKS = "\u0301\u0323\u0345\u0308\u030c\u0327\u05b4\u0358\u1dc2\U0001d165\u20d0\u3099"
_CASES = (str, str.upper, str.lower, str.title, str.swapcase)


def _has_one_fold(character: str) -> bool:
    """Tell whether all cases fold to one, unlike those of the dotless i."""
    is_known = ucd_3_2_0.category(character) != "Cn"
    return is_known and len({case(character).casefold() for case in _CASES}) == 1


_letters = st.characters(exclude_categories=["C", "Z"]).filter(_has_one_fold)
_odd = st.sampled_from([*_MARKS, *".-/A"])
_words = st.text(st.one_of(_letters, _letters, _odd), min_size=1)
free_names = st.one_of(
    titles,
    st.lists(_words, min_size=1, max_size=3).map(" ".join),
    st.from_regex(r"[a-z0-9.-]{0,9}-?[0-9a-f]{12}", fullmatch=True),
    st.from_regex(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.[a-z]*)?", fullmatch=True),
    st.text("ab.-_/\\ \u00e4\U0001f600", min_size=1, max_size=60),
    st.text("ab-", min_size=35, max_size=45),
).filter(str.strip)


@given(st.one_of(anything, free_names))
def test_a_key_is_its_own_key(text: str) -> None:
    """What was folded and composed once stays as it is."""
    assert key_of(key_of(text)) == key_of(text)


@given(st.lists(_words, min_size=1, max_size=4), st.data())
def test_a_name_has_one_key_whatever_its_case_spacing_and_form(
    words: list[str], data: st.DataObject
) -> None:
    """All spellings of a name are one name, and share one path."""
    words = [ucd_3_2_0.normalize("NFC", word) for word in words]
    respelt = [data.draw(st.sampled_from(_CASES))(word) for word in words]
    gaps = [data.draw(_SPACES) for _ in range(len(words) + 1)]
    spelling = "".join(map("".join, zip(gaps, [*respelt, ""], strict=True)))
    form = data.draw(st.sampled_from(["NFC", "NFD"]))

    assert key_of(ucd_3_2_0.normalize(form, spelling)) == key_of(" ".join(words))


@given(st.one_of(titles, free_names))
def test_a_name_as_it_is_shown_has_the_key_of_what_was_said(text: str) -> None:
    """Storing the spelling loses nothing of what is compared."""
    try:
        shown = check_name("entity", text)
    except GitmailError:
        return

    assert check_name("entity", shown) == shown
    assert key_of(shown) == key_of(text)


@given(st.one_of(anything.filter(key_of), free_names).map(key_of))
def test_a_component_is_sound_and_short(key: str) -> None:
    """Every file system takes it, and two of them fit below `memory/` with room."""
    found = component_of(key)

    assert_is_sound(found)
    assert len(found) <= 53
    assert found == component_of(key)


@given(st.lists(free_names.map(key_of), min_size=2, max_size=20, unique=True))
def test_no_two_keys_share_a_component(keys: list[str]) -> None:
    """Neither by chance nor by somebody who chooses a name as another's on disk."""
    components = [component_of(key) for key in keys]
    every = {*keys, *components}

    assert len({component_of(key) for key in every}) == len(every)


@given(st.sampled_from(SLOT_SCOPES), free_names, free_names)
def test_a_slot_path_is_one_of_memory(
    scope: Scope, entity: str, attribute: str
) -> None:
    """Whatever a slot is called, its path is sound, short and of memory."""
    path = slot_path(scope, entity, attribute)

    assert_is_sound(path)
    assert parse_path(path) == Place(Family.MEMORY)


@given(memories)
def test_a_record_of_memory_stands_at_a_path_of_memory(record: MemoryRecord) -> None:
    """A slot where its names say, a note where its time and id say."""
    path = memory_path(record)

    assert_is_sound(path)
    assert parse_path(path) == Place(Family.MEMORY)
    assert path.startswith("memory/notes/") == (record.scope is Scope.NOTE)


@given(notes, notes)
def test_two_notes_share_a_path_only_if_they_are_one(
    one: MemoryRecord, two: MemoryRecord
) -> None:
    """The id of its bytes is in a note's name."""
    assert (memory_path(one) == memory_path(two)) == (one.id == two.id)
