"""/mcp on a real server: sessions, streams, calls that wait, and clients that go away."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from queue import Queue
from typing import Any

import pytest

from tests.support.mcp_http import McpAnswer, McpClient, key_of
from tests.support.server import WebServer

Json = dict[str, Any]

HISTORY = "agents-room://rooms/shared%3Afront/history"
PATIENCE_S = 15


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """One that gives a key no more than three streams and waiting calls at a time."""
    home = tmp_path_factory.mktemp("mcp") / "home"
    with WebServer(home, AGENTS_ROOM_MAX_STREAMS="3") as running:
        yield running


@pytest.fixture
def client(server: WebServer) -> McpClient:
    return McpClient(server, key_of(server.home, "default"))


@pytest.fixture(scope="module")
def sender(server: WebServer) -> "Sender":
    return Sender(server)


class Sender:
    """Another agent, in the room front."""

    def __init__(self, server: WebServer) -> None:
        self._client = McpClient(server, key_of(server.home, "sender"))
        self._session = self._client.call("room_join", room="front")["session_id"]

    def say(self, body: str) -> None:
        self._client.call("msg_send", session_id=self._session, to="*", body=body)


def subscribed(client: McpClient) -> None:
    """In the room, with a session that wants to hear of its messages."""
    client.call("room_join", room="front")
    client.initialize()
    with closing(client.legacy("resources/subscribe", {"uri": HISTORY})) as answer:
        assert answer.message()["result"] == {}


def updates(stream: McpAnswer) -> Iterator[Json]:
    return (one for one in stream.events() if one["method"] == "notifications/resources/updated")


def waiting(client: McpClient, ask: Any) -> "Queue[McpAnswer]":
    """The answer to a msg_wait that begins now, when it comes."""
    session_id = client.call("room_join", room="empty")["session_id"]
    arguments = {"name": "msg_wait", "arguments": {"session_id": session_id, "timeout_s": 25}}
    answered: Queue[McpAnswer] = Queue()
    threading.Thread(target=lambda: answered.put(ask("tools/call", arguments)), daemon=True).start()
    return answered


def under_way(client: McpClient) -> None:
    """Until the waiting call holds one of the three permits, so that only two more are to be had."""
    while True:
        streams = [client.modern("subscriptions/listen", {"notifications": {}}) for _ in range(3)]
        try:
            if [one.status for one in streams].count(429) == 1:
                return
        finally:
            for one in streams:
                one.close()
            freed(client)


def freed(client: McpClient) -> None:
    """Until a stream can be had again."""
    while True:
        with closing(client.modern("subscriptions/listen", {"notifications": {}})) as stream:
            if stream.status == 200:
                return


def test_a_stream_that_begins_later_tells_what_happened_since_the_session_began(
    client: McpClient, sender: Sender
) -> None:
    subscribed(client)
    sender.say("before the stream")
    with closing(client.follow()) as stream:
        assert next(updates(stream))["params"] == {"uri": HISTORY}


def test_a_client_that_comes_back_is_told_what_it_missed_and_nothing_twice(
    client: McpClient, sender: Sender
) -> None:
    subscribed(client)
    with closing(client.follow()) as stream:
        sender.say("one")
        first = next(updates(stream))
    sender.say("two")
    with closing(client.follow(first["_id"])) as stream:
        told = updates(stream)
        second = next(told)
        sender.say("three")
        third = next(told)
    assert int(first["_id"]) < int(second["_id"]) < int(third["_id"])


@pytest.mark.parametrize("last", ["99999999999", "-1", "x", "9" * 40])
def test_a_last_event_that_never_was_does_no_harm(client: McpClient, sender: Sender, last: str) -> None:
    subscribed(client)
    with closing(client.follow(last)) as stream:
        sender.say("on")
        assert next(updates(stream))["params"] == {"uri": HISTORY}


def test_the_second_stream_of_a_session_ends_the_first(client: McpClient, sender: Sender) -> None:
    subscribed(client)
    with closing(client.follow()) as first, closing(client.follow()) as second:
        assert list(first.events()) == []
        sender.say("to the second")
        assert next(updates(second))["params"] == {"uri": HISTORY}


def test_delete_ends_the_stream_and_what_waits(client: McpClient) -> None:
    client.initialize()
    answered = waiting(client, client.legacy)
    with closing(client.follow()) as stream:
        under_way_or_done(client)
        with closing(client.send("DELETE", None, client.own_headers())) as ended:
            assert ended.status == 204
        assert list(updates(stream)) == []
    with closing(answered.get(timeout=PATIENCE_S)) as answer:
        assert answer.message()["result"]["structuredContent"]["messages"] == []
    with closing(client.legacy("ping")) as answer:
        assert (answer.status, answer.json()["error"]["data"]["code"]) == (404, "session_unknown")


def under_way_or_done(client: McpClient) -> None:
    """A later request is answered: what was asked before has begun."""
    with closing(client.legacy("ping")) as answer:
        assert answer.status == 200


def test_a_call_that_is_cancelled_ends_at_once(client: McpClient) -> None:
    client.initialize()
    answered = waiting(client, client.legacy)
    under_way(client)
    for number in range(50):
        body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        with closing(client.send("POST", json.dumps(body).encode(), client.own_headers())) as told:
            assert told.status == 202
    with closing(answered.get(timeout=PATIENCE_S)) as answer:
        assert answer.status == 200


def test_who_hangs_up_frees_what_it_held(client: McpClient) -> None:
    for _ in range(5):
        streams = [client.modern("subscriptions/listen", {"notifications": {}}) for _ in range(4)]
        assert sorted(one.status for one in streams) == [200, 200, 200, 429]
        assert all(one.headers["Retry-After"] for one in streams if one.status == 429)
        for one in streams:
            one.close()
        freed(client)


def test_who_accepts_only_streams_gets_one(client: McpClient) -> None:
    answer = client.modern("tools/list", Accept="text/event-stream")
    assert (answer.status, answer.is_stream) == (200, True)
    assert "tools" in answer.message()["result"]


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "image/*"])
def test_who_accepts_neither_is_told(client: McpClient, accept: str) -> None:
    with closing(client.modern("tools/list", Accept=accept)) as answer:
        assert answer.status == 406


def test_a_header_that_stands_twice_is_no_header_that_fits(client: McpClient) -> None:
    with closing(client.modern("tools/list", None, **{"Mcp-Method": "tools/list, tools/list"})) as answer:
        assert answer.message()["error"]["code"] == -32020


def test_a_modern_client_has_no_stream_of_its_own(client: McpClient) -> None:
    headers: dict[str, str | None] = {"MCP-Protocol-Version": "2026-07-28", "Accept": "text/event-stream"}
    with closing(client.send("GET", None, headers)) as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_other_methods_are_told_which_there_are(client: McpClient, method: str) -> None:
    with closing(client.send(method, b"{}", {})) as answer:
        assert answer.status == 405
        assert {"GET", "POST", "DELETE"} <= set(answer.headers["Allow"].split(", "))


def test_an_answer_that_nobody_waits_for_is_dropped(client: McpClient) -> None:
    client.initialize()
    for number in ("ask-0", 7, None):
        body = json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode()
        with closing(client.send("POST", body, client.own_headers())) as answer:
            assert answer.status == 202
    with closing(client.legacy("ping")) as answer:
        assert answer.message()["result"] == {}


def test_a_listener_hears_only_what_it_asked_for(client: McpClient, sender: Sender) -> None:
    client.call("room_join", room="front")
    wishes = {"resourceSubscriptions": [HISTORY, "agents-room://rooms/shared%3Anowhere/history"]}
    with closing(client.modern("subscriptions/listen", {"notifications": wishes})) as stream:
        told = stream.events()
        met = next(told)["params"]["notifications"]
        assert met == {"resourceSubscriptions": [HISTORY]}
        client.call("room_join", room="another")
        sender.say("news")
        assert next(told)["params"]["uri"] == HISTORY


def test_nothing_of_all_this_left_a_traceback(server: WebServer) -> None:
    assert "Traceback" not in server.output
