"""Our own client over HTTP: asks a tool, follows a stream, and outlasts a server that is away or starts again.

By the standard library alone, so that no command needs more to ask a server that runs.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, NamedTuple

import msgspec

from agentsroom.core.errors import AgentsRoomError, Conflict, Forbidden, NotFound, Unauthenticated
from agentsroom.core.sse import EventTooLong, SseEvent, SseParser

SILENCE_S = 45.0
"""After so long without a byte a connection is given up: a server that lives says so every 15 s."""
DELAYS_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Before the first try again, the second, … and each after the last."""
LONGEST_S = 300.0
"""No server keeps us away for longer."""

_READ_BYTES = 65_536
_ERRORS: dict[int, type[AgentsRoomError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
}


class NotUnderstood(AgentsRoomError):
    """What answered is no server of ours, or one of another release."""

    code, status = "not_understood", 502
    usual_hint = (
        "Look at what listens there; agents-room doctor, on the machine of the server, may tell more."
    )


class Address(NamedTuple):
    """Where a server is, and what lets us in."""

    host: str
    port: int
    token: str


Find = Callable[[], Address | None]
"""Where the server is now, which may have started again since; None while there is none."""


class Away(Exception):
    """The server can't be asked now; `after_s`: how long it wants to be left alone."""

    def __init__(self, reason: str, after_s: float = 0) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Patience:
    """Waits between two tries: ever longer, and never all clients at the same moment."""

    def __init__(
        self,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        tell: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        """`chance`: 0 up to 1. `tell` is given why the first try failed, and None once one works again."""
        self._sleep = sleep
        self._chance = chance
        self._tell = tell
        self._tries = 0

    def wait(self, reason: str, at_least_s: float) -> None:
        """Before the next try."""
        if self._tries == 0:
            self._tell(reason)
        delay = DELAYS_S[min(self._tries, len(DELAYS_S) - 1)]
        self._tries += 1
        chance = self._chance()
        self._sleep(max(delay * (0.75 + chance / 2), min(at_least_s, LONGEST_S) * (1 + chance / 2)))

    def works(self) -> None:
        """It is answered again."""
        if self._tries:
            self._tell(None)
        self._tries = 0


_BROKEN = (OSError, HTTPException, Away)


class Client:
    """Asks one server, for as long as it takes; what it refuses for good ends the asking with our error."""

    def __init__(self, find: Find, patience: Patience | None = None, silence_s: float = SILENCE_S) -> None:
        self._find = find
        self._patience = patience or Patience()
        self._silence_s = silence_s

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        """The result of a tool that changes nothing: the call is repeated until it is answered.

        Raises Unauthenticated, Forbidden, NotFound, Conflict or NotUnderstood.
        """
        body, headers = msgspec.json.encode(arguments), {"Content-Type": "application/json"}
        while True:
            try:
                with self._answer("POST", f"/api/tools/{tool}", headers, body) as response:
                    answer = response.read()
            except _BROKEN as error:
                self._wait(error)
            else:
                self._patience.works()
                return answer

    def follow(self, path: str) -> Iterator[SseEvent]:
        """The events of a stream, for ever: it is opened again where it broke, after the last event that was read.

        Raises what `ask` raises.
        """
        known, retry_s = "", 0.0
        while True:
            parser = SseParser(known)
            broke: Exception = Away("The server ended the stream.")
            try:
                for event in self._events(path, parser):
                    self._patience.works()
                    yield event
            except _BROKEN as error:
                broke = error
            except EventTooLong as error:
                raise NotUnderstood(str(error)) from error
            known = parser.last_event_id
            retry_s = retry_s if parser.retry_ms is None else parser.retry_ms / 1_000
            self._wait(broke, retry_s)

    def _events(self, path: str, parser: SseParser) -> Iterator[SseEvent]:
        """Those of one connection."""
        headers: dict[str, str | bytes] = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if parser.last_event_id:
            headers["Last-Event-ID"] = parser.last_event_id.encode()
        with self._answer("GET", path, headers) as response:
            if response.headers.get_content_type() != "text/event-stream":
                raise NotUnderstood(f"{path} answered {response.headers.get_content_type()} and no stream.")
            while chunk := response.read1(_READ_BYTES):
                yield from parser.feed(chunk)

    @contextmanager
    def _answer(
        self, method: str, path: str, headers: Mapping[str, str | bytes], body: bytes | None = None
    ) -> Iterator[HTTPResponse]:
        """An answer whose status is 200. Raises _BROKEN, and what the server refuses for good."""
        address = self._find()
        if address is None:
            raise Away("No server is there.")
        own = {"Authorization": f"Bearer {address.token}", "Connection": "close"}
        with closing(HTTPConnection(address.host, address.port, timeout=self._silence_s)) as connection:
            connection.request(method, path, body, {**own, **headers})
            with closing(connection.getresponse()) as response:
                if response.status == 401 and self._find() != address:
                    raise Away("Another server has started.")  # each has a token of its own
                if response.status != 200:
                    raise _refusal(response)
                yield response

    def _wait(self, error: Exception, at_least_s: float = 0) -> None:
        after_s = max(at_least_s, error.after_s) if isinstance(error, Away) else at_least_s
        self._patience.wait(str(error) or type(error).__name__, after_s)


def _refusal(response: HTTPResponse) -> AgentsRoomError | Away:
    """What an answer that is none means."""
    message, hint = _told(response.read(_READ_BYTES))
    if response.status in (408, 425, 429) or response.status >= 500:
        after = response.headers.get("Retry-After", "")
        reason = message or f"The server answered {response.status}."
        return Away(reason, float(after) if after.isdecimal() else 0)
    kind = _ERRORS.get(response.status, NotUnderstood)
    return kind(message or f"The server answered {response.status} {response.reason}.", hint=hint)


class _Error(msgspec.Struct):
    message: str
    hint: str | None = None


class _Refused(msgspec.Struct):
    error: _Error


def _told(body: bytes) -> tuple[str, str | None]:
    """The message and the hint of an error of ours; an empty message where it is none."""
    try:
        error = msgspec.json.decode(body, type=_Refused).error
    except msgspec.DecodeError:
        return "", None
    return error.message, error.hint
