"""Waiting for mail: looks, and looks again only when a message for the session was sent; holds no transaction."""

import time

from agentsroom.core.database import Database, Reading
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.feed import CLOSED, CallFeed, Feed, FeedEvent
from agentsroom.rooms.results import Waited
from agentsroom.rooms.service.messages import message_info, within_budget
from agentsroom.rooms.store import messages as store

DEFAULT_TIMEOUT_S = 25
_MOST_MESSAGES = 20


def wait_for_mail(
    database: Database, feed: Feed | CallFeed, session_id: str, timeout_s: float, after: int
) -> Waited:
    """Unread messages with a greater id than `after`, oldest first, as soon as there are any; marks nothing.

    Empty when `timeout_s` passed without one, or the call was cancelled. `cursor` is the `after` of the next wait.

    Raises Stopping when there is none and the feed was closed, and InvalidArgument for an `after` that no wait gave.
    """
    if after:
        database.read(lambda work: _check_cursor(work, after))
    deadline = time.monotonic() + timeout_s
    with feed.subscribe(lambda event: _concerns(event, session_id)) as subscription:
        while True:
            found = database.read(lambda work: _look(work, session_id, after))
            remaining = deadline - time.monotonic()
            if found.messages:
                return found
            if remaining <= 0:
                feed.check_open()
                return found
            if subscription.next(remaining) in (None, CLOSED):
                deadline = 0  # one last look, at the very end


def _concerns(event: FeedEvent, session_id: str) -> bool:
    return event.kind == "message_sent" and session_id in event.data["recipients"]


def _check_cursor(work: Reading, after: int) -> None:
    newest = store.find_newest_message_id(work)
    if newest is not None and after > newest:
        raise InvalidArgument(
            {
                "after": f"{after} came, and no message has such an id yet; the cursor of a msg_wait is taken, or nothing"
            }
        )


def _look(work: Reading, session_id: str, after: int) -> Waited:
    found = within_budget(store.unread_messages(work, session_id, _MOST_MESSAGES, after))
    return Waited(messages=[message_info(one) for one in found], cursor=found[-1].id if found else after)
