"""Serving one client over standard input and output, until it ends or goes away.

End of input, SIGTERM and the end of the parent process exit with 0, SIGINT with 130.
A killed server holds nothing either: its name is held by an operating system's lock.
"""

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from gitmail.config import Settings
from gitmail.errors import BUG_EXIT, INTERRUPTED_EXIT
from gitmail.mcp_server.caller import Caller
from gitmail.mcp_server.server import ALL_TOOLS, make_server
from gitmail.mcp_server.tools import Tool

logger = logging.getLogger("gitmail")

Incoming = SessionMessage | Exception
_EXITS = {signal.SIGINT: INTERRUPTED_EXIT, signal.SIGTERM: 0}
_GRACE_S = 5.0
_MOST_DIGITS = 18
_PARENT_LOOK_S = 5.0


def serve(
    settings: Settings,
    *,
    tools: Iterable[Tool] = ALL_TOOLS,
    sync_every_s: float | None = None,
) -> int:
    """Serve until end of input, and return the exit code.

    A signal, the end of the parent process and a client that no longer listens end this
    process here, once all is closed: the thread that reads standard input cannot be
    called back.

    Args:
        settings: Which mailbox and which agent; there need be neither.
        tools: What to offer.
        sync_every_s: Seconds between two syncs with the remote; None for none.
    """
    anyio.run(_serve, settings, tools, sync_every_s)
    return 0


async def _serve(
    settings: Settings, tools: Iterable[Tool], sync_every_s: float | None
) -> None:
    caller = Caller(settings)
    # Before the reader starts, which a signal could not end otherwise.
    with _signals() as signals:
        async with stdio_server() as (incoming, outgoing):
            code: int | None = 0  # what stands where a broken pipe cancels this
            try:
                server = make_server(caller, tools)
                session = Session(caller, signals, sync_every_s)
                code = await session.run(server, incoming, outgoing)
            except Exception:  # it must end, though its client may not see that
                logger.exception("the server failed")
                code = BUG_EXIT
            finally:
                caller.close()
                if code is not None:
                    os._exit(code)


@contextmanager
def _signals() -> Iterator[AsyncIterable[signal.Signals] | None]:
    if sys.platform == "win32":
        yield None  # its event loop knows no signals
    else:
        with anyio.open_signal_receiver(*_EXITS) as signals:
            yield signals


class Session:
    """One run of a server over a pair of streams.

    Args:
        caller: Whom the server acts for.
        signals: Those that end it.
        sync_every_s: Seconds between two syncs with the remote; None for none.
    """

    def __init__(
        self,
        caller: Caller,
        signals: AsyncIterable[signal.Signals] | None,
        sync_every_s: float | None = None,
    ) -> None:
        self._caller = caller
        self._sync_every_s = sync_every_s
        self._signals = signals
        self._greeted = anyio.Event()
        self._ending = anyio.CancelScope()
        self._code: int | None = None

    async def run(
        self,
        server: Server[Any],
        incoming: ReadStream[Incoming],
        outgoing: WriteStream[SessionMessage],
    ) -> int | None:
        """Serve until the input ends; return an exit code where something else did."""
        server.middleware.append(self._greet)
        forward, forwarded = anyio.create_memory_object_stream[Incoming]()
        async with anyio.create_task_group() as group:
            self._ending = group.cancel_scope
            group.start_soon(_relay, incoming, forward, outgoing)
            group.start_soon(self._end_by_signal)
            group.start_soon(self._end_with_parent)
            group.start_soon(self._warm_up)
            if self._sync_every_s:
                group.start_soon(self._keep_in_step, self._sync_every_s)
            await server.run(
                forwarded, outgoing, server.create_initialization_options()
            )
            group.cancel_scope.cancel()
        return self._code

    async def _greet(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        answer = await call_next(ctx)
        self._greeted.set()
        return answer

    async def _warm_up(self) -> None:
        await self._greeted.wait()
        await self._caller.call(self._caller.warm_up)

    async def _keep_in_step(self, pause_s: float) -> None:
        await self._greeted.wait()
        await self._caller.keep_in_step(pause_s)

    async def _end_by_signal(self) -> None:
        if self._signals:
            async for number in self._signals:
                self._end(_EXITS[number])

    async def _end_with_parent(self) -> None:
        """End when the parent does: others may keep its end of the pipe open."""
        await self._greeted.wait()
        # Not the one at the start: it may be a launcher that was quick to leave.
        parent = os.getppid()
        while os.getppid() == parent:  # noqa: ASYNC110 - no event tells of it
            await anyio.sleep(_PARENT_LOOK_S)
        self._end(0)

    def _end(self, code: int) -> None:
        self._code = code
        # What is being written is waited for, but not for ever.
        last_resort = threading.Timer(_GRACE_S, os._exit, [code])
        last_resort.daemon = True
        last_resort.start()
        self._ending.cancel()


async def _relay(
    incoming: ReadStream[Incoming],
    forward: MemoryObjectSendStream[Incoming],
    outgoing: WriteStream[SessionMessage],
) -> None:
    """Pass messages on, and answer a request that is none, if its id can be read.

    The SDK drops what it cannot parse, so that its sender would wait in vain: for a
    lone surrogate, which JavaScript writes, or a number of thousands of digits.
    """
    async with forward:
        async for item in incoming:
            error = _refusal(item) if isinstance(item, ValidationError) else None
            if error is None:
                await forward.send(item)
            else:
                await outgoing.send(SessionMessage(error))


def _refusal(problem: ValidationError) -> types.JSONRPCError | None:
    """Return the answer to a request that cannot be parsed, None for all else."""
    code, message = types.INVALID_REQUEST, "The request is not one of JSON-RPC"
    for found in problem.errors(include_url=False):
        said = found["input"]
        if found["type"] == "json_invalid":
            code, message = types.PARSE_ERROR, f"invalid_text: {found['msg']}"
            try:
                said = json.loads(said, parse_int=_small)
            except (ValueError, RecursionError):
                return None
        if isinstance(said, dict) and "method" in said:
            request_id = said.get("id")
            if isinstance(request_id, str | int):
                error = types.ErrorData(code=code, message=message)
                return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
    return None


def _small(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MOST_DIGITS else None
