"""The tables of the derived index.

Tables:
    message   one row a message, with what lists are filtered by
    mail      who may see which message in which role, and their stage with it
    name      agents, `team:NAME`, `all`, rooms and topics as small numbers
    profile   the agents' files, and when each last wrote
    author    when each author of a commit last wrote, agent or not
    commits   every commit of the branch, so that a cursor is looked up, not walked to;
              each with its place: its second, or one more than those it stands on
    quarantine  paths of the tip that are not what they should be
    words     full text of subject and body, without the text itself
    memory    one row a slot or note of the tip, retired ones included
    memory_tag, memory_words  their tags, and their full text
    revision  every version of every slot and note, in the order of n, which depends on
              the commit alone; a missing id says that the commit removed the file
"""

from collections.abc import Sized

SCHEMA = 8
"""Another number means another index, which is made anew."""
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE name (n INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE message (
  n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, date INTEGER NOT NULL,
  sender INTEGER NOT NULL, thread INTEGER NOT NULL, part INTEGER NOT NULL,
  kind INTEGER NOT NULL, importance INTEGER NOT NULL, ack_required INTEGER NOT NULL,
  topic INTEGER, room INTEGER, expires INTEGER, request INTEGER);
CREATE INDEX message_thread ON message (thread);
CREATE INDEX message_room ON message (room) WHERE room IS NOT NULL;
CREATE INDEX message_request ON message (request) WHERE request IS NOT NULL;
CREATE TABLE mail (
  who INTEGER NOT NULL, date INTEGER NOT NULL, n INTEGER NOT NULL,
  role INTEGER NOT NULL, stage INTEGER NOT NULL,
  PRIMARY KEY (who, date, n)) WITHOUT ROWID;
CREATE INDEX mail_blind ON mail (n) WHERE role & 8;
CREATE INDEX mail_pending ON mail (who, date, n, stage) WHERE stage < 2;
CREATE INDEX message_expires ON message (expires) WHERE expires IS NOT NULL;
CREATE TABLE author (name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE registered (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE VIEW profile AS
  SELECT name, data, last FROM registered LEFT JOIN author USING (name);
CREATE TABLE commits (id BLOB PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE quarantine (
  path TEXT PRIMARY KEY, reason TEXT NOT NULL, waits_for BLOB) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
  text, content='', tokenize="unicode61 remove_diacritics 2");
CREATE TABLE memory (
  n INTEGER PRIMARY KEY, path INTEGER NOT NULL UNIQUE, id BLOB NOT NULL,
  scope INTEGER NOT NULL, entity TEXT, attribute TEXT, is_retired INTEGER NOT NULL,
  date INTEGER NOT NULL, author INTEGER NOT NULL, source INTEGER, episode INTEGER,
  digest INTEGER, text TEXT);
CREATE INDEX memory_id ON memory (id);
CREATE INDEX memory_slot ON memory (scope, entity, attribute);
CREATE INDEX memory_date ON memory (is_retired, date);
CREATE INDEX memory_when ON memory (date);
CREATE INDEX memory_scope ON memory (scope, is_retired, date);
CREATE INDEX memory_source ON memory (source) WHERE source IS NOT NULL;
CREATE INDEX memory_episode ON memory (episode) WHERE episode IS NOT NULL;
CREATE INDEX memory_digest ON memory (digest) WHERE digest IS NOT NULL;
CREATE TABLE memory_tag (
  tag INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (tag, n)) WITHOUT ROWID;
CREATE INDEX memory_tag_n ON memory_tag (n);
CREATE VIRTUAL TABLE memory_words USING fts5 (
  text, tokenize="unicode61 remove_diacritics 2");
CREATE TABLE revision (
  n INTEGER NOT NULL, path INTEGER NOT NULL, made BLOB NOT NULL, id BLOB);
CREATE INDEX revision_n ON revision (n);
CREATE INDEX revision_path ON revision (path, n);
CREATE INDEX revision_id ON revision (id) WHERE id IS NOT NULL;
"""


def marks(values: Sized) -> str:
    """Return as many question marks, with commas, as a statement needs for values."""
    return ",".join("?" * len(values))
