"""The browser's pages of the rooms: all rooms, one with its history, one message; parse, look, render."""

from typing import NamedTuple

from flask import Blueprint, render_template, request

from agentsroom.access.routes import allow, caller
from agentsroom.core.database import Database, Reading
from agentsroom.core.htmx import wants_pieces
from agentsroom.rooms.addresses import parse_id, parse_span, parse_wanted
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.service import history_view, message_view, room_view, rooms, rooms_view
from agentsroom.rooms.service.history_view import Wanted
from agentsroom.rooms.service.shown import answered_to


class Written(NamedTuple):
    """What stands in the form of the overseer's message."""

    body: str = ""
    to: str = "*"
    reply_to: str = ""


class RoomPage:
    """The page of one room, for who looks at it and for whose form was refused."""

    def __init__(self, database: Database, machine: Machine) -> None:
        self._database = database
        self._machine = machine

    def render(self, name: str, wanted: Wanted, span: str, written: Written, problem: str = "") -> str:
        """Raises UnknownRoom or UnknownMessage."""
        history, present, since = self._database.read(
            lambda work: room_view.look(work, caller().team_id, name, wanted, span)
        )
        here = room_view.surroundings(present, self._machine.liveness_of(present.sessions, fresh=False))
        return render_template(
            "rooms/room.html",
            here=here,
            in_room=here.name.full,
            history=history,
            since=since,
            draft=written,
            problem=problem,
        )


def room_pages(database: Database, machine: Machine) -> Blueprint:
    """Rooms are addressed by their whole name: `repo:app`, `shared:front`."""
    pages = Blueprint("rooms", __name__)
    room_page = RoomPage(database, machine)

    @pages.get("/rooms", endpoint="rooms")
    @allow("admin")
    def all_rooms() -> str:
        sight = database.read(lambda work: rooms_view.look(work, caller().team_id))
        view = rooms_view.view(sight, machine.liveness_of(sight.sessions, fresh=False))
        return render_template("rooms/rooms.html", view=view, since=view.last_event)

    @pages.get("/rooms/<path:name>")
    @allow("admin")
    def room(name: str) -> str:
        answered = parse_id("reply", request.args.get("reply"))
        written = Written() if answered is None else database.read(lambda work: _answer(work, answered))
        return room_page.render(name, parse_wanted(request.args), parse_span(request.args), written)

    @pages.get("/rooms/history/<path:name>")
    @allow("admin")
    def older(name: str) -> str:
        """The page of the history above the one that is shown."""
        wanted = Wanted(before=parse_id("before", request.args.get("before")))
        history = database.read(
            lambda work: history_view.history(work, rooms.get_named(work, caller().team_id, name), wanted)
        )
        return render_template("rooms/_page_above.html", history=history, in_room=name)

    @pages.get("/rooms/messages/<int:message_id>")
    @allow("admin")
    def message(message_id: int) -> str:
        known = database.read(lambda work: message_view.recipients(work, caller(), message_id))
        judged = machine.liveness_of(known, fresh=False)
        view = database.read(lambda work: message_view.look(work, caller(), message_id, judged))
        return render_template("rooms/_why.html" if wants_pieces() else "rooms/message.html", view=view)

    return pages


def _answer(work: Reading, message_id: int) -> Written:
    """The form of an answer to the message. Raises UnknownMessage."""
    to = answered_to(message_view.get_message(work, caller(), message_id))
    return Written(to=to, reply_to=str(message_id))
