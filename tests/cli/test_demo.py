"""The demonstration, with its real processes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitmail import demo
from gitmail.render.terminal import Look
from tests.cli.conftest import CommandLine
from tests.helpers import START, blob_id, environment


def test_the_demo_shows_a_conversation_a_fact_the_log_and_a_file_and_cleans_up(
    tmp_path: Path,
) -> None:
    """A newcomer sees all of gitmail without a project, a mailbox or git."""
    own = environment(TMPDIR=str(tmp_path), GITMAIL_DIR="/nowhere", PATH="/nowhere")
    done = subprocess.run(
        [sys.executable, "-m", "gitmail", "demo"],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=50,
    )

    assert (done.returncode, done.stderr) == (0, "")
    for told in (
        r"^reviewer +message_wait +waits for mail$",
        r"^reviewer +message_wait +returns \w+ from builder, \d+ ms after it was sent$",
        r"^  reviewer  to  acked ",
        r"^builder +message_wait +returns \w+ from reviewer$",
        r"^builder +memory_set +fact parser owner: builder, ",
        r"^Source: +message:\w{40}$",
        r"^\w{10}  just now  builder  memory-set  facts/parser/owner$",
        r"^\w{10}  just now  reviewer  ack  ",
        r"^  gitmail --as builder mcp  ",
    ):
        assert re.search(told, done.stdout, re.MULTILINE), told
    file = re.search(r"\$ cat \S+-(\w{8})\.md\n(.*)\n\n# That", done.stdout, re.DOTALL)
    assert file
    assert blob_id(f"{file[2]}\n".encode()).startswith(file[1])
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_fails_ends_the_demo_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the step; nothing is left behind."""
    monkeypatch.setattr(demo._Demo, "title", lambda self, _: self.command("agents"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(demo.DemoError, match="at agents: gitmail: No mailbox") as told:
        demo.run(print, Look(now=START))

    assert (told.value.code, told.value.exit_code) == ("demo_failed", 1)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_is_for_people_alone(gitmail: CommandLine) -> None:
    """With --json there is one object on standard output or none."""
    ran = gitmail("--json", "demo")

    assert (ran.code, ran.error["code"]) == (2, "usage")


def test_a_reader_that_leaves_during_the_conversation_is_no_error(
    tmp_path: Path,
) -> None:
    """`gitmail demo | head` ends quietly wherever it is cut, and cleans up."""
    with subprocess.Popen(
        [sys.executable, "-m", "gitmail", "demo"],
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        while b"message_wait" not in process.stdout.readline():
            assert process.poll() is None
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (0, b"")
    assert list(tmp_path.iterdir()) == []
