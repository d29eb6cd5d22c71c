"""The two eras: which a message is of, and what differs between them."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import _v2025_11_25 as legacy_types
from mcp_types import _v2026_07_28 as modern_types

from agentsroom.core.settings import Settings
from agentsroom.gateways import jsonrpc, rpc
from agentsroom.gateways.subscriptions import SUBSCRIPTION_ID_KEY, Subscriptions
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.echo import (
    COMPLETE,
    META,
    Echo,
    error_of,
    exchange,
    message,
    modern,
    ready,
)

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
    "resources/read",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
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
    answered = exchange(message(method, params, id), rpc.Agreement() if is_new else ready())
    assert ("result" in answered) is not ("error" in answered)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_initialize_agrees_on_a_version_that_we_speak(version: str) -> None:
    agreed = rpc.Agreement()
    result = exchange(message("initialize", {"protocolVersion": version}), agreed)["result"]
    assert result["protocolVersion"] == agreed.version == version


@pytest.mark.parametrize("version", ["2026-07-28", "2024-11-05", "2000-01-01", ""])
def test_initialize_answers_any_other_version_with_the_newest_legacy_one(version: str) -> None:
    result = exchange(message("initialize", {"protocolVersion": version}), rpc.Agreement())["result"]
    assert result["protocolVersion"] == "2025-11-25"


def test_initialize_tells_who_we_are_and_what_we_can_do() -> None:
    result = exchange(message("initialize", {"protocolVersion": "2025-11-25"}), rpc.Agreement())["result"]
    legacy_types.InitializeResult.model_validate(result)
    assert result["serverInfo"]["name"] == "agents-room"
    assert result["capabilities"] == rpc.CAPABILITIES
    assert "room_join" in result["instructions"]


def test_initialize_with_a_modern_envelope_is_still_the_handshake() -> None:
    agreed = rpc.Agreement()
    exchange(message("initialize", {"protocolVersion": "2025-11-25", "_meta": META}), agreed)
    assert agreed.version == "2025-11-25"


def test_initialize_of_a_modern_client_is_a_method_that_its_era_has_not() -> None:
    assert modern("initialize")["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.parametrize("params", [{}, {"protocolVersion": 5}])
def test_initialize_without_a_version_is_refused_and_may_be_tried_again(params: Any) -> None:
    agreed = rpc.Agreement()
    assert error_of(message("initialize", params), agreed) == (1, jsonrpc.INVALID_PARAMS)
    assert agreed.version is None


def test_initialize_twice_is_refused() -> None:
    assert error_of(message("initialize", {"protocolVersion": "2025-11-25"})) == (1, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "prompts/list", "server/discover", "nonsense"]
)
def test_before_initialize_a_legacy_request_is_refused(method: str) -> None:
    assert error_of(message(method), rpc.Agreement()) == (1, jsonrpc.INVALID_REQUEST)


def test_before_initialize_ping_is_answered() -> None:
    assert exchange(message("ping"), rpc.Agreement())["result"] == {}


@pytest.mark.parametrize("method", ["tools/unknown", "tools/list/", "Tools/List", "rpc.discover", "", "a\nb"])
def test_an_unknown_method_is_told_so(method: str) -> None:
    assert error_of(message(method)) == (1, jsonrpc.METHOD_NOT_FOUND)


@pytest.mark.parametrize("params", ["x", 5, [], [1], True])
def test_params_that_are_no_object_are_refused(params: Any) -> None:
    assert error_of(message("tools/list", params)) == (1, jsonrpc.INVALID_PARAMS)


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


def test_a_legacy_client_subscribes_to_a_resource_and_takes_it_back() -> None:
    agreed = ready()
    assert exchange(message("resources/subscribe", {"uri": "TEST://one"}), agreed)["result"] == {}
    assert agreed.subscriptions.uris == {"test://one": "TEST://one"}
    assert exchange(message("resources/unsubscribe", {"uri": "TEST://one"}), agreed)["result"] == {}
    assert agreed.subscriptions.uris == {}


def test_a_modern_client_listens_to_what_it_asked_for_and_we_can_tell() -> None:
    wishes = {
        "toolsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["TEST://one", "test://two", 5],
    }
    request = jsonrpc.decode(message("subscriptions/listen", {"notifications": wishes, "_meta": META}, "L"))
    assert isinstance(request, jsonrpc.Request)
    listening = rpc.answer(request, rpc.Agreement())
    assert isinstance(listening, rpc.Listening)
    opened = listening.open(Echo)
    assert isinstance(opened, Subscriptions)
    told = json.loads(opened.acknowledgement())
    modern_types.SubscriptionsAcknowledgedNotification.model_validate(told)
    assert told["params"] == {
        "notifications": {"resourcesListChanged": True, "resourceSubscriptions": ["TEST://one"]},
        "_meta": {SUBSCRIPTION_ID_KEY: "L"},
    }


@pytest.mark.parametrize("notifications", [None, [], "all"])
def test_listening_needs_wishes(notifications: Any) -> None:
    refused = modern("subscriptions/listen", {"notifications": notifications})
    assert refused["error"]["code"] == jsonrpc.INVALID_PARAMS


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
