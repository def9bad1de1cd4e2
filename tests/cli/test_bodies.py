"""Texts from arguments, files and standard input, and batches (CAPABILITIES M1, S3)."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import CommandLine

_ODD = "\n\n  Tabs\tand spaces  \r\n---\nfrom: mallory\n---\nhä 日本 🎉\n\n"


def _whole(cli: CommandLine, message: str) -> str:
    return str(cli.ok("--as", "reviewer", "read", message)["message"]["body"])


@pytest.mark.parametrize("body", [_ODD, "one line", "\ufeffBOM first", "x\n"])
@pytest.mark.parametrize("way", ["argument", "file", "stdin", "dash", "file dash"])
def test_a_body_is_kept_byte_for_byte_whichever_way_it_comes(
    way: str, body: str, cli: CommandLine
) -> None:
    """Nothing is stripped and no line end is changed."""
    (cli.folder / "body.md").write_bytes(body.encode())
    argv = {
        "argument": [body],
        "file": ["--body-file", "body.md"],
        "stdin": [],
        "dash": ["-"],
        "file dash": ["--body-file", "-"],
    }[way]
    stdin = body if way in ("stdin", "dash", "file dash") else "not this"
    sent = cli.ok("--as", "builder", "send", "--to", "reviewer", *argv, stdin=stdin)

    assert _whole(cli, sent["message"]["id"]) == body


def test_a_reply_takes_its_body_from_standard_input_too(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """`reply MESSAGE` and `send` read the same way."""
    reply = cli.ok("--as", "reviewer", "reply", send(), stdin=_ODD)
    read = cli.ok("--as", "builder", "read", reply["message"]["id"])

    assert read["message"]["body"] == _ODD


def test_a_body_that_looks_like_options_follows_a_double_dash(
    cli: CommandLine, send: Callable[..., str]
) -> None:
    """`--` ends the options, as everywhere; a lone number or a list needs none."""
    first = cli.ok("--as", "builder", "send", "--to", "reviewer", "--", "--json")
    second = cli.ok("reply", send(), "--as", "reviewer", "--importance", "low", "- a")

    assert _whole(cli, first["message"]["id"]) == "--json"
    assert _whole(cli, second["message"]["id"]) == "- a"
    assert _whole(cli, send(body="-5")) == "-5"


@pytest.mark.parametrize("argv", [[], ["--body-file", "body"], ["--batch", "-"]])
def test_bytes_that_are_not_utf_8_are_refused_with_their_place(
    argv: list[str], cli: CommandLine
) -> None:
    """Nothing is replaced or guessed; the error names the byte."""
    data = "hä".encode() + b"\xff\xfe"
    (cli.folder / "body").write_bytes(data)
    to = [] if "--batch" in argv else ["--to", "reviewer"]
    ran = cli("--json", "--as", "builder", "send", *to, *argv, stdin=data)

    assert (ran.code, ran.error["code"]) == (2, "invalid_text")
    assert ran.error["position"] == 3
    assert "0xFF" in ran.error["message"]


@pytest.mark.parametrize("file", ["nowhere", ".", "a\0b"])
def test_a_body_file_that_cannot_be_read_is_bad_input(
    file: str, cli: CommandLine
) -> None:
    """The error names the option and the file."""
    ran = cli(
        "--json", "--as", "builder", "send", "--to", "reviewer", "--body-file", file
    )

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert ran.error["argument"] == "--body-file"


def test_a_batch_is_sent_in_one_commit(cli: CommandLine) -> None:
    """Each line has the keywords of `Agent.send`; blank lines do not count."""
    lines = [
        {"to": "reviewer", "body": "One\u2028line.", "subject": "First"},
        {"to": ["lead", "reviewer"], "body": "Two.", "importance": "high"},
    ]
    text = "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n"
    before = cli.ok("status")["commits"]
    answer = cli.ok("--as", "builder", "send", "--batch", "-", stdin=text)

    bodies = [_whole(cli, sent["message"]["id"]) for sent in answer["sent"]]
    assert bodies == ["One\u2028line.", "Two."]
    assert cli.ok("status")["commits"] == before + 1
    assert answer["commit"] == cli.ok("status")["tip"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "invalid_argument"),
        ('["to"]', "invalid_argument"),
        ("[" * 100_000, "invalid_argument"),
        ('{"to": "reviewer", "body": "x", "from": "lead"}', "invalid_argument"),
        ('{"to": "reviewer", "body": "x", "reply_to": "12345678"}', "invalid_argument"),
        ('{"to": "reviewer", "body": 5}', "invalid_argument"),
        ('{"to": "reviewer", "body": "\\ud800"}', "invalid_text"),
        ('{"to": "nobody", "body": "x"}', "unknown_recipient"),
        ('{"to": "reviewer", "body": " "}', "blank_body"),
    ],
)
def test_a_bad_line_of_a_batch_is_named_and_nothing_is_sent(
    line: str, code: str, cli: CommandLine
) -> None:
    """All or nothing, and the error says which line to put right (S3)."""
    good = '{"to": "reviewer", "body": "Fine."}'
    (cli.folder / "batch.jsonl").write_text(f"{good}\n\n{line}\n{good}\n", "utf-8")
    ran = cli("--json", "--as", "builder", "send", "--batch", "batch.jsonl")

    assert (ran.code, ran.error["code"]) == (2, code)
    assert ran.error["line"] == 3
    assert ran.error["message"].startswith("line 3")
    assert cli.ok("--as", "reviewer", "poll", "--any")["messages"] == []


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "\n  \n"])
def test_a_batch_without_messages_is_bad_input(text: str, cli: CommandLine) -> None:
    """Whoever sends a file means to send something."""
    ran = cli("--json", "--as", "builder", "send", "--batch", "-", stdin=text)

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert "no message" in ran.error["message"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON at character 2"),
        ("nonsense", "no JSON at character 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"n": ' + "9" * 6000 + "}", "a number in it is too long"),
        ('{"to": "lead", "body": "a", "body": "b"}', 'it says "body" twice'),
        ('{"to": "lead", "body": {"a": 1, "a": 2}}', 'it says "a" twice'),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_words_of_ours(
    line: str, said: str, cli: CommandLine
) -> None:
    """No parser's jargon, and no advice about the interpreter."""
    ran = cli("--json", "--as", "builder", "send", "--batch", "-", stdin=line)

    assert (ran.code, ran.error["line"]) == (2, 1)
    assert ran.error["message"].endswith(said)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"to": "nobody", "body": "x"}', "unknown_recipient"),
        ('{"to": "reviewer", "body": " "}', "blank_body"),
        ('{"to": "reviewer"}', "blank_body"),
    ],
)
def test_the_only_line_of_a_batch_is_named_like_one_of_many(
    line: str, code: str, cli: CommandLine
) -> None:
    """The hint is about the file, not about options that do not go with it."""
    ran = cli("--json", "--as", "builder", "send", "--batch", "-", stdin=f"\n{line}")
    stranger = cli("--json", "--as", "nobody", "send", "--batch", "-", stdin=line)

    assert (ran.error["code"], ran.error["line"]) == (code, 2)
    assert ran.error["message"].startswith("line 2: ")
    assert "--body-file" not in ran.error["hint"]
    assert stranger.error["message"].startswith("No agent is registered")


def test_two_lines_with_one_request_id_are_told_apart_from_what_was_sent(
    cli: CommandLine,
) -> None:
    """Nothing was sent, so no id of a message is named."""
    line = '{"to": "reviewer", "body": "%s", "request_id": "r"}'
    text = "\n".join(line % body for body in ("a", "b"))
    batch = ("--json", "--as", "builder", "send", "--batch", "-")
    among = cli(*batch, stdin=text)
    cli.ok(*batch, stdin=line % "sent")
    before = cli(*batch, stdin=line % "b")

    assert (among.code, among.error["code"]) == (1, "request_conflict")
    assert among.error["message"] == (
        "line 2: it has the request id of line 1, but not its body"
    )
    assert "id" not in among.error
    assert "already sent message" in before.error["message"]


def test_a_batch_may_begin_with_a_byte_order_mark(cli: CommandLine) -> None:
    """Some editors write one."""
    text = '\ufeff{"to": "reviewer", "body": "x"}'
    answer = cli.ok("--as", "builder", "send", "--batch", "-", stdin=text)

    assert len(answer["sent"]) == 1


@pytest.mark.parametrize("option", ["--subject", "--topic", "--to", "--room"])
def test_an_option_beside_a_batch_is_refused_even_where_it_is_empty(
    option: str, cli: CommandLine
) -> None:
    """It would be dropped without a word."""
    ran = cli("--json", "--as", "builder", "send", "--batch", "-", option, "")

    assert (ran.code, ran.error["code"]) == (2, "usage")


@pytest.mark.parametrize("argv", [["--to", "reviewer"], ["--batch", "-"]])
def test_standard_input_without_end_is_read_as_far_as_the_limit(
    argv: list[str], cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes at once, and says what the limit is."""

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    class Streams(io.TextIOWrapper):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(io.BufferedReader(Endless()))

    monkeypatch.setattr("tests.cli.conftest.io.TextIOWrapper", Streams)
    ran = cli("--json", "--as", "builder", "send", *argv)

    assert ran.code == 2
    assert ran.error["code"] == (
        "body_too_large" if "--to" in argv else "invalid_argument"
    )
    assert ("65536" if "--to" in argv else "bytes") in ran.error["message"]


@pytest.mark.parametrize("size", [65_536, 65_537])
@pytest.mark.parametrize("argv", [[], ["--body-file", "body"]])
def test_a_body_is_as_large_as_the_limit_and_no_larger(
    argv: list[str], size: int, cli: CommandLine
) -> None:
    """The bound of the reading is the bound of the mailbox, to the byte."""
    (cli.folder / "body").write_bytes(b"x" * size)
    ran = cli(
        "--json", "--as", "builder", "send", "--to", "lead", *argv, stdin="x" * size
    )

    if size > 65_536:
        assert (ran.code, ran.error["code"]) == (2, "body_too_large")
    else:
        assert ran.code == 0


def test_a_batch_that_is_too_large_is_refused_with_the_bound(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many small lines are bounded too."""
    monkeypatch.setattr("gitmail.cli.bodies.MOST_BYTES", 1000)
    text = '{"to": "reviewer", "body": "x"}\n' * 40
    ran = cli("--json", "--as", "builder", "send", "--batch", "-", stdin=text)

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert "more than 1000 bytes" in ran.error["message"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
@pytest.mark.parametrize("kind", ["fifo", "device"])
@pytest.mark.parametrize("argv", [["--batch"], ["--to", "lead", "--body-file"]])
def test_what_is_no_regular_file_is_refused(
    argv: list[str], kind: str, cli: CommandLine
) -> None:
    """A FIFO would hang, a device may have no end; `-` reads streams."""
    file = cli.folder / "fifo" if kind == "fifo" else Path("/dev/zero")
    if kind == "fifo":
        os.mkfifo(file)
    ran = cli("--json", "--as", "builder", "send", *argv, str(file))

    assert (ran.code, ran.error["code"]) == (2, "invalid_argument")
    assert "no regular file" in ran.error["message"]


def test_a_person_who_types_the_body_is_told_that_it_is_read_to_its_end(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that waits for the keyboard says so, on standard error."""
    monkeypatch.setattr("gitmail.cli.streams.is_terminal", lambda _: True)
    ran = cli("--json", "--as", "builder", "send", "--to", "reviewer", stdin="Typed.")

    assert _whole(cli, ran.json["message"]["id"]) == "Typed."
    assert ran.err.startswith("gitmail: reading the text from the terminal")
