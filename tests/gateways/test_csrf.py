"""A write of a browser carries a token that only the pages of its own login know; JSON is nothing that a form sends."""

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from agentsroom.access.routes import allow
from tests.support.stores import Store
from tests.support.web import BASE, PAGE, RUNNING, bearer, browser_of, csrf_token, error_of, log_in

PROBES = ("/api/probe", "/mcp/probe")


@pytest.fixture
def app(app: Flask) -> Flask:
    """With routes of the kinds that take JSON, whatever others there are."""

    @allow("admin", "agent")
    def probe() -> str:
        return "in"

    for path in PROBES:
        app.add_url_rule(path, path, probe, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    return app


@pytest.fixture
def browser(client: FlaskClient, sqlite_store: Store) -> FlaskClient:
    """Logged in."""
    log_in(client, sqlite_store)
    return client


def test_a_write_with_a_cookie_needs_the_csrf_token(browser: FlaskClient) -> None:
    token = csrf_token(browser, "/rooms")
    for form in ({}, {"csrf_token": ""}, {"csrf_token": "x"}, {"csrf_token": token + "x"}):
        refused = browser.post("/logout", data=form)
        assert (refused.status_code, error_of(refused)) == (400, "csrf_failed")
    assert browser.get("/rooms").status_code == 200
    assert browser.post("/logout", data={"csrf_token": token}).location == "/login"
    assert browser.get("/rooms").status_code == 401


def test_the_token_may_stand_in_a_header(browser: FlaskClient) -> None:
    token = csrf_token(browser, "/rooms")
    assert browser.post("/logout", headers={"X-CSRFToken": token}).location == "/login"


def test_the_token_of_another_login_is_refused(app: Flask, browser: FlaskClient, sqlite_store: Store) -> None:
    other = browser_of(app)
    log_in(other, sqlite_store)
    stolen = csrf_token(other, "/rooms")
    refused = browser.post("/logout", data={"csrf_token": stolen})
    assert (refused.status_code, error_of(refused)) == (400, "csrf_failed")


def test_the_token_of_an_earlier_login_and_of_the_time_before_it_is_refused(
    client: FlaskClient, sqlite_store: Store
) -> None:
    before = csrf_token(client)
    log_in(client, sqlite_store)
    earlier = csrf_token(client, "/rooms")
    client.post("/logout", data={"csrf_token": earlier})
    log_in(client, sqlite_store)
    for token in (before, earlier):
        assert error_of(client.post("/logout", data={"csrf_token": token})) == "csrf_failed"
    assert client.get("/rooms").status_code == 200


def test_a_person_is_told_what_to_do(browser: FlaskClient) -> None:
    page = browser.post("/logout", headers=PAGE)
    assert (page.status_code, page.mimetype) == (400, "text/html")
    assert "Load the page again" in page.text


def test_a_login_form_without_its_csrf_token_is_refused(client: FlaskClient) -> None:
    refused = client.post("/login", data={"token": RUNNING.token})
    assert (refused.status_code, error_of(refused)) == (400, "csrf_failed")
    assert client.get("/rooms").status_code == 401


def test_a_login_form_of_another_browser_is_refused(app: Flask, client: FlaskClient) -> None:
    form = {"token": RUNNING.token, "csrf_token": csrf_token(browser_of(app))}
    assert error_of(client.post("/login", data=form)) == "csrf_failed"


def test_a_key_needs_no_csrf_token_even_beside_a_cookie(browser: FlaskClient) -> None:
    for path in PROBES:
        assert browser.post(path, json={}, headers=bearer(RUNNING.token)).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_cookie_is_asked_for_the_token_where_json_is_taken_too(browser: FlaskClient, method: str) -> None:
    token = csrf_token(browser, "/rooms")
    for path in PROBES:
        refused = browser.open(path, method=method, json={})
        assert (refused.status_code, error_of(refused)) == (400, "csrf_failed")
        refused = browser.open(path, method=method, json={"csrf_token": token})
        assert error_of(refused) == "csrf_failed", "it is not looked for in JSON"
        assert browser.open(path, method=method, json={}, headers={"X-CSRFToken": token}).status_code == 200


OTHER_BODIES: list[dict[str, Any]] = [
    {"data": "{}", "content_type": "text/plain"},
    {"data": "{}", "content_type": "text/plain; application/json"},
    {"data": "{}", "content_type": "application/jsonx"},
    {"data": "{}", "content_type": "application/x-www-form-urlencoded"},
    {"data": {"a": "b"}, "content_type": "multipart/form-data"},
    {"data": "{}", "content_type": "multipart/form-data; boundary=x; application/json"},
    {"data": "{}", "content_type": ""},
    {"data": "{}", "content_type": "x application/json"},
    {"data": "{}"},
    {},
]


@pytest.mark.parametrize("body", OTHER_BODIES, ids=str)
def test_where_json_is_taken_nothing_else_is(app: Flask, browser: FlaskClient, body: dict[str, Any]) -> None:
    """A form of any site can send these, with the cookie or none, without asking first."""
    csrf = {"X-CSRFToken": csrf_token(browser, "/rooms")}
    tried = 0
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith(("/api/", "/mcp")) and "POST" in (rule.methods or ()):
            for who in (csrf, bearer(RUNNING.token)):
                path = rule.rule.replace("<", "").replace(">", "")
                refused = browser.post(path, headers=who, **body)
                assert refused.status_code == 415, (rule.rule, refused.text)
                assert "application/json" in refused.text
                foreign = browser.post(path, headers={**who, "Origin": "http://evil.com"}, **body)
                assert foreign.status_code == 403
                tried += 1
    assert tried >= 2 * len(PROBES)


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_taken(browser: FlaskClient, kind: str) -> None:
    for path in PROBES:
        answer = browser.post(path, data="{}", content_type=kind, headers=bearer(RUNNING.token))
        assert answer.status_code == 200


def test_our_own_pages_may_send_json(browser: FlaskClient) -> None:
    headers = {"X-CSRFToken": csrf_token(browser, "/rooms"), "Origin": BASE, "Sec-Fetch-Site": "same-origin"}
    assert browser.post(PROBES[0], json={}, headers=headers).status_code == 200
