"""gevent's WSGI server as we run it: strict and in time with what comes, tells a stream when its client hung up.

Who sends half a request, or takes no answer, is let go after a while; an idle connection stays open for minutes.
"""

import contextlib
import errno
import json
import logging
import os
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, cast

import gevent
from gevent import GreenletExit, Timeout
from gevent.pool import Pool
from gevent.pywsgi import Input, OldMessage, WSGIHandler, WSGIServer

from agentsroom.core.errors import Conflict
from agentsroom.core.platform import raise_file_limit
from agentsroom.core.settings import Settings
from agentsroom.gateways.auth import LET_IN
from agentsroom.gateways.body import PIECE, UNREAD_S, Body
from agentsroom.gateways.errors import error_object
from agentsroom.gateways.headers import HEADERS, NOT_KEPT
from agentsroom.gateways.lasting import SEND_NOW, WHEN_GONE
from agentsroom.gateways.viewers import Sent
from agentsroom.gateways.wire import MOST_LINE, Head, HeadRefused, read_head

HEAD_S = 30.0
"""Seconds in which a request's line and headers come; a new connection says its first word as soon."""
SEND_S = 120.0
"""Seconds for which a client may take nothing of its answer."""
IDLE_S = 300.0
"""Seconds for which a connection stays open between two requests."""

_MOST_CONNECTIONS = 20_000
_OTHER_FILES = 200  # the store's, the watcher's, the wake's: a crowd of clients must leave them theirs
_READABLE = 1  # libev's EV_READ
_NEVER = Timeout(None)
_READ_AHEAD = 512  # bytes; each open stream keeps so many

_logger = logging.getLogger(__name__)


class PortTaken(Conflict):
    """That address and port can't be listened on: another program does, or this machine has no such address."""

    code = "port_taken"


class Handler(WSGIHandler):
    """One connection."""

    server: "Server"
    _head: Head
    _body: Body
    _late: Timeout
    _is_new = True
    _unsent = b""
    """What is left of a piece that was sent from outside of its stream."""

    def __init__(self, sock: Any, address: Any, server: Any) -> None:
        super().__init__(sock, address, server)
        self.rfile.close()
        self.rfile = sock.makefile("rb", _READ_AHEAD)

    def handle(self) -> None:
        """Answers one request after the other."""
        with contextlib.suppress(OSError):  # it hung up before it was answered
            super().handle()

    def handle_one_request(self) -> tuple[str, bytes] | Literal[True] | None:
        """Reads a request and answers it; None ends the connection."""
        self._late = Timeout(HEAD_S)
        try:
            return super().handle_one_request()
        except HeadRefused as refused:
            self._end_with(refused.status, refused.message)
        except Timeout as timeout:
            if timeout is not self._late:
                raise
            self._end_with(408, f"A request’s head has to come within {HEAD_S:g} seconds.")
        finally:
            self._late.close()
            self.server.idle.pop(self.socket, None)
        return None

    def read_requestline(self) -> str:
        """Between two requests the connection counts as idle; none is begun once the server stops."""
        self.server.idle[self.socket] = LET_IN in (self.environ or ())
        gevent.sleep(0)  # who sends without a pause must not stop the others
        if self.server.is_stopping:
            return ""
        self.socket.settimeout(HEAD_S if self._is_new else IDLE_S)
        if not self.rfile.peek(1):
            return ""
        self.socket.settimeout(SEND_S)
        self._is_new = False
        self._late.start()
        return self.rfile.readline(MOST_LINE + 1).decode("latin-1")

    def read_request(self, raw_requestline: str) -> Any:
        """Takes over what the head says. Raises HeadRefused."""
        self._head = head = read_head(raw_requestline.encode("latin-1"), self.rfile)
        self._late.close()
        self._late = _NEVER
        self.server.idle.pop(self.socket, None)
        self.command, self.path, self.request_version = head.method, head.target, head.version
        self.headers = OldMessage()
        for name, value in head.fields:
            self.headers[name] = value
        self.content_length, self.close_connection = head.length or 0, head.is_last
        return True

    def _handle_client_error(self, ex: Exception) -> Any:
        """gevent tells us so what read_request raised."""
        raise ex

    def get_environ(self) -> dict[str, Any]:
        environ = super().get_environ()
        begin = self._go_on if environ.get("HTTP_EXPECT", "").lower() == "100-continue" else _nothing
        head = self._head
        del self._head
        self._body = Body(self.rfile, head.length, is_chunked=head.is_chunked, begin=begin)
        self.wsgi_input = cast(Input, self._body)
        body = {"wsgi.input": self._body, "wsgi.input_terminated": True}
        return {**environ, **body, WHEN_GONE: self._when_gone, SEND_NOW: self._send_now}

    def _send_now(self, piece: bytes) -> Sent:
        """Sends a piece of a stream that waits, as far as the client takes it at once (viewers.SendNow)."""
        if self._unsent or not self.response_use_chunked:
            return "none"
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece)
        try:
            sent = os.write(self.socket.fileno(), chunk)
        except OSError:  # it takes nothing now, or hung up: the stream itself will see
            return "none"
        self._unsent = chunk[sent:]
        return "some" if self._unsent else "all"

    def process_result(self) -> None:
        """Sends the answer. It may last for days: what the request said is kept no longer."""
        self.environ = {LET_IN: True} if LET_IN in (self.environ or ()) else {}
        self.headers = OldMessage()
        super().process_result()

    def write(self, data: bytes) -> None:
        """Sends the next piece of an answer."""
        if self._unsent:
            rest, self._unsent = self._unsent, b""
            self.socket.sendall(rest)
        super().write(data)

    def _go_on(self) -> None:
        """The client waits for leave to send the body."""
        self.socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        """An answer to a request that is not read to its end is the connection's last."""
        if self._body.unread > PIECE:
            headers = [*headers, ("Connection", "close")]
        return super().start_response(status, headers, exc_info)

    def handle_one_response(self) -> None:
        """Lets the application answer."""
        super().handle_one_response()
        if self._body.unread:
            self.close_connection = True

    def handle_error(self, *raised: Any) -> None:
        """What the application raised while it answered; TimeoutError: the client took nothing for too long."""
        if not isinstance(raised[1], GreenletExit | TimeoutError):
            _logger.error("%s %s failed", self.command, self.path, exc_info=raised)
            if not self.headers_sent:
                self.socket.sendall(_answer(500))
        self.close_connection = True

    def _end_with(self, status: int, message: str) -> None:
        """The last that this connection is told."""
        self._late.close()
        self.socket.sendall(_answer(status, message))
        self.socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(Timeout), Timeout(UNREAD_S):
            while self.socket.recv(PIECE):
                gevent.sleep(0)

    def _when_gone(self, act: Callable[[], None]) -> Callable[[], None]:
        """Calls `act` when the client hangs up, or sends no more; gives a function that stops watching."""
        return _HangUp(self.socket, act).stop


class _HangUp:
    """Watches a connection for its client's end."""

    __slots__ = ("_act", "_socket", "_watcher")

    def __init__(self, connection: Any, act: Callable[[], None]) -> None:
        self._act = act
        self._socket = connection
        self._watcher = gevent.get_hub().loop.io(connection.fileno(), _READABLE)
        self._watcher.start(self._look)

    def _look(self) -> None:
        try:
            seen = self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            seen = b""
        self._watcher.stop()  # a client that sends more during a stream is not read
        if not seen:
            gevent.spawn(self._act)

    def stop(self) -> None:
        """Watches no longer."""
        self._watcher.stop()
        self._watcher.close()


class Server(WSGIServer):
    """Serves an app on a listening socket until it is told to stop."""

    def __init__(self, listener: socket.socket, app: Any) -> None:
        self._places = Pool(max(1, min(_MOST_CONNECTIONS, raise_file_limit() - _OTHER_FILES)))
        super().__init__(
            listener, app, log=None, error_log=_logger, spawn=self._places, handler_class=Handler
        )
        self.idle: dict[socket.socket, bool] = {}
        """Connections between two requests, the one that waits for longest first: whether a caller was let in there."""
        self.is_stopping = False

    def handle(self, connection: socket.socket, address: Any) -> None:
        """Serves a new connection; while strangers only wait, one of them makes room for the next."""
        if self._places.free_count() == 0:
            strangers = [one for one, is_known in self.idle.items() if not is_known]
            for one in strangers[:1]:
                self.hang_up(one)
        super().handle(connection, address)

    def hang_up(self, connection: socket.socket) -> None:
        """Ends an idle connection."""
        self.idle.pop(connection, None)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def end(self, end_streams: Callable[[], None], timeout_s: float) -> None:
        """Takes no more connections, ends streams and idle connections, lets requests under way finish."""
        self.is_stopping = True
        self.close()
        end_streams()
        for connection in list(self.idle):
            self.hang_up(connection)
        self.stop(timeout=timeout_s)


def _nothing() -> None: ...


def listen(settings: Settings) -> socket.socket:
    """A socket on the settings' address and port. Raises PortTaken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(1_024)
    except OSError as error:
        listener.close()
        text = f"{settings.host}:{settings.port} can't be listened on: {error.strerror}."
        raise PortTaken(text, hint=_mend_listening(error)) from error
    return listener


def _mend_listening(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "Set AGENTS_ROOM_HOST to an address of this machine: 127.0.0.1 for itself alone, 0.0.0.0 for all of them."
    if error.errno == errno.EACCES:
        return "Set AGENTS_ROOM_PORT to a port of 1024 or more; the lower ones want rights of their own."
    return "Set AGENTS_ROOM_PORT to a free port (0 takes any), or end the program that has it."


def _answer(status: int, message: str | None = None) -> bytes:
    """A whole answer, of a request that the application never saw or could not answer."""
    body = json.dumps({"error": error_object(status, message)}).encode() + b"\n"
    headers = {
        **HEADERS,
        "Cache-Control": NOT_KEPT,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
