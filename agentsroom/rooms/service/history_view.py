"""What a page shows of a room's history: which messages, and how each stands under the one above it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, assert_never

from agentsroom.core.database import Reading
from agentsroom.rooms.errors import UnknownMessage
from agentsroom.rooms.search import message_ids
from agentsroom.rooms.service import shown
from agentsroom.rooms.service.shown import Place, ShownMessage, day_of
from agentsroom.rooms.store import messages, pages, sessions
from agentsroom.rooms.store.messages import MessageRow
from agentsroom.rooms.store.pages import NamedDelivery
from agentsroom.rooms.store.sessions import RoomRow

PAGE_SIZE = 60
MOST_AGAIN = 600
"""So many of the newest messages at most are read again for a page that shows more than one page of them."""
MOST_OF_A_THREAD = 200

View = Literal["newest", "older", "thread", "search"]


class Wanted(NamedTuple):
    """Which part of a room an address shows; one of the first three at most."""

    before: int | None = None
    """Messages older than this one."""
    thread: int | None = None
    """The conversation that this message belongs to."""
    words: str = ""
    """Messages that hold these words."""
    shown_from: int | None = None
    """The oldest message that the page shows already: the newest are read from there on."""

    @property
    def view(self) -> View:
        if self.words:
            return "search"
        if self.thread is not None:
            return "thread"
        return "newest" if self.before is None else "older"


class History(NamedTuple):
    """Messages of a room, oldest first (of a search: newest first); `older` is the `before` of the page above."""

    view: View
    messages: list[ShownMessage]
    older: int | None = None
    wanted: Wanted = Wanted()


def history(work: Reading, room: RoomRow, wanted: Wanted) -> History:
    """Raises UnknownMessage for a thread of a message that is not in the room."""
    match wanted.view:
        case "newest" | "older":
            return _page(work, room, wanted)
        case "thread":
            assert wanted.thread is not None
            rows = pages.thread_in_room(work, room.team_id, room.id, wanted.thread, MOST_OF_A_THREAD)
            if not rows:
                raise UnknownMessage(f"This room has no message {wanted.thread}.", message_id=wanted.thread)
            return History("thread", _shown(work, room, None, rows), wanted=wanted)
        case "search":
            ids = message_ids(work, wanted.words, [room.id], PAGE_SIZE)
            rows = pages.messages_in_history(work, room.id, ids)[::-1]
            return History("search", _shown_alone(work, rows), wanted=wanted)
        case _:
            assert_never(wanted.view)


def _page(work: Reading, room: RoomRow, wanted: Wanted) -> History:
    most = PAGE_SIZE if wanted.shown_from is None else MOST_AGAIN
    found = messages.messages_in_room(work, room.id, most + 1, wanted.before)
    count = _count_again(found, wanted.shown_from)
    rows = found[:count][::-1]
    older = rows[0].id if len(found) > count else None
    return History(wanted.view, _shown(work, room, None, rows), older, wanted)


def _count_again(newest_first: list[MessageRow], shown_from: int | None) -> int:
    """How many of the messages a page shows: down to what it showed before, where that is not too many."""
    again = 0 if shown_from is None else sum(row.id >= shown_from for row in newest_first)
    return max(again, PAGE_SIZE) if again <= MOST_AGAIN else PAGE_SIZE


def new_messages(work: Reading, room: RoomRow, ids: Sequence[int]) -> list[ShownMessage]:
    """Those of the messages that stand in the room's history, oldest first, as they follow what is above them."""
    rows = pages.messages_in_history(work, room.id, ids)
    above = messages.messages_in_room(work, room.id, 1, rows[0].id) if rows else []
    room = sessions.room(work, room.id)  # it may have been paused since the page was opened
    return _shown(work, room, above[0] if above else None, rows)


def some_messages(work: Reading, room: RoomRow, ids: Sequence[int]) -> list[ShownMessage]:
    """Those of the messages that stand in the room's history, each by itself: nothing stands above it."""
    return _shown_alone(work, pages.messages_in_history(work, room.id, ids))


def _shown_alone(work: Reading, rows: list[MessageRow]) -> list[ShownMessage]:
    deliveries = pages.named_deliveries_of(work, [row.id for row in rows])
    return [shown.message(row, deliveries.get(row.id, []), work.now) for row in rows]


def _shown(
    work: Reading, room: RoomRow, above: MessageRow | None, rows: list[MessageRow]
) -> list[ShownMessage]:
    """The messages as they stand under each other, the first of them under `above`."""
    deliveries: dict[int, list[NamedDelivery]] = {}
    for start in range(0, len(rows), pages.MOST_IDS):
        ids = [row.id for row in rows[start : start + pages.MOST_IDS]]
        deliveries |= pages.named_deliveries_of(work, ids)
    return [
        shown.message(row, deliveries.get(row.id, []), work.now, place=_place(over, row, room.paused_at))
        for over, row in pairwise((above, *rows))
        if row is not None
    ]


def _place(above: MessageRow | None, row: MessageRow, paused_at: int | None) -> Place:
    return Place(
        begins_pause=paused_at is not None
        and row.created_at >= paused_at
        and (above is None or above.created_at < paused_at),
        begins_day=above is None or day_of(above.created_at) != day_of(row.created_at),
        continues_thread=above is not None
        and row.reply_to is not None
        and row.reply_to in (above.id, above.reply_to),
    )
