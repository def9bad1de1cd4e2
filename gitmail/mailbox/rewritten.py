"""A remote whose history was rewritten: how it is told, and what keeps all mail."""

import shlex
from datetime import UTC, datetime
from pathlib import Path

from gitmail.errors import RemoteRewrittenError
from gitmail.records.names import CommitId
from gitmail.records.times import format_time
from gitmail.store.complaints import reason_of
from gitmail.store.history import bases_below, is_ancestor
from gitmail.store.refs import BRANCH
from gitmail.store.remote import NAME, Remote
from gitmail.store.view import View


def common_commits(view: View, theirs: CommitId) -> list[CommitId]:
    """Return the best of the commits that a history has in common with ours."""
    knows = view.index.knows_commit
    return bases_below(view.repository, view.tip, theirs, knows)


def refuse_rewritten(
    view: View, root: Path, remote: Remote, was: CommitId, theirs: CommitId
) -> None:
    """Refuse a remote that no longer has what it had.

    Args:
        root: The mailbox's folder.
        was: What it had when an exchange last succeeded.

    Raises:
        RemoteRewrittenError: Somebody rebased, squashed or forced it.
    """
    repository = view.repository
    # A commit that is not even here was never exchanged with this mailbox.
    if not repository.has(was) or is_ancestor(repository, was, theirs):
        return
    commit = repository.commit(_departure(view, theirs))
    moment = format_time(datetime.fromtimestamp(commit.time, UTC))
    who = f"it departs at {commit.id[:12]}, committed by {commit.committer} at {moment}"
    is_related = bool(common_commits(view, theirs))
    commands = commands_to_keep_both(root, remote, is_related=is_related)
    raise RemoteRewrittenError(remote.shown_url, was, theirs, reason_of(who), commands)


def _departure(view: View, theirs: CommitId) -> CommitId:
    """Return the first commit that is not ours, or the last one if all of them are.

    Who made it did the rewriting, and others may have gone on from there in good faith.
    """
    knows, repository = view.index.knows_commit, view.repository
    first = theirs
    while not knows(first):
        parents = repository.commit(first).parents
        if not parents or knows(parents[0]):
            break
        first = parents[0]
    return first


def commands_to_keep_both(root: Path, remote: Remote, *, is_related: bool) -> str:
    """Return what brings a rewritten history and ours together, for a shell.

    Args:
        is_related: Whether they have a commit in common. Then it is enough to forget
            what was seen of the remote, for the next sync merges them; otherwise git
            has to be told that they belong together.
    """
    box, branch = shlex.quote(str(root)), remote.branch
    own = f"gitmail --mailbox {box}"
    say, url = "", remote.url_word
    if remote.shown_url != remote.url:  # nobody shall read it here
        say, url = f"url=$(git -C {box} config remote.{NAME}.url) && ", '"$url"'
    if is_related:
        add = f"{own} remote add {url} --branch {branch}"
        return f"{say}{own} remote remove && {add} && {own} sync"
    return (
        f'{say}both=$(mktemp -d) && git clone -q -b {BRANCH} {box} "$both"'
        ' && (cd "$both" && gitmail merge-driver --install'
        " && git pull --no-rebase --ff --no-edit --allow-unrelated-histories"
        f" {url} {branch} && git push {url} HEAD:{branch})"
        f" && {own} sync"
    )
