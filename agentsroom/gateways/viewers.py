"""Everybody who looks at one page: a change is made once, and goes to each of them at once where nothing keeps it waiting.

Who takes too little at a time is left behind, and reads the page again.
"""

import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from agentsroom.core.feed import CLOSED, RESYNC, Feed, FeedEvent, Subscription
from agentsroom.gateways.permits import ENDS_ACCESS

MOST_WAITING = 100
"""So many messages wait at most for a viewer that takes them too slowly."""

Sent = Literal["all", "some", "none"]
SendNow = Callable[[bytes], Sent]
"""Sends a piece of a stream's body from outside of it, as far as its client takes it now; the stream must be waiting.

After `some` the rest goes before the stream's next piece. After `none` nothing was sent.
"""

_logger = logging.getLogger(__name__)


class Told(NamedTuple):
    """One message for a page that knows all events up to `after`; with it, it knows those up to `last`."""

    after: int
    last: int
    data: bytes


class Page(Protocol):
    @property
    def key(self) -> Hashable:
        """Pages with the same key show every viewer the same."""
        ...

    def wants(self, event: FeedEvent) -> bool: ...


Tell = Callable[[Sequence[FeedEvent]], Told | None]
"""What a page's viewers are told of these events, in order; nothing where they change nothing. RESYNC may be among them."""

Word = Literal["check", "end", "flush"]


class Viewer:
    """One stream. `seen`: the newest event that its page knows."""

    __slots__ = ("_is_behind", "_is_idle", "_send_now", "_waiting", "_woken", "seen")

    def __init__(self, seen: int, send_now: SendNow | None = None) -> None:
        self.seen = seen
        self._send_now = send_now
        self._waiting: list[Told | Word] = []
        self._is_behind = False
        self._is_idle = False
        self._woken = threading.Event()

    def tell(self, told: Told) -> None:
        """Sends the message, or keeps it until the stream asks."""
        if self._is_idle and not self._waiting and self._send_now is not None and told.after >= self.seen:
            sent = self._send_now(told.data)
            if sent != "none":
                self.seen = told.last
            if sent == "some":
                self.say("flush")
            if sent != "none":
                return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting = [one for one in self._waiting if isinstance(one, str)]
            self._is_behind = True
        self._waiting.append(told)
        self._woken.set()

    def say(self, word: Word) -> None:
        """check: whether it may still look. end: that is all. flush: the rest of a message waits to be sent."""
        self._waiting.append(word)
        self._woken.set()

    def next(self, timeout_s: float) -> Told | Word | Literal["behind"] | None:
        """What the stream has to do next; `behind`: messages were left out. None when so many seconds passed."""
        if not self._waiting:
            self._is_idle = True
            self._woken.wait(timeout_s)
            self._is_idle = False
        self._woken.clear()
        if self._is_behind:
            self._is_behind = False
            return "behind"
        return self._waiting.pop(0) if self._waiting else None


class Viewers:
    """Those of the pages with one key."""

    def __init__(self, page: Page, subscription: Subscription, tell: Tell) -> None:
        self._page = page
        self._subscription = subscription
        self._tell = tell
        self.members: dict[Viewer, None] = {}
        threading.Thread(target=self._follow, name="viewers", daemon=True).start()

    def close(self) -> None:
        """Follows no longer."""
        self._subscription.close()
        self._subscription.offer(CLOSED)

    def _follow(self) -> None:
        with self._subscription:
            while True:
                event = self._subscription.next()
                batch = [event, *_waiting(self._subscription)] if event is not None else []
                if CLOSED in batch:
                    break
                self._pass_on(batch)
        for viewer in tuple(self.members):
            viewer.say("end")

    def _pass_on(self, batch: Sequence[FeedEvent]) -> None:
        if any(event is RESYNC or event.kind in ENDS_ACCESS for event in batch):
            for viewer in tuple(self.members):
                viewer.say("check")
        told = self._told([event for event in batch if event is RESYNC or self._page.wants(event)])
        if told is not None:
            for viewer in tuple(self.members):
                viewer.tell(told)

    def _told(self, events: Sequence[FeedEvent]) -> Told | None:
        try:
            return self._tell(events) if events else None
        except Exception:  # such as a store that is busy: the viewers look again by themselves
            _logger.exception("a change could not be told to the viewers of a page")
            return self._tell([RESYNC])


class Audience:
    """All viewers of all pages."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._pages: dict[Hashable, Viewers] = {}
        self._guard = threading.Lock()

    def join(self, page: Page, viewer: Viewer, tell: Tell) -> None:
        """From now on the viewer is told of the page's changes."""
        with self._guard:
            viewers = self._pages.get(page.key)
            if viewers is None:
                subscription = self._feed.subscribe(
                    lambda event: event.kind in ENDS_ACCESS or page.wants(event)
                )
                viewers = self._pages[page.key] = Viewers(page, subscription, tell)
            viewers.members[viewer] = None

    def leave(self, key: Hashable, viewer: Viewer) -> None:
        """The viewer of the pages with that key is told no more."""
        with self._guard:
            viewers = self._pages[key]
            del viewers.members[viewer]
            if not viewers.members:
                del self._pages[key]
                viewers.close()


def _waiting(subscription: Subscription) -> Iterator[FeedEvent]:
    """What stands in the queue already."""
    while (event := subscription.next(0)) is not None:
        yield event
