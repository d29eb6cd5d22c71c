"""What the overseer does: writing to one room. The person at the browser alone is the overseer."""

from msgspec import UNSET, structs

from agentsroom.core.database import Database, Writing
from agentsroom.core.errors import Forbidden, InvalidArgument
from agentsroom.core.principals import Principal
from agentsroom.core.settings import Settings
from agentsroom.core.text import refused_character
from agentsroom.rooms.machine import Machine
from agentsroom.rooms.results import Sent
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.service.sending import (
    LIMITS,
    Draft,
    FromOverseer,
    Reached,
    reached,
    send,
    send_warning,
)


def write_to_room(database: Database, machine: Machine, caller: Principal, room: str, draft: Draft) -> Sent:
    """Sends to sessions of that room; the answer is that of msg_send, with its warning.

    Raises Forbidden for anyone but the admin, UnknownRoom, and what `send` raises.
    """
    waiting = machine.who_waits()
    sent, message = database.write(lambda work: _send(work, caller, room, draft))
    judged = machine.liveness_of(message.recipients, fresh=False)
    return structs.replace(sent, warning=send_warning(draft.to, message, judged, waiting) or UNSET)


def _send(work: Writing, caller: Principal, room: str, draft: Draft) -> tuple[Sent, Reached]:
    if caller.kind != "admin":
        raise Forbidden("Only the admin, in the browser, writes as the overseer.")
    _check(draft, work.settings)
    sent = send(work, caller, FromOverseer(get_named(work, caller.team_id, room)), draft)
    return sent, reached(work, sent.message_id)


def _check(draft: Draft, settings: Settings) -> None:
    """The same limits as msg_send has. Raises InvalidArgument."""
    given = {name: value for name, value in draft._asdict().items() if value is not None}
    found = {
        name: (isinstance(value, str) and refused_character(value)) or _beyond(name, value, settings)
        for name, value in given.items()
    }
    if problems := {name: problem for name, problem in found.items() if problem}:
        raise InvalidArgument(problems)


def _beyond(name: str, value: str | int, settings: Settings) -> str | None:
    if isinstance(value, int) and value < 1:
        return f"{value} came; a whole number from 1 on is taken"
    return LIMITS[name].problem(value, settings) if name in LIMITS else None
