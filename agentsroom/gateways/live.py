"""GET /live: one stream of HTML changes for one open page; GET /live/main: what the page shows now.

What a page shows of an event, its domain decides. A page that missed something is told so by `resync`, and reads its
main part again: the answer brings the stream that goes on from there.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec
from flask import Blueprint, Response, current_app, render_template, request
from werkzeug.exceptions import HTTPException

from agentsroom.access.routes import allow, audience_of, caller
from agentsroom.core.database import Database
from agentsroom.core.errors import Forbidden, NotFound
from agentsroom.core.feed import RESYNC, Feed, FeedEvent, last_event_id, missed_since
from agentsroom.core.html import Change, Partial
from agentsroom.core.principals import Kind, Principal
from agentsroom.core.scrub import scrub_tokens
from agentsroom.core.sse import encode_event
from agentsroom.gateways.lasting import EVENT_STREAM, QUIET_S, Lasting, event_id_in
from agentsroom.gateways.permits import GivePermit
from agentsroom.gateways.viewers import Audience, Told, Viewer

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

    def changes(self, events: Sequence[FeedEvent]) -> Change | None:
        """What the events changed; None when the main part had better be read again."""
        ...

    def whole(self) -> Change:
        """The main part as it is now."""
        ...


MakePage = Callable[[Principal, Mapping[str, Any], Mapping[str, str]], LivePage]
"""Makes the live page of an address from the caller, the route's variables and the query."""


class Teller:
    """What the viewers of a page are told of events: each change is made once, for those who missed it as well."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._told: OrderedDict[Hashable, Told] = OrderedDict()
        self._guard = threading.Lock()

    def tell(self, page: LivePage, events: Sequence[FeedEvent]) -> Told | None:
        """`events`: those that the page wants, in order. After a gap, or where that is less, it is to be read again."""
        if RESYNC in events or len(events) > _MOST_AT_ONCE:
            return self.resync()
        if not events:
            return None
        key = (page.key, tuple(event.id for event in events))
        with self._guard:
            if key not in self._told:
                change = page.changes(events)
                self._told[key] = self.resync() if change is None else _told(events[0].id - 1, change)
                if len(self._told) > _CACHED:
                    self._told.popitem(last=False)
            return self._told[key]

    def missed(self, page: LivePage, seen: int) -> Told | None:
        """What happened between the page and its stream."""
        missed = missed_since(self._database, seen)
        return self.tell(page, [event for event in missed if event is RESYNC or page.wants(event)])

    def resync(self) -> Told:
        """Tells a page to read itself again, whatever it knows."""
        return Told(_UNKNOWN, self._database.read(last_event_id), encode_event(b"{}", "resync"))


class Stream:
    """What one viewer of a page is sent."""

    __slots__ = ("_heartbeat_s", "_page", "_ready", "_teller", "_viewer")

    def __init__(
        self, page: LivePage, viewer: Viewer, teller: Teller, ready: bytes, heartbeat_s: float = QUIET_S
    ) -> None:
        self._page = page
        self._viewer = viewer
        self._teller = teller
        self._ready = ready
        self._heartbeat_s = heartbeat_s

    def run(self, may_look: Callable[[], bool]) -> Iterator[bytes]:
        """Server-sent events, until the viewer is told that this is all, or may no longer look."""
        yield encode_event(self._ready, "ready")
        yield from self._send(self._teller.missed(self._page, self._viewer.seen))
        while True:
            match self._viewer.next(self._heartbeat_s):
                case None:
                    yield encode_event(b"{}", "heartbeat")
                case "flush":
                    yield b":\n\n"
                case "behind":
                    yield from self._send(self._teller.resync())
                case "end":
                    return
                case "check":
                    if not may_look():
                        return
                case Told() as told:
                    yield from self._send(told)

    def _send(self, told: Told | None) -> Iterator[bytes]:
        """Nothing of what the page knows already; a message of which it knows a part would say that twice."""
        if told is None:
            return
        if told.after < self._viewer.seen:
            if told.last <= self._viewer.seen:
                return
            told = self._teller.resync()
        self._viewer.seen = told.last
        yield told.data


def live_routes(
    database: Database,
    feed: Feed,
    pages: Mapping[str, MakePage],
    give_permit: GivePermit,
    ready: Mapping[str, str],
) -> Blueprint:
    """`pages`: the endpoint of each page that has a stream → what makes it live."""
    routes = Blueprint("live", __name__)
    audience = Audience(feed)
    teller = Teller(database)

    def asked() -> tuple[LivePage, frozenset[Kind], str]:
        """The page that the request is about, who may look at it, and its address. Raises NotFound or Forbidden."""
        address = request.args.get("page", "")
        endpoint, names, query = _page_meant(address)
        if endpoint not in pages:
            raise NotFound("This page has no stream.")
        audience = audience_of(current_app.view_functions[endpoint]) or frozenset()
        if caller().kind not in audience:
            raise Forbidden("You may not look at this page.")
        added = {name: text for name, text in request.args.items() if name not in ("page", "since")}
        return pages[endpoint](caller(), names, query | added), audience, address

    @routes.get("/live")
    @allow("admin")
    def live() -> Response:
        page, kinds, _address = asked()
        if request.method == "HEAD":
            return Response(mimetype=EVENT_STREAM)
        with Lasting(feed, give_permit(kinds)) as lasting:
            viewer = Viewer(_since(), lasting.send_now)
            audience.join(page, viewer, partial(teller.tell, page))
            lasting.at_end(partial(audience.leave, page.key, viewer))
            lasting.when_gone(partial(viewer.say, "end"))
            lasting.check()  # access may have ended before the viewer was there to be told
            stream = Stream(page, viewer, teller, msgspec.json.encode(dict(ready)))
            return lasting.stream(stream.run(lasting.is_let_in))

    @routes.get("/live/main")
    @allow("admin")
    def main() -> str:
        page, _audience, address = asked()
        change = page.whole()
        stream = render_template("_stream.html", url=_stream_url(address, change.last_event))
        return change.html + str(Partial("stream", "outerHTML", stream))

    return routes


def live_url(since: int) -> str:
    """The stream of the page that is rendered now, from the newest event on that the page knows."""
    query = f"?{request.query_string.decode()}" if request.query_string else ""
    return _stream_url(quote(request.path) + query, since)


def _stream_url(address: str, since: int) -> str:
    return "/live?" + urlencode({"page": scrub_tokens(address), "since": since})


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


def _told(after: int, change: Change) -> Told:
    return Told(after, change.last_event, encode_event(change.html.encode(), None, change.last_event))
