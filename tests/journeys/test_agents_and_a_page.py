"""The main job: two agents by the official SDK in two folders, and a person who watches their room in Chromium."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from playwright.async_api import Page, async_playwright, expect

from tests.conftest import is_missing
from tests.support import browser as chromium
from tests.support.asynchrony import run
from tests.support.server import WebServer

PATIENCE_MS = 20_000


def _client(home: Path, folder: Path) -> Client:
    folder.mkdir()
    environment = {**os.environ, "AGENTS_ROOM_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "agentsroom", "mcp"], env=environment, cwd=folder
    )
    return Client(parameters)


async def _call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def _watch(server: WebServer, page: Page) -> None:
    await page.goto(server.link)
    await page.goto(f"{server.url}/rooms/shared:front")
    await expect(page.locator(".stream[data-state=online]")).to_have_text("Live", timeout=PATIENCE_MS)
    await page.evaluate("() => { window.isTheSamePage = true; }")


async def _journey(server: WebServer, tmp_path: Path, page: Page) -> list[str]:
    """The bodies that the reader received."""
    home = server.home
    async with _client(home, tmp_path / "alpha") as alpha, _client(home, tmp_path / "beta") as beta:
        sender = (await _call(alpha, "room_join", room="front", label="alpha"))["session_id"]
        reader = (await _call(beta, "room_join", room="front", label="beta"))["session_id"]
        await _watch(server, page)
        sent = await _call(alpha, "msg_send", session_id=sender, to="*", body="Who has wire.go?")
        row = page.locator(f"#message-{sent['message_id']}")
        await expect(row).to_contain_text("Who has wire.go?", timeout=PATIENCE_MS)
        await expect(row.locator(".delivery[data-state=stored]")).to_contain_text("beta", timeout=PATIENCE_MS)
        received = await _call(beta, "msg_recv", session_id=reader)
        await expect(row.locator(".delivery[data-state=read]")).to_contain_text("beta", timeout=PATIENCE_MS)
        assert await page.evaluate("() => window.isTheSamePage === true")
        return [one["body"] for one in received["messages"]]


@pytest.mark.timeout(120)
def test_what_two_sdk_clients_say_appears_in_the_page_and_turns_to_read(tmp_path: Path) -> None:
    if reason := chromium.why_unavailable():
        is_missing(reason)

    async def journey(server: WebServer) -> list[str]:
        async with async_playwright() as playwright:
            running = await playwright.chromium.launch(
                executable_path=chromium.executable(), args=chromium.ARGUMENTS, headless=True
            )
            try:
                return await _journey(server, tmp_path, await running.new_page())
            finally:
                await running.close()

    with WebServer(tmp_path / "home") as server:
        assert run(journey(server)) == ["Who has wire.go?"]
