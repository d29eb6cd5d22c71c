"""The methods that both eras have, on an offer that is a table."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_types import _v2025_11_25 as legacy_types

from agentsroom.core.settings import Settings
from agentsroom.gateways import jsonrpc, methods, offers, rpc
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.echo import (
    COMPLETE,
    Echo,
    Json,
    Shut,
    call,
    error_of,
    exchange,
    message,
)


@pytest.mark.parametrize("cursor", ["", "AAAA", "-1", 5])
def test_a_cursor_that_we_never_gave_is_refused(cursor: Any) -> None:
    assert error_of(message("tools/list", {"cursor": cursor})) == (1, jsonrpc.INVALID_PARAMS)


def test_the_list_has_the_tools_and_no_cursor() -> None:
    assert exchange(message("tools/list"))["result"] == {"tools": json.loads(Echo().tools())}


def test_a_result_is_structured_and_the_same_as_text() -> None:
    result = call({"a": "ü🙂\u2028"})
    legacy_types.CallToolResult.model_validate(result)
    assert result["structuredContent"] == {"given": {"a": "ü🙂\u2028"}}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["isError"] is False


def test_arguments_reach_the_tool_byte_by_byte() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"n" : 10.0,"e":1E2},"name":"echo"}}'
    assert exchange(raw)["result"]["content"][0]["text"] == '{"given":{"n" : 10.0,"e":1E2}}'


def test_lone_surrogates_in_arguments_reach_the_tool_as_escapes() -> None:
    """The tool refuses them, by the argument's name."""
    seen: list[bytes] = []

    class Watching(Echo):
        def call_tool(self, name: str, arguments: bytes, exchange: offers.Exchange, /) -> dict[str, Any]:
            seen.append(arguments)
            return super().call_tool(name, b"{}", exchange)

    exchange(message("tools/call", {"name": "echo", "arguments": {"a": "x\ud800"}}), features=Watching())
    assert seen == [b'{"a": "x\\ud800"}']


@pytest.mark.parametrize("params", [{"name": "echo"}, {"name": "echo", "arguments": None}])
def test_no_arguments_are_an_empty_object(params: Any) -> None:
    assert exchange(message("tools/call", params))["result"]["structuredContent"] == {"given": {}}


@pytest.mark.parametrize("arguments", [[], [{}], "x", 0, False])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    raw = message("tools/call", {"name": "echo", "arguments": arguments})
    assert error_of(raw) == (1, jsonrpc.INVALID_PARAMS)


@pytest.mark.parametrize("name", ["no_such_tool", "echo ", "Echo", "", "\udc00"])
def test_an_unknown_tool_is_an_error_of_the_protocol(name: str) -> None:
    assert error_of(message("tools/call", {"name": name, "arguments": {}})) == (1, jsonrpc.INVALID_PARAMS)


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": None}])
def test_a_call_without_a_tool_is_refused(params: Any) -> None:
    assert error_of(message("tools/call", params)) == (1, jsonrpc.INVALID_PARAMS)


def test_an_error_of_a_tool_is_a_result_with_the_error_as_text() -> None:
    result = call({}, "conflict")
    assert result["isError"] is True
    assert "structuredContent" not in result
    error = json.loads(result["content"][0]["text"])
    assert error == {
        "code": "conflict",
        "message": "It is there \ufffd already.",
        "hint": "Take another.",
        "path": "x.py",
    }


def test_an_unexpected_fault_is_told_without_its_inside(caplog: pytest.LogCaptureFixture) -> None:
    answered = exchange(message("tools/call", {"name": "broken"}))
    assert answered["error"]["code"] == jsonrpc.INTERNAL_ERROR
    assert "secret" not in json.dumps(answered)
    assert "a secret of the inside" in caplog.text


def test_a_list_that_fails_for_a_known_reason_tells_it() -> None:
    answered = exchange(message("tools/list"), features=Shut())
    assert answered["error"]["code"] == jsonrpc.INTERNAL_ERROR
    assert answered["error"]["data"]["code"] == "conflict"


@pytest.mark.parametrize(
    ("method", "params", "wanted"),
    [
        ("resources/list", {}, {"resources": Echo().resources()}),
        ("resources/templates/list", {}, {"resourceTemplates": Echo().resource_templates()}),
        ("resources/read", {"uri": "TEST://one"}, {"contents": [{"uri": "test://one", "text": "1"}]}),
        ("prompts/list", {}, {"prompts": [{"name": "greet"}]}),
    ],
)
def test_a_legacy_client_gets_what_is_offered_and_nothing_more(
    method: str, params: Json, wanted: Json
) -> None:
    assert exchange(message(method, params))["result"] == wanted


def test_a_prompt_is_told_from_its_arguments() -> None:
    result = exchange(message("prompts/get", {"name": "greet", "arguments": {"who": "Ann"}}))["result"]
    assert result["messages"][0]["content"]["text"] == "Greet Ann for prompts/get."


def test_a_completion_shows_a_hundred_values_and_tells_how_many_there_are() -> None:
    completion = exchange(message("completion/complete", COMPLETE))["result"]["completion"]
    assert completion["values"] == [f"who-a-{number}" for number in range(100)]
    assert (completion["total"], completion["hasMore"]) == (150, True)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {}),
        ("resources/read", {"uri": 5}),
        ("resources/read", {"uri": "test://two"}),
        ("resources/subscribe", {}),
        ("resources/subscribe", {"uri": "test://two"}),
        ("resources/unsubscribe", {}),
        ("resources/list", {"cursor": ""}),
        ("resources/templates/list", {"cursor": "x"}),
        ("prompts/list", {"cursor": ""}),
        ("prompts/get", {}),
        ("prompts/get", {"name": "none"}),
        ("prompts/get", {"name": "greet", "arguments": []}),
        ("prompts/get", {"name": "greet", "arguments": {"who": 1}}),
        ("completion/complete", {}),
        ("completion/complete", {**COMPLETE, "ref": "greet"}),
        ("completion/complete", {**COMPLETE, "argument": {"name": "who"}}),
        ("completion/complete", {**COMPLETE, "ref": {"type": "ref/prompt", "name": "none"}}),
    ],
)
def test_params_that_name_nothing_are_refused(method: str, params: Json) -> None:
    assert error_of(message(method, params)) == (1, jsonrpc.INVALID_PARAMS)


def test_a_resource_that_is_not_there_is_told_with_its_uri() -> None:
    error = exchange(message("resources/read", {"uri": "test://two"}))["error"]
    assert (error["data"]["uri"], error["data"]["code"]) == ("test://two", "not_found")


def test_a_resource_of_a_store_that_is_shut_is_no_fault_of_the_client() -> None:
    answered = exchange(message("resources/read", {"uri": "test://one"}), features=Shut())
    assert answered["error"]["code"] == jsonrpc.INTERNAL_ERROR


def test_a_call_that_needs_what_the_client_can_not_do_names_it() -> None:
    error = exchange(message("tools/call", {"name": "asking"}))["error"]
    assert error["code"] == rpc.MISSING_CAPABILITY
    assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}


def test_every_tool_of_the_product_is_described_as_the_protocol_wants() -> None:
    registry = make_registry(Settings(), Machine())
    tools = json.loads(methods.describe_tools(registry))
    assert [tool["name"] for tool in tools] == [tool.name for tool in registry]
    legacy_types.ListToolsResult.model_validate({"tools": tools})
    for tool in tools:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
