"""Writes down what nobody else would: that a session's process ended, that the time of a lease or a message is over.

It waits for the processes themselves and for the next moment that counts; nothing is looked at again and again.
For a process whose standard library is patched by gevent (serve.py).
"""

import logging
import os
from collections.abc import Iterable
from functools import partial

import gevent
from gevent.socket import wait_read

from agentsroom.core.clock import DAY, SECOND
from agentsroom.core.database import Reading
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.feed import CLOSED, RESYNC, FeedEvent, Subscription
from agentsroom.core.platform import exit_descriptor
from agentsroom.rooms.service import presence
from agentsroom.rooms.store import leases, messages, sessions
from agentsroom.rooms.store.sessions import SessionRow
from agentsroom.runtime import Runtime

_CONCERNS = frozenset({"session_joined", "lease_claimed", "message_sent"})
_SOON_S = 0.05
"""A moment is over when the clock says so: the hub's timer may be a little early."""
_AFTER_FAILURE_S = 5.0

_logger = logging.getLogger(__name__)


class Vigil:
    """Of one server: over the sessions of its machine, and over time."""

    def __init__(self, runtime: Runtime) -> None:
        self._database = runtime.database
        self._machine = runtime.machine
        self._feed = runtime.feed
        self._watched: dict[str, gevent.Greenlet[..., None]] = {}
        """Each session whose process is waited for."""

    def start(self) -> None:
        """From now on, until the feed is closed."""
        subscription = self._feed.subscribe(lambda event: event.kind in _CONCERNS)
        gevent.spawn(self._keep, subscription)

    def _keep(self, subscription: Subscription) -> None:
        with subscription:
            event: FeedEvent | None = RESYNC  # everything is looked at once
            while event is not CLOSED:
                try:
                    self._take(event)
                    event = subscription.next(self._until_next_end())
                except AgentsRoomError as error:
                    event = subscription.next(_later(error))
                    event = event if event is CLOSED else RESYNC  # what failed is not known any more
        gevent.killall(list(self._watched.values()))

    def _take(self, event: FeedEvent | None) -> None:
        """None: a time is over."""
        if event is None or event is RESYNC:
            self._database.write(presence.end_what_expired)
        if event is RESYNC:
            self._watch(self._database.read(self._here))
        elif event is not None and event.kind == "session_joined":
            joined = self._database.read(partial(sessions.find_session, session_id=event.data["session"]))
            self._watch([joined] if joined is not None else [])

    def _here(self, work: Reading) -> list[SessionRow]:
        return [one for one in sessions.present_sessions(work) if self._machine.is_host_of(one)]

    def _until_next_end(self) -> float:
        """Seconds until a lease or an unread message ends; a day where none does."""
        ends = self._database.read(lambda work: (leases.next_end(work), messages.next_end(work)))
        now = self._database.clock.now()
        first = min((end for end in ends if end is not None), default=now + DAY)
        return max(0.0, min(first - now, DAY) / SECOND) + _SOON_S

    def _watch(self, rows: Iterable[SessionRow]) -> None:
        """Waits for the process of each session that lives here and is not waited for yet."""
        new = [one for one in rows if one.id not in self._watched and self._machine.is_host_of(one)]
        for session_id, judgement in self._machine.liveness_of(new, fresh=False).items():
            if judgement.pid is not None:
                self._watched[session_id] = gevent.spawn(self._wait, session_id, judgement.pid)

    def _wait(self, session_id: str, pid: int) -> None:
        try:
            has_ended = _wait_for_end(pid)
        finally:
            del self._watched[session_id]
        if not has_ended:
            return
        while delay_s := self._note(session_id):
            gevent.sleep(delay_s)

    def _note(self, session_id: str) -> float:
        """Of a session whose process ended; in how many seconds it has to be tried again, 0 where it was done."""
        try:
            row = self._database.read(partial(sessions.find_session, session_id=session_id))
            if row is None or row.left_at is not None:
                return 0
            if self._machine.liveness_of([row])[session_id].liveness == "gone":
                self._database.write(partial(presence.note_gone, session_id=session_id))
            else:
                self._watch([row])  # another process has its key
        except AgentsRoomError as error:
            return _later(error)
        return 0


def _wait_for_end(pid: int) -> bool:
    """Whether the process has ended, as soon as it has; False at once where nobody tells."""
    try:
        descriptor = exit_descriptor(pid)
    except ProcessLookupError:  # between the look at it and now
        return True
    if descriptor is None:
        return False
    try:
        wait_read(descriptor)
    finally:
        os.close(descriptor)
    return True


def _later(error: AgentsRoomError) -> float:
    """Such as a store that is busy, or can't be written for now; in how many seconds it is to be tried again."""
    _logger.warning("what ended is not written down yet: %s", error)
    return _AFTER_FAILURE_S
