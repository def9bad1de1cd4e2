"""Mail and memory as resources, and completions of agent names.

What is unknown, malformed or not for the caller gives one and the same answer.
"""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcp import types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError

from gitmail.errors import (
    AmbiguousIdError,
    GitmailError,
    InvalidArgumentError,
    InvalidTextError,
    MessageNotFoundError,
    RecordNotFoundError,
    RoomNotFoundError,
)
from gitmail.mcp_server.answers import compact, error, sentence
from gitmail.mcp_server.caller import Caller
from gitmail.mcp_server.tools import message_with_receipts
from gitmail.render import plain
from gitmail.render.plain import Plain

if TYPE_CHECKING:
    from gitmail.mailbox.agent import Agent

Context = ServerRequestContext[Any, Any]

_JSON = "application/json"
_URI = re.compile(
    r"gitmail://(?:(inbox)|(message|thread)/([0-9a-f]{8,40})"
    r"|(room)/([A-Za-z0-9._-]{1,64}))",
    re.ASCII,
)
# What a segment of a URI may hold as it is; all else is percent-encoded (RFC 3986).
_SEGMENT = r"((?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)"
_SLOT = re.compile(rf"gitmail://memory/([a-z]+)/{_SEGMENT}/{_SEGMENT}", re.ASCII)
_NAMES = frozenset(["agent", "bcc", "cc", "from", "name", "peer", "to"])
_MOST_COMPLETIONS = 100

INBOX = types.Resource(
    uri="gitmail://inbox",
    name="inbox",
    description="Your mail that you have not acknowledged",
    mime_type=_JSON,
)
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=f"gitmail://{kind}/{variables}",
        name=kind,
        description=description,
        mime_type=_JSON,
    )
    for kind, variables, description in (
        ("message", "{id}", "A message"),
        ("thread", "{id}", "The thread of a message"),
        ("room", "{room}", "What you may see of a room"),
        ("memory", "{scope}/{entity}/{attribute}", "What is in force in a slot"),
    )
]


async def read_resource(
    caller: Caller, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    """Return a resource's JSON.

    Raises:
        MCPError: There is nothing that the caller may see, or the mailbox cannot be
            read; `data` then has the error.
    """
    try:
        text = compact(await caller.call(lambda: _look_up(caller, params.uri)))
    except (AmbiguousIdError, RecordNotFoundError, RoomNotFoundError):
        message, data = "There is no such resource", {"uri": params.uri}
        raise MCPError(types.INVALID_PARAMS, message, data) from None
    except GitmailError as problem:
        shown = error(problem)
        raise MCPError(types.INTERNAL_ERROR, sentence(shown), shown) from problem
    content = types.TextResourceContents(uri=params.uri, mime_type=_JSON, text=text)
    return types.ReadResourceResult(contents=[content])


async def complete(
    caller: Caller, params: types.CompleteRequestParams
) -> types.CompleteResult:
    """Return agent names that begin with the text; of ids and rooms nothing is told."""
    start = params.argument.value.strip().lower()
    found: list[str] = []
    if params.argument.name in _NAMES:
        names = await caller.call(lambda: _names(caller))
        found = [name for name in names if name.startswith(start)]
    return types.CompleteResult(
        completion=types.Completion(
            values=found[:_MOST_COMPLETIONS],
            total=len(found),
            has_more=len(found) > _MOST_COMPLETIONS,
        )
    )


def _look_up(caller: Caller, uri: str) -> Plain:
    agent = caller.agent()
    if slot := _SLOT.fullmatch(uri):
        return _slot(agent, uri, *slot.groups())
    match = _URI.fullmatch(uri)
    if not match:
        raise MessageNotFoundError(uri)
    inbox, kind, message, _, room = match.groups()
    if inbox:
        return plain.page(agent.poll())
    if room:
        return plain.conversation(agent.room(room), "room")
    if kind == "thread":
        return plain.conversation(agent.thread(message), "thread")
    return message_with_receipts(agent, message)


def _slot(agent: "Agent", uri: str, *encoded: str) -> Plain:
    try:
        scope, entity, attribute = (unquote(each, errors="strict") for each in encoded)
        return plain.remembered(agent.memory.get(scope, entity, attribute))
    except (InvalidArgumentError, InvalidTextError, UnicodeDecodeError):
        raise MessageNotFoundError(uri) from None


def _names(caller: Caller) -> list[str]:
    try:
        entries = caller.mailbox().agents(all=True).entries
    except GitmailError:  # a completion is a convenience; the call itself will say it
        return []
    return [each.profile.name for each in entries if not each.profile.is_retired]
