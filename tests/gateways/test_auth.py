"""Who gets in over HTTP: each route with each principal, Host, Origin, CSRF, cookies, links and limits."""

import re
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, NoReturn

import pytest
from flask import Flask, abort, request
from flask.testing import FlaskClient
from werkzeug.exceptions import default_exceptions
from werkzeug.test import TestResponse

from agentsroom.access import service as access
from agentsroom.access.routes import EVERYBODY, audience_of, public
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.settings import Settings
from agentsroom.factory import FAILED_LOGINS, create_app
from agentsroom.gateways.auth import UndeclaredRoute, check_declared, own_hosts
from agentsroom.gateways.errors import http_errors
from agentsroom.gateways.running import Running
from tests.support.stores import Store
from tests.support.wiki_tables import subclasses

BASE = "http://127.0.0.1:8765"
RUNNING = Running(url=BASE, port=8765, pid=1, instance_id="i", token="the-token-of-serve-json")
UNSPECIFIED = str(IPv4Address(0))
PAGE = {"Accept": "text/html"}
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
    "manifest.tools": ADMIN | {"agent"},
    "manifest.server_card": ADMIN | {"agent"},
    "manifest.ai_catalog": ADMIN | {"agent"},
}
"""Who may call which route: said a second time, so that a slip in the code is seen."""


@pytest.fixture
def app(sqlite_store: Store) -> Flask:
    return create_app(sqlite_store.settings, sqlite_store.runtime, RUNNING)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return browser_of(app)


class OwnClient(FlaskClient):
    """Asks the address that the server has."""

    def open(self, *args: Any, **options: Any) -> TestResponse:
        return super().open(*args, **{"base_url": BASE, **options})


def browser_of(app: Flask) -> FlaskClient:
    app.test_client_class = OwnClient
    return app.test_client()


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def agent_key(store: Store) -> str:
    return store.runtime.database.write(lambda work: access.rotate_key(work, "default")).key


def login_token(store: Store) -> str:
    return store.runtime.database.write(access.create_login_link)


def csrf_token(client: FlaskClient, path: str = "/login") -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def log_in(client: FlaskClient, store: Store) -> TestResponse:
    response = client.get(f"/login/{login_token(store)}")
    assert (response.status_code, response.location) == (302, "/rooms")
    return response


def type_token(client: FlaskClient, token: str, **headers: str) -> TestResponse:
    form = {"csrf_token": csrf_token(client), "token": token}
    return client.post("/login", data=form, headers=headers)


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


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200),
        ("localhost:8765", 200),
        ("LOCALHOST:8765", 200),
        ("room.example", 200),
        ("127.0.0.1", 400),
        ("127.0.0.1:8766", 400),
        ("127.0.0.1.evil.com:8765", 400),
        ("evil.com", 400),
        ("", 400),
    ],
)
def test_host_must_be_one_of_ours_exactly(sqlite_store: Store, host: str, status: int) -> None:
    settings = replace(sqlite_store.settings, url="https://room.example")
    app = create_app(settings, sqlite_store.runtime, RUNNING)
    response = app.test_client().get("/healthz", headers={"Host": host})
    assert response.status_code == status


def test_hosts_of_other_addresses() -> None:
    assert own_hosts(Settings(host=UNSPECIFIED), 80) >= {"127.0.0.1", "127.0.0.1:80", "localhost"}
    assert own_hosts(Settings(host="::1"), 8765) == {"[::1]:8765", "localhost:8765"}
    assert own_hosts(Settings(host="Box.Example.org"), 1) == {"box.example.org:1", "localhost:1"}


@pytest.mark.parametrize(("proxies", "host"), [(0, "127.0.0.1:8765"), (1, "near"), (2, "far")])
def test_as_many_proxies_are_believed_as_there_are(sqlite_store: Store, proxies: int, host: str) -> None:
    settings = replace(sqlite_store.settings, proxies=proxies, url=f"https://{host}")
    app = create_app(settings, sqlite_store.runtime, RUNNING)
    app.view_functions["healthz"] = public(lambda: request.host)
    headers = {"X-Forwarded-Host": "evil, far, near"}
    assert browser_of(app).get("/healthz", headers=headers).text == host


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 302),
        ({"Origin": BASE}, 302),
        ({"Origin": "http://localhost:8765"}, 302),
        ({"Origin": "http://evil.com"}, 403),
        ({"Origin": "http://127.0.0.1:8765.evil.com"}, 403),
        ({"Origin": "null"}, 302),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 302),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_a_write_from_another_site_is_refused(
    client: FlaskClient, headers: dict[str, str], status: int
) -> None:
    assert type_token(client, RUNNING.token, **headers).status_code == status


def test_a_stream_for_another_site_is_refused(client: FlaskClient) -> None:
    evil = {**bearer(RUNNING.token), "Origin": "http://evil.com"}
    assert client.get("/live?page=/rooms", headers=evil).status_code == 403
    assert client.get("/rooms", headers=evil).status_code == 200, "reading a page is not for us to refuse"


def test_a_write_with_a_cookie_needs_the_csrf_token(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    token = csrf_token(client, "/rooms")
    assert client.post("/logout").status_code == 400
    assert client.post("/logout", data={"csrf_token": "x"}).status_code == 400
    assert client.get("/rooms").status_code == 200
    assert client.post("/logout", data={"csrf_token": token}).location == "/login"
    assert client.get("/rooms").status_code == 401


def test_a_login_form_without_its_csrf_token_is_refused(client: FlaskClient) -> None:
    assert client.post("/login", data={"token": RUNNING.token}).status_code == 400


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


def test_every_answer_carries_the_policy(client: FlaskClient) -> None:
    for path in ("/login", "/static/app.css", "/nothing", "/healthz"):
        with client.get(path) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Referrer-Policy"] == "no-referrer"


def test_health_tells_that_the_store_can_not_be_read_and_no_more(
    client: FlaskClient, sqlite_store: Store
) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})
    path = sqlite_store.settings.database_path
    assert path is not None
    sqlite_store.runtime.database.close()
    path.write_bytes(b"no database" * 1_000)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json is not None
    assert answer.json["error"]["code"] == "store_unavailable"
    assert answer.headers["Retry-After"]
    assert str(path) not in answer.text


def test_each_error_that_http_alone_has_is_listed(app: Flask, client: FlaskClient) -> None:
    ours = {one.code for one in subclasses(AgentsRoomError)}
    listed = {code: status for code, status, _ in http_errors()}
    assert not ours & set(listed)
    for status in sorted(default_exceptions):
        app.view_functions["healthz"] = failing(status)
        answer = client.get("/healthz")
        assert answer.status_code == status
        assert answer.json is not None
        code = answer.json["error"]["code"]
        assert code in ours | set(listed)
        if status in listed.values():
            assert listed[code] == status


def failing(status: int) -> Callable[[], NoReturn]:
    @public
    def fail() -> NoReturn:
        abort(status)

    return fail


def test_an_error_is_a_page_for_a_person_and_json_for_a_program(client: FlaskClient) -> None:
    page = client.get("/nothing", headers=PAGE)
    assert page.status_code == 404
    assert "Nothing is here." in page.text
    assert page.mimetype == "text/html"
    told = client.get("/nothing").json
    assert told is not None
    assert told["error"]["code"] == "not_found"
    refused = client.put("/login")
    assert (refused.status_code, "GET" in refused.headers["Allow"]) == (405, True)


@pytest.mark.parametrize("headers", [PAGE, {}])
def test_a_fault_tells_nothing_of_the_inside(
    app: Flask, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    app.view_functions["healthz"] = broken()
    response = browser_of(app).get("/healthz", headers=headers)
    assert response.status_code == 500
    assert "secret detail" not in response.text
    assert "secret detail" in caplog.text


def broken() -> Callable[[], str]:
    @public
    def fail() -> str:
        raise ValueError("secret detail")

    return fail
