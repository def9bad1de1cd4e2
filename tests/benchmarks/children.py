"""Benchmarks that need other processes; each child runs a function of this module."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import anyio
from watchfiles import watch

from gitmail import Mailbox
from gitmail.config import load
from gitmail.store.refs import Branch
from tests.benchmarks.mail import post

ROOT = Path(__file__).parents[2]


def child(function: str, *words: object) -> "subprocess.Popen[str]":
    """Start a process that runs a function of this module."""
    code = f"import sys, tests.benchmarks.children as c; c.{function}(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wake_ms(mailbox: Path, count: int) -> list[float]:
    """Return how long after each commit of another process a wait returned."""
    sender = child("send_on_demand", mailbox)
    found = []
    with Mailbox.open(mailbox) as box:
        agent = box.agent("reader")
        cursor = agent.poll(show="any", limit=1).cursor.partition("+")[0]
        for _ in range(count):
            ask(sender, "0.05")
            page = agent.wait(10, show="any", after=cursor)
            woken = time.monotonic()
            cursor = page.cursor
            found.append((woken - float(answer(sender))) * 1e3)
    finish(sender)
    return found


def send_on_demand(mailbox: str) -> None:
    """For each line on standard input: sleep, send, and say when it was committed."""
    moved = []
    move = Branch.move

    def timed(self: Branch, *words: object) -> bool:
        done = move(self, *words)  # type: ignore[arg-type]
        moved.append(time.monotonic())
        return done

    Branch.move = timed  # type: ignore[method-assign]
    with Mailbox.open(mailbox) as box:
        for line in sys.stdin:
            time.sleep(float(line))
            box.agent("builder").send(to="reader", body="wake up")
            print(moved[-1], flush=True)


def bare_wake_ms(folder: Path, count: int) -> list[float]:
    """Return how long after each rename by another process watchfiles woke us."""
    folder.mkdir()
    renamer = child("rename_on_demand", folder)
    found = []
    changes = watch(
        folder,
        watch_filter=None,
        step=1,
        debounce=10,
        rust_timeout=20,
        yield_on_timeout=True,
    )
    next(changes)
    for _ in range(count):
        ask(renamer, "0.05")
        while not any(name.endswith("new") for _, name in next(changes)):
            pass
        woken = time.monotonic()
        found.append((woken - float(answer(renamer))) * 1e3)
    finish(renamer)
    return found


def rename_on_demand(folder: str) -> None:
    """For each line on standard input: sleep, rename a file, and say when."""
    for line in sys.stdin:
        draft = Path(folder).parent / "draft"
        draft.write_text("x")
        time.sleep(float(line))
        draft.replace(Path(folder) / "new")
        print(time.monotonic(), flush=True)


def rate(mailbox: Path, processes: int, count: int) -> float:
    """Return the messages a second of some processes that send at once."""
    senders = [child("send_many_times", mailbox, count) for _ in range(processes)]
    for sender in senders:
        answer(sender)
    start = time.perf_counter()
    for sender in senders:
        ask(sender, "go")
    for sender in senders:
        answer(sender)
    elapsed = time.perf_counter() - start
    for sender in senders:
        finish(sender)
    with Mailbox.open(mailbox) as box:
        total = box.status().message_count
    if total != processes * count:
        msg = f"{processes * count - total} messages are missing"
        raise RuntimeError(msg)
    return total / elapsed


def send_many_times(mailbox: str, count: str) -> None:
    """Say that we are ready, wait for a line, send, and say that it is done."""
    with Mailbox.open(mailbox) as box:
        agent = box.agent("builder")
        agent.poll()
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(count)):
            post(agent, number)
        print("done", flush=True)


def rebuild(mailbox: Path) -> tuple[float, float]:
    """Return the seconds and megabytes that making the index anew takes."""
    run = child("rebuild_once", mailbox)
    seconds, megabytes = json.loads(answer(run))
    finish(run)
    return seconds, megabytes


def rebuild_once(mailbox: str) -> None:
    """Delete the index, make it anew, and say how long that took."""
    for file in (Path(mailbox) / ".git" / "gitmail").glob("index.sqlite*"):
        file.unlink()
    start = time.perf_counter()
    with Mailbox.open(mailbox) as box:
        box.store.read(lambda view: view.tip)
        elapsed = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([elapsed, used]), flush=True)


def tool_ms(mailbox: Path, count: int) -> tuple[list[float], list[float]]:
    """Return the times of message_poll and of a no-op tool on the same server."""
    run = child("call_tools", mailbox, count)
    ours, floors = json.loads(answer(run))
    finish(run)
    return ours, floors


def call_tools(mailbox: str, count: str) -> None:
    """Call message_poll and a tool that does nothing in turn, and say how long each."""
    # Half a second that the other children need not wait for.
    from mcp import StdioServerParameters  # noqa: PLC0415
    from mcp.client import Client  # noqa: PLC0415

    code = "import sys, tests.benchmarks.children as c; c.serve_with_noop(sys.argv[1])"
    server = StdioServerParameters(
        command=sys.executable, args=["-c", code, mailbox], cwd=ROOT
    )

    async def run() -> None:
        times: dict[str, list[float]] = {"message_poll": [], "no_op": []}
        async with Client(server) as client:
            for name in list(times) * int(count):
                start = time.perf_counter()
                await client.call_tool(name, {})
                times[name].append((time.perf_counter() - start) * 1e3)
        ours, floor = (median(row) for row in times.values())
        print(json.dumps([[ours], [floor]]), flush=True)

    anyio.run(run)


def serve_with_noop(mailbox: str) -> None:
    """Serve the mailbox's tools and one that does nothing."""
    from gitmail.mcp_server import serve  # noqa: PLC0415
    from gitmail.mcp_server.arguments import Nothing  # noqa: PLC0415
    from gitmail.mcp_server.tools import TOOLS, Tool  # noqa: PLC0415

    async def nothing(*_: object) -> dict[str, object]:
        return {}

    noop = Tool(name="no_op", description="Nothing", arguments=Nothing, run=nothing)
    serve(load(mailbox=mailbox, agent="reader"), tools=[*TOOLS, noop])


def ask(process: "subprocess.Popen[str]", line: str) -> None:
    """Send a line to a child."""
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def answer(process: "subprocess.Popen[str]") -> str:
    """Return the next line of a child."""
    assert process.stdout
    return process.stdout.readline()


def finish(process: "subprocess.Popen[str]") -> None:
    """End a child by ending its input."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    process.wait(30)
    process.stdout.close()
