"""Packs that came from outside are read within bounds, or refused (DESIGN 11)."""

import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmail.store import unpacking
from gitmail.store.pack import NewObject, write_pack
from gitmail.store.pack_numbers import LARGEST_BYTES, DamagedPackError
from gitmail.store.unpacking import MissingBasesError, PackedObjects
from tests.bundlefiles import (
    BLOB,
    OFS_DELTA,
    REF_DELTA,
    TREE,
    copying,
    delta,
    head,
    number,
    object_id,
    pack,
    packed,
)
from tests.helpers import git
from tests.processes import needs_git

BASE = b"What the deltas are against. " * 20
HERE = b"What is here already. " * 20
MEGABYTE = 1 << 20


def blob(data: bytes) -> bytes:
    """Return the id of a blob."""
    return object_id(b"blob", data)


def find(sha: bytes) -> NewObject | None:
    """Return the one object that is here."""
    return NewObject(BLOB, HERE, sha) if sha == blob(HERE) else None


def read(*entries: bytes) -> PackedObjects:
    """Return the objects of a pack with these entries."""
    return PackedObjects(pack(entries), find)


def chain(length: int) -> Iterator[bytes]:
    """Yield a base and deltas each against the one before."""
    entry, data = packed(BLOB, BASE), BASE
    yield entry
    for step in range(length):
        text = f"Step {step}".encode()
        distance = len(entry)
        assert distance < 0x80
        entry = packed(OFS_DELTA, delta(data, text), bytes([distance]))
        data = text
        yield entry


def test_objects_are_read_whole_and_from_deltas_of_all_kinds() -> None:
    """By the distance of the base, by its id before and behind, and to what is here."""
    whole = packed(BLOB, BASE)
    objects = read(
        packed(REF_DELTA, delta(BASE, b"Behind."), blob(BASE)),
        whole,
        packed(OFS_DELTA, delta(BASE, b"At a distance."), bytes([len(whole)])),
        packed(REF_DELTA, delta(b"Behind.", b"Stacked."), blob(b"Behind.")),
        packed(REF_DELTA, delta(HERE, b"Thin."), blob(HERE)),
        packed(TREE, b""),
    )

    texts = [b"Behind.", BASE, b"At a distance.", b"Stacked.", b"Thin."]
    assert objects.ids(BLOB) == [blob(text) for text in texts]
    assert [objects.data(blob(text)) for text in texts] == texts
    assert objects.kind(object_id(b"tree", b"")) == TREE
    assert len(objects) == 6
    assert blob(HERE) not in objects


@needs_git
def test_what_is_packed_again_stands_on_its_own(tmp_path: Path) -> None:
    """All of it or a part; git finds the same objects in it, and needs no others."""
    objects = read(
        packed(REF_DELTA, delta(BASE, b"Behind."), blob(BASE)),
        *chain(3),
        packed(REF_DELTA, delta(HERE, b"Thin."), blob(HERE)),
    )
    every = {*objects.ids(BLOB)}
    for chosen in (every, every - {blob(BASE)}, {blob(b"Thin."), blob(b"Step 1")}):
        folder = tmp_path / str(len(chosen))
        folder.mkdir()

        name = write_pack(folder, objects.entries(chosen))

        rows = git(folder, "verify-pack", "-v", f"{name}.idx").splitlines()
        assert {row.split()[0] for row in rows if row[40:41] == " "} == {
            sha.hex() for sha in chosen
        }


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([packed(BLOB, BASE, size=len(BASE) - 1)], "size"),
        ([packed(BLOB, BASE, size=len(BASE) + 1)], "size"),
        ([packed(BLOB, BASE)[:-3]], "cut short"),
        ([packed(BLOB, BASE)] * 2, "twice"),
        ([packed(4, b"a tag")], "kind 4"),
        ([packed(0, b"nothing")], "kind 0"),
        ([packed(5, b"nothing")], "kind 5"),
        ([head(BLOB, 3) + b"no zlib stream"], "header"),
        ([head(BLOB, LARGEST_BYTES + 1)], "limit"),
        ([b"\xbf" + b"\xff" * 40], "limit"),
        ([head(BLOB, LARGEST_BYTES)], "cut short"),
        ([packed(OFS_DELTA, b"", b"\x00")], "against nothing"),
        ([packed(OFS_DELTA, b"", b"\x05")], "against nothing"),
        ([packed(OFS_DELTA, b"", b"\xff" * 40)], "against nothing"),
        ([packed(REF_DELTA, b"", blob(HERE))], "cut short"),
        ([packed(REF_DELTA, number(3) + number(9), blob(HERE))], "malformed"),
        ([packed(REF_DELTA, delta(HERE, b"x", size=2), blob(HERE))], "malformed"),
        ([packed(REF_DELTA, delta(HERE) + b"\0", blob(HERE))], "malformed"),
        ([packed(REF_DELTA, delta(HERE, size=1 << 60), blob(HERE))], "limit"),
        ([packed(REF_DELTA, b"\xff" * 50, blob(HERE))], "limit"),
    ],
)
def test_a_malformed_object_is_refused(entries: list[bytes], reason: str) -> None:
    """With a reason, whatever the rest says."""
    with pytest.raises(DamagedPackError, match=reason):
        read(*entries)


def test_a_pack_that_is_not_what_it_says_is_refused() -> None:
    """Its count, its checksum, its version, and its end."""
    good = pack([packed(BLOB, BASE)])
    for bad in (
        pack([packed(BLOB, BASE)], count=2),
        pack([packed(BLOB, BASE)], count=0),
        pack([packed(BLOB, BASE)], count=0xFFFFFFFF),
        pack([packed(BLOB, BASE), b"more"], count=1),
        good[:-1] + bytes([good[-1] ^ 1]),
        good.replace(struct.pack(">L", 2), struct.pack(">L", 3)),
        good + b"\0",
        good[:31],
        b"",
    ):
        with pytest.raises(DamagedPackError):
            PackedObjects(bad, find)
    assert len(PackedObjects(pack([]), find)) == 0


def test_deltas_against_what_is_nowhere_are_told_apart() -> None:
    """Also those that are against one another, and so come from nothing."""
    for entries in (
        [packed(REF_DELTA, delta(BASE, b"a"), blob(BASE))],
        [
            packed(REF_DELTA, delta(b"b", b"a"), blob(b"b")),
            packed(REF_DELTA, delta(b"a", b"b"), blob(b"a")),
        ],
    ):
        with pytest.raises(MissingBasesError):
            read(*entries)


def test_an_object_that_is_made_of_what_is_made_of_it_ends() -> None:
    """The pack has its own copy of what is here, as a delta against its own delta."""
    first = packed(REF_DELTA, delta(HERE, b"From here."), blob(HERE))
    second = packed(OFS_DELTA, delta(b"From here.", *split(HERE)), bytes([len(first)]))

    objects = read(first, second)
    objects._kept.clear()

    assert objects.data(blob(b"From here.")) == b"From here."
    assert objects.data(blob(HERE)) == HERE


def split(data: bytes) -> list[bytes]:
    """Return pieces that a delta can put in."""
    return [data[at : at + 100] for at in range(0, len(data), 100)]


def test_deltas_may_not_be_stacked_without_end() -> None:
    """Each later look at the last one would cost as many steps."""
    deepest = unpacking._DEEPEST_CHAIN
    assert len(read(*chain(deepest))) == deepest + 1

    with pytest.raises(DamagedPackError, match="stacked"):
        read(*chain(deepest + 1))


def test_a_small_pack_may_not_unpack_to_far_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hundreds of deltas of a few bytes, each to a text of megabytes."""
    monkeypatch.setattr(unpacking, "_ALLOWANCE_BYTES", 8 * MEGABYTE)
    data = bytes(MEGABYTE)
    bombs = [
        packed(REF_DELTA, copying(data, 12, bytes([each])), blob(data))
        for each in range(200)
    ]
    tracemalloc.start()
    try:
        with pytest.raises(DamagedPackError, match="far more"):
            read(packed(BLOB, data), *bombs)
        assert tracemalloc.get_traced_memory()[1] < 200 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_an_object_that_inflates_to_more_than_it_says_is_not_inflated() -> None:
    """A hundred megabytes behind a head that says ten bytes."""
    bomb = head(BLOB, 10) + zlib.compress(bytes(100 * MEGABYTE), 9)
    tracemalloc.start()
    try:
        with pytest.raises(DamagedPackError, match="size"):
            read(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_what_is_kept_for_deltas_does_not_grow_with_the_pack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And what was let go is made again."""
    monkeypatch.setattr(unpacking, "_KEPT_BYTES", 1000)
    objects = read(*chain(100))

    assert sum(map(len, objects._kept.values())) <= 1000
    assert [objects.data(sha) for sha in objects.ids(BLOB)] == [
        BASE,
        *(f"Step {step}".encode() for step in range(100)),
    ]
