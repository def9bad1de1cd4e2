"""What counts as the same name, and what it is called on disk (FORMAT.md)."""

import re
import unicodedata
from contextlib import suppress
from hashlib import sha256
from importlib.resources import files

import pytest

from gitmail.errors import InvalidArgumentError, InvalidTextError
from gitmail.records.keys import (
    NAME_LIMIT,
    TAG_LIMIT,
    check_name,
    check_tag,
    component_of,
    key_of,
)
from gitmail.records.names import is_component

FORMAT_TEXT = files("gitmail").joinpath("FORMAT.md").read_text("utf-8")
SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
SPACES += "\u200a\u202f\u205f\u3000"
"""The white space that FORMAT.md lists."""
NEVER_IN_A_NAME = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"


def examples_of_the_format() -> list[tuple[str, str]]:
    """Return each spelling of the table in FORMAT.md, with its name on disk."""
    section = FORMAT_TEXT.split("#### The key of a name", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^ {4}(\S.*?) {2,}(\S+)$", section, re.MULTILINE)
    return [
        (spelling.encode().decode("unicode_escape"), component)
        for spellings, component in rows
        for spelling in spellings.split(", ")
    ]


@pytest.mark.parametrize(("spelling", "component"), examples_of_the_format())
def test_the_examples_of_the_written_format_hold(spelling: str, component: str) -> None:
    """Another program that follows FORMAT.md finds the same path."""
    assert component_of(key_of(spelling)) == component


def test_the_written_format_has_examples_of_all_kinds() -> None:
    """Names that are kept, and names that need a digest, with and without a slug."""
    found = dict(examples_of_the_format())

    assert len(found) > 10
    assert any(key_of(name) == component for name, component in found.items())
    assert any(re.fullmatch("[0-9a-f]{12}", component) for component in found.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Parser", "pARSER"),
        ("a  b", " a\u00a0\u3000b "),
        ("\u00c4lter", "a\u0308LTER"),
        ("Stra\u00dfe", "STRASSE"),
        ("\u03c3\u03bf\u03c6\u03cc\u03c2", "\u03a3\u039f\u03a6\u038c\u03a3"),
        ("\u1fb4", "\u0391\u0301\u0345"),
        ("\u212b", "\u00e5"),
        ("\ufb01n", "FIN"),
        ("\u0130", "i\u0307"),
        ("\u1e69", "S\u0307\u0323"),
        ("\ud55c", "\u1112\u1161\u11ab"),
        ("\u10a0", "\u2d00"),
        ("\u2160", "\u2170"),
    ],
)
def test_case_spacing_and_unicode_form_make_no_difference(one: str, other: str) -> None:
    """Two spellings of one name are one name (CAPABILITIES Y2)."""
    assert key_of(one) == key_of(other)
    assert component_of(key_of(one)) == component_of(key_of(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b", "ab"),
        ("a-b", "a b"),
        ("a.b", "a-b"),
        ("na\u00efve", "naive"),
        ("\u0131", "i"),
        ("x\u00b2", "x2"),
        ("\uff41", "a"),
        ("a\u200bb", "ab"),
        ("\u0430", "a"),
        ("..", "."),
        ("\U0001f600", "\U0001f601"),
        ("x" * 41, "x" * 42),
    ],
)
def test_what_differs_otherwise_is_another_name(one: str, other: str) -> None:
    """However alike their slugs are, their files are two."""
    assert key_of(one) != key_of(other)
    assert component_of(key_of(one)) != component_of(key_of(other))


def test_white_space_is_what_the_written_format_lists() -> None:
    """Another program need not ask Python what white space is."""
    found = [c for c in map(chr, range(0x110000)) if key_of(f"a{c}b") == "a b"]

    assert {*found} == {*SPACES, *NEVER_IN_A_NAME}
    assert key_of(f"a{SPACES}b{SPACES}") == "a b"
    for written in ("U+0020, U+00A0, U+1680, U+2000 to U+200A, U+202F", "U+3000"):
        assert written in FORMAT_TEXT


def test_what_unicode_3_2_does_not_know_stays_as_it_is() -> None:
    """Else a name would move when Python learns a later Unicode."""
    sharp_s, osage, adlam = "\u1e9e", "\U000104b0", "\U0001e900"  # 5.1, 9.0, 9.0
    for capital in (sharp_s, osage, adlam):
        assert capital.lower() != capital
        assert key_of(capital) == capital


@pytest.mark.parametrize(
    "text",
    [
        # A pair that Unicode 5.2 composes.
        "\U00011099\U000110ba",
        # Marks of Unicode 4.1 that are ordered behind, and before, U+0301.
        "q\u0301\u0358",
        "q\u0301\u1dc2",
    ],
)
def test_later_versions_of_unicode_neither_compose_nor_order(text: str) -> None:
    """Else the name's path would depend on the version of Python."""
    assert all(
        unicodedata.ucd_3_2_0.category(each) == "Cn" or each in "q\u0301"
        for each in text
    )
    assert key_of(text) == text


@pytest.mark.parametrize(
    "key", ["a", "parser.py", "9", "a_b-c", "x" * 40, "a-0123456789a", "0123456789abc"]
)
def test_a_good_name_is_its_own_name_on_disk(key: str) -> None:
    """A person finds `memory/facts/parser/owner.md` by guessing."""
    assert component_of(key) == key


@pytest.mark.parametrize(
    ("key", "slug"),
    [
        ("who decides?", "who-decides"),
        ("x" * 41, "x" * 40),
        ("x" * 200, "x" * 40),
        ("a.", "a"),
        ("-a", "a"),
        (".git", "git"),
        ("con", "con"),
        ("lpt1.txt", "lpt1-txt"),
        ("../../etc/passwd", "etc-passwd"),
        ("c:\\windows", "c-windows"),
        ("a-0123456789ab", "a-0123456789ab"),
        ("0123456789ab", "0123456789ab"),
        ("ab-" * 20, "ab-" * 13 + "a"),
    ],
)
def test_any_other_name_gets_a_digest(key: str, slug: str) -> None:
    """Twelve digits of the key's SHA-256, behind what can be kept of it."""
    found = component_of(key)

    assert found == f"{slug}-{sha256(key.encode()).hexdigest()[:12]}"
    assert is_component(found)


@pytest.mark.parametrize(
    "key", ["..", "\u65e5\u672c\u8a9e", "\U0001f600", "?!", "\u0301"]
)
def test_a_name_without_letters_is_a_digest(key: str) -> None:
    """No dash stands before it."""
    assert component_of(key) == sha256(key.encode()).hexdigest()[:12]


def test_a_name_that_looks_like_one_with_a_digest_gets_a_digest() -> None:
    """So nobody can take another's file by choosing a name."""
    taken = component_of("who decides?")

    assert is_component(taken)
    assert component_of(taken) != taken
    assert component_of(component_of("..")) != component_of("..")


def test_a_name_is_shown_as_it_was_spelt() -> None:
    """Case and letters stay; only form and spacing are made one."""
    assert check_name("entity", "  The\u00a0 A\u0308lteste ") == "The \u00c4lteste"
    assert check_name("entity", "x" * NAME_LIMIT) == "x" * NAME_LIMIT


@pytest.mark.parametrize(
    "text", ["", " \u3000", "x" * (NAME_LIMIT + 1), None, 5, ["a"]]
)
def test_no_text_or_too_much_is_no_name(text: object) -> None:
    """The error names the argument and the limit."""
    with pytest.raises(InvalidArgumentError) as caught:
        check_name("attribute", text)

    assert caught.value.details["argument"] == "attribute"


@pytest.mark.parametrize(
    "text", ["a\x00", "\x1b[31m", "\ud800", *map("a{}b".format, NEVER_IN_A_NAME)]
)
def test_a_name_is_one_line_of_text(text: str) -> None:
    """What steers a terminal or breaks a line is in no name (DESIGN I8)."""
    with pytest.raises(InvalidTextError):
        check_name("entity", text)
    with pytest.raises(InvalidTextError):
        check_tag(text)


def test_a_tag_is_stored_as_it_is_compared() -> None:
    """Two spellings of a tag are one tag."""
    assert check_tag(" Perf\u00a0 TESTS ") == "perf tests"
    for text in ("", " ", "x" * (TAG_LIMIT + 1)):
        with pytest.raises(InvalidArgumentError):
            check_tag(text)


@pytest.mark.parametrize(
    "letter", ["\u00df", "\ufb03", "\u0390", "\u0958", "\u1e9e", "x"]
)
def test_what_is_accepted_can_be_read_again(letter: str) -> None:
    """Folding and composing make some texts longer than their limit."""
    for check in (check_tag, lambda text: check_name("entity", text)):
        accepted: list[str] = []
        with suppress(InvalidArgumentError):
            accepted.extend(check(letter * count) for count in range(1, NAME_LIMIT + 2))
        assert 10 < len(accepted) <= NAME_LIMIT
        assert [check(each) for each in accepted] == accepted
