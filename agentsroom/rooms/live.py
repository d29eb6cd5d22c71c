"""What an open page of the rooms shows of each event: the very partials that the page itself includes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from agentsroom.core.database import Database
from agentsroom.core.feed import FeedEvent
from agentsroom.core.html import Change, Partial, dom_id
from agentsroom.core.principals import Principal
from agentsroom.rooms.addresses import parse_span, parse_wanted
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.regions import Region
from agentsroom.rooms.service import history_view, room_view, rooms_view
from agentsroom.rooms.service.history_view import Wanted
from agentsroom.rooms.service.room_view import Surroundings
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.store.pages import MOST_IDS
from agentsroom.rooms.store.sessions import RoomRow

Render = Callable[..., str]
"""Renders a template by its name and variables."""

_DELIVERIES_MOVED = {"messages_read", "message_acked", "messages_expired"}
_PEOPLE_CHANGED = {"session_joined", "session_left", "room_left", "session_gone", "session_pruned", "cap_set"}
_LEASES_CHANGED = {"lease_claimed", "lease_renewed", "lease_released", "lease_expired"}
_PAUSES = {"room_paused", "room_resumed"}
_OF_ROOMS = (
    {"message_sent", "messages_pruned"} | _DELIVERIES_MOVED | _PEOPLE_CHANGED | _LEASES_CHANGED | _PAUSES
)


class Parts(NamedTuple):
    """What a live page of the rooms is made with."""

    database: Database
    machine: Machine
    render: Render

    def replace(self, region: Region, template: str, **variables: Any) -> Partial:
        """The region as the template renders it."""
        return Partial(region, "outerMorph", self.render(template, **variables))


class RoomsLive:
    """The page of all rooms: its tables, again."""

    def __init__(self, parts: Parts, caller: Principal) -> None:
        self._parts = parts
        self._team_id = caller.team_id
        self.key = ("rooms", caller.team_id)

    def wants(self, event: FeedEvent) -> bool:
        return event.team_id == self._team_id and event.kind in _OF_ROOMS

    def changes(self, _events: Sequence[FeedEvent]) -> Change:
        return self.whole()

    def whole(self) -> Change:
        """The main part as it is now."""
        sight = self._parts.database.read(lambda work: rooms_view.look(work, self._team_id))
        view = rooms_view.view(sight, self._parts.machine.liveness_of(sight.sessions, fresh=False))
        return Change(
            [
                self._parts.replace(Region.SUMMARY, "rooms/_rooms_summary.html", view=view),
                self._parts.replace(Region.ROOMS, "rooms/_rooms.html", view=view),
            ],
            view.last_event,
        )


class RoomLive:
    """The page of one room. What shows a part of its history alone takes no new messages."""

    def __init__(self, parts: Parts, caller: Principal, name: str, wanted: Wanted, span: str) -> None:
        """Raises UnknownRoom."""
        self._parts = parts
        self._room: RoomRow = parts.database.read(lambda work: get_named(work, caller.team_id, name))
        self._wanted = wanted
        self._span = span
        self.key = ("room", self._room.id, wanted, span)

    def wants(self, event: FeedEvent) -> bool:
        return event.team_id == self._room.team_id and event.kind in _OF_ROOMS

    def changes(self, events: Sequence[FeedEvent]) -> Change | None:
        """What these events changed, each region once; events of other rooms change the list of rooms."""
        here = [event for event in events if self._is_here(event)]
        kinds = {event.kind for event in here}
        sent = [event.data["message"] for event in here if event.kind == "message_sent"]
        moved = _moved(here) - set(sent)
        if "messages_pruned" in kinds or len(sent) + len(moved) > MOST_IDS:
            return None
        partials = [*self._appended(sent), *self._replaced(sorted(moved)), *self._around(kinds)]
        return Change(partials, events[-1].id)

    def _is_here(self, event: FeedEvent) -> bool:
        """Whether the event may be one of this room: those that name no room are."""
        if "room" in event.data:
            return bool(event.data["room"] == self._room.name)
        return "rooms" not in event.data or self._room.name in event.data["rooms"]

    def _appended(self, ids: Sequence[int]) -> list[Partial]:
        if not ids or self._wanted.view != "newest":
            return []
        found = self._parts.database.read(lambda work: history_view.new_messages(work, self._room, ids))
        rows = "".join(self._row("rooms/_message.html", one) for one in found)
        return [Partial(Region.NO_MESSAGES, "delete", ""), Partial(Region.HISTORY, "append", rows)]

    def _replaced(self, ids: Sequence[int]) -> list[Partial]:
        if not ids:
            return []
        found = self._parts.database.read(lambda work: history_view.some_messages(work, self._room, ids))
        return [
            Partial(dom_id("message", one.id), "outerMorph", self._row("rooms/_message_row.html", one))
            for one in found
        ]

    def _row(self, template: str, message: Any) -> str:
        return self._parts.render(template, message=message, in_room=self._room.name)

    def _around(self, kinds: set[str]) -> list[Partial]:
        """What stands around the history, as far as it changed; its figures change with everything."""
        present = self._parts.database.read(lambda work: room_view.present(work, self._room, self._span))
        people, leases = kinds & _PEOPLE_CHANGED, kinds & (_PEOPLE_CHANGED | _LEASES_CHANGED)
        here = self._judged(present) if leases else room_view.surroundings(present, {})
        changed = [_SUMMARY, _ROOM_LIST]
        changed += _PAUSE if kinds & _PAUSES else []
        changed += [_WHO] if people else []
        changed += _LEASES if leases else []
        return self._regions(changed, here)

    def _judged(self, present: room_view.Present) -> Surroundings:
        judged = self._parts.machine.liveness_of(present.sessions, fresh=False)
        return room_view.surroundings(present, judged)

    def _regions(self, regions: Sequence[tuple[Region, str]], here: Surroundings) -> list[Partial]:
        return [self._parts.replace(region, template, here=here) for region, template in regions]

    def whole(self) -> Change:
        """The main part as it is now."""
        room = self._room
        history, present, last = self._parts.database.read(
            lambda work: room_view.look(work, room.team_id, room.name, self._wanted, self._span)
        )
        here = self._judged(present)
        rows = self._parts.render("rooms/_history.html", here=here, history=history, in_room=room.name)
        around = self._regions([_SUMMARY, _ROOM_LIST, *_PAUSE, _WHO, *_LEASES], here)
        return Change([Partial(Region.HISTORY, "outerMorph", rows), *around], last)


_SUMMARY = (Region.SUMMARY, "rooms/_summary.html")
_ROOM_LIST = (Region.ROOM_LIST, "rooms/_room_list.html")
_WHO = (Region.WHO, "rooms/_who.html")
_PAUSE = [(Region.PAUSE, "rooms/_pause.html"), (Region.PAUSED, "rooms/_paused.html")]
_LEASES = [
    (Region.LEASES, "rooms/_leases.html"),
    (Region.TIMELINE, "rooms/_timeline.html"),
    (Region.RECIPIENTS, "rooms/_recipients.html"),
]


def _moved(events: Sequence[FeedEvent]) -> set[int]:
    """The messages whose deliveries got further."""
    moved: set[int] = set()
    for event in events:
        if event.kind in _DELIVERIES_MOVED:
            moved.update(event.data["messages"] if "messages" in event.data else [event.data["message"]])
    return moved


def rooms_live(
    parts: Parts, caller: Principal, _names: Mapping[str, Any], _query: Mapping[str, str]
) -> RoomsLive:
    return RoomsLive(parts, caller)


def room_live(
    parts: Parts, caller: Principal, names: Mapping[str, Any], query: Mapping[str, str]
) -> RoomLive:
    """Raises UnknownRoom or InvalidArgument."""
    return RoomLive(parts, caller, names["name"], parse_wanted(query), parse_span(query))
