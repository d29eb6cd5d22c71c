"""The log read backwards and forwards, of all kinds and of some; and that no page goes through all of it."""

import pytest
from sqlalchemy.dialects import sqlite

from agentsroom.core.event_log import (
    BEYOND,
    below,
    event_line,
    events_below,
    events_from,
    first_event,
    upwards,
)
from agentsroom.core.feed import FeedEvent
from tests.support.stores import Store

KINDS = ("one", "two")


@pytest.fixture
def filled(store: Store) -> Store:
    """Rows 1 to 9: one, two, three, one, …"""
    store.runtime.database.write(
        lambda work: [work.emit(kind, "home", n=n) for n in range(3) for kind in (*KINDS, "three")]
    )
    return store


def test_pages_go_down_and_up(filled: Store) -> None:
    read = filled.runtime.database.read
    assert [row.id for row in read(lambda work: events_below(work, BEYOND, 2))] == [9, 8]
    assert [row.id for row in read(lambda work: events_below(work, 8, 9))] == [7, 6, 5, 4, 3, 2, 1]
    assert [row.id for row in read(lambda work: events_from(work, 8, 9))] == [8, 9]
    assert [row.id for row in read(lambda work: events_from(work, 2, 3))] == [2, 3, 4]


def test_pages_of_some_kinds_are_in_the_order_of_all(filled: Store) -> None:
    read = filled.runtime.database.read
    assert [row.id for row in read(lambda work: events_below(work, 8, 3, KINDS))] == [7, 5, 4]
    assert [row.id for row in read(lambda work: events_from(work, 3, 3, KINDS))] == [4, 5, 7]
    assert read(lambda work: events_below(work, BEYOND, 3, ("none",))) == []


def test_the_first_row_is_told(filled: Store) -> None:
    first = filled.runtime.database.read(first_event)
    assert first is not None
    assert first.event == FeedEvent(1, filled.clock.now(), "one", "home", {"n": 0})


@pytest.mark.parametrize("kinds", [(), KINDS, ("one",)])
def test_a_page_is_read_by_an_index(sqlite_store: Store, kinds: tuple[str, ...]) -> None:
    for query in (below(kinds), upwards(kinds)):
        sql = query.text(sqlite.dialect())
        with sqlite_store.runtime.database.engine.connect() as connection:
            cursor = connection.connection.cursor()
            plan = cursor.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
        steps = [row[3] for row in plan if "events" in row[3]]
        wanted = "ix_events_kind_id (kind=? AND id" if kinds else "INTEGER PRIMARY KEY (rowid"
        assert [step for step in steps if step.startswith("SEARCH events") and wanted in step] == steps
        assert len(steps) == max(len(kinds), 1)


def test_a_line_holds_nothing_that_ends_one() -> None:
    line = event_line(FeedEvent(1, 0, "kind", "home", {"text": "a\u2028b\x85\r\n\x1e"}))
    assert len(line.splitlines()) == 1
