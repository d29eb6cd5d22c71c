"""What prune takes away: sessions that are silent and gone, nothing else."""

import uuid
from dataclasses import replace

import pytest

from agentsroom.core.clock import DAY
from agentsroom.rooms.errors import UnknownSession
from agentsroom.rooms.service.retention import Pruned, prune
from tests.support.stores import Store


def pruned(store: Store, silent_ms: int = DAY, *, dry_run: bool = False) -> Pruned:
    return prune(store.runtime.database, store.runtime.machine, silent_ms, dry_run=dry_run)


@pytest.mark.rule("R55")
def test_only_who_is_silent_and_gone_is_removed(store: Store) -> None:
    gone = store.join(harness_key=str(uuid.uuid4()))
    alive = store.join()
    unknown = store.join(store.agent())
    store.clock.forward(24 * 3_600)
    assert pruned(store).sessions == []
    store.clock.forward(0.001)
    busy = store.join(harness_key=str(uuid.uuid4()))
    assert pruned(store, dry_run=True).sessions == [gone.id]
    assert pruned(store).sessions == [gone.id]
    left = {one["session_id"] for one in store.call("room_who", store.admin())["sessions"]}
    assert left == {alive.id, unknown.id, busy.id}
    with pytest.raises(UnknownSession):
        gone("msg_recv")


@pytest.mark.rule("R55", "R23")
def test_a_session_that_left_is_kept_while_its_harness_lives(store: Store) -> None:
    alive, gone = store.join(), store.join(harness_key=str(uuid.uuid4()))
    for seat in (alive, gone):
        seat("room_leave")
    store.clock.forward(25 * 3_600)
    assert pruned(store).sessions == [gone.id]


@pytest.mark.rule("R55")
def test_a_removed_session_holds_nothing_and_its_key_makes_a_new_one(store: Store) -> None:
    key = str(uuid.uuid4())
    gone, other = store.join(harness_key=key), store.join()
    gone.claim("a.py", ttl_s=604_800)
    gone("note_read", path="a.py")
    store.clock.forward(25 * 3_600)
    assert other.claim("a.py")["ok"] is False
    pruned(store)
    assert other.claim("a.py")["ok"] is True
    assert store.join(harness_key=key).id != gone.id
    assert store.rows("baselines") == []


@pytest.mark.rule("R56")
def test_messages_of_a_removed_session_stay(store: Store) -> None:
    gone, reader = store.join(harness_key=str(uuid.uuid4()), label="alpha"), store.join()
    gone.send("*", "my last words")
    reader.send(gone.id, "are you there?")
    store.clock.forward(25 * 3_600)
    pruned(store)
    (message,) = reader.receive()
    assert (message["body"], message["sender_label"]) == ("my last words", "alpha")
    assert [one["body"] for one in reader("room_history")["messages"]] == ["are you there?", "my last words"]
    (sent,) = reader("msg_sent")["messages"]
    assert (sent["states"], sent["left"]) == ({"stored": 1}, 1)
    assert reader("why", message_id=sent["message_id"])["recipients"][0]["reason"] == "left"


@pytest.mark.rule("R57")
def test_messages_go_when_the_setting_says_so(store: Store) -> None:
    seat, reader = store.join(), store.join()
    seat.send("*", "door old")
    store.clock.forward(10 * 24 * 3_600)
    seat.send("*", "door new")
    assert pruned(store).messages == 0
    store.runtime.database.settings = replace(store.settings, retention_messages=5)
    assert pruned(store).messages == 1
    assert reader.bodies() == ["door new"]
    assert [one["body"] for one in reader("msg_search", query="door")["messages"]] == ["door new"]
