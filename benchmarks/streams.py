"""Open pages: how long until all of them have a change, what one costs that waits, how late a heartbeat is."""

import json
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import psutil

from agentsroom.core.platform import raise_file_limit
from benchmarks import Row
from tests.support.mcp_http import key_of
from tests.support.server import PATIENCE_S, WebServer

ROOM = "shared:front"
CHANGES = 30
FAN_OUT = {1_000: "< 30 ms", 5_000: "< 100 ms"}
IDLE = 10_000
HEARTBEATS_OF = 50
HEARTBEAT_S = 15.0
_BODY = "May I have agentsroom/core/feed.py for ten minutes? I would change Feed.close() and nothing else."
_HAMMER = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
store.execute("CREATE TABLE noise (text)")
while True:
    store.execute("BEGIN IMMEDIATE")
    store.executemany("INSERT INTO noise VALUES (?)", [("x" * 100,)] * 200)
    store.execute("COMMIT")
"""


class Watchers:
    """So many open pages of one room, read by this process."""

    def __init__(self, server: WebServer, stack: ExitStack) -> None:
        self._running = server.running
        self._stack = stack
        self._epoll = stack.enter_context(select.epoll())
        self._sockets: dict[int, socket.socket] = {}

    def open(self, count: int) -> None:
        """More of them, each with the words that it begins with read."""
        host = (
            f"Host: 127.0.0.1:{self._running['port']}\r\nAuthorization: Bearer {self._running['token']}\r\n"
        )
        request = f"GET /live?page={quote(f'/rooms/{ROOM}')}&since={2**53} HTTP/1.1\r\n{host}\r\n".encode()
        for _ in range(count):
            address = ("127.0.0.1", self._running["port"])
            made = self._stack.enter_context(socket.create_connection(address, PATIENCE_S))
            made.sendall(request)
            self._sockets[made.fileno()] = made
            self._epoll.register(made.fileno(), select.EPOLLIN)
            while b"resync" not in made.recv(65_536):
                pass

    def until(self, mark: bytes) -> list[float]:
        """When each of them has read the mark: a moment of time.perf_counter()."""
        moments: list[float] = []
        missing = set(self._sockets)
        while missing:
            ready = self._epoll.poll(PATIENCE_S)
            assert ready, f"{len(missing)} streams were told nothing"
            now = time.perf_counter()
            for descriptor, _ in ready:
                if mark in self._sockets[descriptor].recv(65_536) and descriptor in missing:
                    missing.discard(descriptor)
                    moments.append(now)
        return moments

    def gaps(self, seconds: float) -> list[float]:
        """The seconds between two heartbeats of each, over so long a time."""
        last: dict[int, float] = {}
        found: list[float] = []
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            for descriptor, _ in self._epoll.poll(left):
                now = time.perf_counter()
                if b"heartbeat" in self._sockets[descriptor].recv(65_536):
                    if descriptor in last:
                        found.append(now - last[descriptor])
                    last[descriptor] = now
        return found


def rows() -> list[Row]:
    """Every row that this module measures."""
    raise_file_limit()
    return [*_fan_out(), _memory(), _lateness()]


@contextmanager
def _watched() -> Iterator[tuple[WebServer, Watchers]]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        home = Path(folder) / "home"
        server = stack.enter_context(WebServer(home, AGENTS_ROOM_MAX_STREAMS="20000"))
        Sender(server)
        yield server, Watchers(server, stack)


class Sender:
    """A session in the room that sends over the JSON API, on one connection."""

    def __init__(self, server: WebServer) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.running["port"], timeout=PATIENCE_S)
        self._headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {key_of(server.home, 'default')}",
        }
        self._session = self._call("room_join", room="front", label="ada")["session_id"]

    def send(self, text: str) -> None:
        self._call("msg_send", session_id=self._session, to="*", body=text)

    def _call(self, tool: str, **arguments: str) -> dict[str, str]:
        self._connection.request("POST", f"/api/tools/{tool}", json.dumps(arguments), self._headers)
        answer = self._connection.getresponse()
        found: dict[str, str] = json.loads(answer.read())
        assert answer.status == 200, found
        return found


def _fan_out() -> Iterator[Row]:
    for streams, goal in FAN_OUT.items():
        with _watched() as (server, watchers):
            sender = Sender(server)
            watchers.open(streams)
            late_ms: list[float] = []
            began, own = time.perf_counter(), time.process_time()
            for number in range(CHANGES):
                begin = time.perf_counter()
                sender.send(f"{_BODY} {number:06}")
                moments = sorted(watchers.until(f"{number:06}".encode()))
                late_ms.append((moments[len(moments) * 99 // 100] - begin) * 1_000)
            share = (time.process_time() - own) / (time.perf_counter() - began)
        yield Row(
            f"a message in {streams:,} open pages of its room, p99 of the pages",
            goal,
            "ms",
            late_ms,
            f"from before the call of msg_send on; the readers took {share:.0%} of a core",
        )


def _memory() -> Row:
    with _watched() as (server, watchers):
        process = psutil.Process(server.process.pid)
        watchers.open(100)
        before = process.memory_info().rss
        watchers.open(IDLE)
        grown = process.memory_info().rss - before
    return Row(
        f"memory of an open page that waits, of {IDLE:,}", "< 25 kB", "kB", [grown / IDLE / 1_000], "resident"
    )


def _lateness() -> Row:
    with _watched() as (server, watchers):
        watchers.open(HEARTBEATS_OF)
        store = server.home / "room.db"
        with subprocess.Popen([sys.executable, "-c", _HAMMER, str(store)]) as hammer:
            gaps = watchers.gaps(2.2 * HEARTBEAT_S)
            hammer.kill()
    late_ms = sorted(max(0.0, gap - HEARTBEAT_S) * 1_000 for gap in gaps)
    return Row(
        "a heartbeat's lateness while another process writes all the time, p99",
        "< 5 ms",
        "ms",
        [late_ms[len(late_ms) * 99 // 100]],
        f"of {len(late_ms)} heartbeats; the other process goes round the lock file",
    )
