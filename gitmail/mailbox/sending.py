"""Sending and replying: from drafts to the files of one commit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NoReturn

from gitmail.errors import (
    FanoutTooLargeError,
    InvalidArgumentError,
    NoRecipientsError,
    NotParticipantError,
    RetiredRecipientError,
    UnknownRecipientError,
)
from gitmail.mailbox.availability import Liveness, availability
from gitmail.mailbox.draft import Draft, numbered
from gitmail.mailbox.folders import Folders
from gitmail.mailbox.lookup import (
    Found,
    Member,
    find,
    known_member,
    members,
    recipients_of,
)
from gitmail.mailbox.requests import compare, draft_of, find_request
from gitmail.mailbox.values import Availability, Delivery, Item, Sent
from gitmail.records.message import (
    RECIPIENT_LIMIT,
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
from gitmail.records.profile import changed_profile
from gitmail.records.receipt import BlindCopy, Stage
from gitmail.records.text import SUBJECT_LIMIT, headline
from gitmail.store.index import DELIVERED, Role
from gitmail.store.view import File, Plan, View

EVERYBODY_LIMIT = 50
"""Agents that `all` may reach (CAPABILITIES A4)."""
_LISTED_IN_COMMIT = 64
_MOST_GUESSED = 10  # guessing what a name was meant to be is slow


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
    outgoing = []
    for number, draft in enumerate(drafts, 1):
        with numbered(number, len(drafts)):
            outgoing.append(batch.add(draft))
    new = [sent for sent in outgoing if not sent.is_replayed]
    reach = {name for sent in outgoing for name, _ in sent.recipients}
    known = {name: _seen(batch.directory.get(name), now, live) for name in reach}
    results = [_answer(sent, known) for sent in outgoing]
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
    stage: Stage | None = None
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
        self._folders = Folders(view)

    def files(self) -> dict[str, File]:
        """Return path to record, messages before copies."""
        files: dict[str, File] = dict(revived(self.own, self._now))
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
        said, reached = (*draft.to, *draft.cc, *draft.bcc), {*visible, *blind}
        if not reached:
            raise NoRecipientsError(said)
        if len(reached) > RECIPIENT_LIMIT:
            addresses = ", ".join(said)
            raise FanoutTooLargeError(addresses, len(reached), RECIPIENT_LIMIT)
        message, path, folder = self._place(draft, tuple(visible))
        check_header_size(message)
        blind_copies = tuple(
            BlindCopy(message=message.id, agent=name, address=address)
            for name, address in blind.items()
        )
        self._messages[path] = message
        for copy in blind_copies:
            self._copies[copy_path(copy, folder)] = copy
        to_self = self.sender in visible or self.sender in blind
        return _Outgoing(message, blind_copies, Stage.PENDING if to_self else None)

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
                expires=_later(date, draft.expires_in),
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
            tried = unknown[:_MOST_GUESSED]
            similar = [n for a in tried for n in similar_names(a, self.directory)]
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
        others = self._others(address)
        if address == EVERYBODY and len(others) > EVERYBODY_LIMIT:
            raise FanoutTooLargeError(address, len(others), EVERYBODY_LIMIT)
        if not others:
            self._refuse_empty(address)
        return others

    def _others(self, address: Address) -> list[AgentName]:
        """Return the active agents of a team, or all, but the sender."""
        team = address.removeprefix(TEAM_PREFIX)
        return [
            member.profile.name
            for member in self.directory.values()
            if not member.profile.is_retired
            and (address == EVERYBODY or team in member.profile.teams)
            and member.profile.name != self.sender
        ]

    def _refuse_empty(self, address: Address) -> NoReturn:
        team = address.removeprefix(TEAM_PREFIX)
        teams = {t for m in self.directory.values() for t in m.profile.teams}
        if address != EVERYBODY and team not in teams:
            near = [TEAM_PREFIX + t for t in similar_names(team, teams)]
            raise UnknownRecipientError([address], near)
        raise NoRecipientsError([address])

    def _replayed(self, draft: Draft) -> _Outgoing | None:
        """Return what the same request sent before (CAPABILITIES S1)."""
        request_id = draft.request_id
        if request_id is None:
            return None
        if request_id in self._by_request:
            first, outgoing = self._by_request[request_id]
            compare(request_id, None, first, draft)
            return replace(outgoing, is_replayed=True)
        sent = find_request(self.view, self.sender, request_id)
        if sent is None:
            return None
        message, blind = sent
        said = replace(draft, bcc=self._reaching(draft.bcc, blind))
        compare(request_id, message.id, draft_of(message, blind), said)
        stage = find(self.view, self.sender, message.id).stage
        return _Outgoing(message, blind, stage, is_replayed=True)

    def _reaching(
        self, addresses: Sequence[Address], blind: Sequence[BlindCopy]
    ) -> tuple[Address, ...]:
        """Return the addresses without those that only reach who has a copy anyway.

        A copy names the one address through which its agent was reached, so an address
        that reaches nobody else was written down nowhere.
        """
        agents = {copy.agent for copy in blind}
        written = {copy.address for copy in blind}
        return tuple(
            address
            for address in addresses
            if address in written or not agents.issuperset(self._named(address))
        )

    def _named(self, address: Address) -> list[AgentName]:
        return [AgentName(address)] if _is_name(address) else self._others(address)


def revived(own: Member, now: datetime) -> Iterator[tuple[str, File]]:
    """Yield the acting agent's profile where acting ends its retirement (G3)."""
    if own.profile.is_retired:
        profile = changed_profile(own.profile, now, is_retired=False)
        yield profile_path(profile.name), profile


_Seen = tuple[Availability, datetime | None]


def _seen(member: Member | None, now: datetime, live: Liveness) -> _Seen:
    return availability(member, now, live), member.last_seen if member else None


def _answer(sent: _Outgoing, known: Mapping[str, _Seen]) -> Sent:
    deliveries = tuple(
        Delivery(
            name=AgentName(name),
            kind=kind,
            availability=known[name][0],
            last_seen=known[name][1],
        )
        for name, kind in sent.recipients
    )
    bcc = tuple(dict.fromkeys(copy.address for copy in sent.blind))
    return Sent(
        message=Item(message=sent.message, state=sent.stage, bcc=bcc),
        commit=None,
        deliveries=deliveries,
        is_replayed=sent.is_replayed,
    )


def _later(date: datetime, elapsed: timedelta | None) -> datetime | None:
    try:
        return date + elapsed if elapsed else None
    except OverflowError:
        rule = "it ends after the year 9999"
        raise InvalidArgumentError("expires_in", elapsed, rule) from None


def _reply_subject(subject: str | None, draft: Draft) -> str | None:
    if subject is None:
        return None
    prefix = draft.subject_prefix or "Re:"
    if _has_prefix(subject.casefold(), prefix.casefold()):
        return subject
    return f"{prefix} {subject}"[:SUBJECT_LIMIT].rstrip()


def _has_prefix(subject: str, prefix: str) -> bool:
    following = subject[len(prefix) : len(prefix) + 1]
    is_word = not (prefix[-1:].isalnum() and following.isalnum())
    return subject.startswith(prefix) and is_word


def _is_name(address: Address) -> bool:
    return address != EVERYBODY and not address.startswith(TEAM_PREFIX)


def _is_known(view: View, message: MessageId) -> bool:
    values = (bytes.fromhex(message),)
    rows = view.index.execute("SELECT 1 FROM message WHERE id = ?", values)
    return rows.fetchone() is not None
