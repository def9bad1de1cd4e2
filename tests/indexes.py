"""What a derived index holds, in a form that does not depend on how it came about."""

from pathlib import Path
from typing import Any

from gitmail import Mailbox
from gitmail.store.index import Index
from gitmail.store.view import View

BESIDE = ("", "-wal", "-shm")
_QUERIES = {
    "message": "SELECT hex(m.id), m.date, s.text, m.thread, m.part, m.kind,"
    " m.importance, m.ack_required, t.text, r.text, m.expires, m.request"
    " FROM message m JOIN name s ON s.n = m.sender LEFT JOIN name t ON t.n = m.topic"
    " LEFT JOIN name r ON r.n = m.room",
    "mail": "SELECT name.text, mail.date, hex(m.id), role, stage FROM mail"
    " JOIN name ON name.n = mail.who JOIN message m ON m.n = mail.n",
    "profile": "SELECT name, data, last FROM profile",
    "commits": "SELECT hex(id) FROM commits",
    "quarantine": "SELECT path, reason, hex(waits_for) FROM quarantine",
    "words": "SELECT term, doc FROM temp.vocabulary",
}


def index_file(mailbox: Path) -> Path:
    """Return the database file of a mailbox."""
    return mailbox / ".git" / "gitmail" / "index.sqlite"


def delete_index(mailbox: Path) -> None:
    """Delete the database, with what SQLite keeps beside it."""
    for ending in BESIDE:
        index_file(mailbox).with_name(f"index.sqlite{ending}").unlink(missing_ok=True)


def contents(mailbox: Mailbox) -> dict[str, list[Any]]:
    """Return what the index of an open mailbox holds at the tip."""
    return mailbox.store.read(_contents)


def contents_made_anew(mailbox: Mailbox) -> dict[str, list[Any]]:
    """Return what an index of the same mailbox holds that is made in one step."""

    def make(view: View) -> dict[str, list[Any]]:
        keeper = mailbox.store._keeper
        kept, keeper._index = keeper._index, Index(None)
        try:
            keeper.catch_up(lambda: view.tip)
            return _contents(view, keeper._index)
        finally:
            keeper._index.close()
            keeper._index = kept

    return mailbox.store.read(make)


def _contents(view: View, index: Index | None = None) -> dict[str, list[Any]]:
    database = (index or view.index)._db
    database.execute(
        "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, 'words', 'row')"
    )
    try:
        return {
            table: sorted(database.execute(query).fetchall(), key=repr)
            for table, query in _QUERIES.items()
        }
    finally:
        database.execute("DROP TABLE temp.vocabulary")
