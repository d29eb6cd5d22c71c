"""The JSON API: every tool under its name, one shape for every error, and never a page."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from agentsroom.access import service as access
from agentsroom.core.database import Writing
from agentsroom.factory import create_app
from agentsroom.runtime import Runtime
from tests.support.cases import any_of, read
from tests.support.stores import Json, Store
from tests.support.waiting import Waiting
from tests.support.ways import by_service
from tests.support.web import (
    PAGE,
    RUNNING,
    agent_key,
    app_of,
    bearer,
    browser_of,
    csrf_token,
    error_of,
    json_of,
    log_in,
)
from tests.support.world import World

CASES = [case for case in read("arguments.jsonl") if case["area"] == "transport"]
LONG_S = 25


class Api:
    """One agent's client of the JSON API, with a session of its own."""

    def __init__(self, store: Store, app: Flask, **headers: str) -> None:
        self.store = store
        self.client = browser_of(app)
        self.headers = {**bearer(agent_key(store)), **headers}
        self.session_id = json_of(self("room_join", room="front"))["session_id"]

    def __call__(self, tool: str, **arguments: Any) -> TestResponse:
        return self.post(tool, json.dumps(arguments).encode())

    def post(self, tool: str, raw: bytes, content_type: str | None = "application/json") -> TestResponse:
        return self.client.post(
            f"/api/tools/{tool}", data=raw, content_type=content_type, headers=self.headers
        )


@pytest.fixture
def api(sqlite_store: Store, app: Flask) -> Api:
    return Api(sqlite_store, app)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_transport_case(sqlite_store: Store, client: FlaskClient, case: Json) -> None:
    world = World(sqlite_store, by_service(sqlite_store))
    world.arrange(case)
    raw = case["arguments_raw"].replace("$A", world.seats["A"].id).replace("$B", world.seats["B"].id)
    key = agent_key(sqlite_store)
    headers = {
        "": bearer(key),
        "none": {},
        "Bearer of A's agent, one letter longer": bearer(key + "x"),
    }[case.get("authorization", "")]
    before = sqlite_store.everything()
    answer = client.post(
        f"/api/tools/{case['tool']}",
        data=raw.encode(),
        content_type=case.get("content_type", "application/json"),
        headers=headers,
    )
    assert answer.status_code in any_of(case["expect"]["status"]), answer.text
    assert answer.mimetype == "application/json"
    if answer.status_code != 200:
        assert error_of(answer)
        assert sqlite_store.everything() == before


def test_no_transport_case_is_left_out() -> None:
    assert len(CASES) == 15


def test_the_answer_is_the_bare_result(api: Api) -> None:
    answer = api("msg_send", session_id=api.session_id, to="*", body="é")
    assert answer.status_code == 200
    assert set(json_of(answer)) == {"message_id", "recipients", "warning"}
    history = json_of(api("room_history", session_id=api.session_id))
    api.store.check_answer("room_history", history)
    assert history["messages"][0]["body"] == "é"


def test_tools_of_sets_that_mcp_clients_are_not_shown_answer_too(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, tools="none")
    with closing(Runtime(settings, clock=sqlite_store.clock)) as runtime:
        assert runtime.registry.shown() == []
        api = Api(sqlite_store, create_app(settings, runtime, RUNNING))
        for tool in runtime.registry:
            assert error_of(api.post(tool.name, b'{"x":1}')) == "invalid_argument"


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON", "application/vnd.x+json"])
def test_json_of_any_kind_is_taken(api: Api, content_type: str) -> None:
    raw = json.dumps({"session_id": api.session_id}).encode()
    assert api.post("msg_unread", raw, content_type).json == {"count": 0}


@pytest.mark.parametrize("content_type", [None, "", "text/json", "application/x-www-form-urlencoded", "json"])
def test_another_type_of_body_is_not_read(api: Api, content_type: str | None) -> None:
    answer = api.post("msg_unread", b"{", content_type)
    assert (answer.status_code, error_of(answer)) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "The body is empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"x":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
        (b'{"x": NaN}', "NaN"),
        (b'{"x": "\xff"}', "UTF-8"),
    ],
    ids=["empty", "mark", "deep", "nan", "bytes"],
)
def test_a_body_that_is_not_strict_json_is_told_why(api: Api, raw: bytes, words: str) -> None:
    answer = api.post("room_join", raw)
    assert (answer.status_code, error_of(answer)) == (400, "parse_error")
    assert words in json_of(answer)["error"]["message"]


@pytest.mark.parametrize(
    "name",
    ["msg_unread ", "msg_unread/", " msg_unread", "MSG_UNREAD", "a/b", "%00", "%ff", "..", "%2e%2e/x", "*"],
)
def test_a_name_that_no_tool_has_is_no_tool(api: Api, name: str) -> None:
    answer = api.post(name, b"{}")
    assert (answer.status_code, error_of(answer)) == (404, "unknown_tool")


def test_every_problem_of_the_arguments_is_named(api: Api) -> None:
    answer = api("msg_recv", limit=0, colour="red")
    assert answer.status_code == 422
    told = {one["argument"]: one["problem"] for one in json_of(answer)["error"]["problems"]}
    assert set(told) == {"session_id", "limit", "colour"}
    assert "1 to 200" in told["limit"]


def too_large(api: Api) -> TestResponse:
    return api.post("msg_unread", b" " * (4 * 2**20 + 1))


def wrong_method(api: Api) -> TestResponse:
    return api.client.get("/api/tools/msg_unread", headers=api.headers)


def no_options(api: Api) -> TestResponse:
    return api.client.options("/api/openapi.json", headers=api.headers)


def unknown_address(api: Api) -> TestResponse:
    return api.client.get("/api/nothing", headers=api.headers)


def left(api: Api) -> TestResponse:
    api("room_leave", session_id=api.session_id)
    return api("msg_unread", session_id=api.session_id)


def without_a_key(api: Api) -> TestResponse:
    del api.headers["Authorization"]
    return api.post("msg_unread", b"{}")


def of_another(api: Api) -> TestResponse:
    other = api.store.join(api.store.add_agent("mara"))
    return api("msg_unread", session_id=other.id)


def damaged(api: Api) -> TestResponse:
    path = api.store.settings.database_path
    assert path is not None
    api.store.runtime.database.close()
    path.write_bytes(b"no database" * 1_000)
    return api("msg_unread", session_id=api.session_id)


@pytest.mark.parametrize("accept", [{}, PAGE], ids=["program", "browser"])
@pytest.mark.parametrize(
    ("act", "status", "code", "header"),
    [
        (without_a_key, 401, "unauthenticated", "WWW-Authenticate"),
        (of_another, 403, "not_your_session", None),
        (unknown_address, 404, "not_found", None),
        (wrong_method, 405, "method_not_allowed", "Allow"),
        (no_options, 405, "method_not_allowed", "Allow"),
        (left, 409, "session_left", None),
        (too_large, 413, "too_large", None),
        (damaged, 503, "store_unavailable", "Retry-After"),
    ],
)
def test_an_error_is_the_error_object_whoever_asks(
    sqlite_store: Store,
    app: Flask,
    act: Callable[[Api], TestResponse],
    status: int,
    code: str,
    header: str | None,
    accept: dict[str, str],
) -> None:
    answer = act(Api(sqlite_store, app, **accept))
    assert (answer.status_code, error_of(answer)) == (status, code)
    assert answer.mimetype == "application/json"
    assert json_of(answer)["error"]["message"]
    assert header is None or answer.headers[header]


def test_a_browser_writes_with_its_cookie_and_the_token_of_its_pages(
    client: FlaskClient, sqlite_store: Store
) -> None:
    log_in(client, sqlite_store)
    told = {"X-CSRFToken": csrf_token(client, "/rooms")}
    for headers, status in (({}, 400), ({"X-CSRFToken": "x"}, 400), (told, 200)):
        answer = client.post("/api/tools/room_who", json={}, headers=headers)
        assert answer.status_code == status
    assert client.get("/api/openapi.json").status_code == 200


def waiting(api: Api, **environ: Any) -> Waiting[TestResponse]:
    """A msg_wait that has begun to listen."""
    return Waiting(
        api.store.runtime.feed,
        lambda: api.client.post(
            "/api/tools/msg_wait",
            json={"session_id": api.session_id, "timeout_s": LONG_S},
            headers=api.headers,
            environ_overrides=environ,
        ),
    )


def test_a_wait_answers_with_the_mail_that_comes(api: Api) -> None:
    wait = waiting(api)
    api.store.join(room="front").send(api.session_id, "here")
    assert [one["body"] for one in json_of(wait.answer())["messages"]] == ["here"]
    assert api.store.runtime.feed.subscribers == 0


def test_a_wait_ends_when_its_client_hangs_up_and_leaves_nothing(api: Api) -> None:
    acts: list[Callable[[], None]] = []
    stopped: list[bool] = []

    def when_gone(act: Callable[[], None]) -> Callable[[], None]:
        acts.append(act)
        return lambda: stopped.append(True)

    wait = waiting(api, **{"agentsroom.when_gone": when_gone})
    acts[0]()
    wait.answer()
    assert (api.store.runtime.feed.subscribers, stopped) == (0, [True])


def test_a_wait_ends_when_its_key_does(api: Api) -> None:
    wait = waiting(api)
    agent_key(api.store)
    assert error_of(wait.answer()) == "unauthenticated"


def test_a_wait_that_the_end_of_the_server_cuts_short_is_worth_another_try(api: Api) -> None:
    wait = waiting(api)
    api.store.runtime.feed.close()
    for answer in (wait.answer(), api("msg_wait", session_id=api.session_id)):
        assert (answer.status_code, error_of(answer)) == (503, "stopping")
        assert answer.headers["Retry-After"] == "1"


def test_mail_is_an_answer_also_at_the_end(api: Api) -> None:
    api.store.join(room="front").send(api.session_id, "here")
    api.store.runtime.feed.close()
    found = json_of(api("msg_wait", session_id=api.session_id))["messages"]
    assert [one["body"] for one in found] == ["here"]


def test_one_key_waits_so_often_at_a_time_and_no_more(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, max_streams=1)
    api = Api(sqlite_store, app_of(replace(sqlite_store, settings=settings)))
    wait = waiting(api)
    refused = api("msg_wait", session_id=api.session_id, timeout_s=0)
    assert (refused.status_code, error_of(refused)) == (429, "too_many_requests")
    assert int(refused.headers["Retry-After"]) > 0
    assert api("msg_unread", session_id=api.session_id).status_code == 200, "only waits count"
    api.store.join(room="front").send(api.session_id)
    assert wait.answer().status_code == 200
    assert api("msg_wait", session_id=api.session_id, timeout_s=0).status_code == 200


def test_a_key_costs_a_call_one_query(api: Api) -> None:
    asked: list[str] = []
    with api.store.runtime.database.engine.connect() as connection:
        driver = connection.connection.dbapi_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_trace_callback(asked.append)
    assert api.post("no_such_tool", b"{}").status_code == 404
    driver.set_trace_callback(None)
    assert len(asked) == 1, asked
    assert "agent_keys" in asked[0]


@pytest.mark.parametrize(
    "end",
    [
        lambda work: access.rotate_key(work, "mara"),
        lambda work: access.revoke_keys(work, "mara"),
        lambda work: access.delete_agent(work, "mara"),
    ],
    ids=["rotated", "revoked", "deleted"],
)
def test_a_key_that_has_ended_opens_nothing(
    sqlite_store: Store, client: FlaskClient, end: Callable[[Writing], object]
) -> None:
    sqlite_store.add_agent("mara")
    headers = bearer(agent_key(sqlite_store, "mara"))
    assert client.post("/api/tools/room_who", json={}, headers=headers).status_code == 200
    sqlite_store.runtime.database.write(end)
    assert client.post("/api/tools/room_who", json={}, headers=headers).status_code == 401
