"""Who may call which route: each route with each principal, and with none."""

import re
from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from agentsroom.access.routes import EVERYBODY, audience_of
from agentsroom.factory import create_app
from agentsroom.gateways.auth import UndeclaredRoute, check_declared
from tests.support.stores import Store
from tests.support.web import PAGE, RUNNING, agent_key, bearer, browser_of, log_in

ADMIN = frozenset({"admin"})
AUDIENCES = {
    "static": EVERYBODY,
    "healthz": EVERYBODY,
    "access.login": EVERYBODY,
    "access.log_in": EVERYBODY,
    "access.log_in_by_link": EVERYBODY,
    "access.log_out": ADMIN,
    "overview": ADMIN,
    "rooms.rooms": ADMIN,
    "rooms.room": ADMIN,
    "live.live": ADMIN,
    "api.run": ADMIN | {"agent"},
    "api.describe": ADMIN | {"agent"},
}
"""Who may call which route: said a second time, so that a slip in the code is seen."""


def test_every_route_declares_whom_it_is_for(app: Flask) -> None:
    assert {name: audience_of(view) for name, view in app.view_functions.items()} == AUDIENCES


def test_a_route_that_declares_nobody_stops_the_app_and_is_closed_to_everybody(app: Flask) -> None:
    app.add_url_rule("/open", view_func=lambda: "in")
    with pytest.raises(UndeclaredRoute, match="/open"):
        check_declared(app)
    assert browser_of(app).get("/open", headers=bearer(RUNNING.token)).status_code == 403


@pytest.mark.parametrize("who", ["nobody", "admin", "agent"])
def test_each_route_lets_in_exactly_whom_it_declares(
    app: Flask, client: FlaskClient, sqlite_store: Store, who: str
) -> None:
    secrets = {"nobody": None, "admin": RUNNING.token, "agent": agent_key(sqlite_store)}
    secret = secrets[who]
    refusals = {"nobody": 401, "agent": 403}
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<.*?>", "x", rule.rule)
        method = "POST" if "POST" in (rule.methods or ()) else "GET"
        response = client.open(path, method=method, headers=bearer(secret) if secret else {})
        audience = AUDIENCES[rule.endpoint]
        is_let_in = audience == EVERYBODY or who in audience
        if rule.endpoint == "access.log_in_by_link":
            assert response.status_code == 401, "the link x is none of ours"
        elif is_let_in:
            assert response.status_code not in (401, 403), (path, response.text)
        else:
            assert response.status_code == refusals[who], path


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


def test_auth_off_makes_everybody_the_admin(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, auth="off")
    client = browser_of(create_app(settings, sqlite_store.runtime, RUNNING))
    assert client.get("/rooms").status_code == 200
    assert client.get("/rooms", headers=bearer("wrong")).status_code == 401
