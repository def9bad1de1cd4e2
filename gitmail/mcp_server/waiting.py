"""Waiting for mail on behalf of a client that may stop waiting at any time."""

import threading
from itertools import count
from typing import Any

import anyio
import anyio.lowlevel
from mcp.server import ServerRequestContext

from gitmail.errors import GitmailError, InvalidArgumentError
from gitmail.mailbox.values import Page
from gitmail.mcp_server.arguments import Wait
from gitmail.mcp_server.caller import Caller
from gitmail.render import plain
from gitmail.render.plain import Plain

DEFAULT_WAIT_S = 25.0
HEARTBEAT_S = 10.0


async def wait(
    caller: Caller, said: Wait, context: ServerRequestContext[Any, Any]
) -> Plain:
    """Answer with a page as soon as there is mail, and with an empty one in the end.

    A cancelled wait ends at once and marks nothing (CAPABILITIES R11).

    Raises:
        InvalidArgumentError: The time is longer than the mailbox allows; for the rest
            see `Agent.wait`.
    """
    stop = threading.Event()
    outcome: Page | GitmailError
    async with anyio.create_task_group() as group:
        group.start_soon(_accompany, caller, context, stop)
        try:
            outcome = await caller.park(lambda: _wait(caller, said, stop))
        except GitmailError as error:  # a group would wrap it in another one
            outcome = error
        stop.set()
        group.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint_if_cancelled()  # a stopped wait has no answer
    if isinstance(outcome, GitmailError):
        raise outcome
    return plain.page(outcome)


def _wait(caller: Caller, said: Wait, stop: threading.Event) -> Page:
    timeout_s = DEFAULT_WAIT_S if said.timeout_s is None else said.timeout_s
    agent, longest_s = caller.agent(), caller.mailbox().charter().max_wait_s
    if said.timeout_s is None:
        timeout_s = min(timeout_s, longest_s)
    if not 0 <= timeout_s <= longest_s:
        raise InvalidArgumentError(
            argument="timeout_s",
            value=timeout_s,
            accepted=f"seconds from 0 to {longest_s}",
        )
    return agent.wait(timeout_s, stop=stop, **said.filters())


async def _accompany(
    caller: Caller, context: ServerRequestContext[Any, Any], stop: threading.Event
) -> None:
    """Report progress to clients that asked for it; end the wait when cancelled."""
    try:
        for beat in count(1):
            await anyio.sleep(HEARTBEAT_S)
            await context.session.report_progress(beat)
    finally:
        if not stop.is_set():
            stop.set()
            caller.wake()
