"""Receipts: writing them, and showing the sender how far everybody is."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from gitmail.errors import (
    AmbiguousIdError,
    InvalidArgumentError,
    InvalidNameError,
    MessageNotFoundError,
)
from gitmail.mailbox.checks import choice, texts
from gitmail.mailbox.lookup import (
    Found,
    copies,
    find,
    known_member,
    recipients_of,
)
from gitmail.mailbox.sending import revived
from gitmail.mailbox.values import AckOutcome, AckResult, ReceiptLine, Receipts
from gitmail.records.names import AgentName
from gitmail.records.paths import receipt_path, stage_path
from gitmail.records.receipt import RECORDED_STAGES, Receipt, Stage, parse_receipt
from gitmail.records.text import check_text, headline
from gitmail.store.view import File, Plan, View

T = TypeVar("T")

MOST_IDS = 64
"""Ids in one call (CAPABILITIES K2)."""
NOTE_LIMIT_BYTES = 4096


def check_ack(
    messages: str | Sequence[str], stage: str, note: str
) -> tuple[list[str], Stage]:
    """Return the ids and the stage that a call asks for.

    Raises:
        InvalidArgumentError: The number of ids, the stage or the note's size.
        InvalidTextError: The note holds a character that cannot be stored.
    """
    listed = [messages] if isinstance(messages, str) else messages
    ids = texts("message_ids", listed, MOST_IDS)
    if not ids:
        rule = f"1 to {MOST_IDS} in one call"
        raise InvalidArgumentError("message_ids", ids, rule)
    size = len(check_text("note", note).encode())
    if size > NOTE_LIMIT_BYTES:
        rule = f"it has {size} UTF-8 bytes, the limit is {NOTE_LIMIT_BYTES}"
        raise InvalidArgumentError("note", note, rule)
    wanted = choice("stage", RECORDED_STAGES, stage)
    if wanted is None:
        raise InvalidArgumentError("stage", stage, "read or acked")
    return ids, wanted


def plan_ack(
    view: View,
    caller: AgentName,
    ids: Sequence[str],
    stage: Stage,
    note: str,
    now: datetime,
) -> Plan[list[AckResult]]:
    """Plan one commit for all ids that rise; a bad one never fails the rest (K2)."""
    known_member(view, caller)
    results: dict[str, AckResult] = {}
    rising: list[Found] = []
    for text in ids:
        result, found = _judge(view, caller, text, stage)
        if result.id not in results:
            results[result.id] = result
            if found and result.outcome is AckOutcome.UPDATED:
                rising.append(found)
    done = list(results.values())
    return receipts_for(view, caller, rising, stage, note, now, result=done)


def receipts_for(
    view: View,
    caller: AgentName,
    messages: Sequence[Found],
    stage: Stage,
    note: str,
    now: datetime,
    *,
    result: T,
) -> Plan[T]:
    """Plan the receipts of messages that are delivered to the caller and rise."""
    if not messages:
        return Plan(result=result)
    files: dict[str, File] = dict(revived(known_member(view, caller), now))
    for found in messages:
        receipt = Receipt(
            message=found.id, agent=caller, stage=stage, date=now, note=note
        )
        files[receipt_path(receipt, found.folder)] = receipt
    if len(messages) == 1:
        subject = headline(view.message(messages[0].id).title)
    else:
        subject = f"{len(messages)} messages"
    return Plan(
        result=result,
        files=files,
        operation="ack" if stage is Stage.ACKED else "read",
        agent=caller,
        subject=subject,
        trailers=tuple(("Gitmail-Message", found.id) for found in messages),
        moment=now,
    )


def is_blocked(view: View, caller: AgentName, found: Found, stage: Stage) -> bool:
    """Tell whether a file that is no sound receipt stands where one would go."""
    path = stage_path(caller, found.folder, found.id, stage)
    return view.repository.lookup(view.tree, path) is not None


def receipts_of(view: View, caller: AgentName, text: str) -> Receipts:
    """Return how far each recipient is; blind copies only to the sender (K6)."""
    found = find(view, caller, text)
    blind = copies(view, caller, found)
    pairs = recipients_of(view.message(found.id), blind)
    lines = tuple(_line(view, found, AgentName(name), kind) for name, kind in pairs)
    return Receipts(id=found.id, lines=lines)


def _judge(
    view: View, caller: AgentName, text: str, stage: Stage
) -> tuple[AckResult, Found | None]:
    conflict = AckOutcome.CONFLICT
    try:
        found = find(view, caller, text)
    except (MessageNotFoundError, InvalidNameError):
        return AckResult(id=text, outcome=AckOutcome.NOT_FOUND), None
    except AmbiguousIdError as error:
        matches = tuple(error.matches)
        return AckResult(id=text, outcome=conflict, matches=matches), None
    if found.stage is None:
        return AckResult(id=found.id, outcome=conflict), None
    rises = stage.rank > found.stage.rank
    if rises and is_blocked(view, caller, found, stage):
        return AckResult(id=found.id, outcome=conflict), None
    result = AckResult(
        id=found.id,
        outcome=AckOutcome.UPDATED if rises else AckOutcome.UNCHANGED,
        before=found.stage,
        after=stage if rises else found.stage,
    )
    return result, found


def _line(view: View, found: Found, name: AgentName, kind: str) -> ReceiptLine:
    read = _receipt(view, found, name, Stage.READ)
    acked = _receipt(view, found, name, Stage.ACKED)
    notes = [r.note for r in (acked, read) if r and r.note]
    stage = Stage.ACKED if acked else Stage.READ if read else Stage.PENDING
    return ReceiptLine(
        name=name,
        kind=kind,
        state=stage,
        read_at=read.date if read else None,
        acked_at=acked.date if acked else None,
        note=notes[0] if notes else "",
    )


def _receipt(view: View, found: Found, name: AgentName, stage: Stage) -> Receipt | None:
    data = view.file(stage_path(name, found.folder, found.id, stage))
    return parse_receipt(data) if data else None
