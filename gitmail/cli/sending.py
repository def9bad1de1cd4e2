"""`send` and `reply`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gitmail.cli import late
from gitmail.cli.bodies import read_batch, read_body
from gitmail.cli.parser import Commands, UsageError
from gitmail.cli.shell import Shell
from gitmail.errors import (
    BlankBodyError,
    ConflictError,
    GitmailError,
    InvalidArgumentError,
    InvalidInputError,
    NotRegisteredError,
    RequestConflictError,
)

if TYPE_CHECKING:
    from gitmail.mailbox.values import Sent

_BODY = (
    "The text is BODY, or the file of --body-file, or standard input where BODY is - or\
\nabsent. It is kept byte for byte."
)
_BATCH = """\
With --batch each line of the file is a JSON object with the keys to, body, subject,
cc, bcc, kind, importance, ack_required, topic, room, request_id and expires_in.
All are sent in one commit, or none. A file may have 64 MiB."""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    send = commands.add("send", run_send, "send a message", f"{_BODY}\n\n{_BATCH}")
    send.usage = (
        "gitmail send --to A[,B...] [OPTIONS] [BODY]\n       gitmail send --batch FILE"
    )
    _add_addresses(send, "agents, team:NAME or all; with commas or repeated")
    send.add_argument("--subject", metavar="S")
    send.add_argument(
        "--kind", metavar="K", help="brief, status, review, ack or note (the default)"
    )
    _add_manner(send)
    send.add_argument("--topic", metavar="T", help="a label to filter by")
    send.add_argument("--room", metavar="R", help="a room to gather mail in")
    send.add_argument(
        "--expires-in", metavar="2h", help="leave the lists after so long if unacked"
    )
    send.add_argument(
        "--batch", metavar="FILE", help="send a file of messages, - for stdin"
    )
    _add_body(send)

    reply = commands.add(
        "reply",
        run_reply,
        "answer a message, in its thread",
        f"Answering neither reads nor acknowledges the message.\n{_BODY}",
    )
    reply.add_argument("message", metavar="MESSAGE", help="id, or its first 8 digits")
    _add_addresses(reply, "instead of the sender")
    reply.add_argument("--subject-prefix", metavar="P", help="instead of Re:")
    _add_manner(reply)
    _add_body(reply)


def run_send(shell: Shell) -> int:
    """Send a message or a batch."""
    args = shell.args
    if args.batch is not None:
        return _send_batch(shell)
    if not args.to:
        message = "--to is required"
        raise UsageError(message, "gitmail send")
    sent = shell.agent.send(
        body=read_body(shell, "gitmail send"),
        subject=args.subject,
        kind=args.kind,
        topic=args.topic,
        room=args.room,
        expires_in=args.expires_in,
        **_shared(args),
    )
    return _show(shell, sent)


def run_reply(shell: Shell) -> int:
    """Answer a message."""
    args = shell.args
    sent = shell.agent.reply(
        args.message,
        read_body(shell, "gitmail reply"),
        subject_prefix=args.subject_prefix,
        **_shared(args),
    )
    return _show(shell, sent)


def _send_batch(shell: Shell) -> int:
    args = shell.args
    given = vars(args)
    said = [
        k for k in _NOT_WITH_BATCH if given[k] is not None and given[k] is not False
    ]
    if said:
        message = f"--batch FILE stands alone, without {said[0].replace('_', '-')}"
        raise UsageError(message, "gitmail send")
    agent = shell.agent
    lines = read_batch(shell, args.batch)
    try:
        sent = agent.send_many([message for _, message in lines])
    except (InvalidInputError, ConflictError) as error:
        only = 1 if len(lines) == 1 and not isinstance(error, NotRegisteredError) else 0
        number = error.details.get("message_number", only)
        if isinstance(number, int) and number:
            _tell_line(error, lines[:number])
        raise
    new = [each for each in sent if each.commit]
    shell.note(new[0].commit if new else None, (each.message.id for each in new))
    shell.show(
        lambda: late.plain.sent_many(sent),
        lambda: late.deliveries.sent_many(sent, shell.look),
    )
    return 0


def _tell_line(
    error: GitmailError, lines: Sequence[tuple[int, dict[str, object]]]
) -> None:
    """Word an error for the last of these lines of a batch."""
    at, message = lines[-1]
    error.details["line"] = at
    if isinstance(error, BlankBodyError):
        error.hint = 'Put text into the "body" of that line'
    if isinstance(error, RequestConflictError):
        wanted = str(message["request_id"]).strip()
        same = [n for n, m in lines[:-1] if str(m.get("request_id")).strip() == wanted]
        if same:  # then nothing was sent under that id that could be named
            error.details.pop("id", None)
            fields = error.message.rpartition(": ")[2]
            error.message = (
                f"it has the request id of line {same[0]}, but not its {fields}"
            )
    error.message = f"line {at}: {error.message}"


_NOT_WITH_BATCH = (
    "to", "cc", "bcc", "subject", "kind", "importance", "ack_required", "topic", "room",
    "request_id", "expires_in", "body", "body_file",
)  # fmt: skip


def _shared(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "to": _addresses("--to", args.to),
        "cc": _addresses("--cc", args.cc),
        "bcc": _addresses("--bcc", args.bcc),
        "importance": args.importance,
        "ack_required": args.ack_required,
        "request_id": args.request_id,
    }


def _addresses(option: str, said: list[str] | None) -> str | None:
    if said is None:
        return None
    names = ",".join(said)
    if not names.strip(" ,"):
        raise InvalidArgumentError(option, names, "it names nobody")
    return names


def _show(shell: Shell, sent: "Sent") -> int:
    shell.note(sent.commit, [sent.message.id])
    shell.show(
        lambda: late.plain.sent(sent), lambda: late.deliveries.sent(sent, shell.look)
    )
    return 0


def _add_addresses(parser: argparse.ArgumentParser, whom: str) -> None:
    parser.add_argument("--to", action="append", metavar="A[,B...]", help=whom)
    parser.add_argument("--cc", action="append", metavar="A[,B...]", help="copies")
    parser.add_argument(
        "--bcc",
        action="append",
        metavar="A[,B...]",
        help="copies that others do not see",
    )


def _add_manner(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--importance", metavar="I", help="low, normal (the default), high or urgent"
    )
    parser.add_argument(
        "--ack-required", action="store_true", help="ask for an acknowledgement"
    )
    parser.add_argument(
        "--request-id", metavar="ID", help="makes a retry safe: one ID sends once"
    )


def _add_body(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--body-file", metavar="F", help="take the text from a file")
    parser.add_argument("body", nargs="?", metavar="BODY", help="the text, - for stdin")
