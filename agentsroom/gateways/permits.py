"""Leave to keep a request open: each stream and each waiting call holds one, and ends when its caller is let in no more."""

import threading
import time
from collections.abc import Callable

from agentsroom.core.errors import TooManyRequests, Unauthenticated
from agentsroom.core.feed import CLOSED, QUEUE_SIZE, RESYNC, CallFeed, Feed, FeedEvent, Subscription
from agentsroom.core.principals import Kind

ENDS_ACCESS = frozenset({"browser_logged_out", "agent_key_rotated", "agent_keys_revoked", "agent_deleted"})
"""The kinds of events after which somebody is let in no more."""

_RETRY_S = 5


class Permit:
    """That of one stream or waiting call; close it in the end."""

    def __init__(self, is_let_in: Callable[[], bool], close: Callable[["Permit"], None]) -> None:
        self.is_let_in = is_let_in
        """Asks the store whether the caller still gets in."""
        self._close = close

    def check(self) -> None:
        """Raises Unauthenticated when the caller is let in no more."""
        if not self.is_let_in():
            raise Unauthenticated(
                "The key was revoked, or the browser signed out, while the request ran.",
                hint="agents-room agent key ID makes a new key.",
            )

    def close(self) -> None:
        """Gives the place back."""
        self._close(self)


GivePermit = Callable[[frozenset[Kind]], Permit]
"""Gives the caller of this request leave to wait for what is for that audience. Raises TooManyRequests."""


class PermittedSubscription(Subscription):
    """Ends with CLOSED when the permit's holder is let in no more; who waits in `next` asks the store, not the feed."""

    def __init__(self, wanted: Callable[[FeedEvent], bool], feed: Feed, size: int, permit: Permit) -> None:
        super().__init__(lambda event: event.kind in ENDS_ACCESS or wanted(event), feed, size)
        self._wanted_besides = wanted
        self._permit = permit

    def next(self, timeout_s: float | None = None) -> FeedEvent | None:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            event = super().next(None if deadline is None else max(0, deadline - time.monotonic()))
            if event is not RESYNC and (event is None or event.kind not in ENDS_ACCESS):
                return event
            if not self._permit.is_let_in():
                return CLOSED
            if event is RESYNC or self._wanted_besides(event):
                return event


class PermittedFeed(CallFeed):
    """The feed as a request over HTTP sees it: what it waits for ends when its caller is let in no more."""

    def __init__(self, feed: Feed, permit: Permit) -> None:
        super().__init__(feed)
        self._permit = permit

    def subscribe(self, wanted: Callable[[FeedEvent], bool], size: int = QUEUE_SIZE) -> Subscription:
        """Raises Unauthenticated: access may have ended just before."""
        subscription = self._add(PermittedSubscription(wanted, self._feed, size, self._permit))
        try:
            self._permit.check()
        except BaseException:
            subscription.close()
            raise
        return subscription


class Permits:
    """Gives them out: at most so many at a time to one holder."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, set[Permit]] = {}
        self._guard = threading.Lock()

    def open(self, holder: str, is_let_in: Callable[[], bool]) -> Permit:
        """`holder`: whose streams and waiting calls count together. Raises TooManyRequests."""
        permit = Permit(is_let_in, lambda closed: self._give_back(holder, closed))
        with self._guard:
            held = self._open.setdefault(holder, set())
            if len(held) >= self._most:
                raise TooManyRequests(
                    f"{len(held):,} streams and waiting calls are open for this agent or login; one may have no more.",
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
