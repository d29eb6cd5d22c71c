"""Two agents with keys of their own, by the official SDK over HTTP: they talk, read, are told of changes, and come back."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceUpdatedNotification, TextContent, TextResourceContents

from tests.support.asynchrony import run
from tests.support.mcp_http import McpClient, key_of
from tests.support.server import WebServer

PATIENCE_S = 15
"""Well under the 25 s of a wait: who is woken too late is not woken."""
HISTORY = "agents-room://rooms/shared%3Afront/history"
MODES = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")]
every_mode = pytest.mark.parametrize(("mode", "version"), MODES, ids=["auto", "legacy", "modern"])


class Agent:
    """One client with its key, and the session that it joined."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.told: asyncio.Queue[str] = asyncio.Queue()
        """URIs of resources that were told to be others now."""
        self.session_id = ""

    async def join(self, label: str) -> None:
        joined = await self.call("room_join", room="front", label=label, host="build-7", cwd="/srv/app")
        self.session_id = joined["session_id"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        own = {"session_id": self.session_id} if self.session_id else {}
        result = await self.client.call_tool(tool, {**own, **arguments}, read_timeout_seconds=30)
        assert not result.is_error, result.content
        return result.structured_content


@asynccontextmanager
async def agent(server: WebServer, key: str, mode: str) -> AsyncIterator[Agent]:
    headers = {"Authorization": f"Bearer {key}"}
    async with AsyncExitStack() as opened:
        http = await opened.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=30))
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        told: asyncio.Queue[str] = asyncio.Queue()

        async def hear(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                told.put_nowait(str(message.params.uri))

        client = await opened.enter_async_context(Client(transport, mode=mode, message_handler=hear))
        found = Agent(client)
        found.told = told
        yield found


@asynccontextmanager
async def pair(server: WebServer, home: Path, mode: str) -> AsyncIterator[tuple[Agent, Agent]]:
    """Two agents with keys of their own, both in the room front."""
    keys = key_of(home, "default"), key_of(home, "other")
    async with agent(server, keys[0], mode) as alpha, agent(server, keys[1], mode) as beta:
        await alpha.join("alpha")
        await beta.join("beta")
        yield alpha, beta


@every_mode
def test_two_agents_talk_claim_and_read_over_http(
    server: WebServer, home: Path, mode: str, version: str
) -> None:
    async def journey() -> None:
        async with pair(server, home, mode) as (alpha, beta):
            assert alpha.client.protocol_version == version
            message_id = await a_message_arrives_and_is_explained(alpha, beta)
            await a_held_path_is_refused(alpha, beta)
            await the_history_is_a_resource(alpha, message_id)
            await prompts_and_completion_are_there(alpha)

    run(journey())


async def a_message_arrives_and_is_explained(alpha: Agent, beta: Agent) -> int:
    async with asyncio.timeout(PATIENCE_S):
        waiting = asyncio.create_task(beta.call("msg_wait", timeout_s=25))
        sent = await alpha.call("msg_send", to="*", subject="wire", body="The format changed. 🙂")
        woken = await waiting
    assert [one["message_id"] for one in woken["messages"]] == [sent["message_id"]]
    await beta.call("msg_recv")
    await beta.call("msg_ack", message_id=sent["message_id"])
    [why] = (await alpha.call("why", message_id=sent["message_id"]))["recipients"]
    assert (why["recipient"], why["state"]) == (beta.session_id, "acked")
    found: int = sent["message_id"]
    return found


async def a_held_path_is_refused(alpha: Agent, beta: Agent) -> None:
    assert (await alpha.call("lease_claim", path="/srv/app/wire.go"))["ok"] is True
    refused = await beta.call("lease_claim", path="/srv/app/wire.go")
    assert (refused["ok"], refused["holder"]) == (False, alpha.session_id)


async def the_history_is_a_resource(alpha: Agent, message_id: int) -> None:
    listed = (await alpha.client.list_resources()).resources
    assert HISTORY in [str(one.uri) for one in listed]
    [history] = (await alpha.client.read_resource(HISTORY, cache_mode="bypass")).contents
    assert isinstance(history, TextResourceContents)
    assert [one["message_id"] for one in json.loads(history.text)["messages"]] == [message_id]


async def prompts_and_completion_are_there(alpha: Agent) -> None:
    [said] = (await alpha.client.get_prompt("hand-over", {"to": "beta"})).messages
    assert isinstance(said.content, TextContent)
    assert "beta" in said.content.text
    reference = PromptReference(type="ref/prompt", name="join-and-work")
    found = await alpha.client.complete(reference, {"name": "room", "value": "fr"})
    assert found.completion.values == ["shared:front"]


@every_mode
def test_who_subscribed_to_a_history_is_told_of_a_message(
    server: WebServer, home: Path, mode: str, version: str
) -> None:
    async def journey() -> None:
        async with pair(server, home, mode) as (alpha, beta), asyncio.timeout(PATIENCE_S):
            if version == "2025-11-25":
                with pytest.warns(match="removed as of 2026-07-28"):
                    await alpha.client.subscribe_resource(HISTORY)
                await beta.call("msg_send", to="*", body="news")
                assert await alpha.told.get() == HISTORY
            else:
                async with alpha.client.listen(resource_subscriptions=[HISTORY]) as changes:
                    await beta.call("msg_send", to="*", body="news")
                    assert await anext(aiter(changes)) == ResourceUpdated(uri=HISTORY)

    run(journey())


@every_mode
def test_clients_come_back_after_a_restart_and_a_wait_that_is_asked_again_gets_its_message(
    home: Path, mode: str, version: str
) -> None:
    port = free_port()
    key = ""

    async def journey() -> None:
        nonlocal key
        async with AsyncExitStack() as opened:
            with WebServer(home, AGENTS_ROOM_PORT=port) as first:
                key = key_of(home, "default")
                alpha = await opened.enter_async_context(agent(first, key, mode))
                await alpha.join("alpha")
                waiting = asyncio.create_task(alpha.client.call_tool("msg_wait", wait(alpha, timeout_s=25)))
                await asyncio.to_thread(until_it_waits, first)
                first.process.send_signal(signal.SIGTERM)
                async with asyncio.timeout(PATIENCE_S):
                    assert await asyncio.to_thread(first.end) == 0
                    await ended(waiting)
            say(home, alpha.session_id)
            with WebServer(home, AGENTS_ROOM_PORT=port) as second:
                if version == "2025-11-25":
                    with pytest.raises(MCPError, match="There is no such session"):
                        await alpha.call("msg_unread")
                    again = await opened.enter_async_context(agent(second, key, mode))
                    again.session_id = alpha.session_id
                    alpha = again
                async with asyncio.timeout(PATIENCE_S):
                    woken = await alpha.call("msg_wait", timeout_s=25)
                assert [one["body"] for one in woken["messages"]] == ["while you were out"]

    run(journey())


def wait(waiter: Agent, **arguments: Any) -> dict[str, Any]:
    return {"session_id": waiter.session_id, **arguments}


async def ended(waiting: "asyncio.Task[Any]") -> None:
    """It was told that the server stops, or that its connection is gone."""
    try:
        result = await waiting
    except MCPError:
        return
    assert result.is_error, result
    text = result.content[0]
    assert isinstance(text, TextContent)
    assert json.loads(text.text)["code"] == "stopping"


def until_it_waits(server: WebServer) -> None:
    """Another request, asked later, is answered; had the wait not begun by then, it would have to end the same way."""
    with server.connect() as connection:
        assert connection.get("/healthz")[0] == 200


def say(home: Path, session_id: str) -> None:
    """Somebody on the machine writes to the session, without any server."""
    sender = command(home, "join", "--room", "front", "--label", "cli", "--get", "session_id")
    command(home, "send", "--session", sender, session_id, "while you were out")


def command(home: Path, *words: str) -> str:
    """What the command line prints."""
    environment = {**os.environ, "AGENTS_ROOM_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
    program = [sys.executable, "-m", "agentsroom", *words]
    return subprocess.check_output(program, env=environment, text=True, cwd=home).strip()


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.mark.parametrize("mode", [mode for mode, _ in MODES])
def test_a_revoked_key_ends_a_wait_at_once(server: WebServer, home: Path, mode: str) -> None:
    key = key_of(home, "default")

    async def journey() -> None:
        async with agent(server, key, mode) as alpha:
            await alpha.join("alpha")
            waiting = asyncio.create_task(alpha.client.call_tool("msg_wait", wait(alpha, timeout_s=25)))
            await asyncio.to_thread(until_it_waits, server)
            await asyncio.to_thread(revoke, home)
            async with asyncio.timeout(1):
                with pytest.raises(MCPError):
                    await waiting
            with pytest.raises(MCPError):
                await alpha.call("msg_unread")

    run(journey())


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_revoked_key_ends_a_stream_at_once(server: WebServer, home: Path, era: str) -> None:
    client = McpClient(server, key_of(home, "default"))
    if era == "2025":
        client.initialize()
        stream = client.follow()
    else:
        stream = client.modern("subscriptions/listen", {"notifications": {}})
        assert next(stream.events())["method"] == "notifications/subscriptions/acknowledged"
    assert stream.status == 200
    revoke(home)
    stream.patience(1)
    assert [one["result"]["resultType"] for one in stream.events()] == ([] if era == "2025" else ["complete"])
    stream.close()


def revoke(home: Path) -> None:
    command(home, "agent", "revoke", "default")
