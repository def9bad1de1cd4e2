"""The quick reader of headers: what it reads, YAML reads as the same."""

from hypothesis import example, given
from hypothesis import strategies as st

from gitmail.records import canonical
from gitmail.records.canonical import parse_canonical
from gitmail.records.frontmatter import render
from gitmail.records.subset import parse_header
from tests.strategies import LOOK_ALIKES, lines, messages

_WORDS = st.sampled_from(
    [
        *(*LOOK_ALIKES, "a", "a b", "a (b) c", "7c0f5e1d", "2026-11-30T14:37:12Z"),
        *(
            '"a"',
            '""',
            '" a "',
            '"a\\n"',
            '"a: b, [c]"',
            '"\u00e4 \U0001f600"',
            '"\x85"',
        ),
    ]
)
_KEYS = st.sampled_from(["from", "to", "a.b", "x-1", "a_b", "From", "1a", "k" * 65])


@st.composite
def values(draw: st.DrawFn) -> str:
    """Return a value as a header may have it, or nearly so."""
    words = draw(st.lists(_WORDS, min_size=1, max_size=3))
    pairs = [f"{draw(_KEYS)}: {word}" for word in words]
    return draw(
        st.sampled_from(
            [
                *(words[0], " ".join(words), f"{words[0]} "),
                *(f"[{', '.join(words)}]", f"[[{words[0]}]]", "[]"),
                *(f"{{{', '.join(pairs)}}}", "{}"),
            ]
        )
    )


@st.composite
def headers(draw: st.DrawFn) -> str:
    """Return the lines of a header, some of them odd."""
    keys = draw(st.lists(_KEYS, min_size=1, max_size=4))
    return "".join(f"{key}: {draw(values())}\n" for key in keys)


@given(text=headers() | st.text())
@example("")
@example("a: b\n")
@example("location: {branch: main, commit: 7c0f5e1d}\n")
@example('subject: "a\u2028b"\n')
def test_what_it_reads_yaml_reads_as_the_same(text: str) -> None:
    """Values, lines, and the text that is kept of each key."""
    found = parse_canonical(text)

    assert found is None or found == parse_header(text)


@given(message=messages)
def test_what_gitmail_writes_is_read_as_the_same(message: object) -> None:
    """Whichever of the two readers it takes."""
    text = message.data.decode().split("---\n")[1]
    found = parse_canonical(text)

    assert found is None or found == parse_header(text)


@given(subject=lines())
def test_an_ordinary_message_needs_no_yaml(subject: str) -> None:
    """Only what has to be written with an escape does."""
    data = render(
        [("from", "builder"), ("to", ["reviewer", "team:core"]), ("subject", subject)],
        "",
        "Text.",
    )
    text = data.decode().split("---\n")[1] if "---" not in subject else ""

    assert canonical.parse_canonical(text) is not None or "\\" in text
