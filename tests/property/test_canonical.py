"""The fast reader of headers says what the YAML reader says, or nothing."""

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from gitmail.errors import InvalidFileError
from gitmail.records.canonical import parse_canonical
from gitmail.records.frontmatter import render
from gitmail.records.subset import parse_header

# Pieces out of which lines are put together that are nearly canonical.
PIECES = st.sampled_from(
    [
        *(
            "a",
            "from",
            "to",
            "x1",
            "_",
            "Key",
            "1",
            "0123",
            "12:30",
            "true",
            "null",
            "~",
        ),
        *(
            ": ",
            ":",
            " ",
            ", ",
            ",",
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            "\\",
            "#",
            " #",
            "- ",
        ),
        *(
            "-",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "%",
            "@",
            "`",
            "?",
            "<<",
            "---",
            "...",
            "(",
            ")",
        ),
        *("\u00e9", "\u2028", "\u0085", "\t", "\x00", "\r", "2026-11-30T14:37:12.1Z"),
    ]
)
LINES = st.lists(
    st.one_of(
        st.lists(PIECES, max_size=8).map("".join),
        st.lists(PIECES, max_size=6).map(lambda parts: "key: " + "".join(parts)),
        st.lists(PIECES, max_size=6).map(lambda parts: f"list: [{''.join(parts)}]"),
        st.lists(PIECES, max_size=6).map(lambda parts: f"map: {{{''.join(parts)}}}"),
        st.text(max_size=12).map(lambda text: f'text: "{text}"'),
    ),
    max_size=4,
)


@given(LINES)
@example(['a: "x"', 'a: "y"'])
@example(["a: b c", " d"])
@example(["a: b", "", "c: d"])
@example(['a: ["b, c", d]'])
@example(['a: {b: "c: d", e: f}'])
@example(["a: {b: c, b: d}"])
def test_what_is_read_without_yaml_is_what_yaml_reads(lines: list[str]) -> None:
    """Fields, line numbers and raw text; what YAML refuses is never read."""
    text = "".join(f"{line}\n" for line in lines)
    found = parse_canonical(text)
    if found is None:
        return
    with suppress(InvalidFileError):
        assert parse_header(text) == found
        return
    raise AssertionError(text)


NAMES = st.from_regex(r"\A[a-z][a-z0-9_]{0,9}\Z")
VALUES = st.one_of(
    st.text(max_size=20),
    st.booleans(),
    st.integers(0, 10**6),
    st.lists(st.text(max_size=8), max_size=4),
    st.dictionaries(st.from_regex(r"\A[a-z]{1,8}\Z"), st.text(max_size=8), max_size=3),
)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_what_gitmail_writes_is_read_alike_by_both(fields: dict[str, object]) -> None:
    """Whatever stands in the values."""
    written = render(fields.items(), "", "").decode("utf-8", "replace")  # type: ignore[arg-type]
    text = written.removeprefix("---\n").removesuffix("---\n")
    found = parse_canonical(text)

    if found is not None:
        assert found == parse_header(text)


def test_a_message_as_it_is_sent_is_read_without_yaml() -> None:
    """Or all of this would be for nothing."""
    text = (
        'from: builder\nto: [reviewer, "team:core"]\nsubject: Parser handoff\n'
        "kind: brief\nack_required: true\nthread: 7c0fabcd\n"
        "date: 2026-11-30T14:37:12.123456Z\n"
        'location: {branch: main, worktree: project, commit: "7c0f"}\n'
        "recipients: [reviewer, lead]\n"
    )

    assert parse_canonical(text) == parse_header(text)
