"""The error tree: one root, stable codes, messages made from data (STYLE)."""

import inspect
import json
import re
from collections.abc import Iterator

import pytest

from gitmail import errors
from gitmail.errors import (
    BusyError,
    ConflictError,
    GitmailError,
    InvalidFileError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)

BRANCHES = {
    InvalidInputError: 2,
    NotFoundError: 1,
    ConflictError: 1,
    BusyError: 4,
    StorageError: 1,
}
LONG = "x" * 10_000
IN_FORCE = {
    "revision": "0" * 40,
    "value": "ada",
    "set_by": "builder",
    "set_at": "2026-11-30T14:37:12.123456Z",
}
EXAMPLES = [
    errors.InvalidArgumentError("limit", 500, "a number from 1 to 200"),
    errors.InvalidNameError("agent name", "A B", "1 to 63 of a-z"),
    errors.InvalidTextError("body", "U+0000", 3),
    errors.BlankBodyError(),
    errors.BodyTooLargeError(70_000, 65_536),
    errors.InvalidFileError("from is missing", line=3, path="messages/a.md"),
    errors.BundleInvalidError("/somewhere/x.bundle", "it is no git bundle"),
    errors.BundleBlockedError("0" * 40, "it has an empty folder: a", "a"),
    errors.BundleIncompleteError("/somewhere/x.bundle", ["0" * 40]),
    errors.OtherMailboxError("/somewhere/x.bundle", "0" * 8, "1" * 8),
    errors.UnrelatedHistoriesError("0" * 40, "1" * 40),
    errors.AmbiguousIdError("0123abcd", ["0123abcd0", "0123abcd1"]),
    errors.InvalidCursorError("0123", "cursor_ahead", "it is newer than the tip"),
    errors.NoIdentityError(),
    errors.NotRegisteredError("builder", ["bilder"]),
    errors.UnknownRecipientError(["revewer"], ["reviewer"]),
    errors.RetiredRecipientError(["lead"]),
    errors.NoRecipientsError(["all"]),
    errors.FanoutTooLargeError("all", 60, 50),
    errors.MailboxClosedError("/somewhere"),
    errors.MailboxNotFoundError("/somewhere"),
    errors.AgentNotFoundError("builder", ["bilder"]),
    errors.MessageNotFoundError("0123abcd"),
    errors.MemoryNotFoundError("fact", "parsr owner", ["parser"]),
    errors.RoomNotFoundError("parser"),
    errors.NoRemoteError(),
    errors.RequestConflictError("r1", "0" * 40, ["body"]),
    errors.FolderInUseError("/somewhere", "it is part of a mailbox"),
    errors.StaleRevisionError("fact parser owner", "0" * 8, IN_FORCE),
    errors.AlreadyInForceError("fact parser owner", "0" * 40, "Look at the history"),
    errors.TooManyMatchesError(21, 20, [{"revision": "0" * 40, "value": "A note."}]),
    errors.QuarantinedError("memory/facts/a/b.md", "line 2: scope is missing"),
    errors.NotAMailboxError("/somewhere/x.git", "code"),
    errors.ShallowError("/somewhere"),
    errors.RemoteRewrittenError("/x.git", "0" * 40, "1" * 40, "by A", "gitmail sync"),
    errors.PushRefusedError("/somewhere/x.git", "(pre-receive hook declined)"),
    errors.NameInUseError("builder"),
    errors.NotParticipantError("0" * 40),
    errors.LockTimeoutError("/somewhere/write.lock", 10.0),
    errors.BranchCheckedOutError("/somewhere"),
    errors.RefLockedError("/somewhere/gitmail.lock"),
    errors.StaleWriteError(8),
    errors.RemoteMovedError("/somewhere/x.git"),
    errors.RemoteLockedError("/somewhere/x.git", "refs/heads/gitmail.lock"),
    errors.RemoteDeniedError("https://host/x.git", "HTTP 401"),
    errors.RemoteFullError("/somewhere/x.git", "No space left on device"),
    errors.RemoteFailedError("/somewhere/x.git", "it gave no reason"),
    errors.ReadOnlyError("/somewhere"),
    errors.DiskFullError("/somewhere"),
    errors.DiskError("/somewhere", "input/output error"),
    errors.CorruptMailboxError("an object is missing", "/somewhere"),
    errors.UnsupportedFormatError("/somewhere", "2", 1),
]


def below_the_branches() -> Iterator[type[GitmailError]]:
    """Yield all classes but the root and the branches."""
    for _, found in inspect.getmembers(errors, inspect.isclass):
        if issubclass(found, GitmailError) and found not in (GitmailError, *BRANCHES):
            yield found


def leaves() -> Iterator[type[GitmailError]]:
    """Yield the classes that are raised: those that none of the others is of."""
    bases = {base for found in below_the_branches() for base in found.__bases__}
    return (found for found in below_the_branches() if found not in bases)


def test_each_error_has_an_example_here() -> None:
    """The tests below speak of every class there is."""
    assert {type(example) for example in EXAMPLES} == {*leaves()}


def test_codes_are_unique_words() -> None:
    """A caller can rely on a code to mean one thing, of whatever record it is said."""
    codes = [found.code for found in below_the_branches() if "code" in vars(found)]

    assert {*codes} == {found.code for found in leaves()}
    assert len({*codes}) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)
    assert "error" not in codes


@pytest.mark.parametrize("found", [*leaves()], ids=lambda found: found.__name__)
def test_each_error_is_of_one_branch_and_no_built_in(found: type[GitmailError]) -> None:
    """The branch says what to do now and decides the exit code."""
    branches = [branch for branch in BRANCHES if issubclass(found, branch)]

    assert len(branches) == 1
    assert found.exit_code == BRANCHES[branches[0]]
    assert found.__mro__[-4:] == (GitmailError, Exception, BaseException, object)
    assert all(issubclass(each, GitmailError) for each in found.__mro__[:-3])


def test_the_tree_is_drawn_as_it_is() -> None:
    """The picture at the top of the module shows every class under its branch."""
    drawn: dict[str, set[str]] = {}
    branch = ""
    for line in (errors.__doc__ or "").splitlines():
        names = re.findall(r"\w+Error", line)
        if line.startswith(("|- ", "'- ")):
            branch = names[0]
            drawn[branch] = set()
        elif branch:
            drawn[branch].update(names)

    assert drawn == {
        branch.__name__: {
            found.__name__
            for found in below_the_branches()
            if issubclass(found, branch)
        }
        for branch in BRANCHES
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.code)
def test_an_error_speaks_in_one_line_and_in_data(example: GitmailError) -> None:
    """The message needs no context, the hint is a command, the data are JSON."""
    assert str(example) == example.message
    assert "\n" not in example.message
    assert not example.message.endswith(".")
    assert example.hint is None or not example.hint.endswith(".")
    assert json.loads(json.dumps(example.details)) == example.details


@pytest.mark.parametrize(
    "make",
    [
        lambda: errors.InvalidFileError(LONG),
        lambda: errors.InvalidArgumentError("limit", LONG, "a number"),
        lambda: errors.InvalidNameError("agent name", LONG, "short"),
        lambda: errors.InvalidCursorError(LONG, "unknown", "it is no commit"),
        lambda: errors.MessageNotFoundError(LONG),
        lambda: errors.MemoryNotFoundError("fact", LONG),
        lambda: errors.StaleRevisionError("fact a b", LONG, None),
        lambda: errors.QuarantinedError("memory/facts/a/b.md", LONG),
        lambda: errors.RoomNotFoundError(LONG),
        lambda: errors.AgentNotFoundError(LONG),
        lambda: errors.InvalidArgumentError("limit", 10**10_000, "a number"),
        lambda: errors.InvalidArgumentError("to", ["x"] * 10_000, "a list"),
        lambda: errors.InvalidArgumentError("to", [LONG] * 10, "a list"),
        lambda: errors.BundleInvalidError("/somewhere/x.bundle", LONG),
        lambda: errors.UnknownRecipientError(["lead"] * 10_000, []),
        lambda: errors.RetiredRecipientError(["lead"] * 10_000),
        lambda: errors.NoRecipientsError(["team:core"] * 10_000),
        lambda: errors.UnsupportedFormatError("/somewhere", LONG, 1),
    ],
)
def test_an_error_never_repeats_a_whole_text(make: type[GitmailError]) -> None:
    """What a caller passed is shortened, in the message and in the data."""
    example = make()

    assert len(example.message) < 300
    assert all(len(str(value)) <= 200 for value in example.details.values())


def test_an_error_can_be_printed_whatever_was_passed() -> None:
    """A lone surrogate in a value does not break the error about it."""
    example = errors.InvalidNameError("agent name", "a\ud800", "1 to 63 of a-z")

    assert "a\\ud800" in example.message.encode("utf-8").decode()


def test_an_invalid_file_is_named_with_its_line() -> None:
    """Where the path is not known, the message speaks of the file."""
    assert str(InvalidFileError("no key", line=2)).startswith("the file, line 2: ")
    assert "a.md, line 1" in str(InvalidFileError("no key", path="a.md"))


def test_a_long_list_of_names_is_counted() -> None:
    """Ten names are enough to see what went wrong."""
    names = [f"agent-{n}" for n in range(20_000)]

    problem = errors.UnknownRecipientError(names, [])

    assert problem.message.endswith("agent-8, agent-9 and 19,990 more")
    assert problem.details["names"] == names[:10]


def test_what_is_empty_or_blank_can_be_seen() -> None:
    """Text stands in quotes, and nothing else does."""
    assert str(errors.InvalidNameError("room name", "", "x")).startswith("'' is no")
    assert "cursor ' ' cannot" in str(errors.InvalidCursorError(" ", "", "x"))
    assert "limit 0 is" in str(errors.InvalidArgumentError("limit", 0, "x"))
    assert "limit '0' is" in str(errors.InvalidArgumentError("limit", "0", "x"))


def test_a_stale_revision_says_what_is_in_force_now() -> None:
    """Who has set it, and that nobody has (CAPABILITIES Y3)."""
    problem = errors.StaleRevisionError("fact parser owner", "none", IN_FORCE)
    nothing = errors.StaleRevisionError("fact parser owner", "0" * 8, None)

    assert problem.message.endswith("but builder has set revision 000000000000")
    assert problem.details["in_force"] == IN_FORCE
    assert nothing.message.endswith("but nothing is in force")
    assert nothing.details["in_force"] is None


def test_the_message_about_memory_holds_no_text_of_others() -> None:
    """It is shown to models as it is; near names stand in the hint, and are few."""
    problem = errors.MemoryNotFoundError("fact", "parsr", ["parser", LONG])

    assert "parser" not in problem.message
    assert problem.hint
    assert problem.hint.startswith("Near are: 'parser', 'xxx")
    assert len(problem.hint) < 300


def test_addresses_that_reach_nobody_are_told_for_what_they_are() -> None:
    """No name at all, a team of nobody, and a name of nobody."""
    assert str(errors.NoRecipientsError([])).endswith("to names nobody")
    assert "is a member of team:x" in str(errors.UnknownRecipientError(["team:x"], []))
    assert "is registered as x" in str(errors.UnknownRecipientError(["x"], []))
