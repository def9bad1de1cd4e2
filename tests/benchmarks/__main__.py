"""Print every figure that gitmail claims: `python -m tests.benchmarks`.

Options: --size N for messages in the large mailbox (100000), --only WORD for the rows
that have the word in their name.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from gitmail import Mailbox
from gitmail.records.message import parse_message
from gitmail.store.repository import Repository
from tests.benchmarks import children
from tests.benchmarks.floors import (
    GitCommit,
    Maildir,
    medians,
    run_code,
    write_plainly,
)
from tests.benchmarks.mail import draft, fill, make_mailbox, post
from tests.benchmarks.memory import MemoryBench
from tests.benchmarks.syncing import SyncBench

SMALL = 100


def main() -> None:
    """Run the benchmarks and print one line each."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    cores = os.cpu_count()
    print(f"Python {platform.python_version()}, {platform.platform()}, {cores} cores")
    print(f"{'what':<52} {'measured':>12} {'floor':>12} {'ratio':>7}  must reach")
    with tempfile.TemporaryDirectory(prefix="gitmail-bench-") as name:
        bench = Bench(Path(name), asked.size)
        for row in bench.rows():
            if asked.only in row.__name__:
                row()
        bench.close()


class Bench:
    """Two mailboxes, a small and a large one, and the rows that use them."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self._small: Mailbox | None = None
        self._large: Mailbox | None = None

    def rows(self) -> Iterator[Callable[[], None]]:
        """Yield the rows in the order in which they are printed."""
        yield self.batch
        yield self.send
        yield self.send_large
        yield self.ack
        yield self.poll
        yield self.wake
        yield self.process
        yield self.tool_call
        yield self.writers
        yield self.rebuild
        yield self.disk
        yield self.memory
        yield self.sync

    @property
    def small(self) -> Mailbox:
        """A mailbox of 100 messages."""
        if self._small is None:
            self._small = make_mailbox(self.folder / "small")
            fill(self._small, SMALL)
        return self._small

    @property
    def large(self) -> Mailbox:
        """A mailbox of `size` messages, of which 50 are pending."""
        if self._large is None:
            self._large = make_mailbox(self.folder / "large")
            fill(self._large, self.size)
        return self._large

    def close(self) -> None:
        """Close the mailboxes."""
        for mailbox in (self._small, self._large):
            if mailbox:
                mailbox.close()

    def batch(self) -> None:
        """10,000 messages in one commit, against writing the files plainly."""
        ours, floors = [], []
        for number in range(3):
            mailbox = make_mailbox(self.folder / f"batch{number}")
            drafts = [draft(i) for i in range(min(10_000, self.size))]
            start = time.perf_counter()
            mailbox.agent("builder").send_many(drafts)
            ours.append(time.perf_counter() - start)
            files = [
                (str(path.relative_to(mailbox.path)), path.read_bytes())
                for path in (mailbox.path / "messages").rglob("*.md")
            ]
            floors.append(write_plainly(self.folder / f"plain{number}", files))
            mailbox.close()
        show("batch of 10,000, one commit / plain files", ours, floors, "<= 3", 1e3)

    def send(self) -> None:
        """One durable send, against a Maildir delivery and git's own commands."""
        agent = self.small.agent("builder")
        maildir = Maildir(self.folder / "maildir")
        data = b"x" * 600
        ours, floor = medians(
            200, lambda i: post(agent, i), lambda _: maildir.deliver(data)
        )
        show("durable send / Maildir delivery with fsync", [ours], [floor], "<= 6")
        git = GitCommit(self.folder / "git")
        ours, floor = medians(20, lambda i: post(agent, i), lambda _: git.record(data))
        show("durable send / git add + git commit", [ours], [floor], "<= 0.33")

    def send_large(self) -> None:
        """One durable send with many messages, against the same with few."""
        many, few = self.large.agent("builder"), self.small.agent("builder")
        ours, floor = medians(200, lambda i: post(many, i), lambda i: post(few, i))
        show(f"send at {self.size:,} / at {SMALL}", [ours], [floor], "<= 1.3")

    def ack(self) -> None:
        """Fifty acknowledgements in one call, against one send."""
        agent, reviewer = self.large.agent("builder"), self.large.agent("reviewer")
        agent.send_many([draft(i) for i in range(50 * 20)])
        pages = []
        after = None
        while len(pages) < 20:
            page = reviewer.poll(limit=50, after=after)
            pages.append([item.id for item in page.items])
            after = page.cursor
        ours, floor = medians(
            20, lambda i: reviewer.ack(pages[i]), lambda i: post(agent, i)
        )
        show("ack of 50 in one call / one send", [ours], [floor], "<= 3")

    def poll(self) -> None:
        """A page of fifty, with many messages and with few."""
        for mailbox in (self.large, self.small):
            mailbox.agent("reader").poll()
        many, few = self.large.agent("reader"), self.small.agent("reader")
        ours, floor = medians(100, lambda _: many.poll(), lambda _: few.poll())
        name = f"poll of 50 pending at {self.size:,} / at {SMALL}"
        show(name, [ours], [floor], "<= 1.5")

    def wake(self) -> None:
        """From another process's commit to the return of the waiting call."""
        ours = children.wake_ms(self.large.path, 30)
        floor = children.bare_wake_ms(self.folder / "bare", 30)
        show("wake by another process / bare watchfiles", ours, floor, "<= 8")

    def process(self) -> None:
        """A whole `gitmail poll`, against the imports that it cannot avoid."""
        imports = "import dulwich.repo, filelock, sqlite3"
        code = "import sys; from gitmail.__main__ import main; main()"
        words = ("--mailbox", str(self.small.path), "--as", "reader", "poll")
        quiet = f"import os; os.dup2(os.open(os.devnull, 1), 1); {code}"
        ours, floor = medians(
            15, lambda _: run_code(quiet, *words), lambda _: run_code(imports)
        )
        show("gitmail poll, whole process / its imports", [ours], [floor], "<= 2.5")

    def tool_call(self) -> None:
        """A call of message_poll over stdio, against a tool that does nothing."""
        ours, floor = children.tool_ms(self.small.path, 200)
        show("MCP message_poll / no-op tool", ours, floor, "<= 4")

    def writers(self) -> None:
        """Four processes that send 250 messages each, against one."""
        one = children.rate(make_mailbox(self.folder / "one").path, 1, 250)
        four = children.rate(make_mailbox(self.folder / "four").path, 4, 250)
        print(
            f"{'4 processes x 250 sends, messages/s / one process':<52}"
            f" {four:>10.0f}/s {one:>10.0f}/s {four / one:>7.2f}  >= 0.6"
        )

    def rebuild(self) -> None:
        """Making the index anew, against reading and parsing the same files."""
        path = self.large.path
        repository = Repository(path / ".git")
        tree = repository.commit(self.large.store.branch.read() or "").tree
        start = time.perf_counter()
        for change in repository.changes(None, tree):
            data = repository.blob(change.new or "")
            if change.path.startswith("messages/"):
                parse_message(data)
        floor = time.perf_counter() - start
        repository.close()
        ours, megabytes = children.rebuild(path)
        show("rebuild of the index / reading the files", [ours], [floor], "<= 2", 1e3)
        print(f"{'  memory of the process':<52} {megabytes:>9.0f} MB{'':>22}<= 300 MB")

    def disk(self) -> None:
        """Bytes of `.git` after housekeeping, per message with its receipt."""
        for name, step in (("batches of 100, acks of 50", 100), ("one by one", 1)):
            mailbox = make_mailbox(self.folder / f"disk{step}")
            count = min(5000, self.size)
            builder, reviewer = mailbox.agent("builder"), mailbox.agent("reviewer")
            for start in range(0, count, step):
                builder.send_many([draft(start + i) for i in range(step)])
                if (start + step) % 50 == 0:
                    while reviewer.poll(limit=50, ack=True).items:
                        pass
            while mailbox.store.housekeeping():
                pass
            mailbox.close()
            size = sum(f.stat().st_size for f in (mailbox.path / ".git").rglob("*"))
            print(
                f"{'.git per message, sent in ' + name:<52}"
                f" {size / count:>10.0f} B{'':>22}<= 1229 B"
            )

    def memory(self) -> None:
        """What is claimed of memory, with a tenth as many records as messages."""
        bench = MemoryBench(self.large, self.folder, self.size // 10, show)
        bench.set()
        bench.history()
        bench.search()
        bench.set_flat()
        bench.rebuild()

    def sync(self) -> None:
        """What is claimed of exchanging."""
        bench = SyncBench(self.large, self.folder, show)
        bench.idle()
        bench.both_ways()
        bench.bundle()
        bench.apply()
        bench.verify()


def show(
    name: str, ours: list[float], floors: list[float], must: str, scale: float = 1
) -> None:
    """Print one row; times in ms after scaling."""
    a, b = median(ours) * scale, median(floors) * scale
    print(f"{name:<52} {a:>9.2f} ms {b:>9.2f} ms {a / b:>7.2f}  {must}", flush=True)


if __name__ == "__main__":
    main()
