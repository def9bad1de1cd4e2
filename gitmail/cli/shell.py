"""What every command works with: its arguments, its mailbox and its output."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gitmail.cli import late, streams
from gitmail.cli.streams import is_terminal, terminal_width
from gitmail.clock import Clock
from gitmail.errors import NoIdentityError
from gitmail.render.terminal import line

if TYPE_CHECKING:
    from gitmail.config import Settings
    from gitmail.mailbox.agent import Agent
    from gitmail.mailbox.mailbox import Mailbox
    from gitmail.render.terminal import Look

_PROGRESS_AFTER_S = 0.5


class Shell:
    """One run of a command.

    Attributes:
        args: The parsed command line.
        clock: Returns the present.
        is_json: Whether answers are JSON objects.
        commit: The commit that the command made.
        ids: The messages, or the records of memory, that the commit is about.
        progress: Shows how far a long piece of work is.
    """

    def __init__(self, args: argparse.Namespace, clock: Clock) -> None:
        self.args = args
        self.clock = clock
        self.is_json: bool = args.is_json
        self.commit: str | None = None
        self.ids: list[str] = []
        self._settings: Settings | None = None
        self._mailbox: Mailbox | None = None
        self.progress = _Progress()
        self._open = ExitStack()

    @property
    def settings(self) -> "Settings":
        """Where the mailbox is and who acts, by flags and environment."""
        if self._settings is None:
            self._settings = late.config.load(
                mailbox=self.args.mailbox, agent=self.args.agent
            )
        return self._settings

    @property
    def mailbox(self) -> "Mailbox":
        """The mailbox, opened at the first use."""
        if self._mailbox is not None:
            return self._mailbox
        settings = self.settings
        return self.take_over(
            late.mailbox.Mailbox.open(
                settings.find(),
                clock=self.clock,
                location=settings.location(),
                progress=self.progress,
                folds=False,  # a process of its own does, see `running`
            )
        )

    @property
    def agent(self) -> "Agent":
        """The verbs of the agent that acts.

        Raises:
            NoIdentityError: Nothing says who that is.
        """
        if not self.settings.agent:
            raise NoIdentityError
        return self.mailbox.agent(self.settings.agent)

    @property
    def look(self) -> "Look":
        """How text is to look on standard output."""
        width = terminal_width(sys.stdout)
        is_colored = width is not None and self.settings.has_color
        return late.terminal.Look(now=self.clock(), width=width, has_color=is_colored)

    def take_over(self, mailbox: "Mailbox") -> "Mailbox":
        """Use a mailbox that was opened or made, and close it in the end."""
        self._open.enter_context(late.logs.shown())
        self._mailbox = self._open.enter_context(mailbox)
        return mailbox

    def note(self, commit: str | None, ids: Iterable[str] = ()) -> None:
        """Take down what was written, before it is told."""
        self.commit = commit
        self.ids = list(ids) if commit else []

    def show(
        self, plain: Callable[[], Mapping[str, Any]], text: Callable[[], str]
    ) -> None:
        """Print the answer on standard output, as JSON or for people.

        Raises:
            AnswerLostError: It cannot be printed, and something was written before.
            OutputError, OutputClosedError: The same, where nothing was.
        """
        answer = as_line(plain()) if self.is_json else text()
        self.progress.end()
        try:
            streams.write(answer)
        except (streams.OutputError, streams.OutputClosedError) as error:
            if self.commit is None:
                raise
            reason = str(error) or "nobody reads standard output any more"
            raise streams.AnswerLostError(self.commit, self.ids, reason) from error

    def say(self, text: str) -> None:
        """Tell something that is no answer, on standard error."""
        self.progress.end()
        streams.complain(f"gitmail: {line(text)}")

    def opened(self) -> "Mailbox | None":
        """Return the mailbox if the command opened it."""
        return self._mailbox

    def close(self) -> None:
        """Close what is open."""
        self.progress.end()
        self._open.close()


def as_line(plain: Mapping[str, Any]) -> str:
    """Return an object as compact JSON, which is one line."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


class _Progress:
    """Shows on a terminal how far a piece of work is, once it takes a while."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._is_shown = False

    def __call__(self, what: str, count: int) -> None:
        is_long = time.monotonic() - self._started > _PROGRESS_AFTER_S
        if is_long and is_terminal(sys.stderr):
            print(f"\rgitmail: {count:,} {what}\x1b[K", end="", file=sys.stderr)
            sys.stderr.flush()
            self._is_shown = True

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._is_shown = False
