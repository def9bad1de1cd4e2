"""The demonstration, with its real processes (issue: seen working, 3)."""

import re
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import CommandLine
from tests.helpers import blob_id, environment


def test_the_demo_shows_a_conversation_its_log_and_a_file_and_cleans_up(
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
        r"^\w{10}  just now  reviewer  ack  ",
        r"^  gitmail --as builder mcp  ",
    ):
        assert re.search(told, done.stdout, re.MULTILINE), told
    file = re.search(r"\$ cat \S+-(\w{8})\.md\n(.*)\n\n# That", done.stdout, re.DOTALL)
    assert file
    assert blob_id(f"{file[2]}\n".encode()).startswith(file[1])
    assert list(tmp_path.iterdir()) == []


def test_the_demo_is_for_people_alone(gitmail: CommandLine) -> None:
    """With --json there is one object on standard output or none."""
    ran = gitmail("--json", "demo")

    assert (ran.code, ran.error["code"]) == (2, "usage")
