"""What was held in a room over a span of time, for the picture on its page."""

from agentsroom.core.clock import SECOND
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.store.leases import HeldRow, leases_held_since
from tests.support.stores import Store


def held(store: Store, seconds: int, most: int = 100, room: str = "front") -> list[HeldRow]:
    database = store.runtime.database
    return database.read(
        lambda work: leases_held_since(
            work, "home", get_named(work, "home", room).id, work.now - seconds * SECOND, most
        )
    )


def paths(rows: list[HeldRow]) -> list[str]:
    return [one.lease.path.rpartition("/")[2] for one in rows]


def test_live_released_and_expired_leases_of_the_span_are_found(store: Store) -> None:
    ann = store.join(store.agent(), room="front", label="ann", cwd="/srv", host="x")
    other = store.join(store.agent(), room="desk", cwd="/srv", host="x")
    ann.claim("long-ago.py")
    ann("lease_release", path="long-ago.py")
    store.clock.forward(3_600)
    began = store.clock.now()
    ann.claim("expires.py", ttl_s=5)
    other.claim("elsewhere.py")
    store.clock.forward(5)
    ann.claim("released.py", mode="shared")
    store.clock.forward(1)
    ann("lease_release", path="released.py")
    ann.claim("live.py")
    rows = held(store, 600)
    assert paths(rows) == ["expires.py", "released.py", "live.py"]
    expired, released, live = (one.lease for one in rows)
    assert (expired.acquired_at, expired.released_at) == (began, began + 5_000)
    assert (released.mode, released.released_at) == ("shared", began + 6_000)
    assert (live.released_at, rows[2].holder_label, rows[2].holder_cwd) == (None, "ann", "/srv")


def test_one_that_ended_unnoticed_is_there_with_its_end(store: Store) -> None:
    ann = store.join(store.agent(), room="front", cwd="/srv", host="x")
    ann.claim("a.py", ttl_s=5)
    store.clock.forward(60)
    (row,) = held(store, 600)
    assert (row.lease.released_at, row.lease.expires_at) == (None, store.clock.now() - 55_000)
    assert held(store, 30) == []


def test_who_left_the_room_keeps_what_it_held_there_and_shows_no_later_claim(store: Store) -> None:
    ann = store.join(store.agent(), room="front", extra_rooms=["desk"], cwd="/srv", host="x")
    ann.claim("before.py")
    store.clock.forward(1)
    ann("room_leave_room", room="front")
    store.clock.forward(1)
    ann.claim("after.py")
    assert paths(held(store, 600)) == ["before.py"]
    ann("room_leave")
    assert paths(held(store, 600)) == ["before.py"]
    assert paths(held(store, 600, room="desk")) == ["before.py", "after.py"]


def test_of_too_many_the_live_ones_and_the_last_stay(store: Store) -> None:
    ann = store.join(store.agent(), room="front", cwd="/srv", host="x")
    ann.claim("live.py")
    for number in range(5):
        store.clock.forward(1)
        ann.claim(f"{number}.py")
        ann("lease_release", path=f"{number}.py")
    assert paths(held(store, 600, most=3)) == ["live.py", "3.py", "4.py"]
