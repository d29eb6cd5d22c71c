"""Messages: receiving, acknowledging, and looking at what was sent."""

from collections import Counter

from agentsroom.core.clock import iso, iso_or_none
from agentsroom.core.database import Reading, Writing
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.rooms.delivery import UNREAD, State, can_move, state_at
from agentsroom.rooms.errors import (
    NotRecipient,
    UnknownMessage,
)
from agentsroom.rooms.liveness import Judgement
from agentsroom.rooms.results import Found, History, Inbox, MessageInfo, Received, SentInfo, SentList
from agentsroom.rooms.search import message_ids
from agentsroom.rooms.service import rooms
from agentsroom.rooms.store import messages as store
from agentsroom.rooms.store import sessions as session_store
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.sessions import RoomRow, SessionRow

BODIES_BYTES = 100_000
"""About as much text as one answer carries."""


def receive(work: Writing, session: SessionRow, limit: int) -> Received:
    """What is unread, oldest first, marked read."""
    waiting = store.unread_messages(work, session.id, limit + 1)
    taken = within_budget(waiting[:limit])
    if not taken:
        return Received(messages=[], more=False)
    ids = [message.id for message in taken]
    store.move_deliveries(work, ids, session.id, State.READ)
    work.emit("messages_read", session.team_id, session=session.id, messages=ids)
    return Received(messages=[message_info(one) for one in taken], more=len(taken) < len(waiting))


def within_budget(messages: list[MessageRow]) -> list[MessageRow]:
    """The first messages whose bodies are about BODIES_BYTES together; at least one."""
    taken: list[MessageRow] = []
    size = 0
    for message in messages:
        size += len(message.body.encode())
        if taken and size > BODIES_BYTES:
            break
        taken.append(message)
    return taken


def inbox(work: Reading, session: SessionRow) -> Inbox:
    """What tells a session that has read all from one that sits in the wrong room."""
    row = store.inbox(work, session.id)
    return Inbox(
        rooms=[room.name for room in session_store.rooms_of(work, session.id)],
        deliveries=row.deliveries,
        read=row.read,
        last_created_at=iso_or_none(row.last_created_at),
    )


def acknowledge(work: Writing, session: SessionRow, message_id: int) -> None:
    """Implies that it was read; a second time changes nothing. Raises UnknownMessage or NotRecipient."""
    message = store.find_visible_message(work, session.id, message_id)
    if message is None:
        raise UnknownMessage(f"message_id: you see no message {message_id}.", message_id=message_id)
    delivery = store.find_delivery(work, message_id, session.id)
    if delivery is None:
        raise NotRecipient(f"The message {message_id} was not sent to you.", message_id=message_id)
    if can_move(state_at(delivery.state, delivery.expires_at, work.now), State.ACKED):
        store.move_delivery(work, message_id, session.id, State.ACKED)
        work.emit("message_acked", session.team_id, session=session.id, message=message_id)


def sent(work: Reading, session: SessionRow, limit: int, judged: dict[str, Judgement]) -> SentList:
    """The session's messages, newest first, with how far each got; `judged`: liveness of the unread recipients."""
    messages = store.sent_messages(work, session.id, limit)
    if not messages:
        return SentList(messages=[])
    deliveries = store.deliveries_sent_by(work, session.id, messages[-1].id)
    states: dict[int, Counter[str]] = {message.id: Counter() for message in messages}
    left: Counter[int] = Counter()
    for delivery in deliveries:
        state = state_at(delivery.state, delivery.expires_at, work.now)
        states[delivery.message_id][state.value] += 1
        judgement = judged.get(delivery.recipient_id)
        if state in UNREAD and (judgement is None or judgement.liveness == "gone"):
            left[delivery.message_id] += 1
    return SentList(
        messages=[_sent_info(message, states[message.id], left[message.id]) for message in messages]
    )


def _sent_info(message: MessageRow, states: Counter[str], left: int) -> SentInfo:
    return SentInfo(
        message_id=message.id,
        to=message.selector,
        subject=message.subject,
        states=dict(states),
        pending=sum(states[state.value] for state in UNREAD),
        left=left,
        sent=iso(message.created_at),
        expires_at=iso_or_none(message.expires_at),
    )


def unread_recipients(work: Reading, session: SessionRow, limit: int) -> list[SessionRow]:
    """Recipients, still joined, who have not read one of the session's newest messages."""
    messages = store.sent_messages(work, session.id, limit)
    if not messages:
        return []
    ids = {
        delivery.recipient_id
        for delivery in store.deliveries_sent_by(work, session.id, messages[-1].id)
        if state_at(delivery.state, delivery.expires_at, work.now) in UNREAD
    }
    found = [session_store.find_session(work, one) for one in sorted(ids)]
    return [one for one in found if one is not None and one.left_at is None]


def history(work: Reading, room: RoomRow, limit: int, before: int | None) -> History:
    """A page of the room's messages, newest first; `next` is the `before` of the page that follows."""
    found = store.messages_in_room(work, room.id, limit + 1, before)
    page = within_budget(found[:limit])
    following = page[-1].id if len(page) < len(found) else None
    return History(room=room.name, messages=[message_info(one) for one in page], next=following)


def search(
    work: Reading,
    caller: Principal,
    session: SessionRow | None,
    given: str | None,
    query: str,
    limit: int,
) -> Found:
    """Messages that hold the words, newest first: of one room, else of all rooms that the asker sees.

    Raises InvalidArgument for an empty query, and what room_meant raises.
    """
    if not query.strip():
        raise InvalidArgument({"query": "is empty; the words to look for are taken"})
    if given is not None:
        seen = [rooms.room_meant(work, caller, session, given)]
    elif session is not None:
        seen = session_store.rooms_of(work, session.id)
    else:
        seen = rooms.rooms_seen_by(work, caller)
    ids = message_ids(work, query, [room.id for room in seen], limit)
    found = [store.find_message(work, caller.team_id, one) for one in ids]
    return Found(
        messages=[message_info(one) for one in within_budget([one for one in found if one is not None])]
    )


def message_info(message: MessageRow) -> MessageInfo:
    """What agents are given of a message."""
    return MessageInfo(
        message_id=message.id,
        sender=message.sender_id,
        sender_label=message.sender_label,
        to=message.selector,
        subject=message.subject,
        body=message.body,
        reply_to=message.reply_to,
        created_at=iso(message.created_at),
        expires_at=iso_or_none(message.expires_at),
    )
