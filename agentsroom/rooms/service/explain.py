"""Why a message is where it is: per recipient its state, and what stands in the way of the next."""

from typing import NamedTuple

from msgspec import UNSET

from agentsroom.access.store import find_agent
from agentsroom.core.clock import iso
from agentsroom.core.database import Reading
from agentsroom.core.principals import Principal
from agentsroom.rooms.autonomy import Level, effective
from agentsroom.rooms.delivery import UNREAD, State, reached_at, rests, state_at
from agentsroom.rooms.errors import UnknownMessage
from agentsroom.rooms.liveness import UNKNOWN, Judgement
from agentsroom.rooms.overseer import OVERSEER
from agentsroom.rooms.results import Explained, Obstacle, StayReason
from agentsroom.rooms.selectors import Holders, Overseer, Tagged, parse_selector
from agentsroom.rooms.store import messages, sessions
from agentsroom.rooms.store.messages import DeliveryRow, MessageRow
from agentsroom.rooms.store.sessions import SessionRow


class Because(NamedTuple):
    reason: StayReason
    explanation: str


def known_recipients(
    work: Reading, caller: Principal, session: SessionRow | None, message_id: int
) -> list[SessionRow]:
    """The recipients that are still known, for the scan that `explain` is given.

    Raises UnknownMessage for anyone but sender, recipients and the admin.
    """
    _check_party(work, caller, session, message_id)
    return sessions.recipients_of(work, message_id)


def _check_party(work: Reading, caller: Principal, session: SessionRow | None, message_id: int) -> None:
    message = messages.find_message(work, caller.team_id, message_id)
    is_party = (
        message is not None
        and session is not None
        and (
            message.sender_id == session.id
            or messages.find_delivery(work, message_id, session.id) is not None
        )
    )
    if message is None or not (is_party or (session is None and caller.kind == "admin")):
        raise UnknownMessage(
            f"message_id: no message {message_id} that you sent or were sent.", message_id=message_id
        )


def explain(work: Reading, caller: Principal, message_id: int, judged: dict[str, Judgement]) -> Explained:
    """Each recipient's state and obstacle; `judged`: liveness of the recipients that are still known."""
    recipients = [_obstacle(work, one, judged) for one in messages.deliveries_of(work, message_id)]
    message = messages.find_message(work, caller.team_id, message_id)
    nobody = _nobody_found(work, message) if message is not None and not recipients else UNSET
    return Explained(message_id=message_id, recipients=recipients, explanation=nobody)


def _nobody_found(work: Reading, message: MessageRow) -> str:
    rooms = messages.rooms_of_message(work, message.id)
    if not rooms:
        return f"The sender was in no room at {iso(message.created_at)}, so {message.selector} found nobody."
    match parse_selector(message.selector):
        case Tagged(tag):
            what = f"session with the tag {tag}"
        case Holders(glob):
            what = f"session with a live lease on {glob}"
        case Overseer():
            return f"The overseer, a person at the browser, reads it in the history of {', '.join(rooms)}."
        case _:
            what = "session"
    where = (
        f"in {rooms[0]}" if message.sender_id == OVERSEER else f"in the sender's rooms, {', '.join(rooms)}"
    )
    other = "" if message.sender_id == OVERSEER else "other "
    return (
        f"{message.selector} found nobody: at {iso(message.created_at)} no {other}{what} was {where}. "
        "Who came later finds the message in their history alone."
    )


def _obstacle(work: Reading, delivery: DeliveryRow, judged: dict[str, Judgement]) -> Obstacle:
    recipient = sessions.find_session(work, delivery.recipient_id)
    state = state_at(delivery.state, delivery.expires_at, work.now)
    because = _because(work, delivery, recipient, state, judged)
    return Obstacle(
        recipient=delivery.recipient_id,
        label=recipient.label if recipient else None,
        state=state.value,
        since=iso(reached_at(delivery.state_at, delivery.expires_at, state)),
        reason=because.reason,
        explanation=because.explanation,
    )


def _because(
    work: Reading,
    delivery: DeliveryRow,
    recipient: SessionRow | None,
    state: State,
    judged: dict[str, Judgement],
) -> Because:
    if state is State.EXPIRED:
        return Because("expired", "Its time ran out before the body was taken.")
    if state not in UNREAD:
        return Because("none", "The recipient has it.")
    if recipient is not None and find_agent(work, recipient.agent_id) is None:
        return Because("left", f"The agent {recipient.agent_id} was deleted, and its sessions left with it.")
    if recipient is None or recipient.left_at is not None:
        return Because("left", "The recipient has left; joining with the same harness key brings it back.")
    if judged.get(recipient.id, UNKNOWN).liveness == "gone":
        return Because(
            "gone", "The recipient's process no longer runs; the message waits until it comes back."
        )
    return _because_of_rooms(work, delivery, recipient)


def _because_of_rooms(work: Reading, delivery: DeliveryRow, recipient: SessionRow) -> Because:
    present = sessions.rooms_of(work, recipient.id)
    rooms = messages.rooms_of_message(work, delivery.message_id)
    common = [room for room in present if room.name in rooms]
    if not common:
        return Because(
            "wrong_room", "The recipient is in none of the message's rooms any more; msg_recv still gives it."
        )
    if rests([room.paused_at for room in common]):
        names = ", ".join(room.name for room in common)
        return Because("paused", f"Paused by the overseer: {names}. No signal goes out; msg_recv gives it.")
    caps = [room.cap for room in present if room.cap is not None]
    level = effective(Level(recipient.autonomy), caps)
    if level is Level.WAKE:
        return Because(
            "no_lever", "Its harness has no lever that could start a turn; msg_recv gives the message."
        )
    if recipient.autonomy > level:
        room = next(one.name for one in present if one.cap == level)
        return Because(
            "cap", f"It joined at {Level(recipient.autonomy).label}, but the cap of {room} is {level.label}."
        )
    return Because("autonomy", f"Its level is {level.label}: it takes the message at its own next msg_recv.")
