"""Sessions of legacy MCP clients over HTTP: whose they are, what they agreed on, what is under way in them."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.ids import random_base62
from agentsroom.gateways import jsonrpc, rpc

MOST_SESSIONS = 10_000
MOST_OF_ONE = 1_000
"""Sessions of one key; the one that was silent for longest makes room."""


class SessionMissing(AgentsRoomError):
    """A request of a legacy client names no session."""

    code, status = "session_missing", 400


class SessionUnknown(AgentsRoomError):
    """The session has ended, is another's, or was of a server that restarted: initialize again."""

    code, status = "session_unknown", 404


@dataclass
class Cursor:
    """How far a client was told of the feed's events."""

    event_id: int = 0


@dataclass
class HttpSession:
    """One session."""

    owner: str
    """Hash of the key that opened it; with any other it is unknown."""
    id: str = field(default_factory=lambda: random_base62(32))
    agreed: rpc.Session = field(default_factory=rpc.Session)
    under_way: dict[jsonrpc.RequestId, Callable[[], None]] = field(default_factory=dict)
    """How each of its requests is cancelled."""
    asked: dict[str, Future[dict[str, Any] | None]] = field(default_factory=dict)
    """What we asked the client, by our ids."""
    cursor: Cursor = field(default_factory=Cursor)
    end_stream: Callable[[], None] | None = None
    """Ends its GET stream, if it has one."""

    def take(self, response: jsonrpc.Response) -> None:
        """The client's answer to a request of ours; one that nobody waits for is dropped."""
        waiting = self.asked.pop(response.id, None) if isinstance(response.id, str) else None
        if waiting is not None:
            waiting.set_result(response.result)

    def cancel(self, id: jsonrpc.RequestId) -> None:
        """The client wants no answer to that request any more."""
        if cancel := self.under_way.get(id):
            cancel()

    def replace_stream(self, end: Callable[[], None]) -> None:
        """It has one GET stream: the one before ends, so that no change is told twice."""
        before, self.end_stream = self.end_stream, end
        if before is not None:
            before()

    def end(self) -> None:
        """Everything under way in it ends."""
        for cancel in list(self.under_way.values()):
            cancel()
        if self.end_stream is not None:
            self.end_stream()


class HttpSessions:
    """All sessions of this process."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._guard = threading.Lock()

    def keep(self, session: HttpSession) -> None:
        """It is known from now on; what was silent for longest may make room."""
        with self._guard:
            ended = [] if session.id in self._sessions else self._in_excess(session.owner)
            self._sessions[session.id] = session
        for one in ended:
            one.end()

    def _in_excess(self, owner: str) -> list[HttpSession]:
        """Takes out what must make room for one more of this owner."""
        own = [one for one in self._sessions.values() if one.owner == owner]
        excess = own[:1] if len(own) >= MOST_OF_ONE else []
        if not excess and len(self._sessions) >= MOST_SESSIONS:
            excess = [next(iter(self._sessions.values()))]
        for one in excess:
            del self._sessions[one.id]
        return excess

    def find(self, id: str | None, owner: str) -> HttpSession | None:
        with self._guard:
            session = self._sessions.get(id or "")
            if session is None or session.owner != owner:
                return None
            self._sessions.move_to_end(session.id)
            return session

    def get(self, id: str | None, owner: str) -> HttpSession:
        """Raises SessionMissing or SessionUnknown."""
        if id is None:
            raise SessionMissing(
                "The request names no session.", hint="Send initialize, then MCP-Session-Id."
            )
        session = self.find(id, owner)
        if session is None:
            raise SessionUnknown("There is no such session.", hint="Send initialize for a new one.")
        return session

    def end(self, session: HttpSession) -> None:
        with self._guard:
            self._sessions.pop(session.id, None)
        session.end()
