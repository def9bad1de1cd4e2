"""Sending and replying: from drafts to the files of one commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitmail.errors import (
    FanoutTooLargeError,
    NoRecipientsError,
    NotParticipantError,
    RequestConflictError,
    RetiredRecipientError,
    UnknownRecipientError,
)
from gitmail.mailbox.availability import Liveness, availability
from gitmail.mailbox.draft import Draft
from gitmail.mailbox.lookup import (
    Found,
    Member,
    copies,
    find,
    item,
    known_member,
    members,
    recipients_of,
)
from gitmail.mailbox.values import Availability, Delivery, Item, Sent
from gitmail.records.message import (
    Importance,
    Location,
    Message,
    check_body,
    check_header_size,
)
from gitmail.records.names import (
    EVERYBODY,
    TEAM_PREFIX,
    Address,
    AgentName,
    MessageId,
    similar_names,
)
from gitmail.records.paths import copy_path, hour_folder, message_path, profile_path
from gitmail.records.receipt import BlindCopy, Stage
from gitmail.records.text import SUBJECT_LIMIT, headline
from gitmail.store.index import DELIVERED, Role, request_number
from gitmail.store.view import File, Plan, View

EVERYBODY_LIMIT = 50
"""Agents that `all` may reach (CAPABILITIES A4)."""
FOLDER_LIMIT = 200
"""Messages in one folder, since each commit writes the folder's tree again."""
_LISTED_IN_COMMIT = 64
_COMPARED = (
    "body",
    "subject",
    "kind",
    "topic",
    "room",
    "expires_in",
    "reply_to",
    "ack_required",
)


def plan_sending(
    view: View,
    sender: AgentName,
    drafts: Sequence[Draft],
    now: datetime,
    location: Location | None,
    live: Liveness,
) -> Plan[list[Sent]]:
    """Plan one commit that sends all drafts, or raise and send none of them."""
    batch = _Batch(view, sender, now, location)
    outgoing = [batch.add(draft) for draft in drafts]
    new = [sent for sent in outgoing if not sent.is_replayed]
    reach = {name for sent in outgoing for name, _ in sent.recipients}
    known = {name: _seen(batch.directory.get(name), now, live) for name in reach}
    results = [_answer(sender, sent, known) for sent in outgoing]
    if not new:
        return Plan(result=results)
    reply = new[0].message.reply_to if len(new) == 1 else None
    title = new[0].message.title if len(new) == 1 else f"{len(new)} messages"
    ids = [sent.message.id for sent in new[:_LISTED_IN_COMMIT]]
    return Plan(
        result=results,
        files=batch.files(),
        operation="reply" if reply else "send",
        agent=sender,
        subject=headline(title),
        trailers=tuple(("Gitmail-Message", i) for i in ids),
        moment=now,
    )


@dataclass(slots=True)
class _Outgoing:
    message: Message
    blind: tuple[BlindCopy, ...] = ()
    is_replayed: bool = False

    @property
    def recipients(self) -> list[tuple[str, str]]:
        return recipients_of(self.message, self.blind)


class _Batch:
    """The messages of one commit while they are put together."""

    def __init__(
        self, view: View, sender: AgentName, now: datetime, location: Location | None
    ) -> None:
        self.view = view
        self.sender = sender
        self.own = known_member(view, sender)
        self.directory = members(view)
        self._now = now
        self._location = location
        self._messages: dict[str, File] = {}
        self._copies: dict[str, File] = {}
        self._by_request: dict[str, tuple[Draft, _Outgoing]] = {}
        self._tick = 0
        self._folders = _Folders(view)

    def files(self) -> dict[str, File]:
        """Return path to record, messages before copies."""
        files: dict[str, File] = dict(revived(self.own))
        return {**files, **self._messages, **self._copies}

    def add(self, draft: Draft) -> _Outgoing:
        check_body(draft.body, self.view.charter.max_body_bytes)
        answered = None
        if draft.reply_to:
            answered = find(self.view, self.sender, draft.reply_to)
            draft = self._inherit(draft, answered)
        earlier = self._replayed(draft)
        if earlier:
            return earlier
        outgoing = self._write(draft)
        if draft.request_id:
            self._by_request[draft.request_id] = draft, outgoing
        return outgoing

    def _inherit(self, draft: Draft, answered: Found) -> Draft:
        """Fill in what a reply takes from the message it answers (CAPABILITIES M9)."""
        original = self.view.message(answered.id)
        if not answered.role & (Role.SENDER | DELIVERED):
            raise NotParticipantError(answered.id)
        # Who goes on in a thread of their own writes to whom they wrote before.
        default: tuple[Address, ...] = (Address(original.sender),)
        if original.sender == self.sender and answered.stage is None:
            default = original.to
        return replace(
            draft,
            reply_to=answered.id,
            to=draft.to or default,
            subject=draft.subject or _reply_subject(original.subject, draft),
            topic=draft.topic or original.topic,
            room=draft.room or original.room,
            importance=draft.importance or original.importance,
        )

    def _write(self, draft: Draft) -> _Outgoing:
        visible = self._reach((*draft.to, *draft.cc))
        blind = self._reach(draft.bcc)
        if not visible and not blind:
            raise NoRecipientsError([*draft.to, *draft.cc, *draft.bcc])
        message, path, folder = self._place(draft, tuple(visible))
        check_header_size(message)
        blind_copies = tuple(
            BlindCopy(message=message.id, agent=name, address=address)
            for name, address in blind.items()
        )
        self._messages[path] = message
        for copy in blind_copies:
            self._copies[copy_path(copy, folder)] = copy
        return _Outgoing(message, blind_copies)

    def _place(
        self, draft: Draft, recipients: tuple[AgentName, ...]
    ) -> tuple[Message, str, str]:
        """Make the message, with a time, and so an id and a path, that no other has."""
        answered = MessageId(draft.reply_to) if draft.reply_to else None
        thread = self.view.message(answered).thread_id if answered else None
        while True:
            # A microsecond apart, a batch keeps its order in every list.
            date = self._now + timedelta(microseconds=self._tick)
            self._tick += 1
            message = Message(
                sender=self.sender,
                to=draft.to,
                cc=draft.cc,
                recipients=recipients,
                subject=draft.subject,
                kind=draft.kind,
                importance=draft.importance or Importance.NORMAL,
                ack_required=draft.ack_required,
                topic=draft.topic,
                room=draft.room,
                thread=thread,
                reply_to=answered,
                date=date,
                expires=date + draft.expires_in if draft.expires_in else None,
                location=self._location,
                request_id=draft.request_id,
                body=draft.body,
            )
            part = self._folders.part(date)
            path = message_path(message, part)
            if path not in self._messages and not _is_known(self.view, message.id):
                self._folders.count(date)
                return message, path, hour_folder(date, part)

    def _reach(self, addresses: Sequence[Address]) -> dict[AgentName, Address]:
        """Return whom addresses reach, and through which address each."""
        reach: dict[AgentName, Address] = {}
        unknown = [a for a in addresses if _is_name(a) and a not in self.directory]
        if unknown:
            similar = [n for a in unknown for n in similar_names(a, self.directory)]
            raise UnknownRecipientError(unknown, list(dict.fromkeys(similar)))
        retired = [
            a for a in addresses if _is_name(a) and self.directory[a].profile.is_retired
        ]
        if retired:
            raise RetiredRecipientError(retired)
        for address in addresses:
            for name in self._members_of(address):
                reach.setdefault(name, address)
        return reach

    def _members_of(self, address: Address) -> list[AgentName]:
        if _is_name(address):
            return [AgentName(address)]
        team = address.removeprefix(TEAM_PREFIX)
        found = [
            member.profile.name
            for member in self.directory.values()
            if not member.profile.is_retired
            and (address == EVERYBODY or team in member.profile.teams)
        ]
        others = [name for name in found if name != self.sender]
        if address == EVERYBODY and len(others) > EVERYBODY_LIMIT:
            raise FanoutTooLargeError(address, len(others), EVERYBODY_LIMIT)
        if not found and address != EVERYBODY:
            teams = {t for m in self.directory.values() for t in m.profile.teams}
            near = [TEAM_PREFIX + t for t in similar_names(team, teams)]
            raise UnknownRecipientError([address], near)
        if not others:
            raise NoRecipientsError([address])
        return others

    def _replayed(self, draft: Draft) -> _Outgoing | None:
        """Return what the same request sent before (CAPABILITIES S1)."""
        request_id = draft.request_id
        if request_id is None:
            return None
        if request_id in self._by_request:
            first, outgoing = self._by_request[request_id]
            _compare(request_id, outgoing.message.id, _differences(first, draft))
            return replace(outgoing, is_replayed=True)
        for found in _sent_with(self.view, self.sender, request_id):
            known = item(self.view, self.sender, found)
            if known.message.request_id == request_id:
                blind = tuple(copies(self.view, self.sender, found))
                said = _draft_of(known.message, blind)
                _compare(request_id, known.id, _differences(said, draft))
                return _Outgoing(known.message, blind, is_replayed=True)
        return None


class _Folders:
    """Picks the folder of an hour that still has room."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._counts: dict[str, tuple[int, int]] = {}

    def part(self, date: datetime) -> int:
        part, count = self._current(hour_folder(date))
        return part + 1 if count >= FOLDER_LIMIT else part

    def count(self, date: datetime) -> None:
        hour = hour_folder(date)
        part, count = self._current(hour)
        full = count >= FOLDER_LIMIT
        self._counts[hour] = (part + 1, 1) if full else (part, count + 1)

    def _current(self, hour: str) -> tuple[int, int]:
        if hour not in self._counts:
            day, _, name = hour.rpartition("/")
            repository = self._view.repository
            folders = repository.folder(self._view.tree, f"messages/{day}")
            prefix = name.encode()
            parts = [
                (int(key[3:] or b"0"), entry[1].hex())
                for key, entry in folders.items()
                if key == prefix or (key[:3] == prefix + b"." and key[3:].isdigit())
            ]
            part, tree = max(parts, default=(0, None))
            self._counts[hour] = part, len(repository.tree(tree)) if tree else 0
        return self._counts[hour]


def revived(own: Member) -> Iterator[tuple[str, File]]:
    """Yield the acting agent's profile where acting ends its retirement (G3)."""
    if own.profile.is_retired:
        profile = replace(own.profile, is_retired=False)
        yield profile_path(profile.name), profile


_Seen = tuple[Availability, datetime | None]


def _seen(member: Member | None, now: datetime, live: Liveness) -> _Seen:
    return availability(member, now, live), member.last_seen if member else None


def _answer(sender: AgentName, sent: _Outgoing, known: Mapping[str, _Seen]) -> Sent:
    deliveries = tuple(
        Delivery(
            name=AgentName(name),
            kind=kind,
            availability=known[name][0],
            last_seen=known[name][1],
        )
        for name, kind in sent.recipients
    )
    to_self = any(delivery.name == sender for delivery in deliveries)
    state = Stage.PENDING if to_self and not sent.is_replayed else None
    bcc = tuple(dict.fromkeys(copy.address for copy in sent.blind))
    return Sent(
        message=Item(message=sent.message, state=state, bcc=bcc),
        commit=None,
        deliveries=deliveries,
        is_replayed=sent.is_replayed,
    )


def _reply_subject(subject: str | None, draft: Draft) -> str | None:
    if subject is None:
        return None
    prefix = draft.subject_prefix or "Re:"
    if subject.casefold().startswith(prefix.casefold()):
        return subject
    return f"{prefix} {subject}"[:SUBJECT_LIMIT]


def _is_name(address: Address) -> bool:
    return address != EVERYBODY and not address.startswith(TEAM_PREFIX)


def _is_known(view: View, message: MessageId) -> bool:
    values = (bytes.fromhex(message),)
    rows = view.index.execute("SELECT 1 FROM message WHERE id = ?", values)
    return rows.fetchone() is not None


def _sent_with(view: View, sender: AgentName, request_id: str) -> list[Found]:
    rows = view.index.execute(
        "SELECT n, id, date, part FROM message WHERE request = ? ORDER BY date, id",
        (request_number(sender, request_id),),
    )
    return [
        Found(n, MessageId(object_id.hex()), date, part, Role.SENDER, None)
        for n, object_id, date, part in rows
        if view.message(MessageId(object_id.hex())).sender == sender
    ]


def _draft_of(message: Message, blind: Sequence[BlindCopy]) -> Draft:
    """Return the draft that the message was made from."""
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


def _differences(first: Draft, again: Draft) -> list[str]:
    """Return the names of the fields in which two requests differ."""
    found = [k for k in _COMPARED if getattr(first, k) != getattr(again, k)]
    found += [
        k
        for k in ("to", "cc", "bcc")
        if set(getattr(first, k)) != set(getattr(again, k))
    ]
    normal = Importance.NORMAL
    if (first.importance or normal) != (again.importance or normal):
        found.append("importance")
    return found


def _compare(request_id: str, message: MessageId, differences: list[str]) -> None:
    if differences:
        raise RequestConflictError(request_id, message, differences)
