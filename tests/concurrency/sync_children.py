"""What the processes of the sync tests do; each function is one of them."""

from contextlib import suppress

from gitmail import Mailbox
from gitmail.errors import BusyError
from tests.concurrency.children import say, told_later, wait_for_go
from tests.exchanges import by


def work(folder: str, name: str, count: str, how: str) -> None:
    """Send, ack, set and sync in a loop; say what was sent, acked and seen when.

    `seen` has a cursor after each sync with all mail that had come until then.
    """
    with Mailbox.open(folder) as mailbox:
        agent = mailbox.agent(name)
        git = by(how)
        sent: list[str] = []
        acked: list[str] = []
        seen: list[tuple[str, list[str]]] = []
        rounds = 0
        wait_for_go()
        for number in range(int(count)):
            body = f"{name} {number}"
            sent.append(agent.send(to="team:all-three", body=body).message.id)
            page = agent.poll(ack=True, limit=2)
            acked += [item.id for item in page.items]
            agent.memory.set("fact", "work", "last", body)
            agent.memory.set("world", f"of {name}", "count", str(number))
            with suppress(BusyError):  # the others were quicker each time
                rounds += mailbox.sync(git=git).rounds
            page = agent.poll(show="any", limit=200)
            seen.append((page.cursor, [item.id for item in page.items]))
        say({"sent": sent, "acked": acked, "seen": seen, "rounds": rounds})


def keep_in_step(folder: str, how: str) -> None:
    """Sync again and again until told to stop; say how often."""
    with Mailbox.open(folder) as mailbox:
        git = by(how)
        wait_for_go()
        told = told_later()
        count = 0
        while not told.is_set():
            with suppress(BusyError):
                mailbox.sync(git=git)
            count += 1
    say(count)


def wait(folder: str, name: str) -> None:
    """Wait for mail, and say which came."""
    with Mailbox.open(folder) as mailbox:
        agent = mailbox.agent(name)
        wait_for_go()
        say([item.id for item in agent.wait(30).items])
