"""What the processes of the tests of memory do; each function is one of them."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmail import Mailbox
from gitmail.errors import (
    AlreadyInForceError,
    MemoryNotFoundError,
    StaleRevisionError,
)
from gitmail.mailbox.memory import Memory
from gitmail.records.memory import parse_memory
from tests.concurrency.children import say, told_later, wait_for_go
from tests.helpers import START
from tests.mailboxes import still

SLOT = ("fact", "parser", "owner")
NOTHING = "none"
_FEW_ROUNDS = 60  # so that a page has all that they left in the history


def append(mailbox: str, name: str, count: str) -> None:
    """Add lines to a slot, each by reading and setting what was read, and one more.

    Says the revision and the value in each answer that something else was in force.
    """
    with Mailbox.open(mailbox) as box:
        memory = box.agent("builder").memory
        _in_force(memory)
        wait_for_go()
        stale = []
        for number in range(int(count)):
            revision, value = _in_force(memory)
            while True:
                line = f"{name} {number}"
                said = f"{value}\n{line}" if value else line
                try:
                    memory.set(*SLOT, said, expected=revision)
                except StaleRevisionError as error:
                    stale.append(error.details["in_force"])
                    revision, value = _in_force(memory)
                else:
                    break
    say(stale)


def _in_force(memory: Memory) -> tuple[str, str]:
    try:
        found = memory.get(*SLOT)
    except MemoryNotFoundError:
        return NOTHING, ""
    return found.record.id, found.text


def claim(mailbox: str, name: str, count: str) -> None:
    """Set slots in which nothing is, if so; say which of them, or who was quicker."""
    with Mailbox.open(mailbox) as box:
        memory = box.agent("builder").memory
        memory.list()
        wait_for_go()
        outcomes: list[Any] = []
        for number in range(int(count)):
            slot = ("world", f"slot {number}", "owner")
            try:
                memory.set(*slot, name, expected=NOTHING)
            except StaleRevisionError as error:
                outcomes.append(error.details["in_force"])
            else:
                outcomes.append(name)
    say(outcomes)


def note(mailbox: str, name: str, count: str) -> None:
    """Add notes, and each time one that others add too at the very same time."""
    with Mailbox.open(mailbox, clock=still(START)) as box:
        memory = box.agent("builder").memory
        memory.list()
        wait_for_go()
        ids = []
        for number in range(int(count)):
            ids.append(memory.add(f"{name} {number}").record.id)
            ids.append(memory.add("The same.").record.id)
    say(ids)


def set_(mailbox: str, count: str) -> None:
    """Set a slot again and again to values that can be told to be whole."""
    with Mailbox.open(mailbox) as box:
        memory = box.agent("builder").memory
        memory.list()
        wait_for_go()
        for number in range(int(count)):
            memory.set(*SLOT, long_value(number))
    say(int(count))


def long_value(number: int) -> str:
    """Return a value of some length with the number in its last place too."""
    return "\n".join([str(number)] * 400)


def forget_and_restore(mailbox: str) -> None:
    """Forget a slot and restore it until told to stop; say how often each went well."""
    with Mailbox.open(mailbox) as box:
        memory = box.agent("reviewer").memory
        memory.list()
        wait_for_go()
        told = told_later()
        forgotten = restored = 0
        while restored < _FEW_ROUNDS and not (told.is_set() and restored):
            with suppress(MemoryNotFoundError):
                memory.forget(*SLOT)
                forgotten += 1
            with suppress(AlreadyInForceError, MemoryNotFoundError):
                memory.restore(*SLOT)
                restored += 1
        told.wait()
    say([forgotten, restored])


def look(mailbox: str, has_file: str) -> None:
    """Read the slot all the time until told to stop; each answer must be whole.

    Says the numbers of the values that were seen.

    Args:
        has_file: Not empty where the file beside the repository never goes.
    """
    file = Path(mailbox, "memory", "facts", SLOT[1], f"{SLOT[2]}.md")
    with Mailbox.open(mailbox) as box:
        memory = box.agent("reviewer").memory
        memory.list()
        wait_for_go()
        told = told_later()
        seen: list[int] = []
        is_last = False
        while not is_last:
            is_last = told.is_set()
            with suppress(MemoryNotFoundError):
                found = memory.get(*SLOT)
                seen.append(_number(found.text))
            for each in memory.search(str(seen[-1] if seen else 0)).records:
                _number(each.record.value)
            if has_file:
                _number(parse_memory(file.read_bytes()).value)
            status = box.status()
            if status.uncommitted or status.quarantine:
                raise AssertionError(status)
    say(seen)


def _number(value: str) -> int:
    number = int(value.partition("\n")[0])
    if value != long_value(number):
        raise AssertionError(value)
    return number


def do_all(mailbox: str, name: str, count: str) -> None:
    """Write memory in every way; say what must be there at the end."""
    with Mailbox.open(mailbox) as box:
        memory = box.agent("builder").memory
        memory.list()
        wait_for_go()
        for number in range(int(count)):
            slot = ("fact", name, f"aspect {number % 3}")
            memory.set(*slot, f"{number}")
            memory.set("lesson", "all of us", "last", f"{name} {number}")
            added = memory.add(f"Note {name} {number}", tags=[name]).record
            better = memory.supersede(added.id, f"Better {name} {number}").record
            memory.forget("note", better.id)
            memory.forget("fact", name)
            memory.restore(*slot)
            memory.restore("note", added.id)
        facts = memory.get_entity("fact", name).records
        notes = memory.list("note", tags=[name], limit=200).records
    say([[each.text for each in facts], sorted(each.text for each in notes)])


def answer(mailbox: str) -> None:
    """Set a slot for each line that comes, and say its revision."""
    with Mailbox.open(mailbox) as box:
        memory = box.agent("builder").memory
        for line in sys.stdin:
            said = json.loads(line)
            say(memory.set("fact", "sent", said, said).record.id)
