"""Full-text search over messages: FTS5 on SQLite, tsvector on PostgreSQL. Words in any order; punctuation is safe."""

from typing import Any

from agentsroom.core.database import Reading

SQLITE_INDEX = (
    "CREATE VIRTUAL TABLE messages_fts USING fts5("
    "subject, body, content='messages', content_rowid='id', tokenize='unicode61 remove_diacritics 2')",
    "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN "
    "INSERT INTO messages_fts(rowid, subject, body) VALUES (new.id, new.subject, new.body); END",
    "CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN "
    "INSERT INTO messages_fts(messages_fts, rowid, subject, body) "
    "VALUES ('delete', old.id, old.subject, old.body); END",
)
POSTGRES_INDEX = (
    "CREATE INDEX messages_fts ON messages USING gin (to_tsvector('simple', subject || ' ' || body))",
)

_SQLITE = (
    "SELECT DISTINCT message_id FROM message_rooms WHERE room_id IN ({rooms}) AND message_id IN "
    "(SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?) ORDER BY message_id DESC LIMIT ?"
)
_POSTGRES = (
    "SELECT DISTINCT message_id FROM message_rooms WHERE room_id IN ({rooms}) AND message_id IN "
    "(SELECT id FROM messages WHERE to_tsvector('simple', subject || ' ' || body) @@ plainto_tsquery('simple', %s)) "
    "ORDER BY message_id DESC LIMIT %s"
)


def message_ids(work: Reading, query: str, room_ids: list[int], limit: int) -> list[int]:
    """Ids of the messages in those rooms that hold every word of the query, newest first."""
    if not room_ids:
        return []
    if work.dialect_name == "sqlite":
        return _ids(
            work, _SQLITE.format(rooms=", ".join("?" * len(room_ids))), [*room_ids, _quoted(query), limit]
        )
    return _ids(work, _POSTGRES.format(rooms=", ".join(["%s"] * len(room_ids))), [*room_ids, query, limit])


def _ids(work: Reading, sql: str, parameters: list[Any]) -> list[int]:
    work.cursor.execute(sql, parameters)
    return [row[0] for row in work.cursor.fetchall()]


def _quoted(query: str) -> str:
    """Each word as an FTS5 string, in which nothing but a doubled quote is special."""
    return " ".join('"{}"'.format(word.replace('"', '""')) for word in query.split())
