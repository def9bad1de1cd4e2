"""Doing to a mailbox, with plain git, what gitmail never does."""

import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tests.helpers import environment, git
from tests.mailfiles import MOMENT, Clone, Entry, Path_

Changes = Mapping[Path_, Entry | bytes | None]


def forge(
    clone: Clone,
    changes: Changes,
    *,
    by: str = "builder",
    op: str = "",
    about: Sequence[str] = (),
    committer: str = "",
    moment: datetime = MOMENT,
    parents: Sequence[str] = ("origin/gitmail",),
) -> str:
    """Make a commit the mailbox's tip that is by an agent, as it says; return its id.

    Args:
        changes: What is done to the tree of the first parent.
        op: The operation that it claims to be, none for a commit of the agent's own.
        about: The messages that it names.
    """
    git(clone.folder, "fetch", "-q", "origin")
    made = clone.commit(parents[0], changes)
    tree = git(clone.folder, "rev-parse", f"{made}^{{tree}}").strip()
    ids = git(clone.folder, "rev-parse", *parents).split()
    trailers = [("Gitmail-Op", op), ("Gitmail-Agent", by)] if op else []
    trailers += [("Gitmail-Message", each) for each in about]
    lines = [
        f"tree {tree}",
        *(f"parent {each}" for each in ids),
        f"author {_who(by, moment)}",
        f"committer {_who(committer or by, moment)}",
        "",
        op or "By hand",
        "",
        *(f"{key}: {value}" for key, value in trailers),
    ]
    commit = clone.write("commit", ("\n".join(lines) + "\n").encode())
    clone.bring(commit)
    return commit


def unpack(mailbox: Path) -> None:
    """Have every object of a mailbox in a file of its own."""
    packs = mailbox / ".git" / "objects" / "pack"
    aside = mailbox / ".git" / "aside"
    packs.rename(aside)
    packs.mkdir()
    for pack in aside.glob("*.pack"):
        with pack.open("rb") as stream:
            subprocess.run(
                ["git", "-C", str(mailbox), "unpack-objects", "-q"],
                stdin=stream,
                check=True,
                env=environment(),
                timeout=30,
            )


def loose(mailbox: Path, object_id: str) -> Path:
    """Return the file of an object that stands alone."""
    return mailbox / ".git" / "objects" / object_id[:2] / object_id[2:]


def _who(name: str, moment: datetime) -> str:
    address = f"{name}@gitmail.invalid" if " " not in name else "person@example.org"
    return f"{name} <{address}> {int(moment.timestamp())} +0000"
