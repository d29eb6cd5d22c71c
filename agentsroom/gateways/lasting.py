"""Requests that last, over HTTP: streams, and calls that wait.

Each holds a permit, and ends when its client hangs up or whoever calls is let in no more.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from types import TracebackType
from typing import Self

from flask import Response, request

from agentsroom.core.feed import Feed, FeedEvent, Subscription
from agentsroom.gateways.permits import Permit, PermittedFeed
from agentsroom.gateways.viewers import SendNow

QUIET_S = 15.0
"""After so long without a word a stream says that it lives."""
EVENT_STREAM = "text/event-stream"
WHEN_GONE = "agentsroom.when_gone"
"""In the WSGI environment: takes a function, calls it when the client hangs up, and gives one that stops that."""
SEND_NOW = "agentsroom.send_now"
"""In the WSGI environment: a viewers.SendNow of the answer to this request."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"}


class _Body:
    """A stream as the server takes it: nothing of Flask stands between them, which each open stream would pay for."""

    __slots__ = ("_pieces", "close")

    def __init__(self, pieces: Iterator[bytes], close: Callable[[], None]) -> None:
        self._pieces = pieces
        self.close = close

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


class Lasting:
    """What the request that runs now holds; a context manager that frees it, unless a stream took it over."""

    def __init__(self, feed: Feed, permit: Permit) -> None:
        self._all_events = feed
        self._permit = permit
        self._ends: list[Callable[[], object]] = []
        self._is_streamed = False
        self.at_end(permit.close)

    @cached_property
    def feed(self) -> PermittedFeed:
        """What the request waits for; it is cancelled when the client hangs up."""
        feed = PermittedFeed(self._all_events, self._permit)
        self.when_gone(feed.cancel)
        return feed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_streamed:
            self._end()

    def at_end(self, act: Callable[[], object]) -> None:
        """Calls `act` when the request has ended, however it does; what was asked for last comes first."""
        self._ends.append(act)

    def _end(self) -> None:
        """Frees everything, whatever fails of it. (An ExitStack would take 3 kB of each stream.)"""
        try:
            while self._ends:
                self._ends.pop()()
        finally:
            if self._ends:
                self._end()

    @property
    def send_now(self) -> SendNow | None:
        """Sends pieces of the stream from outside of it; None where the server can't."""
        send_now: SendNow | None = request.environ.get(SEND_NOW)
        return send_now

    def when_gone(self, act: Callable[[], None]) -> None:
        """Calls `act` when the client hangs up before the request has ended."""
        if when_gone := request.environ.get(WHEN_GONE):
            self.at_end(when_gone(act))

    def subscribe(self, wanted: Callable[[FeedEvent], bool]) -> Subscription:
        """Events from now on, until the request ends. Raises Unauthenticated."""
        subscription = self.feed.subscribe(wanted)
        self.at_end(subscription.close)
        return subscription

    def is_let_in(self) -> bool:
        """Whether whoever calls is let in still; asks the store."""
        return self._permit.is_let_in()

    def check(self) -> None:
        """Raises Unauthenticated when whoever calls is let in no more."""
        self._permit.check()

    def stream(self, body: Iterator[bytes]) -> Response:
        """The response that sends the body as server-sent events, and frees everything in the end."""
        pieces = _Body(body, self._end)
        self._is_streamed = True
        return Response(pieces, mimetype=EVENT_STREAM, headers=_HEADERS, direct_passthrough=True)


def event_id_in(text: str) -> int | None:
    """The event's id that a client says it was told of last; None where it says none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
