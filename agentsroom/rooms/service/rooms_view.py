"""What the page of all rooms shows: looked up in one reading, then put into words."""

from typing import NamedTuple

from agentsroom.core.database import Reading
from agentsroom.core.feed import last_event_id
from agentsroom.core.text import counted
from agentsroom.rooms.liveness import Judgement
from agentsroom.rooms.service import shown
from agentsroom.rooms.service.shown import Moment, RoomName, moment, room_name
from agentsroom.rooms.store import pages, sessions
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.sessions import RoomRow, SessionRow


class Sight(NamedTuple):
    """The team's rooms and what is in them, as rows; each dict by the room's id."""

    team_id: str
    rooms: list[RoomRow]
    present: dict[int, list[SessionRow]]
    last: dict[int, MessageRow]
    holders: dict[int, dict[int, str]]
    unread: dict[int, int]
    unread_in_all: int
    last_event: int

    @property
    def sessions(self) -> list[SessionRow]:
        """Everybody who is in a room, each once."""
        return list({one.id: one for here in self.present.values() for one in here}.values())


class LastMessage(NamedTuple):
    text: str
    sender: str
    at: Moment


class RoomLine(NamedTuple):
    """A room in the tables."""

    name: RoomName
    is_paused: bool
    alive: int
    unknown: int
    sessions: int
    last: LastMessage | None
    leases: int
    leases_of_gone: int
    unread: int


class RoomsView(NamedTuple):
    """The rooms, in a table for each kind."""

    tables: dict[str, list[RoomLine]]
    summary: str
    last_event: int


def look(work: Reading, team_id: str) -> Sight:
    return Sight(
        team_id=team_id,
        rooms=sessions.rooms_of_team(work, team_id),
        present=pages.present_by_room(work, team_id),
        last=pages.last_message_by_room(work, team_id),
        holders=pages.lease_holders_by_room(work, team_id),
        unread=pages.unread_by_room(work, team_id),
        unread_in_all=pages.count_unread(work, team_id),
        last_event=last_event_id(work),
    )


def view(sight: Sight, judged: dict[str, Judgement]) -> RoomsView:
    """In words; `judged`: liveness of the sessions."""
    tables = {
        title: [_line(room, sight, judged) for room in rooms]
        for title, rooms in shown.by_kind(sight.rooms).items()
    }
    held = {lease for here in sight.holders.values() for lease in here}  # one may be in several rooms
    counts = [
        counted(len(sight.rooms), "room"),
        f"{counted(sight.unread_in_all, 'message waits', 'messages wait')} to be read",
        counted(len(held), "live lease"),
    ]
    return RoomsView(tables, f"Team {sight.team_id}. {', '.join(counts)}.", sight.last_event)


def _line(room: RoomRow, sight: Sight, judged: dict[str, Judgement]) -> RoomLine:
    here = sight.present.get(room.id, [])
    holders = sight.holders.get(room.id, {}).values()
    last = sight.last.get(room.id)
    return RoomLine(
        name=room_name(room.name),
        is_paused=room.paused_at is not None,
        alive=sum(judged[one.id].liveness == "alive" for one in here),
        unknown=sum(judged[one.id].liveness == "unknown" for one in here),
        sessions=len(here),
        last=None if last is None else _last(last),
        leases=len(holders),
        leases_of_gone=sum(one in judged and judged[one].liveness == "gone" for one in holders),
        unread=sight.unread.get(room.id, 0),
    )


def _last(message: MessageRow) -> LastMessage:
    text = message.subject or next(filter(None, map(str.strip, message.body.splitlines())), "")
    return LastMessage(text[:200], message.sender_label or message.sender_id, moment(message.created_at))
