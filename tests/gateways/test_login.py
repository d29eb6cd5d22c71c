"""How a browser gets in and out: the form, the link that works once, the cookie."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from agentsroom.access import service as access
from agentsroom.factory import FAILED_LOGINS, create_app
from tests.support.stores import Store
from tests.support.web import PAGE, RUNNING, browser_of, log_in, login_token, type_token


def test_the_cookie_is_for_this_site_and_no_script(client: FlaskClient, sqlite_store: Store) -> None:
    cookie = log_in(client, sqlite_store).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie


@pytest.mark.parametrize("change", [{"url": "https://room.example"}, {"proxies": 1}])
def test_the_cookie_is_secure_on_https(sqlite_store: Store, change: dict[str, Any]) -> None:
    app = create_app(replace(sqlite_store.settings, **change), sqlite_store.runtime, RUNNING)
    client = browser_of(app)
    headers = {"X-Forwarded-Proto": "https"} if "proxies" in change else {}
    response = client.get(f"/login/{login_token(sqlite_store)}", headers=headers)
    assert "Secure" in response.headers["Set-Cookie"]


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
    tries = int(FAILED_LOGINS.split()[0])
    assert type_token(client, RUNNING.token).status_code == 302
    assert [type_token(client, "wrong").status_code for _ in range(tries)] == [401] * tries
    slowed = type_token(client, RUNNING.token, Accept="text/html")
    assert slowed.status_code == 429
    assert 0 < int(slowed.headers["Retry-After"]) <= 60
    assert "Wait a minute" in slowed.text
