"""The stream on which an MCP client over HTTP is told of changes, as server-sent events."""

from collections.abc import Iterable, Iterator

from agentsroom.core.feed import CLOSED, RESYNC, FeedEvent
from agentsroom.core.sse import encode_event
from agentsroom.gateways.features import news
from agentsroom.gateways.lasting import QUIET_S, Lasting
from agentsroom.gateways.mcp_sessions import Position
from agentsroom.gateways.offers import Features
from agentsroom.gateways.subscriptions import Subscriptions

ALIVE = b": alive\n\n"


class Changes:
    """What one client is told, from now on until `lasting` ends."""

    def __init__(
        self, lasting: Lasting, subscriptions: Subscriptions, features: Features, position: Position
    ) -> None:
        self._subscriptions = subscriptions
        self._features = features
        self._position = position
        self._events = lasting.subscribe(lambda event: bool(self._news(event)))

    def _news(self, event: FeedEvent) -> list[bytes]:
        return news(event, self._subscriptions, self._features)

    def run(
        self, missed: Iterable[FeedEvent], *, first: bytes | None = None, last: bytes | None = None
    ) -> Iterator[bytes]:
        """Server-sent events until the stream is ended, or its reader may read no more.

        The ids are those of the feed's events: a legacy client that comes back says how far it had read.
        """
        yield ALIVE if first is None else encode_event(first)
        for event in missed:
            yield from self._told(event)
        while (seen := self._events.next(QUIET_S)) is not CLOSED:
            if seen is None:
                yield ALIVE
            elif seen is RESYNC or seen.id > self._position.event_id:
                yield from self._told(seen)
        if last is not None:
            yield encode_event(last)

    def _told(self, event: FeedEvent) -> Iterator[bytes]:
        for message in self._news(event):
            yield encode_event(message, event_id=event.id or None)
        self._position.event_id = max(self._position.event_id, event.id)
