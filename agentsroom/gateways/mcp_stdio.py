"""MCP over stdin and stdout: one JSON-RPC message a line. What the messages mean is rpc.py's.

The store is loaded behind the first answer, since importing it takes longer than a harness likes to wait. Calls begin
in the order in which they came; one that only reads runs beside the others, so that a wait holds up nobody.
"""

import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from agentsroom.core.errors import AgentsRoomError, TooManyRequests
from agentsroom.core.logs import log_to_stderr
from agentsroom.core.settings import Settings, load_settings
from agentsroom.gateways import jsonrpc, offers, rpc
from agentsroom.gateways.lazy_runtime import ENDING, LazyRuntime, without
from agentsroom.gateways.standard_streams import LONGEST_LINE, lines_of, take_standard_streams, write_line
from agentsroom.gateways.stdio_call import StdioCall, StdioExchange
from agentsroom.gateways.subscriptions import Subscriptions

if TYPE_CHECKING:
    from agentsroom.core.feed import Subscription
    from agentsroom.gateways.features import RuntimeFeatures

MOST_LASTING = 100
"""Waits and streams of notifications at a time; one more is refused."""
_MOST_READERS = 16
"""Other calls that only read and run beside the others; one more waits."""
_MOST_WAITING = 256
"""Calls that came and did not begin; while there are so many, no more input is read, not even what cancels one."""
_BEGINS_CHANGES = ("resources/list", "resources/subscribe")
"""A legacy client that sends one of these is told of changes from then on."""
_PATIENCE_S = 5.0
"""How long calls may go on when the input has ended; loading the store may be among it."""


def serve_stdio() -> int:
    """Serves the process that started us until it closes our input or sends SIGTERM; the exit status.

    Messages alone reach stdout: what others print goes to stderr.
    """
    log_to_stderr("agents-room: %(message)s")
    try:
        settings = load_settings()
    except AgentsRoomError as error:
        sys.stderr.write(f"agents-room: {error.message}\n")
        return 2
    source, sink = take_standard_streams()
    for number in ENDING:
        signal.signal(number, _end)
    with source:
        server = _Server(settings, sink)
        with suppress(SystemExit):
            for line in lines_of(source):
                server.receive(line)
        server.close()
    return 0


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


class _Server:
    """Answers one client; `receive` and `close` belong to the main thread."""

    def __init__(self, settings: Settings, sink: int) -> None:
        self._sink = sink
        self._store = LazyRuntime(settings)
        self._agreed = rpc.Agreement()
        self._calls: queue.SimpleQueue[StdioCall | None] = queue.SimpleQueue()
        self._waiting = threading.Semaphore(_MOST_WAITING)
        self._open: dict[jsonrpc.RequestId, StdioCall] = {}
        self._readers = threading.BoundedSemaphore(_MOST_READERS)
        self._lasting = threading.BoundedSemaphore(MOST_LASTING)
        self._writing = threading.Lock()
        self._is_closing = False
        self._follower: StdioCall | None = None
        self._lane = threading.Thread(target=self._work_off, name="calls", daemon=True)
        with without(ENDING):
            self._lane.start()

    def receive(self, line: bytes | None) -> None:
        """Acts on one message; None stands for one that was too long to read."""
        match jsonrpc.decode(line) if line is not None else _too_long():
            case jsonrpc.Request() as request:
                self._answer(request)
            case jsonrpc.Notification() as notification:
                if notification.cancelled is not None and (call := self._open.get(notification.cancelled)):
                    call.cancel()
            case jsonrpc.Reply() as refusal:
                self._send(refusal.body)
            case jsonrpc.Answer():
                pass

    def _answer(self, request: jsonrpc.Request) -> None:
        if request.id in self._open:
            self._send(jsonrpc.in_use(request.id).reply(request.id).body)
            return
        match rpc.answer(request, self._agreed):
            case jsonrpc.Reply() as reply:
                self._send(reply.body)
                if reply.error is None:
                    self._store.load()
            case rpc.Work() | rpc.Listening() as work:
                self._store.load()
                call = self._open[request.id] = StdioCall(work, self._store)
                self._waiting.acquire()
                self._calls.put(call)

    def _work_off(self) -> None:
        """Begins the calls in their order, one after another but for those that only read."""
        while (call := self._calls.get()) is not None:
            self._waiting.release()
            if call.lasts:
                self._begin_lasting(call)
            elif call.only_reads:
                self._readers.acquire()
                self._run_beside(call, self._readers)
            else:
                self._run(call)

    def _begin_lasting(self, call: StdioCall) -> None:
        if self._lasting.acquire(blocking=False):
            self._run_beside(call, self._lasting)
            return
        error = TooManyRequests(
            f"{MOST_LASTING} waits and streams are open; one client may have no more.",
            hint="Cancel some of them.",
        )
        del self._open[call.id]
        self._send(
            jsonrpc.refusal(jsonrpc.INTERNAL_ERROR, error.message, id=call.id, data=error.as_json()).body
        )

    def _run_beside(self, call: StdioCall, places: threading.Semaphore) -> None:
        threading.Thread(target=self._read, args=(call, places), name="read", daemon=True).start()

    def _read(self, call: StdioCall, places: threading.Semaphore) -> None:
        try:
            self._run(call)
        finally:
            places.release()

    def _run(self, call: StdioCall) -> None:
        reply = None if call.is_cancelled else self._reply(call)
        del self._open[call.id]
        if reply is not None and not call.is_cancelled:
            self._send(reply.body)

    def _reply(self, call: StdioCall) -> jsonrpc.Reply:
        match call.work:
            case rpc.Work() as work:
                exchange = StdioExchange(work.request, self._agreed.capabilities, self._send)
                return work.run(partial(self._features, call), exchange)
            case rpc.Listening() as listening:
                return self._listen(call, listening)

    def _features(self, call: StdioCall) -> "RuntimeFeatures":
        if call.work.request.method in _BEGINS_CHANGES:
            self._tell_changes(call)
        return call.features()

    def _listen(self, call: StdioCall, listening: rpc.Listening) -> jsonrpc.Reply:
        """Tells a modern client of changes until it cancels the request, or we end."""
        match listening.open(call.features):
            case jsonrpc.Reply() as refusal:
                return refusal
            case Subscriptions() as wishes:
                with call.feed().subscribe(lambda _: True) as events:
                    self._send(wishes.acknowledgement())
                    self._tell(events, wishes, call.features())
                return listening.ended(wishes)

    def _tell_changes(self, call: StdioCall) -> None:
        """Tells a legacy client of changes from now on, until we end."""
        if self._follower is None:
            follower = StdioCall(call.work, self._store)
            events = follower.feed().subscribe(lambda _: True)
            self._follower = follower
            act = partial(self._tell, events, self._agreed.subscriptions, follower.features())
            threading.Thread(target=act, name="changes", daemon=True).start()

    def _tell(self, events: "Subscription", subscriptions: Subscriptions, features: offers.Features) -> None:
        from agentsroom.gateways.features import news

        for event in events:
            for told in news(event, subscriptions, features):
                self._send(told)

    def _send(self, message: bytes) -> None:
        with self._writing:
            try:
                write_line(self._sink, message)
            except OSError:  # nobody reads any more
                self._hang_up()

    def _hang_up(self) -> None:
        main = threading.main_thread().ident
        if not self._is_closing and main is not None:
            signal.pthread_kill(main, signal.SIGTERM)

    def close(self) -> None:
        """Ends what waits, gives the other calls a moment, and closes the store."""
        self._is_closing = True
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        for call in (*self._open.values(), *([self._follower] if self._follower else [])):
            call.end_wait()
        if self._has_worked_off(time.monotonic() + _PATIENCE_S):
            self._store.close()

    def _has_worked_off(self, deadline: float) -> bool:
        self._calls.put(None)
        self._lane.join(max(0, deadline - time.monotonic()))
        return not self._lane.is_alive() and all(
            places.acquire(timeout=max(0, deadline - time.monotonic()))
            for places, most in ((self._readers, _MOST_READERS), (self._lasting, MOST_LASTING))
            for _ in range(most)
        )


def _too_long() -> jsonrpc.Reply:
    return jsonrpc.refusal(jsonrpc.INVALID_REQUEST, f"A line takes up to {LONGEST_LINE:,} bytes.")


if __name__ == "__main__":
    sys.exit(serve_stdio())
