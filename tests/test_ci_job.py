"""The README's job for a git host: what it runs fails and passes as it should."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitmail import Mailbox
from gitmail.store.refs import REF
from tests.damages import message_of
from tests.helpers import environment, git
from tests.mailfiles import Clone
from tests.processes import needs_git, posix_only
from tests.tampering import forge
from tests.test_docs import blocks

pytestmark = [needs_git, posix_only]

# What GitHub runs a step with, by what the step says.
SHELLS = {
    None: ("bash", "-e"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail"),
}


def job() -> dict[str, Any]:
    """Return the workflow of the README."""
    (text,) = blocks("yaml")
    # Its first key would be a boolean to all loaders but this one.
    workflow: dict[str, Any] = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - as said
    return workflow


def step() -> dict[str, Any]:
    """Return the step that verifies."""
    last: dict[str, Any] = job()["jobs"]["verify"]["steps"][-1]
    return last


class Host:
    """A git host with a project whose mailbox is on a branch of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._origin = folder / "origin.git"
        self.box = folder / "mailbox"
        self.summary = folder / "summary.md"
        git(folder, "init", "-q", "--bare", str(self._origin))
        with Mailbox.init(self.box) as mailbox:
            mailbox.register("builder")
            mailbox.register("reviewer")
            mailbox.agent("builder").send(to="reviewer", body="One.")
        self.publish(REF)

    def edit(self) -> None:
        """Put another text into a message behind the mailbox's back."""
        path = message_of(self.box)
        data = (self.box / path).read_bytes() + b"Edited.\n"
        forge(Clone(self.box, self._folder / "clone"), {path: data})

    def publish(self, ref: str) -> None:
        """Give the host what the mailbox has, under some name."""
        git(self.box, "push", "-q", str(self._origin), f"gitmail:{ref}")

    def run(self, pull: str) -> int:
        """Run the job's step as such a host does, and return its exit code."""
        work = self._folder / "work"
        work.mkdir()
        git(work, "init", "-q")
        git(work, "remote", "add", "origin", str(self._origin))
        git(work, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
        git(work, "checkout", "-q", "-B", "gitmail", "refs/remotes/origin/gitmail")
        script = self._folder / "step.sh"
        script.write_text(step()["run"], "utf-8")
        known = environment()
        mine = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{known['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "PULL": pull,
        }
        shell = SHELLS[step().get("shell")]
        done = subprocess.run(
            [*shell, str(script)], cwd=work, env=known | mine, check=False, timeout=60
        )
        return done.returncode


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    """Return a host with a mailbox that is sound."""
    return Host(tmp_path)


def test_the_job_stands_where_its_triggers_take_it_from() -> None:
    """And a finding fails it although its output goes through a pipe."""
    workflow = job()

    assert set(workflow["on"]) == {
        "pull_request_target",
        "schedule",
        "workflow_dispatch",
    }
    assert workflow["on"]["pull_request_target"]["branches"] == ["gitmail"]
    assert workflow["permissions"] == {"contents": "read"}
    assert step()["shell"] == "bash"
    assert step()["env"] == {"PULL": "${{ github.event.number }}"}


def test_the_job_passes_a_branch_that_is_sound(host: Host) -> None:
    """All of it is read, once a day."""
    assert host.run("") == 0
    assert "1 message" in host.summary.read_text("utf-8")


def test_the_job_passes_a_pull_request_that_is_sound(host: Host) -> None:
    """What it would add is read."""
    with Mailbox.open(host.box) as mailbox:
        mailbox.agent("reviewer").poll(ack=True)
    host.publish("refs/pull/7/head")

    assert host.run("7") == 0
    assert "0 messages, 1 receipt" in host.summary.read_text("utf-8")


@pytest.mark.parametrize("pull", ["", "7"])
def test_the_job_fails_where_a_message_was_edited(host: Host, pull: str) -> None:
    """In the branch itself, or in what a pull request would add."""
    host.edit()
    host.publish(f"refs/pull/{pull}/head" if pull else REF)

    assert host.run(pull) == 1
    assert "messages/" in host.summary.read_text("utf-8")
