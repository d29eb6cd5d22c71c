"""Leave to read a stream: each open stream holds one, and ends when whoever opened it is let in no more."""

import threading
from collections.abc import Callable, Iterable

from agentsroom.core.errors import TooManyRequests
from agentsroom.core.feed import QUEUE_SIZE, RESYNC, CallFeed, Feed, FeedEvent, Subscription

ENDS_ACCESS = frozenset({"browser_logged_out", "agent_key_rotated", "agent_keys_revoked", "agent_deleted"})
"""The kinds of events after which somebody is let in no more."""

_RETRY_S = 5


class Permit:
    """One open stream's; close it with the stream."""

    def __init__(self, is_let_in: Callable[[], bool], close: Callable[["Permit"], None]) -> None:
        self._is_let_in = is_let_in
        self._close = close

    @staticmethod
    def wants(event: FeedEvent) -> bool:
        """Whether the stream must be told of the event, whatever else it shows."""
        return event.kind in ENDS_ACCESS

    def holds(self, seen: Iterable[FeedEvent] = (RESYNC,)) -> bool:
        """Whether the stream may go on after these events; the store is asked only where they leave it open.

        Ask without events once, after the stream was subscribed: access may have ended just before.
        """
        return self._is_let_in() if any(one is RESYNC or self.wants(one) for one in seen) else True

    def close(self) -> None:
        """Gives the place back."""
        self._close(self)


class PermittedFeed(CallFeed):
    """The feed as one call over HTTP sees it: what it waits for ends when whoever calls is let in no more."""

    def __init__(self, feed: Feed, permit: Permit) -> None:
        super().__init__(feed)
        self._permit = permit

    def subscribe(self, wanted: Callable[[FeedEvent], bool], size: int = QUEUE_SIZE) -> Subscription:
        def watched(event: FeedEvent) -> bool:
            if not self._permit.holds((event,)):
                self.cancel()
            return wanted(event)

        subscription = super().subscribe(watched, size)
        if not self._permit.holds():  # access may have ended just before
            self.cancel()
        return subscription


class Permits:
    """Gives them out: at most so many at a time to one holder."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, set[Permit]] = {}
        self._guard = threading.Lock()

    def open(self, holder: str, is_let_in: Callable[[], bool]) -> Permit:
        """`holder`: whose streams count together. Raises TooManyRequests."""
        permit = Permit(is_let_in, lambda closed: self._give_back(holder, closed))
        with self._guard:
            held = self._open.setdefault(holder, set())
            if len(held) >= self._most:
                raise TooManyRequests(
                    f"{len(held):,} streams are open with this key or login; one may have no more.",
                    hint="Close some of them; AGENTS_ROOM_MAX_STREAMS says how many there may be.",
                    retry_after=_RETRY_S,
                )
            held.add(permit)
        return permit

    def _give_back(self, holder: str, permit: Permit) -> None:
        with self._guard:
            held = self._open.get(holder, set())
            held.discard(permit)
            if not held:
                self._open.pop(holder, None)
