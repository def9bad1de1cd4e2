"""One rule a test: what becomes of a path that two clones changed (DESIGN 10)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitmail import Mailbox
from gitmail.errors import CorruptMailboxError, UnrelatedHistoriesError
from gitmail.records.contesting import MOST_CONTESTED, contested_data, version_of
from gitmail.records.header import HEADER_LIMIT_BYTES
from gitmail.records.memory import Scope, parse_memory
from gitmail.records.merging import Merged, merge_file
from gitmail.records.message import blob_id
from gitmail.records.names import AgentName
from gitmail.records.paths import set_aside_path
from gitmail.records.profile import (
    AgentKind,
    Profile,
    changed_profile,
    parse_profile,
)
from gitmail.records.receipt import parse_receipt
from gitmail.store.repository import Repository
from gitmail.store.store import Step
from tests.clones import commit_by_hand, integrate, merge, tip, tree_of, twin
from tests.clones import merged as write_merged
from tests.helpers import SettableClock, git
from tests.indexes import contents, contents_made_anew
from tests.mailboxes import pending
from tests.mailfiles import (
    MOMENT,
    copy_file,
    message_file,
    note_file,
    receipt_file,
    slot_file,
)
from tests.processes import assert_sound, needs_git
from tests.test_lineage import Planned, make

LATER = MOMENT + timedelta(seconds=1)
LATEST = MOMENT + timedelta(seconds=2)
JUNK, OTHER_JUNK = b"Not a record.\n", b"No record either.\n"
FACT, FIRST = slot_file("parser", "First.")
_, SECOND = slot_file("parser", "Second.", set_at=LATER)
_, THIRD = slot_file("parser", "Third.", set_at=LATEST)
WORLD, TRUE = slot_file("sky", "Blue.", scope=Scope.WORLD)
MESSAGE, LETTER = message_file("builder", ["reviewer"], "As it was sent.")
TAMPERED = LETTER.replace(b"As it was", b"As it wasn't")
PROFILE = "agents/builder.md"
BUILDER = Profile(name=AgentName("builder"), created=MOMENT, program="x")


def merged(
    path: str,
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    **known: Any,
) -> Merged:
    """Return what two sides merge to, and check that their order does not matter."""
    found = merge_file(path, base, ours, theirs, **known)
    assert merge_file(path, base, theirs, ours, **known) == found
    return found


def contested(data: bytes | None) -> tuple[str, ...]:
    """Return the versions that a slot's file names beside its own."""
    assert data
    return parse_memory(data).contested


def test_of_two_receipts_the_earlier_one_stands() -> None:
    """First times are kept (CAPABILITIES K4), whoever has which."""
    path, early = receipt_file("reviewer", LETTER)
    late = replace(parse_receipt(early), date=LATER, note="Later.").data

    assert merged(path, None, early, late) == Merged(early)
    assert merged(path, early, early, late) == Merged(early)
    assert merged(path, early, None, early) == Merged(early)


def test_a_receipt_that_does_not_belong_there_never_stands_in_for_one() -> None:
    """However early it says it is; what it was is kept aside."""
    path, honest = receipt_file("reviewer", LETTER)
    _, strange = receipt_file("builder", LETTER)
    early = replace(parse_receipt(strange), date=MOMENT - timedelta(days=1)).data

    for forged in (JUNK, early):
        found = merged(path, None, honest, forged)
        assert (found.data, found.aside) == (honest, (forged,))


def test_of_two_copies_one_stands() -> None:
    """They differ only where somebody wrote by hand."""
    path, copy = copy_file("reviewer", LETTER)
    other = copy.replace(b"---\nmessage", b"---\nx-key: a\nmessage")

    assert merged(path, None, copy, other) == Merged(min(copy, other, key=blob_id))
    assert merged(path, copy, copy, JUNK).data == copy


def test_two_messages_at_one_path_are_both_kept() -> None:
    """That which belongs there is the message; gitmail never writes the other (I2)."""
    for base in (None, LETTER, TAMPERED):
        found = merged(MESSAGE, base, LETTER, TAMPERED)

        assert (found.data, found.aside) == (LETTER, (TAMPERED,))
        assert found.note


def test_a_message_that_one_side_removed_is_there() -> None:
    """Messages never vanish (I2)."""
    assert merged(MESSAGE, LETTER, None, LETTER) == Merged(LETTER)


def test_of_two_values_the_later_is_in_force_and_names_the_other() -> None:
    """The other's id is its blob's, which git shows."""
    found = merged(FACT, FIRST, SECOND, THIRD)

    assert contested(found.data) == (blob_id(SECOND),)
    assert version_of(FACT, found.data or b"").data == THIRD
    assert found.note


def test_of_two_values_of_one_moment_the_larger_id_is_in_force() -> None:
    """No clone prefers its own."""
    _, other = slot_file("parser", "Another.")
    winner, loser = sorted((FIRST, other), key=blob_id, reverse=True)

    found = merged(FACT, None, FIRST, other).data

    assert version_of(FACT, found or b"").data == winner
    assert contested(found) == (blob_id(loser),)


def test_a_value_that_one_side_set_over_another_settles_it() -> None:
    """Only what nobody has seen and set over stays contested."""
    both = merged(FACT, FIRST, SECOND, THIRD).data
    _, after = slot_file("parser", "After.", set_at=LATEST + timedelta(seconds=1))
    _, beside = slot_file("parser", "Beside.", set_at=LATER, tags=("beside",))

    assert merged(FACT, both, both, after) == Merged(after)
    found = merged(FACT, FIRST, after, beside).data
    assert contested(found) == (blob_id(beside),)
    # Who set `after` knew of the two; who set `beside` knew of neither.
    assert merged(FACT, FIRST, merged(FACT, FIRST, both, beside).data, after).data
    knew = merge_file(FACT, both, after, merged(FACT, FIRST, both, beside).data)
    assert contested(knew.data) == (blob_id(beside),)


def test_three_values_are_named_alike_in_any_grouping() -> None:
    """One is in force, and the two others are contested."""
    files = FIRST, SECOND, THIRD
    found = {
        merged(FACT, None, merged(FACT, None, a, b).data, c).data
        for a, b, c in (files, files[1:] + files[:1], files[2:] + files[:2])
    }

    (data,) = found
    assert contested(data) == tuple(sorted(map(blob_id, (FIRST, SECOND))))


def test_a_retirement_and_a_change_are_two_versions() -> None:
    """The later one is in force, and the other is contested."""
    record = parse_memory(TRUE)
    changed = replace(record, value="Grey.", set_at=LATER).data
    for at, is_retired in ((LATEST, True), (MOMENT, False)):
        retired = replace(record, retired_by=AgentName("lead"), retired_at=at).data

        found = merged(WORLD, TRUE, changed, retired).data or b""

        assert parse_memory(found).is_retired is is_retired
        assert contested(found) == (blob_id(changed if is_retired else retired),)


def test_a_fact_that_one_side_forgot_is_gone() -> None:
    """Where the other left it as it was."""
    assert merged(FACT, FIRST, None, FIRST) == Merged(None)
    assert merged(FACT, None, None, FIRST).data == FIRST


def test_a_fact_that_one_side_forgot_and_the_other_set_stays_and_is_reported() -> None:
    """What was set had not been seen by who forgot."""
    found = merged(FACT, FIRST, None, SECOND)

    assert (found.data, bool(found.note)) == (SECOND, True)


def test_forgetting_a_contested_fact_leaves_what_was_not_seen() -> None:
    """The version that had lost is in force then, as in any other grouping."""
    versions = {blob_id(data): data for data in (FIRST, SECOND)}
    both = merged(FACT, None, FIRST, SECOND).data

    # Who forgot the second had not seen the first.
    found = merged(FACT, SECOND, None, both, find=versions.get)

    assert found.data == FIRST
    unknown = merged(FACT, SECOND, None, both, find=lambda _: None)
    assert unknown.data == both


def test_world_facts_and_lessons_are_not_removed_by_a_missing_file() -> None:
    """Absence says nothing of these (I4)."""
    assert merged(WORLD, TRUE, None, TRUE) == Merged(TRUE)
    assert merged(WORLD, None, None, None) == Merged(None)


def test_a_note_that_one_side_forgot_is_gone() -> None:
    """A note never changes, so there is nothing that could be lost."""
    path, note = note_file("A note.")

    assert merged(path, note, None, note) == Merged(None)
    found = merged(path, note, note, JUNK)
    assert (found.data, found.aside) == (note, (JUNK,))
    assert merged(path, note, None, JUNK).data == JUNK


def test_a_value_that_a_person_wrote_keeps_its_bytes_and_its_id() -> None:
    """Naming others adds one line to it, which goes again when it is settled."""
    by_hand = THIRD.replace(b"scope: fact", b"scope:   fact # by me")
    for odd in (by_hand, by_hand.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + THIRD):
        found = merged(FACT, FIRST, odd, SECOND).data or b""

        assert contested(found) == (blob_id(SECOND),)
        assert version_of(FACT, found).data == odd
        assert version_of(FACT, found).id == blob_id(odd)


def test_a_value_that_cannot_be_read_never_hides_one_that_can() -> None:
    """It is named as what lost, or kept aside where nothing could name it."""
    found = merged(FACT, FIRST, SECOND, JUNK).data
    assert contested(found) == (blob_id(JUNK),)
    assert version_of(FACT, found or b"").data == SECOND

    both = merged(FACT, FIRST, OTHER_JUNK, JUNK)
    assert {both.data, *both.aside} == {OTHER_JUNK, JUNK}


def test_a_header_without_room_names_nothing_more() -> None:
    """A merge never fails for what somebody wrote."""
    others = frozenset(f"{number:040x}" for number in range(500))
    version = version_of(FACT, SECOND)
    assert len(contested(contested_data(version, others))) == MOST_CONTESTED

    extra = f"x-key: {'x' * (HEADER_LIMIT_BYTES - 200)}\n"
    full = version_of(FACT, replace(parse_memory(SECOND), extra=extra).data)
    assert full.is_readable
    assert contested_data(full, others) == full.data


def test_a_profile_is_merged_field_by_field() -> None:
    """Each field is as it was said last, on whichever side."""
    ours = changed_profile(BUILDER, LATER, program="y", teams=("core",))
    theirs = changed_profile(BUILDER, LATEST, program="z", is_retired=True)

    found = parse_profile(
        merged(PROFILE, BUILDER.data, ours.data, theirs.data).data or b""
    )

    expected = replace(BUILDER, program="z", teams=("core",), is_retired=True)
    assert found == replace(
        expected, changed={"program": LATEST, "teams": LATER, "status": LATEST}
    )


def test_a_name_that_two_clones_registered_is_one_agent() -> None:
    """What only one of them said is kept, and it is as old as the older."""
    ours = replace(BUILDER, model="m")
    theirs = replace(BUILDER, created=LATER, program="y", kind=AgentKind.HUMAN)

    found = parse_profile(merged(PROFILE, None, ours.data, theirs.data).data or b"")

    assert found == replace(
        ours,
        program="y",
        kind=AgentKind.HUMAN,
        changed={"program": LATER, "kind": LATER},
    )


def test_a_field_that_a_person_changed_without_a_time_is_changed() -> None:
    """Where the other side left it; a later word of the other side counts more."""
    by_hand = replace(BUILDER, program="a", extra="x-key: a\n")
    other = changed_profile(BUILDER, LATER, model="m")

    found = parse_profile(
        merged(PROFILE, BUILDER.data, by_hand.data, other.data).data or b""
    )

    assert (found.program, found.model, found.extra) == ("a", "m", "x-key: a\n")


def test_times_of_fields_that_a_later_version_knows_are_kept() -> None:
    """The later of the two."""
    sides = [replace(BUILDER, changed={"x": at}) for at in (LATER, LATEST)]

    found = merged(PROFILE, None, *(side.data for side in sides)).data

    assert parse_profile(found or b"") == sides[1]


def test_a_profile_that_cannot_be_read_locks_nobody_out() -> None:
    """The other one stands, and what it was is kept aside."""
    for base in (None, BUILDER.data):
        found = merged(PROFILE, base, BUILDER.data, JUNK)
        assert (found.data, found.aside) == (BUILDER.data, (JUNK,))

    found = merged(PROFILE, None, OTHER_JUNK, JUNK)
    assert {found.data, *found.aside} == {OTHER_JUNK, JUNK}


def test_profiles_that_do_not_fit_into_one_are_both_kept() -> None:
    """A header has its limit, and a merge never fails for what somebody wrote."""
    extra = "x-key: " + "x" * (HEADER_LIMIT_BYTES - 150) + "\n"
    ours = replace(BUILDER, extra=extra)
    theirs = changed_profile(BUILDER, LATER, model="m" * 190)

    found = merged(PROFILE, BUILDER.data, ours.data, theirs.data)

    assert {found.data, *found.aside} == {ours.data, theirs.data}


def test_files_for_people_are_taken_from_who_changed_them() -> None:
    """Of two changes one stands, and the other is kept aside."""
    for path in ("README.md", "unknown/path.txt"):
        assert merged(path, b"Old.", b"Old.", b"New.") == Merged(b"New.")
        found = merged(path, b"Old.", b"Newer.", b"New.")
        assert {found.data, *found.aside} == {b"Newer.", b"New."}
    assert merged("unknown/path.txt", b"Old.", None, b"Old.") == Merged(None)
    assert merged("unknown/path.txt", b"Old.", None, b"New.").data == b"New."
    assert merged("README.md", b"Old.", None, b"Old.") == Merged(b"Old.")


def test_a_charter_that_cannot_be_read_never_wins(mailbox: Mailbox) -> None:
    """It would stop all mail, also where the other side left it as it was."""
    charter = (mailbox.path / "mailbox.md").read_bytes()

    found = merged("mailbox.md", charter, charter, JUNK)

    assert (found.data, found.aside) == (charter, (JUNK,))
    assert merged("mailbox.md", charter, JUNK, b"More junk.").data == charter
    assert merged("mailbox.md", charter, JUNK, None).data == charter
    assert merged("mailbox.md", charter, None, charter).note
    assert merged("mailbox.md", None, JUNK, charter).data == charter


@pytest.mark.parametrize("key", ["id", "created"])
def test_a_charter_of_another_mailbox_never_wins(mailbox: Mailbox, key: str) -> None:
    """Its id and its time never change; its limits may, and are merged as others."""
    charter = mailbox.charter()
    changed = {"id": "0" * 8 + charter.id[8:], "created": LATER}
    other = replace(charter, **{key: changed[key]}).data
    wider = replace(charter, max_wait_s=77).data
    base = charter.data

    for ours in (base, wider):
        found = merged("mailbox.md", base, ours, other)
        assert (found.data, found.aside) == (ours, (other,))
        assert "does not belong" in found.note
    assert merged("mailbox.md", base, None, other).data == base
    assert merged("mailbox.md", base, base, wider) == Merged(wider)


@pytest.fixture(name="clones")
def _clones(
    mailbox: Mailbox, tmp_path: Path, clock: SettableClock
) -> Iterator[tuple[Mailbox, Mailbox]]:
    """Return two clones of one mailbox."""
    there = SettableClock(clock.now + timedelta(microseconds=7))
    with twin(mailbox, tmp_path / "twin" / ".gitmail", there) as other:
        yield mailbox, other


Changes = Mapping[str, bytes | tuple[int, bytes] | None]


def by_hand(mailbox: Mailbox, changes: Changes) -> None:
    """Commit what no verb writes."""
    commit_by_hand(mailbox.path, changes, int(mailbox.now().timestamp()))


def both_ways(clones: tuple[Mailbox, Mailbox]) -> dict[str, tuple[int, bytes]]:
    """Bring two clones together and return path to mode and bytes at the tip."""
    here, there = clones
    ours, theirs = tip(here), tip(there)
    notes = integrate(here, there).notes
    assert integrate(there, here).step is Step.FAST_FORWARD
    repository = here.store._repository
    assert merge(repository, theirs, ours).tree == tree_of(here) == tree_of(there)
    told = {*merge(repository, theirs, ours).notes}
    assert told <= {*notes}
    assert all("quarantined" in each.text for each in {*notes} - told)
    assert contents(here) == contents_made_anew(here)
    return dict(files(here))


def files(mailbox: Mailbox) -> Iterator[tuple[str, tuple[int, bytes]]]:
    """Yield path, mode and bytes of all files of the tip."""
    repository = mailbox.store._repository
    todo = [("", tree_of(mailbox))]
    while todo:
        prefix, tree = todo.pop()
        for name, (mode, sha) in repository.tree(tree).items():
            path = f"{prefix}{name.decode()}"
            if mode == 0o40000:
                todo.append((f"{path}/", sha.hex()))
            else:
                yield path, (mode, repository.blob(sha.hex()))


def test_what_two_clones_did_is_all_there_in_one_commit(
    clones: tuple[Mailbox, Mailbox],
) -> None:
    """Mail and receipts of both, with the ids they had; cursors stay valid (I6, I7)."""
    here, there = clones
    asked = here.agent("builder").send(to="reviewer", body="Asked.").message.id
    integrate(there, here)
    cursor = there.agent("reviewer").poll(limit=200).cursor
    there.agent("reviewer").ack(asked)
    theirs = there.agent("lead").send(to="reviewer", body="From there.").message.id
    here.agent("builder").send(to="reviewer", body="From here.")

    done = integrate(here, there)
    integrate(there, here)

    assert done.step is Step.MERGED
    for box in clones:
        found = box.agent("reviewer").poll(limit=200, after=cursor)
        assert {item.message.body for item in found.items} == {
            "From here.",
            "From there.",
        }
        assert theirs in {item.id for item in found.items}
        assert box.agent("builder").receipts(asked).lines[0].state == "acked"
    assert integrate(here, there).step is Step.NOTHING


@needs_git
def test_git_finds_nothing_odd_in_a_merge(clones: tuple[Mailbox, Mailbox]) -> None:
    """Two parents, a tree that it can read, and nothing missing."""
    here, there = clones
    here.agent("builder").memory.set("fact", "parser", "owner", "builder")
    there.agent("builder").memory.set("fact", "parser", "owner", "reviewer")
    integrate(here, there)

    assert len(git(here.path, "log", "-1", "--format=%P").split()) == 2
    assert_sound(here.path)


def test_a_file_in_the_way_of_a_folder_is_set_aside(
    clones: tuple[Mailbox, Mailbox],
) -> None:
    """The folder has records in it; the file has lost its place, not its bytes."""
    here, there = clones
    by_hand(here, {"memory": JUNK})
    there.agent("builder").memory.set("fact", "parser", "owner", "builder")

    found = both_ways(clones)

    assert found[set_aside_path(blob_id(JUNK))] == (0o100644, JUNK)
    assert "memory/facts/parser/owner.md" in found


def test_what_is_in_the_way_of_the_quarantine_is_set_aside_itself(
    clones: tuple[Mailbox, Mailbox],
) -> None:
    """Also a file of that very name."""
    here, there = clones
    by_hand(here, {MESSAGE: TAMPERED, "quarantine": JUNK})
    by_hand(there, {MESSAGE: LETTER})

    found = both_ways(clones)

    for data in (TAMPERED, JUNK):
        assert found[set_aside_path(blob_id(data))] == (0o100644, data)
    assert found[MESSAGE] == (0o100644, LETTER)
    names = {path for path, _ in here.status().quarantine}
    assert {set_aside_path(blob_id(data)) for data in (TAMPERED, JUNK)} <= names
    assert "By hand" not in pending(here.agent("reviewer"))


@pytest.mark.parametrize("has_own", [False, True], ids=["nothing new", "mail here"])
def test_what_may_not_be_done_to_mail_is_undone(
    clones: tuple[Mailbox, Mailbox], *, has_own: bool
) -> None:
    """What an agent sees does not depend on who synced first."""
    here, there = clones
    for body in ("Keep me.", "Me too."):
        here.agent("builder").send(to="reviewer", body=body)
    here.agent("reviewer").poll(ack=True)
    integrate(there, here)
    before = dict(files(here))
    mail = [path for path in before if path.startswith(("messages/", "receipts/"))]
    removed, edited, folder, replaced = sorted(mail)
    profile = "agents/lead.md"
    by_hand(
        there,
        {
            removed: None,
            edited: JUNK,
            folder: None,
            f"{folder}/x": JUNK,
            replaced: (0o120000, b"elsewhere"),
            profile: None,
            f"{profile}/y": OTHER_JUNK,
        },
    )
    if has_own:
        here.agent("builder").send(to="lead", body="Here.")
    done = integrate(here, there)
    after = dict(files(here))

    assert contents(here) == contents_made_anew(here)
    assert done.step is Step.MERGED
    assert {path: after[path] for path in before} == before
    assert f"{folder}/x" not in after
    for junk in (JUNK, OTHER_JUNK):
        assert after[f"quarantine/{blob_id(junk)}.md"] == (0o100644, junk)
    assert {edited, f"{folder}/x", f"{profile}/y"} <= {each.path for each in done.notes}
    assert integrate(there, here).step is Step.FAST_FORWARD
    assert tree_of(here) == tree_of(there)


def test_a_folder_does_not_take_the_charters_place(
    clones: tuple[Mailbox, Mailbox],
) -> None:
    """All mail needs it; who has such a tip is damaged, and nobody who syncs."""
    here, there = clones
    charter = here.charter()
    by_hand(there, {"mailbox.md": None, "mailbox.md/z": JUNK})

    assert integrate(here, there).step is Step.MERGED
    assert here.charter() == charter
    with pytest.raises(CorruptMailboxError):
        there.charter()


def test_what_is_allowed_is_taken_as_it_is(clones: tuple[Mailbox, Mailbox]) -> None:
    """A merge commit is made only where there is something to undo."""
    here, there = clones
    agent = here.agent("builder")
    agent.memory.set("fact", "parser", "owner", "builder")
    agent.memory.set("world", "yaml", "indent", "two")
    agent.memory.add("It reads lists.")
    integrate(there, here)
    other = there.agent("builder")
    other.memory.forget("fact", "parser")
    other.memory.forget("world", "yaml", "indent")
    other.memory.set("world", "yaml", "indent", "four")
    there.register("builder", model="a model")
    there.retire("lead")
    there.agent("reviewer").poll(ack=True)
    first, name, created, *rest = there.whois("lead").profile.data.split(b"\n")
    swapped = b"\n".join([first, created, name, *rest])
    by_hand(there, {"README.md": b"For people.\n", "agents/lead.md": swapped})

    assert integrate(here, there).step is Step.FAST_FORWARD


def test_a_bad_file_that_comes_is_named_once(clones: tuple[Mailbox, Mailbox]) -> None:
    """Who syncs is told at once, and not again with each further sync."""
    here, there = clones
    by_hand(there, {"stray.txt": JUNK, MESSAGE: LETTER + b"x"})
    notes = integrate(here, there).notes

    assert [each.path for each in notes] == [MESSAGE, "stray.txt"]
    there.agent("builder").send(to="reviewer", body="There.")
    assert integrate(here, there).notes == ()


def test_many_bad_files_are_counted(clones: tuple[Mailbox, Mailbox]) -> None:
    """Nobody reads thousands of lines."""
    here, there = clones
    by_hand(there, {f"stray/{number}.txt": JUNK for number in range(150)})
    notes = integrate(here, there).notes

    assert len(notes) == 101
    assert notes[-1].text.startswith("50 more")


@pytest.mark.parametrize("mode", [0o120000, 0o100755])
def test_a_regular_file_wins_against_anything_else(
    clones: tuple[Mailbox, Mailbox], mode: int
) -> None:
    """A link or a program is no record (DESIGN 11)."""
    here, there = clones
    by_hand(here, {MESSAGE: (mode, LETTER), FACT: (mode, b"elsewhere")})
    by_hand(there, {MESSAGE: LETTER, WORLD: (mode, TRUE)})

    found = both_ways(clones)

    assert found[MESSAGE] == (0o100644, LETTER)
    assert found[FACT] == (mode, b"elsewhere")
    by_hand(here, {FACT: None})
    by_hand(there, {MESSAGE: (mode, LETTER), "README.md": b"Changed.\n"})
    found = both_ways(clones)
    assert FACT not in found


def test_a_tree_deeper_than_any_record_does_not_stop_a_merge(
    clones: tuple[Mailbox, Mailbox],
) -> None:
    """Somebody can push it, and both sides can have it."""
    deep = "/".join(["deep"] * 600)
    for number, box in enumerate(clones):
        by_hand(box, {f"{deep}/{number}.md": JUNK})

    here, there = clones
    assert integrate(here, there).step is Step.MERGED
    assert integrate(there, here).step is Step.FAST_FORWARD


def test_another_mailbox_is_not_merged(
    mailbox: Mailbox, tmp_path: Path, clock: SettableClock
) -> None:
    """They have no commit in common, and nothing is changed."""
    before = tip(mailbox)
    place = tmp_path / "other" / ".gitmail"
    with (
        Mailbox.init(place, clock=clock) as other,
        pytest.raises(UnrelatedHistoriesError),
    ):
        integrate(mailbox, other)

    assert tip(mailbox) == before


@needs_git
@pytest.mark.parametrize("rounds", [40, 130], ids=["many", "more than are taken apart"])
def test_merges_of_three_again_and_again_do_not_double_the_work(
    tmp_path: Path, rounds: int
) -> None:
    """Each has three bases, and each pair of these has three again."""
    plans = [Planned((), 0, dict.fromkeys("xyz", "0"))]
    before = (0,)
    for number in range(1, rounds + 1):
        old = dict.fromkeys("xyz", str(number - 1))
        plans += [Planned(before, number, old | {each: str(number)}) for each in "xyz"]
        before = tuple(range(len(plans) - 3, len(plans)))
    *_, ours, theirs = make(tmp_path, plans)
    repository = Repository(tmp_path)
    try:
        commit = write_merged(repository, ours, theirs)
        turned = write_merged(repository, theirs, ours)
    finally:
        repository.close()

    tree = git(tmp_path, "rev-parse", f"{commit}^{{tree}}")
    assert git(tmp_path, "rev-parse", f"{turned}^{{tree}}") == tree
    said = [git(tmp_path, "show", f"{commit}:{each}") for each in "yz"]
    assert said == [str(rounds)] * 2


def test_merges_across_start_from_what_both_had(
    clones: tuple[Mailbox, Mailbox], tmp_path: Path
) -> None:
    """Two that merged each other's work have two bases, and forgetting still counts."""
    here, there = clones
    for number, box in enumerate(clones):
        box.agent("builder").memory.set("fact", f"of {number}", "owner", "x")
    clock = SettableClock(here.now() + timedelta(microseconds=11))
    with twin(here, tmp_path / "third" / ".gitmail", clock) as third:
        integrate(here, there)  # each makes a merge of its own
        integrate(there, third)
        here.agent("builder").memory.forget("fact", "of 1", "owner")
        there.agent("builder").memory.set("fact", "of 0", "owner", "y")

        found = both_ways(clones)

    assert "memory/facts/of-1/owner.md" not in [*found]
    assert len([path for path in found if path.startswith("memory/facts/")]) == 1
    record = here.agent("builder").memory.get("fact", "of 0", "owner").record
    assert (record.value, record.contested) == ("y", ())
