"""`merge-driver`: git merges an ordinary clone by the mailbox's rules (DESIGN 10)."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands, UsageError
from gitmail.cli.shell import Shell
from gitmail.errors import DiskError, InvalidArgumentError

if TYPE_CHECKING:
    from subprocess import CompletedProcess

_MORE = """\
In an ordinary clone, `gitmail merge-driver --install` has `git merge` and `git pull`
merge records as a mailbox does: it sets merge.gitmail.name and merge.gitmail.driver in
that clone's config, and nothing else. Messages and receipts merge without it too.
Where git takes one record for another that was renamed, it reports a conflict: end it
with `git merge --abort` and merge or pull again with -X find-renames=100%.

Git itself calls it with the files %O, %A and %B, and with the path %P. The result is
left in %A. Exit code 1 leaves a conflict, where no rule of a mailbox applies."""
_NAME = "gitmail: records of a mailbox, each by its own rule"
_FILES = ("base", "ours", "theirs", "path")


def add_parser(commands: Commands) -> None:
    """Add the command."""
    driver = commands.add(
        "merge-driver", run_driver, "have git merge a clone as a mailbox does", _MORE
    )
    driver.add_argument(
        "--install", action="store_true", help="set it up for the clone around here"
    )
    for name, letter in zip(_FILES, "OABP", strict=True):
        driver.add_argument(name, nargs="?", metavar=f"%{letter}")


def run_driver(shell: Shell) -> int:
    """Merge one file, or install what has git do so."""
    args = shell.args
    words = [getattr(args, name) for name in _FILES]
    if args.install and words == [None] * len(_FILES):
        return _install(shell)
    if args.install or None in words:
        message = "it takes --install, or the four words %O %A %B %P from git"
        raise UsageError(message, "gitmail merge-driver")
    base, ours, theirs, path = words
    return _merge(shell, Path(base), Path(ours), Path(theirs), path)


def _merge(shell: Shell, base: Path, ours: Path, theirs: Path, path: str) -> int:
    rules = late.file_merging
    try:
        # Git passes an empty file where the two have no common one.
        origin, a, b = base.read_bytes() or None, ours.read_bytes(), theirs.read_bytes()
        is_sure = all(rules.belongs(path, data) for data in (a, b))
        if rules.is_record(path) and is_sure:
            merged = rules.merge_file(path, origin, a, b)
            if merged.data is not None and not merged.aside:
                ours.write_bytes(merged.data)
                if merged.note:
                    shell.say(f"{path}: {merged.note}")
                return 0
    except OSError as error:
        raise DiskError(path, error.strerror or str(error)) from error
    conflicts = _git(
        *("merge-file", "-q", "-L", "ours", "-L", "base", "-L", "theirs"),
        *map(str, (ours, base, theirs)),
    ).returncode
    if rules.is_record(path):
        shell.say(f"{path}: a side does not belong there, so no rule applies")
        return 1
    return min(conflicts, 1)


def _install(shell: Shell) -> int:
    folder = shell.settings.folder
    project = shell.settings.project()
    checkout = project.checkout if project else None
    if project is None or checkout is None or not _is_clone(checkout):
        rule = "it goes where an ordinary clone of a mailbox is checked out"
        raise InvalidArgumentError("--install", str(folder), rule)
    config = project.common_dir / "config"
    # -P, so that a folder named gitmail in the clone is not run.
    program = shlex.quote(sys.executable).replace("%", "%%")
    wanted = {
        "merge.gitmail.name": _NAME,
        "merge.gitmail.driver": f"{program} -P -m gitmail merge-driver %O %A %B %P",
    }
    missing = [key for key, value in wanted.items() if _value(config, key) != value]
    for key in missing:
        words = ("config", "--file", str(config), "--replace-all", key, wanted[key])
        done = _git(*words)
        if done.returncode:
            raise DiskError(str(config), done.stderr.strip() or "git refused")
    answer = {"clone": str(checkout), "config": str(config), "changed": missing}
    said = f"set {' and '.join(missing)} in" if missing else "nothing to do in"
    shell.show(lambda: answer, lambda: late.terminal.line(f"{said} {config}"))
    return 0


def _is_clone(checkout: Path) -> bool:
    """Tell whether a mailbox's files are checked out, and not some project's."""
    charter = checkout / "mailbox.md"
    try:
        return late.file_merging.belongs(charter.name, charter.read_bytes())
    except OSError:
        return False


def _value(config: Path, key: str) -> str:
    return _git("config", "--file", str(config), key).stdout.removesuffix("\n")


def _git(*words: str) -> "CompletedProcess[str]":
    """Run the git that is installed, which asks for nothing but the files it is told.

    Raises:
        DiskError: There is none.
    """
    import subprocess  # noqa: PLC0415 - 5 ms of every command

    command = ["git", *words]
    try:
        return subprocess.run(  # noqa: S603 - constants and paths, no shell
            command, capture_output=True, check=False, encoding="utf-8"
        )
    except OSError as error:
        raise DiskError(command[0], error.strerror or str(error)) from error
