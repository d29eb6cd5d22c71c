"""/mcp without a socket: calls that wait or speak, and what ends them; each step is seen in the feed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from agentsroom.factory import create_app
from agentsroom.gateways import jsonrpc, mcp_conversation, rpc
from tests.conformance.fixtures import FixtureFeatures
from tests.support.mcp_http import INITIALIZE, META
from tests.support.stores import Json, Store
from tests.support.waiting import Waiting
from tests.support.web import RUNNING, agent_key, bearer, browser_of, error_of, json_of

ANY = "application/json, text/event-stream"
JSON = "application/json"
LONG_S = 25
SAMPLING: Json = {"name": "test_sampling", "arguments": {"prompt": "Which colour?"}}
HISTORY = "agents-room://rooms/shared%3Afront/history"


class Mcp:
    """One agent's client of /mcp, with a session of both kinds: in the room front, and of the older era."""

    def __init__(self, store: Store, app: Flask, capabilities: Json | None = None) -> None:
        self.store = store
        self.client: FlaskClient = browser_of(app)
        self.headers = bearer(agent_key(store))
        self.seat = store.join(store.agent(), room="front")
        params = {**INITIALIZE["params"], "capabilities": capabilities or {}}
        opened = self.post({**INITIALIZE, "params": params})
        self.headers["MCP-Session-Id"] = opened.headers["MCP-Session-Id"]

    def post(self, message: Json, accept: str = ANY, **headers: str) -> TestResponse:
        own = {**self.headers, "Accept": accept, **headers}
        return self.client.post("/mcp", json={"jsonrpc": "2.0", **message}, headers=own)

    def ask(self, method: str, params: Json | None = None, id: Any = 1, accept: str = ANY) -> TestResponse:
        return self.post({"id": id, "method": method, "params": params or {}}, accept)

    def wait(self, id: Any = 1, accept: str = ANY) -> Waiting[TestResponse]:
        """A msg_wait that listens by now."""
        arguments = {"session_id": self.seat.id, "timeout_s": LONG_S}
        params = {"name": "msg_wait", "arguments": arguments}
        return Waiting(self.store.runtime.feed, lambda: self.ask("tools/call", params, id, accept))

    def cancel(self, id: Any) -> TestResponse:
        return self.post({"method": "notifications/cancelled", "params": {"requestId": id}})

    def follow(self, method: str = "GET") -> TestResponse:
        return self.client.open(
            "/mcp", method=method, headers={**self.headers, "Accept": "text/event-stream"}
        )

    def listen(self, wishes: Json) -> Iterator[Json]:
        """What a modern client is told, from the acknowledgement on."""
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
        params = {"notifications": wishes, "_meta": META}
        return messages(self.post({"id": 1, "method": "subscriptions/listen", "params": params}, **headers))


def messages(stream: TestResponse) -> Iterator[Json]:
    """Those of a stream; its comments are left out."""
    assert stream.mimetype == "text/event-stream"
    for event in stream.iter_encoded():
        if data := event.partition(b"data: ")[2]:
            yield json.loads(data)


def mail(answer: TestResponse) -> list[Json]:
    found: list[Json] = json_of(answer)["result"]["structuredContent"]["messages"]
    return found


@pytest.fixture
def mcp(sqlite_store: Store, app: Flask) -> Mcp:
    return Mcp(sqlite_store, app)


@pytest.fixture
def speaking(sqlite_store: Store) -> Mcp:
    """A client of a server that offers tools that speak and ask."""
    app = create_app(sqlite_store.settings, sqlite_store.runtime, RUNNING, FixtureFeatures)
    return Mcp(sqlite_store, app, {"sampling": {}})


def test_a_call_that_is_cancelled_ends_at_once_and_no_other_does(mcp: Mcp) -> None:
    wait, other = mcp.wait(7), mcp.wait("7")
    assert mcp.cancel(8).status_code == mcp.cancel(7).status_code == 202
    assert mail(wait.answer()) == []
    assert not other.has_ended
    mcp.cancel("7")
    assert mail(other.answer()) == []


def test_an_id_that_waits_is_taken_by_no_other_call(mcp: Mcp) -> None:
    wait = mcp.wait(7)
    for method, params in (("ping", {}), ("tools/call", {"name": "msg_wait", "arguments": {}})):
        refused = mcp.ask(method, params, 7)
        assert (refused.status_code, json_of(refused)["error"]["code"]) == (400, jsonrpc.INVALID_REQUEST)
    assert not wait.has_ended
    mcp.cancel(7)
    wait.answer()
    assert json_of(mcp.ask("ping", id=7))["result"] == {}


def test_the_end_of_its_session_ends_a_wait_and_the_stream(mcp: Mcp) -> None:
    wait, stream = mcp.wait(), mcp.follow()
    ended = mcp.client.delete("/mcp", headers=mcp.headers)
    assert (ended.status_code, ended.data, "Content-Type" in ended.headers) == (204, b"", False)
    assert mail(wait.answer()) == []
    assert list(messages(stream)) == []
    stream.close()
    assert mcp.store.runtime.feed.subscribers == 0
    assert error_of(mcp.ask("ping")) == "session_unknown"


def test_the_end_of_its_key_ends_a_wait_with_401(mcp: Mcp) -> None:
    wait = mcp.wait()
    agent_key(mcp.store)
    assert (wait.answer().status_code, error_of(wait.answer())) == (401, "unauthenticated")
    assert mcp.store.runtime.feed.subscribers == 0


@pytest.mark.parametrize("accept", [ANY, JSON])
def test_mail_ends_a_wait(mcp: Mcp, accept: str) -> None:
    wait = mcp.wait(accept=accept)
    mcp.store.join(room="front").send(mcp.seat.id, "here")
    assert [one["body"] for one in mail(wait.answer())] == ["here"]


def test_a_call_speaks_before_its_reply_to_a_client_that_takes_a_stream(speaking: Mcp) -> None:
    params: Json = {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": 5}}
    *told, reply = messages(speaking.ask("tools/call", params))
    assert [one["params"]["progress"] for one in told] == [0, 50, 100]
    assert "Done" in json.dumps(reply["result"])
    plain = speaking.ask("tools/call", params, 2, accept=JSON)
    assert json_of(plain) == {**reply, "id": 2}


def test_a_call_asks_its_client(speaking: Mcp) -> None:
    stream = messages(speaking.ask("tools/call", SAMPLING))
    asked = next(stream)
    answer = {"id": asked["id"], "result": {"content": {"text": "blue"}}}
    for _ in range(2):
        assert speaking.post(answer).status_code == 202, "the second answer is dropped"
    assert "blue" in json.dumps(next(stream))


def test_a_call_asks_nothing_of_a_client_that_takes_no_stream(speaking: Mcp) -> None:
    refused = json_of(speaking.ask("tools/call", SAMPLING, accept=JSON))
    assert refused["error"]["code"] == rpc.MISSING_CAPABILITY


def test_a_question_waits_no_longer_than_its_call(speaking: Mcp) -> None:
    stream = messages(speaking.ask("tools/call", SAMPLING, 3))
    next(stream)
    speaking.cancel(3)
    assert "error" in json.dumps(next(stream))


def test_a_question_that_nobody_answers_is_given_up(speaking: Mcp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_conversation, "ASK_S", 0.01)
    stream = messages(speaking.ask("tools/call", SAMPLING))
    next(stream)
    assert next(stream)["error"]["code"] == jsonrpc.INTERNAL_ERROR


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_what_is_no_method_of_mcp_ends_no_stream(mcp: Mcp, method: str) -> None:
    stream = messages(mcp.follow())
    refused = mcp.follow(method)
    assert refused.status_code == 405
    assert {"DELETE", "GET", "POST"} <= set(refused.headers["Allow"].split(", "))
    mcp.store.join(room="other")
    assert next(stream)["method"] == "notifications/resources/list_changed"


def test_ping_needs_no_session(mcp: Mcp) -> None:
    del mcp.headers["MCP-Session-Id"]
    assert json_of(mcp.ask("ping"))["result"] == {}
    assert error_of(mcp.ask("tools/list")) == "session_missing"


def test_what_is_accepted_is_looked_at_before_anything_happens(mcp: Mcp) -> None:
    assert mcp.ask("resources/subscribe", {"uri": HISTORY}, accept="text/html").status_code == 406
    for accept in ("application/jsonx", "application/json;q=0", "text/event-stream-x"):
        assert mcp.ask("ping", accept=accept).status_code == 406
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.1"):
        assert mcp.ask("ping", accept=accept).status_code == 200


def test_a_refusal_comes_in_the_form_that_the_client_takes(mcp: Mcp) -> None:
    nameless: Json = {"id": None, "method": "ping"}
    plain, streamed = (mcp.post(nameless, accept) for accept in (JSON, "text/event-stream"))
    assert plain.status_code == streamed.status_code == 400
    assert json_of(plain)["error"]["code"] == jsonrpc.INVALID_REQUEST
    assert list(messages(streamed)) == [json_of(plain)]


@pytest.mark.parametrize("room", ["front", "shared:front", "shared%3Afront", "%66ront"])
def test_a_listener_may_name_a_room_as_every_call_may(mcp: Mcp, room: str) -> None:
    uri = f"agents-room://rooms/{room}/history"
    stream = mcp.listen({"resourceSubscriptions": [uri, "agents-room://rooms/attic/history"]})
    assert next(stream)["params"]["notifications"] == {"resourceSubscriptions": [uri]}
    mcp.seat.send("*", "news")
    assert next(stream)["params"]["uri"] == uri
