"""What a caller may see, and finding it: shared by all verbs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from gitmail.errors import (
    AgentNotFoundError,
    AmbiguousIdError,
    MessageNotFoundError,
    NotRegisteredError,
)
from gitmail.mailbox.values import Item
from gitmail.records.message import Message
from gitmail.records.names import (
    EVERYBODY,
    TEAM_PREFIX,
    Address,
    AgentName,
    MessageId,
    id_range,
    parse_id_prefix,
    similar_names,
)
from gitmail.records.paths import copy_path, hour_folder
from gitmail.records.profile import Profile, parse_profile
from gitmail.records.receipt import BlindCopy, Stage, parse_blind_copy
from gitmail.records.times import from_microseconds
from gitmail.store.index import DELIVERED, Role
from gitmail.store.numbers import thread_number
from gitmail.store.schema import marks
from gitmail.store.view import View

_STAGES = list(Stage)
_SHOWN_MATCHES = 10
_ID_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Member:
    """A profile and when its agent last wrote."""

    profile: Profile
    last_seen: datetime | None


@dataclass(frozen=True, slots=True)
class Found:
    """A message that the caller may see, by what the index knows of it.

    Attributes:
        role: All that the caller, their teams and everybody have to do with it.
        stage: The caller's stage, None where it was not delivered to them.
    """

    n: int
    id: MessageId
    date: int
    part: int
    role: Role
    stage: Stage | None

    @property
    def folder(self) -> str:
        """The folder of the message below `messages/`."""
        return hour_folder(from_microseconds(self.date), self.part)


@lru_cache(maxsize=1024)
def _profile(data: bytes) -> Profile:
    return parse_profile(data)


def members(view: View) -> dict[str, Member]:
    """Return all registered agents by name."""
    known: dict[str, Member] | None = view.memo.get("members")
    if known is not None:
        return known
    rows = view.index.execute("SELECT name, data, last FROM profile ORDER BY name")
    known = view.memo["members"] = {
        name: Member(
            _profile(data), from_microseconds(last * 1_000_000) if last else None
        )
        for name, data, last in rows
    }
    return known


def known_member(view: View, name: AgentName) -> Member:
    """Return the acting agent's entry.

    Raises:
        NotRegisteredError: Nobody has that name.
    """
    known = members(view)
    if name not in known:
        raise NotRegisteredError(name, similar_names(name, known))
    return known[name]


def number_of(view: View, name: AgentName) -> int:
    """Return the number of an agent's name, -1 where no mail has it yet.

    Raises:
        AgentNotFoundError: Nobody has that name, and nobody ever had.
    """
    number = view.index.number_of(name)
    if number < 0 and name not in members(view):
        raise AgentNotFoundError(name, similar_names(name, members(view)))
    return number


def own_names(view: View, caller: AgentName) -> list[int]:
    """Return the numbers of the names under which mail may be seen by the caller.

    Raises:
        NotRegisteredError: Nobody has that name.
    """
    numbers: list[int] | None = view.memo.get(("own names", caller))
    if numbers is None:
        teams = known_member(view, caller).profile.teams
        names = [caller, EVERYBODY, *(TEAM_PREFIX + team for team in teams)]
        numbers = [view.index.number_of(name) for name in names]
        view.memo["own names", caller] = numbers
    return numbers


def find(view: View, caller: AgentName, text: str) -> Found:
    """Return the message that an id or a prefix names.

    Raises:
        InvalidNameError: The text is no id.
        AmbiguousIdError: It fits several messages that the caller may see.
        MessageNotFoundError: It fits none (CAPABILITIES R16: not yours and not there
            are the same answer).
    """
    prefix = parse_id_prefix(text)
    names = own_names(view, caller)
    fitting = visible(view, names, "m.id BETWEEN ? AND ?", id_range(prefix))
    if not fitting:
        raise MessageNotFoundError(text)
    if len(fitting) > 1:
        ids = sorted(each.id for each in fitting)
        raise AmbiguousIdError(prefix, _shortest(ids[:_SHOWN_MATCHES]))
    return fitting[0]


def visible(
    view: View, names: Sequence[int], condition: str, values: Sequence[object]
) -> list[Found]:
    """Return the messages that fit and may be seen, oldest first.

    Args:
        names: What `own_names` returns of the caller.
        condition: An SQL condition on `m`, the message.
    """
    rows = view.index.execute(
        "SELECT m.n, m.id, m.date, m.part, s.who, s.role, s.stage FROM message m"
        f" CROSS JOIN mail s ON s.who IN ({marks(names)}) AND s.date = m.date"
        f" AND s.n = m.n WHERE {condition} ORDER BY m.date, m.id",
        (*names, *values),
    ).fetchall()
    return merged(rows, names[0])


def find_thread(view: View, caller: AgentName, text: str) -> MessageId:
    """Return the thread of the message that an id or a prefix names.

    The message may be one that the caller may not see, if it is the first of a thread
    of which they may see another: its id is what these say of their thread.

    Raises:
        InvalidNameError, AmbiguousIdError, MessageNotFoundError: As `find`.
    """
    try:
        return view.message(find(view, caller, text).id).thread_id
    except MessageNotFoundError:
        threads = _threads(view, caller, parse_id_prefix(text))
        if len(threads) > 1:
            raise AmbiguousIdError(text, _shortest(threads)) from None
        if not threads:
            raise
        return threads[0]


def _threads(view: View, caller: AgentName, prefix: str) -> list[MessageId]:
    names = own_names(view, caller)
    low, high = (thread_number(MessageId(end.hex())) for end in id_range(prefix))
    rows = view.index.execute(
        "SELECT m.id FROM message m CROSS JOIN mail s ON s.date = m.date AND s.n = m.n"
        f" AND s.who IN ({marks(names)}) WHERE m.thread BETWEEN ? AND ?"
        " GROUP BY m.thread",
        (*names, low, high),
    ).fetchall()
    ids = {view.message(MessageId(row[0].hex())).thread_id for row in rows}
    return sorted(each for each in ids if each.startswith(prefix))


def merged(rows: Iterable[Sequence[int]], me: int) -> list[Found]:
    """Return each message once, with all that the caller's names have to do with it."""
    found: dict[int, Found] = {}
    for n, key, date, part, who, role, stage in rows:
        own = _STAGES[stage] if who == me and role & DELIVERED else None
        earlier = found.get(n)
        found[n] = Found(
            n,
            MessageId(key.hex()),  # type: ignore[attr-defined]
            date,
            part,
            Role(role) | (earlier.role if earlier else Role(0)),
            own or (earlier.stage if earlier else None),
        )
    return list(found.values())


def received_by(view: View, me: int, name: AgentName) -> tuple[str, list[object]]:
    """Return a condition on mail to an agent; only a sender finds blind copies."""
    who = number_of(view, name)
    condition = (
        "EXISTS (SELECT 1 FROM mail r WHERE r.who = ? AND r.date = m.date"
        " AND r.n = m.n AND (r.role & 6 OR (r.role & 8 AND (m.sender = ? OR ? = ?))))"
    )
    return condition, [who, me, who, me]


def item(view: View, caller: AgentName, found: Found) -> Item:
    """Return a message as the caller sees it, without text."""
    return Item(
        message=view.message(found.id),
        state=found.stage,
        bcc=tuple(copy.address for copy in copies(view, caller, found)),
    )


def copies(view: View, caller: AgentName, found: Found) -> list[BlindCopy]:
    """Return the blind copies that the caller may know of: all, if they sent it."""
    if Role.SENDER in found.role:
        rows = view.index.execute(
            "SELECT name.text FROM mail JOIN name ON name.n = mail.who"
            " WHERE mail.n = ? AND role & 8 ORDER BY name.text",
            (found.n,),
        )
        names = [AgentName(row[0]) for row in rows]
    else:
        names = [caller] if Role.BCC in found.role else []
    result = []
    for name in names:
        copy = BlindCopy(message=found.id, agent=name, address=Address(name))
        data = view.file(copy_path(copy, found.folder))
        if data:
            result.append(parse_blind_copy(data))
    return result


def recipients_of(
    message: Message, blind: Sequence[BlindCopy]
) -> list[tuple[str, str]]:
    """Return each recipient once with `to`, `cc` or `bcc`, in the order of the file."""
    pairs: list[tuple[str, str]] = list(message.deliveries)
    listed = set(message.recipients)
    return pairs + [(c.agent, "bcc") for c in blind if c.agent not in listed]


def _shortest(ids: Sequence[str]) -> list[str]:
    """Return the ids cut to the shortest that tells them apart (CAPABILITIES A8)."""
    length = 8
    while length < _ID_LENGTH and len({i[:length] for i in ids}) < len(ids):
        length += 1
    return [i[:length] for i in ids]
