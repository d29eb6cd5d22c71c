"""Limits over HTTP: wrong keys of an address, calls and streams of a key; a good key is never kept out by others."""

from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from agentsroom.access.routes import allow
from agentsroom.factory import create_app
from agentsroom.gateways.pace import WRONG_KEYS
from agentsroom.gateways.wire import MOST_BODY_OF_STRANGERS
from tests.support.stores import Store
from tests.support.web import RUNNING, agent_key, bearer, browser_of, error_of, log_in

CALL = "/api/probe"


def limited(store: Store, **settings: Any) -> FlaskClient:
    """Of a server with other limits, and a route that agents call."""
    return browser_of(with_probe(create_app(replace(store.settings, **settings), store.runtime, RUNNING)))


def with_probe(app: Flask) -> Flask:
    @allow("admin", "agent")
    def probe() -> str:
        return "in"

    app.add_url_rule(CALL, view_func=probe, methods=["GET", "POST"])
    return app


def try_keys(client: FlaskClient, count: int, address: str = "192.0.2.1") -> list[int]:
    """The statuses of so many wrong keys."""
    return [
        client.get(
            "/rooms", headers=bearer(f"agt_x.{number}"), environ_overrides={"REMOTE_ADDR": address}
        ).status_code
        for number in range(count)
    ]


def test_wrong_keys_of_an_address_are_slowed(app: Flask, client: FlaskClient) -> None:
    assert try_keys(client, WRONG_KEYS + 2) == [401] * WRONG_KEYS + [429] * 2
    refused = client.get("/rooms", headers=bearer("wrong"), environ_overrides={"REMOTE_ADDR": "192.0.2.1"})
    assert error_of(refused) == "too_many_requests"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert try_keys(browser_of(app), 1, "192.0.2.2") == [401]


def test_whoever_tries_keys_a_good_one_gets_in_from_the_same_address(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    with_probe(app)
    log_in(client, sqlite_store)
    assert try_keys(client, WRONG_KEYS + 1)[-1] == 429
    here = {"REMOTE_ADDR": "192.0.2.1"}
    for headers in (bearer(agent_key(sqlite_store)), bearer(RUNNING.token), {}):
        assert client.get(CALL, headers=headers, environ_overrides=here).status_code == 200


def test_who_has_a_whole_network_of_addresses_is_slowed_as_one(client: FlaskClient) -> None:
    statuses = [try_keys(client, 1, f"2001:db8::{number:x}")[0] for number in range(WRONG_KEYS + 1)]
    assert statuses[-1] == 429
    assert try_keys(client, 1, "2001:db8:0:1::1") == [401]
    assert try_keys(client, WRONG_KEYS + 1, "::ffff:192.0.2.7")[-1] == 429
    assert try_keys(client, 1, "::ffff:192.0.2.8") == [401]
    assert try_keys(client, 1, "unix:") == [401]


def test_with_a_proxy_the_address_is_the_one_that_it_names(sqlite_store: Store) -> None:
    client = limited(sqlite_store, proxies=1)

    def status_from(address: str) -> int:
        headers = {**bearer("wrong"), "X-Forwarded-For": f"203.0.113.1, {address}"}
        return client.get("/rooms", headers=headers).status_code

    assert [status_from("192.0.2.1") for _ in range(WRONG_KEYS + 1)][-1] == 429
    assert status_from("192.0.2.2") == 401


def test_a_client_does_not_choose_the_address_that_it_is_counted_by(client: FlaskClient) -> None:
    statuses = [
        client.get("/rooms", headers={**bearer("wrong"), "X-Forwarded-For": f"192.0.2.{number}"}).status_code
        for number in range(WRONG_KEYS + 1)
    ]
    assert statuses[-1] == 429


def test_calls_with_one_key_are_bounded_and_others_are_not_touched(sqlite_store: Store) -> None:
    client = limited(sqlite_store, max_calls=3)
    sqlite_store.add_agent("bob")
    ada, bob = bearer(agent_key(sqlite_store)), bearer(agent_key(sqlite_store, "bob"))
    assert [client.get(CALL, headers=ada).status_code for _ in range(4)] == [200] * 3 + [429]
    refused = client.get(CALL, headers=ada)
    assert error_of(refused) == "too_many_requests"
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert "AGENTS_ROOM_MAX_CALLS" in refused.text
    assert client.get(CALL, headers=bob).status_code == 200
    assert client.get(CALL, headers=bearer(RUNNING.token)).status_code == 200
    another = bearer(agent_key(sqlite_store))
    assert client.get(CALL, headers=another).status_code == 429, "a new key is no new start"


@pytest.mark.parametrize("path", ["/rooms", "/live?page=/rooms", "/.well-known/ai-catalog.json", "/healthz"])
def test_pages_their_streams_and_wrong_keys_count_for_no_call(sqlite_store: Store, path: str) -> None:
    client = limited(sqlite_store, max_calls=1)
    token = bearer(RUNNING.token)
    for _ in range(3):
        with client.get(path, headers=token) as answer:
            assert answer.status_code == 200
    assert client.get(CALL, headers=bearer(RUNNING.token + "x")).status_code == 401
    assert client.get(CALL, headers=token).status_code == 200


@pytest.mark.parametrize("path", ["/api/openapi.json", "/mcp", "/mcp/manifest.json", "/api/tools/room_who"])
def test_whatever_is_asked_under_api_and_mcp_counts_as_a_call(sqlite_store: Store, path: str) -> None:
    client = limited(sqlite_store, max_calls=1)
    token = bearer(RUNNING.token)
    method = "POST" if path.startswith("/api/tools") else "GET"
    statuses = [client.open(path, method=method, headers=token, json={}).status_code for _ in range(2)]
    assert (statuses[0] == 429, statuses[1]) == (False, 429)


def test_the_body_of_a_stranger_is_read_at_the_login_alone_and_not_beyond_its_bound(
    client: FlaskClient,
) -> None:
    body = {"data": b"a" * (MOST_BODY_OF_STRANGERS + 1)}
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert client.post("/login", **body, **form).status_code == 413
    for path in ("/api/tools/room_who", "/mcp", "/logout"):
        assert client.post(path, **body, content_type="application/json").status_code == 401


def test_no_limit_is_none(sqlite_store: Store) -> None:
    client = limited(sqlite_store, max_calls=0)
    statuses = {client.get(CALL, headers=bearer(RUNNING.token)).status_code for _ in range(50)}
    assert statuses == {200}


def test_streams_of_one_login_are_bounded_and_a_place_comes_back(sqlite_store: Store) -> None:
    client = limited(sqlite_store, max_streams=2)
    live = "/live?page=/rooms&since=0"
    log_in(client, sqlite_store)
    opened = [client.get(live) for _ in range(2)]
    subscribers = sqlite_store.runtime.feed.subscribers
    refused = client.get(live)
    assert (refused.status_code, error_of(refused)) == (429, "too_many_requests")
    assert int(refused.headers["Retry-After"]) > 0
    assert "AGENTS_ROOM_MAX_STREAMS" in refused.text
    assert sqlite_store.runtime.feed.subscribers == subscribers > 0, "a refused one left nothing"
    with client.get(live, headers=bearer(RUNNING.token)) as other:
        assert other.status_code == 200
    opened.pop().close()
    with client.get(live) as again:
        assert again.status_code == 200
    opened.pop().close()
    assert sqlite_store.runtime.feed.subscribers == 0
