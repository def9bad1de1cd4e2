"""`merge-driver`: plain git in an ordinary clone merges as a mailbox does (V5)."""

import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.records.contesting import version_of
from tests.cli.conftest import CommandLine
from tests.clones import integrate, twin
from tests.helpers import SettableClock, files_in_tip, git
from tests.mailfiles import message_file, slot_file
from tests.processes import needs_git

FACT, FIRST = slot_file("parser", "First.")
_, SECOND = slot_file("parser", "Second.", tags=("second",))
MESSAGE, LETTER = message_file("builder", ["reviewer"], "As it was sent.")
KEYS = ["merge.gitmail.driver", "merge.gitmail.name"]


@pytest.fixture(name="clones")
def _clones(
    mailbox: Mailbox, tmp_path: Path, clock: SettableClock
) -> Iterator[tuple[Mailbox, Mailbox]]:
    """Return two clones of a mailbox that has a message and a slot."""
    mailbox.agent("builder").send(to="reviewer", body="For both.")
    mailbox.agent("builder").memory.set("world", "sky", "colour", "blue")
    there = SettableClock(clock.now + timedelta(microseconds=7))
    with twin(mailbox, tmp_path / "twin" / ".gitmail", there) as other:
        yield mailbox, other


@pytest.fixture(name="clone")
def _clone(mailbox: Mailbox, tmp_path: Path) -> Path:
    """Return an ordinary clone of a mailbox, in a folder of its own."""
    return checkout(mailbox, tmp_path / "clone")


def checkout(mailbox: Mailbox, folder: Path) -> Path:
    """Clone a mailbox as a person does."""
    git(folder.parent, "clone", "-q", str(mailbox.path), str(folder))
    return folder


def pull(clone: Path, other: Path, *more: str, check: bool = True) -> str:
    """Bring what another clone has into an ordinary one, with plain git."""
    words = ["pull", "-q", "--no-rebase", "--no-edit", *more, str(other), "gitmail"]
    return git(clone, *words, check=check)


def install(gitmail: CommandLine, clone: Path) -> dict[str, object]:
    """Install the driver in a clone."""
    gitmail.folder = clone
    answer: dict[str, object] = gitmail.ok("merge-driver", "--install")
    return answer


@needs_git
def test_a_pull_with_the_driver_makes_the_tree_that_a_mailbox_makes(
    clones: tuple[Mailbox, Mailbox], gitmail: CommandLine, tmp_path: Path
) -> None:
    """Mail, receipts of one stage, slots, retirements and profiles of both sides."""
    here, there = clones
    for name, box in zip(("here", "there"), clones, strict=True):
        box.register("builder", program=name)
        box.register("newcomer", description=f"From {name}.")
        message = box.agent("reviewer").poll(ack=True).items[0].id
        assert box.agent("builder").receipts(message).lines[0].state == "acked"
        box.agent("builder").send(to="reviewer", body=f"From {name}.")
        box.agent("builder").memory.set("fact", "parser", "owner", name)
        box.agent("builder").memory.set("lesson", name, "only", "here")
    here.agent("builder").memory.forget("world", "sky", reason="At night.")
    there.agent("builder").memory.set("world", "sky", "colour", "grey")
    clone = checkout(here, tmp_path / "clone")
    install(gitmail, clone)

    pull(clone, there.path)
    integrate(here, there)

    assert files_in_tip(clone, "HEAD") == files_in_tip(here.path)
    assert len(git(clone, "log", "-1", "--format=%P").split()) == 2


@needs_git
def test_a_pull_without_the_driver_merges_messages_and_receipts(
    clones: tuple[Mailbox, Mailbox], tmp_path: Path
) -> None:
    """No two clones write the same file of these, but for one receipt in two clones."""
    here, there = clones
    here.agent("reviewer").poll(ack=True)
    for name, box in zip(("here", "there"), clones, strict=True):
        box.agent("builder").send(to="reviewer", body=f"From {name}.")
    there.agent("lead").send(to="builder", bcc="reviewer", body="Another.")
    there.agent("builder").poll(ack=True)
    clone = checkout(here, tmp_path / "clone")

    pull(clone, there.path)
    integrate(here, there)

    assert files_in_tip(clone, "HEAD") == files_in_tip(here.path)


@needs_git
def test_records_that_git_takes_for_renamed_ones_are_a_conflict_until_it_is_told(
    clones: tuple[Mailbox, Mailbox], gitmail: CommandLine, tmp_path: Path
) -> None:
    """What is alike is not the same record; the help says what to pull with."""
    here, there = clones
    value = "A value with a lot of text which stays.\n" * 9
    here.agent("lead").memory.set("fact", "parser", "owner", value)
    integrate(there, here)
    here.agent("lead").memory.forget("fact", "parser", "owner")
    here.agent("lead").memory.set("fact", "lexer", "owner", value)
    there.agent("lead").memory.set("fact", "parser", "owner", f"{value}More.")
    clone = checkout(here, tmp_path / "clone")
    install(gitmail, clone)

    pull(clone, there.path, check=False)
    assert git(clone, "diff", "--name-only", "--diff-filter=U").split() == [
        "memory/facts/lexer/owner.md"
    ]
    assert "-X find-renames=100%" in gitmail("merge-driver", "--help").out
    git(clone, "merge", "--abort")

    # Git still asks where one side deleted what the other changed.
    pull(clone, there.path, "-X", "find-renames=100%", check=False)
    assert git(clone, "diff", "--name-only", "--diff-filter=U").split() == [
        "memory/facts/parser/owner.md"
    ]


@needs_git
def test_installing_sets_two_keys_and_nothing_else(
    clone: Path, gitmail: CommandLine
) -> None:
    """From any subfolder, once; it says what it did."""
    config = clone / ".git" / "config"
    git(clone, "config", "merge.gitmail.recursive", "binary")
    before = git(clone, "config", "--list", "--local").splitlines()

    first = install(gitmail, clone / "agents")
    text = config.read_bytes()
    second = install(gitmail, clone)

    said = {"clone": str(clone), "config": str(config)}
    assert first == {**said, "changed": KEYS[::-1]}
    assert second == {**said, "changed": []}
    assert config.read_bytes() == text
    after = git(clone, "config", "--list", "--local").splitlines()
    assert before == [line for line in after if line.split("=")[0] not in KEYS]
    driver = git(clone, "config", KEYS[0]).strip()
    assert driver.startswith(sys.executable)
    assert driver.endswith("-P -m gitmail merge-driver %O %A %B %P")
    assert "nothing to do" in gitmail("merge-driver", "--install").out


@needs_git
def test_installing_replaces_what_an_older_version_set(
    clone: Path, gitmail: CommandLine
) -> None:
    """Also where it stands there twice."""
    for value in ("old", "older"):
        git(clone, "config", "--add", KEYS[0], value)

    assert install(gitmail, clone)["changed"] == KEYS[::-1]
    assert len(git(clone, "config", "--get-all", KEYS[0]).splitlines()) == 1


@needs_git
def test_a_branch_of_the_project_itself_can_have_the_driver(
    mailbox: Mailbox, git_project: Path, tmp_path: Path, gitmail: CommandLine
) -> None:
    """Where the mailbox is a branch beside the code, in a work tree of its own."""
    git(git_project, "fetch", "-q", str(mailbox.path), "gitmail:gitmail")
    tree = tmp_path / "mail"
    git(git_project, "worktree", "add", "-q", str(tree), "gitmail")

    answer = install(gitmail, tree)

    assert answer["config"] == str(git_project / ".git" / "config")
    assert git(git_project, "config", KEYS[1])


def test_the_driver_is_not_installed_in_a_project_or_a_mailbox(
    cli: CommandLine, tmp_path: Path
) -> None:
    """A project's configuration is its own (I10), and a mailbox merges without it."""
    config = cli.folder / ".git" / "config"
    for folder in (cli.folder, cli.folder / ".gitmail", tmp_path):
        cli.folder = folder
        ran = cli("--json", "merge-driver", "--install")
        assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert not config.exists()


def test_installing_without_git_says_so(
    mailbox: Mailbox,
    gitmail: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The driver is for git, which is asked to change its own configuration."""
    clone = tmp_path / "clone"
    shutil.copytree(mailbox.path, clone)
    shutil.rmtree(clone / ".git" / "gitmail")
    (clone / ".git" / "config").write_text("[core]\n", "utf-8")
    gitmail.folder = clone
    monkeypatch.setenv("PATH", str(clone))

    ran = gitmail("--json", "merge-driver", "--install")

    assert (ran.code, ran.error["code"]) == (1, "disk_error")


@pytest.fixture(name="driver")
def _driver(gitmail: CommandLine, tmp_path: Path) -> "Driver":
    """Return the driver, called as git calls it."""
    return Driver(gitmail, tmp_path)


class Driver:
    """Files as git hands them to a driver."""

    def __init__(self, gitmail: CommandLine, folder: Path) -> None:
        self._gitmail = gitmail
        self._folder = folder
        self.said = ""

    def __call__(
        self, path: str, base: bytes, ours: bytes, theirs: bytes
    ) -> tuple[int, bytes]:
        """Merge a file and return the exit code and the result."""
        names = [str(self._folder / f".merge_file_{letter}") for letter in "OAB"]
        for name, data in zip(names, (base, ours, theirs), strict=True):
            Path(name).write_bytes(data)
        ran = self._gitmail("merge-driver", *names, path)
        assert ran.out == ""
        self.said = ran.err
        return ran.code, Path(names[1]).read_bytes()


def test_the_driver_merges_a_file_by_its_rule(driver: Driver) -> None:
    """An empty base is none; what a person should know is said."""
    code, data = driver(FACT, b"", FIRST, SECOND)

    assert code == 0
    assert version_of(FACT, data).data in (FIRST, SECOND)
    assert version_of(FACT, data).contested
    assert FACT in driver.said
    assert driver(FACT, FIRST, FIRST, SECOND) == (0, SECOND)
    assert driver.said == ""


@needs_git
@pytest.mark.parametrize("path", [MESSAGE, FACT, "agents/builder.md"])
def test_what_is_no_record_is_a_conflict(driver: Driver, path: str) -> None:
    """No rule applies, so that a person sees both, between git's usual marks."""
    code, data = driver(path, b"", LETTER, b"Not a record.\n")

    assert code == 1
    assert b"<<<<<<< ours\n" in data
    assert b">>>>>>> theirs\n" in data
    assert path in driver.said


@needs_git
def test_a_file_for_people_is_merged_line_by_line(driver: Driver) -> None:
    """As git does it without a driver."""
    base = b"".join(b"Line %d.\n" % number for number in range(9))
    ours, theirs = base.replace(b"0", b"ours"), base.replace(b"8", b"theirs")
    both = ours.replace(b"8", b"theirs")

    assert driver("README.md", base, ours, theirs) == (0, both)
    code, data = driver("README.md", base, ours, base.replace(b"0", b"theirs"))
    assert (code, data.count(b"<<<<<<<")) == (1, 1)


@needs_git
def test_a_conflict_stops_the_pull_and_leaves_the_file_to_the_person(
    clones: tuple[Mailbox, Mailbox], gitmail: CommandLine, tmp_path: Path
) -> None:
    """As any conflict of git."""
    here, there = clones
    clone = checkout(here, tmp_path / "clone")
    (clone / "README.md").write_text("Mine.\n", "utf-8")
    git(clone, "commit", "-q", "-a", "-m", "Edit")
    other = checkout(there, tmp_path / "other")
    (other / "README.md").write_text("Theirs.\n", "utf-8")
    git(other, "commit", "-q", "-a", "-m", "Edit")
    install(gitmail, clone)

    pull(clone, other, check=False)

    assert git(clone, "diff", "--name-only", "--diff-filter=U").split() == ["README.md"]
    assert "<<<<<<<" in (clone / "README.md").read_text("utf-8")


def test_a_file_that_is_not_there_is_named(gitmail: CommandLine) -> None:
    """Whoever calls it by hand sees what was wrong."""
    words = ("nowhere", "nowhere", "nowhere")

    ran = gitmail("--json", "merge-driver", *words, FACT)

    assert (ran.code, ran.error["code"]) == (1, "disk_error")


@pytest.mark.parametrize("words", [[], ["a", "b", "c"], ["--install", "a"]])
def test_the_driver_takes_four_words_or_the_option(
    gitmail: CommandLine, words: list[str]
) -> None:
    """Its help says which."""
    ran = gitmail("--json", "merge-driver", *words)

    assert (ran.code, ran.error["code"]) == (2, "usage")
