"""Speaking to a server in memory with the SDK's own client; no fixtures."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import types
from mcp.client import Client

from gitmail.config import Settings
from gitmail.mcp_server.caller import Caller
from gitmail.mcp_server.server import make_server
from gitmail.render.fence import fenced


def caller_of(mailbox: Path, agent: str | None = None) -> Caller:
    """Return a caller, which is to be closed."""
    return Caller(Settings(folder=mailbox.parent, mailbox=mailbox, agent=agent))


@asynccontextmanager
async def connected(mailbox: Path, agent: str, mode: str) -> AsyncIterator[Client]:
    """Connect to a server that acts for an agent."""
    caller = caller_of(mailbox, agent)
    try:
        async with Client(make_server(caller), mode=mode) as client:
            yield client
    finally:
        caller.close()


async def ask(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return a tool's answer, which must be the same object in both of its forms."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.structured_content is not None
    assert block.text == compact(result.structured_content)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return the error of a tool, which must stand in both forms of the answer."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    assert result.structured_content is not None
    error = result.structured_content["error"]
    told, _, data = block.text.partition("\n")
    assert told.startswith(f"{error['code']}: {error['message']}")
    assert told.endswith(error.get("hint", ""))
    said = ("code", "message", "hint")
    others = {key: value for key, value in error.items() if key not in said}
    assert data == (compact(others) if "fence" in error else "")
    return error


def compact(answer: dict[str, Any]) -> str:
    """Return an object as JSON without spaces."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def fenced_as(answer: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return an expected answer, fenced with the token that an answer carries."""
    return fenced(expected, token_of(answer))


def token_of(answer: dict[str, Any]) -> str:
    """Return the token of an answer's fence."""
    return str(answer["fence"]).removeprefix("<mail-").removesuffix(">")
