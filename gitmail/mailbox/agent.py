"""One agent's view of a mailbox, with a verb for each command."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING

from gitmail.errors import InvalidArgumentError
from gitmail.mailbox import (
    acknowledging,
    checks,
    reading,
    receiving,
    searching,
    sending,
)
from gitmail.mailbox.draft import Draft, Names, make_draft, numbered
from gitmail.mailbox.memory import Memory
from gitmail.mailbox.receiving import DEFAULT_LIMIT, Query, make_query
from gitmail.mailbox.values import (
    Acked,
    Conversation,
    Item,
    Page,
    Receipts,
    Sent,
)
from gitmail.records.names import AgentName

if TYPE_CHECKING:
    from gitmail.mailbox.mailbox import Mailbox

DEFAULT_WAIT_S = 25.0
LONGEST_WAIT_S = 86_400.0


class Agent:
    """The verbs of one agent; made by `Mailbox.agent`.

    Every verb raises NotRegisteredError where nobody is registered under the name, and
    the errors of `Store.read` or `Store.update`. What writes is one commit, durable
    when the verb returns; after an error nothing was changed.
    """

    def __init__(self, mailbox: "Mailbox", name: AgentName) -> None:
        self._mailbox = mailbox
        self.name = name

    @property
    def memory(self) -> Memory:
        """The memory of the project, as this agent uses it."""
        return Memory(self._mailbox, self.name)

    def send(
        self,
        *,
        to: Names,
        body: str,
        subject: str | None = None,
        cc: Names = None,
        bcc: Names = None,
        kind: str | None = None,
        importance: str | None = None,
        ack_required: bool = False,
        topic: str | None = None,
        room: str | None = None,
        request_id: str | None = None,
        expires_in: str | None = None,
    ) -> Sent:
        """Send a message.

        Args:
            to: Names, `team:NAME` or `all`; a list, or text with commas.
            kind: brief, status, review, ack or note (the default).
            importance: low, normal (the default), high or urgent.
            request_id: Makes a retry safe: the same content is sent once, by clones
                that know of each other's mail.
            expires_in: Such as `2h`; then unacknowledged mail leaves the lists.

        Raises:
            UnknownRecipientError, RetiredRecipientError, NoRecipientsError,
            FanoutTooLargeError, BlankBodyError, BodyTooLargeError, InvalidTextError,
            InvalidArgumentError, InvalidNameError, RequestConflictError
        """
        said: dict[str, object] = {
            "to": to,
            "body": body,
            "subject": subject,
            "cc": cc,
            "bcc": bcc,
            "kind": kind,
            "importance": importance,
            "ack_required": ack_required,
            "topic": topic,
            "room": room,
            "request_id": request_id,
            "expires_in": expires_in,
        }
        return self.send_many([said])[0]

    def send_many(self, messages: Iterable[Mapping[str, object]]) -> list[Sent]:
        """Send messages in one commit, all or none (CAPABILITIES S3).

        Args:
            messages: The keywords of `send`, a mapping a message.

        Raises:
            InvalidInputError: As `send`; where there are several messages, `details`
                has the number of the bad one as `message_number`, from 1.
        """
        if isinstance(messages, Mapping) or not isinstance(messages, Iterable):
            raise InvalidArgumentError("messages", messages, "a list of messages")
        said = list(messages)
        drafts = []
        for number, each in enumerate(said, 1):
            with numbered(number, len(said)):
                drafts.append(_new_message(each))
        return self._send(drafts) if drafts else []

    def reply(
        self,
        message: str,
        body: str,
        *,
        to: Names = None,
        cc: Names = None,
        bcc: Names = None,
        subject: str | None = None,
        subject_prefix: str | None = None,
        kind: str | None = None,
        importance: str | None = None,
        ack_required: bool = False,
        topic: str | None = None,
        room: str | None = None,
        request_id: str | None = None,
        expires_in: str | None = None,
    ) -> Sent:
        """Answer a message, in its thread; that neither reads nor acks it.

        Args:
            message: Id or prefix of a message that was sent or received.
            to: Whom to write to; its sender where nothing is said.
            subject_prefix: Instead of `Re:`.

        Raises:
            MessageNotFoundError, AmbiguousIdError, NotParticipantError: About the
                message; for the rest see `send`.
        """
        draft = make_draft(
            {
                "reply_to": message,
                "body": body,
                "to": to,
                "cc": cc,
                "bcc": bcc,
                "subject": subject,
                "subject_prefix": subject_prefix,
                "kind": kind,
                "importance": importance,
                "ack_required": ack_required,
                "topic": topic,
                "room": room,
                "request_id": request_id,
                "expires_in": expires_in,
            }
        )
        return self._send([draft])[0]

    def poll(
        self,
        *,
        show: str | None = None,
        sender: str | None = None,
        room: str | None = None,
        thread: str | None = None,
        topic: str | None = None,
        kind: str | None = None,
        importance: str | None = None,
        overdue: bool = False,
        since: str | datetime | None = None,
        after: str | None = None,
        limit: int = DEFAULT_LIMIT,
        full: bool = False,
        ack: bool = False,
    ) -> Page:
        """Return own mail, oldest first.

        Args:
            show: unacked (the default), unread or any.
            sender: Only from this agent.
            importance: Only at least that important.
            overdue: Only what asked for an ack more than 30 minutes ago.
            since: A time, or a duration such as `2h` before now.
            after: A cursor; only what arrived after it.
            full: Whole bodies, within 32 KiB a page.
            ack: Acknowledge the page in the same step; no other caller gets it.

        Raises:
            InvalidCursorError, InvalidArgumentError, InvalidNameError
        """
        query = make_query(
            self._mailbox.now(),
            show=show,
            sender=sender,
            room=room,
            thread=thread,
            topic=topic,
            kind=kind,
            importance=importance,
            overdue=overdue,
            since=since,
            after=after,
            limit=limit,
            full=full,
        )
        return self._take(query) if checks.flag("ack", ack) else self._look(query)

    def wait(
        self,
        timeout_s: float = DEFAULT_WAIT_S,
        *,
        stop: Event | None = None,
        ack: bool = False,
        **filters: object,
    ) -> Page:
        """Return a poll's page as soon as it has mail, an empty one after the time.

        Args:
            timeout_s: Seconds to wait at most, 0 to 86400.
            stop: Set it, then call `Mailbox.wake`, to end the wait; it marks nothing.
            filters: The keywords of `poll`.

        Raises:
            InvalidArgumentError: The time; for the rest see `poll`.
        """
        checks.seconds("timeout_s", timeout_s, LONGEST_WAIT_S)
        checks.flag("ack", ack)
        query = make_query(self._mailbox.now(), **filters)  # type: ignore[arg-type]
        started = time.monotonic()
        page = self._peek(query, ack=ack, stop=stop)
        if not page.items and timeout_s:
            page = self._wait(query, started + timeout_s, page, ack=ack, stop=stop)
        waited_s = time.monotonic() - started
        return replace(page, waited_s=waited_s, is_timed_out=not page.items)

    def _wait(
        self,
        query: Query,
        deadline: float,
        page: Page,
        *,
        ack: bool,
        stop: Event | None,
    ) -> Page:
        watch = self._mailbox.watch
        with watch.armed():
            while True:
                # Before each look: what comes from here on ends the sleep below.
                position = watch.position()
                if stop and stop.is_set():
                    break
                page = self._peek(query, ack=ack, stop=stop)
                left = deadline - time.monotonic()
                if page.items or left <= 0:
                    break
                watch.wait(position, left)
        return page

    def _peek(self, query: Query, *, ack: bool, stop: Event | None) -> Page:
        """Look, and take what is there; another may have taken it in between."""
        page = self._look(query)
        if page.items and ack and not (stop and stop.is_set()):
            page = self._take(query)
        return page

    def read(self, message: str) -> Item:
        """Return a message with its whole body; that marks nothing.

        Raises:
            MessageNotFoundError, AmbiguousIdError, InvalidNameError
        """
        return self._mailbox.store.read(lambda v: reading.read(v, self.name, message))

    def ack(
        self, messages: str | Sequence[str], *, stage: str = "acked", note: str = ""
    ) -> Acked:
        """Say that messages were read, or handled; per id and in one commit.

        Args:
            messages: Ids or prefixes, 1 to 64.
            stage: read or acked.
            note: Text that the sender sees with the receipt.

        Raises:
            InvalidArgumentError, InvalidTextError
        """
        ids, wanted = acknowledging.check_ack(messages, stage, note)
        now = self._mailbox.now()
        results, commit = self._mailbox.store.update(
            lambda v: acknowledging.plan_ack(v, self.name, ids, wanted, note, now)
        )
        return Acked(results=tuple(results), commit=commit)

    def receipts(self, message: str) -> Receipts:
        """Return how far each recipient is with a message.

        Raises:
            MessageNotFoundError, AmbiguousIdError, InvalidNameError
        """
        return self._mailbox.store.read(
            lambda v: acknowledging.receipts_of(v, self.name, message)
        )

    def thread(self, message: str, *, limit: int = DEFAULT_LIMIT) -> Conversation:
        """Return the thread of a message, oldest first.

        Raises:
            MessageNotFoundError, AmbiguousIdError, InvalidNameError,
            InvalidArgumentError
        """
        return self._mailbox.store.read(
            lambda v: reading.thread(v, self.name, message, limit)
        )

    def room(self, room: str, *, limit: int = DEFAULT_LIMIT) -> Conversation:
        """Return what may be seen of a room, oldest first.

        Raises:
            RoomNotFoundError, InvalidArgumentError
        """
        return self._mailbox.store.read(
            lambda v: reading.room(v, self.name, room, limit)
        )

    def history(
        self,
        *,
        peer: str | None = None,
        after: str | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> Page:
        """Return own sent and received mail, newest first.

        Args:
            peer: Only mail with this agent.
            after: The cursor of the page before, to go on to older mail; or a commit,
                for what arrived after it.

        Raises:
            InvalidCursorError, InvalidArgumentError, InvalidNameError
        """
        return self._mailbox.store.read(
            lambda v: reading.history(v, self.name, peer, after, limit)
        )

    def search(
        self,
        query: str,
        *,
        sender: str | None = None,
        recipient: str | None = None,
        kind: str | None = None,
        order: str | None = None,
        limit: int = 20,
    ) -> list[Item]:
        """Return mail that has all the words, with an excerpt.

        Args:
            query: Words; `from:NAME`, `to:NAME` and `kind:KIND` filter.
            order: recent (the default) or best.

        Raises:
            InvalidArgumentError, InvalidNameError
        """
        wanted = searching.make_search(
            query,
            sender=sender,
            recipient=recipient,
            kind=kind,
            order=order,
            limit=limit,
        )
        return self._mailbox.store.read(
            lambda v: searching.search(v, self.name, wanted)
        )

    def _send(self, drafts: list[Draft]) -> list[Sent]:
        mailbox = self._mailbox
        location = mailbox.location()
        sent, commit = mailbox.store.update(
            lambda v: sending.plan_sending(
                v, self.name, drafts, mailbox.now(), location, mailbox.liveness
            )
        )
        return [s if s.is_replayed else replace(s, commit=commit) for s in sent]

    def _look(self, query: Query) -> Page:
        now = self._mailbox.now()
        return self._mailbox.store.read(
            lambda v: receiving.poll(v, self.name, query, now)
        )

    def _take(self, query: Query) -> Page:
        now = self._mailbox.now()
        page, commit = self._mailbox.store.update(
            lambda v: receiving.plan_taking(v, self.name, query, now)
        )
        return replace(page, commit=commit)


def _new_message(said: object) -> Draft:
    if not isinstance(said, Mapping):
        raise InvalidArgumentError("message", said, "a mapping, as `send` takes it")
    for key in ("reply_to", "subject_prefix"):
        if said.get(key) is not None:
            raise InvalidArgumentError(key, said[key], "only a reply may say it")
    return make_draft(said)
