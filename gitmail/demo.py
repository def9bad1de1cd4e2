"""A demonstration: two agents at work in a temporary folder, over real MCP servers.

It needs no installed git, and touches nothing but that folder.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import get_default_environment

from gitmail.clock import system_clock
from gitmail.errors import GitmailError
from gitmail.records.times import parse_time
from gitmail.render.terminal import Look, Style

Say = Callable[[str], None]

_BRIEF = """\
The parser is ready for review: `src/parser.py`.

- It reads nested lists.
- It still drops comments; is that all right?
"""
_NOTE = "Looking at it now."
_ANSWER = "Comments may go. Nested lists look good, merge it. The parser is yours."
_FACT = ("fact", "parser", "owner")
_OWNER = "builder"
_PARKED_S = 0.5
"""How long the reader is seen to wait before something is sent."""
_WAIT_S = 20
_NEXT = """\
Now in a project of your own:

  gitmail init                     make its mailbox, beside the code
  gitmail register builder         then others: gitmail register reviewer
  gitmail --as builder mcp         what an agent's MCP client is to run
  gitmail --help                   the same from the command line, for you
"""


class DemoError(GitmailError):
    """A step of the demonstration went otherwise than it should."""

    code = "demo_failed"

    def __init__(self, step: str, said: str) -> None:
        super().__init__(f"The demo failed at {step}: {said}")


def run(say: Say, look: Look) -> int:
    """Show it, and return the exit code.

    Args:
        say: Prints a piece of text.
        look: How that is to look.

    Raises:
        DemoError: A step went wrong.
    """
    with tempfile.TemporaryDirectory(prefix="gitmail-demo-") as folder:
        project = Path(folder).resolve() / "project"
        (project / "src").mkdir(parents=True)
        (project / "src" / "parser.py").write_text("print('parse')\n", "utf-8")
        _Demo(say, look, project).run()
    return 0


@dataclass
class _Demo:
    say: Say
    look: Look
    project: Path
    started: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        self.title(f"A project in {self.project}, and its mailbox beside the code")
        self.command("init", "--project", "demo")
        self.command("register", "builder")
        self.command("register", "reviewer")
        self.title("Two agents, each with an MCP server process: gitmail --as NAME mcp")
        message = self.talk()
        self.title("What its sender sees of the brief")
        self.command("--as", "builder", "receipts", message[:10])
        self.title("What the next agent will know, and where it comes from")
        self.command("--as", "reviewer", "memory", "get", *_FACT)
        self.command("log", "--path", "memory/facts/parser/owner.md")
        self.title("All of it is in git, one commit an operation")
        self.command("log")
        self.title("Every message is a Markdown file, and its id is its git blob id")
        self.cat(message)
        self.title(f"That took {time.monotonic() - self.started:.1f} s")
        self.say(_NEXT)

    def talk(self) -> str:
        """Run `converse`, with what failed as an error of its own."""
        try:
            return anyio.run(self.converse)
        except BaseExceptionGroup as group:
            raise _first(group) from group

    async def converse(self) -> str:
        """Let the two agents talk, and return the id of the brief."""
        async with AsyncExitStack() as stack:
            reviewer = await self.connect(stack, "reviewer")
            builder = await self.connect(stack, "builder")
            arrived: list[_Arrival] = []
            async with anyio.create_task_group() as group:
                group.start_soon(self.wait, reviewer, arrived)
                await anyio.sleep(_PARKED_S)
                sent = await builder.call(
                    "message_send",
                    'to reviewer: "Parser handoff", a brief that wants an ack',
                    to=["reviewer"],
                    subject="Parser handoff",
                    kind="brief",
                    ack_required=True,
                    body=_BRIEF,
                )
            late_ms = arrived[0].late_s * 1e3
            said = f"{arrived[0]}, {late_ms:.0f} ms after it was sent"
            self.tell("reviewer", "message_wait", said)
            message = str(sent["message"]["id"])
            await reviewer.call(
                "message_ack",
                f'with the note "{_NOTE}"',
                message_ids=[message],
                note=_NOTE,
            )
            await reviewer.call(
                "message_reply", f'"{_ANSWER}"', message_id=message, body=_ANSWER
            )
            await self.wait(builder, arrived)
            self.tell("builder", "message_wait", str(arrived[1]))
            await self.remember(builder, str(arrived[1].message["id"]))
        return message

    async def remember(self, peer: "_Peer", message: str) -> None:
        """Record what a message settles, and acknowledge it in the same commit."""
        scope, entity, attribute = _FACT
        stored = await peer.call(
            "memory_set",
            f"{' '.join(_FACT)}: {_OWNER}, by that message, which it acks",
            scope=scope,
            entity=entity,
            attribute=attribute,
            value=_OWNER,
            source=f"message:{message}",
            ack_source=True,
        )
        if stored.get("acked") != message:
            step = "memory_set"
            raise DemoError(step, "the message is not acknowledged")

    async def connect(self, stack: AsyncExitStack, name: str) -> "_Peer":
        command = _gitmail("--as", name, "mcp")
        server = StdioServerParameters(
            command=command[0], args=command[1:], cwd=self.project, env=_environment()
        )
        return _Peer(name, await stack.enter_async_context(Client(server)), self)

    async def wait(self, peer: "_Peer", arrived: list["_Arrival"]) -> None:
        page = await peer.call("message_wait", "waits for mail", timeout_s=_WAIT_S)
        if not page["messages"]:
            step = "message_wait"
            raise DemoError(step, "nothing arrived")
        arrived.append(_Arrival(system_clock(), page["messages"][0]))

    def title(self, text: str) -> None:
        self.say(f"\n{self.look.paint(f'# {text}', Style.BOLD)}\n")

    def tell(self, name: str, tool: str, text: str) -> None:
        who = self.look.paint(f"{name:<8}", Style.NAME)
        self.say(f"{who}  {tool:<13}  {text}")

    def command(self, *arguments: str) -> None:
        """Show a command and what it prints."""
        self.say(self.look.paint(f"$ gitmail {' '.join(arguments)}", Style.DIM))
        done = subprocess.run(  # noqa: S603 - our own interpreter, no shell
            _gitmail(*arguments),
            cwd=self.project,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
        )
        if done.returncode:
            raise DemoError(arguments[0], done.stderr.strip())
        self.say(done.stdout.rstrip("\n"))

    def cat(self, message: str) -> None:
        """Show a message's file as it is on disk."""
        mailbox = self.project / ".gitmail"
        found = sorted((mailbox / "messages").rglob(f"*-{message[:8]}.md"))
        if not found:
            step = "cat"
            raise DemoError(step, "the message's file is not on disk")
        path = found[0].relative_to(self.project).as_posix()
        self.say(self.look.paint(f"$ cat {path}", Style.DIM))
        self.say(found[0].read_text("utf-8").removesuffix("\n"))


@dataclass(frozen=True)
class _Arrival:
    """A message that a wait returned, and when."""

    at: datetime
    message: Mapping[str, Any]

    @property
    def late_s(self) -> float:
        """Seconds from the moment that its sender's server stamped on it."""
        sent_at = parse_time(self.message["date"]) or self.at
        return (self.at - sent_at).total_seconds()

    def __str__(self) -> str:
        """Return it as the demonstration tells it."""
        return f"returns {self.message['id'][:10]} from {self.message['from']}"


@dataclass(frozen=True)
class _Peer:
    """An agent: its name and the client of its server."""

    name: str
    client: Client
    demo: _Demo

    async def call(self, tool: str, what: str, **arguments: object) -> dict[str, Any]:
        """Tell what is called, call it, and return the answer."""
        self.demo.tell(self.name, tool, what)
        result = await self.client.call_tool(tool, arguments)
        answer: dict[str, Any] | None = result.structured_content
        if result.is_error or answer is None:
            raise DemoError(tool, str(result.content))
        return answer


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return one of the errors that task groups have wrapped, a failed step if any."""
    found: BaseException = group.subgroup(DemoError) or group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def _gitmail(*arguments: str) -> list[str]:
    # -P, so that nothing in the folder of the demo is imported.
    return [sys.executable, "-P", "-m", "gitmail", *arguments]


def _environment() -> dict[str, str]:
    """Return what the processes inherit: no settings of gitmail's, our own modules."""
    modules = os.pathsep.join(path for path in sys.path if path)
    return {**get_default_environment(), "PYTHONPATH": modules, "PYTHONUTF8": "1"}
