"""Messages alone: bytes in, what they are out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsroom.gateways import jsonrpc
from tests.support.echo import (
    error_of,
    exchange,
    message,
)

DEEP = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"[" * 100 + b"]" * 100 + b"}}"


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
