"""A room as a program follows it: which events tell of its messages, and what is told of each."""

from agentsroom.core.database import Database
from agentsroom.core.feed import FeedEvent
from agentsroom.core.principals import Principal
from agentsroom.rooms.results import MessageInfo
from agentsroom.rooms.service.messages import message_info
from agentsroom.rooms.service.rooms import room_meant
from agentsroom.rooms.store.messages import find_message
from agentsroom.rooms.store.sessions import RoomRow

_MAY_END_SIGHT = frozenset({"room_left", "session_left", "session_pruned"})


class FollowedRoom:
    """A room that the caller may see: the operator any of the team, an agent those that a session of it is in."""

    def __init__(self, database: Database, caller: Principal, given: str) -> None:
        """Raises InvalidArgument, UnknownRoom, or NotInRoom: what room_history raises without a session."""
        self._database = database
        self._caller = caller
        self._given = given
        self._room = self._look()
        self.name = self._room.name

    def _look(self) -> RoomRow:
        return self._database.read(lambda work: room_meant(work, self._caller, None, self._given))

    def check(self) -> None:
        """Raises what making it does, unless the caller still sees the room."""
        self._look()

    def wants(self, event: FeedEvent) -> bool:
        """Whether the event tells of a message of the room, or may end the caller's sight of it; asks nobody."""
        if event.team_id != self._room.team_id:
            return False
        return self.has_message(event) or self.may_end_sight(event)

    def has_message(self, event: FeedEvent) -> bool:
        """Whether it tells of a message of the room."""
        return event.kind == "message_sent" and self.name in event.data["rooms"]

    def may_end_sight(self, event: FeedEvent) -> bool:
        """Whether the caller may see the room no more after it."""
        return event.kind in _MAY_END_SIGHT and not self._caller.is_operator


def told(database: Database, team_id: str, message_id: int) -> MessageInfo | None:
    """What is told of a message; None where it was removed since."""
    row = database.read(lambda work: find_message(work, team_id, message_id))
    return None if row is None else message_info(row)
