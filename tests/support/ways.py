"""The ways to call a tool, all alike: (tool, raw arguments, caller) → (status of the JSON API, the answer as JSON)."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentsroom.core import platform
from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.principals import Principal
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
    others = {"C": store.add_agent("gamma")}
    secrets = {agent: agent_key(store, agent) for agent in ("default", "gamma")}

    def call(tool: str, raw: bytes, caller: Principal) -> tuple[int, Json]:
        secret = RUNNING.token if caller.kind == "admin" else secrets[caller.agent_id]
        headers = {"Content-Type": "application/json", **bearer(secret)}
        response = client.post(f"/api/tools/{tool}", data=raw, headers=headers)
        answer: Json = json.loads(response.data)
        if response.status_code == 200:
            store.check_answer(tool, answer)
        return response.status_code, answer

    def seat(name: str, folder: Path) -> tuple[Principal, Json]:
        own = {"cwd": str(folder), "host": platform.host_name(), "pid": os.getpid()}
        return others.get(name, store.agent()), own

    return Way(call, seat)


WAYS: dict[str, Callable[[Store], Way]] = {"service": by_service, "api": by_api}
