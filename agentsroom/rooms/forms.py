"""What a person does in a room: writing as the overseer, its cap, its pause; parse, act, answer.

A form of a page with scripts is answered with what changed, one without with the page.
"""

from flask import Blueprint, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from agentsroom.access.routes import allow, caller
from agentsroom.core.database import Database, Reading
from agentsroom.core.errors import AgentsRoomError, InvalidArgument
from agentsroom.core.html import Partial, dom_id
from agentsroom.core.htmx import wants_pieces
from agentsroom.core.text import counted
from agentsroom.rooms import timeline
from agentsroom.rooms.addresses import parse_id, room_url
from agentsroom.rooms.autonomy import Level
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.pages import RoomPage, Written
from agentsroom.rooms.regions import Region
from agentsroom.rooms.results import Sent
from agentsroom.rooms.service import overseer, room_view, rooms
from agentsroom.rooms.service.history_view import Wanted
from agentsroom.rooms.service.sending import Draft

TOASTS = "toasts"
"""The id of the region that says what just happened."""


def room_forms(database: Database, machine: Machine) -> Blueprint:
    forms = Blueprint("room_forms", __name__)
    room_page = RoomPage(database, machine)

    def write(name: str, written: Written) -> Sent:
        to = database.read(lambda work: _selector(work, name, written.to))
        draft = Draft(to, "", written.body, parse_id("reply_to", written.reply_to or None), None)
        return overseer.write_to_room(database, machine, caller(), name, draft)

    @forms.post("/rooms/messages/<path:name>")
    @allow("admin")
    def send(name: str) -> AnyResponse:
        """What is refused stays in the form, with the reason."""
        written = _written()
        try:
            sent = write(name, written)
        except AgentsRoomError as error:
            if error.status >= 500:
                raise
            problem = f"{error.message} {error.hint or ''}".strip()
            if wants_pieces():
                return make_response(str(_problem(problem)), error.status)
            page = room_page.render(name, Wanted(), timeline.DEFAULT_SPAN, written, problem)
            return make_response(page, error.status)
        if wants_pieces():
            return make_response(f"{_problem('')}{_note(_said(sent))}")
        return redirect(f"{room_url(name)}#{dom_id('message', sent.message_id)}", 303)

    @forms.post("/rooms/cap/<path:name>")
    @allow("admin")
    def cap(name: str) -> AnyResponse:
        level = parse_level(request.form.get("autonomy", ""))
        database.write(lambda work: rooms.set_cap(work, caller(), None, name, level))
        return _done(name, f"Nobody’s level is above {level.label} here.")

    @forms.post("/rooms/pause/<path:name>")
    @allow("admin")
    def pause(name: str) -> AnyResponse:
        database.write(lambda work: rooms.pause(work, caller(), name))
        return _done(name, "Paused: messages are stored, and nobody is signalled.")

    @forms.post("/rooms/resume/<path:name>")
    @allow("admin")
    def resume(name: str) -> AnyResponse:
        database.write(lambda work: rooms.resume(work, caller(), name))
        return _done(name, "Resumed.")

    return forms


def _written() -> Written:
    """What the form brings; browsers send CRLF."""
    given = {field: request.form.get(field, "") for field in Written._fields}
    return Written(**{field: text.replace("\r\n", "\n").strip() for field, text in given.items()})


def parse_level(name: str) -> Level:
    """Raises InvalidArgument."""
    for level in Level:
        if level.label == name:
            return level
    taken = ", ".join(level.label for level in Level)
    raise InvalidArgument({"autonomy": f"{name[:20]!r} came; {taken} are taken"})


def _selector(work: Reading, name: str, given: str) -> str:
    return room_view.selector_meant(work, rooms.get_named(work, caller().team_id, name), given)


def _said(sent: Sent) -> str:
    return f"Sent to {counted(sent.recipients, 'session')}. {sent.warning or ''}".strip()


def _problem(text: str) -> Partial:
    html = render_template("rooms/_compose_problem.html", problem=text)
    return Partial(Region.COMPOSE_PROBLEM, "outerMorph", html)


def _note(text: str) -> Partial:
    """Says what was done."""
    return Partial(TOASTS, "append", render_template("_toast.html", text=text))


def _done(name: str, text: str) -> AnyResponse:
    return make_response(str(_note(text))) if wants_pieces() else redirect(room_url(name), 303)
