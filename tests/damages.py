"""What crashes and people do to a mailbox that the doctor mends, made by hand.

Each function damages a mailbox made by `make_patient` and returns path and kind of what
must be found.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gitmail import Mailbox
from gitmail.store.findings import Kind
from gitmail.store.salvage import PackFile
from gitmail.store.slots import _host
from gitmail.store.store import Store
from tests.helpers import environment, git

LONG_AGO_S = 1_700_000_000
REF = Path(".git", "refs", "heads", "gitmail")
PACKED = Path(".git", "packed-refs")
INDEX = Path(".git", "gitmail", "index.sqlite")
FACT = "memory/facts/parser/owner.md"
Found = set[tuple[str, Kind]]
Damage = Callable[[Path], Found]


def make_patient(box: Path) -> Path:
    """Make a mailbox with some mail and memory, each commit a pack, and close it."""
    with Mailbox.init(box, project="box") as mailbox:
        mailbox.register("builder")
        mailbox.register("reviewer")
        builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
        for body in ("One.", "Two.", "Three."):
            builder.send(to="reviewer", body=body)
        reviewer.poll(ack=True, limit=1)
        builder.memory.set("fact", "parser", "owner", "It is builder.")
        builder.memory.set("fact", "lexer", "owner", "It is nobody.")
        builder.memory.forget("fact", "lexer")
    return box


def message_of(box: Path) -> str:
    """Return the path of the first message."""
    found = sorted((box / "messages").rglob("*.md"))
    return found[0].relative_to(box).as_posix()


def blob_at(box: Path, path: str) -> str:
    """Return the id of the file at a path of the tip."""
    return git(box, "rev-parse", f"gitmail:{path}").strip()


def pack_with(box: Path, object_id: str) -> PackFile:
    """Return the pack that has an object."""
    files = (box / ".git" / "objects" / "pack").glob("*.pack")
    packs = (PackFile(file) for file in files)
    return next(pack for pack in packs if bytes.fromhex(object_id) in pack.offsets)


def explode(box: Path) -> None:
    """Turn all packs into loose objects, as git keeps what few it is sent."""
    aside = box.parent / "aside"
    shutil.move(box / ".git" / "objects" / "pack", aside)
    (box / ".git" / "objects" / "pack").mkdir()
    for pack in aside.glob("*.pack"):
        subprocess.run(
            ["git", "-C", str(box), "unpack-objects", "-q"],
            input=pack.read_bytes(),
            check=True,
            env=environment(),
            timeout=30,
        )
    shutil.rmtree(aside)


def loose(box: Path, object_id: str) -> Path:
    """Return the file of a loose object, made writable."""
    file = box / ".git" / "objects" / object_id[:2] / object_id[2:]
    file.chmod(0o644)
    return file


def overwrite(file: Path, at: int, data: bytes) -> None:
    """Write over some bytes of a file."""
    file.chmod(0o644)
    with file.open("r+b") as stream:
        stream.seek(at, os.SEEK_SET if at >= 0 else os.SEEK_END)
        stream.write(data)


def leave(file: Path, data: bytes = b"") -> Path:
    """Make a file as if it had been left long ago."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (LONG_AGO_S, LONG_AGO_S))
    return file


def ended_process() -> int:
    """Return the number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def at(box: Path, file: Path, kind: Kind) -> Found:
    """Return what must be found at a file."""
    return {(file.relative_to(box).as_posix(), kind)}


# Locks and temporary files


def lock_the_branch(box: Path) -> Found:
    """As a git that was killed while it moved the branch."""
    lock = leave(box / f"{REF}.lock", b"0" * 40)
    return at(box, lock, Kind.STALE_LOCK)


def lock_everything_else(box: Path) -> Found:
    """As gits that were killed while they did something else."""
    names = ("packed-refs", "config", "HEAD", "refs/tags/one", "objects/info/graph")
    locks = [leave(box / ".git" / f"{name}.lock") for name in names]
    return set().union(*(at(box, lock, Kind.STALE_LOCK) for lock in locks))


def lock_the_branch_by_a_slot(box: Path) -> Found:
    """As a gitmail that was killed just now."""
    owner = f"{_host()}-{ended_process()}-0123abcd"
    slot = box / ".git" / "gitmail" / f"ref-{owner}-0a"
    slot.write_text("0" * 40, "ascii")
    lock = box / f"{REF}.lock"
    os.link(slot, lock)
    return at(box, lock, Kind.STALE_LOCK)


def leave_slots(box: Path) -> Found:
    """As a gitmail that was killed between two commits."""
    owner = f"{_host()}-{ended_process()}-0123abcd"
    slots = [box / ".git" / "gitmail" / f"ref-{owner}-0{end}" for end in "ab"]
    for slot in slots:
        slot.touch()
    return set().union(*(at(box, slot, Kind.TEMPORARY_FILE) for slot in slots))


def leave_drafts(box: Path) -> Found:
    """As killed writers, pushes and cleanings."""
    names = (
        *(
            "objects/pack/gitmail_0123",
            "objects/pack/tmp_pack_Ab1",
            "gitmail/file.draft",
        ),
        *("objects/pack/tmp_idx_Ab1", "objects/pack/.tmp-12-pack-0123.pack"),
        *(
            "objects/ab/tmp_obj_Ab1",
            "objects/tmp_obj_Ab1",
            f"gitmail/config.{'0' * 32}",
        ),
    )
    files = [leave(box / ".git" / name, b"Begun.") for name in names]
    incoming = box / ".git" / "objects" / "tmp_objdir-incoming-Ab1"
    leave(incoming / "pack" / "tmp_pack_Cd2")
    os.utime(incoming, (LONG_AGO_S, LONG_AGO_S))
    drafts = [*files, incoming]
    return set().union(*(at(box, draft, Kind.TEMPORARY_FILE) for draft in drafts))


def leave_a_pack_without_an_index(box: Path) -> Found:
    """As a writer that was killed before its commit could be seen."""
    other = make_patient(box.parent / "other")
    pack = next((other / ".git" / "objects" / "pack").glob("*.pack"))
    left = leave(box / ".git" / "objects" / "pack" / pack.name, pack.read_bytes())
    return at(box, left, Kind.TEMPORARY_FILE)


def leave_a_pack_kept(box: Path) -> Found:
    """As a writer that was killed before it let git have the pack."""
    pack = next((box / ".git" / "objects" / "pack").glob("*.pack"))
    keep = pack.with_suffix(".keep")
    os.utime(pack, (LONG_AGO_S, LONG_AGO_S))
    os.link(pack, keep)
    return at(box, keep, Kind.TEMPORARY_FILE)


# Objects


def damage_a_message_in_its_pack(box: Path) -> Found:
    """A byte of it changes; its file shows what it was."""
    path = message_of(box)
    blob = blob_at(box, path)
    pack = pack_with(box, blob)
    overwrite(pack.path, pack.offsets[bytes.fromhex(blob)] + 12, b"\xff\xff")
    return at(box, pack.path, Kind.DAMAGED_PACK) | {(path, Kind.MISSING_OBJECT)}


def damage_a_pack_that_was_folded(box: Path) -> Found:
    """All of it is in another pack too."""
    folder = box / ".git" / "objects" / "pack"
    shutil.copytree(folder, box.parent / "copy")
    store = Store(box)
    store.housekeeping()
    store.close()
    pack = next((box.parent / "copy").glob("*.pack"))
    for ending in (".pack", ".idx"):
        shutil.copy(pack.with_suffix(ending), folder)
    overwrite(folder / pack.name, 20, b"\xff" * 20)
    return at(box, folder / pack.name, Kind.DAMAGED_PACK)


def damage_the_end_of_a_pack(box: Path) -> Found:
    """Only its checksum is not what it was."""
    pack = next((box / ".git" / "objects" / "pack").glob("*.pack"))
    overwrite(pack, -4, b"\0\0\0\0")
    return at(box, pack, Kind.DAMAGED_PACK)


def damage_the_index_of_a_folded_pack(box: Path) -> Found:
    """Its objects are sound, but nobody finds them."""
    git(box, "gc", "-q")
    pack = next((box / ".git" / "objects" / "pack").glob("*.pack"))
    overwrite(pack.with_suffix(".idx"), 1100, b"\0" * 100)
    return at(box, pack, Kind.DAMAGED_PACK)


def lose_the_index_of_a_pack(box: Path) -> Found:
    """The same, of a pack that was written long ago."""
    git(box, "gc", "-q")
    pack = next((box / ".git" / "objects" / "pack").glob("*.pack"))
    os.utime(pack, (LONG_AGO_S, LONG_AGO_S))
    pack.with_suffix(".idx").unlink()
    return at(box, pack, Kind.DAMAGED_PACK)


def empty_a_message(box: Path) -> Found:
    """As after a power cut, where objects were not flushed."""
    path = message_of(box)
    explode(box)
    file = loose(box, blob_at(box, path))
    os.truncate(file, 0)
    return at(box, file, Kind.DAMAGED_OBJECT) | {(path, Kind.MISSING_OBJECT)}


def lose_a_message(box: Path) -> Found:
    """The object is not there any more."""
    path = message_of(box)
    explode(box)
    loose(box, blob_at(box, path)).unlink()
    return {(path, Kind.MISSING_OBJECT)}


def lose_a_folder_and_what_is_in_it(box: Path) -> Found:
    """The trees down to a message, and the message."""
    path = message_of(box)
    explode(box)
    parts = Path(path)
    gone = [parts, *list(parts.parents)[:-1]]
    files = [loose(box, blob_at(box, each.as_posix())) for each in gone]
    for file in files:
        file.unlink()
    return {(each.as_posix(), Kind.MISSING_OBJECT) for each in gone}


def damage_a_loose_object_that_is_packed_too(box: Path) -> Found:
    """Git reads the pack, but complains about the other."""
    blob = blob_at(box, message_of(box))
    file = leave(box / ".git" / "objects" / blob[:2] / blob[2:], b"Torn.")
    return at(box, file, Kind.DAMAGED_OBJECT)


def damage_an_object_that_nobody_needs(box: Path) -> Found:
    """What a push that never ended has left."""
    file = leave(box / ".git" / "objects" / "ab" / ("0" * 38))
    return at(box, file, Kind.DAMAGED_OBJECT)


# The branch, the settings, the rest


def lose_the_branch(box: Path) -> Found:
    """Its file is gone."""
    (box / REF).unlink()
    return at(box, box / REF, Kind.BRANCH_UNREADABLE)


def empty_the_branch(box: Path) -> Found:
    """As after a power cut, where refs were not flushed."""
    (box / REF).unlink()
    (box / REF).touch()
    return at(box, box / REF, Kind.BRANCH_UNREADABLE)


def fill_the_branch_with_zeros(box: Path) -> Found:
    """As other file systems do, and there is an older one among the packed."""
    git(box, "pack-refs", "--all")
    with Mailbox.open(box) as mailbox:
        mailbox.agent("builder").send(to="reviewer", body="Four.")
    (box / REF).unlink()
    (box / REF).write_bytes(bytes(41))
    return at(box, box / REF, Kind.BRANCH_UNREADABLE)


def fill_the_packed_refs_with_zeros(box: Path) -> Found:
    """The branch was among them."""
    git(box, "pack-refs", "--all")
    (box / PACKED).write_bytes(bytes(100))
    found = {(PACKED.as_posix(), Kind.REF_UNREADABLE)}
    return found | at(box, box / REF, Kind.BRANCH_UNREADABLE)


def garble_a_row_of_the_packed_refs(box: Path) -> Found:
    """The others stay, that of the branch among them."""
    git(box, "tag", "one", "gitmail~1")
    git(box, "pack-refs", "--all")
    with (box / PACKED).open("ab") as stream:
        stream.write(b"0123456 refs/tags/two")
    return {(PACKED.as_posix(), Kind.REF_UNREADABLE)}


def empty_other_refs(box: Path) -> Found:
    """As after a power cut, where refs were not flushed."""
    names = ("refs/remotes/origin/gitmail", "refs/tags/one", "refs/heads/other")
    files = [leave(box / ".git" / name, bytes(41)) for name in names]
    return set().union(*(at(box, file, Kind.REF_UNREADABLE) for file in files))


def put_a_folder_in_the_place_of_the_branch(box: Path) -> Found:
    """It is empty, which git does not mind, and the branch is packed."""
    git(box, "pack-refs", "--all")
    (box / REF / "below").mkdir(parents=True)
    return at(box, box / REF, Kind.BRANCH_UNREADABLE)


def put_refs_below_the_branch(box: Path) -> Found:
    """As some program did that copies files one by one."""
    git(box, "pack-refs", "--all")
    leave(box / REF / "below", git(box, "rev-parse", "gitmail~1").encode())
    return at(box, box / REF, Kind.BRANCH_UNREADABLE)


def put_a_file_in_the_place_of_local_state(box: Path) -> Found:
    """Nothing can be locked then."""
    shutil.rmtree(box / INDEX.parent)
    leave(box / INDEX.parent, b"Somebody's.")
    return at(box, box / INDEX.parent, Kind.INCOMPLETE_REPOSITORY)


def point_head_elsewhere(box: Path) -> Found:
    """Somebody thought that this is a checkout."""
    git(box, "symbolic-ref", "HEAD", "refs/heads/main")
    return {(".git/HEAD", Kind.HEAD_ELSEWHERE)}


def detach_head(box: Path) -> Found:
    """The same, with a commit."""
    git(box, "update-ref", "--no-deref", "HEAD", "gitmail~2")
    return {(".git/HEAD", Kind.HEAD_ELSEWHERE)}


def lose_head(box: Path) -> Found:
    """Without it git says that this is no repository."""
    (box / ".git" / "HEAD").unlink()
    return {(".git/HEAD", Kind.HEAD_ELSEWHERE)}


def change_settings(box: Path) -> Found:
    """One is gone, and one is another; one that somebody added stays."""
    git(box, "config", "--unset", "core.fsync")
    git(box, "config", "receive.denyDeletes", "false")
    git(box, "config", "remote.origin.url", "/somewhere")
    return {(".git/config", Kind.SETTING)}


def lose_the_settings(box: Path) -> Found:
    """Without them nothing says that this is a mailbox."""
    (box / ".git" / "config").unlink()
    return {(".git/config", Kind.SETTING)}


def fill_the_settings_with_zeros(box: Path) -> Found:
    """As after a power cut."""
    (box / ".git" / "config").write_bytes(bytes(100))
    return {(".git/config", Kind.SETTING)}


def garble_the_settings(box: Path) -> Found:
    """Somebody edited them."""
    (box / ".git" / "config").write_text("[core\nbare = true\n", "ascii")
    return {(".git/config", Kind.SETTING)}


def set_what_git_refuses(box: Path) -> Found:
    """Git would not read a thing."""
    git(box, "config", "remote.origin.url", "/somewhere")
    with (box / ".git" / "config").open("a", encoding="ascii") as stream:
        stream.write("[extensions]\n\tobjectFormat = sha256\n\tnews = true\n")
        stream.write("[core]\n\trepositoryformatversion = 7\n\tbare = perhaps\n")
    return {(".git/config", Kind.SETTING)}


def set_a_work_tree(box: Path) -> Found:
    """Git says that this makes no sense."""
    git(box, "config", "core.worktree", "/somewhere")
    return {(".git/config", Kind.SETTING)}


def set_extensions_of_an_old_format(box: Path) -> Found:
    """Git refuses them although their values are the usual ones."""
    git(box, "config", "extensions.objectFormat", "sha1")
    return {(".git/config", Kind.SETTING)}


def init_it_again(box: Path) -> Found:
    """Somebody's `git init`, which says that it is not bare."""
    git(box, "init", "-q")
    return {(".git/config", Kind.SETTING)}


def lose_folders(box: Path) -> Found:
    """As some programs do that copy no empty folders."""
    shutil.rmtree(box / ".git" / "refs" / "tags")
    return {(".git/refs/tags", Kind.INCOMPLETE_REPOSITORY)}


def lose_the_guard(box: Path) -> Found:
    """As a mailbox that was made before there was one."""
    shutil.rmtree(box / ".git" / "hooks")
    return {(".git/hooks", Kind.INCOMPLETE_REPOSITORY)}


def keep_the_guard_of_another(box: Path) -> Found:
    """The Python that it runs is not there any more."""
    guard = box / ".git" / "hooks" / "pre-receive"
    guard.write_text(guard.read_text("utf-8").replace(sys.executable, "/gone/python"))
    return {(".git/hooks/pre-receive", Kind.INCOMPLETE_REPOSITORY)}


def empty_the_guard(box: Path) -> Found:
    """As after a power cut; git runs it, and it says yes to all."""
    os.truncate(box / ".git" / "hooks" / "pre-receive", 0)
    return {(".git/hooks/pre-receive", Kind.INCOMPLETE_REPOSITORY)}


def empty_the_settings(box: Path) -> Found:
    """The same."""
    os.truncate(box / ".git" / "config", 0)
    return {(".git/config", Kind.SETTING)}


def disarm_the_guard(box: Path) -> Found:
    """As on a file system without permissions."""
    (box / ".git" / "hooks" / "pre-receive").chmod(0o644)
    return {(".git/hooks/pre-receive", Kind.INCOMPLETE_REPOSITORY)}


def damage_what_git_can_make_anew(box: Path) -> Found:
    """What it keeps to be quicker, half written."""
    git(box, "repack", "-q", "-a", "-d", "--write-bitmap-index")
    git(box, "commit-graph", "write", "--reachable")
    git(box, "multi-pack-index", "write")
    folder = box / ".git" / "objects"
    files = [
        *folder.glob("pack/*.bitmap"),
        *(folder / "pack" / "multi-pack-index", folder / "info" / "commit-graph"),
    ]
    for file in files:
        file.chmod(0o644)
        os.truncate(file, file.stat().st_size // 2)
    files.append(leave(box / ".git" / "index", bytes(100)))
    return set().union(*(at(box, file, Kind.DAMAGED_INDEX) for file in files))


def empty_what_git_can_make_anew(box: Path) -> Found:
    """The same, as after a power cut."""
    git(box, "commit-graph", "write", "--reachable", "--split")
    git(box, "multi-pack-index", "write")
    folder = box / ".git" / "objects"
    graphs = folder / "info" / "commit-graphs"
    files = [*graphs.glob("*"), folder / "pack" / "multi-pack-index"]
    for file in files:
        file.chmod(0o644)
        file.write_bytes(b"")
    return set().union(*(at(box, file, Kind.DAMAGED_INDEX) for file in files))


def fill_lists_of_git_with_zeros(box: Path) -> Found:
    """As other file systems do after a power cut."""
    shallow, borrowed = (
        leave(box / ".git" / name, bytes(100))
        for name in ("shallow", "objects/info/alternates")
    )
    return at(box, shallow, Kind.SHALLOW) | at(box, borrowed, Kind.ALTERNATES)


def claim_to_be_shallow(box: Path) -> Found:
    """All of the history came, and the mark that it is cut stayed."""
    (box / ".git" / "shallow").write_text(git(box, "rev-parse", "gitmail~2"), "ascii")
    return {(".git/shallow", Kind.SHALLOW)}


def garble_the_index(box: Path) -> Found:
    """It is no database."""
    (box / INDEX).write_bytes(b"No database." * 1000)
    return at(box, box / INDEX, Kind.DAMAGED_INDEX)


def damage_pages_of_the_index(box: Path) -> Found:
    """It is one until it is looked into."""
    size = (box / INDEX).stat().st_size
    overwrite(box / INDEX, 4096, b"\xa5" * (size - 4096))
    return at(box, box / INDEX, Kind.DAMAGED_INDEX)


LEFT_OVERS = [
    *(lock_the_branch, lock_everything_else, lock_the_branch_by_a_slot, leave_slots),
    *(leave_drafts, leave_a_pack_without_an_index, leave_a_pack_kept),
]
OBJECTS = [
    *(damage_a_message_in_its_pack, damage_a_pack_that_was_folded),
    *(damage_the_end_of_a_pack, damage_the_index_of_a_folded_pack),
    *(lose_the_index_of_a_pack, empty_a_message, lose_a_message),
    *(lose_a_folder_and_what_is_in_it, damage_a_loose_object_that_is_packed_too),
    damage_an_object_that_nobody_needs,
]
REPOSITORY = [
    *(lose_the_branch, empty_the_branch, fill_the_branch_with_zeros),
    *(point_head_elsewhere, detach_head, lose_head, change_settings),
    *(lose_the_settings, fill_the_settings_with_zeros, garble_the_settings),
    *(lose_folders, lose_the_guard, keep_the_guard_of_another, disarm_the_guard),
    *(fill_the_packed_refs_with_zeros, garble_a_row_of_the_packed_refs),
    *(empty_other_refs, put_a_folder_in_the_place_of_the_branch),
    *(put_refs_below_the_branch, put_a_file_in_the_place_of_local_state),
    *(set_what_git_refuses, set_a_work_tree, set_extensions_of_an_old_format),
    *(init_it_again, empty_the_guard, empty_the_settings, claim_to_be_shallow),
    *(damage_what_git_can_make_anew, empty_what_git_can_make_anew),
    *(fill_lists_of_git_with_zeros, garble_the_index, damage_pages_of_the_index),
]
