"""The description of the JSON API: valid, and word for word what the registry and MCP say of each tool."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from openapi_spec_validator import OpenAPIV31SpecValidator

from agentsroom.core.settings import Settings
from agentsroom.factory import create_app
from agentsroom.gateways.methods import describe_tools
from agentsroom.gateways.openapi import STREAM_PATH, openapi, path_of
from agentsroom.gateways.statuses import STATUSES
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import Runtime, make_registry
from tests.support.stores import Json, Store
from tests.support.web import BASE, RUNNING, agent_key, bearer, browser_of, json_of, log_in
from tests.support.wiki_tables import NOT_OF_THE_API, errors


@pytest.fixture
def document() -> Json:
    return openapi(make_registry(Settings(), Machine()), BASE, "a_cookie")


def operations(document: Json) -> dict[str, Json]:
    """Those of the tools."""
    return {path: methods["post"] for path, methods in document["paths"].items() if path != STREAM_PATH}


def schema_in(part: Json) -> Any:
    (media_type,) = part["content"]
    assert media_type == "application/json"
    return part["content"][media_type]["schema"]


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def test_it_is_valid(document: Json) -> None:
    assert [one.message for one in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_no_enum_mixes_kinds_which_generators_of_clients_refuse(document: Json) -> None:
    found = [one["enum"] for one in schemas_in(document) if "enum" in one]
    assert found
    mixed = [values for values in found if len({type(one) for one in values if one is not None}) != 1]
    assert mixed == []


def test_every_argument_says_what_it_is_or_is_named_so(document: Json) -> None:
    plain = {"subject", "body", "query", "message_id"}
    for path, operation in operations(document).items():
        for name, one in schema_in(operation["requestBody"])["properties"].items():
            assert name in plain or one.get("description"), (path, name)


def schemas_in(part: Any) -> Iterator[Json]:
    """Every object in it."""
    if isinstance(part, dict):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from schemas_in(one)


def test_each_operation_says_of_its_tool_what_mcp_lists(document: Json) -> None:
    registry = make_registry(Settings(), Machine())
    told = [
        {
            "name": one["operationId"],
            "title": one["summary"],
            "description": one["description"],
            "inputSchema": schema_in(one["requestBody"]),
            "outputSchema": schema_in(one["responses"]["200"]),
            "annotations": registry.get(one["operationId"]).annotations,
        }
        for one in operations(document).values()
    ]
    assert [canonical(one) for one in told] == [
        canonical(one) for one in json.loads(describe_tools(registry))
    ]


def test_it_knows_also_the_tools_that_mcp_clients_are_not_shown() -> None:
    registry = make_registry(Settings(tools="none"), Machine())
    assert registry.shown() == []
    assert list(operations(openapi(registry, BASE, "c"))) == [path_of(tool) for tool in registry]


def test_bounds_of_the_settings_stand_in_it() -> None:
    document = openapi(make_registry(Settings(max_subject=7), Machine()), BASE, "c")
    send = schema_in(operations(document)["/api/tools/msg_send"]["requestBody"])
    assert send["properties"]["subject"]["maxLength"] == 7


def test_the_stream_of_a_room_is_described_where_it_is(document: Json, app: Flask) -> None:
    described = document["paths"][STREAM_PATH]["get"]
    (rule,) = app.url_map.iter_rules("room_stream.follow")
    assert rule.rule.replace("<path:name>", "{room}") == STREAM_PATH
    assert list(described["responses"]["200"]["content"]) == ["text/event-stream"]
    tool = next(iter(operations(document).values()))
    assert set(described["responses"]) == set(tool["responses"])


def test_every_status_that_an_error_has_is_declared(document: Json) -> None:
    known = errors()
    statuses = {status for status, one in STATUSES.items() if one.is_of_the_api}
    assert set(NOT_OF_THE_API) <= set(known)
    assert {status for code, (status, _) in known.items() if code not in NOT_OF_THE_API} == statuses
    for operation in operations(document).values():
        assert set(operation["responses"]) == {"200"} | {str(status) for status in statuses}


def test_headers_stand_at_the_statuses_that_send_them(document: Json) -> None:
    told = {
        name: sorted(response.get("headers", {}))
        for name, response in document["components"]["responses"].items()
    }
    assert {name: headers for name, headers in told.items() if headers} == {
        "Unauthenticated": ["WWW-Authenticate"],
        "MethodNotAllowed": ["Allow"],
        "TooManyRequests": ["Retry-After"],
        "Unavailable": ["Retry-After"],
    }


def test_it_is_served_to_agents_and_to_the_admin(app: Flask, sqlite_store: Store) -> None:
    browser = browser_of(app)
    log_in(browser, sqlite_store)
    answers = [
        browser.get("/api/openapi.json"),
        browser_of(app).get("/api/openapi.json", headers=bearer(agent_key(sqlite_store))),
    ]
    for answer in answers:
        document = json_of(answer)
        assert document["servers"] == [{"url": BASE}]
        cookie = document["components"]["securitySchemes"]["cookie"]["name"]
        assert browser.get_cookie(cookie, domain="127.0.0.1") is not None


def test_it_names_the_public_address_where_there_is_one(sqlite_store: Store) -> None:
    settings = replace(sqlite_store.settings, url="https://rooms.example.org/")
    with closing(Runtime(settings, clock=sqlite_store.clock)) as runtime:
        client = browser_of(create_app(settings, runtime, RUNNING))
        document = json_of(client.get("/api/openapi.json", headers=bearer(RUNNING.token)))
    assert document["servers"] == [{"url": "https://rooms.example.org"}]


def test_who_has_it_already_is_not_sent_it_again(client: FlaskClient) -> None:
    headers = bearer(RUNNING.token)
    first = client.get("/api/openapi.json", headers=headers)
    again = client.get("/api/openapi.json", headers={**headers, "If-None-Match": first.headers["ETag"]})
    assert (first.status_code, again.status_code, again.data) == (200, 304, b"")
    other = client.get("/api/openapi.json", headers={**headers, "If-None-Match": '"other"'})
    assert other.data == first.data
