"""What a tool is, and those of mail: their names, descriptions and what they do."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.server import ServerRequestContext

from gitmail.mcp_server import arguments as args
from gitmail.mcp_server.caller import Caller
from gitmail.mcp_server.waiting import wait
from gitmail.render import plain
from gitmail.render.plain import Plain
from gitmail.render.syncing import synced_plain

if TYPE_CHECKING:
    from gitmail.mailbox.agent import Agent

Context = ServerRequestContext[Any, Any]
Verb = Callable[[Caller, Any], Plain]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool.

    Attributes:
        run: Takes the caller, arguments of the class `arguments`, and the request.
    """

    name: str
    description: str
    arguments: type[args.Arguments]
    run: Callable[[Caller, Any, Context], Awaitable[Plain]]
    is_read_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False
    is_open_world: bool = False

    def listed(self) -> types.Tool:
        """Return the tool as `tools/list` shows it."""
        hints = types.ToolAnnotations(open_world_hint=self.is_open_world)
        if self.is_read_only:
            hints.read_only_hint = True
        else:
            hints.destructive_hint = self.is_destructive
        if self.is_idempotent:
            hints.idempotent_hint = True
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=self.arguments.schema_of(),
            annotations=hints,
        )


def on_thread(verb: Verb) -> Callable[[Caller, Any, Context], Awaitable[Plain]]:
    """Return what runs a blocking verb for a tool."""

    async def run(caller: Caller, said: Any, _: Context) -> Plain:
        return await caller.call(lambda: verb(caller, said))

    return run


def _send(caller: Caller, said: args.Send) -> Plain:
    return plain.sent(caller.agent().send(**said.said()))


def _reply(caller: Caller, said: args.Reply) -> Plain:
    given = said.said()
    message = given.pop("message_id")
    return plain.sent(caller.agent().reply(message, **given))


def _poll(caller: Caller, said: args.Poll) -> Plain:
    return plain.page(caller.agent().poll(**said.filters()))


def _read(caller: Caller, said: args.Read) -> Plain:
    return message_with_receipts(caller.agent(), said.message_id)


def _ack(caller: Caller, said: args.Ack) -> Plain:
    given = said.said()
    ids = given.pop("message_ids")
    return plain.acked(caller.agent().ack(ids, **given))


def _history(caller: Caller, said: args.History) -> Plain:
    return plain.page(caller.agent().history(**said.said()))


def _search(caller: Caller, said: args.Search) -> Plain:
    return plain.found(said.query, caller.agent().search(**said.said()))


def _thread(caller: Caller, said: args.Thread) -> Plain:
    given = said.said()
    message = given.pop("message_id")
    return plain.conversation(caller.agent().thread(message, **given), "thread")


def _register(caller: Caller, said: args.Register) -> Plain:
    return plain.registered(caller.register(**said.said()))


def _agents(caller: Caller, said: args.Listing) -> Plain:
    return plain.directory(caller.mailbox().agents(all=said.all))


def _status(caller: Caller, _: args.Nothing) -> Plain:
    return plain.status(caller.mailbox().status(caller.name()))


def _sync(caller: Caller, _: args.Nothing) -> Plain:
    return synced_plain(caller.sync())


def message_with_receipts(agent: "Agent", message: str) -> Plain:
    """Return a message, and to its sender how far each recipient is (K6)."""
    found = agent.read(message)
    answer = {"message": plain.item(found)}
    if found.message.sender != agent.name:
        return answer
    return answer | {"receipts": plain.receipts(agent.receipts(found.id))["receipts"]}


TOOLS = (
    Tool(
        name="message_send",
        description=(
            "Send Markdown mail to agents of this repository. If a recipient is"
            " unknown nothing is sent."
        ),
        arguments=args.Send,
        run=on_thread(_send),
    ),
    Tool(
        name="message_reply",
        description=(
            "Answer a message in its thread, to its sender. Topic, room and importance"
            " carry over. That neither reads nor acks it."
        ),
        arguments=args.Reply,
        run=on_thread(_reply),
    ),
    Tool(
        name="message_poll",
        description=(
            "List your mail that you have not acked, oldest first, as previews."
            " Marks nothing unless ack is true."
        ),
        arguments=args.Poll,
        run=on_thread(_poll),
        is_read_only=True,
    ),
    Tool(
        name="message_wait",
        description=(
            "As message_poll, but wait until there is mail. timed_out true means that"
            " none came: call again. Mail that you leave unacked comes back at once,"
            " unless you pass the cursor as after."
        ),
        arguments=args.Wait,
        run=wait,
        is_read_only=True,
    ),
    Tool(
        name="message_read",
        description=(
            "Show a message whole, and if you sent it, who read or acked it, with"
            " their notes. Marks nothing."
        ),
        arguments=args.Read,
        run=on_thread(_read),
        is_read_only=True,
    ),
    Tool(
        name="message_ack",
        description=(
            "Tell senders that you handled messages (acked) or saw them (read). It"
            " approves nothing. The sender sees the note."
        ),
        arguments=args.Ack,
        run=on_thread(_ack),
        is_idempotent=True,
    ),
    Tool(
        name="message_history",
        description=(
            "List mail that you sent or received, newest first. The cursor leads to"
            " older mail."
        ),
        arguments=args.History,
        run=on_thread(_history),
        is_read_only=True,
    ),
    Tool(
        name="message_search",
        description=(
            "Find mail of yours that has all the words. The query may hold from:NAME,"
            " to:NAME and kind:KIND too."
        ),
        arguments=args.Search,
        run=on_thread(_search),
        is_read_only=True,
    ),
    Tool(
        name="message_thread",
        description="Show the thread of a message, oldest first.",
        arguments=args.Thread,
        run=on_thread(_thread),
        is_read_only=True,
    ),
    Tool(
        name="agent_register",
        description=(
            "Say who you are, before anything else. Without a name you keep yours or"
            " get one. Registering again changes only what you pass."
        ),
        arguments=args.Register,
        run=on_thread(_register),
        is_idempotent=True,
    ),
    Tool(
        name="agent_list",
        description="List the agents that you can write to.",
        arguments=args.Listing,
        run=on_thread(_agents),
        is_read_only=True,
    ),
    Tool(
        name="mailbox_status",
        description=(
            "Show where the mailbox is, who you are, what is pending and which files"
            " are damaged."
        ),
        arguments=args.Nothing,
        run=on_thread(_status),
        is_read_only=True,
    ),
    Tool(
        name="mailbox_sync",
        description=(
            "Exchange mail and memory with other machines, where there is a remote."
        ),
        arguments=args.Nothing,
        run=on_thread(_sync),
        is_idempotent=True,
        is_open_world=True,
    ),
)
