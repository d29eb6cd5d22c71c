"""What the page of one room shows: looked up in one reading, then put into words."""

import shlex
from itertools import pairwise
from typing import NamedTuple

from agentsroom.core.database import Reading
from agentsroom.core.feed import last_event_id
from agentsroom.rooms.autonomy import Level
from agentsroom.rooms.liveness import UNKNOWN, Judgement
from agentsroom.rooms.service import shown
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.service.sessions import level_of
from agentsroom.rooms.service.shown import (
    RoomName,
    ShownLease,
    ShownMessage,
    ShownSession,
    counted,
    day_of,
    room_name,
)
from agentsroom.rooms.store import leases, messages, pages, sessions
from agentsroom.rooms.store.leases import HeldRow
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

PAGE_SIZE = 60


class History(NamedTuple):
    """A page of a room's messages, oldest first; `older` is the `before` of the page above, `is_newest` of none below."""

    messages: list[ShownMessage]
    older: int | None
    is_newest: bool


class Present(NamedTuple):
    """Who and what is in a room now, as rows."""

    room: RoomRow
    sessions: list[SessionRow]
    levels: dict[str, str]
    leases: list[HeldRow]
    message_count: int
    rooms: list[RoomRow]
    unread: dict[int, int]
    now: int


class RoomLink(NamedTuple):
    """A room in the list of rooms."""

    name: RoomName
    unread: int
    is_here: bool


class Surroundings(NamedTuple):
    """Who and what is in a room now, ready to render."""

    name: RoomName
    summary: list[str]
    cap: str | None
    join_command: str
    sessions: list[ShownSession]
    leases: list[ShownLease]
    rooms: dict[str, list[RoomLink]]


def look(work: Reading, team_id: str, name: str, before: int | None) -> tuple[History, Present, int]:
    """The history page, what surrounds it, and the newest event that both of them know.

    Raises UnknownRoom.
    """
    room = get_named(work, team_id, name)
    return history(work, room, before), present(work, room), last_event_id(work)


def history(work: Reading, room: RoomRow, before: int | None) -> History:
    newest_first = messages.messages_in_room(work, room.id, PAGE_SIZE + 1, before)
    rows = newest_first[:PAGE_SIZE][::-1]
    if not rows:
        return History([], None, before is None)
    deliveries = pages.named_deliveries_in_room(work, room.id, rows[0].id, rows[-1].id)
    begins = [True, *(day_of(a.created_at) != day_of(b.created_at) for a, b in pairwise(rows))]
    found = [
        shown.message(
            row, [one for one in deliveries if one.delivery.message_id == row.id], work.now, begins_day=begin
        )
        for row, begin in zip(rows, begins, strict=True)
    ]
    return History(found, rows[0].id if len(newest_first) > PAGE_SIZE else None, before is None)


def one_message(work: Reading, room: RoomRow, message_id: int) -> ShownMessage | None:
    """A message of the room as its history shows it; None when it is none of the room."""
    row = messages.find_message(work, room.team_id, message_id)
    if row is None or not pages.is_in_history(work, room.id, message_id):
        return None
    earlier = messages.messages_in_room(work, room.id, 1, message_id)
    begins_day = not earlier or day_of(earlier[0].created_at) != day_of(row.created_at)
    deliveries = pages.named_deliveries_of(work, message_id)
    return shown.message(row, deliveries, work.now, begins_day=begins_day)


def present(work: Reading, room: RoomRow) -> Present:
    here = sessions.sessions_in_room(work, room.id)
    return Present(
        room=sessions.room(work, room.id),
        sessions=here,
        levels={one.id: level_of(work, one.id, one.autonomy).label for one in here},
        leases=leases.live_leases_in_room(work, room.id),
        message_count=messages.count_in_room(work, room.id),
        rooms=sessions.rooms_of_team(work, room.team_id),
        unread=pages.unread_by_room(work, room.team_id),
        now=work.now,
    )


def surroundings(here: Present, judged: dict[str, Judgement]) -> Surroundings:
    """In words; `judged`: liveness of the room's sessions."""
    return Surroundings(
        name=room_name(here.room.name),
        summary=[
            counted(len(here.sessions), "session"),
            counted(here.message_count, "message"),
            counted(len(here.leases), "live lease"),
        ],
        cap=None if here.room.cap is None else Level(here.room.cap).label,
        join_command=_join_command(room_name(here.room.name)),
        sessions=[
            shown.session(one, here.levels[one.id], judged.get(one.id, UNKNOWN), here.now)
            for one in here.sessions
        ],
        leases=[shown.lease(one, judged, here.now) for one in here.leases],
        rooms={
            title: [_link(one, here) for one in rooms] for title, rooms in shown.by_kind(here.rooms).items()
        },
    )


def _join_command(name: RoomName) -> str:
    """A repository's or folder's room is entered by itself, from within it."""
    return (
        f"agents-room join --room {shlex.quote(name.full)}" if name.kind == "shared" else "agents-room join"
    )


def _link(room: RoomRow, here: Present) -> RoomLink:
    return RoomLink(room_name(room.name), here.unread.get(room.id, 0), room.id == here.room.id)
