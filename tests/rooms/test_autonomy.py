"""Autonomy: levels that a session raises, and caps that the operator sets."""

from typing import Any

import pytest

from agentsroom.core.errors import Forbidden, InvalidArgument
from agentsroom.rooms.autonomy import Level, effective, parse_level
from tests.support.stores import Json, Store

KEY = "2b50133e-0000-4000-8000-00000000000a"


def join(store: Store, **arguments: Any) -> Json:
    return store.join(store.agent(), harness_key=KEY, room="front", **arguments).joined


def cap(store: Store, level: str) -> None:
    store.call("room_set_autonomy_cap", store.admin(), room="front", autonomy=level)


@pytest.mark.rule("R39")
def test_names_and_numbers_are_taken_and_names_given(store: Store) -> None:
    given: list[str | int] = ["notify", "hold", "wake", 0, 1, 2]
    levels = [store.join(store.agent(), autonomy=one).joined["autonomy"] for one in given]
    assert levels == ["notify", "hold", "wake"] * 2
    assert [parse_level("notify"), parse_level(1), parse_level("wake")] == list(Level)


@pytest.mark.rule("R39", "R134")
@pytest.mark.parametrize("level", [3, -1, 1.5, "", "None", "WAKE", "1", True, [1]])
def test_no_other_level_is_taken(sqlite_store: Store, level: object) -> None:
    with pytest.raises(InvalidArgument, match="autonomy"):
        join(sqlite_store, autonomy=level)


@pytest.mark.rule("R40")
def test_the_first_join_is_at_notify(store: Store) -> None:
    assert join(store)["autonomy"] == "notify"


@pytest.mark.rule("R41")
def test_a_later_join_keeps_the_level(store: Store) -> None:
    join(store, autonomy="wake")
    again = join(store)
    assert again["autonomy"] == "wake"
    assert "warning" not in again


@pytest.mark.rule("R42")
def test_a_higher_level_applies(store: Store) -> None:
    join(store, autonomy="notify")
    assert join(store, autonomy="hold")["autonomy"] == "hold"
    assert join(store)["autonomy"] == "hold"


@pytest.mark.rule("R43")
def test_a_lower_level_is_refused_with_the_one_that_stays(store: Store) -> None:
    join(store, autonomy="wake")
    again = join(store, autonomy="notify")
    assert again["autonomy"] == "wake"
    assert "wake" in again["warning"]


@pytest.mark.rule("R44")
def test_the_lowest_cap_of_its_rooms_counts(store: Store) -> None:
    join(store)
    cap(store, "hold")
    under = join(store, autonomy="wake")
    assert under["autonomy"] == "hold"
    assert "shared:front" in under["warning"]
    assert "warning" not in join(store)
    assert "warning" not in store.join(store.agent(), room="front", autonomy="hold").joined
    assert effective(Level.WAKE, [Level.HOLD, Level.NOTIFY]) is Level.NOTIFY
    assert effective(Level.HOLD, [Level.WAKE]) is Level.HOLD
    assert effective(Level.HOLD, []) is Level.HOLD


@pytest.mark.rule("R44")
def test_leaving_the_capped_room_lifts_its_cap(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["desk"], autonomy="wake")
    cap(store, "notify")
    seat("room_leave_room", room="front")
    (told,) = seat("room_who")["sessions"]
    assert told["autonomy"] == "wake"


@pytest.mark.rule("R45")
def test_only_the_operator_sets_caps(store: Store) -> None:
    seat = store.join(store.agent(), room="front")
    before = store.everything()
    with pytest.raises(Forbidden):
        store.call("room_set_autonomy_cap", store.agent(), room="front", autonomy="wake")
    with pytest.raises(Forbidden):
        seat("room_set_autonomy_cap", autonomy="hold")
    assert store.everything() == before
    for operator in (store.admin(), store.local()):
        answer = store.call("room_set_autonomy_cap", operator, room="front", autonomy=1)
        assert answer == {"room": "shared:front", "autonomy": "hold"}


@pytest.mark.rule("R46")
def test_raising_a_cap_brings_the_stored_level_back(store: Store) -> None:
    join(store, autonomy="wake")
    levels = []
    for level in ("notify", "hold", "wake"):
        cap(store, level)
        levels.append(join(store)["autonomy"])
    assert levels == ["notify", "hold", "wake"]


@pytest.mark.rule("R47")
def test_a_cap_is_for_the_room_named_else_the_sessions_default(store: Store) -> None:
    seat = store.join(store.agent(), room="front", extra_rooms=["desk"])
    operator = store.admin()
    by_session = store.call("room_set_autonomy_cap", operator, session_id=seat.id, autonomy="hold")
    assert by_session["room"] == "shared:front"
    named = store.call("room_set_autonomy_cap", operator, session_id=seat.id, room="desk", autonomy="hold")
    assert named["room"] == "shared:desk"
