"""Why a message is where it is: each obstacle has its own reason."""

import pytest

from agentsroom.core.clock import iso
from agentsroom.core.principals import Principal
from agentsroom.rooms.errors import UnknownMessage
from agentsroom.rooms.service import explain
from agentsroom.rooms.store.sessions import SessionRow
from tests.support.stores import Json, Seat, Store


def why(seat: Seat, message_id: int) -> Json:
    """What stands in the way of the one delivery."""
    (told,) = seat("why", message_id=message_id)["recipients"]
    found: Json = told
    return found


@pytest.mark.rule("R82")
def test_the_level_stands_in_the_way(store: Store) -> None:
    sender, reader = store.join(), store.join(label="beta")
    told = why(sender, sender.send("*")["message_id"])
    assert (told["recipient"], told["label"], told["state"]) == (reader.id, "beta", "stored")
    assert told["reason"] == "autonomy"
    assert told["since"] == iso(store.clock.now())
    assert "notify" in told["explanation"]


@pytest.mark.rule("R82")
def test_a_cap_stands_in_the_way_of_who_asked_for_more(store: Store) -> None:
    sender = store.join(store.agent(), room="front")
    store.join(store.agent(), room="front", autonomy="wake")
    message = sender.send("*")["message_id"]
    assert why(sender, message)["reason"] == "no_lever"
    store.call("room_set_autonomy_cap", store.admin(), room="front", autonomy="hold")
    told = why(sender, message)
    assert told["reason"] == "cap"
    for word in ("wake", "shared:front", "hold"):
        assert word in told["explanation"]


@pytest.mark.rule("R82")
def test_gone_left_and_wrong_room_are_told_apart(store: Store) -> None:
    sender = store.join(room="front")
    gone = store.join(harness_key="a-key-that-no-process-has")
    assert why(sender, sender.send(gone.id)["message_id"])["reason"] == "gone"
    left = store.join()
    message = sender.send(left.id)["message_id"]
    left("room_leave")
    assert why(sender, message)["reason"] == "left"
    moved = store.join(store.agent(), room="front")
    message = sender.send(moved.id)["message_id"]
    moved("room_leave_room", room="front")
    assert why(sender, message)["reason"] == "wrong_room"
    assert moved.bodies() == ["x"]


@pytest.mark.rule("R82")
def test_an_expired_one_says_since_when_and_a_read_one_that_nothing_is_in_the_way(store: Store) -> None:
    sender, reader = store.join(), store.join()
    message = sender.send("*", ttl_s=60)["message_id"]
    ends = iso(store.clock.now() + 60_000)
    store.clock.forward(3_600)
    told = why(sender, message)
    assert (told["state"], told["reason"], told["since"]) == ("expired", "expired", ends)
    message = sender.send("*")["message_id"]
    reader.receive()
    assert why(reader, message)["reason"] == "none"


@pytest.mark.rule("R82")
@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("*", ["* found nobody", "no other session was"]),
        ("tag:api", ["the tag api"]),
        ("file:src/*.go", ["a live lease on src/*.go"]),
    ],
)
def test_a_message_that_found_nobody_says_what_was_looked_for_where_and_when(
    store: Store, to: str, words: list[str]
) -> None:
    sender = store.join(store.agent(), room="front", extra_rooms=["desk"])
    message, sent_at = sender.send(to)["message_id"], iso(store.clock.now())
    store.clock.forward(60)
    later = store.join(store.agent(), room="front", tags=["api"])
    told = sender("why", message_id=message)
    assert told["recipients"] == []
    for word in (*words, sent_at, "shared:front", "shared:desk"):
        assert word in told["explanation"]
    assert "explanation" not in sender("why", message_id=sender.send(later.id)["message_id"])


@pytest.mark.rule("R82")
def test_a_message_from_no_room_found_nobody(store: Store) -> None:
    sender = store.join(store.agent())
    told = sender("why", message_id=sender.send("*")["message_id"])
    assert "in no room" in told["explanation"]


@pytest.mark.rule("R83")
def test_only_parties_and_the_admin_are_told(store: Store) -> None:
    sender, reader, bystander = (store.join() for _ in range(3))
    message = sender.send(reader.id)["message_id"]
    assert why(sender, message) == why(reader, message)
    for seat, number in ((bystander, message), (sender, 999_999)):
        with pytest.raises(UnknownMessage, match=str(number)):
            seat("why", message_id=number)
    assert [one.id for one in known_to(store, store.admin(), message)] == [reader.id]
    for stranger in (store.agent(), store.admin("harbour")):
        with pytest.raises(UnknownMessage):
            known_to(store, stranger, message)


def known_to(store: Store, caller: Principal, message_id: int) -> list[SessionRow]:
    """What the pages ask, where no session asks."""
    return store.runtime.database.read(lambda work: explain.known_recipients(work, caller, None, message_id))
