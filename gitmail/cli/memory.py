"""What `memory` and its commands do; their grammar is in `memory_grammar`."""

import argparse
from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.bodies import read_text
from gitmail.cli.parser import UsageError
from gitmail.cli.shell import Shell

if TYPE_CHECKING:
    from gitmail.mailbox.memory_values import Recollections, Stored

_NOTE = "note"
_SLOTS = ("fact", "world", "lesson")


def run_add(shell: Shell) -> int:
    """Add a note."""
    args = shell.args
    stored = shell.agent.memory.add(
        read_text(shell, args.text, "text"),
        tags=args.tags,
        source=args.source,
        episode=args.episode,
    )
    return _show_stored(shell, stored)


def run_set(shell: Shell) -> int:
    """Put a value in force."""
    args = shell.args
    stored = shell.agent.memory.set(
        args.scope,
        args.entity,
        args.attribute,
        read_text(shell, args.value, "value"),
        source=args.source,
        confidence=args.confidence,
        tags=args.tags,
        expected=args.expected,
        ack=args.ack,
    )
    return _show_stored(shell, stored)


def run_get(shell: Shell) -> int:
    """Show what is in force in a slot, or of an entity, or a note."""
    args = shell.args
    scope, entity = _scope_and_entity(args, "get")
    memory = shell.agent.memory
    if args.attribute is None:
        records = memory.get_entity(scope, entity)
        shell.show(
            lambda: late.plain.recollections(records),
            lambda: late.memories.entity(records, shell.look),
        )
        return 0
    found = memory.get(scope, entity, args.attribute)
    shell.show(
        lambda: late.plain.remembered(found),
        lambda: late.memories.remembered(found, shell.look),
    )
    return 0


def run_list(shell: Shell) -> int:
    """List what is in force."""
    args = shell.args
    found = shell.agent.memory.list(
        args.scope,
        entity=args.entity,
        tags=args.tags,
        retired=args.retired,
        limit=args.limit,
    )
    return _show_found(shell, found)


def run_search(shell: Shell) -> int:
    """Find what is in force."""
    args = shell.args
    found = shell.agent.memory.search(
        " ".join(args.query),
        scopes=args.scopes,
        entity=args.entity,
        tags=args.tags,
        source=args.source,
        by=args.by,
        since=args.since,
        retired=args.retired,
        limit=args.limit,
    )
    return _show_found(shell, found)


def run_supersede(shell: Shell) -> int:
    """Put a note in the place of another.

    Raises:
        UsageError: Both ways to name the other are used, or none.
    """
    note, text, old = shell.args.note, shell.args.text, shell.args.old
    if old is not None:
        if text is not None:
            message = "NOTE and --text cannot both be given"
            raise UsageError(message, "gitmail memory supersede")
        note, text = old, note
    if note is None:
        message = "NOTE or --text is required"
        raise UsageError(message, "gitmail memory supersede")
    stored = shell.agent.memory.supersede(
        note, read_text(shell, text, "new"), by_text=old is not None
    )
    return _show_stored(shell, stored)


def run_history(shell: Shell) -> int:
    """Show the versions of a slot, an entity or a note."""
    args = shell.args
    scope, entity = _scope_and_entity(args, "history")
    history = shell.agent.memory.history(
        scope, entity, args.attribute, limit=args.limit
    )
    shell.show(
        lambda: late.plain.history(history),
        lambda: late.memories.history(history, shell.look),
    )
    return 0


def run_forget(shell: Shell) -> int:
    """Remove notes or facts, retire world facts or lessons.

    Raises:
        UsageError: It is not said of what.
    """
    args = shell.args
    if args.entity is None and args.scope in _SLOTS:
        message = "ENTITY is required"
        raise UsageError(message, "gitmail memory forget")
    forgotten = shell.agent.memory.forget(
        args.scope,
        args.entity,
        args.attribute,
        text=args.text,
        substring=args.substring,
        source=args.source,
        episode=args.episode,
        tag=args.tag,
        match=args.match,
        confirm=args.confirm,
        dry_run=args.dry_run,
        reason=args.reason,
    )
    shell.note(forgotten.commit, (each.record.id for each in forgotten.records))
    shell.show(
        lambda: late.plain.forgotten(forgotten),
        lambda: late.memories.forgotten(forgotten, shell.look),
    )
    return 0


def run_restore(shell: Shell) -> int:
    """Bring back what was retired, forgotten or superseded.

    Raises:
        UsageError: It is not said which attribute.
    """
    args = shell.args
    scope, entity = _scope_and_entity(args, "restore")
    if args.attribute is None and scope in _SLOTS:
        message = "ATTRIBUTE is required"
        raise UsageError(message, "gitmail memory restore")
    stored = shell.agent.memory.restore(
        scope, entity, args.attribute, revision=args.revision, reason=args.reason
    )
    return _show_stored(shell, stored)


def _scope_and_entity(args: argparse.Namespace, command: str) -> tuple[str, str]:
    """Return both, where a note may stand in the place of the scope."""
    if args.entity is not None:
        return args.scope, args.entity
    if args.scope in (_NOTE, *_SLOTS):
        message = f"{'NOTE' if args.scope == _NOTE else 'ENTITY'} is required"
        raise UsageError(message, f"gitmail memory {command}")
    return _NOTE, args.scope


def _show_stored(shell: Shell, stored: "Stored") -> int:
    acked = [stored.acked] if stored.acked else []
    shell.note(stored.commit, [stored.record.id, *acked])
    shell.show(
        lambda: late.plain.stored(stored),
        lambda: late.memories.stored(stored, shell.look),
    )
    return 0


def _show_found(shell: Shell, found: "Recollections") -> int:
    shell.show(
        lambda: late.plain.recollections(found),
        lambda: late.memories.found(found, shell.look),
    )
    return 0
