"""Sessions of legacy MCP clients over HTTP: whose they are, what they agreed on, what is under way in them."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.ids import random_base62
from agentsroom.gateways import jsonrpc, rpc

MOST_SESSIONS = 10_000
MOST_OF_ONE = 1_000
"""Sessions of one key."""


class SessionMissing(AgentsRoomError):
    """A request of a legacy client names no session."""

    code, status = "session_missing", 400


class SessionUnknown(AgentsRoomError):
    """The session has ended, is another's, or was of a server that restarted: initialize again."""

    code, status = "session_unknown", 404


@dataclass
class Position:
    """How far a client was told of the feed's events."""

    event_id: int = 0


@dataclass
class HttpSession:
    """One session."""

    owner: str
    """Hash of the key that opened it; with any other it is unknown."""
    id: str = field(default_factory=lambda: random_base62(32))
    agreed: rpc.Agreement = field(default_factory=rpc.Agreement)
    position: Position = field(default_factory=Position)
    _under_way: dict[jsonrpc.RequestId, Callable[[], None]] = field(default_factory=dict)
    """How each of its calls that wait is cancelled."""
    _asked: dict[str, Future[dict[str, Any] | None]] = field(default_factory=dict)
    """What we asked the client, by our ids."""
    _end_stream: Callable[[], None] | None = None
    """Ends its GET stream, if it has one."""

    @property
    def has_stream(self) -> bool:
        return self._end_stream is not None

    def check_unused(self, id: jsonrpc.RequestId) -> None:
        """Raises Refused while a call of that id waits."""
        if id in self._under_way:
            raise jsonrpc.in_use(id)

    def begin(self, id: jsonrpc.RequestId, cancel: Callable[[], None]) -> None:
        """A call waits from now on. Raises Refused while another of that id does."""
        if self._under_way.setdefault(id, cancel) is not cancel:
            raise jsonrpc.in_use(id)

    def finish(self, id: jsonrpc.RequestId) -> None:
        """The call that began has ended."""
        self._under_way.pop(id, None)

    def cancel(self, id: jsonrpc.RequestId) -> None:
        """The client wants no answer to that request any more."""
        if cancel := self._under_way.get(id):
            cancel()

    def expect(self, id: str) -> Future[dict[str, Any] | None]:
        """What the client will answer to a request of ours; `settle` it in the end."""
        return self._asked.setdefault(id, Future())

    def settle(self, id: jsonrpc.RequestId | None, result: dict[str, Any] | None) -> None:
        """The client's answer, or None for none; one that nobody waits for is dropped."""
        waiting = self._asked.pop(id, None) if isinstance(id, str) else None
        if waiting is not None:
            waiting.set_result(result)

    def begin_stream(self, end: Callable[[], None]) -> None:
        """It has one GET stream: the one before ends, so that no change is told twice."""
        before, self._end_stream = self._end_stream, end
        if before is not None:
            before()

    def finish_stream(self, end: Callable[[], None]) -> None:
        """The stream that began so has ended; nothing happens if another began since."""
        if self._end_stream is end:
            self._end_stream = None

    def end(self) -> None:
        """Everything under way in it ends."""
        for cancel in list(self._under_way.values()):
            cancel()
        if self._end_stream is not None:
            self._end_stream()


class HttpSessions:
    """All sessions of this process."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        """By id; the one that was silent for longest first."""
        self._guard = threading.Lock()

    def keep(self, session: HttpSession) -> None:
        """It is known from now on. Where there are too many, one makes room: of the same key, or of whose key has most."""
        with self._guard:
            excess = None if session.id in self._sessions else self._excess(session.owner)
            if excess is not None:
                del self._sessions[excess.id]
            self._sessions[session.id] = session
        if excess is not None:
            excess.end()

    def _excess(self, owner: str) -> HttpSession | None:
        """What must make room for one more of this owner: silent for longest, rather one without a stream."""
        counts = Counter(one.owner for one in self._sessions.values())
        if counts[owner] < MOST_OF_ONE:
            if len(self._sessions) < MOST_SESSIONS:
                return None
            owner = counts.most_common(1)[0][0]
        own = [one for one in self._sessions.values() if one.owner == owner]
        return next((one for one in own if not one.has_stream), own[0])

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
