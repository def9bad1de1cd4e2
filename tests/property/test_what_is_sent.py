"""Whatever is accepted for sending can be read again, by everybody and for ever."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmail import Mailbox
from gitmail.errors import InvalidInputError, MemoryNotFoundError, RequestConflictError
from gitmail.records.keys import key_of
from gitmail.records.memory import parse_memory
from gitmail.records.message import Location, parse_message
from gitmail.records.profile import parse_profile
from tests.helpers import SettableClock
from tests.strategies import LINE_ENDS, LOOK_ALIKES, anything, bodies, lines, rooms

wild = st.text(max_size=210) | st.lists(
    st.sampled_from((*LOOK_ALIKES, *LINE_ENDS, " ", "Re:", "x" * 60))
).map("".join)
"""Texts that may be refused, or have to be cut."""


def label(limit: int) -> st.SearchStrategy[str | None]:
    """Return what a label of that many characters may say, seldom what it may not."""
    sound = st.none() | lines(limit)
    return st.one_of(sound, sound, sound, sound, wild)


texts = st.one_of(*[st.just("x")] * 2, bodies, st.text())
drafts = st.fixed_dictionaries(
    {
        "body": texts,
        "subject": label(200),
        "topic": label(64),
        "room": st.none() | rooms,
        "request_id": label(120),
        "expires_in": st.sampled_from([None, "1s", "90", "2h", "7d", "520w", "0.5"]),
        "kind": st.sampled_from([None, "brief", "Review"]),
        "importance": st.sampled_from([None, "urgent", "LOW"]),
        "ack_required": st.booleans(),
        "bcc": st.sampled_from([None, "lead", "all"]),
    }
)


@pytest.fixture(name="mailbox", scope="module")
def _mailbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mailbox]:
    """Return one mailbox for all examples."""
    path = tmp_path_factory.mktemp("sent") / ".gitmail"
    with Mailbox.init(path, clock=SettableClock()) as mailbox:
        for name in ("builder", "reviewer", "lead"):
            mailbox.register(name)
        yield mailbox


def stored(mailbox: Mailbox, message: str) -> bytes:
    """Return the bytes of an object of the tip."""
    return mailbox.store.read(lambda view: view.repository.blob(message))


@given(draft=drafts, answer=drafts, prefix=label(64))
def test_what_is_sent_or_answered_is_read_as_it_was_written(
    mailbox: Mailbox, draft: dict[str, Any], answer: dict[str, Any], prefix: str | None
) -> None:
    """Or it is refused before anything is written (M1 to M12, I2)."""
    builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
    said = {**answer, "subject": None, "subject_prefix": prefix}
    try:
        sent = builder.send(to="reviewer", **draft)
        reply = reviewer.reply(sent.message.id, **said)
    except (InvalidInputError, RequestConflictError):
        return

    for each in (sent, reply):
        message = each.message.message
        assert parse_message(stored(mailbox, message.id)) == message
    assert reviewer.read(sent.message.id).text == draft["body"]
    assert builder.read(reply.message.id).text == answer["body"]
    assert mailbox.status().quarantine == ()


@given(branch=st.none() | anything, worktree=st.none() | anything)
def test_a_place_of_any_name_is_read_as_one_line(
    mailbox: Mailbox, branch: str | None, worktree: str | None
) -> None:
    """Whatever files of the project say (M10, I8)."""
    place = Location(branch=branch, worktree=worktree, commit="a" * 40)
    with Mailbox.open(mailbox.path, location=lambda: place) as other:
        sent = other.agent("builder").send(to="lead", body="x")

    found = mailbox.agent("lead").read(sent.message.id).message.location

    assert found is not None
    assert found.commit == "a" * 40
    for text in (found.branch, found.worktree):
        assert text is None or text == text.strip()
        assert text is None or len(text.splitlines()) == 1


@given(note=texts, stage=st.sampled_from(["read", "acked"]))
def test_a_note_is_read_as_it_was_written(
    mailbox: Mailbox, note: str, stage: str
) -> None:
    """Or it is refused and nothing is acknowledged (K5)."""
    builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
    message = builder.send(to="reviewer", body="x").message.id
    try:
        reviewer.ack(message, stage=stage, note=note)
    except InvalidInputError:
        assert reviewer.read(message).state == "pending"
        return

    (line,) = builder.receipts(message).lines
    assert (line.state, line.note) == (stage, note)


@given(description=texts, program=label(200), model=label(200))
def test_a_profile_is_read_as_it_was_written(
    mailbox: Mailbox, description: str, program: str | None, model: str | None
) -> None:
    """Or it is refused and nobody is registered anew (G1)."""
    before = mailbox.whois("lead").profile
    said: dict[str, Any] = {"program": program, "model": model}
    said["description"] = description
    try:
        profile = mailbox.register("lead", **said).profile
    except InvalidInputError:
        assert mailbox.whois("lead").profile == before
        return

    data = (mailbox.path / "agents" / "lead.md").read_bytes()
    assert mailbox.whois("lead").profile == profile == parse_profile(data)
    assert profile.description == description.strip()


# Each of these examples is four commits.
a_few = settings(max_examples=settings().max_examples // 5)
said = st.fixed_dictionaries(
    {
        "source": label(1000),
        "tags": st.none() | st.lists(label(64).filter(bool), max_size=3),
    }
)


@a_few
@given(
    entity=label(200).filter(bool),
    attribute=label(200).filter(bool),
    value=texts,
    more=said,
    confidence=st.none() | st.floats(),
    reason=label(200),
)
def test_what_is_remembered_of_any_name_is_read_as_it_was_written(
    mailbox: Mailbox,
    entity: str,
    attribute: str,
    value: str,
    more: dict[str, Any],
    confidence: float | None,
    reason: str | None,
) -> None:
    """Or it is refused; and it can be retired and restored with any reason (Y2)."""
    memory = mailbox.agent("builder").memory
    slot = ("world", entity, attribute)
    try:
        record = memory.set(*slot, value, confidence=confidence, **more).record
        memory.forget(*slot, reason=reason)
    except (InvalidInputError, MemoryNotFoundError):
        assert mailbox.status().quarantine == ()
        return

    assert parse_memory(stored(mailbox, record.id)) == record
    with pytest.raises(MemoryNotFoundError):
        memory.get(*slot)
    memory.restore(*slot, reason=reason)
    found = memory.get(*slot)
    assert found.text == record.value == value
    assert key_of(found.record.entity) == key_of(entity)
    assert found.record.reason == (reason.strip() if reason else None)
    retirement = memory.history(*slot, limit=2).revisions[1]
    assert retirement.reason == (reason or "").strip()
    assert mailbox.status().quarantine == ()


@a_few
@given(text=texts, more=said, episode=label(120), reason=label(200))
def test_a_note_to_remember_is_read_as_it_was_written(
    mailbox: Mailbox,
    text: str,
    more: dict[str, Any],
    episode: str | None,
    reason: str | None,
) -> None:
    """Or it is refused; and it is found by all its text, and comes back (Y1, Y7)."""
    memory = mailbox.agent("builder").memory
    try:
        record = memory.add(text, episode=episode, **more).record
        forgotten = memory.forget("note", text=text, reason=reason)
    except InvalidInputError:
        assert mailbox.status().quarantine == ()
        return

    assert parse_memory(stored(mailbox, record.id)) == record
    assert record.id in [each.record.id for each in forgotten.records]
    history = memory.history("note", record.id).revisions
    assert [each.revision for each in history] == [None, record.id]
    memory.restore("note", record.id, reason=reason)
    assert memory.history("note", record.id).revisions[0].shown.text == text
    memory.forget("note", record.id)
    assert mailbox.status().quarantine == ()
