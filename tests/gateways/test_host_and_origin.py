"""To whom and from where: Host is ours exactly, and so is Origin on every write and every stream."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from agentsroom.access.routes import public
from agentsroom.core.settings import Settings
from agentsroom.factory import create_app
from agentsroom.gateways.hosts import Addresses
from tests.support.stores import Store
from tests.support.web import BASE, PAGE, RUNNING, bearer, browser_of, error_of, log_in, type_token

UNSPECIFIED = str(IPv4Address(0))
OWN = ["127.0.0.1:1", "localhost:1"]
FOREIGN_HOSTS = [
    "127.0.0.1",
    "127.0.0.1:8766",
    "127.0.0.1:08765",
    "127.0.0.1:8765:8765",
    "127.0.0.1.:8765",
    "127.0.0.1.evil.com:8765",
    "127.0.0.1:8765.evil.com",
    "evil.com:8765",
    "evil.com",
    "localhost.:8765",
    "user@127.0.0.1:8765",
    "127.0.0.1:8765@evil.com",
    "127.0.0.1:8765,evil.com",
    "127.0.0.1:8765 evil.com",
    "127.1:8765",
    "2130706433:8765",
    "0x7f000001:8765",
    "[::1]:8765",
    "[::ffff:127.0.0.1]:8765",
    "room.example:8765",
    "room.example.",
    "http://127.0.0.1:8765",
    "*",
    "",
]


@pytest.fixture
def client(sqlite_store: Store) -> FlaskClient:
    """Of a server that has a public name, too."""
    settings = replace(sqlite_store.settings, url="https://room.example")
    return browser_of(create_app(settings, sqlite_store.runtime, RUNNING))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8765",
        "localhost:8765",
        "LOCALHOST:8765",
        "room.example",
        "Room.Example",
        "room.example:443",
    ],
)
def test_a_host_of_ours_is_answered(client: FlaskClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_host_that_only_resembles_ours_is_refused(client: FlaskClient, host: str) -> None:
    refused = client.get("/healthz", headers={"Host": host})
    assert (refused.status_code, error_of(refused)) == (403, "foreign_host")


def test_a_request_without_a_host_is_refused(client: FlaskClient) -> None:
    refused = client.get("/healthz", environ_overrides={"HTTP_HOST": ""})
    assert (refused.status_code, error_of(refused)) == (403, "foreign_host")


def test_no_route_answers_under_a_foreign_host(app: Flask, client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    paths = [rule.rule for rule in app.url_map.iter_rules()]
    for path in [*paths, "/nothing", "/static/app.css", "/static/nothing", "/rooms/", "//"]:
        for method in ("GET", "POST", "OPTIONS", "PUT"):
            refused = client.open(path, method=method, headers={"Host": "evil.com", **bearer(RUNNING.token)})
            assert (refused.status_code, error_of(refused)) == (403, "foreign_host"), (method, path)


def test_a_person_is_told_on_a_page_which_address_is_meant(client: FlaskClient) -> None:
    page = client.get("/rooms", headers={"Host": "evil.com", **PAGE})
    assert page.status_code == 403
    assert page.mimetype == "text/html"
    assert "none of ours" in page.text
    assert "AGENTS_ROOM_URL" in page.text
    assert "evil.com" not in page.text


@pytest.mark.parametrize(
    ("given", "port", "hosts"),
    [
        ({"host": "127.0.0.1"}, 80, ["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80"]),
        ({"host": "127.0.0.1"}, 443, ["127.0.0.1:443", "localhost:443"]),
        ({"host": UNSPECIFIED}, 1, [f"{UNSPECIFIED}:1", "127.0.0.1:1", "[::1]:1", "localhost:1"]),
        ({"host": "::1"}, 8765, ["[::1]:8765", "localhost:8765"]),
        ({"host": "0:0:0:0:0:0:0:1"}, 1, ["[0:0:0:0:0:0:0:1]:1", "[::1]:1", "localhost:1"]),
        ({"host": "Box.Example.org"}, 1, ["box.example.org:1", "localhost:1"]),
        ({"url": "https://room.example:8443/"}, 1, ["127.0.0.1:1", "localhost:1", "room.example:8443"]),
        ({"url": "http://räume.example"}, 1, [*OWN, "xn--rume-loa.example", "xn--rume-loa.example:80"]),
        ({"url": "https://[2001:DB8::1]"}, 1, [*OWN, "[2001:db8::1]", "[2001:db8::1]:443"]),
        ({"url": "https://user@room.example"}, 1, [*OWN, "room.example", "room.example:443"]),
    ],
)
def test_hosts_of_other_addresses(given: dict[str, Any], port: int, hosts: list[str]) -> None:
    assert Addresses(Settings(**given), port).hosts == set(hosts)


def test_a_page_of_another_scheme_is_another_origin() -> None:
    origins = Addresses(Settings(url="https://room.example"), 8765).origins
    assert {"https://room.example", "http://127.0.0.1:8765"} <= origins
    assert not {"http://room.example", "https://127.0.0.1:8765"} & origins


@pytest.mark.parametrize(("proxies", "host"), [(0, "127.0.0.1:8765"), (1, "near"), (2, "far")])
def test_as_many_proxies_are_believed_as_there_are(sqlite_store: Store, proxies: int, host: str) -> None:
    settings = replace(sqlite_store.settings, proxies=proxies, url=f"https://{host}")
    app = create_app(settings, sqlite_store.runtime, RUNNING)
    app.view_functions["healthz"] = public(lambda: request.host)
    headers = {"X-Forwarded-Host": "evil, far, near"}
    assert browser_of(app).get("/healthz", headers=headers).text == host


def test_a_foreign_host_that_a_trusted_proxy_names_is_refused(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, proxies=1)
    client = browser_of(create_app(settings, sqlite_store.runtime, RUNNING))
    assert client.get("/healthz", headers={"X-Forwarded-Host": "evil.com"}).status_code == 403
    assert client.get("/healthz", headers={"X-Forwarded-Host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 302),
        ({"Origin": BASE}, 302),
        ({"Origin": "http://localhost:8765"}, 302),
        ({"Origin": "HTTP://LOCALHOST:8765"}, 302),
        ({"Origin": "https://room.example"}, 302),
        ({"Origin": "http://room.example"}, 403),
        ({"Origin": "http://evil.com"}, 403),
        ({"Origin": "http://127.0.0.1:8765.evil.com"}, 403),
        ({"Origin": "http://127.0.0.1:8766"}, 403),
        ({"Origin": "http://user@127.0.0.1:8765"}, 403),
        ({"Origin": f"{BASE}/"}, 403),
        ({"Origin": f"{BASE} http://evil.com"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "null"}, 302),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 302),
        ({"Origin": "null", "Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
    ],
    ids=str,
)
def test_a_write_from_another_site_is_refused(
    client: FlaskClient, headers: dict[str, str], status: int
) -> None:
    assert type_token(client, RUNNING.token, **headers).status_code == status


def test_what_is_for_programs_is_refused_to_pages_of_others_whatever_the_method(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    log_in(client, sqlite_store)
    rules = [rule for rule in app.url_map.iter_rules() if rule.rule.startswith(("/live", "/mcp", "/api/"))]
    assert rules
    for rule in rules:
        for method in rule.methods or ():
            for origin in ("http://evil.com", "null", "http://127.0.0.1:8766", ""):
                for credentials in ({}, bearer(RUNNING.token), bearer("wrong")):
                    path = rule.rule.replace("<", "").replace(">", "")
                    refused = client.open(path, method=method, headers={"Origin": origin, **credentials})
                    assert refused.status_code == 403, (method, path, origin)


def test_a_stream_for_our_own_page_is_opened(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    with client.get("/live?page=/rooms", headers={"Origin": BASE}) as stream:
        assert stream.mimetype == "text/event-stream"


def test_reading_a_page_is_not_for_us_to_refuse(client: FlaskClient) -> None:
    headers = {**bearer(RUNNING.token), "Origin": "http://evil.com"}
    assert client.get("/rooms", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("cross-site", "websocket", 403),
        ("same-site", "no-cors", 403),
        ("same-site", "", 403),
    ],
)
def test_what_a_page_of_others_shows_as_an_image_opens_no_stream(
    client: FlaskClient, sqlite_store: Store, site: str, mode: str, status: int
) -> None:
    """No Origin comes with it; and another port of this machine is the same site, so that it brings the cookie."""
    log_in(client, sqlite_store)
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    with client.get("/live?page=/rooms", headers=headers) as answer:
        assert answer.status_code == status
    assert client.get("/rooms", headers=headers).status_code == 200, "a link to a page is followed"


def test_a_write_that_another_site_navigates_to_is_refused(client: FlaskClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert type_token(client, RUNNING.token, **headers).status_code == 403
