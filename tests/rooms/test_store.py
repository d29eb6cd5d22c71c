"""The store as the rooms use it: events with every change, many writers, one migration, no clock that matters."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from agentsroom.core.errors import StoreUpgraded
from agentsroom.core.settings import Settings
from tests.support.at_once import at_once
from tests.support.stores import Seat, Store

ACTS: dict[str, tuple[str, Callable[[Seat], object]]] = {
    "session_joined": ("join", lambda seat: seat.store.join(seat.caller)),
    "cap_set": ("cap", lambda seat: seat("room_set_autonomy_cap", autonomy="hold")),
    "message_sent": ("send", lambda seat: seat.send(seat.id)),
    "messages_read": ("recv", lambda seat: seat("msg_recv")),
    "message_acked": ("ack", lambda seat: seat("msg_ack", message_id=1)),
    "lease_claimed": ("claim", lambda seat: seat.claim("a.py")),
    "lease_renewed": ("renew", lambda seat: seat("lease_renew", path="a.py")),
    "lease_released": ("release", lambda seat: seat("lease_release", path="a.py")),
    "room_left": ("leave a room", lambda seat: seat("room_leave_room", room="front")),
    "session_left": ("leave", lambda seat: seat("room_leave")),
}


def kinds(store: Store) -> list[str]:
    with store.runtime.database.engine.connect() as connection:
        return list(connection.execute(text("SELECT kind FROM events ORDER BY id")).scalars())


@pytest.mark.rule("R141")
def test_every_change_adds_its_event(store: Store) -> None:
    seat = store.join(room="front")
    for kind, (_, act) in ACTS.items():
        before = kinds(store)
        act(seat)
        assert kinds(store) == [*before, kind]


@pytest.mark.rule("R141")
def test_what_time_ends_adds_events_too(store: Store) -> None:
    seat = store.join()
    seat.send(seat.id, ttl_s=1)
    seat.claim("a.py", ttl_s=1)
    store.clock.forward(1)
    before = kinds(store)
    seat("msg_unread")
    seat("msg_unread")
    assert kinds(store) == [*before, "lease_expired", "messages_expired"]


@pytest.mark.rule("R141")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'nothing'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "REPLACE INTO events SELECT * FROM events",
        "INSERT INTO events SELECT * FROM events ON CONFLICT (id) DO UPDATE SET kind = 'nothing'",
        "TRUNCATE events",
    ],
)
def test_the_database_refuses_to_touch_an_event(store: Store, statement: str) -> None:
    store.join()
    before = store.rows("events")
    with store.runtime.database.engine.connect() as connection, pytest.raises(DBAPIError):
        connection.execute(text(statement))
    assert store.rows("events") == before


@pytest.mark.rule("R142")
def test_many_write_at_once_and_nothing_is_lost_or_locked(store: Store) -> None:
    reader = store.join(store.agent(), room="front")

    def write(there: Store, number: int) -> None:
        seat = there.join(there.agent(), room="front")
        for turn in range(10):
            seat.send(reader.id, f"{number}.{turn}")

    at_once(store, 8, write, runtimes=8)
    bodies = [one["body"] for one in reader.receive(limit=200)]
    assert sorted(bodies) == sorted(f"{number}.{turn}" for number in range(8) for turn in range(10))
    for number in range(8):
        assert [one for one in bodies if one.startswith(f"{number}.")] == [f"{number}.{n}" for n in range(10)]


@pytest.mark.rule("R143")
def test_ten_that_open_a_fresh_store_together_all_find_it_ready(store: Store, empty_store: Settings) -> None:
    fresh = Store(empty_store, store.clock, store.runtime, store.folder)
    ids = at_once(fresh, 10, lambda there, _: there.join(there.agent()).id, runtimes=10)
    assert len(set(ids)) == 10


@pytest.fixture
def empty_store(store: Store, request: pytest.FixtureRequest) -> Iterator[Settings]:
    """Settings of a store of the same kind that nobody has opened yet."""
    home = str(store.folder / "fresh")
    if store.is_sqlite:
        yield Settings(home=home)
        return
    cluster = request.getfixturevalue("cluster")
    url = cluster.create_database(f"fresh_{id(store)}")
    yield Settings(home=home, db=url.render_as_string(hide_password=False))
    cluster.drop_database(url.database)


@pytest.mark.rule("R144", "R140")
def test_who_lives_through_an_upgrade_writes_no_more(store: Store) -> None:
    seat = store.join()
    statement = "PRAGMA user_version=99" if store.is_sqlite else "UPDATE schema_version SET version = 99"
    with store.runtime.database.engine.connect() as connection:
        connection.exec_driver_sql(statement)
    before = store.everything()
    with pytest.raises(StoreUpgraded, match="restart me"):
        seat.send("*")
    assert store.everything() == before


@pytest.mark.rule("R145")
def test_a_clock_set_back_revives_no_lease_and_keeps_a_live_one(store: Store) -> None:
    holder, other = store.join(), store.join()
    holder.claim("ended.py", ttl_s=60)
    other.claim("live.py", ttl_s=60)
    store.clock.forward(30)
    other("msg_unread")
    store.clock.forward(30)
    other("msg_unread")
    store.clock.back(86_400)
    assert other.claim("ended.py")["ok"] is True
    assert holder.claim("live.py")["ok"] is False
    assert [one["path"] for one in holder("lease_list")["leases"]] == [
        f"{store.folder}/{name}" for name in ("live.py", "ended.py")
    ]
