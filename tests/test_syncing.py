"""Sync: fetch, merge, push, with an installed git and without (CAPABILITIES V3)."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmail import Mailbox
from gitmail.errors import (
    BranchCheckedOutError,
    CorruptMailboxError,
    FolderInUseError,
    LockTimeoutError,
    NoRemoteError,
    NotAMailboxError,
    OtherMailboxError,
    PushRefusedError,
    RemoteFailedError,
    RemoteMovedError,
    RemoteRewrittenError,
    ShallowError,
    UnrelatedHistoriesError,
)
from gitmail.mailbox import remotes
from gitmail.mailbox.exchange_values import Relation
from gitmail.mailbox.rewritten import commands_to_keep_both
from gitmail.mailbox.syncing import ROUNDS, Sync
from gitmail.records.names import CommitId
from gitmail.records.times import format_time
from gitmail.store import creation
from gitmail.store.folding import PACKS_BEFORE_FOLDING
from gitmail.store.lock import Lock
from gitmail.store.store import Step
from gitmail.store.transport import Transport, open_transport
from tests.exchanges import (
    assert_same,
    bodies_of,
    both,
    by,
    cloned,
    in_clone,
    in_turn,
    install_hook,
    lose,
    make_remote,
    shared,
)
from tests.helpers import IDENTITY, SettableClock, environment, git
from tests.indexes import contents, contents_made_anew
from tests.mailboxes import everything, refused, tip
from tests.mailfiles import LINK, Clone, Entry, message_file
from tests.processes import LIMIT_S, needs_git, posix_only

pytestmark = needs_git
NAMES = ("builder", "reviewer", "lead")


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Return a folder for remotes and clones."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture(name="shell")
def _shell(mailbox: Mailbox) -> Callable[[str], None]:
    """Return what runs the commands of a hint in the project's folder."""

    def run(commands: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-ec", commands],
            capture_output=True,
            check=False,
            cwd=mailbox.path.parent,
            encoding="utf-8",
            env=environment(
                **IDENTITY, PATH=f"{Path(sys.executable).parent}:{os.defpath}"
            ),
            timeout=60,
        )
        assert done.returncode == 0, done.stderr

    return run


@both
def test_a_clone_has_the_mailbox_and_nothing_of_its_local_state(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Identities travel; who is live, what is indexed and what was seen do not."""
    sent = mailbox.agent("builder").send(to="reviewer", body="Hello.").message
    remote = shared(mailbox, folder / "remote.git", how)
    (mailbox.store.local / "secret").write_text("never synced", "utf-8")
    with cloned(folder / "clone", remote, how, clock) as clone:
        assert clone.status().id == mailbox.status().id
        assert everything(clone, *NAMES) == everything(mailbox, *NAMES)
        assert clone.agent("reviewer").read(sent.id).id == sent.id
        assert clone.whois("lead").profile == mailbox.whois("lead").profile
        assert not (clone.store.local / "secret").exists()
        assert clone.remote() == mailbox.remote()
        assert clone.status().exchange.relation is Relation.SAME
        assert (clone.path / ".git" / "hooks" / "pre-receive").exists()
        assert_same(mailbox, clone)


@both
def test_what_is_written_on_both_sides_is_on_both_after_a_sync(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Nothing is lost, nothing doubled, and every id stays as it was."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        here = mailbox.agent("builder").send(to="reviewer", body="Here.").message.id
        there = clone.agent("lead").send(to="reviewer", body="There.").message.id
        clone.agent("reviewer").memory.set("fact", "parser", "owner", "reviewer")
        mailbox.register("newcomer")
        first, second, third = in_turn(how, mailbox, clone)

        assert [each.step for each in (first, second, third)] == [
            Step.NOTHING,
            Step.MERGED,
            Step.FAST_FORWARD,
        ]
        assert (first.pushed_count, first.fetched_count) == (2, 0)
        assert (second.pushed_count, second.fetched_count) == (3, 2)
        assert (third.pushed_count, third.fetched_count) == (0, 3)
        assert_same(mailbox, clone)
        for each in (mailbox, clone):
            found = each.agent("reviewer").poll(limit=200).items
            assert sorted(item.id for item in found) == sorted([here, there])
            assert contents(each) == contents_made_anew(each)


@both
def test_a_sync_with_nothing_new_changes_nothing(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """However often it is done."""
    remote = shared(mailbox, folder / "remote.git", how)
    before = tip(mailbox)
    packs = {*(mailbox.path / ".git" / "objects" / "pack").iterdir()}
    done = [mailbox.sync(git=by(how)) for _ in range(3)]

    assert {each.step for each in done} == {Step.NOTHING}
    assert [each.pushed_count + each.fetched_count for each in done] == [0] * 3
    assert tip(mailbox) == before == git(remote, "rev-parse", "gitmail").strip()
    assert {*(mailbox.path / ".git" / "objects" / "pack").iterdir()} == packs


@both
def test_what_is_fetched_is_in_packs_that_housekeeping_folds(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Nobody would ever fold loose objects."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        clone.sync(git=by(how))
    mailbox.sync(git=by(how))

    assert git(mailbox.path, "count-objects").split()[0] == "0"
    mailbox.store.housekeeping()
    assert bodies_of(mailbox.agent("reviewer")) == ["There."]
    assert git(mailbox.path, "fsck", "--strict", "--no-dangling") == ""


@both
@pytest.mark.parametrize("step", [Step.FAST_FORWARD, Step.MERGED])
def test_the_files_are_on_the_disk_when_a_sync_returns(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str, step: Step
) -> None:
    """Whoever looks with `cat` need not wait until somebody reads with gitmail."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        clone.sync(git=by(how))
    if step is Step.MERGED:
        mailbox.agent("lead").send(to="reviewer", body="Here.")
    done = mailbox.sync(git=by(how))

    assert done.step is step
    (file,) = (mailbox.path / "messages").rglob("*-there-*.md")
    assert file.read_text("utf-8").endswith("There.\n")


def test_a_mailbox_that_only_syncs_is_folded_as_well(
    mailbox: Mailbox, folder: Path, clock: SettableClock
) -> None:
    """Packs that are fetched add up as those that are written do."""
    remote = shared(mailbox, folder / "remote.git", "git")
    with cloned(folder / "clone", remote, "git", clock) as clone:
        folding = Mailbox.open(mailbox.path, clock=clock)
        packs = mailbox.path / ".git" / "objects" / "pack"
        with folding:
            for number in range(PACKS_BEFORE_FOLDING + 2):
                clone.agent("builder").send(to="reviewer", body=f"Number {number}.")
                clone.sync(git=by("git"))
                folding.sync(git=by("git"))

        assert len([*packs.glob("*.pack")]) < PACKS_BEFORE_FOLDING


@both
def test_without_push_the_remote_stays_as_it_is(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """What it has comes all the same, and status tells how far ahead we are."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        clone.sync(git=by(how))
        there = git(remote, "rev-parse", "gitmail")
        mailbox.agent("builder").send(to="reviewer", body="Here.")
        done = mailbox.sync(push=False, git=by(how))
        found = mailbox.status().exchange

    assert git(remote, "rev-parse", "gitmail") == there
    assert (done.pushed_count, done.fetched_count, done.step) == (0, 1, Step.MERGED)
    assert bodies_of(mailbox.agent("reviewer")) == ["Here.", "There."]
    assert (found.relation, found.ahead_count) == (Relation.AHEAD, 2)


@both
def test_a_cursor_from_before_a_sync_finds_what_that_brought(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """In every clone, for mail that was sent before the cursor was taken, too (I7)."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("lead").send(to="reviewer", body="Early, but late to come.")
        mailbox.agent("builder").send(to="reviewer", body="Seen.")
        cursor = mailbox.agent("reviewer").poll().cursor
        in_turn(how, mailbox, clone)
        for each in (mailbox, clone):
            page = each.agent("reviewer").poll(after=cursor)
            assert [i.message.body for i in page.items] == ["Early, but late to come."]


@both
def test_a_wait_is_woken_by_mail_that_a_sync_brings(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """As by mail that is sent here."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        found: list[str] = []

        def wait() -> None:
            page = mailbox.agent("reviewer").wait(LIMIT_S)
            found.extend(item.message.body for item in page.items)

        waiter = threading.Thread(target=wait)
        waiter.start()
        clone.agent("builder").send(to="reviewer", body="Wake up.")
        in_turn(how, clone, mailbox)
        waiter.join(LIMIT_S)

    assert found == ["Wake up."]


class Overtaken:
    """A transport whose remote somebody else pushes to just before we do."""

    is_proving = True

    def __init__(self, real: Transport, others: Callable[[int], object]) -> None:
        self._real = real
        self._others = others
        self.count = 0
        self.tip, self.fetch, self.keep = real.tip, real.fetch, real.keep

    def push(self, commit: CommitId, over: CommitId | None) -> None:
        """Let the others push, and then try."""
        self.count += 1
        self._others(self.count)
        self._real.push(commit, over)


def sync_overtaken(
    mailbox: Mailbox, how: str, others: Callable[[int], object]
) -> tuple[Sync, Overtaken]:
    """Return a sync whose pushes others are quicker at."""
    book = remotes.book_of(mailbox.store)
    real = open_transport(mailbox.store.git_dir, book.needed(), by(how))
    transport = Overtaken(real, others)
    sync = Sync(mailbox.store, book, transport, mailbox.now, push=True)
    return sync, transport


@both
@pytest.mark.parametrize("is_empty", [False, True], ids=["", "empty"])
def test_who_is_overtaken_fetches_merges_and_pushes_again(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str, *, is_empty: bool
) -> None:
    """Neither side loses anything, even where the branch only comes to be."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        if is_empty:
            git(remote, "update-ref", "-d", "refs/heads/gitmail")
        clone.agent("lead").send(to="reviewer", body="First.")
        mailbox.agent("builder").send(to="reviewer", body="Second.")
        sync, _ = sync_overtaken(
            mailbox, how, lambda n: n > 1 or clone.sync(git=by(how))
        )
        done = sync.run()
        clone.sync(git=by(how))

        assert (done.rounds, done.step) == (2, Step.MERGED)
        assert bodies_of(clone.agent("reviewer")) == ["First.", "Second."]
        assert_same(mailbox, clone)


@both
def test_who_is_overtaken_each_time_gives_up_with_all_that_came(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """The number of rounds is bounded, and here all is well."""
    remote = shared(mailbox, folder / "remote.git", how)
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    with cloned(folder / "clone", remote, how, clock) as clone:

        def overtake(count: int) -> None:
            clone.agent("lead").send(to="reviewer", body=f"Theirs {count}.")
            clone.sync(git=by(how))

        sync, transport = sync_overtaken(mailbox, how, overtake)
        with pytest.raises(RemoteMovedError):
            sync.run()

        assert transport.count == ROUNDS
        assert "Ours." not in bodies_of(clone.agent("reviewer"))
        in_turn(how, mailbox, clone)
        assert len(bodies_of(clone.agent("reviewer"))) == ROUNDS + 1
        assert_same(mailbox, clone)


@both
def test_an_empty_remote_gets_the_mailbox_of_the_first_that_syncs(
    folder: Path, clock: SettableClock, how: str
) -> None:
    """A mailbox that starts from one is new, and the next one is its clone."""
    remote = make_remote(folder / "remote.git")
    with cloned(folder / "one", remote, how, clock) as one:
        assert one.status().message_count == 0
        assert one.status().exchange.relation is Relation.UNKNOWN
        assert one.sync(git=by(how)).pushed_count == 1
        with cloned(folder / "two", remote, how, clock) as two:
            assert_same(one, two)


@both
def test_the_mailbox_lives_beside_the_code_of_the_projects_own_remote(
    mailbox: Mailbox, git_project: Path, folder: Path, clock: SettableClock, how: str
) -> None:
    """On its branch; the branch of the code is neither fetched nor moved."""
    origin = make_remote(folder / "origin.git")
    git(git_project, "push", "-q", str(origin), "main")
    code = git(origin, "rev-parse", "main").strip()
    mailbox.set_remote(str(origin))
    mailbox.sync(git=by(how))
    with cloned(folder / "clone", origin, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        in_turn(how, clone, mailbox)

        assert_same(mailbox, clone)
        assert git(origin, "rev-parse", "main").strip() == code
        assert git(origin, "for-each-ref", "--format=%(refname)").split() == [
            "refs/heads/gitmail",
            "refs/heads/main",
        ]
        assert git(clone.path, "cat-file", "-t", code, check=False) == ""
        assert git(mailbox.path, "cat-file", "-t", code, check=False) == ""


@both
def test_a_branch_of_another_name_holds_the_mailbox_as_well(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """Here it is still called gitmail."""
    remote = make_remote(folder / "remote.git")
    mailbox.set_remote(str(remote), branch="team/mail")
    mailbox.sync(git=by(how))
    url = str(remote)
    path = folder / "clone"
    with Mailbox.clone(path, url, branch="team/mail", git=by(how)) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        clone.sync(git=by(how))
        mailbox.sync(git=by(how))

        assert_same(mailbox, clone)
    assert git(remote, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/team/mail"
    ]


def rebased(work: Path) -> None:
    """Write the last two commits anew."""
    git(work, "rebase", "-q", "--force-rebase", "HEAD~2")


def squashed(work: Path) -> None:
    """Make one commit of all."""
    tree = git(work, "rev-parse", "HEAD^{tree}").strip()
    made = git(work, "commit-tree", tree, "-m", "All").strip()
    git(work, "reset", "-q", "--hard", made)


def cut(work: Path) -> None:
    """Take the last commit away."""
    git(work, "reset", "-q", "--hard", "HEAD~1")


@both
@pytest.mark.parametrize("rewrite", [rebased, squashed, cut])
def test_a_remote_that_was_rewritten_is_noticed_and_nothing_is_taken_from_it(
    mailbox: Mailbox, folder: Path, how: str, rewrite: Callable[[Path], None]
) -> None:
    """It is explained, with who did it and when, and told by status."""
    mailbox.agent("builder").send(to="reviewer", body="One.")
    mailbox.agent("builder").send(to="reviewer", body="Two.")
    remote = shared(mailbox, folder / "remote.git", how)
    was = tip(mailbox)
    now = in_clone(remote, folder / "work", rewrite)
    git(folder / "work", "push", "-q", "--force", "origin", "HEAD:gitmail")
    mailbox.agent("builder").send(to="reviewer", body="Three.")
    first = f"{now}~1" if rewrite is rebased else now
    said = git(remote, "log", "-1", "--format=%H%n%cn <%ce>%n%ct", first)
    commit, who, when = said.splitlines()
    moment = format_time(datetime.fromtimestamp(int(when), UTC))
    for _ in range(2):
        error = refused(mailbox, mailbox.sync, git=by(how))

        assert isinstance(error, RemoteRewrittenError)
        assert (error.details["seen"], error.details["now"]) == (was, now)
        assert error.message.endswith(error.details["reason"])
        said = f"it departs at {commit[:12]}, committed by {who} at {moment}"
        assert error.details["reason"] == said
        assert "--force" not in error.hint
    assert git(remote, "rev-parse", "gitmail").strip() == now
    found = mailbox.status().exchange
    assert found.failure.code == "remote_rewritten"
    assert found.relation is (Relation.AHEAD if rewrite is cut else Relation.DIVERGED)


@posix_only
@both
@pytest.mark.parametrize("rewrite", [rebased, squashed, cut])
@pytest.mark.parametrize("branch", ["gitmail", "team/mail"])
def test_after_a_rewrite_the_hint_keeps_what_both_sides_sent(
    mailbox: Mailbox,
    folder: Path,
    clock: SettableClock,
    how: str,
    rewrite: Callable[[Path], None],
    branch: str,
    shell: Callable[[str], None],
) -> None:
    """Nobody forces anything, and each clone goes on from there by itself."""
    remote = make_remote(folder / "a remote.git")
    mailbox.set_remote(str(remote), branch=branch)
    mailbox.agent("builder").send(to="reviewer", body="One.")
    mailbox.agent("builder").send(to="lead", body="Two.")
    mailbox.sync(git=by(how))
    clone = {"url": str(remote), "branch": branch, "git": by(how), "clock": clock}
    with Mailbox.clone(folder / "old", **clone) as old:
        git(folder, "clone", "-q", "-b", branch, str(remote), "work")
        rewrite(folder / "work")
        git(folder / "work", "push", "-q", "--force", "origin", f"HEAD:{branch}")
        with Mailbox.clone(folder / "new", **clone) as new:
            new.agent("builder").send(to="reviewer", body="Of the new history.")
            new.sync(git=by(how))
            mailbox.agent("builder").send(to="reviewer", body="Of the old history.")
            error = refused(mailbox, mailbox.sync, git=by(how))
            shell(error.hint.partition("keep both: ")[2])
            new.sync(git=by(how))
            old.sync(git=by(how))
            assert_same(mailbox, new, old)
        assert bodies_of(old.agent("lead")) == ["Two."]
        assert bodies_of(old.agent("reviewer")) == [
            "Of the new history.",
            "Of the old history.",
            "One.",
        ]


@posix_only
@pytest.mark.parametrize("is_related", [True, False])
def test_a_password_in_the_url_is_not_in_the_commands_that_use_it(
    mailbox: Mailbox, *, is_related: bool
) -> None:
    """A shell takes it from the mailbox's settings, so that they run as they are."""
    url = "http://user:secret@127.0.0.1:1/mail.git"
    mailbox.set_remote(url)
    commands = commands_to_keep_both(
        mailbox.path, mailbox.remote(), is_related=is_related
    )
    first = commands.partition(" && ")[0]
    said = subprocess.run(
        ["sh", "-c", f'{first}; echo "$url"'],
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )

    assert "secret" not in commands
    assert '"$url"' in commands
    assert said.stdout == f"{url}\n"


@posix_only
@both
def test_a_rewritten_history_that_nothing_is_known_of_has_nothing_in_common(
    mailbox: Mailbox, folder: Path, how: str, shell: Callable[[str], None]
) -> None:
    """Where it never was exchanged, only the missing base can be told."""
    remote = shared(mailbox, folder / "remote.git", how)
    in_clone(remote, folder / "work", squashed)
    git(folder / "work", "push", "-q", "--force", "origin", "HEAD:gitmail")
    mailbox.remove_remote()
    mailbox.set_remote(str(remote))

    error = refused(mailbox, mailbox.sync, git=by(how))
    assert isinstance(error, UnrelatedHistoriesError)
    shell(error.hint.partition("keep what both have: ")[2])
    assert mailbox.status().exchange.relation is Relation.SAME


@posix_only
@both
def test_another_mailbox_is_refused_with_both_ids(
    mailbox: Mailbox,
    folder: Path,
    clock: SettableClock,
    how: str,
    shell: Callable[[str], None],
) -> None:
    """What was fetched of it is forgotten, and the hint says how to join it."""
    with Mailbox.init(folder / "other", clock=clock) as other:
        remote = shared(other, folder / "remote.git", how)
        ids = other.status().id, mailbox.status().id
    mailbox.set_remote(str(remote))
    there = git(remote, "rev-parse", "gitmail")
    error = refused(mailbox, mailbox.sync, git=by(how))

    assert isinstance(error, OtherMailboxError)
    assert (error.details["theirs"], error.details["ours"]) == ids
    assert git(mailbox.path, "for-each-ref", "refs/remotes") == ""
    assert git(remote, "rev-parse", "gitmail") == there
    mailbox.close()
    assert f"move {mailbox.path} elsewhere" in error.hint
    mailbox.path.rename(folder / "younger")
    shell(error.hint.partition("then: ")[2].partition(";")[0])
    with Mailbox.open(mailbox.path) as joined:
        assert joined.status().id == ids[0]


@both
def test_a_branch_that_is_no_mailbox_is_refused(
    mailbox: Mailbox, git_project: Path, folder: Path, how: str
) -> None:
    """By a sync and by a clone, which leaves nothing behind."""
    git(git_project, "branch", "code")
    mailbox.set_remote(str(git_project), branch="code")
    error = refused(mailbox, mailbox.sync, git=by(how))
    with pytest.raises(NotAMailboxError) as caught:
        Mailbox.clone(folder / "new", str(git_project), branch="code", git=by(how))

    assert isinstance(error, NotAMailboxError)
    assert error.hint.endswith("gitmail remote add URL --branch B")
    assert caught.value.hint.endswith("gitmail init --from URL --branch B")
    assert error.details["branch"] == "code"
    assert git(mailbox.path, "for-each-ref", "refs/remotes") == ""
    assert not (folder / "new").exists()


CHARTERS = {
    "removed": lambda _: {"mailbox.md": None},
    "unreadable": lambda _: {"mailbox.md": b"Text."},
    "a link": lambda _: {"mailbox.md": Entry(b"README.md", LINK)},
    "a folder": lambda _: {"mailbox.md": None, "mailbox.md/x": b"Text."},
    "of another": lambda charter: {
        "mailbox.md": re.sub(rb"\nid: .{8}", b"\nid: 00000000", charter)
    },
}


@both
@pytest.mark.parametrize("has_own", [False, True], ids=["nothing new", "mail here"])
@pytest.mark.parametrize("damage", CHARTERS)
def test_a_damaged_charter_in_a_remote_stops_nobodys_mail(
    mailbox: Mailbox,
    folder: Path,
    clock: SettableClock,
    how: str,
    damage: str,
    *,
    has_own: bool,
) -> None:
    """Where the history is this mailbox's, its charter stays, and that is told."""
    remote = shared(mailbox, folder / "remote.git", how)
    charter = (mailbox.path / "mailbox.md").read_bytes()
    path, data = message_file("builder", ["reviewer"], "Fine.")
    other = Clone(remote, folder / "work")
    changes = {**CHARTERS[damage](charter), path: data}
    other.bring(other.commit("origin/gitmail", changes))
    if has_own:
        mailbox.agent("builder").send(to="reviewer", body="Ours.")
    done = mailbox.sync(git=by(how))

    assert any(place.startswith("mailbox.md") for place, _ in done.notes)
    assert "Fine." in bodies_of(mailbox.agent("reviewer"))
    assert (mailbox.path / "mailbox.md").read_bytes() == charter
    with cloned(folder / "clone", remote, how, clock) as clone:
        assert_same(mailbox, clone)


@both
@pytest.mark.parametrize("name", ["pre-receive", "update"])
def test_a_push_that_the_remote_refuses_is_an_error_with_its_reason(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str, name: str
) -> None:
    """What came is here, what was sent here is durable, and it may be tried again."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("lead").send(to="reviewer", body="Theirs.")
        clone.sync(git=by(how))
    before = git(remote, "rev-parse", "gitmail")
    hook = install_hook(remote, "echo 'Only on Mondays.' >&2; exit 1", name)
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    with pytest.raises(PushRefusedError) as caught:
        mailbox.sync(git=by(how))

    assert "hook declined" in caught.value.message
    assert "Only on Mondays." in caught.value.details["reason"]
    assert git(remote, "rev-parse", "gitmail") == before
    with Mailbox.open(mailbox.path) as again:
        assert bodies_of(again.agent("reviewer")) == ["Ours.", "Theirs."]
        assert again.status().exchange.relation is Relation.AHEAD
    hook.unlink()
    assert mailbox.sync(git=by(how)).pushed_count == 2


@both
def test_a_branch_that_is_checked_out_is_not_moved_under_its_files(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """As git has it by default."""
    shared(mailbox, folder / "remote.git", how)
    git(folder, "clone", "-q", "-b", "gitmail", "remote.git", "work")
    mailbox.set_remote(str(folder / "work"))
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    error = refused(mailbox, mailbox.sync, git=by(how))

    assert isinstance(error, PushRefusedError)
    assert "checked out" in error.details["reason"]
    assert git(folder / "work", "status", "--porcelain") == ""


@both
def test_two_mailboxes_can_sync_with_each_other_directly(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """A mailbox is a remote like any other, and verifies what is pushed to it."""
    with cloned(folder / "clone", mailbox.path, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        mailbox.agent("builder").send(to="reviewer", body="Here.")
        clone.sync(git=by(how))

        assert bodies_of(mailbox.agent("reviewer")) == ["Here.", "There."]
        assert_same(mailbox, clone)
        assert creation.has_guard(mailbox.store.git_dir)


@both
def test_a_remote_with_an_object_missing_does_no_harm(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Nothing is taken from it, and when it is mended all comes."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        sent = clone.agent("lead").send(to="reviewer", body="Lost.").message.id
        clone.agent("lead").send(to="reviewer", body="After.")
        clone.sync(git=by(how))
        shutil.copytree(remote, folder / "sound.git")
        lose(remote, sent)
        error = refused(mailbox, mailbox.sync, git=by(how))
        with pytest.raises((RemoteFailedError, CorruptMailboxError)):
            Mailbox.clone(folder / "new", str(remote), git=by(how))

        assert isinstance(error, RemoteFailedError | CorruptMailboxError)
        assert not (folder / "new").exists()
        assert bodies_of(mailbox.agent("reviewer")) == []
        assert git(mailbox.path, "fsck", "--strict", "--no-dangling") == ""
        shutil.rmtree(remote)
        (folder / "sound.git").rename(remote)
        mailbox.sync(git=by(how))
        assert_same(mailbox, clone)


@both
def test_few_objects_at_millions_of_paths_do_not_keep_a_sync_busy(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Somebody can nest folders so; the commit is named, and mail goes on here."""
    remote = shared(mailbox, folder / "remote.git", how)
    clone = Clone(remote, folder / "hand")
    blob = bytes.fromhex(clone.write("blob", b"x"))
    tree = clone.write("tree", b"".join(b"100644 %d\0" % n + blob for n in range(9)))
    for _ in range(7):
        below = bytes.fromhex(tree)
        tree = clone.write(
            "tree", b"".join(b"40000 %d\0" % n + below for n in range(9))
        )
    commit = clone.push({"bomb": Entry(mode=b"40000", sha=tree)})
    error = refused(mailbox, mailbox.sync, git=by(how))

    assert isinstance(error, CorruptMailboxError)
    assert commit in error.message
    with pytest.raises(CorruptMailboxError):
        Mailbox.clone(folder / "new", str(remote), git=by(how), clock=clock)


@both
@pytest.mark.parametrize("kind", ["nonsense", "link", "upwards"])
def test_a_bad_file_in_a_remotes_history_is_named_and_stops_nobodys_mail(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str, kind: str
) -> None:
    """It is quarantined in every clone, and what else came counts."""
    remote = shared(mailbox, folder / "remote.git", how)
    path, data = message_file("builder", ["reviewer"], "Fine.")
    bad = {
        "nonsense": ("agents/zoe.md", {"agents/zoe.md": b"Text."}),
        "link": ("agents/zoe.md", {"agents/zoe.md": Entry(b"/etc/passwd", LINK)}),
        "upwards": ("../x.md", {(b"..", b"x.md"): b"Text."}),
    }
    name, changes = bad[kind]
    other = Clone(remote, folder / "work")
    other.bring(other.commit("origin/gitmail", {path: data, **changes}))
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    mailbox.sync(git=by(how))
    with cloned(folder / "clone", remote, how, clock) as clone:
        for each in (mailbox, clone):
            assert bodies_of(each.agent("reviewer")) == ["Fine.", "Ours."]
            assert [found for found, _ in each.status().quarantine] == [name]
            assert contents(each) == contents_made_anew(each)
    assert not (mailbox.path.parent / "x.md").exists()


@both
def test_a_remote_that_is_gone_is_an_error_and_mail_goes_on(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """Status still tells when it was last seen, and how far ahead we are."""
    remote = shared(mailbox, folder / "remote.git", how)
    remote.rename(folder / "moved.git")
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    error = refused(mailbox, mailbox.sync, git=by(how))
    with pytest.raises(RemoteFailedError):
        Mailbox.clone(folder / "new", str(remote), git=by(how))

    assert isinstance(error, RemoteFailedError)
    assert error.details["url"] == str(remote)
    assert not (folder / "new").exists()
    found = mailbox.status().exchange
    assert (found.relation, found.ahead_count) == (Relation.AHEAD, 1)
    assert found.at is not None
    assert found.failure.code == "remote_failed"
    assert found.at < found.failure.at < mailbox.now()
    (folder / "moved.git").rename(remote)
    mailbox.sync(git=by(how))
    assert mailbox.status().exchange.failure is None


@both
def test_a_failure_is_of_the_remote_that_failed(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """Another one has not failed yet."""
    mailbox.set_remote(str(folder / "nowhere.git"))
    refused(mailbox, mailbox.sync, git=by(how))
    assert mailbox.status().exchange.failure.code == "remote_failed"
    remote = make_remote(folder / "remote.git")
    mailbox.set_remote(str(remote))
    assert mailbox.status().exchange.failure is None
    remote.rename(folder / "away.git")
    refused(mailbox, mailbox.sync, git=by(how))
    (folder / "away.git").rename(remote)
    assert mailbox.status().exchange.failure.code == "remote_failed"
    mailbox.sync(push=False, git=by(how))
    assert mailbox.status().exchange.failure is None


@both
@pytest.mark.parametrize("push", [True, False])
def test_a_branch_that_was_removed_from_a_remote_is_told_when_it_is_pushed_again(
    mailbox: Mailbox, folder: Path, how: str, *, push: bool
) -> None:
    """Somebody may have meant it to be gone."""
    remote = shared(mailbox, folder / "remote.git", how)
    git(remote, "update-ref", "-d", "refs/heads/gitmail")
    ((path, text),) = mailbox.sync(push=push, git=by(how)).notes

    assert path == "refs/heads/gitmail"
    assert text.startswith("it was gone there")
    assert ("pushed again" in text) is push
    assert bool(git(remote, "for-each-ref")) is push
    assert mailbox.sync(git=by(how)).notes == () or not push


@both
def test_status_tells_how_the_mailbox_stands_to_its_remote(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """By what was last fetched, which a sync that fails may have done."""

    def stands() -> tuple[Relation, int, int]:
        found = mailbox.status().exchange
        return found.relation, found.ahead_count, found.behind_count

    assert mailbox.status().exchange is None
    remote = make_remote(folder / "remote.git")
    mailbox.set_remote(str(remote))
    assert stands() == (Relation.UNKNOWN, 0, 0)
    mailbox.sync(git=by(how))
    assert stands() == (Relation.SAME, 0, 0)
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    assert stands() == (Relation.AHEAD, 1, 0)
    mailbox.sync(git=by(how))
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="Theirs.")
        clone.sync(git=by(how))
    with mailbox.store._lock.held(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr("gitmail.store.store.LOCK_TIMEOUT_S", 0)
        lock = Lock(mailbox.store.local / "write.lock")
        patch.setattr(mailbox.store, "_lock", lock)
        with pytest.raises(LockTimeoutError):
            mailbox.sync(git=by(how))
    assert stands() == (Relation.BEHIND, 0, 1)
    mailbox.agent("builder").send(to="reviewer", body="Ours again.")
    assert stands() == (Relation.DIVERGED, 1, 1)
    mailbox.sync(git=by(how))
    assert stands() == (Relation.SAME, 0, 0)


def test_ahead_and_behind_are_counted_as_git_counts_them(
    mailbox: Mailbox, folder: Path, clock: SettableClock
) -> None:
    """Also where clocks disagree and many commits are of the same second."""
    remote = shared(mailbox, folder / "remote.git", "git")
    with cloned(folder / "clone", remote, "git", SettableClock()) as clone:
        for number in range(6):
            clock.advance(seconds=number % 3)
            for each, count in ((mailbox, number % 3 + 1), (clone, 2)):
                for _ in range(count):
                    each.agent("builder").send(to="reviewer", body="Hello.")
            clone.sync(git=by("git"))
            mailbox.sync(push=number % 2 == 0, git=by("git"))
            mailbox.agent("builder").send(to="reviewer", body="Hello again.")
            found = mailbox.status().exchange
            span = "gitmail...origin/gitmail"
            said = git(mailbox.path, "rev-list", "--left-right", "--count", span)
            assert [found.ahead_count, found.behind_count] == [*map(int, said.split())]


@both
def test_a_shallow_mailbox_is_refused_with_the_command_that_completes_it(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """What it has not got it could neither merge nor pass on."""
    remote = shared(mailbox, folder / "remote.git", how)
    commit = git(mailbox.path, "rev-parse", "gitmail~1")
    (mailbox.path / ".git" / "shallow").write_text(commit, "ascii")
    with pytest.raises(ShallowError) as caught:
        mailbox.sync(git=by(how))

    command = caught.value.hint.partition(": git ")[2].replace("URL", str(remote))
    git(mailbox.path, *command.split())
    mailbox.agent("builder").send(to="reviewer", body="Ours.")
    assert mailbox.sync(git=by(how)).pushed_count == 1


@both
def test_nothing_is_taken_from_a_shallow_remote(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Neither by a sync nor by a clone, and the mailbox does not become shallow."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        for number in range(3):
            clone.agent("builder").send(to="reviewer", body=f"{number}")
        clone.sync(git=by(how))
    cut_off = folder / "shallow.git"
    words = ("clone", "-q", "--bare", "--depth", "1", "-b", "gitmail")
    git(folder, *words, f"file://{remote}", str(cut_off))
    mailbox.set_remote(str(cut_off))
    refused(mailbox, mailbox.sync, git=by(how))
    with pytest.raises((RemoteFailedError, CorruptMailboxError, ShallowError)):
        Mailbox.clone(folder / "new", str(cut_off), git=by(how))

    assert not (mailbox.path / ".git" / "shallow").exists()
    assert not (folder / "new").exists()
    mailbox.set_remote(str(remote))
    mailbox.sync(git=by(how))
    assert bodies_of(mailbox.agent("reviewer")) == ["0", "1", "2"]


def _pack_refs(mailbox: Path) -> None:
    git(mailbox, "pack-refs", "--all", "--prune")
    assert not (mailbox / ".git" / "refs" / "heads" / "gitmail").exists()


def _move_head(mailbox: Path) -> None:
    git(mailbox, "symbolic-ref", "HEAD", "refs/heads/elsewhere")


def _borrow(mailbox: Path) -> None:
    lender = mailbox.parent / "lender.git"
    git(mailbox.parent, "clone", "-q", "--bare", str(mailbox), str(lender))
    info = mailbox / ".git" / "objects" / "info" / "alternates"
    info.write_text(f"{lender / 'objects'}\n", "utf-8")
    for pack in (mailbox / ".git" / "objects" / "pack").iterdir():
        pack.unlink()


@both
@pytest.mark.parametrize("arrange", [_pack_refs, _move_head, _borrow])
def test_a_mailbox_that_git_has_arranged_otherwise_syncs_all_the_same(
    mailbox: Mailbox,
    folder: Path,
    clock: SettableClock,
    how: str,
    arrange: Callable[[Path], None],
) -> None:
    """Packed refs, HEAD elsewhere, borrowed objects."""
    remote = shared(mailbox, folder / "remote.git", how)
    mailbox.close()
    arrange(mailbox.path)
    with (
        cloned(folder / "clone", remote, how, clock) as clone,
        Mailbox.open(mailbox.path, clock=clock) as again,
    ):
        clone.agent("builder").send(to="reviewer", body="There.")
        again.agent("builder").send(to="reviewer", body="Here.")
        in_turn(how, clone, again)
        for each in (clone, again):
            assert bodies_of(each.agent("reviewer")) == ["Here.", "There."]
        assert_same(clone, again)


@both
def test_a_branch_that_a_worktree_has_is_not_moved_by_a_sync(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """What comes waits until the branch is let go."""
    remote = shared(mailbox, folder / "remote.git", how)
    work = folder / "work"
    git(mailbox.path, "worktree", "add", "-q", str(work), "gitmail")
    with cloned(folder / "clone", remote, how, clock) as clone:
        clone.agent("builder").send(to="reviewer", body="There.")
        clone.sync(git=by(how))
        assert isinstance(
            refused(mailbox, mailbox.sync, git=by(how)), BranchCheckedOutError
        )
        git(work, "switch", "-q", "--detach")
        mailbox.sync(git=by(how))

        assert_same(mailbox, clone)


@both
def test_syncs_of_one_mailbox_take_turns(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """Several servers on one machine may each keep it in step."""
    remote = shared(mailbox, folder / "remote.git", how)
    with cloned(folder / "clone", remote, how, clock) as clone:
        for number in range(4):
            clone.agent("builder").send(to="reviewer", body=f"{number}")
            clone.sync(git=by(how))
        errors: list[BaseException] = []

        def run() -> None:
            try:
                with Mailbox.open(mailbox.path, clock=clock) as other:
                    other.sync(git=by(how))
            except BaseException as error:  # noqa: BLE001 - told by the assertion
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(LIMIT_S)

        assert errors == []
        assert_same(mailbox, clone)


@both
def test_a_sync_does_not_wait_for_ever_for_another(
    mailbox: Mailbox, folder: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that somebody else is at it."""
    shared(mailbox, folder / "remote.git", how)
    monkeypatch.setattr(remotes, "_TIMEOUT_S", 0.0)
    with (
        Lock(mailbox.store.local / "sync.lock").held(1),
        pytest.raises(LockTimeoutError),
    ):
        mailbox.sync(git=by(how))
    mailbox.sync(git=by(how))


def test_a_mailbox_without_a_remote_cannot_be_synced(mailbox: Mailbox) -> None:
    """The error names the command that names one."""
    for act in (mailbox.sync, mailbox.remove_remote):
        error = refused(mailbox, act)
        assert isinstance(error, NoRemoteError)
        assert "gitmail remote add" in error.hint


@both
def test_a_clone_is_not_put_where_something_is(
    mailbox: Mailbox, folder: Path, how: str
) -> None:
    """Neither over a mailbox nor among other files, which stay."""
    remote = shared(mailbox, folder / "remote.git", how)
    (folder / "full").mkdir()
    (folder / "full" / "file").write_text("Mine.", "utf-8")
    before = tip(mailbox)
    for place in (mailbox.path, folder / "full", mailbox.path / "below"):
        with pytest.raises(FolderInUseError):
            Mailbox.clone(place, str(remote), git=by(how))

    assert tip(mailbox) == before
    assert (folder / "full" / "file").read_text("utf-8") == "Mine."
    assert not (folder / "full" / ".git").exists()


@both
def test_a_clone_that_was_killed_can_be_made_again(
    mailbox: Mailbox, folder: Path, clock: SettableClock, how: str
) -> None:
    """What it leaves is a repository without a branch."""
    remote = shared(mailbox, folder / "remote.git", how)
    creation.create_repository(folder / "clone")
    with cloned(folder / "clone", remote, how, clock) as clone:
        assert_same(mailbox, clone)
