"""The header between fences, the body behind it, and the subset of YAML (FORMAT.md)."""

from datetime import UTC, datetime

import pytest
import yaml

from gitmail.errors import InvalidArgumentError, InvalidFileError
from gitmail.records import frontmatter
from gitmail.records.header import HEADER_LIMIT_BYTES, Header

ID = "7c0f5e1d9a3b4c2d8e6f7a1b0c9d8e7f6a5b4c3d"


@pytest.fixture(name="_loader", params=["libyaml", "python"], autouse=True)
def _with_and_without_libyaml(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run each test with the C loader and with the one that stands in for it."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CBaseLoader")


def header_of(text: str) -> Header:
    """Return the header of a file with this text between its fences."""
    return frontmatter.parse(f"---\n{text}---\n".encode())[0]


def refusal(data: bytes | str) -> tuple[int, str]:
    """Return the line and the reason of what is wrong with a file."""
    with pytest.raises(InvalidFileError) as caught:
        frontmatter.parse(data if isinstance(data, bytes) else data.encode())
    return caught.value.line, caught.value.reason


def written(value: frontmatter.Field) -> str:
    """Return how a value is written behind its key."""
    line = frontmatter.render([("key", value)], "", "").decode().split("\n")[1]
    return line.removeprefix("key: ")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("two words", "two words"),
        ("feature/a-b_c.d+e@f (g)", "feature/a-b_c.d+e@f (g)"),
        (ID, ID),
        ("no", '"no"'),
        ("Yes", '"Yes"'),
        ("null", '"null"'),
        ("12:30", '"12:30"'),
        ("0123", '"0123"'),
        ("1e5", '"1e5"'),
        ("1" * 40, f'"{"1" * 40}"'),
        ("1e" + "2" * 38, f'"1e{"2" * 38}"'),
        ("0b" + "1" * 38, f'"0b{"1" * 38}"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("team:core", '"team:core"'),
        ("[a]", '"[a]"'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("a  b", '"a  b"'),
        ("-", '"-"'),
        ("a\nb\tc", '"a\\nb\\tc"'),
        ('"\\', '"\\"\\\\"'),
        (
            "\x07\x7f\x85\u2028\u202e\ufeff",
            '"\\u0007\\u007f\\u0085\\u2028\\u202e\\ufeff"',
        ),
        ("é\U0001f600", '"é\U0001f600"'),
        (("a", "b c", "no"), '[a, b c, "no"]'),
        ({"a": "b", "c": "1"}, '{a: b, c: "1"}'),
        (True, "true"),
        (0, "0"),
        (datetime(2026, 11, 30, 14, tzinfo=UTC), "2026-11-30T14:00:00.000000Z"),
    ],
)
def test_a_value_is_written_so_that_every_yaml_reads_it(
    value: frontmatter.Field, expected: str
) -> None:
    """Plain where no version of YAML sees anything but this text, else in quotes."""
    assert written(value) == expected


def test_what_is_absent_is_left_out() -> None:
    """None, False and what is empty have no line; nothing else is left out."""
    fields: list[tuple[str, frontmatter.Field]] = [
        *(("a", None), ("b", False), ("c", ""), ("d", ()), ("e", {})),
        *(("f", "x"), ("g", 0)),
    ]

    assert frontmatter.render(fields, "", "") == b"---\nf: x\ng: 0\n---\n"


def test_a_body_stands_behind_an_empty_line() -> None:
    """A file is fence, keys, fence, empty line, body, newline (FORMAT.md)."""
    file = frontmatter.render([("a", "b")], "c:   d\n", "one\ntwo")

    assert file == b"---\na: b\nc:   d\n---\n\none\ntwo\n"


@pytest.mark.parametrize(
    "body", ["a", "\n", "a\n", "\n\na", "a\r", "\r\na\r\n", "---", "---\n---\n", " "]
)
def test_a_body_comes_back_to_the_byte(body: str) -> None:
    """The empty line and the last newline belong to the file, all else to the body."""
    assert frontmatter.parse(frontmatter.render([("a", "b")], "", body))[1] == body


@pytest.mark.parametrize(
    ("file", "body"),
    [
        ("---\r\na: b\r\n---\r\n\r\none\r\ntwo\r\n", "one\r\ntwo"),
        ("---\r\na: b\r\n---\r\n\r\none\n", "one\n"),
        ("---\na: b\n---\n\none\r\n", "one\r"),
        ("---\na: b\n---\none", "one"),
        ("---\na: b\n---", ""),
        ("---\na: b\n---\n\n", ""),
        ("\ufeff---\t\na: b\n--- \n\none\n", "one"),
    ],
)
def test_files_by_hand_are_read_with_their_own_line_ends(file: str, body: str) -> None:
    """The first line says which line ends a file has; a byte order mark is no text."""
    header, found = frontmatter.parse(file.encode())

    assert (header.fields, found) == ({"a": "b"}, body)


def test_only_the_first_two_fences_count() -> None:
    """A fence is a line of its own; later ones are the body's."""
    file = "---\na: |\n  ---\nb: ----\n---\n---\nc: d\n---\n"

    header, body = frontmatter.parse(file.encode())

    assert header.fields == {"a": "---\n", "b": "----"}
    assert body == "---\nc: d\n---"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("to: no\n", "no"),
        ("to: 12:30\n", "12:30"),
        ("to: 0123\n", "0123"),
        ("to: 0x1F\n", "0x1F"),
        ("to: 1_000\n", "1_000"),
        ("to: null\n", "null"),
        ("to: ~\n", "~"),
        ("to: 2026-11-30\n", "2026-11-30"),
        ("to: =\n", "="),
        ("to:\n", ""),
        ("to: ''\n", ""),
        ("to: # nothing\n", ""),
        ("to: a#b # c\n", "a#b"),
        ("to: 'it''s'\n", "it's"),
        ('to: "\\u00e9\\U0001F600\\t"\n', "é\U0001f600\t"),
        ("to: a\n  b\n\n  c\n", "a b\nc"),
        ("to: |\n  a\n   b\n", "a\n b\n"),
        ("to: >-\n  a\n  b\n", "a b"),
        ("to: |+\n  a\n\n", "a\n\n"),
        ("to:\n- a\n- no\n", ["a", "no"]),
        ("to:\n  - a\n", ["a"]),
        ("to:\n-\n  a\n", ["a"]),
        ("to: [a, 1,]\n", ["a", "1"]),
        ("to: [\n  a,\n]\n", ["a"]),
        ("to: []\n", []),
        ("to: {a: 1, b: }\n", {"a": "1", "b": ""}),
        ("to:\n  a: b\n  c: [d]\n", {"a": "b", "c": ["d"]}),
        ("# before\n\nto: é\U0001f600\n# after\n", "é\U0001f600"),
    ],
)
def test_every_scalar_is_the_text_that_stands_there(text: str, value: object) -> None:
    """Nothing becomes a number, a flag, a time or null, in whatever style it stands."""
    assert header_of(text).fields == {"to": value}


def test_keys_know_their_lines_and_their_text() -> None:
    """What is not understood can be put back, and errors can name a line."""
    header = header_of("# x\na: 1\nb:\n- c # d\n# e\n\nf: |\n  g\n\n")

    assert header.lines == {"a": 3, "b": 4, "f": 8}
    assert header.raw == {
        "a": "a: 1\n",
        "b": "b:\n- c # d\n# e\n\n",
        "f": "f: |\n  g\n\n",
    }


def test_windows_line_ends_do_not_reach_what_is_kept() -> None:
    """A rewritten file has one kind of line end in its header."""
    header, _ = frontmatter.parse(b"---\r\nx: a\r\ny:\r\n  - b\r\n---\r\n")

    assert header.raw == {"x": "x: a\n", "y": "y:\n  - b\n"}
    assert header.lines == {"x": 2, "y": 3}


@pytest.mark.parametrize("text", ["", "\n\n", "# a remark\n"])
def test_a_header_may_be_empty(text: str) -> None:
    """A header without keys has no fields; what is missing is the record's matter."""
    assert header_of(text) == Header({}, {}, {})


def test_a_header_may_have_as_many_bytes_as_the_limit() -> None:
    """The limit is of UTF-8 bytes between the fences, and exact (DESIGN 5)."""
    fits = "a: " + "é" * ((HEADER_LIMIT_BYTES - 4) // 2) + "\n"

    line, reason = refusal(f"---\nb:\n{fits}---\n")

    assert len(fits.encode()) == HEADER_LIMIT_BYTES
    assert header_of(fits).lines == {"a": 2}
    assert (line, str(HEADER_LIMIT_BYTES + 3) in reason) == (1, True)


def test_a_header_that_could_not_be_read_again_is_not_written() -> None:
    """What grew too large is refused before anything is written."""
    extra = "x: " + "a" * (HEADER_LIMIT_BYTES - 4) + "\n"

    assert frontmatter.parse(frontmatter.render([], extra, ""))[1] == ""
    with pytest.raises(InvalidArgumentError):
        frontmatter.render([("a", "b")], extra, "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\n\tc: d\n", 3),
        ("a: b\n\ufeffa: c\n", 3),
        ("a: b\n--- # c\nd: e\n", 3),
        ("a: b\n...\n", 3),
        ("%YAML 1.1\n--- # a\nb: c\n", 2),
        ("%TAG ! tag:x,2000:\n--- # a\nb: !c d\n", 2),
        ("? a\n: b\n", 2),
        ("? |\n  a\n: b\n", 2),
        ("? [a]\n: b\n", 2),
        ("a: b\n? c\n", 3),
        ("  a: b\n", 2),
        ("'a': b\n", 2),
        ("A: b\n", 2),
        ("é: b\n", 2),
        ("a b: c\n", 2),
        ("~: c\n", 2),
        (f"{'a' * 65}: b\n", 2),
        ("a: b\nc: d\na: e\n", 4),
        ("a: {b: 1, b: 2}\n", 2),
        ("a: {<<: {b: 1}}\n", 2),
        ("a: b\nc: &d e\n", 3),
        ("a: b\nc: *d\n", 3),
        ("a: !b c\n", 2),
        (" !!map\na: b\n", 2),
        (" &a\nb: c\n", 2),
        ("a: !!python/object:os.system x\n", 2),
        ("a: [[[b]]]\n", 2),
        ("a:\n  b:\n    c:\n      d: e\n", 5),
        ("a: [b,\nc: d]\n", 3),
        ('a: "b\nfrom: c"\n', 3),
        ('a: "\\0"\n', 2),
        ('a: "\\ud800"\n', 2),
        ('a: "\\ud83d\\ude00"\n', 2),
        ('a: "\\U00110000"\n', 2),
        ('a: "\\UFFFFFFFF"\n', 2),
    ],
)
def test_what_two_readers_could_see_differently_is_refused(
    text: str, line: int
) -> None:
    """No way to hide a key, to say it twice, or to mean more than what is written."""
    assert refusal(f"---\n{text}---\n")[0] == line


def test_a_directive_with_a_huge_number_is_refused() -> None:
    """A version that no integer holds is an invalid file, not a crash."""
    assert refusal(f"---\n%YAML 1.{'9' * 5000}\n--- # a\nb: c\n---\n")[0] == 2


def test_bytes_that_are_no_text_are_refused_where_they_stand() -> None:
    """The line of the first bad byte is named, in the body too."""
    assert refusal(b"---\na: b\n---\n\nc\n\xff\n") == (6, "a byte is not UTF-8")
    assert refusal(b"---\na: b\n---\n\nc\n\x00\n") == (6, "the file holds NUL")
