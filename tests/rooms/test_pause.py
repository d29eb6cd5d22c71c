"""Paused rooms: everything goes on but the signals; who sends is told."""

import pytest

from agentsroom.core.errors import Forbidden
from agentsroom.core.principals import Principal
from agentsroom.rooms.delivery import rests
from agentsroom.rooms.errors import UnknownRoom
from agentsroom.rooms.service import rooms
from tests.rooms.test_store import kinds
from tests.support.stores import Json, Seat, Store


def pause(store: Store, room: str = "front", caller: Principal | None = None) -> None:
    store.runtime.database.write(lambda work: rooms.pause(work, caller or store.admin(), room))


def resume(store: Store, room: str = "front", caller: Principal | None = None) -> None:
    store.runtime.database.write(lambda work: rooms.resume(work, caller or store.admin(), room))


def reason(seat: Seat, message_id: int) -> str:
    (told,) = seat("why", message_id=message_id)["recipients"]
    found: str = told["reason"]
    return found


@pytest.fixture
def pair(store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front."""
    return store.join(store.agent(), room="front"), store.join(store.agent(), room="front", label="beta")


@pytest.mark.rule("R154", "R141")
def test_pausing_and_resuming_again_change_nothing(store: Store, pair: tuple[Seat, Seat]) -> None:
    before = kinds(store)
    pause(store)
    since = store.columns("rooms", "paused_at")
    store.clock.forward(60)
    pause(store, "shared:front")
    assert store.columns("rooms", "paused_at") == since
    assert kinds(store) == [*before, "room_paused"]
    resume(store)
    resume(store)
    assert store.columns("rooms", "paused_at") == [(None,)]
    assert kinds(store) == [*before, "room_paused", "room_resumed"]
    assert '{"room":"shared:front"}' in max(store.columns("events", "id", "data"))
    assert len(pair) == 2


@pytest.mark.rule("R154")
def test_the_operator_alone_pauses(store: Store, pair: tuple[Seat, Seat]) -> None:
    for act in (pause, resume):
        with pytest.raises(Forbidden):
            act(store, caller=pair[0].caller)
        with pytest.raises(UnknownRoom):
            act(store, "attic")
    pause(store, caller=store.local())
    assert None not in store.columns("rooms", "paused_at")[0]


@pytest.mark.rule("R155")
def test_everything_else_goes_on(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    pause(store)
    message = alpha.send("*", "stored")["message_id"]
    assert [one["message_id"] for one in beta("msg_wait", timeout_s=0)["messages"]] == [message]
    assert beta.bodies() == ["stored"]
    assert beta("room_history")["messages"][0]["message_id"] == message
    assert beta("msg_search", query="stored")["messages"]
    assert alpha.claim("/srv/a.py")["ok"]
    assert beta("room_who", room="front")["sessions"]


@pytest.mark.rule("R156")
@pytest.mark.parametrize(
    ("paused_at", "expected"),
    [([], False), ([1], True), ([None], False), ([1, None], False), ([1, 2], True)],
)
def test_a_delivery_rests_when_every_common_room_is_paused(
    paused_at: list[int | None], expected: bool
) -> None:
    assert rests(paused_at) is expected


@pytest.mark.rule("R157")
def test_who_sends_into_a_paused_room_is_warned(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, _ = pair
    pause(store)
    expected = "shared:front is paused by the overseer: stored; nobody is signalled until it is resumed."
    assert alpha.send("*")["warning"] == expected
    assert "paused" not in alpha.send("tag:nobody")["warning"]
    resume(store)
    assert "paused" not in alpha.send("*")["warning"]


@pytest.mark.rule("R157")
def test_the_warning_names_those_for_whom_it_rests(store: Store) -> None:
    sender = store.join(store.agent(), room="front", extra_rooms=["desk"])
    store.join(store.agent(), room="front", label="beta")
    store.join(store.agent(), room="front", extra_rooms=["desk"], label="gamma")
    pause(store)
    warning = sender.send("*")["warning"]
    assert "no signal reaches beta until it is resumed" in warning
    assert "Nothing will signal gamma," in warning
    pause(store, "desk")
    assert sender.send("*")["warning"] == (
        "shared:front and shared:desk are paused by the overseer: stored; nobody is signalled until one is resumed."
    )


@pytest.mark.rule("R157")
def test_a_message_whose_recipients_share_another_room_earns_no_such_warning(store: Store) -> None:
    sender, _ = (store.join(store.agent(), room="front", extra_rooms=["desk"]) for _ in range(2))
    pause(store)
    assert "paused" not in sender.send("*")["warning"]


@pytest.mark.rule("R157")
def test_who_joins_a_paused_room_is_told(store: Store, pair: tuple[Seat, Seat]) -> None:
    pause(store)
    joined: Json = store.join(store.agent(), room="front").joined
    assert "shared:front is paused by the overseer" in joined["warning"]
    resume(store)
    assert "warning" not in store.join(store.agent(), room="front").joined
    assert "warning" not in pair[0].joined


@pytest.mark.rule("R82", "R156")
def test_why_gives_paused_where_nothing_worse_is_in_the_way(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    first = alpha.send(beta.id, ttl_s=60)["message_id"]
    pause(store)
    assert reason(alpha, first) == "paused"
    told = alpha("why", message_id=first)["recipients"][0]["explanation"]
    assert "shared:front" in told
    desk = store.join(store.agent(), harness_key="key-of-the-chat", extra_rooms=["front", "desk"])
    store.call("room_join", beta.caller, harness_key="another-key", room="desk")
    assert reason(desk, desk.send(desk.id)["message_id"]) == "autonomy", "desk goes on"
    beta("room_leave_room", room="front")
    assert reason(alpha, first) == "wrong_room"
    store.clock.forward(60)
    assert reason(alpha, first) == "expired"
    second = desk.send(alpha.id)["message_id"]
    assert reason(desk, second) == "paused"
    alpha.receive()
    assert reason(desk, second) == "none"


@pytest.mark.rule("R82", "R156")
def test_who_is_gone_or_left_is_told_so_in_a_paused_room_too(store: Store, pair: tuple[Seat, Seat]) -> None:
    alpha, beta = pair
    gone = store.join(room="front", harness_key="a-key-that-no-process-has")
    pause(store)
    assert reason(alpha, alpha.send(gone.id)["message_id"]) == "gone"
    message = alpha.send(beta.id)["message_id"]
    beta("room_leave")
    assert reason(alpha, message) == "left"
