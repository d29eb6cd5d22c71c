"""wiki/Connect.md: a client that is set up by each of its blocks gets in."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.conftest import is_missing
from tests.support import node
from tests.support.asynchrony import run
from tests.support.mcp_http import key_of
from tests.support.server import WebServer
from tests.support.wiki_tables import INSPECTORS_NODE

PAGE = (Path(__file__).parents[2] / "wiki" / "Connect.md").read_text()
ADDRESS = "http://127.0.0.1:8765"
KEY_FORMS = r"\$\{env:AGENTS_ROOM_KEY\}|\$\{AGENTS_ROOM_KEY\}|\{env:AGENTS_ROOM_KEY\}|\$AGENTS_ROOM_KEY"


class Block(NamedTuple):
    """One block of the page, and the heading that it stands under."""

    client: str
    language: str
    text: str


def blocks(*languages: str) -> list[Block]:
    found = [
        Block(section.partition("\n")[0].strip(), language, text)
        for section in PAGE.split("\n## ")[1:]
        for language, text in re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    ]
    return [one for one in found if one.language in languages]


class Reached(NamedTuple):
    """A server that runs, and a key for it."""

    url: str
    key: str
    home: Path


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    home = tmp_path_factory.mktemp("connect") / "home"
    with WebServer(home) as server:
        yield Reached(server.url, key_of(home, "default"), home)


def entry_of(block: Block) -> dict[str, Any]:
    """What the client is told of the server agents-room."""
    whole = json.loads(block.text) if block.language == "json" else tomllib.loads(block.text)
    (servers,) = whole.values()
    entry: dict[str, Any] = servers["agents-room"]
    return entry


@pytest.mark.parametrize("block", blocks("json", "toml"), ids=lambda block: block.client)
def test_a_client_that_is_set_up_so_gets_in(block: Block, reached: Reached) -> None:
    entry = entry_of(block)
    names = run(over_stdio(entry, reached) if "command" in entry else over_http(entry, reached))
    assert "room_join" in names


async def over_http(entry: dict[str, Any], reached: Reached) -> list[str]:
    url = next(entry[name] for name in ("url", "httpUrl") if name in entry)
    headers = {name: re.sub(KEY_FORMS, reached.key, text) for name, text in entry.get("headers", {}).items()}
    if entry.get("bearer_token_env_var") == "AGENTS_ROOM_KEY":
        headers["Authorization"] = f"Bearer {reached.key}"
    assert "$" not in str(headers)
    async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
        address = url.replace(ADDRESS, reached.url)
        async with Client(streamable_http_client(address, http_client=http)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


async def over_stdio(entry: dict[str, Any], reached: Reached) -> list[str]:
    given = entry["command"]
    program, *arguments = given if isinstance(given, list) else [given, *entry["args"]]
    assert program == "agents-room"
    own = Path(sys.executable).with_name(program)
    environment = {**os.environ, "AGENTS_ROOM_HOME": str(reached.home)}
    parameters = StdioServerParameters(command=str(own), args=arguments, env=environment)
    async with Client(parameters) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("block", blocks("sh", "python"), ids=lambda block: block.client)
def test_an_example_runs_as_it_stands(block: Block, reached: Reached, tmp_path: Path) -> None:
    environment = {**os.environ, "AGENTS_ROOM_KEY": reached.key}
    if block.client == "MCP Inspector":
        if reason := node.why_unavailable():
            is_missing(reason)
        environment["PATH"] = os.pathsep.join((str(node.FOLDER), environment["PATH"]))
    if "curl" in block.text and shutil.which("curl") is None:
        is_missing("curl is not installed")
    text = block.text.replace(ADDRESS, reached.url)
    command = ["bash", "-ec", text] if block.language == "sh" else [sys.executable, "-c", text]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.strip()


def test_every_section_of_a_client_has_a_block() -> None:
    sections = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    others = {"A key", "Where an agent over HTTP is", "When it does not connect"}
    assert {one.client for one in blocks("json", "toml", "sh", "python")} == set(sections) - others


def test_the_inspector_needs_the_node_that_is_told() -> None:
    if reason := node.why_unavailable():
        is_missing(reason)
    package = node.FOLDER.parent / "@modelcontextprotocol" / "inspector" / "package.json"
    assert json.loads(package.read_text())["engines"]["node"] == f">={INSPECTORS_NODE}.0"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_is_not_let_in_shows_why_and_what_to_do(
    mode: Literal["auto", "legacy"], reached: Reached
) -> None:
    async def connect() -> None:
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer agt_x.y"}, timeout=20) as http:
            transport = streamable_http_client(f"{reached.url}/mcp", http_client=http)
            async with Client(transport, mode=mode):
                pass

    shown = pytest.RaisesExc(MCPError, match=r"That key is not valid.*agents-room agent key ID")
    with pytest.RaisesGroup(shown, flatten_subgroups=True):
        run(connect())
