"""Every case of tests/cases/jsonrpc.jsonl that /mcp and the rooms answer, on a real server."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.jsonrpc_cases import cases_of, judge_reply
from tests.support.mcp_http import McpAnswer, McpClient, key_of
from tests.support.server import WebServer

Json = dict[str, Any]

CASES = cases_of("2025-http", "2026-http")


def test_the_cases_of_http_are_there() -> None:
    assert len(CASES) == 117


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[McpClient, McpClient]]:
    """Two agents of one server."""
    home = tmp_path_factory.mktemp("cases") / "home"
    with WebServer(home) as server:
        yield McpClient(server, key_of(home, "default")), McpClient(server, key_of(home, "other"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_jsonrpc_case(case: Json, clients: tuple[McpClient, McpClient], tmp_path: Path) -> None:
    own, other = clients
    names = stand_ins(case, own, other, tmp_path)
    if case.get("given") == "the session was ended with DELETE":
        with closing(own.send("DELETE", None, own.own_headers())) as ended:
            assert ended.status == 204
    headers = {name: filled_in(value, names) for name, value in case["headers"].items()}
    body = raw_body(case, names) if case["http"] == "POST" else None
    with closing(own.send(case["http"], body, headers)) as answer:
        expects = case["expect"].get("any_of") or [case["expect"]]
        judge(expects, answer)
    if case["expect"].get("then_ping"):
        own.initialize()
        assert own.legacy("ping").message()["result"] == {}


def stand_ins(case: Json, own: McpClient, other: McpClient, folder: Path) -> dict[str, str]:
    text = json.dumps(case)
    port = own.server.running["port"]
    names = {"$OWN_ORIGIN": f"http://127.0.0.1:{port}", "$DEVICE_KEY": "dev_1a2b3c.not-for-this-door"}
    if "$SESSION_OF_ANOTHER_KEY" in text:
        other.initialize()
        names["$SESSION_OF_ANOTHER_KEY"] = str(other.session)
    if '"$SESSION"' in text:
        own.initialize()
        names["$SESSION"] = str(own.session)
    if "$A" in text or "$B" in text:
        names["$A"] = own.call("room_join", cwd=str(folder))["session_id"]
        names["$B"] = own.call("room_join", cwd=str(folder))["session_id"]
    return names


def filled_in(value: str | None, names: dict[str, str]) -> str | None:
    for name in sorted(names, key=len, reverse=True):
        value = value and value.replace(name, names[name])
    return value


def raw_body(case: Json, names: dict[str, str]) -> bytes:
    if "body_b64" in case:
        return base64.b64decode(case["body_b64"])
    text = case["body_text"] if "body_text" in case else json.dumps(case["body"])
    filled = str(filled_in(text, names))
    return filled.replace("$FILL_16_MIB", "x" * 2**24).encode()


def judge(expects: list[Json], answer: McpAnswer) -> None:
    """One of the outcomes, and every word of it."""
    if len(expects) > 1:
        reply = answer.message()
        assert any(is_met(expect, reply) for expect in expects), reply
        return
    expect = expects[0]
    known = {"then_ping", "status", "header", "content_type", "no_body", "first_method", "subscription_id"}
    if "status" in expect:
        wanted = expect["status"]
        assert answer.status in (wanted if isinstance(wanted, list) else [wanted])
    if "header" in expect:
        assert answer.headers[expect["header"]].isascii()
    if "content_type" in expect:
        assert answer.content_type == expect["content_type"]
    if expect.get("no_body"):
        assert answer.body() == b""
    if "first_method" in expect:
        first = next(answer.events())
        assert first["method"] == expect["first_method"]
        subscription_id = first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
        assert subscription_id == expect["subscription_id"]
    if {"result", "error"} & set(expect):
        known |= judge_reply(expect, answer.message())
    assert set(expect) <= known, "an expectation that nobody judges"


def is_met(expect: Json, reply: Json) -> bool:
    try:
        judge_reply(expect, reply)
    except (AssertionError, KeyError):
        return False
    return True
