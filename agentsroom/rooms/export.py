"""GET /rooms/export/NAME: a room's history as a file of JSON Lines."""

import re
import time
from collections.abc import Iterator
from urllib.parse import quote

from flask import Blueprint, Response

from agentsroom.access.routes import allow, caller
from agentsroom.core.database import Database
from agentsroom.rooms.service.export import exported_lines, room_to_export

_MOST_OF_A_NAME = 100
_BREATH_S = 0.001
"""Between two pages, for the other requests: gevent lets fifty sleeps of 0 go before it looks at a socket again."""


def export_routes(database: Database) -> Blueprint:
    routes = Blueprint("room_export", __name__)

    # Not /rooms/NAME/export: that is the page of a room whose name ends so, and anybody may call a room that.
    @routes.get("/rooms/export/<path:name>")
    @allow("admin")
    def export(name: str) -> Response:
        """Raises UnknownRoom before the first byte; what is sent meanwhile is not in it."""
        room, last = database.read(lambda work: room_to_export(work, caller(), name))
        response = Response(_gently(exported_lines(database, room, last)), mimetype="application/x-ndjson")
        response.headers["Content-Disposition"] = _attachment(file_name(room.name))
        return response

    return routes


def export_url(name: str) -> str:
    """The address of a room's export."""
    return "/rooms/export/" + quote(name, safe=":")


def file_name(room: str) -> str:
    """Letters, digits and -._ of the room's name: what every system takes, and no path."""
    plain = re.sub(r"[^\w.-]+", "-", room)[:_MOST_OF_A_NAME].strip(".-")
    return f"{plain or 'room'}.jsonl"


def _attachment(name: str) -> str:
    """Headers are Latin-1 at best: other letters go by the second name (RFC 6266)."""
    plain = name.encode("ascii", "replace").decode().replace("?", "-")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"


def _gently(pages: Iterator[bytes]) -> Iterator[bytes]:
    for page in pages:
        yield page
        time.sleep(_BREATH_S)
