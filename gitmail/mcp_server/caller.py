"""Who the server acts for, and the mailbox it acts in (DESIGN 9)."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from gitmail.config import Settings, git
from gitmail.errors import (
    GitmailError,
    InvalidArgumentError,
    NameInUseError,
    NoIdentityError,
    StorageError,
)
from gitmail.mailbox.exchange_values import Synced
from gitmail.mailbox.values import Registered
from gitmail.mcp_server.answers import HINTS
from gitmail.records.names import AgentName, parse_agent_name

if TYPE_CHECKING:
    from gitmail.mailbox.agent import Agent
    from gitmail.mailbox.mailbox import Mailbox

T = TypeVar("T")
logger = logging.getLogger("gitmail")
_CALLS = 8
_WAITS = 256
"""Waits that can be parked at once, each on a thread that sleeps; more queue."""


class Caller:
    """The one agent that a server process acts for.

    The mailbox is opened at the first use, and looked for again at each use until there
    is one. Its methods may be called from several threads.

    Args:
        settings: Where they name an agent, the server acts for that one. Otherwise it
            acts for nobody until `register` binds a name.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._mutex = threading.Lock()
        self._mailbox: Mailbox | None = None
        self._name: AgentName | None = None
        # Not the limiter that the protocol's reader and writer need as well.
        self._calls = anyio.CapacityLimiter(_CALLS)
        self._waits = anyio.CapacityLimiter(_WAITS)

    async def call(self, verb: Callable[[], T]) -> T:
        """Run a verb that may block, on a thread."""
        return await anyio.to_thread.run_sync(verb, limiter=self._calls)

    async def park(self, verb: Callable[[], T]) -> T:
        """Run a verb that sleeps most of its time, on a thread."""
        return await anyio.to_thread.run_sync(verb, limiter=self._waits)

    def mailbox(self) -> "Mailbox":
        """Return the mailbox.

        Raises:
            MailboxNotFoundError: There is none, or none yet.
        """
        with self._mutex:
            return self._open()

    def agent(self) -> "Agent":
        """Return the verbs of the agent.

        Raises:
            NoIdentityError: Nobody has registered.
            NameInUseError: Another server has taken the name over.
        """
        with self._mutex:
            mailbox, name = self._open(), self._acting()
            if name is None:
                raise NoIdentityError(HINTS["no_identity"])
            return mailbox.agent(name)

    def name(self) -> AgentName | None:
        """Return the agent's name, None where nobody has registered.

        Raises:
            NameInUseError: Another server has taken it over.
        """
        with self._mutex:
            self._open()
            return self._acting()

    def register(
        self, name: str | None = None, *, take_over: bool = False, **profile: Any
    ) -> Registered:
        """Register an agent and act for it from now on.

        Args:
            name: None for the name that the server acts for, or else a generated one.
            take_over: Take the name from another live server that holds it.
            profile: The keywords of `Mailbox.register`.

        Raises:
            InvalidArgumentError: The server was started for another agent.
            NameInUseError: Another live server holds the name.
        """
        with self._mutex:
            mailbox, now = self._open(), self._identity()
            wanted = parse_agent_name(name) if name is not None else now
            if self.settings.agent and wanted != now:
                rule = f"this server was started for {now} and acts for nobody else"
                raise InvalidArgumentError(
                    argument="name", value=name, accepted=rule, hint="Leave name out"
                )
            if wanted is not None and not self.settings.agent:
                mailbox.liveness.hold(wanted, take_over=take_over)
            try:
                registered = mailbox.register(wanted, **profile)
                self._name = registered.profile.name
            finally:
                for other in {now, wanted} - {self._name, None}:
                    mailbox.liveness.release(other)
            if wanted is None:
                mailbox.liveness.hold(self._name)
            return registered

    def sync(self) -> Synced:
        """Exchange commits with the remote.

        Raises:
            NoRemoteError, RemoteFailedError, RemoteRewrittenError, OtherMailboxError,
            PushRefusedError, RemoteMovedError: As `Mailbox.sync`.
        """
        return self.mailbox().sync(git=git())

    async def keep_in_step(self, pause_s: float) -> None:
        """Sync for ever, with a pause between; failures are told on standard error."""
        while True:
            try:
                done = await self.call(self.sync)
                counts = done.fetched_count, done.pushed_count
                logger.info("synced: %d commits came, %d went", *counts)
            except GitmailError as error:
                logger.warning("not synced: %s", error)
            except Exception:  # a bug must not end the server
                logger.exception("not synced")
            await anyio.sleep(pause_s)

    def wake(self) -> None:
        """Make all waits look whether they were stopped."""
        if self._mailbox is not None:
            self._mailbox.wake()

    def warm_up(self) -> None:
        """Import what is slow and read the mailbox, so that the first call is fast."""
        try:
            self.mailbox().charter()
        except GitmailError as error:
            logger.info("the mailbox cannot be read yet: %s", error)
        except Exception:  # a bug in reading must not end the server
            logger.exception("the mailbox cannot be read")

    def close(self) -> None:
        """Let go of the name and close the mailbox."""
        with self._mutex:
            if self._mailbox is not None:
                self._mailbox.close()
                self._mailbox = None

    def _open(self) -> "Mailbox":
        if self._mailbox is None:
            # Slow: no part of what must be there before the handshake is answered.
            from gitmail.mailbox.mailbox import Mailbox  # noqa: PLC0415

            self._mailbox = Mailbox.open(
                self.settings.find(), location=self.settings.location()
            )
        return self._mailbox

    def _identity(self) -> AgentName | None:
        """Return the name to act for; a fixed one is held where that can be."""
        if self._name is None and self.settings.agent:
            self._name = parse_agent_name(self.settings.agent)
            # A name that is shared or cannot be written down is no obstacle to reading.
            with suppress(NameInUseError, StorageError):
                self._open().liveness.hold(self._name)
        return self._name

    def _acting(self) -> AgentName | None:
        """Return the name to act for, unless another server has taken it over."""
        name = self._identity()
        is_shared = self.settings.agent is not None  # a fixed name may be
        if name and not is_shared and not self._open().liveness.holds(name):
            raise NameInUseError(name)
        return name
