"""Request ids: what a retry sent before, and whether it says the same (S1)."""

from collections.abc import Sequence

from gitmail.errors import RequestConflictError
from gitmail.mailbox.draft import Draft
from gitmail.mailbox.lookup import Found, copies
from gitmail.records.message import Importance, Message
from gitmail.records.names import AgentName, MessageId
from gitmail.records.receipt import BlindCopy
from gitmail.store.index import Role
from gitmail.store.numbers import request_number
from gitmail.store.view import View

_AS_SAID = (
    "body",
    "subject",
    "kind",
    "topic",
    "room",
    "expires_in",
    "reply_to",
    "ack_required",
)
_IN_ANY_ORDER = ("to", "cc", "bcc")


def find_request(
    view: View, sender: AgentName, request_id: str
) -> tuple[Message, tuple[BlindCopy, ...]] | None:
    """Return what a sender sent under a request id, the first if there are several."""
    rows = view.index.execute(
        "SELECT n, id, date, part FROM message WHERE request = ? ORDER BY date, id",
        (request_number(sender, request_id),),
    ).fetchall()
    for n, object_id, date, part in rows:
        message = view.message(MessageId(object_id.hex()))
        # The index finds it by a number that two requests could share.
        if (message.sender, message.request_id) == (sender, request_id):
            found = Found(n, message.id, date, part, Role.SENDER, None)
            return message, tuple(copies(view, sender, found))
    return None


def draft_of(message: Message, blind: Sequence[BlindCopy]) -> Draft:
    """Return the draft that a message was made from."""
    elapsed = message.expires - message.date if message.expires else None
    return Draft(
        body=message.body,
        to=message.to,
        cc=message.cc,
        bcc=tuple(dict.fromkeys(copy.address for copy in blind)),
        subject=message.subject,
        kind=message.kind,
        importance=message.importance,
        ack_required=message.ack_required,
        topic=message.topic,
        room=message.room,
        expires_in=elapsed,
        reply_to=message.reply_to,
    )


def compare(
    request_id: str, message: MessageId | None, first: Draft, again: Draft
) -> None:
    """Refuse a retry that says something else than the first time.

    Args:
        message: What was sent then; None where that is about to be sent as well.

    Raises:
        RequestConflictError: It names the fields that differ.
    """
    differing = [k for k in _AS_SAID if getattr(first, k) != getattr(again, k)]
    differing += [
        k for k in _IN_ANY_ORDER if set(getattr(first, k)) != set(getattr(again, k))
    ]
    normal = Importance.NORMAL
    if (first.importance or normal) != (again.importance or normal):
        differing.append("importance")
    if differing:
        raise RequestConflictError(request_id, message, differing)
