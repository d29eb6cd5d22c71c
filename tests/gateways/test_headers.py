"""What every answer carries, whatever it is an answer to."""

import re
from typing import NoReturn

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.wrappers import Response

from agentsroom.access.routes import public
from agentsroom.gateways.headers import ASKED_AGAIN, HEADERS, POLICY
from agentsroom.gateways.manifest.served import SERVED
from tests.support.stores import Store
from tests.support.web import PAGE, RUNNING, agent_key, bearer, log_in, login_token

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "ODD")


def broken() -> NoReturn:
    raise ValueError


def assert_our_headers(answer: Response, about: object) -> None:
    for name, value in HEADERS.items():
        assert answer.headers.getlist(name) == [value], (about, name)
    assert answer.headers.getlist("Cache-Control"), about


def test_every_answer_of_every_route_carries_them(
    app: Flask, client: FlaskClient, sqlite_store: Store
) -> None:
    callers = [{}, PAGE, {**PAGE, "HX-Request": "true"}]
    callers += [bearer(secret) for secret in ("wrong", agent_key(sqlite_store), RUNNING.token)]
    paths = [re.sub(r"<.*?>", "x", rule.rule) for rule in app.url_map.iter_rules()]
    statuses = set()
    for path in [*paths, "/static/app.css", "/nothing", "/\x00", "//evil.com", "/%ff"]:
        for method in METHODS:
            for headers in callers:
                with client.open(path, method=method, headers=headers) as answer:
                    assert_our_headers(answer, (method, path, headers))
                    statuses.add(answer.status_code)
    assert statuses >= {200, 302, 400, 401, 403, 404, 405}


def test_so_do_answers_about_what_is_known_already_and_errors_of_every_kind(
    app: Flask, client: FlaskClient
) -> None:
    with client.get("/static/app.css") as known:
        tag = {"If-None-Match": known.headers["ETag"]}
    with client.get("/static/app.css", headers=tag) as unchanged:
        assert unchanged.status_code == 304
        assert_our_headers(unchanged, "304")
    with client.get("/live?page=/rooms", headers=bearer(RUNNING.token)) as stream:
        assert stream.mimetype == "text/event-stream"
        assert_our_headers(stream, "a stream")
    foreign = client.get("/rooms", headers={"Host": "evil.com"})
    big = client.post("/login", environ_overrides={"CONTENT_LENGTH": str(2**40)})
    app.view_functions["healthz"] = public(broken)
    fault = client.get("/healthz")
    for answer, status in ((foreign, 403), (big, 413), (fault, 500)):
        assert answer.status_code == status
        assert_our_headers(answer, status)


def test_the_policy_lets_nothing_in_that_is_not_ours() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("frame-ancestors") == "'none'"
    assert rules.pop("base-uri") == "'none'"
    assert set(rules) == {"script-src", "style-src", "img-src", "font-src", "connect-src", "form-action"}
    assert set(rules.values()) == {"'self'"}


def test_nobody_keeps_what_is_for_somebody(client: FlaskClient, sqlite_store: Store) -> None:
    def kept(path: str, **headers: str) -> str:
        with client.get(path, headers=headers) as answer:
            return answer.headers["Cache-Control"]

    assert kept(f"/login/{login_token(sqlite_store)}") == "no-store", "it sets the cookie"
    log_in(client, sqlite_store)
    assert kept("/rooms") == ASKED_AGAIN, "the browser may, and asks each time"
    assert kept("/live?page=/rooms") == "no-store"
    for path in ("/healthz", "/nothing", "/rooms/none", "/"):
        assert kept(path) == "no-store", path
        assert kept(path, Accept="text/html") == "no-store", path
    assert kept("/static/app.css") == "no-cache", "which is for everybody"


def test_documents_about_the_server_are_kept_by_their_reader_alone(client: FlaskClient) -> None:
    """OpenAPI and the manifests, whole or as 304; a refusal to give one is not kept."""
    for path in ("/api/openapi.json", *(one.place for one in SERVED.values())):
        given = client.get(path, headers=bearer(RUNNING.token))
        again = client.get(path, headers={**bearer(RUNNING.token), "If-None-Match": given.headers["ETag"]})
        assert (given.status_code, again.status_code, again.data) == (200, 304, b""), path
        assert given.headers["Cache-Control"] == again.headers["Cache-Control"] == "private, no-cache", path
        assert client.get(path).headers["Cache-Control"] == "no-store", path


def test_a_page_and_its_fragment_are_kept_apart(client: FlaskClient, sqlite_store: Store) -> None:
    log_in(client, sqlite_store)
    vary = client.get("/rooms").vary
    assert "HX-Request" in vary
    assert "Cookie" in vary


@pytest.mark.parametrize("name", ["Server", "X-Powered-By", "Access-Control-Allow-Origin"])
def test_no_answer_says_more_than_it_must(client: FlaskClient, name: str) -> None:
    for path in ("/login", "/healthz", "/nothing"):
        answer = client.options(path, headers={"Origin": "http://evil.com"})
        assert name not in answer.headers
        assert name not in client.get(path).headers
