"""No query of the tools reads a growing table whole: what SQLite's planner says of each."""

import pytest
from sqlalchemy.dialects import sqlite

from agentsroom.core.query import Query
from agentsroom.rooms.store import leases, messages, sessions
from tests.support.stores import Store

QUERIES = [
    pytest.param(query, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in (leases, messages, sessions)
    for name, query in vars(module).items()
    if isinstance(query, Query)
]
SCANNING = {
    messages: {"_DELETE_IDEMPOTENT_BEFORE", "_DELETE_MESSAGES_BEFORE", "_TEAMS_WITH_MESSAGES_BEFORE"},
    sessions: {"_SILENT_SINCE", "_PRESENT"},
}
"""Only prune runs them, and a server as it starts."""


def _allowed(query: Query) -> bool:
    return any(vars(module)[name] is query for module, names in SCANNING.items() for name in names)


def _plan(store: Store, query: Query) -> list[str]:
    sql = query.text(sqlite.dialect())
    with store.runtime.database.engine.connect() as connection:
        rows = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?"))
        return [row[3] for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_uses_an_index(sqlite_store: Store, query: Query) -> None:
    scanned = [step for step in _plan(sqlite_store, query) if step.startswith("SCAN ")]
    assert bool(scanned) == _allowed(query), scanned


def test_the_live_leases_of_a_team_are_found_without_the_ended_ones(sqlite_store: Store) -> None:
    assert any("ended_event=?" in step for step in _plan(sqlite_store, leases._LIVE_OVERLAPPING))
