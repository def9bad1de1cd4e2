"""The error tree: one root, six branches that tell the caller what to do now.

GitmailError                  never raised itself
|- InvalidInputError          change what you passed                         exit 2
|  |- InvalidArgumentError    |- InvalidNameError      |- InvalidTextError
|  |- BlankBodyError          |- BodyTooLargeError     |- InvalidFileError
|  |- AmbiguousIdError        |- InvalidCursorError    |- NoIdentityError
|  |- NotRegisteredError      |- UnknownRecipientError |- RetiredRecipientError
|  |- NoRecipientsError       |- FanoutTooLargeError   |- BundleInvalidError
|  '- MailboxClosedError
|- NotFoundError              look elsewhere                                 exit 1
|  |- MailboxNotFoundError    |- AgentNotFoundError    |- RoomNotFoundError
|  |- NoRemoteError
|  '- RecordNotFoundError: MessageNotFoundError, MemoryNotFoundError
|- ConflictError              decide                                         exit 1
|  |- RequestConflictError    |- NameInUseError        |- NotParticipantError
|  |- StaleRevisionError      |- AlreadyInForceError   |- TooManyMatchesError
|  |- QuarantinedError        |- UnrelatedHistoriesError
|  |- BundleIncompleteError   |- OtherMailboxError     |- FolderInUseError
|  |- NotAMailboxError        |- ShallowError          |- RemoteRewrittenError
|  |- PushRefusedError        |- BranchCheckedOutError
|  '- BundleBlockedError
|- BusyError                  try again, nothing was changed                 exit 4
|  |- LockTimeoutError        |- RefLockedError        |- StaleWriteError
|  |- RemoteMovedError        '- RemoteLockedError
'- StorageError               repair, make room or upgrade                   exit 1
   |- ReadOnlyError           |- DiskFullError         |- DiskError
   |- CorruptMailboxError     |- RemoteFailedError     |- RemoteDeniedError
   |- RemoteFullError         '- UnsupportedFormatError

Each class has a stable `code`, the exit code of the command line, and builds its own
message and hint from data, which stays available as `details`. This module imports
nothing of gitmail.
"""

import reprlib
import shlex
from collections.abc import Mapping, Sequence
from typing import ClassVar

INTERRUPTED_EXIT = 130
BUG_EXIT = 70
TIMED_OUT_EXIT = 3


class GitmailError(Exception):
    """The root of all errors that gitmail reports to its caller.

    Attributes:
        code: Stable machine-readable name of the class.
        exit_code: Exit code of the command line.
        message: What was wrong, with the value and what is accepted.
        hint: What to do next, one imperative sentence, or None.
        details: The data the message was built from; JSON-ready.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(
        self, message: str, hint: str | None = None, **details: object
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details


class InvalidInputError(GitmailError):
    """The caller passed something that cannot be used."""

    exit_code = 2


class NotFoundError(GitmailError):
    """What the caller named is not there, or not for the caller to see."""


class ConflictError(GitmailError):
    """The request contradicts what is already recorded."""


class BusyError(GitmailError):
    """Somebody else was writing; nothing was changed."""

    exit_code = 4


class StorageError(GitmailError):
    """The mailbox's files or disk do not allow the operation."""


class InvalidArgumentError(InvalidInputError):
    """An argument is outside what is accepted."""

    code = "invalid_argument"

    def __init__(
        self, argument: str, value: object, accepted: str, hint: str | None = None
    ) -> None:
        is_plain = value is None or isinstance(value, bool)
        said = "" if is_plain else f" {quoted(value)}"
        problem = "is missing" if value is None else "is not accepted"
        super().__init__(
            f"{argument}{said} {problem}: {accepted}",
            hint,
            argument=argument,
            value=_shorten(value),
            accepted=accepted,
        )


class InvalidNameError(InvalidInputError):
    """A name does not follow the grammar of its kind."""

    code = "invalid_name"

    def __init__(self, what: str, value: object, accepted: str) -> None:
        message = f"{quoted(value)} is no {what}: {accepted}"
        super().__init__(message, what=what, value=_shorten(value))


class InvalidTextError(InvalidInputError):
    """A text holds a character that cannot be stored."""

    code = "invalid_text"

    def __init__(self, field: str, character: str, position: int) -> None:
        super().__init__(
            f"{field} holds {character} at character {position}",
            "Remove the character and send the text again",
            field=field,
            character=character,
            position=position,
        )


class BlankBodyError(InvalidInputError):
    """A message or a record of memory has no text."""

    code = "blank_body"

    def __init__(self, field: str = "body") -> None:
        super().__init__(
            f"The {field} is blank: it needs text",
            "Pass the text as an argument, or as - on standard input",
            field=field,
        )


class BodyTooLargeError(InvalidInputError):
    """A body exceeds the mailbox's limit."""

    code = "body_too_large"

    def __init__(self, size_bytes: int, limit_bytes: int, field: str = "body") -> None:
        super().__init__(
            f"The {field} has {size_bytes} UTF-8 bytes, the limit is {limit_bytes}",
            "Put the text in a file of the project and pass its path",
            field=field,
            size_bytes=size_bytes,
            limit_bytes=limit_bytes,
        )


class InvalidFileError(InvalidInputError):
    """A file does not follow FORMAT.md."""

    code = "invalid_file"

    def __init__(self, reason: str, *, line: int = 1, path: str | None = None) -> None:
        shown = _shorten(reason, 200)
        super().__init__(
            f"{path or 'the file'}, line {line}: {shown}",
            "Compare the file with the output of: gitmail format",
            path=path,
            line=line,
            reason=shown,
        )
        self.reason = shown
        self.line = line


class BundleInvalidError(InvalidInputError):
    """A file is no bundle that can be applied; nothing was changed."""

    code = "bundle_invalid"

    def __init__(self, path: str, reason: str) -> None:
        shown = _shorten(reason, 200)
        super().__init__(
            f"{path} is no bundle of a mailbox that can be applied: {shown}",
            "Copy it again, or have it made again with: gitmail bundle create",
            path=path,
            reason=shown,
        )


class AmbiguousIdError(InvalidInputError):
    """What should name one record fits several."""

    code = "ambiguous_id"

    def __init__(
        self, given: str, matches: Sequence[str], what: str = "messages"
    ) -> None:
        super().__init__(
            f"{quoted(given)} fits {len(matches)} {what}: {_listed(matches)}",
            "Use one of these ids",
            given=_shorten(given),
            matches=list(matches[:_MOST_LISTED]),
        )
        self.matches = list(matches)


class InvalidCursorError(InvalidInputError):
    """A cursor is no commit of this mailbox's history."""

    code = "invalid_cursor"

    def __init__(self, cursor: str, detail: str, reason: str) -> None:
        super().__init__(
            f"The cursor {quoted(cursor)} cannot be used: {reason}",
            "Leave the cursor out to start from the beginning, and go on from the"
            " cursor of that answer",
            cursor=_shorten(cursor),
            detail=detail,
        )


class NoIdentityError(InvalidInputError):
    """Nothing says on whose behalf the call is made."""

    code = "no_identity"

    def __init__(self, hint: str | None = None) -> None:
        super().__init__(
            "No agent name was given, and this needs one",
            hint or "Pass --as NAME or set GITMAIL_AGENT",
        )


class NotRegisteredError(InvalidInputError):
    """The acting agent is not registered."""

    code = "not_registered"

    def __init__(self, name: str, similar: Sequence[str] = ()) -> None:
        near = f"; registered are {', '.join(similar)}" if similar else ""
        super().__init__(
            f"No agent is registered as {name}{near}",
            f"Register it first: gitmail register {name}",
            name=name,
            similar=list(similar),
        )


class UnknownRecipientError(InvalidInputError):
    """A recipient is nobody's name; nothing was sent."""

    code = "unknown_recipient"

    def __init__(self, names: Sequence[str], similar: Sequence[str]) -> None:
        is_team = names[0].startswith("team:")
        lacks = "is a member of" if is_team else "is registered as"
        super().__init__(
            f"Nothing was sent, for nobody {lacks} {_listed(names)}{_meant(similar)}",
            "List the agents and teams with: gitmail agents --all",
            names=list(names[:_MOST_LISTED]),
            similar=list(similar),
        )


class RetiredRecipientError(InvalidInputError):
    """A recipient has retired; nothing was sent."""

    code = "retired_recipient"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"Nothing was sent, for these have retired: {_listed(names)}",
            f"Write to somebody else, or bring one back: gitmail unretire {names[0]}",
            names=list(names[:_MOST_LISTED]),
        )


class NoRecipientsError(InvalidInputError):
    """The addresses reach nobody but perhaps the sender."""

    code = "no_recipients"

    def __init__(self, addresses: Sequence[str]) -> None:
        problem = "to names nobody"
        if addresses:
            problem = f"{_listed(addresses)} reaches nobody but yourself"
        super().__init__(
            f"Nothing was sent, for {problem}",
            "List the agents and teams with: gitmail agents --all",
            addresses=list(addresses[:_MOST_LISTED]),
        )


class FanoutTooLargeError(InvalidInputError):
    """The addresses reach more agents than one message may."""

    code = "fanout_too_large"

    def __init__(self, address: str, count: int, limit: int) -> None:
        super().__init__(
            f"Nothing was sent, for {address} reaches {count} agents, the limit is"
            f" {limit}",
            "Write to a team or to names instead",
            address=address,
            count=count,
            limit=limit,
        )


class MailboxClosedError(InvalidInputError):
    """A mailbox was used after it was closed."""

    code = "mailbox_closed"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The mailbox {path} was closed by this program",
            "Open it again with Mailbox.open",
            path=path,
        )


class MailboxNotFoundError(NotFoundError):
    """There is no mailbox here."""

    code = "mailbox_not_found"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"No mailbox at or above {path}",
            "Make one with: gitmail init",
            path=path,
        )


class NoRemoteError(NotFoundError):
    """The mailbox has no remote."""

    code = "no_remote"

    def __init__(self) -> None:
        super().__init__(
            "This mailbox has no remote",
            "Name one with: gitmail remote add URL",
        )


class AgentNotFoundError(NotFoundError):
    """No agent has that name."""

    code = "agent_not_found"

    def __init__(self, name: str, similar: Sequence[str] = ()) -> None:
        super().__init__(
            f"No agent is registered as {_shorten(name)}{_meant(similar)}",
            "List the names with: gitmail agents --all",
            name=_shorten(name),
            similar=list(similar),
        )


class RecordNotFoundError(NotFoundError):
    """There is no such record, or none for the caller to see."""

    code = "not_found"


class MessageNotFoundError(RecordNotFoundError):
    """No message with that id is there for the caller to see."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"There is no message {_shorten(message)} that you sent or may read",
            "Find ids with: gitmail history",
            id=_shorten(message),
        )


class MemoryNotFoundError(RecordNotFoundError):
    """Memory has, or had, nothing by that name."""

    def __init__(
        self,
        what: str,
        name: str,
        similar: Sequence[str] = (),
        *,
        was_there: bool = False,
    ) -> None:
        # The message holds no text of others, for it is shown to models as it is.
        near = f"Near are: {', '.join(map(quoted, similar))}. " if similar else ""
        hint = f"{near}Look with: gitmail memory list, or gitmail memory search WORDS"
        if was_there:
            hint = "See: gitmail memory history; bring it back: gitmail memory restore"
        super().__init__(
            f"There is no {what} {quoted(name)}{' any more' if was_there else ''}",
            hint,
            what=what,
            name=_shorten(name),
            similar=[_shorten(each) for each in similar],
            was_there=was_there,
        )


class RoomNotFoundError(NotFoundError):
    """The caller may see nothing of that room, whether it exists or not."""

    code = "room_not_found"

    def __init__(self, room: str) -> None:
        super().__init__(
            f"There is no room {quoted(room)} with mail that you may read",
            "Find rooms with: gitmail history",
            room=_shorten(room),
        )


class RequestConflictError(ConflictError):
    """A request id was used before for other content; nothing was sent."""

    code = "request_conflict"

    def __init__(
        self, request_id: str, message: str | None, fields: Sequence[str]
    ) -> None:
        """Take the message that was sent, None where it is one of the same call."""
        first = f"already sent message {message[:12]}, which" if message else ""
        first = first or "is also that of another message of this call, which"
        super().__init__(
            f"The request id {quoted(request_id)} {first} differs in:"
            f" {', '.join(fields)}",
            "Use a new request id for new content",
            request_id=request_id,
            id=message,
            fields=list(fields),
        )


class StaleRevisionError(ConflictError):
    """What is in force is not the revision that the caller expected."""

    code = "stale_revision"

    def __init__(
        self, name: str, expected: str, in_force: Mapping[str, str] | None
    ) -> None:
        """Take what is in force: revision, value, set_by and set_at."""
        now, hint = "nothing is in force", "Pass none as the expected revision"
        if in_force:
            now = f"{in_force['set_by']} has set revision {in_force['revision'][:12]}"
            hint = "Look at what is in force now, and pass its revision as expected"
        super().__init__(
            f"{name} was not set: expected was {quoted(expected)}, but {now}",
            hint,
            name=name,
            expected=_shorten(expected),
            in_force=dict(in_force) if in_force else None,
        )


class AlreadyInForceError(ConflictError):
    """Nothing can be restored where a value is in force."""

    code = "already_in_force"

    def __init__(self, name: str, revision: str, hint: str) -> None:
        super().__init__(
            f"{name} is in force, as revision {revision[:12]}; nothing was restored",
            hint,
            name=name,
            revision=revision,
        )


class TooManyMatchesError(ConflictError):
    """More notes would be forgotten than without confirmation may be."""

    code = "too_many_matches"

    def __init__(
        self, count: int, limit: int, sample: Sequence[Mapping[str, str]]
    ) -> None:
        """Take revision and value of some of the notes."""
        super().__init__(
            f"Nothing was forgotten, for {count} notes fit, more than {limit}",
            "Say more exactly which, or confirm (--confirm) to forget all of them",
            count=count,
            limit=limit,
            sample=[dict(each) for each in sample],
        )


class QuarantinedError(ConflictError):
    """A file is not what it should be, so nothing may replace it."""

    code = "quarantined"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} cannot be read, and nothing is put in its place",
            "See why with: gitmail status; put it right in a clone and push that",
            path=path,
            reason=_shorten(reason, 200),
        )


class BundleBlockedError(ConflictError):
    """A bundle would be refused where it is applied; none was written."""

    code = "bundle_blocked"

    def __init__(
        self, commit: str, reason: str, path: str = "", *, is_at_tip: bool = False
    ) -> None:
        shown = _shorten(reason, 200)
        if is_at_tip:
            hint = "Put it right in a clone, push that, and make the bundle then"
        else:
            hint = (
                "It stays in the history, so have the other side sync. One that has"
                " that commit can be given what is new since with: gitmail bundle"
                f" create FILE --since {commit}"
            )
        super().__init__(
            "A bundle would be refused where it is applied, for commit"
            f" {commit}: {shown}",
            hint,
            commit=commit,
            path=_shorten(path, 200),
            reason=shown,
        )


class BundleIncompleteError(ConflictError):
    """A bundle stands on commits that are not here; nothing was changed."""

    code = "bundle_incomplete"

    def __init__(
        self, path: str, missing: Sequence[str], ours: str | None = None
    ) -> None:
        since = ours or "all"
        also = " (the tip here), or with --since all where that is unknown there"
        super().__init__(
            f"{path} stands on commits that are missing here: {_listed(missing)}",
            f"Have one made there with: gitmail bundle create FILE --since {since}"
            f"{also if ours else ''}",
            path=path,
            missing=list(missing[:_MOST_LISTED]),
            ours=ours,
        )


class OtherMailboxError(ConflictError):
    """What came is of another mailbox; nothing was changed."""

    code = "other_mailbox"

    def __init__(
        self, source: str, ours: str, theirs: str, here: tuple[str, str] | None = None
    ) -> None:
        """Take the folder of ours and the command that joins theirs, for a remote."""
        hint = (
            "Join that mailbox where there is none yet:"
            " gitmail --mailbox FOLDER init --from SOURCE"
        )
        if here:
            folder, command = here
            hint = (
                f"To join that one, move {folder} elsewhere, then: {command}; mail that"
                " is only in what was moved has to be sent again. To keep this one,"
                " name another branch: gitmail remote add URL --branch B"
            )
        super().__init__(
            f"{source} is of the mailbox {theirs}, and this is {ours}",
            hint,
            source=source,
            ours=ours,
            theirs=theirs,
        )


class UnrelatedHistoriesError(ConflictError):
    """Two mailboxes have no commit in common; nothing was changed."""

    code = "unrelated_histories"

    def __init__(self, ours: str, theirs: str, commands: str = "") -> None:
        """Take the commands that bring both together, where there are some."""
        way = f"; to keep what both have: {commands}" if commands else ""
        super().__init__(
            f"{theirs[:12]} and this mailbox's {ours[:12]} have no commit in common",
            "It is another mailbox, or its history was rewritten; ask who did that"
            f"{way}",
            ours=ours,
            theirs=theirs,
        )


class RemoteRewrittenError(ConflictError):
    """The remote's history no longer has what it had; nothing was taken from it."""

    code = "remote_rewritten"

    def __init__(
        self, url: str, seen: str, now: str, reason: str, commands: str
    ) -> None:
        """Take where it departs and who did that, and the commands that keep all."""
        super().__init__(
            f"{url} had commit {seen[:12]}, and {now[:12]}, which it has now, does not"
            f" stand on it, so nothing was taken from there: {reason}",
            "Somebody rebased, squashed or forced that branch: ask who; do not force it"
            " back, for that would lose what others sent since, but keep both:"
            f" {commands}",
            url=url,
            seen=seen,
            now=now,
            reason=reason,
        )


class NotAMailboxError(ConflictError):
    """The branch of the remote holds no mailbox; nothing was taken from it."""

    code = "not_a_mailbox"

    def __init__(self, url: str, branch: str, *, is_new: bool = False) -> None:
        """Take whether a mailbox was to be made from it."""
        verb = "init --from" if is_new else "remote add"
        super().__init__(
            f"{url} has no mailbox on its branch {branch}: no mailbox.md that can be"
            " read is there",
            f"Name the branch of the mailbox: gitmail {verb} URL --branch B",
            url=url,
            branch=branch,
        )


class ShallowError(ConflictError):
    """A part of the mailbox's history is not here; nothing was exchanged."""

    code = "shallow"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"A part of the history is missing in {path}, which git calls shallow",
            f"Bring it with: git -C {path} fetch --unshallow URL gitmail",
            path=path,
        )


class PushRefusedError(ConflictError):
    """The remote does not accept what was pushed; this mailbox is as it was."""

    code = "push_refused"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"{url} refused the push: {reason}",
            "What is here is safe; ask for the right to push to that branch",
            url=url,
            reason=reason,
        )


class FolderInUseError(ConflictError):
    """A mailbox cannot be made in a folder that is used for something else."""

    code = "folder_in_use"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"No mailbox can be made in {path}: {reason}",
            "Name a folder that is empty, and outside of any mailbox",
            path=path,
            reason=reason,
        )


class NameInUseError(ConflictError):
    """Another live server holds the name."""

    code = "name_in_use"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Another running server holds the name {name}",
            "Register another name, or pass take_over=true if that server is yours",
            name=name,
        )


class NotParticipantError(ConflictError):
    """The caller may read the message but neither sent nor received it."""

    code = "not_a_participant"

    def __init__(self, message: str) -> None:
        super().__init__(
            f"Message {message[:12]} was neither sent by you nor delivered to you, so"
            " you cannot reply to it",
            "Send a new message to its sender instead",
            id=message,
        )


class LockTimeoutError(BusyError):
    """The writer lock was held for too long; nothing was changed."""

    code = "busy"

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__(
            f"Another process has held {path} for {timeout_s:g} s",
            "Try again; if it stays so, look for a stopped gitmail process",
            path=path,
            timeout_s=timeout_s,
        )


class BranchCheckedOutError(ConflictError):
    """A linked worktree has the branch checked out; nothing was changed."""

    code = "branch_checked_out"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The mailbox's branch is checked out at {path}, where the next commit"
            " would undo what is written now",
            f"Let it go there: git -C {shlex.quote(path)} switch --detach",
            path=path,
        )


class RefLockedError(BusyError):
    """Another git program holds the branch's lock; nothing was changed."""

    code = "ref_locked"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"Another git program holds {path}",
            "Try again; if no git program is running there, delete that file",
            path=path,
        )


class RemoteMovedError(BusyError):
    """Others pushed at every attempt; what is here is safe."""

    code = "remote_moved"

    def __init__(self, url: str) -> None:
        super().__init__(
            f"Somebody else pushed to {url} at every attempt",
            "Sync again; what was sent here is safe",
            url=url,
        )


class RemoteLockedError(BusyError):
    """Another git program holds the branch's lock there; what is here is safe."""

    code = "remote_locked"

    def __init__(self, url: str, reason: str) -> None:
        """Take the path of the lock there."""
        super().__init__(
            f"Another git program holds a lock of {url}: {reason}",
            "Sync again; if no git program is running there, delete that file there",
            url=url,
            reason=reason,
        )


class StaleWriteError(BusyError):
    """Another writer moved the branch at every attempt; nothing was changed."""

    code = "stale_write"

    def __init__(self, attempts: int) -> None:
        super().__init__(
            f"The mailbox moved on during each of {attempts} attempts to write",
            "Try again",
            attempts=attempts,
        )


class ReadOnlyError(StorageError):
    """The mailbox's disk or folder cannot be written; nothing was changed."""

    code = "read_only"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} cannot be written",
            "Check the owner and the mount of the mailbox's folder",
            path=path,
        )


class DiskFullError(StorageError):
    """The disk has no room left; nothing was changed."""

    code = "disk_full"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"No room is left on the disk for {path}",
            "Make room and try again",
            path=path,
        )


class DiskError(StorageError):
    """The operating system refused a file operation."""

    code = "disk_error"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", path=path, reason=reason)


class RemoteFailedError(StorageError):
    """The remote cannot be reached or read; this mailbox is as it was."""

    code = "remote_failed"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"{url} cannot be reached: {reason}",
            "Check the address and the network, and try again",
            url=url,
            reason=reason,
        )


class RemoteDeniedError(StorageError):
    """The remote wants credentials, or others; this mailbox is as it was."""

    code = "remote_denied"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"{url} does not let you in: {reason}",
            "Ask for access, and leave the password where it is found, for nobody is"
            " asked for it: over http(s) a line https://USER:PASSWORD@HOST in"
            " ~/.git-credentials, which git itself reads after: git config --global"
            " credential.helper store; over ssh a key in the agent: ssh-add",
            url=url,
            reason=reason,
        )


class RemoteFullError(StorageError):
    """The remote's disk has no room left; this mailbox is as it was."""

    code = "remote_full"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"No room is left on the disk of {url}: {reason}",
            "Make room there, and sync again; what was sent here is safe",
            url=url,
            reason=reason,
        )


class CorruptMailboxError(StorageError):
    """An object or file that the mailbox needs is missing or damaged."""

    code = "corrupt_mailbox"

    def __init__(self, what: str, path: str) -> None:
        super().__init__(
            f"{path} is damaged: {what}",
            "Mend what can be mended with: gitmail doctor --repair",
            what=what,
            path=path,
        )


class UnsupportedFormatError(StorageError):
    """The mailbox was written by a newer gitmail."""

    code = "unsupported_format"

    def __init__(self, path: str, found: str, supported: int) -> None:
        super().__init__(
            f"{path} has format {_shorten(found)}, this gitmail reads up to"
            f" {supported}",
            "Upgrade gitmail: pip install --upgrade gitmail",
            path=path,
            found=_shorten(found),
            supported=supported,
        )


_MOST_LISTED = 10
_SHOWN_CHARACTERS = 80
_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _SHOWN_CHARACTERS


def quoted(value: object) -> str:
    """Return a value as errors show it: in quotes if it is text, and never long."""
    return repr(_cut(value)) if isinstance(value, str) else _shorten(value)


def _shorten(value: object, limit: int = _SHOWN_CHARACTERS) -> str:
    if not isinstance(value, str):
        try:
            value = _REPR.repr(value)
        except ValueError:  # a number of more digits than Python prints
            value = f"of type {type(value).__name__}"
    return _cut(value.encode("utf-8", "backslashreplace").decode("utf-8"), limit)


def _cut(text: str, limit: int = _SHOWN_CHARACTERS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    more = len(names) - _MOST_LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _meant(similar: Sequence[str]) -> str:
    return f"; did you mean {', '.join(similar)}?" if similar else ""
