"""Deliveries: a table of states that leads forward only, expiry judged by time, acknowledgements."""

from itertools import product

import pytest

from agentsroom.core.clock import iso
from agentsroom.rooms.delivery import MEANINGS, TRANSITIONS, UNREAD, State, can_move, state_at
from agentsroom.rooms.errors import NotRecipient, UnknownMessage
from tests.support.stores import Store

ORDER = [State.STORED, State.OFFERED, State.ACCEPTED, State.READ, State.ACKED]


@pytest.mark.rule("R75")
def test_the_table_leads_forward_and_lets_steps_be_skipped() -> None:
    assert set(TRANSITIONS) == set(State) == set(MEANINGS)
    for earlier, later in product(ORDER, ORDER):
        assert can_move(earlier, later) is (ORDER.index(earlier) < ORDER.index(later))
    assert set(TRANSITIONS[State.UNDELIVERABLE]) == {State.READ, State.ACKED, State.EXPIRED}
    assert [state for state in State if can_move(state, State.EXPIRED)] == list(UNREAD)
    assert not any(can_move(state, state) for state in State)


@pytest.mark.rule("R75")
def test_no_way_leads_back_to_a_state() -> None:
    def reached(state: State) -> set[State]:
        following = TRANSITIONS[state]
        return set(following).union(*(reached(one) for one in following))

    assert not any(state in reached(state) for state in State)


@pytest.mark.rule("R76")
@pytest.mark.parametrize("state", State)
def test_a_state_is_expired_from_its_very_end_on_if_it_may_expire(state: State) -> None:
    may = can_move(state, State.EXPIRED)
    assert state_at(state, 1_000, 999) is state
    assert state_at(state, 1_000, 1_000) is (State.EXPIRED if may else state)
    assert state_at(state, None, 2**60) is state


@pytest.mark.rule("R76")
def test_an_expired_message_is_expired_for_whoever_looks(store: Store) -> None:
    sender, reader, reader_too = (store.join() for _ in range(3))
    message = sender.send("*", ttl_s=60)["message_id"]
    reader.receive()
    store.clock.forward(60)
    assert reader_too.bodies() == []
    assert reader_too("msg_unread")["count"] == 0
    assert reader_too("msg_wait", timeout_s=0)["messages"] == []
    (told,) = sender("msg_sent")["messages"]
    assert told["states"] == {"read": 1, "expired": 1}
    states = {one["recipient"]: one["state"] for one in sender("why", message_id=message)["recipients"]}
    assert states == {reader.id: "read", reader_too.id: "expired"}


@pytest.mark.rule("R77", "R145")
def test_what_one_call_saw_expire_no_clock_revives(store: Store) -> None:
    sender, reader = store.join(), store.join()
    bystander = store.join(store.agent())
    sender.send("*", ttl_s=60)
    sender.claim("a.py", ttl_s=60)
    store.clock.forward(60)
    bystander("msg_unread")
    store.clock.back(3_600)
    assert reader.bodies() == []
    assert sender("msg_sent")["messages"][0]["states"] == {"expired": 1}
    assert sender("lease_list") == {"leases": []}
    assert reader.claim("a.py")["ok"] is True


@pytest.mark.rule("R80")
def test_an_acknowledgement_implies_read_and_is_made_once(store: Store) -> None:
    sender, reader = store.join(), store.join()
    message = sender.send("*")["message_id"]
    assert reader("msg_ack", message_id=message) == {}
    assert reader.bodies() == []
    before = store.rows("deliveries")
    store.clock.forward(60)
    assert reader("msg_ack", message_id=message) == {}
    assert store.rows("deliveries") == before
    assert sender("msg_sent")["messages"][0]["states"] == {"acked": 1}


@pytest.mark.rule("R80")
def test_what_was_read_in_time_can_be_acknowledged_later_and_what_expired_stays_so(store: Store) -> None:
    sender, reader = store.join(), store.join()
    taken = sender.send("*", ttl_s=60)["message_id"]
    reader.receive()
    missed = sender.send("*", ttl_s=60)["message_id"]
    store.clock.forward(60)
    assert reader("msg_ack", message_id=taken) == {}
    assert reader("msg_ack", message_id=missed) == {}
    states = [one["states"] for one in sender("msg_sent")["messages"]]
    assert states == [{"expired": 1}, {"acked": 1}]


@pytest.mark.rule("R81")
def test_a_message_to_others_can_not_be_acknowledged(store: Store) -> None:
    sender, reader, bystander = (store.join(store.agent(), room="front") for _ in range(3))
    outsider = store.join(store.agent(), room="desk")
    message = sender.send(reader.id)["message_id"]
    for seat in (sender, bystander):
        with pytest.raises(NotRecipient):
            seat("msg_ack", message_id=message)
    for seat, number in ((outsider, message), (reader, 999_999)):
        with pytest.raises(UnknownMessage, match=str(number)):
            seat("msg_ack", message_id=number)
    assert sender("msg_sent")["messages"][0]["states"] == {"stored": 1}


@pytest.mark.rule("R75")
def test_a_delivery_remembers_when_it_came_to_its_state(store: Store) -> None:
    sender, reader = store.join(), store.join()
    message = sender.send("*")["message_id"]
    store.clock.forward(5)
    reader.receive()
    read_at = iso(store.clock.now())
    store.clock.forward(5)
    (told,) = sender("why", message_id=message)["recipients"]
    assert (told["state"], told["since"]) == ("read", read_at)
