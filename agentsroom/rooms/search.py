"""Full-text search over messages: FTS5 on SQLite, tsvector on PostgreSQL. Words in any order; punctuation is safe.

On both, ASCII punctuation parts words: PostgreSQL's own parser would take `src/wire.go` for one word.
"""

import re
from typing import Any

from agentsroom.core.database import Reading

_PUNCTUATION = r"[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f]+"
_POSTGRES_WORDS = f"to_tsvector('simple', regexp_replace(subject || ' ' || body, '{_PUNCTUATION}', ' ', 'g'))"
"""As the index is written in the migration that made it."""

_SQLITE = (
    "SELECT DISTINCT message_id FROM message_rooms WHERE room_id IN ({rooms}) AND message_id IN "
    "(SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?) ORDER BY message_id DESC LIMIT ?"
)
_POSTGRES = (
    "SELECT DISTINCT message_id FROM message_rooms WHERE room_id IN ({rooms}) AND message_id IN "
    "(SELECT id FROM messages WHERE {words} @@ plainto_tsquery('simple', %s)) "
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
    sql = _POSTGRES.format(words=_POSTGRES_WORDS, rooms=", ".join(["%s"] * len(room_ids)))
    return _ids(work, sql, [*room_ids, re.sub(_PUNCTUATION, " ", query), limit])


def _ids(work: Reading, sql: str, parameters: list[Any]) -> list[int]:
    work.cursor.execute(sql, parameters)
    return [row[0] for row in work.cursor.fetchall()]


def _quoted(query: str) -> str:
    """Each word as an FTS5 string, in which nothing but a doubled quote is special."""
    return " ".join('"{}"'.format(word.replace('"', '""')) for word in query.split())
