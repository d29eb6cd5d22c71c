"""The JSON API of the real server: calls on kept connections, waits whose client hangs up, waits when it ends."""

import json
import signal
import time
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import PATIENCE_S, WebServer

LONG_S = 25


class Agent:
    """One kept connection of the default agent, and the session that it joined."""

    def __init__(self, server: WebServer, session_id: str | None = None) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.running["port"], timeout=PATIENCE_S)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.key}"}
        self._server = server
        self.session_id = session_id or self("room_join", room="front")[1]["session_id"]

    def beside(self) -> "Agent":
        """Another connection for the same session."""
        return Agent(self._server, self.session_id)

    @property
    def socket(self) -> object:
        """Another one where the server closed the connection."""
        return self._connection.sock

    def send(self, tool: str, body: bytes | Iterable[bytes]) -> None:
        self._connection.request("POST", f"/api/tools/{tool}", body, self._headers)

    def begin(self, tool: str, **arguments: Any) -> None:
        """Sends the call and does not look at what comes."""
        own = {} if tool == "room_join" else {"session_id": self.session_id}
        self.send(tool, json.dumps({**own, **arguments}).encode())

    def response(self) -> tuple[HTTPResponse, Any]:
        found = self._connection.getresponse()
        return found, json.loads(found.read())

    def __call__(self, tool: str, **arguments: Any) -> tuple[int, Any]:
        self.begin(tool, **arguments)
        found, answer = self.response()
        return found.status, answer

    def hang_up(self) -> None:
        self._connection.close()

    def until_status_of_a_wait_is(self, status: int) -> None:
        """Looks for mail until it is answered so: with one wait to a key, 429 tells that another one runs."""
        deadline = time.monotonic() + PATIENCE_S
        while self("msg_wait", timeout_s=0)[0] != status:
            assert time.monotonic() < deadline


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    """One that lets each key wait once at a time."""
    with WebServer(tmp_path / "home", AGENTS_ROOM_MAX_STREAMS="1") as running:
        yield running


def test_a_wait_whose_client_hung_up_is_freed(server: WebServer) -> None:
    waiting = Agent(server)
    other = waiting.beside()
    waiting.begin("msg_wait", timeout_s=LONG_S)
    other.until_status_of_a_wait_is(429)
    waiting.hang_up()
    other.until_status_of_a_wait_is(200)
    other.hang_up()
    server.process.terminate()
    assert server.end() == 0
    assert "Traceback" not in server.output


def test_a_wait_is_told_that_the_server_ends(server: WebServer) -> None:
    waiting = Agent(server)
    other = waiting.beside()
    waiting.begin("msg_wait", timeout_s=LONG_S)
    other.until_status_of_a_wait_is(429)
    server.process.send_signal(signal.SIGTERM)
    found, answer = waiting.response()
    assert (found.status, answer["error"]["code"]) == (503, "stopping")
    assert found.getheader("Retry-After") == "1"
    assert server.end() == 0
    waiting.hang_up()
    other.hang_up()


def test_a_connection_outlives_what_is_refused_on_it(server: WebServer) -> None:
    agent = Agent(server)
    used = agent.socket
    for tool, arguments, status in (
        ("no_such_tool", {}, 404),
        ("msg_unread", {"session_id": 7}, 422),
        ("msg_unread", {}, 200),
    ):
        assert agent(tool, **arguments)[0] == status
        assert agent.socket is used
    agent.hang_up()


def test_a_body_that_is_too_large_is_told_before_its_connection_ends(server: WebServer) -> None:
    agent = Agent(server)
    agent.begin("msg_send", to="*", body="x" * 5_000_000)
    found, answer = agent.response()
    assert (found.status, answer["error"]["code"]) == (413, "too_large")
    assert agent.socket is None
    agent.hang_up()


@pytest.mark.parametrize(
    ("pieces", "status"), [([b'{"session_id":', b'"x"}'], 404), ([b" " * 1_000_000] * 5, 413)]
)
def test_a_body_in_chunks_is_read_whole_or_refused(
    server: WebServer, pieces: list[bytes], status: int
) -> None:
    agent = Agent(server)
    agent.send("msg_unread", iter(pieces))
    assert agent.response()[0].status == status
    agent.hang_up()
