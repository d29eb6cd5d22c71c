"""Who may call which route: each route with each principal, and with none."""

import re
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from agentsroom.access.routes import EVERYBODY, audience_of
from agentsroom.core.principals import Kind
from agentsroom.factory import create_app
from agentsroom.gateways.auth import UndeclaredRoute, check_declared
from tests.support.principals import CALLERS, Caller, address_of_its_own
from tests.support.stores import Store
from tests.support.web import PAGE, RUNNING, bearer, browser_of, error_of, log_in, login_token

ADMIN: frozenset[Kind] = frozenset({"admin"})
AUDIENCES: dict[str, frozenset[Kind]] = {
    "static": EVERYBODY,
    "healthz": EVERYBODY,
    "access.login": EVERYBODY,
    "access.log_in": EVERYBODY,
    "access.log_in_by_link": EVERYBODY,
    "access.log_out": ADMIN,
    "overview": ADMIN,
    "rooms.rooms": ADMIN,
    "rooms.room": ADMIN,
    "events.events": ADMIN,
    "events.export": ADMIN,
    "wiki.home": ADMIN,
    "wiki.page": ADMIN,
    "rooms.older": ADMIN,
    "rooms.message": ADMIN,
    "room_forms.send": ADMIN,
    "room_forms.cap": ADMIN,
    "room_forms.pause": ADMIN,
    "room_forms.resume": ADMIN,
    "room_export.export": ADMIN,
    "live.live": ADMIN,
    "live.main": ADMIN,
    "mcp.take": ADMIN | {"agent"},
    "mcp.follow": ADMIN | {"agent"},
    "mcp.end": ADMIN | {"agent"},
    "api.run": ADMIN | {"agent"},
    "api.describe": ADMIN | {"agent"},
    "room_stream.follow": ADMIN | {"agent"},
    "manifest.tools": ADMIN | {"agent"},
    "manifest.server_card": ADMIN | {"agent"},
    "manifest.ai_catalog": ADMIN | {"agent"},
}
"""Who may call which route: said a second time, so that a slip in the code is seen."""

WRITES = ("POST", "PUT", "PATCH", "DELETE")
REFUSALS = {400: "csrf_failed", 401: "unauthenticated", 403: "forbidden"}


def test_every_route_declares_whom_it_is_for(app: Flask) -> None:
    assert {name: audience_of(view) for name, view in app.view_functions.items()} == AUDIENCES


def test_a_route_that_declares_nobody_stops_the_app_and_is_closed_to_everybody(app: Flask) -> None:
    app.add_url_rule("/open", view_func=lambda: "in")
    with pytest.raises(UndeclaredRoute, match="/open"):
        check_declared(app)
    assert browser_of(app).get("/open", headers=bearer(RUNNING.token)).status_code == 403


@pytest.mark.parametrize("who", CALLERS)
def test_each_route_lets_in_exactly_whom_it_declares(app: Flask, sqlite_store: Store, who: str) -> None:
    for rule in app.url_map.iter_rules():
        for method in rule.methods or ():
            seen = tried(app, sqlite_store, rule, method, CALLERS[who])
            assert seen == expected(AUDIENCES[rule.endpoint], method, CALLERS[who]), (method, rule.rule)


def test_with_auth_off_who_brings_nothing_is_the_admin_and_a_wrong_key_is_wrong(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, auth="off")
    app = create_app(settings, sqlite_store.runtime, RUNNING)
    for rule in app.url_map.iter_rules():
        for method in rule.methods or ():
            nobody = replace(CALLERS["nobody"], kind="admin", needs_csrf_token=not is_for_programs(rule))
            for caller in (nobody, CALLERS["a key that was revoked"], CALLERS["an agent"]):
                seen = tried(app, sqlite_store, rule, method, caller)
                assert seen == expected(AUDIENCES[rule.endpoint], method, caller), (method, rule.rule)


def is_for_programs(rule: Rule) -> bool:
    return rule.rule.startswith(("/api/", "/mcp", "/live"))


def tried(app: Flask, store: Store, rule: Rule, method: str, caller: Caller) -> str | None:
    """The code with which the gate refuses the request; None when it lets it pass, whatever is answered then."""
    client = browser_of(app)
    headers = caller.brings(store, client)
    path = re.sub(
        r"<(?:\w+:)?(\w+)>", lambda found: login_token(store) if found[1] == "token" else "x", rule.rule
    )
    is_json = is_for_programs(rule) and method in WRITES
    answer = client.open(
        path,
        method=method,
        headers=headers,
        environ_overrides=address_of_its_own(),
        json={} if is_json else None,
    )
    with answer:
        refusal = REFUSALS.get(answer.status_code)
        if method == "HEAD":  # tells no code, and needs no CSRF token
            return None if refusal == "csrf_failed" else refusal
        return refusal if refusal and answer.is_json and error_of(answer) == refusal else None


def expected(audience: frozenset[Kind], method: str, caller: Caller) -> str | None:
    """The code with which the gate should refuse."""
    is_unproven_write = method in WRITES and not caller.has_csrf_token
    if audience == EVERYBODY:
        return "csrf_failed" if is_unproven_write else None
    if caller.kind is None:
        return "unauthenticated"
    if caller.kind not in audience:
        return "forbidden"
    return "csrf_failed" if is_unproven_write and caller.needs_csrf_token else None


def test_a_person_without_credentials_is_sent_to_the_login(client: FlaskClient) -> None:
    response = client.get("/rooms", headers=PAGE)
    assert (response.status_code, response.location) == (302, "/login")


def test_a_stream_or_fragment_without_credentials_is_told_so(client: FlaskClient) -> None:
    for path in ("/live?page=/rooms", "/rooms"):
        response = client.get(path, headers={"Accept": "text/html, text/event-stream", "HX-Request": "true"})
        assert response.status_code == 401
        assert response.json is not None
        assert response.json["error"]["code"] == "unauthenticated"


def test_a_wrong_bearer_is_refused_even_with_a_good_cookie(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    for secret in ("wrong", "agt_000000000000.wrong", ""):
        assert client.get("/rooms", headers=bearer(secret)).status_code == 401
    assert client.get("/rooms").status_code == 200
