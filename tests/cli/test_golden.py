"""What people see: the help of each command and a conversation, word for word.

After a change that is meant, write the files anew and read their difference:
`pytest -n0 tests/cli/test_golden.py --refresh-golden`
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import CommandLine

GOLDEN = Path(__file__).parents[2] / "fixtures" / "cli"
COMMANDS = [
    "init", "register", "agents", "whois", "retire", "unretire", "send", "reply",
    "poll", "wait", "read", "receipts", "ack", "thread", "room", "history", "search",
    "memory", "log", "status", "remote", "sync", "verify", "doctor", "bundle",
    "merge-driver", "format", "demo", "mcp",
]  # fmt: skip
GROUPS = {
    "memory": [
        "add", "set", "supersede", "get", "list", "search", "history", "forget",
        "restore",
    ],
    "remote": ["add", "show", "remove"],
    "bundle": ["create", "apply", "inspect"],
}  # fmt: skip
"""Commands that have commands of their own."""
ALL = [*COMMANDS, *(f"{group} {name}" for group in GROUPS for name in GROUPS[group])]
_CONVERSATION = """\
status
init --project demo
init
--as builder poll
register builder --program editor --description "Writes the *parser*."
register reviewer --team core --kind human
register builder
--as builder send --to reviewer,team:core --subject "Parser handoff" --kind brief \
--importance high --ack-required --topic parser --room parser --request-id r1 \
"The parser is ready: `src/parser.py`.\\n\\n- It reads nested lists.\\n- Comments?"
--as builder send --to reviewer --request-id r1 "Something else."
--as builder send --to revewer "A typo."
--as reviewer poll
--as reviewer read ID1
--as reviewer ack ID1 --stage read
--as reviewer poll
--as reviewer ack ID1 ID1 12345678 --note "Comments may go.\\nThe rest is fine."
--as reviewer reply ID1 "Merge it.\\n\\nThen write the manual."
--as reviewer poll
--as builder poll
--as builder poll --full
--as builder poll --importance urgent
--as builder receipts ID1
--as builder thread ID1
--as builder room parser
--as builder history --limit 1
--as builder search nested lists
--as builder search nowhere
--as builder wait --timeout 0 --from reviewer --kind brief
agents
whois builder
retire builder
agents
agents --all
log --op send
log
--as builder status
"""
_MEMORY = """\
init --project demo
register builder
register reviewer
--as builder memory list
--as builder send --to reviewer "The parser is yours from now on."
--as builder memory set fact parser owner builder
--as reviewer memory set fact Parser OWNER reviewer --source message:ID1 --ack \
--confidence 0.9 --tag people
--as builder memory set fact parser owner builder --expected none
--as builder memory set fact parser owner reviewer
--as builder memory get fact parser owner
--as builder memory get fact parser onwer
--as builder memory get fact parser
--as builder memory set lesson "release the parser" "what to check" -
--as builder memory set lesson "release the parser" "what to check" "The manual."
--as reviewer memory forget lesson "release the parser" --reason "it has no manual"
--as builder memory get lesson "release the parser"
--as builder memory list --retired
--as builder memory history lesson "release the parser"
--as builder memory restore lesson "release the parser" "what to check"
--as builder memory restore lesson "release the parser" "what to check"
--as builder memory add "# Caching\\n\\nIt does not pay." --tag speed
--as builder memory supersede --text "# Caching\\n\\nIt does not pay." "It pays."
--as builder memory list
--as builder memory list note --tag speed
--as builder memory search parser
--as builder memory forget note --tag speed --dry-run
--as builder memory forget note --tag speed --reason "nobody knows"
--as builder memory forget note --tag speed
--as builder memory forget fact parser owner
--as builder memory history fact parser
log --path memory/facts
"""


@pytest.fixture(name="golden")
def _golden(pytestconfig: pytest.Config) -> Callable[[str, str], None]:
    """Return what compares a text with its golden file, or writes it."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if pytestconfig.getoption("--refresh-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert text == file.read_text("utf-8")

    return compare


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="each Python words and wraps help anew"
)
@pytest.mark.parametrize("command", ["", *ALL])
def test_the_help_of_each_command_is_as_it_was_reviewed(
    command: str,
    gitmail: CommandLine,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Help is part of the product."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = gitmail(*command.split(), "--help")

    assert (ran.code, ran.err) == (0, "")
    golden(f"help/{_file(command or 'gitmail')}", ran.out)


def test_every_command_that_help_lists_has_a_golden_help_and_none_is_left_over(
    gitmail: CommandLine,
) -> None:
    """No command is added or dropped without its help being looked at."""

    def listed(*command: str) -> list[str]:
        text = gitmail(*command, "--help").out
        return re.findall(r"^    ([a-z-]+) ", text, re.MULTILINE)

    assert sorted(COMMANDS) == sorted(listed())
    assert {group: sorted(GROUPS[group]) for group in GROUPS} == {
        name: sorted(listed(name)) for name in COMMANDS if listed(name)
    }
    assert {_file(name) for name in ("gitmail", *ALL)} == {
        file.name for file in (GOLDEN / "help").iterdir()
    }


@pytest.mark.parametrize(
    ("name", "story"), [("conversation", _CONVERSATION), ("memory", _MEMORY)]
)
def test_a_story_reads_as_it_was_reviewed(
    name: str, story: str, gitmail: CommandLine, golden: Callable[[str, str], None]
) -> None:
    """The text output of every command, in two stories; an id stands as `<1>`."""
    told = _Story(gitmail)
    for line in story.replace("\\\n", "").splitlines():
        told.tell(line)
        gitmail.clock.advance(minutes=2)

    golden(f"{name}.txt", told.text)


class _Story:
    """Commands and what they print, without what differs from run to run."""

    def __init__(self, gitmail: CommandLine) -> None:
        self.text = ""
        self._gitmail = gitmail
        self._sent: list[str] = []
        self._ids: dict[str, int] = {}

    def tell(self, line: str) -> None:
        """Run a command line and write down what it prints."""
        argv = [self._real(word) for word in _words(line)]
        ran = self._gitmail(*argv)
        self._sent += re.findall(r"^Sent ([0-9a-f]{40})$", ran.out, re.MULTILINE)
        result = "" if ran.code == 0 else f"(exit {ran.code})\n"
        self.text += self._neutral(f"$ gitmail {line}\n{ran.out}{ran.err}{result}\n")

    def _real(self, word: str) -> str:
        return re.sub(r"\bID(\d)\b", lambda n: self._sent[int(n[1]) - 1], word)

    def _neutral(self, text: str) -> str:
        text = text.replace(str(self._gitmail.folder), "/project")
        text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>", text)
        return re.sub(
            r"\b[0-9a-f]{10}([0-9a-f]{2}|[0-9a-f]{30})?\b", self._number, text
        )

    def _number(self, found: re.Match[str]) -> str:
        number = self._ids.setdefault(found[0][:10], len(self._ids) + 1)
        is_column = found.string.startswith("  ", found.end())
        return f"<{number}>".ljust(10) if is_column else f"<{number}>"


def _words(line: str) -> list[str]:
    words = re.findall(r'"([^"]*)"|(\S+)', line)
    return [(quoted or plain).replace("\\n", "\n") for quoted, plain in words]


def _file(command: str) -> str:
    return f"{command.replace(' ', '-')}.txt"
