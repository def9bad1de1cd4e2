"""What the processes of the tests of syncing with faults do."""

from functools import partial
from pathlib import Path

from gitmail import Mailbox
from tests.exchanges import by
from tests.faults.children import _code, _fill, say
from tests.processes import assert_sound


def full_disk_of_sync(folder: str, remote: str, how: str) -> None:
    """Sync on a disk with ever more room, and say how often it was not enough.

    Nothing outside of this process sees what is mounted here, so all is checked here.
    """
    git = by(how)
    box = Path(folder) / ".gitmail"
    there = Path(remote).parent / "there"
    Mailbox.clone(box, remote, git=git).close()
    refused = 0
    for pages in range(0, 48, 3):
        with Mailbox.open(there) as other:
            other.agent("builder").send(to="reviewer", body=f"There {pages}")
            other.sync(git=git)
        filler = Path(folder) / "filler"
        with Mailbox.open(box, folds=False) as mailbox:
            mailbox.agent("reviewer").send(to="builder", body=f"Here {pages}")
            before = mailbox.status()
            _fill(filler, pages)
            code = _code(partial(mailbox.sync, git=git))
            after = mailbox.status()
            is_as_it_was = after.tip == before.tip
            # Git does not always say why it could not write.
            assert code in (None, "disk_full", "disk_error"), code
            assert is_as_it_was or after.message_count == before.message_count + 1
            refused += code is not None
        filler.unlink()
        with Mailbox.open(box) as mailbox:
            mailbox.sync(git=git)
            reviewer = mailbox.agent("reviewer")
            bodies = [each.message.body for each in reviewer.poll(limit=200).items]
            assert bodies[-1] == f"There {pages}", bodies
        assert_sound(box)
    say(refused)
