"""The ways to call a tool, all alike: (tool, raw arguments, caller) → (status of the JSON API, the answer as JSON)."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentsroom.core import platform
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.principals import Principal
from agentsroom.gateways import jsonrpc
from tests.support.cases import statuses_of
from tests.support.mcp_http import META
from tests.support.stores import Json, Store
from tests.support.web import RUNNING, agent_key, app_of, bearer, browser_of

Call = Callable[[str, bytes, Principal], tuple[int, Json]]


@dataclass(frozen=True)
class Way:
    """One way to call tools, and who joins by it."""

    call: Call
    seat: Callable[[str, Path], tuple[Principal, Json]]
    """A session's name and folder → its caller, and what that one has to say of itself when it joins."""


def by_service(store: Store) -> Way:
    """Through the registry, by processes of this machine."""

    def call(tool: str, raw: bytes, caller: Principal) -> tuple[int, Json]:
        try:
            return 200, store.call_raw(tool, caller, raw)
        except AgentsRoomError as error:
            return error.status, {"error": error.as_json()}

    return Way(call, lambda _, folder: (store.local(cwd=folder), {}))


def by_api(store: Store) -> Way:
    """Over HTTP, by agents with keys: the session C has one of its own, all others share one."""
    client = browser_of(app_of(store))
    agents = _Agents(store)

    def call(tool: str, raw: bytes, caller: Principal) -> tuple[int, Json]:
        response = client.post(f"/api/tools/{tool}", data=raw, headers=agents.headers(caller))
        answer: Json = json.loads(response.data)
        if response.status_code == 200:
            store.check_answer(tool, answer)
        return response.status_code, answer

    return Way(call, agents.seat)


def by_mcp(store: Store) -> Way:
    """At /mcp, by the same agents; its errors have no status, so the one of the JSON API is told for their code."""
    client = browser_of(app_of(store))
    agents = _Agents(store)

    def call(tool: str, raw: bytes, caller: Principal) -> tuple[int, Json]:
        frame = json.dumps({"name": tool, "_meta": META})[:-1].encode() + b',"arguments":' + raw
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}}' % frame
        routing = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        reply = json.loads(client.post("/mcp", data=body, headers={**agents.headers(caller), **routing}).data)
        if "error" in reply:
            code = "parse_error" if reply["error"]["code"] == jsonrpc.PARSE_ERROR else "invalid_argument"
            return statuses_of(code)[0], {"error": {**reply["error"], "code": code}}
        result = reply["result"]
        if result["isError"]:
            error = json.loads(result["content"][0]["text"])
            assert "structuredContent" not in result
            return statuses_of(error["code"])[0], {"error": error}
        store.check_answer(tool, result["structuredContent"])
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return 200, result["structuredContent"]

    return Way(call, agents.seat)


class _Agents:
    """Agents with keys over HTTP: the session C has one of its own, all others share one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._others = {"C": store.add_agent("gamma")}
        self._secrets = {agent: agent_key(store, agent) for agent in ("default", "gamma")}

    def headers(self, caller: Principal) -> dict[str, str]:
        secret = RUNNING.token if caller.kind == "admin" else self._secrets[caller.agent_id]
        return {"Content-Type": "application/json", **bearer(secret)}

    def seat(self, name: str, folder: Path) -> tuple[Principal, Json]:
        own = {"cwd": str(folder), "host": platform.host_name(), "pid": os.getpid()}
        return self._others.get(name, self._store.agent()), own


WAYS: dict[str, Callable[[Store], Way]] = {"service": by_service, "api": by_api, "mcp": by_mcp}
