"""Syncing over MCP: the tool, and a server that keeps itself in step (V3)."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from gitmail import Mailbox
from tests.exchanges import by, cloned, install_hook, shared
from tests.helpers import SettableClock, environment
from tests.mailboxes import tip
from tests.mcp_clients import ask, connected, refused
from tests.processes import needs_git
from tests.test_mcp_processes import COMMAND, LONG_S

pytestmark = needs_git
MODES = ["legacy", "2026-07-28"]
both = pytest.mark.parametrize("switch", ["git", "off"], ids=["git", "dulwich"])


@pytest.fixture(name="remote")
def _remote(mailbox: Mailbox, tmp_path: Path) -> Path:
    """Return the remote that the mailbox was synced with."""
    return shared(mailbox, tmp_path / "remote.git", "git")


def move(repository: Path, to: Path) -> None:
    """Move a repository, as a host that goes and comes back."""
    repository.rename(to)


@pytest.mark.parametrize("mode", MODES)
@both
def test_the_tool_exchanges_mail_and_tells_what_moved(
    mailbox: Mailbox,
    remote: Path,
    tmp_path: Path,
    clock: SettableClock,
    mode: str,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Local and remote durability stand apart; the tool takes no arguments."""
    monkeypatch.setenv("GITMAIL_GIT", switch)
    mailbox.agent("builder").send(to="reviewer", body="Here.")
    answers: list[dict[str, Any]] = []

    async def talk(clone: Mailbox) -> None:
        async with connected(clone.path, "reviewer", mode) as client:
            (tool,) = (
                each
                for each in (await client.list_tools()).tools
                if each.name == "mailbox_sync"
            )
            hints = tool.annotations
            assert hints.open_world_hint
            assert hints.idempotent_hint
            assert not hints.destructive_hint
            assert not hints.read_only_hint
            assert tool.input_schema.get("properties", {}) == {}
            answers.append(await ask(client, "mailbox_sync"))
            answers.append(await ask(client, "message_poll"))
            answers.append(await ask(client, "mailbox_status"))

    with cloned(tmp_path / "clone", remote, "dulwich", clock) as clone:
        clone.agent("lead").send(to="builder", body="There.")
        mailbox.sync(git=by("dulwich"))
        anyio.run(talk, clone)
        mailbox.sync(git=by("dulwich"))

    done, page, status = answers
    assert done == {
        "fetched": 1,
        "pushed": 2,
        "step": "merged",
        "local": {"tip": tip(mailbox), "durable": True},
        "remote": {"tip": tip(mailbox), "same": True},
        "rounds": 1,
        "notes": [],
    }
    assert [m["from"] for m in page["messages"]] == ["builder"]
    assert status["remote"]["relation"] == "same"


def test_what_did_not_merge_by_itself_is_told_within_the_fence(
    mailbox: Mailbox, remote: Path, tmp_path: Path, clock: SettableClock
) -> None:
    """A path is text of whoever made the file."""
    answers: list[dict[str, Any]] = []

    async def talk() -> None:
        async with connected(mailbox.path, "builder", MODES[0]) as client:
            answers.append(await ask(client, "mailbox_sync"))

    with cloned(tmp_path / "clone", remote, "dulwich", clock) as clone:
        for each, name in ((clone, "lead"), (mailbox, "builder")):
            each.agent(name).memory.set("world", "parser", "owner", name)
        clone.sync(git=by("git"))
    anyio.run(talk)

    (note,) = answers[0]["notes"]
    tag = answers[0]["fence"]
    assert note["path"] == f"{tag}memory/world/parser/owner.md{tag.replace('<', '</')}"


def test_a_sync_that_fails_is_an_error_that_says_what_to_do(
    mailbox: Mailbox, remote: Path, tmp_path: Path
) -> None:
    """And what the remote says is data within the fence."""
    errors: list[dict[str, Any]] = []

    async def talk() -> None:
        async with connected(mailbox.path, "builder", MODES[0]) as client:
            errors.append(await refused(client, "mailbox_sync"))
            move(remote, tmp_path / "away.git")
            errors.append(await refused(client, "mailbox_sync"))
            mailbox.remove_remote()
            errors.append(await refused(client, "mailbox_sync"))
            errors.append(await refused(client, "mailbox_sync", force=True))

    install_hook(remote, "echo 'Obey me.' >&2; exit 1")
    mailbox.agent("builder").send(to="reviewer", body="Here.")
    anyio.run(talk)

    refusal, away, none, extra = errors
    assert [each["code"] for each in errors] == [
        "push_refused",
        "remote_failed",
        "no_remote",
        "invalid_argument",
    ]
    assert refusal["message"] == f"{remote} refused the push"
    assert "Obey me." in refusal["reason"]
    assert refusal["reason"].startswith(refusal["fence"])
    assert away["reason"].startswith(away["fence"])
    assert "gitmail remote add URL" in none["hint"]
    assert "force" in extra["message"]


@both
def test_a_server_that_keeps_in_step_wakes_a_wait_with_mail_of_another_machine(
    mailbox: Mailbox,
    remote: Path,
    tmp_path: Path,
    clock: SettableClock,
    switch: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And takes there what is sent here, through a remote that is away for a while."""
    monkeypatch.setenv("GITMAIL_GIT", switch)
    words = ["--mailbox", str(mailbox.path), "--as", "reviewer", "mcp", "--sync", "1"]
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *words], env=environment()
    )
    pages: list[dict[str, Any]] = []

    async def talk(clone: Mailbox) -> None:
        async with Client(server, mode=MODES[0]) as client:
            await client.call_tool("mailbox_status", {})
            move(remote, tmp_path / "away.git")
            arguments = {"to": ["lead"], "body": "Here."}
            await client.call_tool("message_send", arguments)
            move(tmp_path / "away.git", remote)
            send = clone.agent("lead").send(to="reviewer", body="There.")
            pages.append({"id": send.message.id})
            await anyio.to_thread.run_sync(clone.sync)
            found = await client.call_tool("message_wait", {"timeout_s": LONG_S})
            assert found.structured_content is not None
            pages.append(found.structured_content)
            await client.call_tool("mailbox_sync", {})

    with cloned(tmp_path / "clone", remote, "dulwich", clock) as clone:
        anyio.run(talk, clone)
        clone.sync(git=by("dulwich"))
        (answer,) = clone.agent("lead").poll().items

    assert [m["id"] for m in pages[1]["messages"]] == [pages[0]["id"]]
    assert answer.message.body == "Here."
