"""Whether the branch is there with all that it names, and bringing it back."""

from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from gitmail.errors import CorruptMailboxError, StaleWriteError
from gitmail.records.names import CommitId, is_hex
from gitmail.store.completeness import SoundObjects, alternates
from gitmail.store.disk import read_small
from gitmail.store.findings import Case, Kind, files_below
from gitmail.store.history import is_ancestor
from gitmail.store.lost import keep
from gitmail.store.objects import check_objects
from gitmail.store.refs import BRANCH, REF, Branch
from gitmail.store.store import LOCK_TIMEOUT_S


def check_history(case: Case) -> None:
    """Find what is missing of the branch, its commits and their objects."""
    refs = list(_refs(case.git_dir))
    problem = _problem(case)
    with closing(SoundObjects(case)) as sound:
        _check_borrowing(case, sound)
        starts = {commit: name for name, commit in refs}
        found = _latest(case, sound, refs) if problem else None
        if found:
            starts[found] = REF
        left = check_objects(case, sound, starts)
        if problem:
            _restore(case, sound, problem, found, is_whole=not left)


def _check_borrowing(case: Case, sound: SoundObjects) -> None:
    """Find out whether objects are elsewhere, on purpose."""
    for folder in alternates(case.git_dir / "objects"):
        case.found(
            Kind.ALTERNATES,
            case.git_dir / "objects" / "info" / "alternates",
            f"objects are borrowed from {folder}",
            advice=f"Copy them: git -C {case.root} repack -a -d; then delete that file",
        )
    shallow = case.git_dir / "shallow"
    cut = sorted(filter(is_hex, _lines(shallow)))
    sound.boundary = frozenset(each for each in cut if not _has_parents(sound, each))
    if sound.boundary:
        case.found(
            Kind.SHALLOW,
            shallow,
            f"what was before {', '.join(sorted(sound.boundary))} is not here",
            advice=f"Fetch it: git -C {case.root} fetch --unshallow REMOTE {BRANCH}",
        )
    elif cut:
        case.found(
            Kind.SHALLOW,
            shallow,
            "it says that history is not here, and all of it is",
            mend=lambda: case.rescue(shallow),
        )


def _has_parents(sound: SoundObjects, commit: str) -> bool:
    try:
        return all(map(sound.has, sound.commit(commit).parents))
    except CorruptMailboxError:
        return True  # not even it is here, which is said elsewhere


def _problem(case: Case) -> str | None:
    """Return what is wrong with the branch's ref."""
    with closing(Branch(case.git_dir, case.local)) as branch:
        try:
            return "it is missing" if branch.read() is None else None
        except CorruptMailboxError as error:
            return str(error.details["what"])


def _refs(git_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield name and id of what each ref names, and a detached HEAD."""
    for line in _lines(git_dir / "packed-refs"):
        value, _, name = line.partition(" ")
        if is_hex(value):
            yield name, value
    for path in [git_dir / "HEAD", *files_below(git_dir / "refs")]:
        said = read_small(path) if path.suffix != ".lock" else None
        if said and is_hex(said):
            yield path.relative_to(git_dir).as_posix(), said


def _latest(
    case: Case, sound: SoundObjects, refs: list[tuple[str, str]]
) -> CommitId | None:
    """Return the latest commit known to have been the tip, None if that is not sure."""
    said = {*_remembered(case), *(value for name, value in refs if name == REF)}
    if not said:
        said = {value for name, value in refs if name.endswith(f"/{BRANCH}")}
    for each in map(CommitId, said):
        with suppress(CorruptMailboxError):  # something that was said is not here
            if all(is_ancestor(sound, CommitId(other), each) for other in said):
                return each
    return None


def _remembered(case: Case) -> Iterator[str]:
    """Yield the commits that local state and the reflog say were the tip."""
    for name in ("shown", "checked"):
        words = (read_small(case.local / name) or "").split()
        if words and is_hex(words[0]):
            yield words[0]
    log = _lines(case.git_dir / "logs" / REF)
    words = log[-1].split() if log else []
    if len(words) > 1 and is_hex(words[1]):
        yield words[1]


def _restore(
    case: Case,
    sound: SoundObjects,
    problem: str,
    found: CommitId | None,
    *,
    is_whole: bool,
) -> None:
    ref = case.git_dir / REF
    command = f"git -C {case.root} update-ref {REF} {found or 'COMMIT'}"
    first = "Once its objects are here" if found else "With the latest commit"
    case.found(
        Kind.BRANCH_UNREADABLE,
        ref,
        problem,
        mend=partial(_set_branch, case, sound, found) if found and is_whole else None,
        advice=f"{first}: {command}",
    )


def _set_branch(case: Case, sound: SoundObjects, commit: CommitId) -> str:
    for each in _beyond(case, sound, commit):
        keep(case.git_dir, each)  # `check_lost` sees to it when the branch is there
    ref = case.git_dir / REF
    moved = ""
    branch = Branch(case.git_dir, case.local)
    with closing(branch), case.writer_lock.held(LOCK_TIMEOUT_S):
        if _problem(case) is None:
            return "somebody else brought it back"
        if ref.exists():
            moved = f", the old file {case.rescue(ref)}"
        if not branch.move(branch.read(), commit):
            raise StaleWriteError(1)
    return f"set to {commit}{moved}"


def _beyond(case: Case, sound: SoundObjects, tip: CommitId) -> list[CommitId]:
    """Return the last of what gitmail wrote on top of a commit and no ref names."""
    after: dict[CommitId, list[CommitId]] = {}
    for commit in sound.commits():
        for parent in commit.parents if commit.trailers("Gitmail-Op") else ():
            after.setdefault(parent, []).append(commit.id)
    todo, seen = [tip], {tip}
    while todo:
        new = {*after.get(todo.pop(), ())} - seen
        seen |= new
        todo += new
    last = [each for each in seen - {tip} if each not in after]
    named = [CommitId(value) for _, value in _refs(case.git_dir)]
    return [
        each
        for each in last
        if not any(sound.has(ref) and is_ancestor(sound, each, ref) for ref in named)
    ]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
