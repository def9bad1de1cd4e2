"""The tools of memory: what each is called, says of itself, accepts and does."""

from gitmail.errors import InvalidArgumentError
from gitmail.mcp_server import memory_arguments as args
from gitmail.mcp_server.caller import Caller
from gitmail.mcp_server.tools import Tool, on_thread
from gitmail.render import plain
from gitmail.render.plain import Plain


def _add(caller: Caller, said: args.Add) -> Plain:
    return plain.stored(caller.agent().memory.add(**said.said()))


def _set(caller: Caller, said: args.Set) -> Plain:
    given = said.said()
    ack = given.pop("ack_source", False)
    try:
        return plain.stored(caller.agent().memory.set(**given, ack=ack))
    except InvalidArgumentError as problem:
        if problem.details["argument"] != "ack":
            raise
        accepted = str(problem.details["accepted"])
        raise InvalidArgumentError("ack_source", ack, accepted) from problem


def _get(caller: Caller, said: args.Get) -> Plain:
    memory = caller.agent().memory
    if said.attribute is None:
        return plain.recollections(memory.get_entity(said.scope, said.entity))
    return plain.remembered(memory.get(said.scope, said.entity, said.attribute))


def _search(caller: Caller, said: args.Search) -> Plain:
    return plain.recollections(caller.agent().memory.search(**said.said()))


def _supersede(caller: Caller, said: args.Supersede) -> Plain:
    named = [each for each in (said.note, said.old_text) if each is not None]
    if len(named) != 1:
        rule = "an id as note, or else all of the note's text as old_text"
        raise InvalidArgumentError("note", said.note, rule)
    by_text = said.note is None
    memory = caller.agent().memory
    return plain.stored(memory.supersede(named[0], said.text, by_text=by_text))


def _forget(caller: Caller, said: args.Forget) -> Plain:
    return plain.forgotten(caller.agent().memory.forget(**said.said()))


def _restore(caller: Caller, said: args.Restore) -> Plain:
    return plain.stored(caller.agent().memory.restore(**said.said()))


def _history(caller: Caller, said: args.History) -> Plain:
    return plain.history(caller.agent().memory.history(**said.said()))


MEMORY_TOOLS = (
    Tool(
        name="memory_add",
        description=(
            "Keep a note for whoever works here later: what was learnt or decided and"
            " has no name to ask for it by; else use memory_set. What somebody should"
            " know or do now is a message, not memory."
        ),
        arguments=args.Add,
        run=on_thread(_add),
    ),
    Tool(
        name="memory_set",
        description=(
            "Put a value in force in a slot, in the place of a wrong or outdated one,"
            " which stays in the history. Scope fact: true of this project; world: true"
            " outside of it; lesson: learnt, entity is the task and attribute an aspect"
            " of it. Cite a message as source, and ack_source acks it in the same"
            " commit."
        ),
        arguments=args.Set,
        run=on_thread(_set),
        is_idempotent=True,
    ),
    Tool(
        name="memory_get",
        description=(
            "Show what is in force in a slot, without attribute in all slots of an"
            " entity; or a note, its revision as entity."
        ),
        arguments=args.Get,
        run=on_thread(_get),
        is_read_only=True,
    ),
    Tool(
        name="memory_search",
        description=(
            "Find what is in force in memory and has all the words; without a query"
            " the newest. Never shows mail. Long values are cut: memory_get shows them"
            " whole."
        ),
        arguments=args.Search,
        run=on_thread(_search),
        is_read_only=True,
    ),
    Tool(
        name="memory_supersede",
        description=(
            "Put a new note in the place of a wrong or outdated one. Tags and episode"
            " stay."
        ),
        arguments=args.Supersede,
        run=on_thread(_supersede),
    ),
    Tool(
        name="memory_forget",
        description=(
            "Drop junk, or what is no longer true and has nothing in its place: notes"
            " and facts are removed, world facts and lessons retired, for a reason;"
            " all stay in the history. Where something else is true now, use"
            " memory_set or memory_supersede instead. Notes go by id, or by filters of"
            " which any fits (match all: all); slots by entity, or entity and"
            " attribute."
        ),
        arguments=args.Forget,
        run=on_thread(_forget),
        is_destructive=True,
    ),
    Tool(
        name="memory_restore",
        description=(
            "Bring back what was retired, forgotten or superseded: a slot's last or"
            " named version, or a note."
        ),
        arguments=args.Restore,
        run=on_thread(_restore),
    ),
    Tool(
        name="memory_history",
        description=(
            "Show the versions of a slot, an entity or a note, newest first: what, who,"
            " when and why. Also of what is gone."
        ),
        arguments=args.History,
        run=on_thread(_history),
        is_read_only=True,
    ),
)
