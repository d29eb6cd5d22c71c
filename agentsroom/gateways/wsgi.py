"""gevent's WSGI server as we run it: knows the connections that idle, tells a stream when its client hung up."""

import contextlib
import socket
from collections.abc import Callable
from typing import Any

import gevent
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer

from agentsroom.core.errors import Conflict
from agentsroom.core.settings import Settings
from agentsroom.gateways.live import WHEN_GONE

_MOST_CONNECTIONS = 20_000
_READABLE = 1  # libev's EV_READ


class PortTaken(Conflict):
    """Another program listens on that address and port."""

    code = "port_taken"


class Handler(WSGIHandler):
    """One connection."""

    server: "Server"

    def get_environ(self) -> dict[str, Any]:
        return {**super().get_environ(), WHEN_GONE: self._when_gone}

    def read_requestline(self) -> Any:
        """Between two requests the connection counts as idle; none is begun once the server stops."""
        if self.server.is_stopping:
            return b""
        self.server.idle.add(self.socket)
        try:
            return super().read_requestline()
        finally:
            self.server.idle.discard(self.socket)

    def _when_gone(self, act: Callable[[], None]) -> Callable[[], None]:
        """Calls `act` when the client hangs up; gives a function that stops watching."""
        watcher = gevent.get_hub().loop.io(self.socket.fileno(), _READABLE)

        def look() -> None:
            try:
                seen = self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                seen = b""
            watcher.stop()  # a client that sends more during a stream is not read
            if not seen:
                gevent.spawn(act)

        watcher.start(look)

        def stop() -> None:
            watcher.stop()
            watcher.close()

        return stop


class Server(WSGIServer):
    """Serves an app on a listening socket until it is told to stop."""

    def __init__(self, listener: socket.socket, app: Any) -> None:
        super().__init__(listener, app, log=None, spawn=Pool(_MOST_CONNECTIONS), handler_class=Handler)
        self.idle: set[socket.socket] = set()
        self.is_stopping = False

    def end(self, end_streams: Callable[[], None], timeout_s: float) -> None:
        """Takes no more connections, ends streams and idle connections, lets requests under way finish."""
        self.is_stopping = True
        self.close()
        end_streams()
        for connection in list(self.idle):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.stop(timeout=timeout_s)


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
        raise PortTaken(
            f"{settings.host}:{settings.port} can't be listened on: {error.strerror}.",
            hint="Set AGENTS_ROOM_PORT to a free port (0 takes any), or end the program that has it.",
        ) from error
    return listener
