"""The README: every command in it runs, and it names all there is to name."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gitmail import Mailbox, errors

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """Return the fenced blocks of a language, without those of the set-up."""
    found = BLOCK.findall(README.read_text("utf-8"))
    return [
        text
        for name, kind, text in found
        if name == language and not kind and "venv" not in text
    ]


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """A project with code and an uncommitted change."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    project = tmp_path / "project"
    project.mkdir()
    run = ["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run([*run, "init", "-q"], cwd=project, check=True)
    (project / "code.py").write_text("print(1)\n", "utf-8")
    subprocess.run([*run, "add", "."], cwd=project, check=True)
    subprocess.run([*run, "commit", "-qm", "one"], cwd=project, check=True)
    return project


def run_shell(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script with this interpreter's commands first on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # noqa: TID251
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},  # noqa: TID251
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_command_of_the_readme_runs_in_a_scratch_project(project: Path) -> None:
    """The README's blocks are one session, from an empty project on."""
    result = run_shell("\n".join(blocks("sh")), project)

    assert result.returncode == 0, result.stderr
    assert "Looks good, merge it." in result.stdout
    assert "On it." in result.stdout


def test_the_python_of_the_readme_runs(project: Path) -> None:
    """The example finds the agents of the session above it."""
    with Mailbox.init(project / ".gitmail") as mailbox:
        for name in ("builder", "reviewer"):
            mailbox.register(name)
    (example,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=project, timeout=60, check=False
    )

    assert done.returncode == 0
    with Mailbox.open(project / ".gitmail") as mailbox:
        assert mailbox.agent("reviewer").poll().items == ()


def test_the_configurations_of_the_readme_start_the_server() -> None:
    """Each host's file parses and names the same command."""
    found = []
    for text in blocks("json"):
        (entry,) = next(iter(json.loads(text).values())).values()
        command = entry["command"]
        found.append(
            command if isinstance(command, list) else [command, *entry["args"]]
        )
    for text in blocks("toml"):
        entry = tomllib.loads(text)["mcp_servers"]["gitmail"]
        found.append([entry["command"], *entry["args"]])

    assert len(found) == 4
    assert all(
        c[:2] == ["gitmail", "--as"] and c[3] == "mcp" and len(c) == 4 for c in found
    )


def test_the_contributing_commands_are_those_of_the_continuous_check() -> None:
    """What a contributor runs is what decides."""
    (block,) = (t for n, k, t in BLOCK.findall(README.read_text("utf-8")) if k)
    script = (README.parent / ".ci" / "run").read_text("utf-8")
    commands = [c.strip() for line in block.splitlines() for c in line.split("&&")]

    assert len(commands) == 5
    assert all(f".venv/bin/{c}" in script for c in commands if "pytest" not in c)
    assert "pytest -q" in README.read_text("utf-8").split("## The first")[0]


def every_error(kind: type[errors.GitmailError]) -> list[type[errors.GitmailError]]:
    """Return a class of errors and all below it."""
    return [kind, *(e for below in kind.__subclasses__() for e in every_error(below))]


def test_every_error_code_is_in_the_readme() -> None:
    """A caller can look up each code that may come."""
    known = {e.code for e in every_error(errors.GitmailError)} - {"error"}
    text = README.read_text("utf-8")

    assert [code for code in sorted(known) if f"`{code}`" not in text] == []
