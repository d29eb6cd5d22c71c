"""What the page of one room shows: looked up in one reading, then put into words."""

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from agentsroom.core.database import Reading
from agentsroom.core.feed import last_event_id
from agentsroom.rooms.autonomy import Level, effective
from agentsroom.rooms.liveness import UNKNOWN, Judgement
from agentsroom.rooms.service import shown
from agentsroom.rooms.service.rooms import get_named
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
from agentsroom.rooms.store.messages import MessageRow
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


class Counts(NamedTuple):
    """What is in the room: `3 sessions`, `1,842 messages`, `1 live lease`."""

    sessions: str
    messages: str
    leases: str


class Surroundings(NamedTuple):
    """Who and what is in a room now, ready to render."""

    name: RoomName
    counts: Counts
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
    older = rows[0].id if len(newest_first) > PAGE_SIZE else None
    return History(_shown(work, rows, _days_begin(None, rows)), older, before is None)


def new_messages(work: Reading, room: RoomRow, ids: Sequence[int]) -> list[ShownMessage]:
    """Those of the messages that stand in the room's history, oldest first, as they follow what is above them."""
    rows = pages.messages_in_history(work, room.id, ids)
    above = messages.messages_in_room(work, room.id, 1, rows[0].id) if rows else []
    return _shown(work, rows, _days_begin(above[0] if above else None, rows))


def some_messages(work: Reading, room: RoomRow, ids: Sequence[int]) -> list[ShownMessage]:
    """Those of the messages that stand in the room's history, each by itself: none begins a day."""
    rows = pages.messages_in_history(work, room.id, ids)
    return _shown(work, rows, [False] * len(rows))


def _shown(work: Reading, rows: list[MessageRow], days_begin: list[bool]) -> list[ShownMessage]:
    deliveries = pages.named_deliveries_of(work, [row.id for row in rows])
    return [
        shown.message(row, deliveries.get(row.id, []), work.now, begins_day=begins)
        for row, begins in zip(rows, days_begin, strict=True)
    ]


def _days_begin(above: MessageRow | None, rows: list[MessageRow]) -> list[bool]:
    """Whether each row is of another day than the one above it."""
    days = [None if row is None else day_of(row.created_at) for row in (above, *rows)]
    return [day != before for before, day in pairwise(days)]


def present(work: Reading, room: RoomRow) -> Present:
    here = sessions.sessions_in_room(work, room.id)
    caps = pages.lowest_caps_in_room(work, room.id)
    return Present(
        room=sessions.room(work, room.id),
        sessions=here,
        levels={one.id: _level(one, caps).label for one in here},
        leases=leases.live_leases_in_room(work, room.id),
        message_count=pages.count_in_room(work, room.id),
        rooms=sessions.rooms_of_team(work, room.team_id),
        unread=pages.unread_by_room(work, room.team_id),
        now=work.now,
    )


def _level(session: SessionRow, caps: dict[str, int]) -> Level:
    return effective(Level(session.autonomy), [caps[session.id]] if session.id in caps else [])


def surroundings(here: Present, judged: dict[str, Judgement]) -> Surroundings:
    """In words; `judged`: liveness of the room's sessions."""
    return Surroundings(
        name=room_name(here.room.name),
        counts=Counts(
            sessions=counted(len(here.sessions), "session"),
            messages=_count_of_messages(here.message_count),
            leases=counted(len(here.leases), "live lease"),
        ),
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


def _count_of_messages(count: int) -> str:
    return f"{count:,}+ messages" if count == pages.MOST_COUNTED else counted(count, "message")


def _join_command(name: RoomName) -> str:
    """A repository's or folder's room is entered by itself, from within it."""
    return (
        f"agents-room join --room {shlex.quote(name.full)}" if name.kind == "shared" else "agents-room join"
    )


def _link(room: RoomRow, here: Present) -> RoomLink:
    return RoomLink(room_name(room.name), here.unread.get(room.id, 0), room.id == here.room.id)
