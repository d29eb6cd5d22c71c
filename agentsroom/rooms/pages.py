"""The browser's pages of the rooms: all rooms, and one with its history; parse, look, render."""

from urllib.parse import quote

from flask import Blueprint, render_template, request

from agentsroom.access.routes import allow, caller
from agentsroom.core.database import Database
from agentsroom.core.errors import InvalidArgument
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.service import room_view, rooms_view


def room_pages(database: Database, machine: Machine) -> Blueprint:
    """`/rooms` and `/rooms/<name>`, where the name is the whole one: `repo:app`, `shared:front`."""
    pages = Blueprint("rooms", __name__)

    @pages.get("/rooms")
    @allow("admin")
    def rooms() -> str:
        sight = database.read(lambda work: rooms_view.look(work, caller().team_id))
        view = rooms_view.view(sight, machine.liveness_of(sight.sessions, fresh=False))
        return render_template("rooms/rooms.html", view=view, since=view.last_event)

    @pages.get("/rooms/<path:name>")
    @allow("admin")
    def room(name: str) -> str:
        before = parse_before(request.args.get("before"))
        history, present, since = database.read(
            lambda work: room_view.look(work, caller().team_id, name, before)
        )
        judged = machine.liveness_of(present.sessions, fresh=False)
        here = room_view.surroundings(present, judged)
        return render_template("rooms/room.html", here=here, history=history, since=since)

    return pages


def room_url(name: str) -> str:
    """The address of a room's page; a slash of its name is no slash of the path."""
    return "/rooms/" + quote(name, safe=":")


def parse_before(text: str | None) -> int | None:
    """The message id of `?before=`; None when there is none. Raises InvalidArgument."""
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < len(text) <= 15:
        raise InvalidArgument({"before": f"{text[:20]!r} came; a message's id is taken"})
    return int(text)
