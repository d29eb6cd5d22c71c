"""GET /live: one stream of HTML changes for one open page; what a page shows of an event, its domain decides."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec
from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import HTTPException

from agentsroom.access.routes import allow, audience_of, caller
from agentsroom.core.database import Database
from agentsroom.core.errors import Forbidden, NotFound
from agentsroom.core.feed import CLOSED, RESYNC, Feed, FeedEvent, Subscription, missed_since
from agentsroom.core.html import Partial
from agentsroom.core.principals import Principal
from agentsroom.core.scrub import scrub_tokens
from agentsroom.gateways.lasting import EVENT_STREAM, QUIET_S, Lasting, event_id_in
from agentsroom.gateways.permits import GivePermit

_UNKNOWN = 2**63 - 1
_CACHED = 200
_MOST_AT_ONCE = 100


class LivePage(Protocol):
    """What one address shows live. Pages with the same key show every viewer the same."""

    @property
    def key(self) -> Hashable: ...

    def wants(self, event: FeedEvent) -> bool:
        """Whether the event may change the page; asks nobody."""
        ...

    def changes(self, events: Sequence[FeedEvent]) -> tuple[list[Partial], int]:
        """What the events changed, and the newest event that it knows: a later one than theirs where it says more."""
        ...

    def whole(self) -> tuple[list[Partial], int]:
        """The main part as it is now, and the newest event that it knows."""
        ...


MakePage = Callable[[Principal, Mapping[str, Any], Mapping[str, str]], LivePage]
"""Makes the live page of an address from the caller, the route's variables and the query."""


class Once:
    """Renders each change once for all who look at the same page."""

    def __init__(self) -> None:
        self._rendered: OrderedDict[Hashable, tuple[str, int]] = OrderedDict()
        self._guard = threading.Lock()

    def changes(self, page: LivePage, events: Sequence[FeedEvent]) -> tuple[str, int]:
        """The HTML, and the newest event that it knows."""
        key = (page.key, tuple(event.id for event in events))
        with self._guard:
            if key not in self._rendered:
                partials, last = page.changes(events)
                self._rendered[key] = "".join(map(str, partials)), last
                if len(self._rendered) > _CACHED:
                    self._rendered.popitem(last=False)
            return self._rendered[key]


class Stream:
    """What one viewer is sent, from the events after `since` on."""

    def __init__(
        self,
        page: LivePage,
        database: Database,
        since: int,
        once: Once,
        ready: bytes,
        heartbeat_s: float = QUIET_S,
    ) -> None:
        self._page = page
        self._database = database
        self._seen = since
        self._once = once
        self._ready = ready
        self._heartbeat_s = heartbeat_s

    def run(self, subscription: Subscription) -> Iterator[bytes]:
        """Server-sent events, until the subscription is closed."""
        yield _named("ready", self._ready)
        yield from self._missed()
        while True:
            event = subscription.next(self._heartbeat_s)
            if event is None:
                yield _named("heartbeat", b"{}")
                continue
            batch = [event, *_waiting(subscription)]
            if CLOSED in batch:
                return
            yield from self._of(batch)

    def _missed(self) -> Iterator[bytes]:
        """What happened between the page and its stream."""
        missed = missed_since(self._database, self._seen)
        yield from self._of([event for event in missed if event is RESYNC or self._page.wants(event)])

    def _of(self, events: list[FeedEvent]) -> Iterator[bytes]:
        """Nothing for what the page knows already; the main part again after a gap, or when that is less."""
        if RESYNC in events or len(events) > _MOST_AT_ONCE:
            partials, self._seen = self._page.whole()
            yield _message(self._seen, "".join(map(str, partials)))
            return
        new = [event for event in events if event.id > self._seen and self._page.wants(event)]
        if new:
            html, self._seen = self._once.changes(self._page, new)
            yield _message(self._seen, html)


def live_routes(
    database: Database,
    feed: Feed,
    pages: Mapping[str, MakePage],
    give_permit: GivePermit,
    ready: Mapping[str, str],
) -> Blueprint:
    """`pages`: the endpoint of each page that has a stream → what makes it live."""
    routes = Blueprint("live", __name__)
    once = Once()

    @routes.get("/live")
    @allow("admin")
    def live() -> Response:
        endpoint, names, query = _page_meant(request.args.get("page", ""))
        if endpoint not in pages:
            raise NotFound("This page has no stream.")
        audience = audience_of(current_app.view_functions[endpoint]) or frozenset()
        if caller().kind not in audience:
            raise Forbidden("You may not look at this page.")
        page = pages[endpoint](caller(), names, query)
        stream = Stream(page, database, _since(), once, msgspec.json.encode(dict(ready)))
        if request.method == "HEAD":
            return Response(mimetype=EVENT_STREAM)
        with Lasting(feed, give_permit(audience)) as lasting:
            return lasting.stream(stream.run(lasting.subscribe(page.wants)))

    return routes


def live_url(since: int) -> str:
    """The stream of the page that is rendered now, from the newest event on that the page knows."""
    query = f"?{scrub_tokens(request.query_string.decode())}" if request.query_string else ""
    return "/live?" + urlencode({"page": quote(request.path) + query, "since": since})


def _page_meant(address: str) -> tuple[str, Mapping[str, Any], dict[str, str]]:
    """The endpoint, variables and query of a page's address. Raises NotFound."""
    try:
        parts = urlsplit(address)
        path = unquote(parts.path)
        if "\0" in path:
            raise ValueError("no database knows such a name")
        endpoint, names = current_app.url_map.bind("").match(path, method="GET")
    except (HTTPException, ValueError):
        raise NotFound("No page has this address.") from None
    return endpoint, names, dict(parse_qsl(parts.query))


def _since() -> int:
    """Where the viewer stands; one who does not say is sent everything again."""
    known = event_id_in(request.headers.get("Last-Event-ID") or request.args.get("since", ""))
    return _UNKNOWN if known is None else known


def _waiting(subscription: Subscription) -> Iterator[FeedEvent]:
    """What stands in the queue already."""
    while (event := subscription.next(0)) is not None:
        yield event


def _named(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def _message(event_id: int, html: str) -> bytes:
    lines = html.replace("\r", "").replace("\n", "\ndata: ")
    return f"id: {event_id}\ndata: {lines}\n\n".encode()
