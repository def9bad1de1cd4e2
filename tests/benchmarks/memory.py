"""What memory costs where there is a lot of it, and a lot of mail beside it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gitmail import Mailbox
from gitmail.mailbox.memory import Memory
from tests.benchmarks import children
from tests.benchmarks.floors import medians, run_code
from tests.benchmarks.mail import draft, make_mailbox

SCOPES = ("fact", "world", "lesson")
ATTRIBUTES = 10
"""Slots of one entity."""
_TURNS = 30
"""Slots that are set in turn."""
_A_DAY = 100
"""Notes that are added in a day."""
Show = Callable[[str, list[float], list[float], str], None]


class MemoryBench:
    """The rows about memory.

    Args:
        large: The mailbox with many messages; it gets the records.
        folder: Where small mailboxes may be made.
        count: How many records.
    """

    def __init__(self, large: Mailbox, folder: Path, count: int, show: Show) -> None:
        self._show = show
        self._folder = folder
        self._size = f"{count:,} records"
        self._large = large
        remember(large.path, count)
        self._many = large.agent("builder").memory

    def set(self) -> None:
        """One set among many records and messages, against one in an empty mailbox."""
        with make_mailbox(self._folder / "empty") as empty:
            few = empty.agent("builder").memory
            for number in range(_TURNS):  # so that both then take over from a version
                put(few, number)
            ours, floor = medians(
                200,
                lambda i: put(self._many, i % _TURNS),
                lambda i: put(few, i % _TURNS),
            )
        self._show(
            f"set with {self._size} / in an empty mailbox", [ours], [floor], "<= 1.3"
        )

    def set_flat(self) -> None:
        """The same where each of very many facts is an entity of its own.

        The folder of all entities is then one tree, which every set writes again.
        """
        path = self._folder / "flat"
        with make_mailbox(path) as flat, make_mailbox(self._folder / "none") as none:
            many, few = (each.agent("builder").memory for each in (flat, none))
            for number in range(3_000):
                many.set("fact", f"entity {number}", "value", str(number))
            ours, floor = medians(50, lambda i: put(many, i), lambda i: put(few, i))
        self._show("set of one of 3,000 entities / of the first", [ours], [floor], "")

    def history(self) -> None:
        """The versions of a slot, of which there are fifty or five."""
        for name, count in (("fifty", 50), ("five", 5)):
            for number in range(count):
                self._many.set("fact", "versions", name, f"Version {number}.")
        read = self._many.history
        ours, floor = medians(
            200,
            lambda _: read("fact", "versions", "fifty"),
            lambda _: read("fact", "versions", "five"),
        )
        self._show("history of 50 versions / of 5", [ours], [floor], "<= 3")
        code = "import os; os.dup2(os.open(os.devnull, 1), 1)"
        code = f"{code}; from gitmail.__main__ import main; main()"
        words = ("--mailbox", str(self._large.path), "--as", "builder")
        words = (*words, "memory", "history", "fact", "versions")
        ours, floor = medians(
            15,
            lambda _: run_code(code, *words, "fifty"),
            lambda _: run_code(code, *words, "five"),
        )
        self._show("  as a whole process", [ours], [floor], "<= 3")

    def search(self) -> None:
        """A search, against the bare query that finds the same rows."""
        index = self._large.store._keeper.index()
        statement = (
            "SELECT rowid, text FROM memory_words WHERE memory_words MATCH ?"
            " ORDER BY rank LIMIT 20"
        )
        for word in ("self", "folder", "4711"):
            bare = f'"{word}"'
            count = index.execute(
                "SELECT count(*) FROM memory_words WHERE memory_words MATCH ?", (bare,)
            ).fetchone()[0]
            ours, floor = medians(
                50,
                lambda _, word=word: self._many.search(word),  # type: ignore[misc]
                lambda _, bare=bare: index.execute(statement, (bare,)).fetchall(),  # type: ignore[misc]
            )
            name = f"search, {count:,} fit / bare FTS5 query"
            self._show(name, [ours], [floor], "<= 2")

    def rebuild(self) -> None:
        """Making the index anew with all versions of all records; no limit is set."""
        seconds, megabytes = children.rebuild(self._large.path)
        print(
            f"{'rebuild of the index with ' + self._size:<52}"
            f" {seconds:>9.2f} s  {megabytes:>9.0f} MB"
        )


def remember(mailbox: Path, count: int) -> None:
    """Put records into a mailbox: four in ten are notes, the rest slots."""
    notes = count * 4 // 10
    clock = _Clock(timedelta(days=1) / _A_DAY)
    with Mailbox.open(mailbox, clock=clock) as open_mailbox:
        memory = open_mailbox.agent("builder").memory
        for number in range(notes):
            memory.add(text(number), tags=[f"tag-{number % 50}"])
        for number in range(count - notes):
            put(memory, number)
        open_mailbox.store.housekeeping()


def put(memory: Memory, number: int) -> None:
    """Set one of the slots."""
    entity, attribute = divmod(number // len(SCOPES), ATTRIBUTES)
    scope = SCOPES[number % len(SCOPES)]
    value = f"{text(number)} {time.time_ns()}"
    memory.set(scope, f"entity-{entity}", f"attribute-{attribute}", value)


def text(number: int) -> str:
    """Return about 300 bytes."""
    return str(draft(number)["body"])


class _Clock:
    """Goes on by the same step at each look."""

    def __init__(self, step: timedelta) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        self._step = step

    def __call__(self) -> datetime:
        self._now += self._step
        return self._now
