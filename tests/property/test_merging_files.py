"""Rules of merging for any records of one path: no order and no grouping counts."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmail.records.contesting import Version, contested_data, version_of
from gitmail.records.memory import MemoryRecord, Scope
from gitmail.records.merging import Merged, merge_file
from gitmail.records.message import blob_id
from gitmail.records.names import AgentName, MessageId
from gitmail.records.paths import stage_path
from gitmail.records.profile import FIELDS
from gitmail.records.receipt import Stage
from tests.mailfiles import message_file, slot_file
from tests.strategies import extras, lines, profiles, receipts, slots, times

# Finding the smallest failing case takes longer than the tests' common limit.
pytestmark = pytest.mark.timeout(600)
AGENT, MESSAGE = AgentName("builder"), MessageId("ab" * 20)
RECEIPT = stage_path(AGENT, "2026-11/30/14", MESSAGE, Stage.READ)
FACT, _ = slot_file("parser", "Any.")
junk = st.binary(max_size=20)


def in_any_order(
    path: str,
    base: bytes | None,
    sides: Sequence[bytes | None],
    known: dict[str, bytes],
) -> bytes | None:
    """Return what three sides merge to; nothing that is the same may make another."""

    def merged(a: bytes | None, b: bytes | None) -> bytes | None:
        return merge_file(path, base, a, b, known.get).data if a != b else a

    found = {merged(merged(a, b), c) for a, b, c in permutations(sides)}
    (both,) = found
    assert merged(both, sides[0]) == both
    return both


@st.composite
def choices(draw: st.DrawFn, files: st.SearchStrategy[bytes]) -> list[bytes | None]:
    """Return a base, which may be absent, and three sides, some of them like it."""
    base = draw(st.none() | files)
    like = st.just(base) if base is not None else files
    return [base, *(draw(like | files) for _ in range(3))]


the_receipts = receipts.map(
    lambda each: replace(each, message=MESSAGE, agent=AGENT, stage=Stage.READ).data
)
the_profiles = st.builds(
    lambda each, changed: replace(each, name=AGENT, changed=changed).data,
    profiles,
    st.dictionaries(st.sampled_from([*FIELDS.values(), "later"]), times, max_size=4),
)


@given(choices(the_receipts | junk))
def test_receipts(files: list[bytes | None]) -> None:
    """Whatever somebody put there, one of them stands."""
    base, *sides = files

    assert in_any_order(RECEIPT, base, sides, {}) in sides


@given(choices(the_profiles))
def test_profiles(files: list[bytes | None]) -> None:
    """Each field by itself, with its time."""
    base, *sides = files

    assert in_any_order("agents/builder.md", base, sides, {})


@given(choices(junk))
def test_files_for_people(files: list[bytes | None]) -> None:
    """What only one side changed stands."""
    base, *sides = files
    new = [side for side in sides if side != base]

    both = in_any_order("README.md", base, sides, {})

    assert both in (new or [base])


the_slots = slots.map(
    lambda each: replace(
        each, scope=Scope.FACT, entity="parser", attribute="owner", contested=()
    )
)


def _styled(record: MemoryRecord, style: int) -> bytes:
    """Return a version as gitmail or as a person writes it."""
    data = record.data
    return (data, data.replace(b"scope: ", b"scope:  ", 1), b"\xef\xbb\xbf" + data)[
        style
    ]


@st.composite
def versions(draw: st.DrawFn) -> list[Version]:
    """Return versions of one slot, none twice."""
    styled = st.builds(_styled, the_slots, st.integers(0, 2))
    made = [version_of(FACT, data) for data in draw(st.lists(styled, max_size=5))]
    return [*{each.id: each for each in made}.values()]


@given(st.data(), versions())
def test_slots(data: st.DataObject, known: list[Version]) -> None:
    """What is new to a side stays, and what a side has set over goes (DESIGN 10)."""
    every = frozenset(each.id for each in known)
    subsets = st.frozensets(st.sampled_from(sorted(every))) if every else st.just(every)
    base, *sides = (data.draw(subsets) for _ in range(4))

    both = in_any_order(
        FACT,
        _encoded(base, known),
        [_encoded(side, known) for side in sides],
        {each.id: each.data for each in known},
    )

    kept = base.intersection(*sides) | (frozenset().union(*sides) - base)
    assert both == _encoded(kept, known)


def _encoded(ids: frozenset[str], known: Sequence[Version]) -> bytes | None:
    """Return the file that holds these versions."""
    if not ids:
        return None
    winner = max((each for each in known if each.id in ids), key=lambda x: x.rank)
    data = contested_data(winner, ids - {winner.id})
    assert version_of(FACT, data).all_ids == ids
    return data


@given(
    the_slots,
    st.frozensets(st.from_regex(r"[0-9a-f]{40}", fullmatch=True), max_size=5),
    st.integers(0, 2),
    extras(),
    lines(),
)
def test_a_version_keeps_its_id_whatever_it_is_contested_by(
    record: MemoryRecord, others: frozenset[str], style: int, extra: str, reason: str
) -> None:
    """A person's style, unknown keys and all (FORMAT, section 7)."""
    data = _styled(replace(record, extra=extra, reason=reason), style)
    version = version_of(FACT, data)

    again = version_of(FACT, contested_data(version, others))

    assert version.id == blob_id(data)
    assert (again.id, again.data) == (version.id, data)
    assert again.contested == others - {version.id}


@given(choices(junk | st.just(message_file("builder", ["lead"], "Sent.")[1])))
def test_messages(files: list[bytes | None]) -> None:
    """What belongs there stands, and nothing that a side has is lost."""
    path, sent = message_file("builder", ["lead"], "Sent.")
    base, *sides = files

    assert in_any_order(path, base, sides, {}) in ([sent] if sent in sides else sides)
    if sides[0] != sides[1]:
        found = merge_file(path, base, *sides[:2])
        assert {found.data, *found.aside} == {*sides[:2]}
        assert found == merge_file(path, base, *sides[1::-1])
        assert isinstance(found, Merged)
