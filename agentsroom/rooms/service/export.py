"""A room's history as JSON Lines, page by page: nothing is open in the store while a reader takes its time."""

from collections.abc import Iterator
from functools import partial

import msgspec

from agentsroom.core.clock import iso
from agentsroom.core.database import Database, Reading
from agentsroom.core.principals import Principal
from agentsroom.rooms.delivery import reached_at, state_at
from agentsroom.rooms.results import MessageInfo
from agentsroom.rooms.service.messages import message_info
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.store import messages, pages
from agentsroom.rooms.store.pages import NamedDelivery
from agentsroom.rooms.store.sessions import RoomRow

_PAGE = 50
_LINE_ENDS_TO_SOME = {
    line_end.encode(): f"\\u{ord(line_end):04x}".encode()
    for line_end in ("\N{LINE SEPARATOR}", "\N{PARAGRAPH SEPARATOR}")
}
"""JSON lets them stand in a text, and some readers end a line there."""


class ExportedDelivery(msgspec.Struct):
    """How far a message got with one recipient."""

    recipient: str
    label: str | None
    state: str
    at: str


class Exported(MessageInfo, kw_only=True):
    """A message as room_history gives it, and its deliveries."""

    deliveries: list[ExportedDelivery]


def room_to_export(work: Reading, caller: Principal, name: str) -> tuple[RoomRow, int]:
    """The room, and the newest message of its history (0 when there is none). Raises UnknownRoom or InvalidArgument."""
    room = get_named(work, caller.team_id, name)
    newest = messages.messages_in_room(work, room.id, 1)
    return room, newest[0].id if newest else 0


def exported_lines(database: Database, room: RoomRow, last: int) -> Iterator[bytes]:
    """Some lines at a time, oldest message first, up to the message `last`; each page in a reading of its own."""
    after = 0
    while after < last:
        page = database.read(partial(_page, room=room, after=after, last=last))
        if not page:
            return
        after = page[-1].message_id
        yield b"".join(map(_line, page))


def _page(work: Reading, room: RoomRow, after: int, last: int) -> list[Exported]:
    rows = messages.messages_in_room_after(work, room.id, after, last, _PAGE)
    deliveries = pages.named_deliveries_of(work, [row.id for row in rows])
    return [
        Exported(
            **msgspec.structs.asdict(message_info(row)),
            deliveries=[_delivery(one, work.now) for one in deliveries.get(row.id, [])],
        )
        for row in rows
    ]


def _delivery(named: NamedDelivery, now: int) -> ExportedDelivery:
    row = named.delivery
    state = state_at(row.state, row.expires_at, now)
    at = iso(reached_at(row.state_at, row.expires_at, state))
    return ExportedDelivery(row.recipient_id, named.recipient_label, state.value, at)


def _line(message: Exported) -> bytes:
    encoded = msgspec.json.encode(message)
    for line_end, escaped in _LINE_ENDS_TO_SOME.items():
        encoded = encoded.replace(line_end, escaped)
    return encoded + b"\n"
