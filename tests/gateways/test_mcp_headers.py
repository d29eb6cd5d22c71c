"""The headers of MCP messages: which era they are of, and whether they say what the body says."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsroom.gateways import jsonrpc
from agentsroom.gateways.jsonrpc import Refused
from agentsroom.gateways.mcp_headers import HEADER_MISMATCH, check_headers, decoded, is_of_modern_era
from agentsroom.gateways.rpc import LEGACY_VERSIONS, MODERN_VERSION, UNSUPPORTED_VERSION
from tests.support.mcp_http import META

MODERN = {"MCP-Protocol-Version": "2026-07-28"}


def message(method: str | None, **params: Any) -> Any:
    """A request; an answer of the client's where there is no method."""
    body = {"method": method, "params": params} if method else {"result": {}}
    return jsonrpc.decode(json.dumps({"jsonrpc": "2.0", "id": 1, **body}).encode())


@pytest.mark.parametrize(
    ("method", "params", "headers", "is_modern"),
    [
        ("tools/list", {"_meta": META}, {}, True),
        ("tools/list", {"_meta": META}, {"MCP-Session-Id": "s"}, True),
        ("tools/list", {}, {}, False),
        ("tools/list", {}, MODERN, True),
        ("tools/list", {}, {**MODERN, "MCP-Session-Id": "s"}, False),
        ("tools/list", {}, {"MCP-Protocol-Version": "2025-06-18"}, False),
        ("tools/list", {}, {"MCP-Protocol-Version": "1999-01-01"}, True),
        ("initialize", {"protocolVersion": "2026-07-28", "_meta": META}, MODERN, False),
        ("initialize", {"_meta": META}, {}, True),
        (None, {}, MODERN, False),
    ],
)
def test_the_body_tells_the_era_before_the_headers_do(
    method: str | None, params: Any, headers: dict[str, str], is_modern: bool
) -> None:
    assert is_of_modern_era(message(method, **params), headers.get) is is_modern


CALL = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "room_who"}


@pytest.mark.parametrize(
    "headers",
    [
        {**CALL, "MCP-Protocol-Version": "2025-11-25"},
        {**CALL, "Mcp-Method": "tools/list"},
        {**CALL, "Mcp-Method": "TOOLS/CALL"},
        {**CALL, "Mcp-Name": "room_join"},
        {**CALL, "Mcp-Name": "=?base64?!?="},
        *({name: value for name, value in CALL.items() if name != missing} for missing in CALL),
    ],
)
def test_headers_that_say_something_else_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        check_headers(message("tools/call", name="room_who", _meta=META), headers.get)
    assert refused.value.code == HEADER_MISMATCH


def test_a_version_that_we_do_not_speak_is_answered_with_those_that_we_do() -> None:
    with pytest.raises(Refused) as refused:
        check_headers(message("tools/list"), {"MCP-Protocol-Version": "2099-01-01"}.get)
    assert refused.value.code == UNSUPPORTED_VERSION
    for version in (MODERN_VERSION, *LEGACY_VERSIONS):
        assert version in refused.value.message


@pytest.mark.parametrize("name", ["room_who", "=?base64?cm9vbV93aG8=?="])
def test_a_name_may_come_encoded(name: str) -> None:
    check_headers(message("tools/call", name="room_who", _meta=META), {**CALL, "Mcp-Name": name}.get)


@given(st.text())
def test_every_text_can_be_carried(text: str) -> None:
    assert decoded(f"=?base64?{base64.b64encode(text.encode()).decode()}?=") == text


@given(st.binary())
def test_what_is_no_text_is_none(raw: bytes) -> None:
    encoded = f"=?base64?{base64.b64encode(raw).decode()}?="
    try:
        expected: str | None = raw.decode()
    except UnicodeDecodeError:
        expected = None
    assert decoded(encoded) == expected
    assert decoded(encoded.replace("=?base64?", "=?base64? ")) is None
