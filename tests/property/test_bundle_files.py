"""Whatever becomes of a bundle on the way, it is let in as it was, or not at all."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.errors import GitmailError
from gitmail.mailbox import bundles
from gitmail.store.pack import NewObject
from gitmail.store.pack_numbers import DamagedPackError
from gitmail.store.unpacking import MissingBasesError, PackedObjects
from tests.bundlefiles import BLOB, object_id, pack, packed, state
from tests.helpers import SettableClock


class Journey:
    """Two machines with one mailbox, and a bundle from one to the other."""

    def __init__(self, folder: Path) -> None:
        clock = SettableClock()
        chance = random.Random(7)  # noqa: S311 - the same mailbox in each run
        path, self.file = folder / "near", folder / "carried.bundle"
        self.near = Mailbox.init(path, project="box", clock=clock, chance=chance)
        for name in ("builder", "reviewer"):
            self.near.register(name)
        self.near.create_bundle(self.file)
        self.whole = self.file.read_bytes()
        bundles.start(folder / "far", self.file)
        self.far = Mailbox.open(folder / "far", clock=clock)
        sent = self.near.agent("builder").send(to="reviewer", body="Good.").message
        self.near.agent("reviewer").ack([sent.id])
        self.near.create_bundle(self.file)
        self.new = self.file.read_bytes()
        self.far.agent("reviewer").poll()
        self.before = state(self.far.path)

    def is_refused(self, data: bytes) -> bool:
        """Tell whether this bundle is refused, with nothing changed."""
        self.file.write_bytes(data)
        try:
            self.far.apply_bundle(self.file)
        except GitmailError:
            return state(self.far.path) == self.before
        return False

    def starts(self, data: bytes) -> bool:
        """Tell whether a new machine starts with this bundle."""
        self.file.write_bytes(data)
        place = self.file.with_name("new")
        with suppress(GitmailError):
            bundles.start(place, self.file)
        return place.exists()


@pytest.fixture(name="journey")
def _journey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    """Return a journey that every example may try again, for none gets through."""
    journey = Journey(tmp_path_factory.mktemp("journey"))
    yield journey
    journey.near.close()
    journey.far.close()


def test_a_bundle_that_is_altered_in_any_bit_is_refused(journey: Journey) -> None:
    """In the head as in the pack, whichever of the eight it is in turn."""
    data = journey.new
    for place in range(len(data)):
        flipped = data[place] ^ 1 << place % 8
        altered = data[:place] + bytes([flipped]) + data[place + 1 :]
        assert journey.is_refused(altered), place


def test_a_bundle_that_is_cut_anywhere_is_refused(journey: Journey) -> None:
    """Nothing is let in of what came through."""
    for length in range(len(journey.new)):
        assert journey.is_refused(journey.new[:length]), length


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_bundle_with_any_bytes_in_the_place_of_others_is_refused(
    journey: Journey, data: st.DataObject
) -> None:
    """Also where some went missing, or were added."""
    whole = journey.new
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(start + 50, len(whole))))
    put = data.draw(st.binary(max_size=50))
    altered = whole[:start] + put + whole[end:]

    assert altered == whole or journey.is_refused(altered)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_machine_starts_with_an_altered_bundle(
    journey: Journey, data: st.DataObject
) -> None:
    """A folder is not even made."""
    whole = journey.whole
    place = data.draw(st.integers(0, len(whole) - 1))
    flip = data.draw(st.integers(1, 255))
    altered = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]

    assert not journey.starts(altered)
    assert not journey.starts(whole[:place])


entries = st.one_of(
    st.builds(
        packed,
        st.integers(0, 7),
        st.binary(max_size=40),
        st.binary(max_size=3) | st.just(object_id(b"blob", b"here")),
        size=st.none() | st.integers(0, 100),
    ),
    st.binary(max_size=40),
    st.builds(packed, st.just(BLOB), st.binary(max_size=8)),
)


@given(st.lists(entries, max_size=6), st.none() | st.integers(0, 8))
def test_any_pack_is_read_or_refused(parts: list[bytes], count: int | None) -> None:
    """However odd its objects, with a checksum that is right."""
    with suppress(DamagedPackError, MissingBasesError):
        objects = PackedObjects(
            pack(parts, count=count),
            lambda sha: (
                NewObject(BLOB, b"here", sha)
                if sha == object_id(b"blob", b"here")
                else None
            ),
        )
        for sha in objects.ids(BLOB):
            assert object_id(b"blob", objects.data(sha)) == sha
