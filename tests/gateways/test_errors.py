"""Errors over HTTP: a page for a person, the error object for a program, nothing of the inside."""

from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from flask import Flask, abort
from flask.testing import FlaskClient
from werkzeug.exceptions import default_exceptions

from agentsroom.access.routes import allow, public
from agentsroom.core.errors import AgentsRoomError
from agentsroom.gateways.statuses import STATUSES
from tests.support.stores import Store
from tests.support.web import PAGE, agent_key, bearer, browser_of, json_of
from tests.support.wiki_tables import subclasses


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
    ours = {one.code: one.status for one in subclasses(AgentsRoomError)}
    listed = {one.code: status for status, one in STATUSES.items()}
    assert {code: ours[code] for code in listed if code in ours}.items() <= listed.items()
    for status in sorted(default_exceptions):
        app.view_functions["healthz"] = failing(status)
        answer = client.get("/healthz")
        assert answer.status_code == status
        assert answer.json is not None
        code = answer.json["error"]["code"]
        assert code in listed
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


JSON = {"content_type": "application/json"}
TOOL, ENDPOINT = "/api/tools/room_who", "/mcp"
WITHOUT_KEY = "Authorization: Bearer KEY", "agents-room agent create ID"
ANY_LENGTH = {"CONTENT_LENGTH": str(2**40)}


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "words"),
    [
        ("GET", "/api/openapi.json", {}, 401, WITHOUT_KEY),
        ("POST", TOOL, {}, 401, WITHOUT_KEY),
        ("POST", ENDPOINT, {}, 401, WITHOUT_KEY),
        ("POST", TOOL, {"headers": bearer("agt_000000000000.old")}, 401, ("agents-room agent key ID",)),
        ("POST", ENDPOINT, {"headers": bearer("agt_000000000000.old")}, 401, ("agents-room agent key ID",)),
        ("GET", TOOL, {"headers": {"Host": "x"}}, 403, ("AGENTS_ROOM_URL=http://NAME:8765 ",)),
        ("GET", ENDPOINT, {"headers": {"Host": "x"}}, 403, ("AGENTS_ROOM_URL=http://NAME:8765 ",)),
        ("GET", "/nothing", {}, 404, ("/api/openapi.json", "/mcp")),
        ("POST", "/mcp/", {}, 404, ("MCP is spoken at /mcp",)),
        ("DELETE", TOOL, {}, 405, ("It takes POST.",)),
        ("PUT", ENDPOINT, {}, 405, ("GET", "POST", "DELETE")),
        ("POST", TOOL, {"environ_overrides": ANY_LENGTH}, 413, ("4,194,304 bytes",)),
        ("POST", ENDPOINT, {"environ_overrides": ANY_LENGTH}, 413, ("4,194,304 bytes",)),
    ],
)
def test_a_program_is_told_the_next_step(
    client: FlaskClient, method: str, path: str, sent: dict[str, Any], status: int, words: tuple[str, ...]
) -> None:
    answer = client.open(path, method=method, **sent)
    assert answer.status_code == status
    error = json_of(answer)["error"]
    hint = error["data"]["hint"] if path.startswith(ENDPOINT) else error["hint"]
    assert [word for word in words if word not in hint] == [], hint


def test_a_method_that_is_not_taken_is_named(client: FlaskClient) -> None:
    told = json_of(client.delete(TOOL))["error"]
    assert (told["message"], told["hint"]) == ("This address takes no DELETE.", "It takes POST.")


@pytest.mark.parametrize(
    ("path", "status", "hint"),
    [("/nothing", 404, "start from the rooms"), ("/login/used", 401, "login-link")],
)
def test_a_person_is_told_a_step_of_a_person(client: FlaskClient, path: str, status: int, hint: str) -> None:
    page = client.get(path, headers=PAGE)
    assert page.status_code == status
    assert hint in page.text
    assert "Bearer" not in page.text


@pytest.mark.parametrize(
    ("method", "headers", "sent", "status"),
    [
        ("POST", {"Authorization": "Bearer wrong"}, JSON, 401),
        ("POST", {"Origin": "http://evil.com"}, JSON, 403),
        (
            "POST",
            {"MCP-Session-Id": "none"},
            {**JSON, "data": b'{"jsonrpc":"2.0","id":1,"method":"ping"}'},
            404,
        ),
        ("PUT", {}, {}, 405),
        (
            "POST",
            {"Accept": "text/plain"},
            {**JSON, "data": b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'},
            406,
        ),
        ("POST", {}, {"environ_overrides": ANY_LENGTH}, 413),
        ("POST", {}, {"content_type": "text/plain"}, 415),
    ],
)
def test_at_mcp_the_error_is_the_data_of_one_that_clients_show(
    client: FlaskClient,
    sqlite_store: Store,
    method: str,
    headers: dict[str, str],
    sent: dict[str, Any],
    status: int,
) -> None:
    given = {**bearer(agent_key(sqlite_store)), **headers}
    answer = client.open(ENDPOINT, method=method, headers=given, **sent)
    assert (answer.status_code, answer.content_type) == (status, "application/json")
    told = json_of(answer)
    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32600)
    error = told["error"]["data"]
    assert told["error"]["message"] == f"{error['message']} {error['hint']}"
    assert ("WWW-Authenticate" in answer.headers, "Allow" in answer.headers) == (status == 401, status == 405)


def test_at_mcp_a_fault_is_such_an_error_too(app: Flask, client: FlaskClient, sqlite_store: Store) -> None:
    headers = bearer(agent_key(sqlite_store))
    app.view_functions["mcp.take"] = allow("agent")(broken())
    fault = json_of(client.post(ENDPOINT, headers=headers, **JSON))["error"]
    assert (fault["code"], fault["data"]["code"]) == (-32603, "internal")
    path = sqlite_store.settings.database_path
    assert path is not None
    sqlite_store.runtime.database.close()
    path.write_bytes(b"no database" * 1_000)
    answer = client.post(ENDPOINT, headers=headers, **JSON)
    assert (answer.status_code, json_of(answer)["error"]["code"]) == (503, -32603)
    assert json_of(answer)["error"]["data"]["code"] == "store_unavailable"
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize(
    ("content_type", "is_json"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        ("Application/JSON", True),
        ("application/vnd.example+json", True),
        ("text/json", False),
        ("text/x+json", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", [TOOL, ENDPOINT])
def test_a_body_is_json_by_its_type(
    client: FlaskClient, sqlite_store: Store, path: str, content_type: str, is_json: bool
) -> None:
    headers = {**bearer(agent_key(sqlite_store)), "Content-Type": content_type}
    answer = client.post(path, headers=headers, data=b"{}")
    assert (answer.status_code != 415) is is_json
    if not is_json:
        assert "Content-Type: application/json" in answer.text
