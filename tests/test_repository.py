"""Reading objects of a repository that is damaged."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from gitmail.errors import CorruptMailboxError
from gitmail.store.checking import CheckedRepository
from gitmail.store.repository import Repository
from tests.damages import make_patient, message_of, overwrite, pack_with
from tests.helpers import git
from tests.processes import needs_git, posix_only

pytestmark = [needs_git, posix_only]

READS: dict[str, Callable[[Repository, str], object]] = {
    "gitmail": Repository.commit,
    "gitmail:": Repository.tree,
    "gitmail:{message}": Repository.blob,
}


@pytest.mark.parametrize("make", [Repository, CheckedRepository])
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("damage", [b"\xff\xff\xff\xff", bytes(16)])
def test_closing_hides_no_error_of_a_damaged_pack(
    tmp_path: Path, make: type[Repository], name: str, damage: bytes
) -> None:
    """The error that is on its way may hold a part of the pack, wherever it broke."""
    box = make_patient(tmp_path / ".gitmail")
    git(box, "repack", "-q", "-a", "-d")
    object_id = git(box, "rev-parse", name.format(message=message_of(box))).strip()
    pack = pack_with(box, object_id)
    place = pack.offsets[bytes.fromhex(object_id)]
    sound = pack.path.read_bytes()
    refused = 0
    for at in range(place, place + 12):
        overwrite(pack.path, at, damage)
        try:
            with closing(make(box / ".git")) as repository:
                READS[name](repository, object_id)
        except CorruptMailboxError:
            refused += 1
        overwrite(pack.path, 0, sound)
    assert refused >= 6
