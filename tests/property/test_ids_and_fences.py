"""A message's id is git's, and nothing gets out of a fence."""

import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail.records.memory import MemoryRecord
from gitmail.records.message import Message, blob_id
from gitmail.render.fence import fenced, visible
from tests.strategies import bodies, memories, messages

TOKEN = "0123abcd"  # noqa: S105 - it is public in each answer
_LOOKS_LIKE_A_TAG = re.compile(r"<[\s/]*mail", re.IGNORECASE)
_pieces = st.sampled_from(
    [
        *("<", "/", "mail", "MAIL", "mail-", TOKEN, ">", " ", "\u200b", "\u2028", "\n"),
        *(
            f"</mail-{TOKEN}>",
            f"<mail-{TOKEN}>",
            "< mail",
            "</ / mail-",
            "\r",
            "\u200a",
        ),
    ]
)
attacks = st.lists(st.one_of(_pieces, _pieces, bodies), max_size=12).map("".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=10)
@given(st.lists(messages | memories, min_size=1, max_size=20))
def test_an_id_is_what_git_hash_object_prints(
    written: list[Message | MemoryRecord],
) -> None:
    """Real git finds the same id of a message, a note, or a slot's revision (I2)."""
    for record in written:
        printed = subprocess.run(
            ["git", "hash-object", "--stdin"],
            input=record.data,
            capture_output=True,
            check=True,
        ).stdout.decode()

        assert printed == f"{record.id}\n"


@given(st.binary())
def test_equal_ids_mean_equal_bytes(data: bytes) -> None:
    """One more byte, one other id: the id covers all of the file."""
    assert blob_id(data) != blob_id(data + b"\n")


@given(attacks, st.sampled_from(["body", "subject", "preview", "excerpt", "topic"]))
def test_nothing_closes_the_fence_from_inside(text: str, key: str) -> None:
    """The closing tag stands once, at the end, and no other tag survives (R15)."""
    answer = fenced({"messages": [{key: text}]}, TOKEN)
    shown = answer["messages"][0][key]
    opening, closing = f"<mail-{TOKEN}>", f"</mail-{TOKEN}>"

    assert shown.startswith(opening)
    assert shown.endswith(closing)
    inside = shown.removeprefix(opening).removesuffix(closing)
    assert not _LOOKS_LIKE_A_TAG.search(inside)
    assert shown.count(closing) == 1


@given(
    attacks,
    st.sampled_from(["record", "records", "history"]),
    st.sampled_from(["value", "entity", "attribute", "source", "episode", "tags"]),
)
def test_nothing_of_memory_closes_the_fence_from_inside(
    text: str, part: str, key: str
) -> None:
    """Memory was written by others too, names and tags included."""
    said: Any = [text, text] if key == "tags" else text
    answer = fenced({part: {key: said} if part == "record" else [{key: said}]}, TOKEN)
    opening, closing = f"<mail-{TOKEN}>", f"</mail-{TOKEN}>"
    record = answer[part] if part == "record" else answer[part][0]

    shown = record[key] if key == "tags" else [record[key]]
    assert len(shown) == len(said if key == "tags" else [said])
    for each in shown:
        assert each.startswith(opening)
        assert each.endswith(closing)
        inside = each.removeprefix(opening).removesuffix(closing)
        assert not _LOOKS_LIKE_A_TAG.search(inside)


@given(bodies)
def test_visible_text_is_stable(text: str) -> None:
    """Text that was made visible once has nothing left to be made visible."""
    shown = visible(text)

    assert visible(shown) == shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@given(st.dictionaries(st.text(), st.one_of(st.integers(), bodies, st.none())))
def test_an_answer_keeps_what_is_no_text_of_others(plain: dict[str, Any]) -> None:
    """Fencing adds a key only where there is something to fence."""
    fields = {f"x{key}": value for key, value in plain.items()}

    assert fenced(fields, TOKEN) == fields
