"""Every case of tests/cases/jsonrpc.jsonl that stdio and the rooms answer, each on a process of its own."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.jsonrpc_cases import cases_of, judge_reply
from tests.support.stdio import StdioServer

CASES = cases_of("stdio")


def test_the_cases_of_stdio_are_there() -> None:
    assert len(CASES) == 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_jsonrpc_case(case: dict[str, Any], tmp_path: Path) -> None:
    with StdioServer(tmp_path / "home", tmp_path) as server:
        if case["given"] != "fresh process":
            server.initialize()
        server.send(body(case, server))
        if case["expect"].get("exit") is not None:
            server.close_input()
        judge(case["expect"], server)


def body(case: dict[str, Any], server: StdioServer) -> bytes:
    """The line to send, its placeholders filled in."""
    if "body_b64" in case:
        return base64.b64decode(case["body_b64"]) + b"\n"
    text: str = case.get("body_text") or json.dumps(case["body"])
    if text.endswith("$EOF"):
        return text.removesuffix("$EOF").encode()
    if "$A" in text and case["given"] != "fresh process":
        text = text.replace("$A", server.call("room_join")["session_id"])
    if "$GONE" in text:
        gone = server.call("room_join")["session_id"]
        server.call("room_leave", session_id=gone)
        text = text.replace("$GONE", gone)
    return text.encode() + b"\n"


def judge(expect: dict[str, Any], server: StdioServer) -> None:
    known = {"no_reply", "exit", "then_ping", "then_initialize"}
    if not expect.get("no_reply") and "exit" not in expect:
        line = server.line()
        known |= judge_reply(expect, json.loads(line)) | {"one_line"}
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
    assert set(expect) <= known, "an expectation that nobody judges"
    if expect.get("then_initialize"):
        assert "protocolVersion" in server.initialize()
    if expect.get("then_ping") or expect.get("no_reply"):
        assert server.ask("ping")["result"] == {}
    if "exit" in expect:
        assert server.rest() == []
        assert server.exit_status() == expect["exit"]
