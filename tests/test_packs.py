"""Pack files: writing them, and folding many into one (DESIGN 6)."""

import os
import random
import shutil
import socket
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.errors import CorruptMailboxError, DiskFullError
from gitmail.records.names import CommitId
from gitmail.store import folding
from gitmail.store.creation import create_repository
from gitmail.store.folding import count_packs, fold
from gitmail.store.pack import (
    BLOB,
    Entry,
    NewObject,
    _encode_index,
    deflate,
    enclose,
    encode,
    release_pack,
    write_pack,
)
from gitmail.store.refs import Branch
from gitmail.store.repository import Repository
from tests.helpers import git
from tests.processes import assert_sound, make_mailbox, needs_git, posix_only

HOUR_S = 3600
MOMENT = datetime(2026, 11, 30, 14, tzinfo=UTC)
# Around the sizes at which headers, blocks and windows change.
SIZES = [0, 1, 15, 16, 17, 2047, 2048, 4096, 4097, 65_535, 65_536, 300_000]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Return the folder of packs of an empty repository."""
    create_repository(tmp_path / "box")
    return tmp_path / "box" / ".git" / "objects" / "pack"


def blob(data: bytes) -> NewObject:
    """Return a blob."""
    return NewObject.of(BLOB, data)


def noise(size: int, seed: int = 0) -> bytes:
    """Return bytes that do not compress, the same in each run."""
    return random.Random(seed).randbytes(size)  # noqa: S311 - no secret


def objects(folder: Path) -> dict[str, bytes]:
    """Return every object of a repository with its bytes, as git reads them."""
    names = [
        row.split()[0]
        for row in git(
            folder, "cat-file", "--batch-all-objects", "--batch-check", "--unordered"
        ).splitlines()
    ]
    repository = Repository(folder.parents[1])
    try:
        return {
            name: b"%d %b" % repository._objects.get_raw(name.encode())
            for name in names
        }
    finally:
        repository.close()


def packs(folder: Path) -> set[str]:
    """Return the names of the packs."""
    return {file.stem for file in folder.glob("*.idx")}


@needs_git
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [deflate, enclose])
def test_an_object_of_any_size_is_read_back_by_git(
    folder: Path, size: int, make: object
) -> None:
    """Compressed or as it stands, whether it could be compressed or not."""
    for data in (b"a" * size, noise(size)):
        made = blob(data)
        write_pack(folder, [make(made)])  # type: ignore[operator]
        assert git(folder, "cat-file", "-s", made.sha.hex()) == f"{size}\n"
    assert git(folder, "fsck", "--strict", "--full", "--no-dangling") == ""


@needs_git
@pytest.mark.parametrize("count", [0, 1, 3, 300])
def test_an_index_is_byte_for_byte_the_one_that_git_makes(
    folder: Path, tmp_path: Path, count: int
) -> None:
    """So whatever git reads in its own, it finds in ours."""
    made = [blob(noise(30, seed)) for seed in range(count)]
    name = write_pack(folder, map(deflate, made))
    copy = tmp_path / "copy.pack"
    shutil.copy(folder / f"{name}.pack", copy)
    git(tmp_path, "index-pack", str(copy))
    assert (
        copy.with_suffix(".idx").read_bytes() == (folder / f"{name}.idx").read_bytes()
    )


def test_an_index_of_a_large_pack_has_long_offsets() -> None:
    """Behind two gigabytes, git's format goes on in a table of its own."""
    rows = [
        (bytes([number]) * 20, number, offset)
        for number, offset in enumerate([12, 0x7FFFFFFF, 0x80000000, 0x123456789A])
    ]
    index = _encode_index(rows, b"c" * 20)
    assert folding._offsets(index) == [(o, sha, crc) for sha, crc, o in rows]


@given(
    st.lists(st.binary(max_size=300), unique=True, max_size=8),
    st.integers(min_value=0, max_value=3),
)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_what_is_encoded_is_read_back(datas: list[bytes], deltas: int) -> None:
    """Also deltas, at whatever distance from their base."""
    entries = [deflate(blob(data)) for data in datas]
    for number, entry in list(enumerate(entries))[:deltas]:
        sha = bytes([number]) * 20
        entries.append(Entry(sha, BLOB, 2**number * 1000, entry.packed, entry.sha))
    pack, index, _ = encode(entries)
    rows = folding._offsets(index)
    assert [row[1] for row in rows] == [entry.sha for entry in entries]
    ends = [*(row[0] for row in rows), len(pack) - 20][1:]
    names = {offset: sha for offset, sha, _ in rows}
    for entry, (offset, _, _), end in zip(entries, rows, ends, strict=True):
        kind, size, start = folding._head(pack, offset)
        if entry.base:
            distance, start = folding._distance(pack, start)
            assert names[offset - distance] == entry.base
        assert (size, pack[start:end]) == (entry.size, entry.packed)
        assert kind == (6 if entry.base else entry.kind)


def test_the_same_pack_is_written_once(folder: Path) -> None:
    """A second one would say the same under the same name."""
    entries = [deflate(blob(b"x"))]
    name = write_pack(folder, entries)
    before = {file: file.stat().st_ino for file in folder.iterdir()}
    assert write_pack(folder, entries) == name
    assert {file: file.stat().st_ino for file in folder.iterdir()} == before


@pytest.mark.parametrize("failing", range(1, 8))
def test_a_pack_that_cannot_be_written_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """On a full disk every byte counts."""
    calls = 0

    def count(plain: object) -> object:
        def call(*words: object) -> object:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(28, "No space left on device")
            return plain(*words)  # type: ignore[operator]

        return call

    with monkeypatch.context() as patch:
        for name in ("write", "fsync", "link", "replace"):
            patch.setattr(os, name, count(getattr(os, name)))
        with pytest.raises(OSError, match="No space"):
            write_pack(folder, [deflate(blob(b"x"))], is_kept=True)
    left = {file.suffix for file in folder.iterdir()}
    assert left <= {".pack", ".idx"}
    assert ".idx" in left or not left


@needs_git
def test_git_drops_no_pack_that_is_kept(folder: Path) -> None:
    """What no branch names yet would be dropped by `git repack -a -d`."""
    name = write_pack(folder, [deflate(blob(b"x"))], is_kept=True)
    git(folder, "repack", "-a", "-d", "-q")
    assert packs(folder) == {name}
    release_pack(folder, name)
    git(folder, "repack", "-a", "-d", "-q")
    assert packs(folder) == set()
    release_pack(folder, name)


# Folding


class History:
    """Commits of files in folders, each in a pack of its own, as sends make them."""

    def __init__(self, git_dir: Path) -> None:
        self.repository = Repository(git_dir)
        self.branch = Branch(git_dir, git_dir / "gitmail")
        self.packs = git_dir / "objects" / "pack"

    def commit(self, files: dict[str, bytes]) -> None:
        """Make a commit that writes files."""
        tip = self.branch.read()
        tree = self.repository.commit(tip).tree if tip else None
        blobs = {path: blob(data) for path, data in files.items()}
        root, trees = self.repository.build_tree(tree, blobs)
        parents = (tip,) if tip else ()
        made = self.repository.build_commit(root, parents, "builder", MOMENT, "One\n")
        with self.repository.added([*blobs.values(), *trees, made]):
            assert self.branch.move(tip, CommitId(made.sha.hex()))


@pytest.fixture(name="history")
def _history(folder: Path) -> Iterator[History]:
    """Return an empty history."""
    history = History(folder.parents[1])
    yield history
    history.repository.close()


def grow(history: History, count: int, seed: int = 0) -> None:
    """Add commits of one to three small files in few folders."""
    chance = random.Random(seed)  # noqa: S311 - the same history in each run
    for number in range(count):
        history.commit(
            {
                f"d{chance.randrange(3)}/e{chance.randrange(3)}/f{seed}-{number}-{n}": (
                    b"text %d\n" % chance.randrange(1000) * chance.randrange(1, 40)
                )
                for n in range(chance.randrange(1, 4))
            }
        )


@needs_git
def test_folding_keeps_every_object_and_its_bytes(
    history: History, folder: Path
) -> None:
    """Trees and commits become deltas, and git is content with them."""
    grow(history, 60)
    before = objects(folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert fold(folder) == 59

    assert len(packs(folder)) == 1
    assert objects(folder) == before
    assert sum(file.stat().st_size for file in folder.iterdir()) < size / 3
    git(folder, "fsck", "--strict", "--full")
    assert "chain length = 1" in git(folder, "verify-pack", "-v", *_paths(folder))


@needs_git
def test_the_newest_tree_and_commit_are_whole(history: History, folder: Path) -> None:
    """The tip stays quick to read, however old the mailbox is."""
    grow(history, 60)
    fold(folder)
    rows = git(folder, "verify-pack", "-v", *_paths(folder)).splitlines()
    is_delta = {
        row.split()[0]: len(row.split()) > 5 for row in rows if row[40:41] == " "
    }
    tip = git(folder, "rev-parse", "gitmail").strip()
    trees = [
        row.split()[2]
        for row in git(folder, "ls-tree", "-r", "-t", "gitmail").splitlines()
        if row.split()[1] == "tree"
    ]
    root = git(folder, "rev-parse", "gitmail^{tree}").strip()
    assert [is_delta[name] for name in (tip, root, *trees)] == [False] * (
        len(trees) + 2
    )
    assert sum(is_delta.values()) > 100


@needs_git
def test_chains_of_deltas_stay_short_however_often_packs_are_folded(
    history: History, folder: Path
) -> None:
    """Old versions are read through few others."""
    for seed in range(12):
        grow(history, 25, seed)
        fold(folder)
    before = objects(folder)
    rows = git(folder, "verify-pack", "-v", *_paths(folder)).splitlines()
    depths = [int(row.split()[5]) for row in rows if len(row.split()) == 7]
    assert max(depths) <= 3 * folding._DEEPEST_CHAIN
    assert len(objects(folder)) == len(before) > 1000
    git(folder, "fsck", "--strict", "--full")


OPERATIONS = st.lists(
    st.sampled_from(
        ["grow", "grow", "fold", "repack", "gc", "loose", "branch", "keep"]
    ),
    min_size=3,
    max_size=7,
)


@needs_git
@given(OPERATIONS, st.integers(0, 1000))
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
def test_folding_among_what_git_does_keeps_every_object(
    tmp_path_factory: pytest.TempPathFactory, operations: list[str], seed: int
) -> None:
    """Whatever packs there are, the set of objects is the same before and after."""
    box = tmp_path_factory.mktemp("fold")
    create_repository(box)
    history = History(box / ".git")
    grow(history, 5, seed)
    for number, operation in enumerate(operations):
        if operation == "grow":
            grow(history, 1 + (seed + number) % 6, seed + number)
        elif operation == "branch":
            git(box, "branch", f"b{number}", "gitmail")
        elif operation == "loose":
            git(box, "hash-object", "-w", str(box / ".git" / "config"))
        elif operation == "keep":
            name = min(packs(history.packs))
            (history.packs / f"{name}.keep").touch()
        elif operation == "repack":
            git(box, "-c", "repack.writeBitmaps=true", "repack", "-a", "-d", "-q")
        elif operation == "gc":
            git(box, "gc", "-q", "--no-prune")
        before = objects(history.packs)
        fold(history.packs)
        assert objects(history.packs) == before
    history.repository.close()
    git(box, "fsck", "--strict", "--full")
    shutil.rmtree(box)


@needs_git
@pytest.mark.parametrize(
    "settings_of_git",
    [
        [],
        ["repack.useDeltaBaseOffset=false"],
        ["pack.writeReverseIndex=true"],
        ["repack.writeBitmaps=true"],
        ["pack.depth=4095", "pack.window=50"],
        ["core.compression=0"],
    ],
    ids=["plain", "ref-delta", "rev", "bitmap", "deep", "stored"],
)
def test_packs_that_git_wrote_are_folded_too(
    history: History, folder: Path, settings_of_git: list[str]
) -> None:
    """With deltas of both kinds, and with what git puts beside a pack."""
    options = [word for setting in settings_of_git for word in ("-c", setting)]
    grow(history, 30)
    git(folder, *options, "repack", "-a", "-d", "-f", "-q")
    (by_git,) = packs(folder)
    grow(history, 70, seed=1)
    before = objects(folder)
    assert fold(folder) > 0
    while fold(folder):
        pass

    assert by_git not in packs(folder)
    assert not [file for file in folder.iterdir() if file.stem == by_git]
    assert objects(folder) == before
    git(folder, "fsck", "--strict", "--full")


@needs_git
@pytest.mark.parametrize("ending", ["keep", "promisor", "mtimes"])
def test_packs_that_git_says_to_leave_alone_are_left_alone(
    history: History, folder: Path, ending: str
) -> None:
    """They stay byte for byte, and the others are folded."""
    grow(history, 5)
    kept = min(packs(folder))
    (folder / f"{kept}.{ending}").write_text("", "ascii")
    content = (folder / f"{kept}.pack").read_bytes()
    before = objects(folder)
    fold(folder)

    assert len(packs(folder)) == 2
    assert (folder / f"{kept}.pack").read_bytes() == content
    assert (folder / f"{kept}.{ending}").exists()
    assert objects(folder) == before


@needs_git
def test_an_index_over_several_packs_is_dropped_with_them(
    history: History, folder: Path
) -> None:
    """It names packs that are gone, and git makes it anew when it likes."""
    grow(history, 10)
    git(folder, "multi-pack-index", "write")
    before = objects(folder)
    fold(folder)

    assert not list(folder.glob("multi-pack-index*"))
    git(folder, "fsck", "--strict", "--full")
    assert objects(folder) == before


@needs_git
@pytest.mark.parametrize("ending", ["pack", "idx"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied"])
def test_a_damaged_pack_is_left_as_it_is_and_the_others_are_folded(
    history: History,
    folder: Path,
    ending: str,
    damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A copy of it would look sound, and what can be mended would be lost."""
    grow(history, 8)
    file = folder / f"{min(packs(folder))}.{ending}"
    data = bytearray(file.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    elif damage == "cut":
        del data[len(data) // 2 :]
    else:
        data.clear()
    file.chmod(0o644)
    file.write_bytes(data)
    fold(folder)

    assert file.read_bytes() == data
    assert len(packs(folder)) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@needs_git
def test_a_damaged_pack_of_git_is_left_as_it_is_wherever_the_damage_is(
    history: History, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is copied as it stands is compared with the sums in the index."""
    grow(history, 20)
    git(folder, "repack", "-a", "-d", "-q")
    (by_git,) = packs(folder)
    grow(history, 3, seed=1)
    file = folder / f"{by_git}.pack"
    file.chmod(0o644)
    sound = file.read_bytes()
    for place in range(14, len(sound) - 20, len(sound) // 40):
        data = bytearray(sound)
        data[place] ^= 0x01
        file.write_bytes(data)
        caplog.clear()
        contents = dict(folding._readable(folder, sorted(packs(folder))))
        assert by_git not in contents
        assert len(contents) == 3
        assert len(caplog.records) == 1


def test_damage_that_shows_late_stops_the_folding(
    history: History, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is removed then, and the caller is told."""
    grow(history, 4)
    before = packs(folder)

    def fail(_: Sequence[Entry]) -> Iterator[Entry]:
        raise struct.error

    monkeypatch.setattr(folding, "_arranged", fail)
    with pytest.raises(CorruptMailboxError):
        fold(folder)
    assert packs(folder) == before


def test_a_full_disk_stops_the_folding(
    history: History, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is removed."""
    grow(history, 4)
    before = set(folder.iterdir())

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DiskFullError):
        fold(folder)
    assert set(folder.iterdir()) == before


def test_one_pack_is_not_folded(history: History, folder: Path) -> None:
    """Nor is none, nor a large one with many that are small."""
    assert fold(folder) == 0
    history.commit({"large": noise(100_000)})
    assert fold(folder) == 0
    (large,) = packs(folder)
    grow(history, 10)
    assert fold(folder) == 9
    assert large in packs(folder)
    assert count_packs(folder) == 2


@pytest.mark.parametrize(
    ("content", "is_at_work"),
    [
        (f"{os.getpid()} {socket.gethostname()}", True),
        ("1 another-host", True),
        pytest.param(f"999999999 {socket.gethostname()}", False, marks=posix_only),
        ("", False),
        ("nonsense", False),
    ],
    ids=["here", "elsewhere", "killed", "empty", "nonsense"],
)
def test_packs_are_not_folded_while_git_gc_is_at_work(
    history: History, folder: Path, content: str, *, is_at_work: bool
) -> None:
    """It fails where packs go while it looks at them; a killed one is no reason."""
    grow(history, 4)
    file = folder.parents[1] / "gc.pid"
    file.write_text(content, "ascii")
    assert fold(folder) == (0 if is_at_work else 3)
    file.unlink(missing_ok=True)
    assert fold(folder) == (3 if is_at_work else 0)


def test_an_old_mark_of_git_gc_is_no_reason_to_wait(
    history: History, folder: Path
) -> None:
    """Git itself waits twelve hours for another host's."""
    grow(history, 4)
    file = folder.parents[1] / "gc.pid"
    file.write_text("1 another-host", "ascii")
    os.utime(file, (0, 0))
    assert fold(folder) == 3


def test_what_killed_writers_left_is_removed_in_time(
    history: History, folder: Path
) -> None:
    """Not at once, for a writer may be at work."""
    grow(history, 2)
    pack = next(folder.glob("*.pack"))
    left = [folder / "gitmail_0123", folder / "pack-0123.pack", folder / "pack-89.keep"]
    for file in left:
        file.write_bytes(b"x")
    os.link(pack, own_mark := pack.with_suffix(".keep"))
    others = [folder / "tmp_pack_0123", folder / "notes"]
    for file in others:
        file.touch()
    fold(folder)
    assert all(file.exists() for file in (*left, own_mark, *others))
    for file in (*left, pack, *others):
        os.utime(file, (0, 0))
    fold(folder)
    assert not any(file.exists() for file in (*left, own_mark))
    assert all(file.exists() for file in others)


@needs_git
def test_housekeeping_keeps_a_mailbox_sound(tmp_path: Path) -> None:
    """Its packs, its index and its answers."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box, folds=False) as mailbox:
        agent = mailbox.agent("builder")
        for number in range(45):
            agent.send(to="reviewer", body=f"{number}")
        assert mailbox.store.needs_housekeeping()
        assert mailbox.store.housekeeping() > 40
        assert not mailbox.store.needs_housekeeping()
        assert len(mailbox.agent("reviewer").poll(limit=200).items) == 45
        wal = box / ".git" / "gitmail" / "index.sqlite-wal"
        assert wal.stat().st_size == 0
    with Mailbox.open(box) as mailbox:
        assert len(mailbox.agent("reviewer").poll(limit=200).items) == 45
    assert_sound(box)


def test_two_housekeepers_do_not_meet(tmp_path: Path) -> None:
    """The second leaves it to the first."""
    box = make_mailbox(tmp_path / ".gitmail")
    with Mailbox.open(box) as one, Mailbox.open(box) as two:
        with one.store._fold_lock.held(0):
            assert two.store.housekeeping() == 0
        assert two.store.housekeeping() > 0


def _paths(folder: Path) -> list[str]:
    return [str(file) for file in folder.glob("*.idx")]
