"""What an open page of the rooms shows of each event: the very partials that the page itself includes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from agentsroom.core.database import Database
from agentsroom.core.feed import FeedEvent
from agentsroom.core.html import Partial, dom_id
from agentsroom.core.principals import Principal
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.pages import parse_before
from agentsroom.rooms.service import room_view, rooms_view
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.store.sessions import RoomRow

Render = Callable[..., str]
"""Renders a template by its name and variables."""

_DELIVERIES_MOVED = {"messages_read", "message_acked", "messages_expired"}
_PEOPLE_CHANGED = {"session_joined", "session_left", "room_left", "session_pruned", "cap_set"}
_LEASES_CHANGED = {"lease_claimed", "lease_renewed", "lease_released", "lease_expired"}
_OF_ROOMS = {"message_sent"} | _DELIVERIES_MOVED | _PEOPLE_CHANGED | _LEASES_CHANGED


class Parts(NamedTuple):
    """What a live page of the rooms is made with."""

    database: Database
    machine: Machine
    render: Render


class RoomsLive:
    """The page of all rooms: its tables, again."""

    def __init__(self, parts: Parts, caller: Principal) -> None:
        self._parts = parts
        self._team_id = caller.team_id
        self.key = ("rooms", caller.team_id)

    def wants(self, event: FeedEvent) -> bool:
        return event.team_id == self._team_id and event.kind in _OF_ROOMS

    def changes(self, _events: Sequence[FeedEvent]) -> list[Partial]:
        return self.whole()[0]

    def whole(self) -> tuple[list[Partial], int]:
        """The main part as it is now, and the newest event that it knows."""
        sight = self._parts.database.read(lambda work: rooms_view.look(work, self._team_id))
        view = rooms_view.view(sight, self._parts.machine.liveness_of(sight.sessions, fresh=False))
        return [
            Partial("summary", "outerMorph", self._parts.render("rooms/_rooms_summary.html", view=view)),
            Partial("rooms", "outerMorph", self._parts.render("rooms/_rooms.html", view=view)),
        ], view.last_event


class RoomLive:
    """The page of one room. An older page of the history takes no new messages."""

    def __init__(self, parts: Parts, caller: Principal, name: str, before: int | None) -> None:
        """Raises UnknownRoom."""
        self._parts = parts
        self._room: RoomRow = parts.database.read(lambda work: get_named(work, caller.team_id, name))
        self._before = before
        self.key = ("room", self._room.id, before)

    def wants(self, event: FeedEvent) -> bool:
        return event.team_id == self._room.team_id and event.kind in _OF_ROOMS

    def changes(self, events: Sequence[FeedEvent]) -> list[Partial]:
        """What these events changed, each region once; events of other rooms change the list of rooms."""
        here = [event for event in events if self._is_here(event)]
        kinds = {event.kind for event in here}
        return [
            *self._sent(here),
            *self._moved(here),
            *self._surroundings(
                who=bool(kinds & _PEOPLE_CHANGED), leases=bool(kinds & (_LEASES_CHANGED | _PEOPLE_CHANGED))
            ),
        ]

    def _is_here(self, event: FeedEvent) -> bool:
        """Whether the event may be one of this room: those that name no room are."""
        if "room" in event.data:
            return bool(event.data["room"] == self._room.name)
        return "rooms" not in event.data or self._room.name in event.data["rooms"]

    def _sent(self, events: Sequence[FeedEvent]) -> list[Partial]:
        ids = [event.data["message"] for event in events if event.kind == "message_sent"]
        if not ids or self._before is not None:
            return []
        rows = "".join(self._row(one) for one in ids)
        return [Partial("history-empty", "delete", ""), Partial("history", "append", rows)]

    def _moved(self, events: Sequence[FeedEvent]) -> list[Partial]:
        ids: set[int] = set()
        for event in events:
            if event.kind in _DELIVERIES_MOVED:
                ids.update(event.data["messages"] if "messages" in event.data else [event.data["message"]])
        rows = [(one, self._row(one, with_day=False)) for one in sorted(ids)]
        return [Partial(dom_id("message", one), "outerMorph", html) for one, html in rows if html]

    def _row(self, message_id: int, *, with_day: bool = True) -> str:
        found = self._parts.database.read(lambda work: room_view.one_message(work, self._room, message_id))
        if found is None:
            return ""
        if not with_day:
            found = found._replace(begins_day=False)
        return self._parts.render("rooms/_message.html", message=found)

    def _surroundings(self, *, who: bool, leases: bool) -> list[Partial]:
        present = self._parts.database.read(lambda work: room_view.present(work, self._room))
        here = room_view.surroundings(
            present, self._parts.machine.liveness_of(present.sessions, fresh=False) if who or leases else {}
        )
        wanted = {"summary": True, "room-list": True, "who": who, "leases": leases}
        templates = {
            "summary": "rooms/_summary.html",
            "room-list": "rooms/_room_list.html",
            "who": "rooms/_who.html",
            "leases": "rooms/_leases.html",
        }
        return [
            Partial(region, "outerMorph", self._parts.render(templates[region], here=here))
            for region, is_wanted in wanted.items()
            if is_wanted
        ]

    def whole(self) -> tuple[list[Partial], int]:
        """The main part as it is now, and the newest event that it knows."""
        room = self._room
        history, present, last = self._parts.database.read(
            lambda work: room_view.look(work, room.team_id, room.name, self._before)
        )
        judged = self._parts.machine.liveness_of(present.sessions, fresh=False)
        here = room_view.surroundings(present, judged)
        body = self._parts.render("rooms/_body.html", here=here, history=history)
        summary = self._parts.render("rooms/_summary.html", here=here)
        return [Partial("summary", "outerMorph", summary), Partial("body", "outerMorph", body)], last


def rooms_live(
    parts: Parts, caller: Principal, _names: Mapping[str, Any], _query: Mapping[str, str]
) -> RoomsLive:
    return RoomsLive(parts, caller)


def room_live(
    parts: Parts, caller: Principal, names: Mapping[str, Any], query: Mapping[str, str]
) -> RoomLive:
    """Raises UnknownRoom or InvalidArgument."""
    return RoomLive(parts, caller, names["name"], parse_before(query.get("before")))
