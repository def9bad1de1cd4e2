"""Texts from arguments, files and standard input, and batches (CAPABILITIES M1, S3)."""

import json
from collections.abc import Callable

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


def test_an_empty_batch_sends_nothing_and_is_no_error(cli: CommandLine) -> None:
    """A file without messages is what a program may have made."""
    answer = cli.ok("--as", "builder", "send", "--batch", "-", stdin="\n")

    assert answer == {"sent": []}


def test_a_person_who_types_the_body_is_told_that_it_is_read_to_its_end(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that waits for the keyboard says so, on standard error."""
    monkeypatch.setattr("gitmail.cli.streams.is_terminal", lambda _: True)
    ran = cli("--json", "--as", "builder", "send", "--to", "reviewer", stdin="Typed.")

    assert _whole(cli, ran.json["message"]["id"]) == "Typed."
    assert ran.err.startswith("gitmail: reading the text from the terminal")
