"""GET /api/rooms/ROOM/stream: a room's messages as they come, for programs, as server-sent events."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from flask import Blueprint, Response, request

from agentsroom.access.routes import PROGRAMS, allow, caller
from agentsroom.core.database import Database
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.feed import CLOSED, RESYNC, Feed, FeedEvent, Subscription, last_event_id, missed_since
from agentsroom.core.sse import encode_event
from agentsroom.gateways.lasting import EVENT_STREAM, QUIET_S, Lasting, event_id_in
from agentsroom.gateways.permits import GivePermit
from agentsroom.rooms.following import FollowedRoom, told

HEARTBEAT = encode_event(b"{}", "heartbeat")
_CACHED = 200

Encode = Callable[[int, str, int], tuple[bytes, ...]]
"""What is sent of a message by the event's id, the team's and its own: nothing where it was removed."""


class Start(NamedTuple):
    """Where a stream begins."""

    seen: int
    """The newest event that the client knows."""
    missed: list[FeedEvent]


def start_after(database: Database, known: str) -> Start:
    """Begins after the event that the client says it knows, else now."""
    if not known:
        return Start(database.read(last_event_id), [])
    event_id = event_id_in(known)
    return Start(0, [RESYNC]) if event_id is None else Start(event_id, missed_since(database, event_id))


class RoomStream:
    """What one client is sent."""

    def __init__(
        self,
        database: Database,
        room: FollowedRoom,
        start: Start,
        encode: Encode,
        ready: Mapping[str, str],
        quiet_s: float = QUIET_S,
    ) -> None:
        self._database = database
        self._room = room
        self._seen, self._missed = start
        self._encode = encode
        self._ready = msgspec.json.encode({**ready, "room": room.name})
        self._quiet_s = quiet_s

    def run(self, subscription: Subscription) -> Iterator[bytes]:
        """Server-sent events, until the subscription is closed or the client may see the room no more."""
        is_behind = RESYNC in self._missed  # until it was told so, it must not believe that it knows all
        yield encode_event(self._ready, "ready", None if is_behind else self._seen)
        for event in self._events(subscription):
            if event is None:
                yield HEARTBEAT
            elif self._may_end_sight(event) and not self._is_seen():
                return
            elif event is RESYNC:
                self._seen = self._database.read(last_event_id)
                yield encode_event(b"{}", "resync", self._seen)
            elif self._room.has_message(event):
                self._seen = event.id
                yield from self._encode(event.id, event.team_id, event.data["message"])

    def _events(self, subscription: Subscription) -> Iterator[FeedEvent | None]:
        """Those that the client does not know; None after a time without any."""
        yield from filter(self._wants, self._missed)
        while (event := subscription.next(self._quiet_s)) is not CLOSED:
            if event is None or event is RESYNC or event.id > self._seen:
                yield event

    def _wants(self, event: FeedEvent) -> bool:
        return event is RESYNC or self._room.wants(event)

    def _may_end_sight(self, event: FeedEvent) -> bool:
        """An event that ends it may be among those that were missed."""
        return event is RESYNC or self._room.may_end_sight(event)

    def _is_seen(self) -> bool:
        try:
            self._room.check()
        except AgentsRoomError:  # not in the room any more, or the room is gone
            return False
        return True


def room_stream_routes(
    database: Database, feed: Feed, give_permit: GivePermit, ready: Mapping[str, str]
) -> Blueprint:
    """`ready`: what the first event of each stream says of the server."""
    routes = Blueprint("room_stream", __name__)

    @functools.lru_cache(maxsize=_CACHED)
    def encode(event_id: int, team_id: str, message_id: int) -> tuple[bytes, ...]:
        """Once for all who follow the room."""
        message = told(database, team_id, message_id)
        return () if message is None else (encode_event(msgspec.json.encode(message), event_id=event_id),)

    @routes.get("/api/rooms/<path:name>/stream", provide_automatic_options=False)
    @allow(*PROGRAMS)
    def follow(name: str) -> Response:
        room = FollowedRoom(database, caller(), name)
        if request.method == "HEAD":
            return Response(mimetype=EVENT_STREAM)
        with Lasting(feed, give_permit(PROGRAMS)) as lasting:
            subscription = lasting.subscribe(room.wants)
            room.check()  # its caller may have left before the feed could say so
            start = start_after(
                database, request.headers.get("Last-Event-ID") or request.args.get("since", "")
            )
            return lasting.stream(RoomStream(database, room, start, encode, ready).run(subscription))

    return routes
