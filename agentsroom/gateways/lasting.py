"""Requests that last, over HTTP: streams, and calls that wait.

Each holds a permit, and ends when its client hangs up or whoever calls is let in no more.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from flask import Response, request

from agentsroom.core.feed import Feed, FeedEvent, Subscription
from agentsroom.gateways.permits import Permit, PermittedFeed

QUIET_S = 15.0
"""After so long without a word a stream says that it lives."""
EVENT_STREAM = "text/event-stream"
WHEN_GONE = "agentsroom.when_gone"
"""In the WSGI environment: takes a function, calls it when the client hangs up, and gives one that stops that."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Connection": "close"}


class Lasting:
    """What the request that runs now holds; a context manager that frees it, unless a stream took it over."""

    def __init__(self, feed: Feed, permit: Permit) -> None:
        self.feed = PermittedFeed(feed, permit)
        """What the request waits for; it is cancelled when the client hangs up."""
        self._permit = permit
        self._held = ExitStack()
        self.at_end(permit.close)
        self.when_gone(self.feed.cancel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def at_end(self, act: Callable[[], None]) -> None:
        """Calls `act` when the request has ended, however it does."""
        self._held.callback(act)

    def when_gone(self, act: Callable[[], None]) -> None:
        """Calls `act` when the client hangs up before the request has ended."""
        if when_gone := request.environ.get(WHEN_GONE):
            self._held.callback(when_gone(act))

    def subscribe(self, wanted: Callable[[FeedEvent], bool]) -> Subscription:
        """Events from now on, until the request ends. Raises Unauthenticated."""
        return self._held.enter_context(self.feed.subscribe(wanted))

    def is_let_in(self) -> bool:
        """Whether whoever calls is let in still; asks the store."""
        return self._permit.is_let_in()

    def check(self) -> None:
        """Raises Unauthenticated when whoever calls is let in no more."""
        self._permit.check()

    def stream(self, body: Iterator[bytes]) -> Response:
        """The response that sends the body as server-sent events, and frees everything in the end."""
        response = Response(body, mimetype=EVENT_STREAM, headers=_HEADERS)
        response.call_on_close(self._held.pop_all().close)
        return response


def event_id_in(text: str) -> int | None:
    """The event's id that a client says it was told of last; None where it says none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
