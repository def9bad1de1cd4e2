"""`doctor` on the command line: what it prints, and its exit codes."""

from pathlib import Path

import pytest

from gitmail import Mailbox
from tests import damages
from tests.cli.conftest import CommandLine
from tests.helpers import git
from tests.processes import assert_sound, needs_git, posix_only

pytestmark = [needs_git, posix_only]


@pytest.fixture(name="box")
def _box(gitmail: CommandLine) -> Path:
    """Return the folder of the project's mailbox, with some mail and memory."""
    return damages.make_patient(gitmail.folder / ".gitmail")


def test_a_healthy_mailbox_is_said_to_be_so(gitmail: CommandLine, box: Path) -> None:
    """And the exit code is 0."""
    assert gitmail.ok("doctor") == {"mailbox": str(box), "findings": [], "left": 0}
    ran = gitmail("doctor", "--repair")

    assert (ran.code, ran.out, ran.err) == (0, f"Nothing is wrong with {box}\n", "")


def test_what_is_found_is_told_with_what_mends_it(
    gitmail: CommandLine, box: Path
) -> None:
    """The exit code is 1 until it is mended."""
    (box / "README.md").unlink()
    ran = gitmail("--json", "doctor")

    assert ran.code == 1
    assert ran.json["left"] == 1
    assert ran.json["findings"] == [
        {
            "kind": "file_deleted",
            "path": "README.md",
            "detail": "it is missing on the disk",
            "repaired": False,
            "advice": "Mend it with: gitmail doctor --repair",
        }
    ]
    ran = gitmail("doctor")
    assert ran.code == 1
    assert ran.out == (
        "file deleted  README.md: it is missing on the disk\n"
        "    to do: Mend it with: gitmail doctor --repair\n"
        "1 finding, 1 left to be mended\n"
    )


def test_what_is_mended_is_told_line_by_line(gitmail: CommandLine, box: Path) -> None:
    """With the folder of what was in the way, and the exit code 0."""
    (box / "mine.txt").write_text("Mine.", "ascii")
    (box / "README.md").unlink()
    found = gitmail.ok("doctor", "--repair")

    assert [each["repaired"] for each in found["findings"]] == [True, True]
    assert Path(found["rescued"], "files", "mine.txt").read_text("ascii") == "Mine."
    (box / "README.md").unlink()
    ran = gitmail("doctor", "--repair")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "file deleted  README.md: it is missing on the disk",
        "    mended: put back",
        "1 finding mended, nothing is left to do",
    ]


def test_what_cannot_be_mended_exits_with_1(gitmail: CommandLine, box: Path) -> None:
    """The rest is mended all the same."""
    damages.explode(box)
    damages.loose(box, git(box, "rev-parse", "gitmail~2").strip()).unlink()
    (box / "README.md").unlink()
    ran = gitmail("--json", "doctor", "--repair")

    assert (ran.code, ran.json["left"]) == (1, 1)
    assert (box / "README.md").exists()


def test_a_long_list_is_cut_but_for_what_is_left(
    gitmail: CommandLine, box: Path
) -> None:
    """The whole list is in the JSON."""
    for number in range(30):
        (box / f"{number}.txt").touch()
    ran = gitmail("doctor")

    assert ran.out.count("    to do: ") == 20
    assert "    and 10 more of that kind (use --json)\n" in ran.out
    assert len(gitmail("--json", "doctor").json["findings"]) == 30


@pytest.mark.parametrize(
    "damage",
    [
        damages.lose_the_settings,
        damages.fill_the_settings_with_zeros,
        damages.lose_head,
        damages.empty_the_branch,
        damages.lose_the_branch,
    ],
)
@pytest.mark.parametrize("below", [".", ".gitmail", ".gitmail/agents"])
def test_a_mailbox_that_cannot_be_opened_is_found_from_wherever_it_would_be(
    gitmail: CommandLine, box: Path, damage: damages.Damage, below: str
) -> None:
    """From the project, from itself, and by --mailbox."""
    damage(box)
    gitmail.folder /= below
    for command in ("status", "agents", "init"):
        error = gitmail("--json", command).error
        assert error["code"] == "corrupt_mailbox"
        assert Path(error["path"]).is_relative_to(box)
        assert "gitmail doctor --repair" in error["hint"]
    assert gitmail("--json", "doctor").json["mailbox"] == str(box)
    ran = gitmail("--mailbox", str(box.parent), "--json", "doctor", "--repair")

    assert (ran.code, ran.json["mailbox"]) == (0, str(box))
    assert_sound(box)
    assert gitmail.ok("status")["mailbox"] == str(box)


def test_nothing_but_a_mailbox_is_mended(
    gitmail: CommandLine, box: Path, tmp_path: Path
) -> None:
    """Neither a clone of one, nor the repository of a project, nor a folder."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(box), str(clone))
    before = (clone / ".git" / "config").read_text("utf-8")
    for folder in (clone, gitmail.folder / ".git", tmp_path):
        error = gitmail("--json", "--mailbox", str(folder), "doctor", "--repair").error
        assert error["code"] == "mailbox_not_found"
    gitmail.folder = clone
    assert gitmail("--json", "doctor", "--repair").error["code"] == "mailbox_not_found"
    assert (clone / ".git" / "config").read_text("utf-8") == before


def test_a_status_with_changed_files_names_the_command_that_settles_them(
    gitmail: CommandLine, box: Path
) -> None:
    """And none where it would not help."""
    assert "gitmail doctor" not in gitmail("status").out
    (box / "mine.txt").write_text("Mine.", "ascii")
    (box / "README.md").unlink()
    advised = gitmail("status").out.splitlines()[-1].strip()
    assert advised == "gitmail doctor --repair"
    gitmail.ok(*advised.split()[1:])

    assert gitmail.ok("status")["uncommitted"] == []
    assert "gitmail doctor" not in gitmail("status").out


def test_an_error_of_a_damaged_mailbox_points_to_the_doctor(
    gitmail: CommandLine, box: Path
) -> None:
    """Who meets the damage learns what mends it."""
    damages.explode(box)
    with Mailbox.open(box) as mailbox:
        tip = mailbox.status().tip
    damages.loose(box, tip).unlink()

    assert "gitmail doctor --repair" in gitmail("--json", "status").error["hint"]


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("log",),
        ("agents",),
        ("--as", "reviewer", "poll"),
        ("--as", "builder", "send", "--to", "reviewer", "Four."),
        ("bundle", "create", "bundle"),
    ],
)
@pytest.mark.parametrize("at", [0, 3, 9])
def test_an_error_of_a_damaged_pack_is_told_as_such(
    gitmail: CommandLine, box: Path, command: tuple[str, ...], at: int
) -> None:
    """What reads of it is still open then, and must not get in the way."""
    git(box, "repack", "-q", "-a", "-d")
    pack = next((box / ".git" / "objects" / "pack").glob("*.pack"))
    damages.overwrite(pack, 12 + at, b"\xff\xff\xff\xff")  # the first is the tip
    error = gitmail("--json", *command).error

    assert error["code"] == "corrupt_mailbox"
    assert "gitmail doctor --repair" in error["hint"]
