"""Queries that only the browser's pages ask: many rooms or deliveries at once; returns rows, decides nothing."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select
from sqlalchemy.orm import aliased

from agentsroom.core.database import Reading
from agentsroom.core.query import Query
from agentsroom.rooms.models import (
    UNREAD,
    Delivery,
    Lease,
    Membership,
    Message,
    MessageRoom,
    Room,
    Session,
    SessionTag,
)
from agentsroom.rooms.store.messages import DeliveryRow, MessageRow
from agentsroom.rooms.store.sessions import SessionRow


class NamedDelivery(NamedTuple):
    """A delivery, and what people call its recipient: None where it was pruned or never had a label."""

    delivery: DeliveryRow
    recipient_label: str | None


MOST_IDS = 100
"""As many messages are asked for by their ids at once."""
MOST_COUNTED = 10_000
"""A room's messages are counted up to here: counting all of them takes ever longer."""

_is_present = and_(Membership.left_at.is_(None), Session.left_at.is_(None))
_may_still_be_read = or_(Delivery.expires_at.is_(None), Delivery.expires_at > bindparam("now"))
_places = tuple(f"id_{number}" for number in range(MOST_IDS))
"""Parameters for MOST_IDS ids: one prepared statement whatever their number."""

_NAMED_DELIVERIES_OF = Query(
    select(*(getattr(Delivery, name) for name in DeliveryRow._fields), Session.label)
    .outerjoin(Session, Session.id == Delivery.recipient_id)
    .where(Delivery.message_id.in_([bindparam(place) for place in _places]))
    .order_by(Delivery.message_id, Delivery.recipient_id)
)
_IN_HISTORY = Query(
    select(*(getattr(Message, name) for name in MessageRow._fields))
    .join(MessageRoom, MessageRoom.message_id == Message.id)
    .where(
        MessageRoom.room_id == bindparam("room"),
        MessageRoom.message_id.in_([bindparam(place) for place in _places]),
    )
    .order_by(Message.id)
)
_earlier = (
    select(Message.id, Message.reply_to)
    .where(Message.id == bindparam("message"), Message.team_id == bindparam("team"))
    .cte("earlier", recursive=True)
)
_earlier = _earlier.union(
    select(Message.id, Message.reply_to)
    .join(_earlier, Message.id == _earlier.c.reply_to)
    .where(Message.team_id == bindparam("team"))
)
_FIRST_OF_THREAD = Query(select(func.min(_earlier.c.id)))
_thread = select(Message.id).where(Message.id == bindparam("first")).cte("thread", recursive=True)
_thread = _thread.union(select(Message.id).join(_thread, Message.reply_to == _thread.c.id))
_THREAD_IN_ROOM = Query(
    select(*(getattr(Message, name) for name in MessageRow._fields))
    .join(_thread, _thread.c.id == Message.id)
    .join(MessageRoom, MessageRoom.message_id == Message.id)
    .where(MessageRoom.room_id == bindparam("room"))
    .order_by(Message.id)
    .limit(bindparam("limit"))
)
_COUNT_IN_ROOM = Query(
    select(func.count()).select_from(
        select(MessageRoom.message_id)
        .where(MessageRoom.room_id == bindparam("room"))
        .limit(bindparam("most"))
        .subquery()
    )
)
_PRESENT_BY_ROOM = Query(
    select(Membership.room_id, *(getattr(Session, name) for name in SessionRow._fields))
    .join(Session, Session.id == Membership.session_id)
    .where(Session.team_id == bindparam("team"), _is_present)
    .order_by(Membership.room_id, Session.joined_at, Session.id)
)
_TAGS_IN_ROOM = Query(
    select(SessionTag.tag)
    .distinct()
    .join(Membership, Membership.session_id == SessionTag.session_id)
    .join(Session, Session.id == SessionTag.session_id)
    .where(Membership.room_id == bindparam("room"), _is_present)
    .order_by(SessionTag.tag)
)
_also_in = aliased(Membership)
_LOWEST_CAPS = Query(
    select(Membership.session_id, func.min(Room.cap))
    .join(_also_in, and_(_also_in.session_id == Membership.session_id, _also_in.left_at.is_(None)))
    .join(Room, Room.id == _also_in.room_id)
    .where(Membership.room_id == bindparam("room"), Membership.left_at.is_(None), Room.cap.is_not(None))
    .group_by(Membership.session_id)
)
_newest_of_room = (
    select(func.max(MessageRoom.message_id)).where(MessageRoom.room_id == Room.id).scalar_subquery()
)
_LAST_MESSAGES = Query(
    select(Room.id, *(getattr(Message, name) for name in MessageRow._fields))
    .join(Message, Message.id == _newest_of_room)
    .where(Room.team_id == bindparam("team"))
)
_LEASE_HOLDERS = Query(
    select(Membership.room_id, Lease.id, Lease.session_id)
    .join(Lease, Lease.session_id == Membership.session_id)
    .where(
        Membership.left_at.is_(None),
        Lease.team_id == bindparam("team"),
        Lease.released_at.is_(None),
        Lease.expires_at > bindparam("now"),
    )
)
# Materialized one by one: else SQLite goes through all of a room's messages to find the few that are unread.
_unread = (
    select(Delivery.message_id)
    .join(Session, Session.id == Delivery.recipient_id)
    .where(UNREAD, _may_still_be_read, Session.team_id == bindparam("team"), Session.left_at.is_(None))
    .cte("unread")
    .prefix_with("MATERIALIZED")
)
_unread_in = (
    select(MessageRoom.room_id)
    .join(_unread, _unread.c.message_id == MessageRoom.message_id)
    .cte("unread_in")
    .prefix_with("MATERIALIZED")
)
_UNREAD_BY_ROOM = Query(
    select(_unread_in.c.room_id, func.count())
    .join(Room, Room.id == _unread_in.c.room_id)
    .where(Room.team_id == bindparam("team"))
    .group_by(_unread_in.c.room_id)
)
_COUNT_UNREAD = Query(select(func.count()).select_from(_unread))


def named_deliveries_of(work: Reading, message_ids: Sequence[int]) -> dict[int, list[NamedDelivery]]:
    """The id of each of the messages (up to MOST_IDS) that has deliveries → these."""
    found: dict[int, list[NamedDelivery]] = {}
    for *delivery, label in work.rows(_NAMED_DELIVERIES_OF, **_placed(message_ids)):
        named = NamedDelivery(DeliveryRow(*delivery), label)
        found.setdefault(named.delivery.message_id, []).append(named)
    return found


def messages_in_history(work: Reading, room_id: int, message_ids: Sequence[int]) -> list[MessageRow]:
    """Those of the messages (up to MOST_IDS) that stand in the room's history, oldest first."""
    return [MessageRow(*row) for row in work.rows(_IN_HISTORY, room=room_id, **_placed(message_ids))]


def thread_in_room(
    work: Reading, team_id: str, room_id: int, message_id: int, limit: int
) -> list[MessageRow]:
    """The conversation that the message belongs to, as far as it stands in the room's history, oldest first."""
    first = work.value(_FIRST_OF_THREAD, message=message_id, team=team_id)
    if first is None:
        return []
    return [MessageRow(*row) for row in work.rows(_THREAD_IN_ROOM, first=first, room=room_id, limit=limit)]


def count_in_room(work: Reading, room_id: int) -> int:
    """How many messages its history has; MOST_COUNTED when there are more."""
    return int(work.value(_COUNT_IN_ROOM, room=room_id, most=MOST_COUNTED))


def present_by_room(work: Reading, team_id: str) -> dict[int, list[SessionRow]]:
    """The id of each room of the team that somebody is in → who is in it."""
    present: dict[int, list[SessionRow]] = {}
    for room_id, *session in work.rows(_PRESENT_BY_ROOM, team=team_id):
        present.setdefault(room_id, []).append(SessionRow(*session))
    return present


def tags_in_room(work: Reading, room_id: int) -> list[str]:
    """Each tag of a session that is in the room, once."""
    return [row[0] for row in work.rows(_TAGS_IN_ROOM, room=room_id)]


def lowest_caps_in_room(work: Reading, room_id: int) -> dict[str, int]:
    """The id of each member of the room that is in a room with a cap → the lowest cap of its rooms."""
    return {session_id: int(cap) for session_id, cap in work.rows(_LOWEST_CAPS, room=room_id)}


def last_message_by_room(work: Reading, team_id: str) -> dict[int, MessageRow]:
    return {room_id: MessageRow(*message) for room_id, *message in work.rows(_LAST_MESSAGES, team=team_id)}


def lease_holders_by_room(work: Reading, team_id: str) -> dict[int, dict[int, str]]:
    """The id of each room → the id of each live lease in it → its holder's id."""
    holders: dict[int, dict[int, str]] = {}
    for room_id, lease_id, session_id in work.rows(_LEASE_HOLDERS, team=team_id, now=work.now):
        holders.setdefault(room_id, {})[lease_id] = session_id
    return holders


def count_unread(work: Reading, team_id: str) -> int:
    """How many deliveries wait for sessions that have not left."""
    return int(work.value(_COUNT_UNREAD, team=team_id, now=work.now))


def unread_by_room(work: Reading, team_id: str) -> dict[int, int]:
    """The id of each room whose messages wait for sessions that have not left → how many deliveries."""
    rows = work.rows(_UNREAD_BY_ROOM, team=team_id, now=work.now)
    return {room_id: int(count) for room_id, count in rows}


def _placed(ids: Sequence[int]) -> dict[str, int]:
    """A value for each place; the places that are left over name nothing."""
    assert len(ids) <= MOST_IDS
    return {place: ids[number] if number < len(ids) else 0 for number, place in enumerate(_places)}
