"""Waiting for mail: ends with a message for the session, marks nothing, and is empty when its time is over."""

import threading
import time

import pytest

from agentsroom.core.errors import InvalidArgument
from agentsroom.runtime import Runtime
from tests.support.stores import Json, Seat, Store

LONG_S = 25


def in_background(seat: Seat, feed_of: Store, **arguments: object) -> tuple[threading.Thread, list[Json]]:
    """A wait that has begun to listen, and where its answer goes."""
    answers: list[Json] = []
    before = feed_of.runtime.feed.subscribers
    thread = threading.Thread(target=lambda: answers.append(seat("msg_wait", **arguments)))
    thread.start()
    deadline = time.monotonic() + LONG_S
    while feed_of.runtime.feed.subscribers == before and time.monotonic() < deadline:
        thread.join(0.001)
    return thread, answers


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
    thread, answers = in_background(reader, store, timeout_s=LONG_S)
    started = time.monotonic()
    sender.send(reader.id, "here")
    thread.join()
    assert [one["body"] for one in answers[0]["messages"]] == ["here"]
    assert time.monotonic() - started < LONG_S / 2


@pytest.mark.rule("R92")
def test_a_wait_ends_with_a_message_that_another_process_sent_to_its_session(store: Store) -> None:
    sender, reader, bystander = (store.join() for _ in range(3))
    other = Runtime(store.settings, clock=store.clock)
    elsewhere = Store(store.settings, store.clock, other, store.folder)
    away = Seat(elsewhere, sender.caller, sender.id, {})
    thread, answers = in_background(reader, store, timeout_s=LONG_S)
    away.send(bystander.id, "not for you")
    assert answers == []
    away.send(reader.id, "for you")
    thread.join()
    other.close()
    assert [one["body"] for one in answers[0]["messages"]] == ["for you"]


@pytest.mark.rule("R91")
@pytest.mark.parametrize("timeout_s", [0, 0.05, 0.0])
def test_a_wait_without_mail_is_empty_with_a_cursor(store: Store, timeout_s: float) -> None:
    reader = store.join()
    assert reader("msg_wait", timeout_s=timeout_s) == {"messages": [], "cursor": 0}
    assert reader("msg_wait", timeout_s=timeout_s, after=7) == {"messages": [], "cursor": 7}


@pytest.mark.rule("R91")
@pytest.mark.parametrize("timeout_s", [25.5, -1, 1e18, "5"])
def test_no_wait_is_longer_than_25_seconds(sqlite_store: Store, timeout_s: object) -> None:
    with pytest.raises(InvalidArgument, match="timeout_s"):
        sqlite_store.join()("msg_wait", timeout_s=timeout_s)


@pytest.mark.rule("R90")
def test_a_wait_holds_no_transaction_and_leaves_no_subscriber(store: Store) -> None:
    sender, reader = store.join(), store.join()
    before = store.runtime.feed.subscribers
    thread, _ = in_background(reader, store, timeout_s=LONG_S)
    assert store.runtime.feed.subscribers == before + 1
    with store.runtime.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    if store.is_sqlite:
        with store.runtime.database.engine.connect() as connection:
            busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
            assert busy == 0
    sender.send("*")
    thread.join()
    assert store.runtime.feed.subscribers == before
