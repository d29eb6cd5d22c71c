"""Two agents in two folders, by the official SDK over stdio, with one home and no server running."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from tests.support.asynchrony import run

PATIENCE_S = 15
"""Well under the 25 s of a wait: who is woken too late is not woken."""


class Agent:
    """One client of one server process, and the session that it joined."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.session_id = ""

    async def join(self, label: str) -> None:
        joined = await self.call("room_join", room="shared:front", label=label)
        self.session_id = joined["session_id"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The tool's structured result, for this session once there is one."""
        own = {"session_id": self.session_id} if self.session_id else {}
        result = await self.client.call_tool(tool, {**own, **arguments}, read_timeout_seconds=30)
        assert not result.is_error, result.content
        text = result.content[0]
        assert isinstance(text, TextContent)
        assert json.loads(text.text) == result.structured_content
        return result.structured_content


@asynccontextmanager
async def agent(tmp_path: Path, name: str, mode: str) -> AsyncIterator[Agent]:
    folder = tmp_path / name
    folder.mkdir()
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentsroom", "mcp"],
        env={**os.environ, "AGENTS_ROOM_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path.cwd())},
        cwd=folder,
    )
    async with Client(parameters, mode=mode) as client:
        joined = Agent(client, folder)
        await joined.join(name)
        yield joined


@pytest.mark.parametrize(
    ("mode", "version"),
    [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")],
    ids=["auto", "legacy", "modern"],
)
def test_two_agents_meet_talk_claim_and_see_drift(tmp_path: Path, mode: str, version: str) -> None:
    async def journey() -> None:
        async with agent(tmp_path, "alpha", mode) as alpha, agent(tmp_path, "beta", mode) as beta:
            assert alpha.client.protocol_version == version
            await they_find_each_other(alpha, beta)
            await a_message_arrives_and_is_confirmed(alpha, beta)
            await a_held_path_is_refused(alpha, beta)
            await a_change_under_the_other_lease_is_critical(alpha, beta)

    run(journey())


async def they_find_each_other(alpha: Agent, beta: Agent) -> None:
    found = (await alpha.call("room_who"))["sessions"]
    assert {one["session_id"]: one["label"] for one in found} == {
        alpha.session_id: "alpha",
        beta.session_id: "beta",
    }
    assert {one["liveness"] for one in found} == {"alive"}
    assert {one["cwd"] for one in found} == {str(alpha.folder), str(beta.folder)}
    rooms = [set(one["rooms"]) for one in found]
    assert rooms[0] & rooms[1] == {"shared:front"}


async def a_message_arrives_and_is_confirmed(alpha: Agent, beta: Agent) -> None:
    async with asyncio.timeout(PATIENCE_S):
        waiting = asyncio.create_task(beta.call("msg_wait", timeout_s=25))
        assert (await beta.call("msg_unread"))["count"] == 0  # calls begin in order: the wait has begun
        sent = await alpha.call("msg_send", to="*", subject="wire", body="The format changed. 🙂")
        assert sent["recipients"] == 1
        woken = await waiting
    assert [one["message_id"] for one in woken["messages"]] == [sent["message_id"]]
    [received] = (await beta.call("msg_recv"))["messages"]
    assert (received["sender"], received["body"]) == (alpha.session_id, "The format changed. 🙂")
    await beta.call("msg_ack", message_id=sent["message_id"])
    [shown] = (await alpha.call("msg_sent"))["messages"]
    assert shown["message_id"] == sent["message_id"]
    assert shown["states"] == {"acked": 1}


async def a_held_path_is_refused(alpha: Agent, beta: Agent) -> None:
    path = str(alpha.folder / "wire.go")
    assert (await alpha.call("lease_claim", path="wire.go"))["ok"] is True
    refused = await beta.call("lease_claim", path=path)
    assert refused["ok"] is False
    assert (refused["holder"], refused["reason"]) == (alpha.session_id, "held_exclusive")
    await alpha.call("lease_release", path="wire.go")
    assert (await beta.call("lease_claim", path=path))["ok"] is True


async def a_change_under_the_other_lease_is_critical(alpha: Agent, beta: Agent) -> None:
    """Beta holds wire.go of alpha's folder by now."""
    file = alpha.folder / "wire.go"
    file.write_text("package wire\n")
    await alpha.call("note_read", path="wire.go")
    assert (await alpha.call("drift_check", path="wire.go"))["severity"] == "SAFE"
    file.write_text("package wire // changed\n")
    drift = await alpha.call("drift_check", path="wire.go")
    assert (drift["severity"], drift["changed"], drift["holder"]) == ("CRITICAL", True, beta.session_id)


def test_the_sdk_shows_the_tools_and_the_instructions(tmp_path: Path) -> None:
    async def journey() -> None:
        async with agent(tmp_path, "alpha", "auto") as alpha:
            tools = (await alpha.client.list_tools()).tools
            assert "msg_send" in {tool.name for tool in tools}
            assert alpha.client.server_info is not None
            assert alpha.client.server_info.name == "agents-room"
            assert "room_join" in (alpha.client.instructions or "")

    run(journey())


def test_a_refused_call_reaches_the_sdk_as_an_error_result(tmp_path: Path) -> None:
    async def journey() -> None:
        async with agent(tmp_path, "alpha", "auto") as alpha:
            result = await alpha.client.call_tool("msg_unread", {"session_id": "0123456789abcdef"})
            assert result.is_error
            assert result.structured_content is None
            text = result.content[0]
            assert isinstance(text, TextContent)
            assert json.loads(text.text)["code"] == "unknown_session"

    run(journey())
