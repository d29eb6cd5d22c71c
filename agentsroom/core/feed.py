"""The one feed: every event of the store, in order, to every subscriber of this process.

A subscriber has a bounded queue; one that does not keep up loses its backlog and is told so by RESYNC.
"""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select

from agentsroom.core.database import Database, Reading
from agentsroom.core.errors import Stopping
from agentsroom.core.models import Event
from agentsroom.core.query import Query
from agentsroom.core.wake import Wake

QUEUE_SIZE = 1_000
_PATIENCE_S = 2.0
_TURN_S = 0.001
"""For so long others have their turn between two readings of a flood."""

_logger = logging.getLogger(__name__)


class FeedEvent(NamedTuple):
    """One row of the event table, its data decoded."""

    id: int
    at: int
    kind: str
    team_id: str
    data: dict[str, Any]


RESYNC = FeedEvent(0, 0, "resync", "", {})
"""Stands for events that were missed and are told no more one by one: who gets it reads everything again."""

CLOSED = FeedEvent(0, 0, "closed", "", {})
"""The last that a subscriber gets: the feed was closed, or the call that subscribed was cancelled."""

EVENTS_PRUNED = "events_pruned"
"""The kind of event that tells up to which one (`last`) the events were moved to a file."""

_AFTER = Query(
    select(Event.id, Event.at, Event.kind, Event.team_id, Event.data)
    .where(Event.id > bindparam("after"))
    .order_by(Event.id)
    .limit(QUEUE_SIZE)
)
_LAST = Query(select(func.coalesce(func.max(Event.id), 0)))


def events_after(work: Reading, after: int) -> list[FeedEvent]:
    """Up to QUEUE_SIZE events with a greater id, oldest first."""
    rows = work.rows(_AFTER, after=after)
    return [
        FeedEvent(number, at, kind, team_id, json.loads(data)) for number, at, kind, team_id, data in rows
    ]


def last_event_id(work: Reading) -> int:
    """The newest event's id; 0 when there is none."""
    return int(work.value(_LAST))


def missed_since(database: Database, event_id: int) -> list[FeedEvent]:
    """The events after that one.

    RESYNC stands for them where there are too many, where some were moved to a file, and where there never was such an
    event: the reader is from another store.
    """

    def look(work: Reading) -> list[FeedEvent]:
        return [RESYNC] if event_id > last_event_id(work) else events_after(work, event_id)

    found = database.read(look)
    lacks_some = any(one.kind == EVENTS_PRUNED and one.data["last"] > event_id for one in found)
    return [RESYNC] if lacks_some or len(found) == QUEUE_SIZE else found


class Subscription:
    """One subscriber's bounded queue; close it when done."""

    def __init__(self, wanted: Callable[[FeedEvent], bool], feed: "Feed", size: int) -> None:
        self._queue: queue.Queue[FeedEvent] = queue.Queue(size)
        self._feed = feed
        self._wanted = wanted

    def offer(self, event: FeedEvent) -> None:
        """Puts the event in, or RESYNC in place of everything when the queue is full; never blocks, never raises."""
        try:
            if event is not CLOSED and not self._wanted(event):
                return
        except Exception:
            # Who fails keeps no event from the others, and looks at everything itself.
            _logger.exception("a subscriber could not be told of %s", event.kind)
            event = RESYNC
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self._put_alone(event if event is CLOSED else RESYNC)

    def lose(self) -> None:
        """Puts RESYNC in place of everything: events went by that nobody read."""
        self._put_alone(RESYNC)

    def _put_alone(self, event: FeedEvent) -> None:
        self._clear()
        self._queue.put_nowait(event)

    def _clear(self) -> None:
        try:
            while True:
                self._queue.get_nowait()
        except queue.Empty:
            pass

    def next(self, timeout_s: float | None = None) -> FeedEvent | None:
        """The next event; None when `timeout_s` passed without one."""
        try:
            return self._queue.get(timeout=timeout_s) if timeout_s != 0 else self._queue.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        self._feed.unsubscribe(self)

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[FeedEvent]:
        while (event := self.next()) is not None and event is not CLOSED:
            yield event


class Feed:
    """Reads the event table when woken; starts to listen with its first subscriber."""

    def __init__(self, database: Database, wake: Wake) -> None:
        self._database = database
        self._wake = wake
        self._subscriptions: dict[Subscription, None] = {}
        self._last = 0
        self._guard = threading.Lock()
        self._listens = False
        self._is_closed = False
        self._follower: threading.Thread | None = None
        database.publish = wake.poke

    def subscribe(self, wanted: Callable[[FeedEvent], bool], size: int = QUEUE_SIZE) -> Subscription:
        """From now on every event that `wanted` says yes to, in order; CLOSED at once when the feed is closed."""
        return self.add(Subscription(wanted, self, size))

    def add(self, subscription: Subscription) -> Subscription:
        """The same for a subscription that was made for this feed."""
        with self._guard:
            if self._is_closed:
                subscription.offer(CLOSED)
                return subscription
            self._start()
            self._subscriptions[subscription] = None
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._guard:
            self._subscriptions.pop(subscription, None)

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    def start(self) -> None:
        """Listens from now on, subscriber or not."""
        with self._guard:
            self._start()

    def _start(self) -> None:
        if self._follower is not None:
            return
        if not self._listens:
            self._wake.listen()
            self._listens = True
        self._last = self._database.read(last_event_id)
        self._follower = threading.Thread(target=self._follow, name="feed", daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        while self._wake.wait():
            try:
                self._catch_up()
            except Exception:  # such as a store that is busy: the next wake reads what this one did not
                _logger.exception("the feed could not be read; it is read again at the next wake")

    def _catch_up(self) -> None:
        while events := self._database.read(lambda work: events_after(work, self._last)):
            self._last = events[-1].id
            with self._guard:
                subscriptions = tuple(self._subscriptions)
            for event in events:
                for subscription in subscriptions:
                    subscription.offer(event)
            if len(events) < QUEUE_SIZE:
                return  # what was committed since wakes us again
            self._skip(subscriptions)

    def _skip(self, subscriptions: Sequence[Subscription]) -> None:
        """Leaves out what waits still, more than a queue holds: a flood of events keeps nobody from all else."""
        newest = self._database.read(last_event_id)
        if newest > self._last:
            self._last = newest
            for subscription in subscriptions:
                subscription.lose()
        time.sleep(_TURN_S)

    def close(self) -> None:
        """Ends every subscription with CLOSED and stops listening, for good."""
        with self._guard:
            self._is_closed = True
            subscriptions = tuple(self._subscriptions)
        self._wake.close()
        for subscription in subscriptions:
            subscription.offer(CLOSED)
        if self._follower is not None:
            self._follower.join(_PATIENCE_S)

    def check_open(self) -> None:
        """Raises Stopping once the feed was closed: a wait that found nothing was ended, its time is not over."""
        if self._is_closed:
            raise Stopping("The server stops.", hint="Wait again: it may be back soon.", retry_after=1)


class CallFeed:
    """The feed as one call sees it: `cancel` ends what the call waits for."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._subscriptions: list[Subscription] = []
        self._guard = threading.Lock()
        self._cancelled = False

    def subscribe(self, wanted: Callable[[FeedEvent], bool], size: int = QUEUE_SIZE) -> Subscription:
        """As Feed's; after `cancel` it gets CLOSED at once."""
        return self._add(Subscription(wanted, self._feed, size))

    def _add(self, subscription: Subscription) -> Subscription:
        self._feed.add(subscription)
        with self._guard:
            self._subscriptions.append(subscription)
            if self._cancelled:
                subscription.offer(CLOSED)
        return subscription

    def cancel(self) -> None:
        """Gives CLOSED to every subscription, from any thread."""
        with self._guard:
            self._cancelled = True
            for subscription in self._subscriptions:
                subscription.offer(CLOSED)

    def check_open(self) -> None:
        """As Feed's; a call that was cancelled is no reason."""
        self._feed.check_open()
