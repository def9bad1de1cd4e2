"""What holds of the code as a whole: size, layers, start-up, names, errors."""

import argparse
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gitmail
from gitmail import Agent, Mailbox
from gitmail.cli.parser import make_parser
from gitmail.errors import GitmailError
from gitmail.mailbox.draft import BATCH_KEYS
from gitmail.mailbox.memory import Memory
from gitmail.mcp_server.memory_tools import MEMORY_TOOLS
from gitmail.mcp_server.tools import TOOLS
from tests.helpers import environment

ROOT = Path(__file__).parents[1]
SOFT_LIMIT, HARD_LIMIT = 300, 500
LARGE = {
    "errors.py": "one class per cause, most of it wording; even over the hard limit",
    "mailbox/agent.py": "the verbs and their documentation, no logic",
    "mailbox/forgetting.py": "what goes and what comes back, by one set of rules",
    "mailbox/mailbox.py": "the verbs and their documentation, no logic",
    "mailbox/memory.py": "the verbs and their documentation, no logic",
    "mailbox/recalling.py": "the query, and the histories that the same rows tell",
    "mailbox/remembering.py": "from arguments to the files of one commit",
    "mailbox/sending.py": "from drafts to files is one thought",
    "render/plain.py": "a function per answer",
    "render/text.py": "a function per answer",
    "store/folding.py": "each step of folding with the crash that it survives",
    "store/index.py": "the tables and what fills them",
    "store/keeper.py": "one index, step by step or anew, and what can befall it",
    "store/repository.py": "reading and building objects, one owner of dulwich",
    "store/store.py": "the write path from top to bottom",
}
"""Modules over the soft limit, each with what excuses it."""
HEAVY = {"dulwich", "yaml", "sqlite3", "filelock", "watchfiles", "mcp", "pydantic"}
UNTESTED_ERRORS: dict[str, str] = {}
"""Errors that no test brings about, each with the reason."""
ALONE = {"format", "demo", "mcp", "bundle", "merge-driver"}
"""Commands that are no verb of a mailbox."""


def public_methods(of: type) -> set[str]:
    """Return the names of a class's verbs."""
    return {
        name
        for name, value in inspect.getmembers(of, inspect.isroutine)
        if not name.startswith("_")
    }


def commands(group: str | None = None) -> set[str]:
    """Return the commands that the command line lists, or those of a group."""
    main = importlib.import_module("gitmail.cli.main")
    action = commands_of(make_parser(main._FAMILIES, "0"))
    if group:
        action = commands_of(action.choices[group])
    return {choice.dest for choice in action._choices_actions}


def commands_of(parser: argparse.ArgumentParser) -> Any:
    """Return what holds the commands of a parser."""
    (action,) = (
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    )
    return action


def all_errors() -> Iterator[type[GitmailError]]:
    """Yield every class that can reach a caller, wherever it is defined."""
    for module in pkgutil.walk_packages(gitmail.__path__, "gitmail."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    todo: list[type[GitmailError]] = [GitmailError]
    while todo:
        found = todo.pop()
        todo += found.__subclasses__()
        if "code" in vars(found) and found is not GitmailError:
            yield found


def loaded_by(statement: str) -> set[str]:
    """Return the packages that a fresh interpreter has after a statement."""
    script = f"{statement}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        cwd=ROOT,
        encoding="utf-8",
        env=environment(),
        timeout=60,
    )
    return {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_the_facade_is_what_it_says() -> None:
    """All public names are there, in order, and no other can be imported."""
    assert gitmail.__all__ == sorted(gitmail.__all__)
    assert {*gitmail._HOMES} == {*gitmail.__all__} - {"__version__"}
    for name in gitmail.__all__:
        assert getattr(gitmail, name)
    with pytest.raises(AttributeError):
        _ = gitmail.Store


def test_importing_the_package_is_light() -> None:
    """Not even what every use needs is imported before it is used."""
    assert not HEAVY & loaded_by("import gitmail")
    assert not HEAVY & loaded_by("import gitmail.errors, gitmail.clock")


def test_a_command_imports_neither_the_server_nor_the_watch(tmp_path: Path) -> None:
    """They cost more than all else together."""
    path = str(tmp_path / ".gitmail")
    lines = ["from gitmail.cli.main import main"] + [
        f"assert main({['--mailbox', path, *command.split()]!r}) == 0"
        for command in ("init", "register builder", "poll --as builder")
    ]

    loaded = loaded_by("\n".join(lines))

    assert {"dulwich", "sqlite3", "filelock"} <= loaded
    assert not {"watchfiles", "mcp", "pydantic", "anyio", "asyncio"} & loaded
    assert "yaml" not in loaded  # for what gitmail itself has written


def test_no_module_is_larger_than_it_may_be() -> None:
    """What is larger than most is listed with its reason."""
    sizes = {
        path.relative_to(ROOT / "gitmail").as_posix(): len(
            path.read_text("utf-8").splitlines()
        )
        for path in (ROOT / "gitmail").rglob("*.py")
    }

    assert {path for path, size in sizes.items() if size > HARD_LIMIT} <= {"errors.py"}
    assert {path for path, size in sizes.items() if size > SOFT_LIMIT} <= {*LARGE}
    assert {*LARGE} <= {*sizes}


def test_the_layers_hold() -> None:
    """A module imports only from below, and each dependency has one owner."""
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        capture_output=True,
        check=False,
        cwd=ROOT,
        encoding="utf-8",
        env=environment(),
        timeout=60,
    )

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_codes_are_unique_wherever_an_error_is_defined() -> None:
    """A caller can tell all of them apart."""
    codes = [found.code for found in all_errors()]

    assert len(codes) > 25
    assert len({*codes}) == len(codes)


def test_every_error_is_brought_about_by_a_test() -> None:
    """By its class or its code; one that cannot happen is listed with the reason."""
    tests = ROOT / "tests"
    lists = {tests / f"test_{name}.py" for name in ("errors", "docs", "architecture")}
    text = "\n".join(path.read_text("utf-8") for path in {*tests.rglob("*.py")} - lists)

    missing = {
        found.code
        for found in all_errors()
        if not re.search(rf"\b{found.__name__}\b|[\"']{found.code}[\"']", text)
    }

    assert missing == {*UNTESTED_ERRORS}


def test_a_verb_has_one_name_everywhere() -> None:
    """In Python, on the command line, and among the tools."""
    verbs = public_methods(Agent) - {"send_many"}
    mailbox = public_methods(Mailbox) & {
        "init",
        "register",
        "agents",
        "whois",
        "retire",
        "unretire",
        "log",
        "status",
        "verify",
        "doctor",
        "remote",
        "sync",
    }
    tools = {tool.name for tool in TOOLS}

    assert commands() - ALONE == verbs | mailbox | {"memory"}
    assert {f"message_{verb}" for verb in verbs - {"receipts", "room"}} | {
        "agent_register",
        "agent_list",
        "mailbox_status",
        "mailbox_sync",
    } == tools


def test_a_verb_of_memory_has_one_name_everywhere() -> None:
    """Getting an entity is getting; searching for nothing in particular is listing."""
    verbs = public_methods(Memory) - {"get_entity"}
    tools = {tool.name for tool in MEMORY_TOOLS}

    assert commands("memory") == verbs
    assert tools == {f"memory_{verb}" for verb in verbs - {"list"}}


def test_a_batch_says_what_a_send_says() -> None:
    """The keywords of the one are the keys of the other."""
    send = {*inspect.signature(Agent.send).parameters} - {"self"}
    reply = {*inspect.signature(Agent.reply).parameters} - {"self", "message"}

    assert {*BATCH_KEYS} == send
    assert reply == send | {"subject_prefix"}
