"""Waiting for mail: ends with a message for the session, marks nothing, and is empty when its time is over."""

import pytest

from agentsroom.core.errors import InvalidArgument, Stopping
from agentsroom.core.feed import CallFeed
from agentsroom.rooms.results import Waited
from agentsroom.rooms.service.waits import wait_for_mail
from agentsroom.runtime import Runtime
from tests.support.stores import Json, Seat, Store
from tests.support.waiting import Waiting

LONG_S = 25


def in_background(seat: Seat, **arguments: object) -> Waiting[Json]:
    """A wait that has begun to listen."""
    return Waiting(seat.store.runtime.feed, lambda: seat("msg_wait", **arguments))


@pytest.mark.rule("R90")
def test_mail_that_is_there_ends_a_wait_at_once_and_stays_unread(store: Store) -> None:
    sender, reader = store.join(), store.join()
    first, second = (sender.send("*", body)["message_id"] for body in ("one", "two"))
    answer = reader("msg_wait", timeout_s=LONG_S)
    assert [one["body"] for one in answer["messages"]] == ["one", "two"]
    assert answer["cursor"] == second
    assert reader("msg_unread")["count"] == 2
    later = reader("msg_wait", timeout_s=0, after=first)
    assert [one["body"] for one in later["messages"]] == ["two"]
    assert reader("msg_wait", timeout_s=0, after=second) == {"messages": [], "cursor": second}


@pytest.mark.rule("R90")
def test_a_wait_ends_with_the_message_that_comes(store: Store) -> None:
    sender, reader = store.join(), store.join()
    wait = in_background(reader, timeout_s=LONG_S)
    sender.send(reader.id, "here")
    assert [one["body"] for one in wait.answer()["messages"]] == ["here"]


@pytest.mark.rule("R92")
def test_a_wait_ends_with_a_message_that_another_process_sent_to_its_session(store: Store) -> None:
    sender, reader, bystander = (store.join() for _ in range(3))
    other = Runtime(store.settings, clock=store.clock)
    elsewhere = Store(store.settings, store.clock, other, store.folder)
    away = Seat(elsewhere, sender.caller, sender.id, {})
    wait = in_background(reader, timeout_s=LONG_S)
    away.send(bystander.id, "not for you")
    assert not wait.has_ended
    away.send(reader.id, "for you")
    assert [one["body"] for one in wait.answer()["messages"]] == ["for you"]
    other.close()


@pytest.mark.rule("R91")
@pytest.mark.parametrize("timeout_s", [0, 0.05, 0.0])
def test_a_wait_without_mail_is_empty_with_a_cursor(store: Store, timeout_s: float) -> None:
    reader = store.join()
    assert reader("msg_wait", timeout_s=timeout_s) == {"messages": [], "cursor": 0}
    assert reader("msg_wait", timeout_s=timeout_s, after=7) == {"messages": [], "cursor": 7}


@pytest.mark.rule("R90")
def test_a_cursor_that_no_wait_gave_is_refused(store: Store) -> None:
    sender, reader = store.join(), store.join()
    newest = sender.send(reader.id)["message_id"]
    assert reader("msg_wait", timeout_s=0, after=newest)["cursor"] == newest
    with pytest.raises(InvalidArgument, match=f"after: {newest + 1} came"):
        reader("msg_wait", timeout_s=0, after=newest + 1)


@pytest.mark.rule("R91")
@pytest.mark.parametrize("timeout_s", [25.5, -1, 1e18, "5"])
def test_no_wait_is_longer_than_25_seconds(sqlite_store: Store, timeout_s: object) -> None:
    with pytest.raises(InvalidArgument, match="timeout_s"):
        sqlite_store.join()("msg_wait", timeout_s=timeout_s)


@pytest.mark.rule("R90")
def test_a_wait_holds_no_transaction_and_leaves_no_subscriber(store: Store) -> None:
    sender, reader = store.join(), store.join()
    before = store.runtime.feed.subscribers
    wait = in_background(reader, timeout_s=LONG_S)
    assert store.runtime.feed.subscribers == before + 1
    with store.runtime.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    if store.is_sqlite:
        with store.runtime.database.engine.connect() as connection:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
            assert busy == 0
    sender.send("*")
    wait.answer()
    assert store.runtime.feed.subscribers == before


@pytest.mark.rule("R91")
def test_a_wait_that_the_end_of_the_process_cuts_short_is_no_empty_answer(store: Store) -> None:
    sender, reader = store.join(), store.join()
    store.runtime.feed.close()
    with pytest.raises(Stopping):
        reader("msg_wait", timeout_s=LONG_S)
    sender.send(reader.id, "here")
    assert [one["body"] for one in reader("msg_wait", timeout_s=LONG_S)["messages"]] == ["here"]


def test_a_cancelled_wait_is_empty(store: Store) -> None:
    reader = store.join()
    feed = CallFeed(store.runtime.feed)
    wait = Waiting(
        store.runtime.feed, lambda: wait_for_mail(store.runtime.database, feed, reader.id, LONG_S, 3)
    )
    feed.cancel()
    assert wait.answer() == Waited(messages=[], cursor=3)
