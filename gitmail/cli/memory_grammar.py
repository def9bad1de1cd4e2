"""The grammar of `memory` and its commands; what they do is in `memory`."""

from gitmail.cli import memory
from gitmail.cli.parser import Commands, Parser, add_limit, fraction

_ABOUT = """\
A message is for somebody, now. Memory is for whoever works here later:

  note    a text, named by its id
  fact    what is true of this project
  world   what is true outside of it
  lesson  what was learnt; its entity is a task, its attribute an aspect of it

A fact, world fact or lesson has one value for each entity and attribute, which
match whatever their case and spacing. Where memory is

  wrong     set the right value; of a note: supersede it
  outdated  set the new value; where there is none: forget it, with --reason
  junk      forget it

Forgetting removes notes and facts, and retires world facts and lessons. Git has
all of it still: see history and restore."""
_TEXT = "The text is {0}, or standard input where {0} is - or absent."
_SET = f"""\
{_TEXT.format("VALUE")}
What is in force already is confirmed, and nothing is written."""
_FORGET = """\
Notes go by their id, or by filters: by default what one of them fits, with
--match all what all of them fit. More than 20 go only with --confirm.
The rest goes by entity, or by entity and attribute. World facts and lessons are
retired: they leave every answer but history."""
_RESTORE = """\
It brings back what was retired, forgotten or superseded. A value that is in
force is replaced only by a revision that is named; see: gitmail memory history"""


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    own = commands.group("memory", "keep what must outlive a conversation", _ABOUT)
    _add_writing(own)
    _add_looking(own)
    _add_forgetting(own)


def _add_writing(own: Commands) -> None:
    add = own.add("add", memory.run_add, "add a note", _TEXT.format("TEXT"))
    _add_tags(add, "a label, may be repeated")
    _add_source(add)
    add.add_argument("--episode", metavar="E", help="what it belongs to")
    add.add_argument("text", nargs="?", metavar="TEXT", help="the text, - for stdin")

    put = own.add("set", memory.run_set, "set a fact, world fact or lesson", _SET)
    _add_source(put)
    put.add_argument(
        "--confidence",
        type=fraction("--confidence"),
        metavar="C",
        help="how sure you are, from 0 to 1, kept to 3 decimals",
    )
    _add_tags(put, "a label, may be repeated; without any the old ones stay")
    put.add_argument(
        "--expected",
        metavar="REV",
        help="the revision that must be in force, or none where nothing must be",
    )
    put.add_argument(
        "--ack", action="store_true", help="acknowledge the message that is the source"
    )
    _add_slot(put)
    put.add_argument("value", nargs="?", metavar="VALUE", help="the text, - for stdin")

    supersede = own.add(
        "supersede",
        memory.run_supersede,
        "put a note in the place of another",
        f"The new note keeps tags and episode.\n{_TEXT.format('NEW')}",
    )
    supersede.usage = (
        "gitmail memory supersede [OPTIONS] NOTE [NEW]\n"
        "       gitmail memory supersede [OPTIONS] --text OLD [NEW]"
    )
    supersede.add_argument(
        "--text", dest="old", metavar="OLD", help="the whole text of the old note"
    )
    supersede.add_argument(
        "note", nargs="?", metavar="NOTE", help="id, or its first 8 digits"
    )
    supersede.add_argument(
        "text", nargs="?", metavar="NEW", help="the text, - for stdin"
    )


def _add_looking(own: Commands) -> None:
    get = own.add("get", memory.run_get, "show what is in force, or a note")
    get.usage = (
        "gitmail memory get [OPTIONS] SCOPE ENTITY [ATTRIBUTE]\n"
        "       gitmail memory get [OPTIONS] NOTE"
    )
    _add_slot_or_note(get)

    listing = own.add("list", memory.run_list, "list what is in force, newest first")
    _add_entity(listing)
    _add_tags(listing, "only with this label; repeated: with one of them")
    _add_retired(listing)
    add_limit(listing, 50)
    listing.add_argument(
        "scope", nargs="?", metavar="SCOPE", help="note, fact, world or lesson"
    )

    search = own.add("search", memory.run_search, "find what has all the words")
    search.add_argument(
        "--scope",
        dest="scopes",
        action="append",
        metavar="S",
        help="note, fact, world or lesson, may be repeated",
    )
    _add_entity(search)
    _add_tags(search, "only with this label; repeated: with one of them")
    search.add_argument("--source", metavar="S", help="only from exactly this source")
    search.add_argument("--by", metavar="AGENT", help="only what this agent has set")
    search.add_argument(
        "--since", metavar="T", help="only since a time, or for a duration such as 2h"
    )
    _add_retired(search)
    add_limit(search, 20)
    search.add_argument("query", nargs="+", metavar="QUERY")

    history = own.add(
        "history",
        memory.run_history,
        "show all versions, newest first, and who made them",
    )
    history.usage = (
        "gitmail memory history [OPTIONS] SCOPE ENTITY [ATTRIBUTE]\n"
        "       gitmail memory history [OPTIONS] NOTE"
    )
    add_limit(history, 50)
    _add_slot_or_note(history)


def _add_forgetting(own: Commands) -> None:
    forget = own.add(
        "forget", memory.run_forget, "remove notes and facts, retire the rest", _FORGET
    )
    forget.usage = (
        "gitmail memory forget [OPTIONS] note [NOTE]\n"
        "       gitmail memory forget [OPTIONS] fact|world|lesson ENTITY [ATTRIBUTE]"
    )
    forget.add_argument("--text", metavar="T", help="notes with exactly this text")
    forget.add_argument("--substring", metavar="S", help="notes that hold this text")
    forget.add_argument("--source", metavar="S", help="notes from this source")
    forget.add_argument("--episode", metavar="E", help="notes of this episode")
    forget.add_argument("--tag", metavar="T", help="notes with this label")
    forget.add_argument("--match", metavar="M", help="any (the default) or all filters")
    forget.add_argument(
        "--confirm", action="store_true", help="even where more than 20 notes fit"
    )
    forget.add_argument(
        "--dry-run", action="store_true", help="only show what would go"
    )
    _add_reason(forget)
    forget.add_argument("scope", metavar="SCOPE", help="note, fact, world or lesson")
    forget.add_argument(
        "entity", nargs="?", metavar="ENTITY", help="or a task, or a note's id"
    )
    forget.add_argument(
        "attribute", nargs="?", metavar="ATTRIBUTE", help="or an aspect; else all"
    )

    restore = own.add("restore", memory.run_restore, "bring something back", _RESTORE)
    restore.usage = (
        "gitmail memory restore [OPTIONS] SCOPE ENTITY ATTRIBUTE\n"
        "       gitmail memory restore [OPTIONS] NOTE"
    )
    restore.add_argument(
        "--revision", metavar="REV", help="an earlier version, else the last one"
    )
    _add_reason(restore)
    _add_slot_or_note(restore)


def _add_slot(parser: Parser) -> None:
    parser.add_argument("scope", metavar="SCOPE", help="fact, world or lesson")
    parser.add_argument("entity", metavar="ENTITY", help="what it is about; a task")
    parser.add_argument("attribute", metavar="ATTRIBUTE", help="what of it; an aspect")


def _add_slot_or_note(parser: Parser) -> None:
    parser.add_argument(
        "scope", metavar="SCOPE", help="fact, world or lesson; or a note's id"
    )
    parser.add_argument(
        "entity", nargs="?", metavar="ENTITY", help="what it is about; a task"
    )
    parser.add_argument(
        "attribute", nargs="?", metavar="ATTRIBUTE", help="what of it; an aspect"
    )


def _add_entity(parser: Parser) -> None:
    parser.add_argument(
        "--entity", "--task", dest="entity", metavar="E", help="only of this entity"
    )


def _add_tags(parser: Parser, what: str) -> None:
    parser.add_argument("--tag", dest="tags", action="append", metavar="T", help=what)


def _add_source(parser: Parser) -> None:
    parser.add_argument(
        "--source",
        metavar="S",
        help="message:ID, file:PATH[@COMMIT], a URL, or any words",
    )


def _add_retired(parser: Parser) -> None:
    parser.add_argument(
        "--retired", action="store_true", help="also what has been retired"
    )


def _add_reason(parser: Parser) -> None:
    parser.add_argument("--reason", metavar="R", help="why, for the history")
