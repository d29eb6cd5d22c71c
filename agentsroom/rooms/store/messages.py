"""Queries on messages, their deliveries, the rooms' histories and idempotent calls; returns rows, decides nothing."""

from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, delete, func, insert, or_, select, update

from agentsroom.core.database import Reading, Writing
from agentsroom.core.query import Query
from agentsroom.rooms.delivery import State
from agentsroom.rooms.models import UNREAD, Delivery, IdempotentCall, Membership, Message, MessageRoom, Room


class MessageRow(NamedTuple):
    id: int
    team_id: str
    sender_id: str
    sender_label: str | None
    selector: str
    subject: str
    body: str
    reply_to: int | None
    created_at: int
    expires_at: int | None


class DeliveryRow(NamedTuple):
    message_id: int
    recipient_id: str
    state: str
    state_at: int
    expires_at: int | None


class InboxRow(NamedTuple):
    deliveries: int
    read: int
    last_created_at: int | None


class ExpiredRow(NamedTuple):
    message_id: int
    team_id: str


_message: Select[Any] = select(*(getattr(Message, name) for name in MessageRow._fields))
_delivery: Select[Any] = select(*(getattr(Delivery, name) for name in DeliveryRow._fields))
_unread = and_(
    UNREAD,
    or_(Delivery.expires_at.is_(None), Delivery.expires_at > bindparam("now")),
)
_visible_to = or_(
    Message.sender_id == bindparam("session"),
    select(1)
    .where(Delivery.message_id == Message.id, Delivery.recipient_id == bindparam("session"))
    .correlate(Message)
    .exists(),
    select(1)
    .where(
        MessageRoom.message_id == Message.id,
        MessageRoom.room_id == Membership.room_id,
        Membership.session_id == bindparam("session"),
        Membership.left_at.is_(None),
    )
    .correlate(Message)
    .exists(),
)

_INSERT_MESSAGE = Query(
    insert(Message)
    .values({name: bindparam(name) for name in MessageRow._fields if name != "id"})
    .returning(Message.id)
)
_INSERT_DELIVERY = Query(insert(Delivery), DeliveryRow._fields)
_INSERT_MESSAGE_ROOM = Query(insert(MessageRoom), ("room_id", "message_id"))

_MESSAGE = Query(_message.where(Message.id == bindparam("id"), Message.team_id == bindparam("team")))
_VISIBLE_MESSAGE = Query(_message.where(Message.id == bindparam("id"), _visible_to))
_NEWEST = Query(select(func.max(Message.id)))
_UNREAD_MESSAGES = Query(
    _message.join(Delivery, Delivery.message_id == Message.id)
    .where(Delivery.recipient_id == bindparam("session"), Delivery.message_id > bindparam("after"), _unread)
    .order_by(Delivery.message_id)
    .limit(bindparam("limit"))
)
_COUNT_UNREAD = Query(
    select(func.count()).select_from(Delivery).where(Delivery.recipient_id == bindparam("session"), _unread)
)
_INBOX = Query(
    select(Delivery.state, func.count(), func.max(Delivery.message_id))
    .where(Delivery.recipient_id == bindparam("session"))
    .group_by(Delivery.state)
)
_CREATED_AT = Query(select(Message.created_at).where(Message.id == bindparam("id")))
_SENT = Query(
    _message.where(Message.sender_id == bindparam("session"))
    .order_by(Message.id.desc())
    .limit(bindparam("limit"))
)
_HISTORY = Query(
    _message.join(MessageRoom, MessageRoom.message_id == Message.id)
    .where(MessageRoom.room_id == bindparam("room"), MessageRoom.message_id < bindparam("before"))
    .order_by(MessageRoom.message_id.desc())
    .limit(bindparam("limit"))
)
_ONWARDS = Query(
    _message.join(MessageRoom, MessageRoom.message_id == Message.id)
    .where(
        MessageRoom.room_id == bindparam("room"),
        MessageRoom.message_id > bindparam("after"),
        MessageRoom.message_id <= bindparam("last"),
    )
    .order_by(MessageRoom.message_id)
    .limit(bindparam("limit"))
)
_COUNT_IN_ROOM = Query(
    select(func.count()).select_from(MessageRoom).where(MessageRoom.room_id == bindparam("room"))
)
_ROOMS_OF_MESSAGE = Query(
    select(Room.name)
    .join(MessageRoom, MessageRoom.room_id == Room.id)
    .where(MessageRoom.message_id == bindparam("message"))
    .order_by(Room.id)
)
_PAUSED_ROOMS_OF_MESSAGE = Query(
    select(Room.name)
    .join(MessageRoom, MessageRoom.room_id == Room.id)
    .where(MessageRoom.message_id == bindparam("message"), Room.paused_at.is_not(None))
    .order_by(Room.id)
)
_COMMON_ROOMS = Query(
    select(Delivery.recipient_id, Room.paused_at)
    .join(Membership, and_(Membership.session_id == Delivery.recipient_id, Membership.left_at.is_(None)))
    .join(
        MessageRoom,
        and_(MessageRoom.room_id == Membership.room_id, MessageRoom.message_id == Delivery.message_id),
    )
    .join(Room, Room.id == MessageRoom.room_id)
    .where(Delivery.message_id == bindparam("message"))
)
_PLACE = Query(
    select(1).where(MessageRoom.room_id == bindparam("room"), MessageRoom.message_id == bindparam("message"))
)
_DELIVERIES = Query(
    _delivery.where(Delivery.message_id == bindparam("message")).order_by(Delivery.recipient_id)
)
_DELIVERIES_SENT_BY = Query(
    _delivery.join(Message, Message.id == Delivery.message_id).where(
        Message.sender_id == bindparam("session"), Message.id >= bindparam("oldest")
    )
)
_DELIVERIES_IN_ROOM = Query(
    _delivery.join(MessageRoom, MessageRoom.message_id == Delivery.message_id)
    .where(
        MessageRoom.room_id == bindparam("room"),
        MessageRoom.message_id >= bindparam("oldest"),
        MessageRoom.message_id <= bindparam("newest"),
    )
    .order_by(Delivery.message_id, Delivery.recipient_id)
)
_DELIVERY = Query(
    _delivery.where(
        Delivery.message_id == bindparam("message"), Delivery.recipient_id == bindparam("session")
    )
)
_MOVE = Query(
    update(Delivery)
    .where(Delivery.message_id == bindparam("message"), Delivery.recipient_id == bindparam("session"))
    .values(state=bindparam("to"), state_at=bindparam("at"))
)
_NEXT_END = Query(select(func.min(Delivery.expires_at)).where(Delivery.expires_at.is_not(None), UNREAD))
_EXPIRED = Query(
    select(Delivery.message_id, Message.team_id)
    .join(Message, Message.id == Delivery.message_id)
    .where(
        Delivery.expires_at.is_not(None),
        Delivery.expires_at <= bindparam("now"),
        UNREAD,
    )
)
_EXPIRE = Query(
    update(Delivery)
    .where(
        Delivery.expires_at.is_not(None),
        Delivery.expires_at <= bindparam("now"),
        UNREAD,
    )
    .values(state=State.EXPIRED.value, state_at=Delivery.expires_at)
)

_IDEMPOTENT = Query(
    select(IdempotentCall.arguments_hash, IdempotentCall.result).where(
        IdempotentCall.session_id == bindparam("session"),
        IdempotentCall.tool == bindparam("tool"),
        IdempotentCall.key == bindparam("key"),
        IdempotentCall.created_at > bindparam("since"),
    )
)
_FORGET_IDEMPOTENT = Query(
    delete(IdempotentCall).where(
        IdempotentCall.session_id == bindparam("session"),
        IdempotentCall.tool == bindparam("tool"),
        IdempotentCall.key == bindparam("key"),
    )
)
_INSERT_IDEMPOTENT = Query(
    insert(IdempotentCall), ("session_id", "tool", "key", "arguments_hash", "result", "created_at")
)
_DELETE_IDEMPOTENT_BEFORE = Query(
    delete(IdempotentCall).where(IdempotentCall.created_at <= bindparam("moment"))
)
_TEAMS_WITH_MESSAGES_BEFORE = Query(
    select(Message.team_id).where(Message.created_at < bindparam("moment")).distinct()
)
_DELETE_MESSAGES_BEFORE = Query(delete(Message).where(Message.created_at < bindparam("moment")))

_BEYOND_EVERY_ID = 2**53


def insert_message(work: Writing, message: MessageRow, recipients: list[str], rooms: list[int]) -> int:
    """Stores the message, a stored delivery for each recipient and its place in each room; its id.

    The `id` of `message` is not looked at.
    """
    fields = message._asdict()
    del fields["id"]
    row = work.row(_INSERT_MESSAGE, **fields)
    assert row is not None
    message_id = int(row[0])
    deliveries = [
        DeliveryRow(message_id, recipient, State.STORED.value, work.now, message.expires_at)
        for recipient in recipients
    ]
    work.run_each(_INSERT_DELIVERY, [one._asdict() for one in deliveries])
    work.run_each(_INSERT_MESSAGE_ROOM, [{"room_id": one, "message_id": message_id} for one in rooms])
    return message_id


def find_message(work: Reading, team_id: str, message_id: int) -> MessageRow | None:
    row = work.row(_MESSAGE, id=message_id, team=team_id)
    return MessageRow(*row) if row else None


def find_visible_message(work: Reading, session_id: str, message_id: int) -> MessageRow | None:
    """A message that the session sent or got, or that stands in a room which it is in."""
    row = work.row(_VISIBLE_MESSAGE, id=message_id, session=session_id)
    return MessageRow(*row) if row else None


def find_newest_message_id(work: Reading) -> int | None:
    """Of all teams; None where there is no message."""
    newest: int | None = work.value(_NEWEST)
    return newest


def unread_messages(work: Reading, session_id: str, limit: int, after: int = 0) -> list[MessageRow]:
    """Oldest first."""
    rows = work.rows(_UNREAD_MESSAGES, session=session_id, after=after, now=work.now, limit=limit)
    return [MessageRow(*row) for row in rows]


def count_unread(work: Reading, session_id: str) -> int:
    return int(work.value(_COUNT_UNREAD, session=session_id, now=work.now))


def inbox(work: Reading, session_id: str) -> InboxRow:
    """Counted by state, in the index alone."""
    counts = {state: (count, newest) for state, count, newest in work.rows(_INBOX, session=session_id)}
    newest = max((newest for _, newest in counts.values()), default=None)
    created = work.row(_CREATED_AT, id=newest) if newest is not None else None
    return InboxRow(
        deliveries=sum(count for count, _ in counts.values()),
        read=sum(counts.get(state.value, (0, 0))[0] for state in (State.READ, State.ACKED)),
        last_created_at=created[0] if created else None,
    )


def sent_messages(work: Reading, session_id: str, limit: int) -> list[MessageRow]:
    """Newest first."""
    return [MessageRow(*row) for row in work.rows(_SENT, session=session_id, limit=limit)]


def messages_in_room(work: Reading, room_id: int, limit: int, before: int | None = None) -> list[MessageRow]:
    """Newest first, those with a smaller id than `before`."""
    rows = work.rows(_HISTORY, room=room_id, before=before or _BEYOND_EVERY_ID, limit=limit)
    return [MessageRow(*row) for row in rows]


def messages_in_room_after(
    work: Reading, room_id: int, after: int, last: int, limit: int
) -> list[MessageRow]:
    """Oldest first, those with a greater id than `after`, up to the id `last`."""
    rows = work.rows(_ONWARDS, room=room_id, after=after, last=last, limit=limit)
    return [MessageRow(*row) for row in rows]


def count_in_room(work: Reading, room_id: int) -> int:
    return int(work.value(_COUNT_IN_ROOM, room=room_id))


def rooms_of_message(work: Reading, message_id: int) -> list[str]:
    """Names of the rooms whose history it is in."""
    return [row[0] for row in work.rows(_ROOMS_OF_MESSAGE, message=message_id)]


def paused_rooms_of_message(work: Reading, message_id: int) -> list[str]:
    """Names of the rooms whose history it is in and that are paused."""
    return [row[0] for row in work.rows(_PAUSED_ROOMS_OF_MESSAGE, message=message_id)]


def pauses_by_recipient(work: Reading, message_id: int) -> dict[str, list[int | None]]:
    """Each recipient that is in a room of the message → `paused_at` of each such room."""
    pauses: dict[str, list[int | None]] = {}
    for recipient, paused_at in work.rows(_COMMON_ROOMS, message=message_id):
        pauses.setdefault(recipient, []).append(paused_at)
    return pauses


def is_in_history(work: Reading, message_id: int, room_id: int) -> bool:
    """Whether the message stands in the room's history."""
    return work.row(_PLACE, message=message_id, room=room_id) is not None


def deliveries_of(work: Reading, message_id: int) -> list[DeliveryRow]:
    return [DeliveryRow(*row) for row in work.rows(_DELIVERIES, message=message_id)]


def deliveries_sent_by(work: Reading, session_id: str, oldest: int) -> list[DeliveryRow]:
    """Deliveries of the session's messages from the id `oldest` on."""
    return [DeliveryRow(*row) for row in work.rows(_DELIVERIES_SENT_BY, session=session_id, oldest=oldest)]


def find_delivery(work: Reading, message_id: int, session_id: str) -> DeliveryRow | None:
    row = work.row(_DELIVERY, message=message_id, session=session_id)
    return DeliveryRow(*row) if row else None


def move_delivery(work: Writing, message_id: int, session_id: str, to: State) -> None:
    work.run(_MOVE, message=message_id, session=session_id, to=to.value, at=work.now)


def move_deliveries(work: Writing, message_ids: list[int], session_id: str, to: State) -> None:
    given = {"session": session_id, "to": to.value, "at": work.now}
    work.run_each(_MOVE, [{"message": one, **given} for one in message_ids])


def next_end(work: Reading) -> int | None:
    """When the first of the unread deliveries expires; None when none does."""
    end: int | None = work.value(_NEXT_END)
    return end


def expired_deliveries(work: Reading) -> list[ExpiredRow]:
    """Unread deliveries whose time is over and whose row does not say so yet."""
    return [ExpiredRow(*row) for row in work.rows(_EXPIRED, now=work.now)]


def expire_deliveries(work: Writing) -> None:
    """Writes down what expired_deliveries told."""
    work.run(_EXPIRE, now=work.now)


def find_idempotent_call(
    work: Reading, session_id: str, tool: str, key: str, since: int
) -> tuple[str, str] | None:
    """(hash of the arguments, result as JSON) of a call made after `since`."""
    row = work.row(_IDEMPOTENT, session=session_id, tool=tool, key=key, since=since)
    return (row[0], row[1]) if row else None


def remember_call(
    work: Writing, session_id: str, tool: str, key: str, arguments_hash: str, result: str
) -> None:
    work.run(_FORGET_IDEMPOTENT, session=session_id, tool=tool, key=key)
    work.run(
        _INSERT_IDEMPOTENT,
        session_id=session_id,
        tool=tool,
        key=key,
        arguments_hash=arguments_hash,
        result=result,
        created_at=work.now,
    )


def delete_idempotent_calls_before(work: Writing, moment: int) -> int:
    return work.run(_DELETE_IDEMPOTENT_BEFORE, moment=moment)


def teams_with_messages_before(work: Reading, moment: int) -> list[str]:
    return [row[0] for row in work.rows(_TEAMS_WITH_MESSAGES_BEFORE, moment=moment)]


def delete_messages_before(work: Writing, moment: int) -> int:
    """With their deliveries and places in rooms (ON DELETE CASCADE)."""
    return work.run(_DELETE_MESSAGES_BEFORE, moment=moment)
