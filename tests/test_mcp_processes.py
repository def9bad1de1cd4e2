"""MCP servers as the processes that hosts start: their wire, their names, their end."""

import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from filelock import FileLock
from mcp import StdioServerParameters
from mcp.client import Client

from gitmail import Mailbox
from gitmail.mcp_server.server import INSTRUCTIONS
from tests.helpers import environment, files_on_disk

LONG_S = 40
"""Longer than anything here takes, however busy the machine is."""
COMMAND = [sys.executable, "-P", "-m", "gitmail"]
MODES = ["legacy", "2026-07-28"]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Server:
    """A server process that is spoken to line by line, by hand.

    Args:
        mailbox: The mailbox's folder; it need not be there.
        agent: What `--as` names.
        log: Where its standard error goes.
    """

    def __init__(self, mailbox: Path, agent: str | None, log: Path) -> None:
        named = ["--as", agent] if agent else []
        self.log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*COMMAND, "--mailbox", str(mailbox), *named, "mcp"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=mailbox.parent,
                env=environment(),
            )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._answers: dict[object, dict[str, Any]] = {}
        self._count = 0
        self.seen: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def greet(self) -> "Server":
        """Shake hands in the older era."""
        client = {"name": "test", "version": "1"}
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo=client,
        )
        self.write({"method": "notifications/initialized"})
        return self

    def write(self, message: dict[str, Any] | bytes) -> None:
        """Write a message, or a line of one's own."""
        line = message
        if isinstance(line, dict):
            line = json.dumps({"jsonrpc": "2.0", **line}).encode()
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, **params: object) -> int:
        """Send a request and return its id."""
        self._count += 1
        self.write({"id": self._count, "method": method, "params": params})
        return self._count

    def start(self, tool: str, **arguments: object) -> int:
        """Call a tool and return the request's id."""
        return self.request("tools/call", name=tool, arguments=arguments)

    def answer(self, request_id: object) -> dict[str, Any]:
        """Return the answer to a request, a result or an error."""
        while request_id not in self._answers:
            line = self._lines.get(timeout=LONG_S)
            assert line is not None, self.log.read_text("utf-8")
            message = json.loads(line)
            if "id" in message:
                self._answers[message["id"]] = message
        return self._answers[request_id]

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Return the result of a request."""
        answer = self.answer(self.request(method, **params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def page(self, request_id: int) -> dict[str, Any]:
        """Return what a tool that was started answers with."""
        answer = self.answer(request_id)
        assert "result" in answer, answer
        content: dict[str, Any] = answer["result"]["structuredContent"]
        return content

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Return a tool's answer."""
        return self.page(self.start(tool, **arguments))

    def is_answered(self, request_id: int) -> bool:
        """Tell whether an answer to a request was among all that was read so far."""
        return request_id in self._answers

    def close(self) -> int:
        """End its input, and return its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        """Return its exit code, once it has one and all of its output was read."""
        code = self.process.wait(LONG_S)
        self._reader.join(LONG_S)
        return code

    def stop(self) -> None:
        """Make sure that it is gone, and that it kept its manners."""
        self.process.kill()
        self.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()
        for line in self.seen:
            assert json.loads(line)["jsonrpc"] == "2.0", line

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.seen.append(line)
            self._lines.put(line)
        self._lines.put(None)


Start = Callable[..., Server]


@pytest.fixture(name="start")
def _start(mailbox: Mailbox, tmp_path: Path) -> Iterator[Start]:
    """Return what starts servers, which are stopped after the test."""
    servers: list[Server] = []

    def start(agent: str | None = None, place: Path = mailbox.path) -> Server:
        log = tmp_path / f"server-{len(servers)}.log"
        servers.append(Server(place, agent, log))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def parameters(mailbox: Mailbox, agent: str) -> StdioServerParameters:
    """Return how the SDK's client starts a server."""
    return StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "--mailbox", str(mailbox.path), "--as", agent, "mcp"],
        env=environment(),
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_wait_in_one_process_wakes_when_another_sends(
    mailbox: Mailbox, mode: str
) -> None:
    """Two servers share nothing but the mailbox."""
    pages: list[Any] = []
    sent: list[Any] = []

    async def talk() -> None:
        async with (
            Client(parameters(mailbox, "reviewer"), mode=mode) as reviewer,
            Client(parameters(mailbox, "builder"), mode=mode) as builder,
        ):

            async def wait() -> None:
                arguments = {"timeout_s": LONG_S, "ack": True}
                pages.append(await reviewer.call_tool("message_wait", arguments))

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                # Read after the wait, so the wait is on its way once it is answered.
                await reviewer.call_tool("mailbox_status", {})
                message = {"to": ["reviewer"], "body": "wake up"}
                sent.append(await builder.call_tool("message_send", message))

    anyio.run(talk)

    page, answer = pages[0].structured_content, sent[0].structured_content
    assert [m["id"] for m in page["messages"]] == [answer["message"]["id"]]
    assert page["messages"][0]["from"] == "builder"
    assert mailbox.agent("reviewer").poll().items == ()


def test_of_two_processes_that_set_a_slot_at_once_one_wins(start: Start) -> None:
    """The other learns what is in force now, and both get the same from then on."""
    builder, reviewer = start("builder").greet(), start("reviewer").greet()
    slot = {"scope": "fact", "entity": "parser", "attribute": "owner"}
    empty = [each.call("memory_search")["records"] for each in (builder, reviewer)]
    said = {**slot, "expected": "none"}
    one = builder.start("memory_set", **said, value="builder")
    other = reviewer.start("memory_set", **said, value="reviewer")
    answers = [builder.page(one), reviewer.page(other)]
    got = [each.call("memory_get", **slot) for each in (builder, reviewer)]

    assert empty == [[], []]
    (won,) = (answer["record"] for answer in answers if "record" in answer)
    (lost,) = (answer["error"] for answer in answers if "error" in answer)
    assert lost["code"] == "stale_revision"
    assert lost["in_force"]["revision"] == won["revision"]
    assert lost["in_force"]["set_by"] == won["set_by"]
    for answer in got:
        assert answer["record"]["revision"] == won["revision"]
        assert f">{won['set_by']}</" in answer["record"]["value"]


def test_fifty_parked_waits_of_one_server_all_wake(
    start: Start, mailbox: Mailbox
) -> None:
    """Parked waits are not in the way of each other, nor of other calls."""
    server = start("reviewer").greet()
    waits = [server.start("message_wait", timeout_s=LONG_S) for _ in range(50)]
    status = server.call("mailbox_status")
    sent = mailbox.agent("builder").send(to="reviewer", body="x").message
    pages = [server.page(each) for each in waits]

    assert status["agent"] == "reviewer"
    assert {m["id"] for page in pages for m in page["messages"]} == {sent.id}
    assert not any(page["timed_out"] for page in pages)


def test_a_wait_that_its_client_cancels_is_not_answered_and_marks_nothing(
    start: Start, mailbox: Mailbox
) -> None:
    """The next call finds the mail that it would have taken."""
    server = start("reviewer").greet()
    wait = server.start("message_wait", timeout_s=LONG_S, ack=True)
    server.call("mailbox_status")
    server.write({"method": "notifications/cancelled", "params": {"requestId": wait}})
    server.call("mailbox_status")
    sent = mailbox.agent("builder").send(to="reviewer", body="x").message
    polled = server.call("message_poll")
    code = server.close()

    assert code == 0
    assert not server.is_answered(wait)
    assert [m["id"] for m in polled["messages"]] == [sent.id]
    assert [item.id for item in mailbox.agent("reviewer").poll().items] == [sent.id]


@pytest.mark.parametrize("has_wait", [False, True], ids=["idle", "waiting"])
@pytest.mark.parametrize(
    ("ending", "code"),
    [("end of input", 0), (signal.SIGTERM, 0), (signal.SIGINT, 130)],
    ids=["eof", "sigterm", "sigint"],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_server_ends_cleanly_and_frees_its_name(
    start: Start, mailbox: Mailbox, ending: object, code: int, *, has_wait: bool
) -> None:
    """A third process can then take the name, and a parked wait is no obstacle."""
    server = start().greet()
    server.call("agent_register", name="worker")
    if has_wait:
        server.start("message_wait", timeout_s=LONG_S, ack=True)
        server.call("mailbox_status")
    other = start().greet()
    refused = other.call("agent_register", name="worker")
    was_live = mailbox.liveness.is_live("worker")
    if isinstance(ending, signal.Signals):
        server.process.send_signal(ending)
        found = server.wait()
    else:
        found = server.close()
    registered = other.call("agent_register", name="worker")

    assert refused["error"]["code"] == "name_in_use"
    assert was_live
    assert found == code
    assert registered["agent"]["name"] == "worker"
    assert "Traceback" not in server.log.read_text("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)]
)
def test_a_signal_before_the_first_call_ends_it_as_well(
    start: Start, number: signal.Signals, code: int
) -> None:
    """A host may think better of it at any time."""
    server = start("builder")
    server.ask("ping")
    server.process.send_signal(number)

    assert server.wait() == code


def test_a_killed_server_holds_nothing(start: Start, mailbox: Mailbox) -> None:
    """Its name is an operating system's lock."""
    server = start().greet()
    server.call("agent_register", name="worker")
    held = mailbox.liveness.is_live("worker")
    server.process.kill()
    server.wait()

    assert held
    assert not mailbox.liveness.is_live("worker")


def test_a_name_is_taken_over_from_a_live_server_only_on_purpose(
    start: Start,
) -> None:
    """The first server acts for nobody then, until it takes the name back."""
    first, second = start().greet(), start().greet()
    first.call("agent_register", name="worker")
    refused = second.call("agent_register", name="worker")
    taken = second.call("agent_register", name="worker", take_over=True)
    lost = [
        first.call("message_send", to=["worker"], body="x"),
        first.call("message_poll"),
        first.call("message_wait", timeout_s=0),
        first.call("mailbox_status"),
        first.call("agent_register"),
        first.call("agent_register", name="worker", program="x"),
    ]
    polled = second.call("message_poll")
    first.call("agent_register", name="worker", take_over=True)

    assert taken["new"] is False
    for answer in (refused, *lost, second.call("message_poll")):
        assert answer["error"]["code"] == "name_in_use"
        assert "take_over" in answer["error"]["hint"]
    assert polled["messages"] == first.call("message_poll")["messages"] == []
    assert second.call("agent_register", name="other")["agent"]["name"] == "other"
    assert second.call("message_poll")["messages"] == []


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"n":NUMBER}}', -32700),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping","params":7}', -32600),
        (b'{"jsonrpc":"2.0","id":"x","method":7}', -32600),
    ],
)
def test_a_request_that_cannot_be_parsed_is_answered(
    start: Start, request_: bytes, code: int
) -> None:
    """Its sender must not wait in vain, such as for a number of 6,000 digits."""
    server = start("builder").greet()
    server.write(request_.replace(b"NUMBER", b"9" * 6000))

    assert server.answer("x")["error"]["code"] == code


def test_two_servers_with_the_same_fixed_name_share_its_mail(
    start: Start, mailbox: Mailbox
) -> None:
    """Each message that is taken goes to one of them."""
    servers = [start("reviewer").greet() for _ in range(2)]
    waits = [s.start("message_wait", timeout_s=5, ack=True) for s in servers]
    for server in servers:
        server.call("mailbox_status")
    sent = [mailbox.agent("builder").send(to="reviewer", body="x") for _ in range(2)]
    pages = [s.page(wait) for s, wait in zip(servers, waits, strict=True)]
    pages += [s.call("message_poll", ack=True) for s in servers]

    got = [m["id"] for page in pages for m in page["messages"]]
    assert sorted(got) == sorted(each.message.id for each in sent)


def test_garbage_on_the_input_does_not_end_the_server(start: Start) -> None:
    """It answers the next request, before and after the handshake."""
    garbage = [
        b"",
        b"hello",
        b"\xff\xfe\x00",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"1.0","id":"old","method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","method":"tools/call","params":7}',
    ]
    server = start("builder")
    for line in garbage:
        server.write(line)
    server.greet()
    for line in garbage:
        server.write(line)

    assert server.call("mailbox_status")["agent"] == "builder"


def test_a_request_with_a_lone_surrogate_is_answered(start: Start) -> None:
    """JavaScript's JSON may hold one, and its sender must not wait in vain."""
    server = start("builder").greet()
    call = b'"method":"tools/call","params":{"name":"message_send","arguments":'
    body = rb'{"to":["lead"],"body":"\ud800"}}'
    server.write(b'{"jsonrpc":"2.0","id":"half",' + call + body + b"}")
    answer = server.answer("half")

    assert "invalid_text" in answer["error"]["message"]
    assert server.call("message_history")["messages"] == []


def test_unknown_methods_and_tools_are_protocol_errors(start: Start) -> None:
    """The server stays up and says what it does not have."""
    server = start("builder").greet()
    method = server.answer(server.request("mail/burn"))
    tool = server.answer(server.start("message_burn"))

    assert method["error"]["code"] == -32601
    assert tool["error"]["code"] == -32602


def test_the_newer_era_needs_no_handshake(start: Start) -> None:
    """Each request says for itself which protocol it speaks."""
    server = start("builder")
    found = server.ask("server/discover", _meta=MODERN)
    called = server.ask("tools/call", _meta=MODERN, name="mailbox_status", arguments={})

    assert "2026-07-28" in found["supportedVersions"]
    assert called["structuredContent"]["agent"] == "builder"


def test_a_start_alone_has_no_effect(start: Start, mailbox: Mailbox) -> None:
    """Some hosts start a second process, only to look what it speaks."""
    before = files_on_disk(mailbox.path), mailbox.status().tip
    server = start("builder").greet()
    server.ask("tools/list")
    live = mailbox.liveness.is_live("builder")
    code = server.close()

    assert code == 0
    assert not live
    assert (files_on_disk(mailbox.path), mailbox.status().tip) == before


def test_without_a_mailbox_it_starts_and_finds_one_that_is_made_later(
    start: Start, tmp_path: Path
) -> None:
    """A host's configuration may be older than the mailbox."""
    place = tmp_path / "project" / ".gitmail"
    place.parent.mkdir()
    server = start("lead", place).greet()
    refused = server.call("message_poll")
    made_nothing = list(place.parent.iterdir()) == []
    with Mailbox.init(place) as made:
        made.register("lead")
    polled = server.call("message_poll")

    assert refused["error"]["code"] == "mailbox_not_found"
    assert made_nothing
    assert polled["messages"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows names no other parent")
def test_a_server_ends_with_its_parent_though_its_input_stays_open(
    mailbox: Mailbox, tmp_path: Path
) -> None:
    """Its pipe may have been inherited by others, who would keep it alive for ever."""
    launcher = (
        "import subprocess, sys, time\n"
        "server = subprocess.Popen(sys.argv[1:])\n"
        "print(server.pid, file=sys.stderr, flush=True)\n"
        "server.wait()\n"
    )
    command = [*COMMAND, "--mailbox", str(mailbox.path), "mcp"]
    with (tmp_path / "log").open("wb") as log:
        parent = subprocess.Popen(
            [sys.executable, "-c", launcher, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(),
        )
    assert parent.stdin
    assert parent.stdout
    with parent.stdin as stdin, parent.stdout as stdout:
        stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        stdin.flush()
        assert json.loads(stdout.readline())["id"] == 1
        parent.kill()
        parent.wait(LONG_S)
        # The end of its output is the end of the server.
        assert stdout.read() == b""


def test_a_server_ends_when_nobody_reads_its_output(
    mailbox: Mailbox, tmp_path: Path
) -> None:
    """A client that closed only one of the pipes is gone as well."""
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMAND, "--mailbox", str(mailbox.path), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(),
        )
    assert process.stdin
    assert process.stdout
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()

    assert process.wait(LONG_S) == 0
    process.stdin.close()


def test_what_is_slow_to_import_waits_for_the_handshake() -> None:
    """Hosts give a server little time to answer its first request."""
    script = (
        "import sys, gitmail.mcp_server\n"
        "slow = {'dulwich', 'sqlite3', 'yaml', 'filelock', 'gitmail.store.store'}\n"
        "print(sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        env=environment(),
        timeout=LONG_S,
    )

    assert done.stdout.strip() == b"[]"


UNREACHABLE = (
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTCACHED",
    "ENOTFOUND",
    "ETIMEDOUT",
)


@pytest.fixture(name="conversation", scope="session")
def _conversation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a script for Node.js, beside the packages that it needs.

    They are installed once, and kept in pytest's cache folder where there is one.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are needed for a client from the TypeScript side")
    cache = getattr(request.config, "cache", None)
    folder = cache.mkdir("typescript") if cache else tmp_path_factory.mktemp("npm")
    source = Path(__file__).parent / "typescript"
    with FileLock(folder / "install.lock"):
        for name in ("package.json", "conversation.mjs"):
            shutil.copy(source / name, folder)
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        done = subprocess.run(
            [npm, "install", *quiet, "--cache", str(folder / "cache")],
            capture_output=True,
            check=False,
            cwd=folder,
            encoding="utf-8",
            timeout=240,
        )
    if done.returncode and any(code in done.stderr for code in UNREACHABLE):
        pytest.skip(f"the npm registry cannot be reached: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return folder / "conversation.mjs"


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("typescript")
@pytest.mark.parametrize("era", ["handshake", "2026-07-28"])
def test_clients_from_the_typescript_side_converse(
    conversation: Path, mailbox: Mailbox, era: str
) -> None:
    """They wait, cancel, read resources and meet errors as Python's client does."""
    command = [*COMMAND, "--mailbox", str(mailbox.path), "--as", "NAME", "mcp"]
    done = subprocess.run(
        ["node", str(conversation), era, json.dumps(command)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment(),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)

    assert found["tools"] == 21
    assert found["instructions"] == INSTRUCTIONS
    assert found.get("version", "handshake") == era
    (message,) = found["page"]["messages"]
    assert message["id"] == found["sent"]
    assert ">Grüße ✓</" in message["body"]
    (later,) = found["afterCancel"]["messages"]
    assert ">after the cancel</" in later["body"]
    assert found["refused"]["structuredContent"]["error"]["code"] == "invalid_argument"
    assert found["surrogate"] == {"thrown": -32700}
    assert found["inbox"] == 1
    assert found["missing"] == {"thrown": -32602}
    assert found["set"]["acked"] == found["cited"]
    assert found["set"]["result"] == "inserted"
    for answer in (found["got"], found["slot"]):
        assert ">Größe: 1 ✓</" in answer["record"]["value"]
        assert answer["record"]["set_by"] == "reviewer"
    assert found["stale"]["structuredContent"]["error"]["code"] == "stale_revision"
