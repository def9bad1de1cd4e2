"""The numbers and names by which the index finds what it does not hold; pure."""

from hashlib import sha256

from gitmail.records.memory import Scope
from gitmail.records.names import MessageId

_SCOPES = list(Scope)


def label_key(what: str, text: str) -> str:
    """Return the name under which a room or topic is numbered; no agent has it."""
    return f"{what} {text}"


def request_number(sender: str, request_id: str) -> int:
    """Return a number by which a request id is found; compare the text then."""
    return text_number(f"{sender}\x00{request_id}")


def scope_number(scope: Scope) -> int:
    """Return the number of a scope in the index."""
    return _SCOPES.index(scope)


def text_number(text: str) -> int:
    """Return a number by which a text is found; compare the text then."""
    digest = sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def thread_number(thread: MessageId) -> int:
    """Return a number by which a thread is found; compare the id then."""
    return int.from_bytes(bytes.fromhex(thread[:16]), signed=True)
