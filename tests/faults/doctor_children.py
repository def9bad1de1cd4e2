"""What the processes of the doctor's tests do; each function is one of them."""

import json
import sys
import threading
from pathlib import Path

from gitmail import Mailbox
from gitmail.clock import system_clock
from gitmail.errors import GitmailError
from gitmail.store.doctoring import examine
from tests.faults import trials


def doctor(box: Path, name: str) -> None:
    """Mend a mailbox; the name does not matter."""
    del name
    examine(box, repair=True, moment=system_clock())


def serve() -> None:
    """Run trials, of which mending is one."""
    trials.OPERATIONS[doctor.__name__] = doctor
    trials.serve()


def look(mailbox: str) -> None:
    """Say what is found in a mailbox that cannot be written, and how mending fails."""
    found = examine(Path(mailbox), repair=False, moment=system_clock()).findings
    print(json.dumps([each.kind for each in found]))
    try:
        doctor(Path(mailbox), "")
    except GitmailError as error:
        print(json.dumps(error.code), flush=True)


def send_until_told(mailbox: str) -> None:
    """Send and acknowledge until the end of input, and say how often."""
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), told.set())).start()
    count = 0
    with Mailbox.open(mailbox) as box:
        while not told.is_set():
            box.agent("builder").send(to="reviewer", body=f"Message {count}")
            box.agent("reviewer").poll(ack=True)
            count += 1
            print(json.dumps(count), flush=True)
