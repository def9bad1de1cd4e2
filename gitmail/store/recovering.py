"""Bringing back commits that the branch had, see `lost`."""

from contextlib import closing, suppress
from functools import partial

from gitmail.errors import CorruptMailboxError
from gitmail.records.names import CommitId
from gitmail.store.bringing import bring_in
from gitmail.store.fetched import check_complete
from gitmail.store.files import Files
from gitmail.store.findings import Case, Kind
from gitmail.store.history import ahead_and_behind, is_ancestor, merge_bases
from gitmail.store.lost import LOST, is_lost, kept
from gitmail.store.refs import REF, Branch
from gitmail.store.repository import Repository
from gitmail.store.store import Store
from gitmail.store.view import View

_BY = "gitmail"
_UNRELATED = (
    "It has no commit in common with what is there now. To go back to it:"
    f" git -C {{box}} update-ref {REF} {{commit}}; to let it go:"
    f" git -C {{box}} update-ref -d {LOST}/{{commit}}"
)


def check_lost(case: Case) -> None:
    """Find commits that the branch had and that it does not stand on."""
    with (
        closing(Repository(case.git_dir)) as repository,
        closing(Branch(case.git_dir, case.local)) as branch,
        suppress(CorruptMailboxError),  # which is said already
    ):
        tip = branch.read()
        if tip is None:
            return
        for commit in _lost(case, repository, tip):
            count = ahead_and_behind(repository, commit, tip)[0]
            what = "1 commit" if count == 1 else f"{count:,} commits"
            is_related = bool(merge_bases(repository, commit, tip))
            case.found(
                Kind.LOST_COMMITS,
                case.git_dir / LOST / commit,
                f"the branch had {what} up to {commit[:12]}, and has no longer",
                mend=partial(_bring_back, case, commit) if is_related else None,
                advice=_UNRELATED.format(box=case.root, commit=commit),
            )


def _lost(case: Case, repository: Repository, tip: CommitId) -> list[CommitId]:
    def is_known(commit: CommitId) -> bool:
        return not repository.has(commit) or is_ancestor(repository, commit, tip)

    found = {*kept(case.git_dir, is_known)}
    had = Files(case.root, case.local / "shown", repository).shown()
    if had and is_lost(repository, had, tip):
        found.add(had)
    return sorted(found)


def _bring_back(case: Case, commit: CommitId) -> str:
    def check(view: View) -> None:
        knows = view.index.knows_commit
        check_complete(view.repository, commit, knows, view.tree, deeply=True)

    with closing(Store(case.root, progress=case.progress, folds=False)) as store:
        store.read(check)
        what = f"commits that the branch had, up to {commit[:12]}"
        done = bring_in(store, commit, _BY, case.moment, what)
    bad = len(done.notes)
    files = "1 bad file" if bad == 1 else f"{bad:,} bad files"
    told = f", and {files} with it, which the status names" if bad else ""
    return f"brought back, the tip is {done.tip[:12]}{told}"
