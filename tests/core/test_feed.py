"""The feed: every event once, in order, to every subscriber; a slow one is told to read again."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsroom.core.archive import archive_events
from agentsroom.core.database import Database
from agentsroom.core.errors import Stopping
from agentsroom.core.feed import (
    CLOSED,
    QUEUE_SIZE,
    RESYNC,
    CallFeed,
    Feed,
    FeedEvent,
    Subscription,
    missed_since,
)
from agentsroom.core.wake import wake_for
from tests.support.processes import PATIENCE_S
from tests.support.stores import Store


@pytest.fixture
def writer(store: Store) -> Iterator[Database]:
    """Another opening of the same store, as another process has."""
    database = Database(store.settings)
    database.publish = wake_for(store.settings).poke
    yield database
    database.close()


def _everything(_event: FeedEvent) -> bool:
    return True


def _next(subscription: Subscription) -> FeedEvent:
    event = subscription.next(PATIENCE_S)
    assert event is not None
    return event


def test_another_writers_event_arrives(store: Store, writer: Database) -> None:
    with store.runtime.feed.subscribe(_everything) as subscription:
        number = writer.write(lambda work: work.emit("hello", "home", name="é"))
        event = _next(subscription)
    assert (event.id, event.kind, event.team_id, event.data) == (number, "hello", "home", {"name": "é"})


def test_events_come_once_and_in_order_whoever_writes_them(store: Store, writer: Database) -> None:
    def write(database: Database) -> None:
        for _ in range(50):
            database.write(lambda work: [work.emit("tick", "home") for _ in range(2)])

    with store.runtime.feed.subscribe(_everything) as subscription:
        threads = [threading.Thread(target=write, args=(one,)) for one in (writer, store.runtime.database)]
        for thread in threads:
            thread.start()
        received = [_next(subscription).id for _ in range(200)]
        for thread in threads:
            thread.join()
    assert received == sorted(set(received))


def test_what_was_before_the_subscription_is_not_repeated(store: Store, writer: Database) -> None:
    writer.write(lambda work: work.emit("before", "home"))
    with store.runtime.feed.subscribe(_everything) as subscription:
        writer.write(lambda work: work.emit("after", "home"))
        assert _next(subscription).kind == "after"


def test_a_subscriber_gets_only_what_it_wants(store: Store, writer: Database) -> None:
    with store.runtime.feed.subscribe(lambda event: event.kind == "wanted") as subscription:
        writer.write(lambda work: [work.emit("other", "home"), work.emit("wanted", "home")])
        assert _next(subscription).kind == "wanted"


def test_a_slow_subscriber_loses_its_backlog_and_is_told_so(store: Store, writer: Database) -> None:
    feed = store.runtime.feed
    with feed.subscribe(_everything, size=3) as slow, feed.subscribe(_everything) as quick:
        writer.write(lambda work: [work.emit(f"n{number}", "home") for number in range(5)])
        while _next(quick).kind != "n4":
            pass
        first, second = _next(slow), _next(slow)
    assert first is RESYNC
    assert second.kind == "n4"


def test_a_flood_of_events_is_left_out_and_told(store: Store, writer: Database) -> None:
    with store.runtime.feed.subscribe(_everything) as subscription:
        flood = 2 * QUEUE_SIZE + 1
        writer.write(lambda work: [work.emit("flood", "home") for _ in range(flood)])
        while _next(subscription) is not RESYNC:
            pass
        later = writer.write(lambda work: work.emit("hello", "home"))
        assert _next(subscription).id == later


def test_closing_the_feed_ends_every_subscription(store: Store) -> None:
    feed = Feed(store.runtime.database, wake_for(store.settings))
    subscription = feed.subscribe(_everything)
    feed.close()
    assert _next(subscription) is CLOSED
    assert _next(feed.subscribe(_everything)) is CLOSED, "it is closed for good"
    with pytest.raises(Stopping):
        CallFeed(feed).check_open()


def test_a_cancelled_call_waits_no_longer(store: Store) -> None:
    call = CallFeed(store.runtime.feed)
    subscription = call.subscribe(_everything)
    call.cancel()
    assert _next(subscription) is CLOSED
    assert _next(call.subscribe(_everything)) is CLOSED
    call.check_open()


def test_an_unsubscribed_one_is_forgotten(store: Store) -> None:
    with store.runtime.feed.subscribe(_everything):
        assert store.runtime.feed.subscribers == 1
    assert store.runtime.feed.subscribers == 0


def test_a_subscriber_that_fails_keeps_no_event_from_the_others(
    store: Store, writer: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_event: FeedEvent) -> bool:
        raise RuntimeError("of this subscriber")

    feed = store.runtime.feed
    with feed.subscribe(fails) as failed, feed.subscribe(_everything) as subscription:
        writer.write(lambda work: work.emit("told", "home"))
        assert _next(subscription).kind == "told"
        assert _next(failed) is RESYNC, "it missed something"
    assert "of this subscriber" in caplog.text


def _emit(store: Store, count: int) -> int:
    """The newest event's id."""
    return store.runtime.database.write(lambda work: [work.emit("tick", "home") for _ in range(count)])[-1]


def test_what_was_missed_is_told_in_order(store: Store) -> None:
    last = _emit(store, 3)
    assert [one.id for one in missed_since(store.runtime.database, last - 2)] == [last - 1, last]
    assert missed_since(store.runtime.database, last) == []


def test_an_event_that_never_was_stands_for_everything(store: Store) -> None:
    assert missed_since(store.runtime.database, _emit(store, 1) + 1) == [RESYNC]


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, False), (1, False)])
def test_too_many_are_not_told_one_by_one(store: Store, more: int, is_whole: bool) -> None:
    before = _emit(store, 1)
    _emit(store, QUEUE_SIZE + more)
    found = missed_since(store.runtime.database, before)
    assert (len(found) == QUEUE_SIZE + more) if is_whole else (found == [RESYNC])


def test_who_lacks_events_that_were_moved_to_a_file_reads_again(store: Store, tmp_path: Path) -> None:
    last = _emit(store, 3)
    archive_events(store.runtime.database, store.clock.now() + 1, tmp_path / "events.jsonl")
    assert missed_since(store.runtime.database, last - 1) == [RESYNC]
    assert [one.kind for one in missed_since(store.runtime.database, last)] == ["events_pruned"]
