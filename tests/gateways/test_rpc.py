"""The dispatcher alone: bytes in, bytes out, with tools that are a table."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types import _v2025_11_25 as legacy_types
from mcp_types import _v2026_07_28 as modern_types

from agentsroom.core.errors import Conflict, NotFound, StoreUnavailable, UnknownTool
from agentsroom.core.feed import FeedEvent
from agentsroom.core.settings import Settings
from agentsroom.gateways import jsonrpc, methods, offers, rpc
from agentsroom.gateways.subscriptions import SUBSCRIPTION_ID_KEY, Change, ResourceUpdated
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry

COMPLETE = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "a"}}
Json = dict[str, Any]

META = {rpc.VERSION_KEY: "2026-07-28", rpc.CAPABILITIES_KEY: {}}
DEEP = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"[" * 100 + b"]" * 100 + b"}}"


class Echo:
    """Offers tools that answer what they were given, one resource and one prompt."""

    def tools(self) -> bytes:
        return b'[{"name":"echo","inputSchema":{"type":"object"}}]'

    def waits(self, tool: str) -> bool:
        return tool == "asking"

    def call_tool(self, name: str, arguments: bytes, exchange: offers.Exchange, /) -> dict[str, Any]:
        if name == "conflict":
            raise Conflict("It is there \ud800 already.", hint="Take another.", path="x.py")
        if name == "broken":
            raise RuntimeError("a secret of the inside")
        if name == "asking":
            exchange.ask("elicitation/create", {})
        if name != "echo":
            raise UnknownTool(f"No tool is called {json.dumps(name)}.")
        return methods.tool_result(b'{"given":' + arguments + b"}")

    def resources(self) -> list[dict[str, Any]]:
        return [{"uri": "test://one", "name": "one"}]

    def resource_templates(self) -> list[dict[str, Any]]:
        return [{"uriTemplate": "test://{name}", "name": "all"}]

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        return [{"uri": self.canonical(uri), "text": "1"}]

    def canonical(self, uri: str) -> str:
        if uri.lower() != "test://one":
            raise NotFound("No resource has this URI.")
        return uri.lower()

    def prompts(self) -> list[dict[str, Any]]:
        return [{"name": "greet"}]

    def get_prompt(
        self, name: str, arguments: dict[str, str], exchange: offers.Exchange, /
    ) -> dict[str, Any]:
        if name != "greet":
            raise NotFound("No prompt has this name.")
        text = f"Greet {arguments.get('who', 'all')} for {exchange.request.method}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def complete(self, ref: dict[str, Any], argument: str, value: str) -> list[str]:
        if ref.get("name") != "greet":
            raise NotFound("No prompt has this name.")
        return [f"{argument}-{value}-{number}" for number in range(150)]

    def changes(self, event: FeedEvent) -> list[Change]:
        return [ResourceUpdated(uri) for uri in event.data["uris"]]


class Shut(Echo):
    """Offers what a store keeps that can't be opened."""

    def tools(self) -> bytes:
        raise Conflict("Two teams have that name.")

    def read_resource(self, uri: str) -> list[dict[str, Any]]:
        raise StoreUnavailable(f"The store of {uri} can't be read.")


def ready() -> rpc.Session:
    return rpc.Session("2025-11-25")


def message(method: str, params: Any = None, id: Any = 1) -> bytes:
    given = {} if params is None else {"params": params}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, **given}).encode()


def exchange(raw: bytes, session: rpc.Session | None = None, features: offers.Features | None = None) -> Any:
    """The reply to one message of an initialized client, or None where there is none."""
    match jsonrpc.decode(raw):
        case jsonrpc.Request() as request:
            reply = replied(rpc.answer(request, session or ready()), features or Echo())
        case jsonrpc.Reply() as reply:
            pass
        case _:
            return None
    answered = json.loads(reply.body)
    assert answered["jsonrpc"] == "2.0"
    assert reply.error == answered.get("error", {}).get("code")
    assert b"\n" not in reply.body
    return answered


def replied(outcome: rpc.Outcome, features: offers.Features) -> jsonrpc.Reply:
    match outcome:
        case rpc.Work() as work:
            return work.run(lambda: features, offers.Exchange(work.request, {}))
        case rpc.Listening() as listening:
            opened = listening.open(lambda: features)
            return opened if isinstance(opened, jsonrpc.Reply) else listening.ended(opened.subscriptions)
        case jsonrpc.Reply() as reply:
            return reply


def error_of(raw: bytes, session: rpc.Session | None = None) -> tuple[Any, int]:
    answered = exchange(raw, session)
    assert set(answered) == {"jsonrpc", "id", "error"}
    assert answered["error"]["message"]
    return answered["id"], answered["error"]["code"]


def call(arguments: Any, name: str = "echo") -> Any:
    return exchange(message("tools/call", {"name": name, "arguments": arguments}))["result"]


def modern(method: str, params: dict[str, Any] | None = None, meta: dict[str, Any] = META) -> Any:
    return exchange(message(method, {**(params or {}), "_meta": meta}), rpc.Session())


@pytest.mark.parametrize("id", [0, -1, 7, 2**53 + 1, 10**40, "", "7", "🙂", "a\nb", "ü"])
def test_an_id_comes_back_as_it_was(id: Any) -> None:
    answered = exchange(message("ping", id=id))
    assert answered == {"jsonrpc": "2.0", "id": id, "result": {}}
    assert type(answered["id"]) is type(id)


@pytest.mark.parametrize("id", [None, True, 1.0, 1.5, -0.0, [1], {"a": 1}, "\ud800"])
def test_an_id_that_is_no_whole_number_and_no_text_is_refused(id: Any) -> None:
    assert error_of(message("ping", id=id)) == (None, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"INFO starting", id="a log line"),
        pytest.param(b"[", id="an open list"),
        pytest.param(b"\xef\xbb\xbf" + message("ping"), id="a byte order mark"),
        pytest.param(message("ping").decode().encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', id="a key twice"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}', id="NaN"),
        pytest.param(message("ping") + message("ping"), id="two messages"),
        pytest.param(DEEP, id="too deep"),
    ],
)
def test_what_is_no_strict_json_is_a_parse_error_with_a_null_id(raw: bytes) -> None:
    assert error_of(raw) == (None, jsonrpc.PARSE_ERROR)


@pytest.mark.parametrize(
    ("value", "id"),
    [
        ([], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], None),
        (42, None),
        ("ping", None),
        (None, None),
        ({}, None),
        ({"id": 1, "method": "ping"}, 1),
        ({"jsonrpc": 2.0, "id": 1, "method": "ping"}, 1),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": "x", "method": 5}, "x"),
        ({"jsonrpc": "2.0", "id": 1, "method": "\ud800"}, 1),
        ({"jsonrpc": "2.0", "method": None}, None),
    ],
)
def test_what_is_no_message_is_an_invalid_request(value: Any, id: Any) -> None:
    assert error_of(json.dumps(value).encode()) == (id, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize(
    "value",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/unknown", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": []},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "q", "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}},
    ],
)
def test_notifications_and_responses_are_never_answered(value: Any) -> None:
    assert exchange(json.dumps(value).encode()) is None


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_crash_it(raw: bytes) -> None:
    answered = exchange(raw)
    assert answered is None or "error" in answered or "result" in answered


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "server/discover",
    "notifications/cancelled",
    "x",
]


@given(
    st.sampled_from(METHODS),
    ANY_JSON,
    ANY_JSON | st.fixed_dictionaries({"name": ANY_JSON, "arguments": ANY_JSON, "_meta": ANY_JSON}),
    st.booleans(),
)
def test_no_request_crashes_it_and_each_gets_one_reply(
    method: str, id: Any, params: Any, is_new: bool
) -> None:
    answered = exchange(message(method, params, id), rpc.Session() if is_new else ready())
    assert ("result" in answered) is not ("error" in answered)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_initialize_agrees_on_a_version_that_we_speak(version: str) -> None:
    session = rpc.Session()
    result = exchange(message("initialize", {"protocolVersion": version}), session)["result"]
    assert result["protocolVersion"] == session.version == version


@pytest.mark.parametrize("version", ["2026-07-28", "2024-11-05", "2000-01-01", ""])
def test_initialize_answers_any_other_version_with_the_newest_legacy_one(version: str) -> None:
    result = exchange(message("initialize", {"protocolVersion": version}), rpc.Session())["result"]
    assert result["protocolVersion"] == "2025-11-25"


def test_initialize_tells_who_we_are_and_what_we_can_do() -> None:
    result = exchange(message("initialize", {"protocolVersion": "2025-11-25"}), rpc.Session())["result"]
    legacy_types.InitializeResult.model_validate(result)
    assert result["serverInfo"]["name"] == "agents-room"
    assert result["capabilities"] == rpc.CAPABILITIES
    assert "room_join" in result["instructions"]


def test_initialize_with_a_modern_envelope_is_still_the_handshake() -> None:
    session = rpc.Session()
    exchange(message("initialize", {"protocolVersion": "2025-11-25", "_meta": META}), session)
    assert session.version == "2025-11-25"


def test_initialize_of_a_modern_client_is_a_method_that_its_era_has_not() -> None:
    assert modern("initialize")["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}])
def test_initialize_without_a_version_is_refused_and_may_be_tried_again(params: Any) -> None:
    session = rpc.Session()
    assert error_of(message("initialize", params), session) == (1, jsonrpc.INVALID_PARAMS)
    assert session.version is None


def test_initialize_twice_is_refused() -> None:
    assert error_of(message("initialize", {"protocolVersion": "2025-11-25"})) == (1, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "prompts/list", "server/discover", "nonsense"]
)
def test_before_initialize_a_legacy_request_is_refused(method: str) -> None:
    assert error_of(message(method), rpc.Session()) == (1, jsonrpc.INVALID_REQUEST)


def test_before_initialize_ping_is_answered() -> None:
    assert exchange(message("ping"), rpc.Session())["result"] == {}


@pytest.mark.parametrize("method", ["tools/unknown", "tools/list/", "Tools/List", "rpc.discover", "", "a\nb"])
def test_an_unknown_method_is_told_so(method: str) -> None:
    assert error_of(message(method)) == (1, jsonrpc.METHOD_NOT_FOUND)


@pytest.mark.parametrize("params", ["x", 5, [], [1], True])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    assert error_of(message("tools/list", params)) == (1, jsonrpc.INVALID_PARAMS)


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


def test_discover_tells_what_a_modern_client_needs() -> None:
    result = modern("server/discover")["result"]
    modern_types.DiscoverResult.model_validate(result)
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["capabilities"] == rpc.CAPABILITIES
    assert result["instructions"] == rpc.INSTRUCTIONS


@pytest.mark.parametrize(
    ("method", "params", "model"),
    [
        ("server/discover", {}, modern_types.DiscoverResult),
        ("tools/list", {}, modern_types.ListToolsResult),
        ("tools/call", {"name": "echo", "arguments": {"a": 1}}, modern_types.CallToolResult),
        ("tools/call", {"name": "conflict"}, modern_types.CallToolResult),
        ("resources/list", {}, modern_types.ListResourcesResult),
        ("resources/templates/list", {}, modern_types.ListResourceTemplatesResult),
        ("resources/read", {"uri": "test://one"}, modern_types.ReadResourceResult),
        ("prompts/list", {}, modern_types.ListPromptsResult),
        ("prompts/get", {"name": "greet"}, modern_types.GetPromptResult),
        ("completion/complete", COMPLETE, modern_types.CompleteResult),
        ("subscriptions/listen", {"notifications": {}}, modern_types.SubscriptionsListenResult),
    ],
)
def test_a_modern_result_is_complete_and_names_the_server(method: str, params: Any, model: Any) -> None:
    result = modern(method, params)["result"]
    model.model_validate(result)
    assert result["resultType"] == "complete"
    assert result["_meta"][rpc.SERVER_INFO_KEY] == rpc.SERVER_INFO


@pytest.mark.parametrize(
    ("method", "keeps"),
    [
        ("server/discover", True),
        ("tools/list", True),
        ("prompts/list", True),
        ("resources/templates/list", True),
        ("resources/list", False),
        ("resources/read", False),
    ],
)
def test_what_a_modern_client_may_keep_has_hints_how_long(method: str, keeps: bool) -> None:
    result = modern(method, {"uri": "test://one"})["result"]
    assert (result["ttlMs"] > 0) is keeps
    assert result["cacheScope"] == "private"


def test_a_legacy_result_has_nothing_of_the_modern_era() -> None:
    assert set(exchange(message("tools/list"))["result"]) == {"tools"}


def test_a_modern_request_is_served_within_a_legacy_session_too() -> None:
    raw = message("tools/list", {"_meta": META})
    assert exchange(raw, ready())["result"]["resultType"] == "complete"


def test_a_progress_token_alone_does_not_make_a_request_modern() -> None:
    answered = exchange(message("tools/list", {"_meta": {"progressToken": 1}}))
    assert "resultType" not in answered["result"]


@pytest.mark.parametrize(
    "meta",
    [
        {rpc.VERSION_KEY: "2026-07-28"},
        {rpc.VERSION_KEY: "2026-07-28", rpc.CAPABILITIES_KEY: []},
        {rpc.VERSION_KEY: "2026-07-28", rpc.CAPABILITIES_KEY: None},
        {rpc.VERSION_KEY: 20260728, rpc.CAPABILITIES_KEY: {}},
        {rpc.VERSION_KEY: None, rpc.CAPABILITIES_KEY: {}},
    ],
)
def test_a_modern_request_needs_its_version_and_capabilities(meta: dict[str, Any]) -> None:
    assert modern("tools/list", meta=meta)["error"]["code"] == jsonrpc.INVALID_PARAMS


def test_a_gateway_that_knows_the_era_is_told_of_a_missing_version() -> None:
    request = jsonrpc.decode(message("tools/list", {"_meta": {rpc.CAPABILITIES_KEY: {}}}))
    assert isinstance(request, jsonrpc.Request)
    refused = rpc.answer_modern(request)
    assert isinstance(refused, jsonrpc.Reply)
    assert refused.error == jsonrpc.INVALID_PARAMS


@pytest.mark.parametrize("version", ["2025-11-25", "1999-01-01", "2026-07-29", ""])
def test_a_modern_request_of_another_version_is_told_which_we_speak(version: str) -> None:
    error = modern("tools/list", meta={**META, rpc.VERSION_KEY: version})["error"]
    assert error["code"] == rpc.UNSUPPORTED_VERSION
    assert error["data"] == {"supported": ["2026-07-28"], "requested": version}


@pytest.mark.parametrize(
    "method", ["ping", "logging/setLevel", "no/such", "resources/subscribe", "resources/unsubscribe"]
)
def test_a_method_that_the_modern_era_has_not_is_unknown(method: str) -> None:
    assert modern(method)["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.parametrize(("given", "told"), [(5, 5), ("5", "5"), (None, None), (True, None), ([], None)])
def test_a_cancellation_names_the_request(given: Any, told: Any) -> None:
    value = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given}}
    notification = jsonrpc.decode(json.dumps(value).encode())
    assert isinstance(notification, jsonrpc.Notification)
    assert notification.cancelled == told


def test_another_notification_cancels_nothing() -> None:
    value = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"requestId": 5}}
    notification = jsonrpc.decode(json.dumps(value).encode())
    assert isinstance(notification, jsonrpc.Notification)
    assert notification.cancelled is None


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


def test_a_legacy_client_subscribes_to_a_resource_and_takes_it_back() -> None:
    session = ready()
    assert exchange(message("resources/subscribe", {"uri": "TEST://one"}), session)["result"] == {}
    assert session.subscriptions.uris == {"test://one": "TEST://one"}
    assert exchange(message("resources/unsubscribe", {"uri": "TEST://one"}), session)["result"] == {}
    assert session.subscriptions.uris == {}


def test_a_call_that_needs_what_the_client_can_not_do_names_it() -> None:
    error = exchange(message("tools/call", {"name": "asking"}))["error"]
    assert error["code"] == rpc.MISSING_CAPABILITY
    assert error["data"] == {"requiredCapabilities": {"elicitation": {}}}


def test_a_modern_client_listens_to_what_it_asked_for_and_we_can_tell() -> None:
    wishes = {
        "toolsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["TEST://one", "test://two", 5],
    }
    request = jsonrpc.decode(message("subscriptions/listen", {"notifications": wishes, "_meta": META}, "L"))
    assert isinstance(request, jsonrpc.Request)
    listening = rpc.answer(request, rpc.Session())
    assert isinstance(listening, rpc.Listening)
    opened = listening.open(Echo)
    assert isinstance(opened, rpc.Opened)
    told = json.loads(opened.subscriptions.acknowledgement())
    modern_types.SubscriptionsAcknowledgedNotification.model_validate(told)
    assert told["params"] == {
        "notifications": {"resourcesListChanged": True, "resourceSubscriptions": ["TEST://one"]},
        "_meta": {SUBSCRIPTION_ID_KEY: "L"},
    }


@pytest.mark.parametrize("notifications", [None, [], "all"])
def test_listening_needs_wishes(notifications: Any) -> None:
    refused = modern("subscriptions/listen", {"notifications": notifications})
    assert refused["error"]["code"] == jsonrpc.INVALID_PARAMS


def test_every_tool_of_the_product_is_described_as_the_protocol_wants() -> None:
    registry = make_registry(Settings(), Machine())
    tools = json.loads(methods.describe_tools(registry))
    assert [tool["name"] for tool in tools] == [tool.name for tool in registry]
    legacy_types.ListToolsResult.model_validate({"tools": tools})
    for tool in tools:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


def test_the_instructions_name_only_tools_that_exist() -> None:
    named = {word.strip(".,;") for word in rpc.INSTRUCTIONS.split() if "_" in word} - {"session_id"}
    assert named <= {tool.name for tool in make_registry(Settings(), Machine())}
    assert named


def test_neither_gateway_imports_what_is_slow_or_unneeded() -> None:
    code = (
        "import sys, agentsroom.gateways.rpc, agentsroom.gateways.mcp_stdio\n"
        "print([name for name in ('flask', 'sqlalchemy', 'gevent', 'watchfiles', 'psutil') if name in sys.modules])"
    )
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    answered = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=unmeasured
    )
    assert answered.stdout == "[]\n"
