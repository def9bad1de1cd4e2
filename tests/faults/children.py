"""What the processes of the fault tests do; each function is one of them."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gitmail import Mailbox
from gitmail.errors import GitmailError

PAGE = 4096


def read_only(mailbox: str) -> None:
    """Read and try to write in a mailbox that cannot be written; say what came."""
    with Mailbox.open(mailbox) as box:
        builder, reviewer = box.agent("builder"), box.agent("reviewer")
        pending = [item.message.body for item in reviewer.poll().items]
        waited = [item.message.body for item in reviewer.wait(5).items]
        found = [item.message.body for item in reviewer.search("before")]
        codes = [
            _code(lambda: builder.send(to="reviewer", body="No.")),
            _code(lambda: reviewer.poll(ack=True)),
            _code(lambda: box.register("newcomer")),
            _code(box.store.housekeeping),
        ]
        status = box.status("reviewer")
        say(
            {
                "pending": pending,
                "waited": waited,
                "found": found,
                "codes": codes,
                "unacked": status.unacked_count,
                "edits": list(status.uncommitted),
                "log": len(box.log()),
            }
        )


def full_disk(folder: str) -> None:
    """Send on a disk with ever more room, and say how often it was not enough.

    Nothing outside of this process sees what is mounted here, so all is checked here.
    """
    from tests.processes import assert_sound, make_mailbox  # noqa: PLC0415 - slow

    box = make_mailbox(Path(folder) / ".gitmail")
    refused = 0
    for pages in range(0, 40, 2):
        filler = Path(folder) / "filler"
        with Mailbox.open(box, folds=False) as mailbox:
            builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
            cursor = mailbox.status().tip
            _fill(filler, pages)
            code = _code(partial(builder.send, to="reviewer", body=f"{pages} left"))
            shown = reviewer.poll(show="any", after=cursor).items
            assert (code, len(shown)) in (("disk_full", 0), (None, 1)), (code, shown)
            refused += code is not None
        with Mailbox.open(box, folds=False) as mailbox:  # while it still is full
            again = mailbox.agent("reviewer").poll(show="any", after=cursor).items
            assert [i.id for i in again] == [i.id for i in shown]
        filler.unlink()
        with Mailbox.open(box) as mailbox:
            mailbox.agent("builder").send(to="reviewer", body="There is room.")
        assert_sound(box)
    say(refused)


def read_only_memory(mailbox: str) -> None:
    """Read and try to write memory that cannot be written; say what came."""
    from tests.faults.remembering import ACTS, remembered  # noqa: PLC0415 - slow

    with Mailbox.open(mailbox) as box:
        agent = box.agent("builder")
        before = remembered(box)
        codes = {name: _code(partial(act, agent)) for name, act in ACTS.items()}
        found = [each.text for each in agent.memory.search("first owner").records]
        is_as_it_was = remembered(box) == before
    say({"codes": codes, "found": found, "is_as_it_was": is_as_it_was})


def full_disk_of_memory(folder: str) -> None:
    """Set and forget on a disk with ever more room, and say how often it was too full.

    Nothing outside of this process sees what is mounted here, so all is checked here.
    """
    from tests.faults.remembering import empty_folders  # noqa: PLC0415 - slow
    from tests.processes import assert_sound, make_mailbox  # noqa: PLC0415

    box = make_mailbox(Path(folder) / ".gitmail")
    refused = 0
    for pages in range(0, 40, 2):
        filler = Path(folder) / "filler"
        with Mailbox.open(box, folds=False) as mailbox:
            memory = mailbox.agent("builder").memory
            is_set = bool(memory.list(entity="parser").records)
            _fill(filler, pages)
            forget = partial(memory.forget, "fact", "parser")
            set_ = partial(memory.set, "fact", "parser", "owner", f"{pages} left")
            code = _code(forget if is_set else set_)
            now_set = bool(memory.list(entity="parser").records)
            assert (code, now_set) in (("disk_full", is_set), (None, not is_set))
            refused += code is not None
        with Mailbox.open(box, folds=False) as mailbox:  # while it still is full
            memory = mailbox.agent("builder").memory
            assert bool(memory.list(entity="parser").records) is now_set
        filler.unlink()
        with Mailbox.open(box) as mailbox:
            mailbox.agent("builder").memory.add("There is room.")
        assert_sound(box)
        assert empty_folders(box) == []
    say(refused)


def too_large(mailbox: str) -> None:
    """Send where files may have ever more bytes, and say how often it was too few."""
    import resource  # noqa: PLC0415 - Windows has none

    refused = 0
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in [0, 10, 41, 100, 400, 800, 1200, 1600, 3000, 6000, 12_000, most]:
        with Mailbox.open(mailbox, folds=False) as box:
            builder, reviewer = box.agent("builder"), box.agent("reviewer")
            cursor = box.status().tip
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
            code = _code(partial(builder.send, to="reviewer", body=f"{size} bytes"))
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            shown = reviewer.poll(show="any", after=cursor).items
            assert (code, len(shown)) in (("disk_full", 0), (None, 1)), (code, shown)
            refused += code is not None
            builder.send(to="reviewer", body="There is room.")
    say(refused)


def _fill(filler: Path, pages: int) -> None:
    """Leave only that many pages of a disk."""
    with filler.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(PAGE))
        except OSError:
            size = os.fstat(stream.fileno()).st_size
            stream.truncate(max(size // PAGE - pages, 0) * PAGE)


def _code(act: Callable[[], object]) -> str | None:
    try:
        act()
    except GitmailError as error:
        return error.code
    return None


def say(what: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(what), flush=True)


def hold_lock(mailbox: str) -> None:
    """Hold the writer lock until the end of input."""
    with Mailbox.open(mailbox) as box, box.store._lock.held(5):
        say("held")
        sys.stdin.read()


def converse(project: str) -> None:
    """Make the project's mailbox and let two agents talk, by the command line."""
    import contextlib  # noqa: PLC0415
    import io  # noqa: PLC0415

    from gitmail.cli import main  # noqa: PLC0415 - only this child needs it

    os.chdir(project)
    said = []
    for words in (
        ["init"],
        ["register", "builder"],
        ["register", "reviewer"],
        ["--as", "builder", "send", "--to", "reviewer", "Hello."],
        ["--as", "reviewer", "poll"],
        ["--as", "reviewer", "poll", "--ack"],
        ["status"],
    ):
        answer = io.StringIO()
        with contextlib.redirect_stdout(answer):
            code = main(["--json", *words])
        said.append((code, json.loads(answer.getvalue() or "null")))
    say(said)
