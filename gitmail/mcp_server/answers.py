"""Answers and errors as a model sees them.

Some hosts show a model only the text, some only the structured content, so each answer
is in both, and identical; an error's code stands in both.
"""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from gitmail.errors import GitmailError, quoted
from gitmail.mcp_server.arguments import Arguments
from gitmail.render import plain
from gitmail.render.fence import fenced, fenced_error
from gitmail.render.plain import Plain

_MOST_PROBLEMS = 10
_LONGEST_PLACE = 80
_LIST_ALL = "List the names with agent_list and all=true"
HINTS = {
    "agent_not_found": _LIST_ALL,
    "already_in_force": (
        "memory_history shows how it came about; to go back to an earlier version of a"
        " slot, pass its revision"
    ),
    "blank_body": "Pass the text in that argument",
    "no_identity": "Call agent_register first",
    "no_recipients": _LIST_ALL,
    "not_found": (
        "Find mail with message_history or message_search, memory with memory_search;"
        " its argument retired shows what was retired, too"
    ),
    "not_registered": "Call agent_register first",
    "quarantined": (
        "mailbox_status says why; somebody must put the file right in a clone and push"
        " that"
    ),
    "retired_recipient": _LIST_ALL,
    "room_not_found": "Find rooms with message_history",
    "stale_revision": (
        "Weigh what is in force now, then pass its revision as expected, or none where"
        " nothing is"
    ),
    "too_many_matches": (
        "Say more exactly which, or pass confirm=true to forget all of them"
    ),
    "unknown_recipient": _LIST_ALL,
}
"""Where the hint of an error names a command, the tool that does it."""
_TOLD_BY_REMOTES = (
    "push_refused",
    "remote_denied",
    "remote_failed",
    "remote_full",
    "remote_locked",
    "remote_rewritten",
)
"""Errors whose message ends with the reason, in words that came from a remote."""


def compact(answer: Plain) -> str:
    """Return an answer as JSON without spaces, the text of others fenced."""
    return _json(_fenced(answer))


def result(answer: Plain) -> CallToolResult:
    """Return a tool's answer, the text of others fenced."""
    shown = _fenced(answer)
    return _result(shown, _json(shown), is_error=False)


def refusal(problem: GitmailError) -> CallToolResult:
    """Return an error that the caller can do something about."""
    return _result(shown := error(problem), sentence(shown), is_error=True)


def rejection(
    tool: str, arguments: type[Arguments], problem: ValidationError
) -> CallToolResult:
    """Return the error about arguments that do not fit the tool's schema."""
    found = [
        {"argument": _place(each), "problem": _problem(each)}
        for each in problem.errors(include_url=False)[:_MOST_PROBLEMS]
    ]
    said = "; ".join(f"{each['argument']}: {each['problem']}" for each in found)
    shown: Plain = {
        "error": {
            "code": "invalid_argument",
            "message": f"{tool} does not accept this: {said}",
            "hint": f"It takes {', '.join(arguments.names()) or 'no arguments'}",
            "arguments": found,
        }
    }
    return _result(shown, sentence(shown), is_error=True)


def error(problem: GitmailError) -> Plain:
    """Return an error as an object, with a hint that names tools.

    The message and the hint hold no text of others, and the data only within the fence.
    """
    shown = plain.error(problem)["error"]
    if problem.code in _TOLD_BY_REMOTES:
        shown["message"] = shown["message"].removesuffix(f": {shown['reason']}")
    if problem.code in HINTS:
        shown["hint"] = HINTS[problem.code]
    return {"error": fenced_error(shown, _token())}


def sentence(shown: Plain) -> str:
    """Return an error as text: code, message and hint, and then what others wrote.

    That is data which the message must not hold, but which a host may not show.
    """
    problem = shown["error"]
    text = f"{problem['code']}: {problem['message']}"
    if "hint" in problem:
        text += f"{'' if text.endswith(('.', '?')) else '.'} {problem['hint']}"
    if "fence" in problem:
        said = ("code", "message", "hint")
        text += f"\n{_json({k: v for k, v in problem.items() if k not in said})}"
    return text


def _fenced(answer: Plain) -> Plain:
    return fenced(answer, _token())


def _token() -> str:
    return secrets.token_hex(4)


def _place(found: Mapping[str, Any]) -> str:
    return ".".join(map(str, found["loc"]))[:_LONGEST_PLACE]


def _problem(found: Mapping[str, Any]) -> str:
    special = {"extra_forbidden": "there is no such argument", "missing": "required"}
    problem = f"{found['msg']}, not {quoted(found['input'])}"
    return special.get(found["type"], problem)


def _result(shown: Plain, text: str, *, is_error: bool) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=shown, is_error=is_error
    )


def _json(shown: Plain) -> str:
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
