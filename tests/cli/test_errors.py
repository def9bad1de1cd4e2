"""Exit codes, and errors as text and as JSON."""

from collections.abc import Callable

import pytest

from gitmail.mailbox.mailbox import Mailbox
from gitmail.store.lock import Lock
from tests.cli.conftest import CommandLine

_BAD_INPUT = [
    (["send", "--to", "nobody", "x"], "unknown_recipient"),
    (["send", "--to", "a b", "x"], "invalid_name"),
    (["send", "--to", "reviewer", "  \n"], "blank_body"),
    (["send", "--to", "reviewer", "x" * 65_537], "body_too_large"),
    (["send", "--to", "reviewer", "--kind", "letter", "x"], "invalid_argument"),
    (["send", "--to", "reviewer", "--expires-in", "soon", "x"], "invalid_argument"),
    (["send", "--to", "reviewer", "a\udcffb"], "invalid_text"),
    (["send", "--to", "all,builder", "--room", "a/b", "x"], "invalid_name"),
    (["poll", "--limit", "0"], "invalid_argument"),
    (["poll", "--limit", "201"], "invalid_argument"),
    (["poll", "--limit", ""], "invalid_argument"),
    (["search", "x", "--limit", "201"], "invalid_argument"),
    (["poll", "--after", "0" * 40], "invalid_cursor"),
    (["poll", "--since", "yesterday"], "invalid_argument"),
    (["wait", "--timeout", "-1"], "invalid_argument"),
    (["wait", "--timeout", "nan"], "invalid_argument"),
    (["read", "zz"], "invalid_name"),
    (["ack", "--stage", "done", "12345678"], "invalid_argument"),
    (["search", "..."], "invalid_argument"),
    (["log", "--limit", "0"], "invalid_argument"),
    (["log", "no-such"], "invalid_argument"),
    (["register", "con"], "invalid_name"),
    (["register", "a", "--kind", "robot"], "invalid_argument"),
]
_MISUSE = [
    ["no-such-command"],
    ["poll", "--no-such-option"],
    ["poll", "unexpected"],
    ["poll", "--unread", "--any"],
    ["poll", "--limit"],
    ["reply"],
    ["ack"],
    ["whois"],
    ["send", "x"],
    ["send", "--to", "reviewer", "--body-file", "f", "x"],
    ["send", "--batch", "f", "--to", "reviewer"],
    ["send", "--batch", "f", "x"],
    [],
]


@pytest.mark.parametrize(("argv", "code"), _BAD_INPUT)
def test_bad_input_exits_with_2_and_its_code(
    argv: list[str], code: str, cli: CommandLine
) -> None:
    """What the caller can put right is exit 2, in both forms of output."""
    as_json = cli("--json", "--as", "builder", *argv)
    as_text = cli("--as", "builder", *argv)

    assert (as_json.code, as_json.error["code"]) == (2, code)
    assert (as_text.code, as_text.out) == (2, "")
    assert as_text.err.startswith("gitmail: ")
    assert "Traceback" not in as_text.err


@pytest.mark.parametrize(
    "text", ["many", "1.5", "٣", "1_0", "-1", "0", "201", "9" * 6000, "", " 5", "1e2"]
)
@pytest.mark.parametrize("command", ["poll", "wait", "history", "thread 12345678"])
def test_a_number_is_refused_with_its_range(
    command: str, text: str, cli: CommandLine
) -> None:
    """Whatever is wrong with it, and only ASCII digits are a number."""
    argv = ["--as", "builder", *command.split(), "--limit", text]
    ran = cli("--json", *argv)

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert ran.error["message"].startswith("--limit ")
    assert ran.error["accepted"] == "a whole number from 1 to 200"


@pytest.mark.parametrize("text", ["abc", "-1", "86401", "nan", "inf", "1e3", "٣", ""])
def test_a_time_to_wait_is_refused_with_its_range(text: str, cli: CommandLine) -> None:
    """The error speaks of the option, not of an argument of some function."""
    ran = cli("--json", "--as", "builder", "wait", "--timeout", text)

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert ran.error["message"].startswith("--timeout ")
    assert ran.error["accepted"] == "seconds from 0 to 86,400"


@pytest.mark.parametrize(
    "argv",
    [
        ["--as", "", "status"],
        ["status", "--as", " "],
        ["--mailbox", "", "status"],
        ["init", "--project", ""],
        ["register", ""],
        ["send", "--to", "", "x"],
        ["send", "--to", ",", "x"],
        ["send", "--to", "lead", "--cc", "", "x"],
        ["send", "--to", "lead", "--bcc", " ", "x"],
        ["reply", "MESSAGE", "--to", "", "x"],
        ["send", "--batch", ""],
        ["send", "--to", "lead", "--body-file", ""],
    ],
)
def test_an_empty_value_never_means_that_nothing_was_said(
    argv: list[str],
    cli: CommandLine,
    send: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A variable that is not set must not choose another agent, or another mailbox."""
    monkeypatch.setenv("GITMAIL_AGENT", "reviewer")
    message = send()
    before = cli.ok("status")["tip"]
    ran = cli("--json", *(message if each == "MESSAGE" else each for each in argv))

    assert ran.code == 2
    assert ran.error["code"] in ("invalid_argument", "invalid_name")
    assert cli.ok("status")["tip"] == before


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["room", ""], "no room '' "),
        (["poll", "--after", ""], "The cursor '' "),
        (["send", "--to", "lead", "--request-id", "", "x"], "request_id '' "),
        (["whois", ""], "'' is no "),
        (["whois", "  "], "'  ' is no "),
    ],
)
def test_an_empty_value_is_seen_in_its_error(
    argv: list[str], said: str, cli: CommandLine
) -> None:
    """Two spaces in a row tell nobody what was wrong."""
    assert said in cli("--as", "builder", *argv).err


@pytest.mark.parametrize("argv", _MISUSE)
def test_misuse_of_the_grammar_exits_with_2_and_says_where_help_is(
    argv: list[str], cli: CommandLine
) -> None:
    """Errors of the parser are errors like all others."""
    as_json = cli("--json", "--as", "builder", *argv)
    as_text = cli(*argv, "--as", "builder")

    assert (as_json.code, as_json.error["code"]) == (2, "usage")
    assert as_json.error["hint"].startswith("See: gitmail")
    assert (as_text.code, as_text.out) == (2, "")
    assert as_text.err.splitlines()[-1] == f"  {as_json.error['hint']}"


def test_no_arguments_at_all_show_the_help_on_standard_error(cli: CommandLine) -> None:
    """A newcomer types the bare name first."""
    ran = cli()

    assert (ran.code, ran.out) == (2, "")
    assert "gitmail init" in ran.err


def test_a_command_that_is_nearly_right_is_suggested(cli: CommandLine) -> None:
    """A hidden command is not suggested, a near one is."""
    assert "did you mean poll?" in cli("pol").err
    assert cli("polish-the-brass").err.startswith("gitmail: there is no command")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--mailbox", "nowhere", "status"], "mailbox_not_found"),
        (["whois", "nobody"], "agent_not_found"),
        (["--as", "builder", "read", "12345678"], "not_found"),
        (["--as", "builder", "thread", "12345678"], "not_found"),
        (["--as", "builder", "room", "no/such"], "room_not_found"),
    ],
)
def test_what_is_not_there_exits_with_1(
    argv: list[str], code: str, cli: CommandLine
) -> None:
    """A failure that is no bad input is exit 1."""
    ran = cli("--json", *argv)

    assert (ran.code, ran.error["code"]) == (1, code)


@pytest.mark.parametrize(
    "argv",
    [
        ["send", "--to", "reviewer", "x"],
        ["reply", "12345678", "x"],
        ["poll"],
        ["wait"],
        ["read", "12345678"],
        ["ack", "12345678"],
        ["receipts", "12345678"],
        ["thread", "12345678"],
        ["room", "r"],
        ["history"],
        ["search", "x"],
    ],
)
def test_a_command_of_an_agent_without_a_name_says_how_to_give_one(
    argv: list[str], cli: CommandLine
) -> None:
    """Identity is never guessed (DESIGN 9)."""
    ran = cli("--json", *argv)

    assert (ran.code, ran.error["code"]) == (2, "no_identity")
    assert "GITMAIL_AGENT" in ran.error["hint"]


def test_the_environment_names_the_agent_where_no_option_does(
    cli: CommandLine, send: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--as` counts more than GITMAIL_AGENT."""
    message = send()
    monkeypatch.setenv("GITMAIL_AGENT", "reviewer")

    assert [m["id"] for m in cli.ok("poll")["messages"]] == [message]
    assert cli.ok("--as", "lead", "poll")["messages"] == []


def test_sending_as_nobody_is_refused_with_the_command_that_registers(
    cli: CommandLine,
) -> None:
    """Nothing registers by accident."""
    ran = cli("--json", "--as", "newcomer", "send", "--to", "reviewer", "Hello.")

    assert (ran.code, ran.error["code"]) == (2, "not_registered")
    assert "gitmail register newcomer" in ran.error["hint"]
    assert "newcomer" not in str(cli.ok("agents", "--all"))


def test_a_wait_in_vain_exits_with_3_and_still_prints_the_page(
    cli: CommandLine,
) -> None:
    """With --json the cursor to go on from is on standard output."""
    as_json = cli("--json", "--as", "builder", "wait", "--timeout", "0")
    as_text = cli("--as", "builder", "wait", "--timeout", "0")

    assert (as_json.code, as_json.err) == (3, "")
    assert (as_json.json["messages"], as_json.json["timed_out"]) == ([], True)
    assert (as_text.code, as_text.out) == (3, "")
    assert as_text.err == "gitmail: nothing arrived within 0 s\n"


def test_a_lock_held_by_another_process_exits_with_4(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Busy means: nothing was changed, try again."""
    monkeypatch.setattr("gitmail.store.store.LOCK_TIMEOUT_S", 0.05)
    lock = Lock(cli.folder / ".gitmail" / ".git" / "gitmail" / "write.lock")
    before = cli.ok("status")["tip"]
    with lock.held(0):
        ran = cli("--json", "--as", "builder", "send", "--to", "reviewer", "Hello.")

    assert (ran.code, ran.error["code"]) == (4, "busy")
    assert cli.ok("status")["tip"] == before


def test_an_ack_exits_with_1_only_where_no_id_could_be_acknowledged(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """One bad id never fails the rest (CAPABILITIES K2)."""
    message = send()

    assert cli("--as", "reviewer", "ack", "12345678").code == 1
    assert cli("--as", "builder", "ack", message).code == 1
    assert cli("--as", "reviewer", "ack", "12345678", message).code == 0
    assert cli("--as", "reviewer", "ack", message).code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("zz", "zz: no message id, which has 8 to 40 hex digits"),
        ("", "'': no message id, which has 8 to 40 hex digits"),
        ("../../etc", "../../etc: no message id, which has 8 to 40 hex digits"),
        ("deadbeef", "deadbeef: not found: no such message for you"),
    ],
)
def test_an_ack_of_nothing_is_an_error_that_says_why(
    text: str, said: str, cli: CommandLine, send: Callable[..., str]
) -> None:
    """Malformed and missing are told apart, alone and beside a good id."""
    message = send()
    alone = cli("--json", "--as", "reviewer", "ack", text)
    as_text = cli("--as", "reviewer", "ack", text)
    beside = cli("--as", "reviewer", "ack", text, message)

    assert (alone.code, alone.error["code"]) == (1, "nothing_acked")
    assert alone.error["message"] == f"Nothing was acknowledged. {said}"
    assert [each["result"] for each in alone.error["results"]] == ["not_found"]
    assert (as_text.code, as_text.out) == (1, "")
    assert said in as_text.err
    assert said.split(": ", 1)[1] in beside.out


def test_an_ack_of_many_missing_messages_names_the_first_ten(cli: CommandLine) -> None:
    """The error stays readable; its data has all of them."""
    ids = [f"{number:08x}" for number in range(64)]
    ran = cli("--json", "--as", "reviewer", "ack", *ids)

    assert ran.error["message"].endswith("; and 54 more")
    assert [each["id"] for each in ran.error["results"]] == ids


def test_an_interrupt_exits_with_130_and_no_traceback(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C is a person's decision, not a failure."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Mailbox, "status", interrupted)
    ran = cli("status")

    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_a_bug_exits_with_70_and_its_traceback(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no error class foresees is reported whole, and as JSON last."""

    def broken(*_: object, **__: object) -> None:
        message = "a bug with \x1b[31m in it"
        raise RuntimeError(message)

    monkeypatch.setattr(Mailbox, "status", broken)
    as_text, as_json = cli("status"), cli("status", "--json")

    assert (as_text.code, as_text.out) == (70, "")
    assert "RuntimeError: a bug with \\u{1b}[31m in it" in as_text.err
    assert '{"error":{"code":"bug",' in as_json.err.splitlines()[-1]


def test_a_warning_of_the_core_is_a_line_on_standard_error(cli: CommandLine) -> None:
    """A send whose file cannot be put on disk has happened all the same (DESIGN 6)."""
    (cli.folder / ".gitmail" / "messages").write_text("in the way", encoding="ascii")
    ran = cli("--as", "builder", "send", "--to", "reviewer", "Hello.")

    assert ran.code == 0
    assert ran.err.startswith("gitmail: warning: the files on disk stay behind")
    assert ran.err.count("\n") == 1
    assert len(cli.ok("--as", "reviewer", "poll")["messages"]) == 1


def test_a_command_in_a_deleted_folder_finds_no_mailbox(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder that a shell stands in may be gone; that is no bug."""
    gone = cli.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = cli.here("--json", "status")

    assert (ran.code, ran.error["code"]) == (1, "mailbox_not_found")
