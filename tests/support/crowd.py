"""A thousand clients of one server: open streams of each kind, and connections that idle between two requests."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.support.mcp_http import META, key_of
from tests.support.server import PATIENCE_S, WebServer


class Crowd:
    """Its connections; what still comes on each can be read to the end."""

    def __init__(self, streams: list[socket.socket], idle: list[socket.socket]) -> None:
        self._streams = streams
        self._idle = idle

    def streams_with_a_proper_end(self) -> int:
        """How many streams the server closed as HTTP wants it, after it ended."""
        return sum(_rest(one).endswith(b"0\r\n\r\n") for one in self._streams)

    def idle_that_were_closed(self) -> int:
        """How many of the idle connections ended without another word."""
        return sum(_rest(one) == b"" for one in self._idle)


@contextmanager
def crowd(server: WebServer, streams: int, idle: int) -> Iterator[Crowd]:
    """Half of the streams are pages', half MCP clients'."""
    key = key_of(server.home, "default")
    running = server.running
    host = f"Host: 127.0.0.1:{running['port']}\r\n"
    page = f"GET /live?page=/rooms&since=0 HTTP/1.1\r\n{host}Authorization: Bearer {running['token']}\r\n\r\n"
    params = {"notifications": {"resourcesListChanged": True}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
    listen = (
        f"POST /mcp HTTP/1.1\r\n{host}Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: subscriptions/listen\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    with ExitStack() as opened:

        def connection(request: str) -> socket.socket:
            made = opened.enter_context(socket.create_connection(("127.0.0.1", running["port"]), PATIENCE_S))
            made.sendall(request.encode())
            return made

        readers = [connection(listen if number % 2 else page) for number in range(streams)]
        for one in readers:
            assert one.recv(12) == b"HTTP/1.1 200"
        waiting = [connection(f"GET /healthz HTTP/1.1\r\n{host}\r\n") for _ in range(idle)]
        for one in waiting:
            _read_until(one, b'"ok"}\n')
        yield Crowd(readers, waiting)


def _read_until(one: socket.socket, end: bytes) -> None:
    came = b""
    while not came.endswith(end):
        piece = one.recv(4_096)
        assert piece, came
        came += piece


def _rest(one: socket.socket) -> bytes:
    found = b""
    while piece := one.recv(65_536):
        found += piece
    return found
