"""What a derived index holds, in a form that does not depend on how it came about."""

from collections.abc import Iterable
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
    "memory": "SELECT p.text, hex(m.id), m.scope, m.entity, m.attribute, m.is_retired,"
    " m.date, a.text, m.source, m.episode, m.digest, m.text FROM memory m"
    " JOIN name p ON p.n = m.path JOIN name a ON a.n = m.author",
    "memory_tag": "SELECT tag, p.text FROM memory_tag t LEFT JOIN memory m ON m.n = t.n"
    " LEFT JOIN name p ON p.n = m.path",
    "memory_words": "SELECT w.text, p.text FROM memory_words w LEFT JOIN memory m"
    " ON m.n = w.rowid LEFT JOIN name p ON p.n = m.path",
    "memory_terms": "SELECT term, doc FROM temp.memory_vocabulary",
}
# In the order in which they came about, for each path.
_REVISIONS = (
    "SELECT p.text, lower(hex(r.made)), lower(hex(r.id)) FROM revision r"
    " JOIN name p ON p.n = r.path ORDER BY r.n"
)
_VOCABULARIES = {"vocabulary": "words", "memory_vocabulary": "memory_words"}


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
    for name, table in _VOCABULARIES.items():
        database.execute(
            f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab(main, '{table}', 'row')"
        )
    try:
        held = {
            table: sorted(database.execute(query).fetchall(), key=repr)
            for table, query in _QUERIES.items()
        }
    finally:
        for name in _VOCABULARIES:
            database.execute(f"DROP TABLE temp.{name}")
    return {**held, "revision": sorted(_histories(database.execute(_REVISIONS)))}


def _histories(rows: Iterable[tuple[str, str, str]]) -> Iterable[tuple[str, Any]]:
    """Return each path with its versions, each as the commit and the blob."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, made, blob in rows:
        found.setdefault(path, []).append((made, blob))
    return found.items()
