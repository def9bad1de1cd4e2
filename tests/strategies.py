"""Hypothesis strategies for records, with the texts that break other mailboxes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st

from gitmail.errors import InvalidArgumentError, InvalidNameError
from gitmail.records.charter import Charter
from gitmail.records.keys import check_name, check_tag
from gitmail.records.memory import (
    EPISODE_LIMIT,
    REASON_LIMIT,
    SLOT_SCOPES,
    SOURCE_LIMIT,
    MemoryRecord,
    Scope,
)
from gitmail.records.message import Importance, Kind, Location, Message
from gitmail.records.names import parse_agent_name
from gitmail.records.profile import FIELDS, AgentKind, Profile
from gitmail.records.receipt import RECORDED_STAGES, BlindCopy, Receipt
from gitmail.records.text import LABEL_LIMIT, SUBJECT_LIMIT, check_line

LOOK_ALIKES = (
    *("no", "NO", "y", "on", "null", "~", "true", "None", "12:30", "0123", "0x1f"),
    *("1_000", "1e5", ".inf", "-", "---", "...", "=", "<<", "*all", "&a", "!!str x"),
    *("@name", "`x`", "%YAML 1.2", "a: b", "a #b", "#", "[a", "{a", "a,b", "'", '"'),
    *(
        "2026-11-30",
        "? a",
        "| ",
        "> ",
        "a\\",
        "\ufeffx",
        "\u202ex",
        "a\u200bb",
        "\U0001f600",
    ),
)
"""One-line texts that some reader of YAML takes for something else."""
LINE_ENDS = ("\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\n---\n", "---\n", "\t")

anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
"""All text that a file can hold."""


def _is_line(text: str, limit: int) -> bool:
    return text == text.strip() and 0 < len(text) <= limit


def lines(limit: int = SUBJECT_LIMIT) -> st.SearchStrategy[str]:
    """Return texts that `check_line` returns as they are."""
    one = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
    made = st.text(one, min_size=1, max_size=limit)
    found = st.one_of(st.sampled_from(LOOK_ALIKES), made, _mixed(one))
    return found.map(lambda text: text.strip()[:limit].strip()).filter(
        lambda text: _is_line(text, limit) and check_line("text", text, limit) == text
    )


def _mixed(one: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    part = st.one_of(st.sampled_from((*LOOK_ALIKES, ": ", " #", ", ")), one)
    return st.lists(part, min_size=1, max_size=6).map("".join)


bodies = st.one_of(
    anything,
    st.lists(st.one_of(st.sampled_from(LINE_ENDS + LOOK_ALIKES), anything)).map(
        "".join
    ),
)
"""Texts of any number of lines, blank ones too."""


def _is_name(text: str) -> bool:
    try:
        return parse_agent_name(text) == text
    except InvalidNameError:
        return False


names = st.one_of(
    st.sampled_from(["null", "no", "1e5", "0x1f", "0123", "y", "a.b", "x..y", "9-_"]),
    st.from_regex(r"[a-z0-9][a-z0-9._-]{0,62}", fullmatch=True),
).filter(_is_name)
teams = names.map("team:{}".format)
addresses = st.one_of(names, teams, st.just("all"))
rooms = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)
ids = st.one_of(
    st.sampled_from(["0" * 40, "1e" + "7" * 38, "0b" + "1" * 38, "12" * 19 + "0e"]),
    st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
)
times = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis adds the zone itself


def distinct(of: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    """Return tuples without duplicates."""
    return st.lists(of, max_size=5, unique=True).map(tuple)


_values = st.sampled_from(
    [
        " 1 # with a remark\n",
        "\n",
        " |\n  ---\n  from: somebody\n\n",
        " >-\n  a\n\n  b\n",
        "\n- a\n- {b: c}\n# a remark in between\n",
        " [a,\n  b,\n]\n",
        " 'it''s'\n",
        ' "\\u2028\\t\\\n  x"\n\n',
        " a\n  b\n  c\n",
        " no\n",
    ]
)


@st.composite
def extras(draw: st.DrawFn, most: int = 3) -> str:
    """Return header text of keys that no version knows yet."""
    key = st.from_regex(r"x[a-z0-9_.-]{0,9}", fullmatch=True)
    keys = draw(st.lists(key, unique=True, max_size=most))
    return "".join(f"{key}:{draw(_values)}" for key in keys)


locations = st.builds(
    Location,
    branch=st.none() | lines(),
    worktree=lines(),
    commit=st.none() | ids,
)
messages = st.builds(
    Message,
    sender=names,
    to=distinct(addresses),
    cc=distinct(addresses),
    recipients=distinct(names),
    date=times,
    body=bodies.filter(str.strip),
    subject=st.none() | lines(),
    kind=st.sampled_from(Kind),
    importance=st.sampled_from(Importance),
    ack_required=st.booleans(),
    topic=st.none() | lines(LABEL_LIMIT),
    room=st.none() | rooms,
    thread=st.none() | ids,
    reply_to=st.none() | ids,
    expires=st.none() | times,
    location=st.none() | locations,
    request_id=st.none() | lines(120),
    extra=extras(),
)
receipts = st.builds(
    Receipt,
    message=ids,
    agent=names,
    stage=st.sampled_from(RECORDED_STAGES),
    date=times,
    note=bodies,
    extra=extras(),
)
copies = st.builds(
    BlindCopy, message=ids, agent=names, address=addresses, extra=extras()
)
profiles = st.builds(
    Profile,
    name=names,
    created=times,
    kind=st.sampled_from(AgentKind),
    program=st.none() | lines(),
    model=st.none() | lines(),
    teams=distinct(names),
    is_retired=st.booleans(),
    description=bodies,
    changed=st.dictionaries(
        st.sampled_from(sorted(FIELDS.values())), times, max_size=3
    ),
    extra=extras(),
)
charters = st.builds(
    Charter,
    id=st.uuids().map(str),
    project=lines(100),
    created=times,
    max_body_bytes=st.integers(0, 10**11),
    max_wait_s=st.integers(0, 10**11),
    extra=extras(),
    text=bodies,
)


def _spelt(check: Callable[[str], str]) -> Callable[[str], str]:
    """Return a check that shortens what is too long once it is in its form."""

    def shortened(text: str) -> str:
        while True:
            try:
                return check(check(text))
            except InvalidArgumentError:
                text = text[: len(text) // 2] + "x"

    return shortened


titles = lines().map(_spelt(lambda text: check_name("entity", text)))
"""Entities and attributes, as they are shown."""
tags = lines(64).map(_spelt(check_tag))
_known = {
    "value": bodies.filter(str.strip),
    "set_by": names,
    "set_at": times,
    "source": st.none() | lines(SOURCE_LIMIT),
    "tags": distinct(tags),
    "supersedes": st.none() | ids,
    "extra": extras(),
}
notes = st.builds(
    MemoryRecord,
    scope=st.just(Scope.NOTE),
    episode=st.none() | lines(EPISODE_LIMIT),
    **_known,
)
_in_force = st.just({"retired_by": None, "retired_at": None})
_retired = st.fixed_dictionaries({"retired_by": names, "retired_at": times})
_bare_slots = st.builds(
    MemoryRecord,
    scope=st.sampled_from(SLOT_SCOPES),
    entity=titles,
    attribute=titles,
    confidence=st.none() | st.integers(0, 1000).map(lambda number: number / 1000),
    contested=distinct(ids),
    reason=st.none() | lines(REASON_LIMIT),
    **_known,
)
slots = st.builds(
    lambda slot, said: replace(slot, **said), _bare_slots, _in_force | _retired
)
memories = notes | slots

tokens = st.sampled_from(
    [
        *("a: ", "b:\n", "from: x\n", "- ", "? ", "[", "]", "{", "}", ",", ": ", "\n"),
        *("  ", "x", '"', "'", "|\n", ">-\n", "#", "&a ", "*a", "!!str ", "! ", "<<: "),
        *("\\u2028", "\\ud800", "\\x00", "\\U00110000", "%YAML 1.1\n", "%TAG ! x\n"),
        *(
            "---\n",
            "--- ",
            "...\n",
            "\t",
            "\r",
            "\x85",
            "\ufeff",
            "\x07",
            "\ufffe",
            "é",
        ),
        *("~", "0123", "@", "`", "\\", "\u2028", "\x00", "&a", "\U0001f600"),
    ]
)
"""Pieces of YAML, sound and unsound."""
headers = st.lists(
    st.one_of(st.lists(tokens, max_size=8).map("".join), extras()), max_size=6
).map("".join)
"""Text that is a header, or nearly."""
