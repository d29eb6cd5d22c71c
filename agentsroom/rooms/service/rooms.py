"""Rooms: their names, which of them somebody may see, and their caps."""

from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import Forbidden, InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.text import nfc
from agentsroom.rooms.autonomy import Level
from agentsroom.rooms.errors import NotInRoom, RoomRequired, UnknownRoom
from agentsroom.rooms.results import Cap
from agentsroom.rooms.service import handles
from agentsroom.rooms.store import sessions as store
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

SHARED = "shared:"
_AUTOMATIC = ("repo:", "dir:")


def shared_name(argument: str, given: str, own: str | None = None) -> str:
    """The stored name of a room that is entered by name; `own` is the session's automatic room.

    Raises InvalidArgument for an empty name, or for a repository's or folder's room but the session's own.
    """
    name = nfc(given)
    if name == own:
        return name
    if name.startswith(_AUTOMATIC):
        reason = "is entered by itself, from within that repository or folder; name a shared room"
        raise InvalidArgument({argument: f"{given!r} {reason}"})
    name = name if name.startswith(SHARED) else SHARED + name
    if not name.removeprefix(SHARED).strip() or "\n" in name or "\t" in name:
        raise InvalidArgument({argument: f"{given!r} came; a name of one line is taken"})
    return name


def find_named(work: Reading, team_id: str, given: str) -> RoomRow | None:
    """The team's room that is meant by `front`, `shared:front` or `repo:app`."""
    name = nfc(given)
    return store.find_room(work, team_id, name) or store.find_room(work, team_id, SHARED + name)


def get_named(work: Reading, team_id: str, given: str) -> RoomRow:
    """Raises InvalidArgument for an empty name, else UnknownRoom."""
    if not given.removeprefix(SHARED).strip():
        raise InvalidArgument({"room": f"{given!r} came; a room's name is taken"})
    room = find_named(work, team_id, given)
    if room is None:
        raise UnknownRoom(
            f"No room of the team {team_id} is called {given!r}.",
            hint="room_who lists the rooms of each session that you see. room_join makes a shared room: give it as room.",
            room=given,
        )
    return room


def rooms_seen_by(work: Reading, caller: Principal) -> list[RoomRow]:
    """An operator sees the team's rooms, an agent those that a session of it is in."""
    if caller.is_operator:
        return store.rooms_of_team(work, caller.team_id)
    return store.rooms_of_agent(work, caller.team_id, caller.agent_id)


def room_meant(work: Reading, caller: Principal, session: SessionRow | None, given: str | None) -> RoomRow:
    """The room that a call is about: the one given, else the session's default.

    Raises RoomRequired, UnknownRoom, or NotInRoom when neither the session nor the caller may see it.
    """
    if given is None:
        if session is None or session.default_room_id is None:
            raise RoomRequired(
                "Which room? The call gives none, and no session with a default room.",
                hint="Give room, or the session_id of a session that is in one.",
            )
        return store.room(work, session.default_room_id)
    room = get_named(work, caller.team_id, given)
    if session is not None and not store.is_in_room(work, session.id, room.id):
        raise _not_in(f"the session {session.id} is not in {room.name}", room)
    if session is None and room not in rooms_seen_by(work, caller):
        raise _not_in(f"no session of yours is in {room.name}", room)
    return room


def _not_in(problem: str, room: RoomRow) -> NotInRoom:
    if room.name.startswith(_AUTOMATIC):
        hint = "Call room_join with a cwd in that repository or folder."
    else:
        hint = "Call room_join with it in extra_rooms, and with the harness_key of before to stay the same session."
    return NotInRoom(f"room: {problem}.", hint=hint, room=room.name)


def pause(work: Writing, caller: Principal, given: str) -> RoomRow:
    """From now on the room's messages signal nobody; all else goes on. Again, it changes nothing.

    Raises Forbidden for anyone but the operator, InvalidArgument or UnknownRoom.
    """
    room = _room_to_steer(work, caller, given)
    if room.paused_at is not None:
        return room
    store.set_paused(work, room.id, work.now)
    work.emit("room_paused", room.team_id, room=room.name)
    return room._replace(paused_at=work.now)


def resume(work: Writing, caller: Principal, given: str) -> RoomRow:
    """Ends the pause. Where there is none, it changes nothing. Raises what pause raises."""
    room = _room_to_steer(work, caller, given)
    if room.paused_at is None:
        return room
    store.set_paused(work, room.id, None)
    work.emit("room_resumed", room.team_id, room=room.name)
    return room._replace(paused_at=None)


def _room_to_steer(work: Reading, caller: Principal, given: str) -> RoomRow:
    if not caller.is_operator:
        raise Forbidden(
            "A room is the operator's to pause and to resume: in the browser, or with agents-room on its machine."
        )
    return get_named(work, caller.team_id, given)


def set_cap(work: Writing, caller: Principal, session_id: str | None, given: str | None, level: Level) -> Cap:
    """The room's highest level from now on; raising it brings the sessions' stored levels back.

    Raises Forbidden for anyone but the operator, and what room_meant raises.
    """
    if not caller.is_operator:
        raise Forbidden(
            "A room's cap is the operator's to set: in the browser, or with agents-room on its machine."
        )
    session = handles.visible(work, caller, session_id) if session_id is not None else None
    room = (
        get_named(work, caller.team_id, given)
        if given is not None
        else room_meant(work, caller, session, None)
    )
    store.set_cap(work, room.id, level)
    work.emit("cap_set", room.team_id, room=room.name, autonomy=level.label)
    return Cap(room=room.name, autonomy=level.label)
