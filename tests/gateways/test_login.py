"""How a browser gets in and out: the form, the link that works once, the cookie."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from agentsroom.access import service as access
from agentsroom.factory import LOGIN_DAYS, create_app
from agentsroom.gateways.pace import FAILED_LOGINS
from tests.support.stores import Store
from tests.support.web import (
    BASE,
    PAGE,
    RUNNING,
    browser_of,
    csrf_token,
    log_in,
    login_token,
    type_token,
)


def attributes(answer: TestResponse) -> dict[str, str]:
    """Of the cookie that the answer sets, without its name and value."""
    [cookie] = answer.headers.getlist("Set-Cookie")
    parts = (part.partition("=") for part in cookie.split("; ")[1:])
    return {name: value for name, _, value in parts}


def test_the_cookie_is_for_this_site_and_no_script(client: FlaskClient, sqlite_store: Store) -> None:
    cookie = attributes(log_in(client, sqlite_store))
    assert set(cookie) == {"Expires", "HttpOnly", "Path", "SameSite"}
    assert (cookie["SameSite"], cookie["Path"]) == ("Lax", "/")


def test_whoever_reads_without_a_login_gets_no_cookie(client: FlaskClient) -> None:
    for path in ("/healthz", "/static/app.css", "/nothing", "/rooms"):
        with client.get(path) as answer:
            assert "Set-Cookie" not in answer.headers, path


@pytest.mark.parametrize("change", [{"url": "https://room.example"}, {"proxies": 1}])
def test_the_cookie_is_secure_on_https(sqlite_store: Store, change: dict[str, Any]) -> None:
    app = create_app(replace(sqlite_store.settings, **change), sqlite_store.runtime, RUNNING)
    client = browser_of(app)
    headers = {"X-Forwarded-Proto": "https"} if "proxies" in change else {}
    response = client.get(f"/login/{login_token(sqlite_store)}", headers=headers)
    assert "Secure" in attributes(response)


def test_nobody_but_a_trusted_proxy_says_that_it_was_https(client: FlaskClient, sqlite_store: Store) -> None:
    headers = {"X-Forwarded-Proto": "https"}
    answer = client.get(f"/login/{login_token(sqlite_store)}", headers=headers)
    assert "Secure" not in attributes(answer)


def test_two_homes_on_one_host_do_not_share_a_cookie(app: Flask, sqlite_store: Store, tmp_path: Path) -> None:
    other = create_app(replace(sqlite_store.settings, home=str(tmp_path / "b")), sqlite_store.runtime)
    assert other.config["SESSION_COOKIE_NAME"] != app.config["SESSION_COOKIE_NAME"]
    assert other.secret_key != app.secret_key


def test_the_secret_outlives_restarts_and_is_its_owners_alone(app: Flask, sqlite_store: Store) -> None:
    again = create_app(sqlite_store.settings, sqlite_store.runtime)
    assert again.secret_key == app.secret_key
    secret = sqlite_store.settings.home_path / "secret"
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_login_that_is_revoked_opens_nothing(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    [(login_id, *_)] = sqlite_store.rows("browser_logins")
    sqlite_store.runtime.database.write(lambda work: access.log_out(work, login_id))
    assert client.get("/rooms").status_code == 401


def test_logging_in_again_makes_another_cookie(client: FlaskClient, sqlite_store: Store) -> None:
    """Nothing that somebody planted before the login outlives it."""
    assert csrf_token(client)
    before = client.get_cookie(client.application.config["SESSION_COOKIE_NAME"], domain="127.0.0.1")
    log_in(client, sqlite_store)
    after = client.get_cookie(client.application.config["SESSION_COOKIE_NAME"], domain="127.0.0.1")
    assert before is not None
    assert after is not None
    assert before.value != after.value
    with client.session_transaction(base_url=BASE) as session:
        assert set(session) == {"login", "_permanent"}


def test_signing_out_ends_the_login_of_every_tab_and_of_a_copied_cookie(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    log_in(client, sqlite_store)
    name = app.config["SESSION_COOKIE_NAME"]
    cookie = client.get_cookie(name, domain="127.0.0.1")
    assert cookie is not None
    thief = browser_of(app)
    thief.set_cookie(name, cookie.value, domain="127.0.0.1")
    assert thief.get("/rooms").status_code == 200
    other = browser_of(app)
    log_in(other, sqlite_store)
    client.post("/logout", data={"csrf_token": csrf_token(client, "/rooms")})
    assert thief.get("/rooms").status_code == 401
    assert other.get("/rooms").status_code == 200, "which is another login"


@pytest.mark.parametrize("place", range(0, 100, 7))
def test_a_cookie_that_somebody_changed_is_nobodys(
    app: Flask, client: FlaskClient, sqlite_store: Store, place: int
) -> None:
    log_in(client, sqlite_store)
    name = app.config["SESSION_COOKIE_NAME"]
    cookie = client.get_cookie(name, domain="127.0.0.1")
    assert cookie is not None
    at = place % (len(cookie.value) - 1)  # the last letter has bits that mean nothing
    letter = "A" if cookie.value[at] != "A" else "B"
    client.set_cookie(name, cookie.value[:at] + letter + cookie.value[at + 1 :], domain="127.0.0.1")
    assert client.get("/rooms").status_code == 401


def test_a_cookie_is_nobodys_once_its_days_are_over(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    """Also where the browser keeps it longer than it should."""
    log_in(client, sqlite_store)
    assert app.permanent_session_lifetime == timedelta(days=LOGIN_DAYS)
    app.config["PERMANENT_SESSION_LIFETIME"] = timedelta(seconds=-1)
    assert client.get("/rooms").status_code == 401


def test_a_cookie_of_another_home_is_nobodys(app: Flask, sqlite_store: Store, tmp_path: Path) -> None:
    other = create_app(
        replace(sqlite_store.settings, home=str(tmp_path / "b")), sqlite_store.runtime, RUNNING
    )
    stranger = browser_of(other)
    log_in(stranger, sqlite_store)
    cookie = stranger.get_cookie(other.config["SESSION_COOKIE_NAME"], domain="127.0.0.1")
    assert cookie is not None
    client = browser_of(app)
    client.set_cookie(app.config["SESSION_COOKIE_NAME"], cookie.value, domain="127.0.0.1")
    assert client.get("/rooms").status_code == 401


def test_a_login_link_works_once_and_then_says_so(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    token = login_token(sqlite_store)
    assert client.head(f"/login/{token}").status_code == 200, "a preview does not use it up"
    assert client.get(f"/login/{token}").status_code == 302
    again = browser_of(app).get(f"/login/{token}", headers=PAGE)
    assert again.status_code == 401
    assert "was used before" in again.text
    assert "agents-room login-link" in again.text


def test_a_browser_that_is_in_does_not_use_a_link_up(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    client.get(f"/login/{login_token(sqlite_store)}")
    token = login_token(sqlite_store)
    assert client.get(f"/login/{token}").location == "/rooms"
    assert browser_of(app).get(f"/login/{token}").location == "/rooms"


def test_a_login_link_ends_after_a_day(client: FlaskClient, sqlite_store: Store) -> None:
    token = login_token(sqlite_store)
    sqlite_store.clock.forward(24 * 3_600)
    assert client.get(f"/login/{token}").status_code == 401


def test_the_token_of_serve_json_logs_in(client: FlaskClient) -> None:
    assert type_token(client, RUNNING.token).status_code == 302
    assert client.get("/rooms").status_code == 200


@pytest.mark.parametrize(("given", "answer"), [("agt_x.y", "agent’s key"), ("wrong", "not the token")])
def test_a_wrong_token_is_told_in_the_form(client: FlaskClient, given: str, answer: str) -> None:
    response = type_token(client, given)
    assert response.status_code == 401
    assert answer in response.text
    assert 'aria-invalid="true"' in response.text


def test_failed_logins_are_slowed_and_a_good_one_costs_nothing(client: FlaskClient) -> None:
    assert type_token(client, RUNNING.token).status_code == 302
    assert [type_token(client, "wrong").status_code for _ in range(FAILED_LOGINS)] == [401] * FAILED_LOGINS
    slowed = type_token(client, RUNNING.token, Accept="text/html")
    assert slowed.status_code == 429
    assert 0 < int(slowed.headers["Retry-After"]) <= 60
    assert "Wait a minute" in slowed.text
