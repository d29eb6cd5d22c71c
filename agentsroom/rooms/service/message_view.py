"""What the page of one message shows: the message, the rooms that it stands in, and why it is where it is."""

from datetime import datetime
from typing import NamedTuple

from msgspec import UNSET

from agentsroom.core.clock import SECOND
from agentsroom.core.database import Reading
from agentsroom.core.principals import Principal
from agentsroom.rooms.errors import UnknownMessage
from agentsroom.rooms.liveness import Judgement
from agentsroom.rooms.results import Obstacle
from agentsroom.rooms.service import explain, shown
from agentsroom.rooms.service.shown import Moment, ShownMessage, moment
from agentsroom.rooms.store import messages, pages
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.sessions import SessionRow


class ShownObstacle(NamedTuple):
    """One recipient: how far the message got, since when, and what stands in the way."""

    recipient: str
    state: str
    since: Moment
    explanation: str


class MessageView(NamedTuple):
    message: ShownMessage
    rooms: list[str]
    recipients: list[ShownObstacle]
    nobody: str | None
    """Why it found nobody."""


def get_message(work: Reading, caller: Principal, message_id: int) -> MessageRow:
    """Raises UnknownMessage."""
    found = messages.find_message(work, caller.team_id, message_id)
    if found is None:
        raise UnknownMessage(f"The team {caller.team_id} has no message {message_id}.", message_id=message_id)
    return found


def recipients(work: Reading, caller: Principal, message_id: int) -> list[SessionRow]:
    """Those that are still known, for the scan that `look` is given. Raises UnknownMessage."""
    get_message(work, caller, message_id)
    return explain.known_recipients(work, caller, None, message_id)


def look(work: Reading, caller: Principal, message_id: int, judged: dict[str, Judgement]) -> MessageView:
    """`judged`: liveness of the recipients. Raises UnknownMessage."""
    row = get_message(work, caller, message_id)
    deliveries = pages.named_deliveries_of(work, [message_id]).get(message_id, [])
    explained = explain.explain(work, caller, message_id, judged)
    return MessageView(
        message=shown.message(row, deliveries, work.now, is_whole=True),
        rooms=messages.rooms_of_message(work, message_id),
        recipients=[_shown(one) for one in explained.recipients],
        nobody=None if explained.explanation is UNSET else explained.explanation,
    )


def _shown(obstacle: Obstacle) -> ShownObstacle:
    since = moment(round(datetime.fromisoformat(obstacle.since).timestamp() * SECOND))
    return ShownObstacle(obstacle.label or obstacle.recipient, obstacle.state, since, obstacle.explanation)
