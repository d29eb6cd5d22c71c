"""The event table: append-only by the database itself, on both databases, after the last migration."""

import json
from pathlib import Path

import pytest

from agentsroom.core.archive import archive_events
from agentsroom.core.errors import Conflict
from agentsroom.core.feed import events_after
from tests.support.stores import Store

_KINDS = ["one", "two", "three"]


def _fill(store: Store) -> list[int]:
    return store.runtime.database.write(lambda work: [work.emit(kind, "home", n=1) for kind in _KINDS])


def _kinds(store: Store) -> list[str]:
    return [event.kind for event in store.runtime.database.read(lambda work: events_after(work, 0))]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'forged'",
        "UPDATE events SET kind = 'forged' WHERE id = (SELECT max(id) FROM events)",
        "DELETE FROM events",
        "DELETE FROM events WHERE id = (SELECT min(id) FROM events)",
    ],
)
def test_the_database_refuses_to_change_an_event(store: Store, statement: str) -> None:
    _fill(store)
    with pytest.raises(Exception, match="append-only"):
        store.runtime.database.write(lambda work: work.cursor.execute(statement))
    assert _kinds(store) == _KINDS


def test_replacing_an_event_is_refused_too(store: Store) -> None:
    first = _fill(store)[0]
    values = f"(id, at, kind, team_id, data) VALUES ({first}, 0, 'forged', 'home', '')"
    replace = f"INSERT OR REPLACE INTO events {values}"
    upsert = f"INSERT INTO events {values} ON CONFLICT (id) DO UPDATE SET kind = 'forged'"
    statement = replace if store.is_sqlite else upsert
    with pytest.raises(Exception, match="append-only"):
        store.runtime.database.write(lambda work: work.cursor.execute(statement))
    assert _kinds(store) == _KINDS


def test_old_events_go_to_a_file_first_and_an_event_says_so(store: Store, tmp_path: Path) -> None:
    _fill(store)
    target = tmp_path / "events.jsonl"
    count = archive_events(store.runtime.database, store.runtime.database.clock.now() + 1, target)
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["kind"] for line in lines][-3:] == _KINDS
    assert len(lines) == count
    (remaining,) = store.runtime.database.read(lambda work: events_after(work, 0))
    assert remaining.kind == "events_pruned"
    assert remaining.data["count"] == count
    with pytest.raises(Exception, match="append-only"):
        store.runtime.database.write(lambda work: work.cursor.execute("DELETE FROM events"))


def test_events_are_never_written_over_a_file(store: Store, tmp_path: Path) -> None:
    _fill(store)
    target = tmp_path / "events.jsonl"
    target.write_text("somebody's")
    with pytest.raises(Conflict):
        archive_events(store.runtime.database, store.runtime.database.clock.now() + 1, target)
    assert target.read_text() == "somebody's"
    assert _kinds(store) == _KINDS
