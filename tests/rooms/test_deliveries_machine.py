"""Deliveries under any order of sends, receives, acknowledgements, leaving, coming back and clock changes.

A model in Python says what each delivery is; the store must agree, states only move forward, nothing is read twice
and nothing is lost.
"""

from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agentsroom.core.principals import Principal
from agentsroom.rooms.delivery import State, can_move
from agentsroom.rooms.errors import SessionLeft
from tests.support.stores import Seat, Store

NAMES = ("a", "b", "c")
TEAMS = count()


@dataclass
class Expected:
    """A delivery as the model has it; `ended` is set once a call has written its end down."""

    message: int
    recipient: str
    expires_at: int | None
    state: State = State.STORED
    last_seen: State = State.STORED


class Deliveries(RuleBasedStateMachine):
    """One room of three sessions; a team of its own in a store that all examples share."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        number = next(TEAMS)
        self.caller: Principal = self.store.add_agent(f"agent-{number}", f"team-{number}")
        self.seats = {name: self.join(name) for name in NAMES}
        self.left: set[str] = set()
        self.expected: list[Expected] = []
        self.given: dict[tuple[int, str], int] = {}

    def join(self, name: str) -> Seat:
        return self.store.join(self.caller, room="front", harness_key=f"key-of-{name}", label=name)

    @property
    def now(self) -> int:
        return self.store.clock.now()

    def write_down(self) -> None:
        """What any call of a session does first."""
        for one in self.expected:
            if (
                one.expires_at is not None
                and one.expires_at <= self.now
                and can_move(one.state, State.EXPIRED)
            ):
                one.state = State.EXPIRED

    def waiting(self, name: str) -> list[Expected]:
        return [one for one in self.expected if one.recipient == name and one.state is State.STORED]

    @rule(
        sender=st.sampled_from(NAMES), to=st.sampled_from((*NAMES, "*")), ttl_s=st.sampled_from([None, 1, 60])
    )
    def send(self, sender: str, to: str, ttl_s: int | None) -> None:
        if sender in self.left or to in self.left:
            return
        self.write_down()
        recipients = [to] if to != "*" else [one for one in NAMES if one not in {sender, *self.left}]
        target = "*" if to == "*" else self.seats[to].id
        sent = self.seats[sender].send(target, ttl_s=ttl_s)
        assert sent["recipients"] == len(recipients)
        ends = None if ttl_s is None else self.now + ttl_s * 1_000
        self.expected += [Expected(sent["message_id"], one, ends) for one in recipients]

    @rule(name=st.sampled_from(NAMES), limit=st.integers(1, 3))
    def receive(self, name: str, limit: int) -> None:
        if name in self.left:
            with pytest.raises(SessionLeft):
                self.seats[name].receive()
            return
        self.write_down()
        waiting = self.waiting(name)
        answer = self.seats[name]("msg_recv", limit=limit)
        ids = [one["message_id"] for one in answer["messages"]]
        assert ids == [one.message for one in waiting[:limit]]
        assert answer["more"] is (len(waiting) > limit)
        for one in waiting[:limit]:
            one.state = State.READ
            key = (one.message, name)
            self.given[key] = self.given.get(key, 0) + 1

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def acknowledge(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.expected))
        if one.recipient in self.left:
            return
        self.write_down()
        self.seats[one.recipient]("msg_ack", message_id=one.message)
        if can_move(one.state, State.ACKED):
            one.state = State.ACKED

    @rule(name=st.sampled_from(NAMES))
    def leave(self, name: str) -> None:
        if name not in self.left:
            self.write_down()
        self.seats[name]("room_leave")
        self.left.add(name)

    @rule(name=st.sampled_from(NAMES))
    def come_back(self, name: str) -> None:
        self.write_down()
        back = self.join(name)
        assert back.id == self.seats[name].id
        self.left.discard(name)

    @rule(seconds=st.sampled_from([-3_600, -1, 1, 59, 60, 3_600]))
    def set_the_clock(self, seconds: int) -> None:
        self.store.clock.forward(seconds)

    @rule(name=st.sampled_from(NAMES))
    def count_unread(self, name: str) -> None:
        if name in self.left:
            return
        self.write_down()
        assert self.seats[name]("msg_unread")["count"] == len(self.waiting(name))

    @invariant()
    def the_store_agrees(self) -> None:
        rows = {
            (message, recipient): State(state)
            for message, recipient, state, *_ in self.store.rows("deliveries")
        }
        for one in self.expected:
            stored = rows[one.message, self.seats[one.recipient].id]
            assert stored is one.state
            assert stored is one.last_seen or can_move(one.last_seen, stored)
            one.last_seen = stored

    @invariant()
    def nothing_is_read_twice(self) -> None:
        assert all(times == 1 for times in self.given.values())

    def teardown(self) -> None:
        """Nothing is lost: whoever comes back takes all that waits, and then every delivery has come to an end."""
        for name in NAMES:
            self.come_back(name)
            while self.waiting(name) and [one for one in self.waiting(name) if not self.is_over(one)]:
                self.receive(name, 200)
        self.write_down()
        assert not [one for one in self.expected if one.state is State.STORED]

    def is_over(self, one: Expected) -> bool:
        return one.expires_at is not None and one.expires_at <= self.now


@pytest.mark.rule("R75", "R76", "R77", "R85", "R145")
def test_deliveries_agree_with_the_model(store: Store) -> None:
    class OnThisStore(Deliveries):
        pass

    OnThisStore.store = store
    run_state_machine_as_test(
        OnThisStore,
        settings=settings(
            max_examples=60 if store.is_sqlite else 20,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
