"""Queries that only the browser's pages ask: many rooms or deliveries at once; returns rows, decides nothing."""

from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, func, or_, select

from agentsroom.core.database import Reading
from agentsroom.core.query import Query
from agentsroom.rooms.models import UNREAD, Delivery, Lease, Membership, Message, MessageRoom, Room, Session
from agentsroom.rooms.store.messages import DeliveryRow, MessageRow
from agentsroom.rooms.store.sessions import SessionRow


class NamedDelivery(NamedTuple):
    """A delivery, and what people call its recipient: None where it was pruned or never had a label."""

    delivery: DeliveryRow
    recipient_label: str | None


_is_present = and_(Membership.left_at.is_(None), Session.left_at.is_(None))
_may_still_be_read = or_(Delivery.expires_at.is_(None), Delivery.expires_at > bindparam("now"))
_named_delivery: Select[Any] = select(
    *(getattr(Delivery, name) for name in DeliveryRow._fields), Session.label
).outerjoin(Session, Session.id == Delivery.recipient_id)

_NAMED_DELIVERIES_OF = Query(
    _named_delivery.where(Delivery.message_id == bindparam("message")).order_by(Delivery.recipient_id)
)
_NAMED_DELIVERIES_IN = Query(
    _named_delivery.join(MessageRoom, MessageRoom.message_id == Delivery.message_id)
    .where(
        MessageRoom.room_id == bindparam("room"),
        MessageRoom.message_id >= bindparam("oldest"),
        MessageRoom.message_id <= bindparam("newest"),
    )
    .order_by(Delivery.message_id, Delivery.recipient_id)
)
_PRESENT_BY_ROOM = Query(
    select(Membership.room_id, *(getattr(Session, name) for name in SessionRow._fields))
    .join(Session, Session.id == Membership.session_id)
    .where(Session.team_id == bindparam("team"), _is_present)
    .order_by(Membership.room_id, Session.joined_at, Session.id)
)
_newest = (
    select(MessageRoom.room_id, func.max(MessageRoom.message_id).label("message_id"))
    .group_by(MessageRoom.room_id)
    .subquery()
)
_LAST_MESSAGES = Query(
    select(_newest.c.room_id, *(getattr(Message, name) for name in MessageRow._fields))
    .join(Message, Message.id == _newest.c.message_id)
    .where(Message.team_id == bindparam("team"))
)
_LEASE_HOLDERS = Query(
    select(Membership.room_id, Lease.session_id)
    .join(Lease, Lease.session_id == Membership.session_id)
    .where(
        Membership.left_at.is_(None),
        Lease.team_id == bindparam("team"),
        Lease.released_at.is_(None),
        Lease.expires_at > bindparam("now"),
    )
)
_UNREAD_BY_ROOM = Query(
    select(MessageRoom.room_id, func.count())
    .join(Delivery, Delivery.message_id == MessageRoom.message_id)
    .join(Room, Room.id == MessageRoom.room_id)
    .where(Room.team_id == bindparam("team"), UNREAD, _may_still_be_read)
    .group_by(MessageRoom.room_id)
)
_IN_ROOM = Query(
    select(MessageRoom.message_id).where(
        MessageRoom.room_id == bindparam("room"), MessageRoom.message_id == bindparam("message")
    )
)


def named_deliveries_of(work: Reading, message_id: int) -> list[NamedDelivery]:
    return [_named(row) for row in work.rows(_NAMED_DELIVERIES_OF, message=message_id)]


def named_deliveries_in_room(work: Reading, room_id: int, oldest: int, newest: int) -> list[NamedDelivery]:
    """Deliveries of the room's messages from the id `oldest` to `newest`."""
    rows = work.rows(_NAMED_DELIVERIES_IN, room=room_id, oldest=oldest, newest=newest)
    return [_named(row) for row in rows]


def present_by_room(work: Reading, team_id: str) -> dict[int, list[SessionRow]]:
    """The id of each room of the team that somebody is in → who is in it."""
    present: dict[int, list[SessionRow]] = {}
    for room_id, *session in work.rows(_PRESENT_BY_ROOM, team=team_id):
        present.setdefault(room_id, []).append(SessionRow(*session))
    return present


def last_message_by_room(work: Reading, team_id: str) -> dict[int, MessageRow]:
    return {room_id: MessageRow(*message) for room_id, *message in work.rows(_LAST_MESSAGES, team=team_id)}


def lease_holders_by_room(work: Reading, team_id: str) -> dict[int, list[str]]:
    """The id of each room → the holder's id of each live lease in it."""
    holders: dict[int, list[str]] = {}
    for room_id, session_id in work.rows(_LEASE_HOLDERS, team=team_id, now=work.now):
        holders.setdefault(room_id, []).append(session_id)
    return holders


def unread_by_room(work: Reading, team_id: str) -> dict[int, int]:
    """The id of each room with unread deliveries → how many."""
    rows = work.rows(_UNREAD_BY_ROOM, team=team_id, now=work.now)
    return {room_id: int(count) for room_id, count in rows}


def is_in_history(work: Reading, room_id: int, message_id: int) -> bool:
    return work.row(_IN_ROOM, room=room_id, message=message_id) is not None


def _named(row: tuple[Any, ...]) -> NamedDelivery:
    *delivery, label = row
    return NamedDelivery(DeliveryRow(*delivery), label)
