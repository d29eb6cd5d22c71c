"""The Inspector's command line lists and calls, over HTTP with a key and over stdio."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import is_missing
from tests.support import node
from tests.support.mcp_http import key_of
from tests.support.server import WebServer

PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _node() -> None:
    if reason := node.why_unavailable():
        is_missing(reason)


def inspect(target: list[str], method: str, *options: str) -> Any:
    found = node.run("mcp-inspector", "--cli", *options, "--method", method, *target, timeout_s=PATIENCE_S)
    assert found.returncode == 0, found.stderr + found.stdout
    return json.loads(found.stdout)


def seen(target: list[str]) -> dict[str, Any]:
    """What it shows of each thing that it can ask for."""
    called = inspect(target, "tools/call", "--tool-name", "room_who")
    page = inspect(target, "resources/read", "--uri", "agents-room://wiki/Home")
    told = inspect(target, "prompts/get", "--prompt-name", "hand-over", "--prompt-args", "to=beta")
    return {
        "tools": [tool["name"] for tool in inspect(target, "tools/list")["tools"]][:2],
        "called": called["structuredContent"],
        "resources": "agents-room://wiki/Home"
        in [one["uri"] for one in inspect(target, "resources/list")["resources"]],
        "page": page["contents"][0]["text"].partition("\n")[0],
        "prompts": [one["name"] for one in inspect(target, "prompts/list")["prompts"]],
        "told": "beta" in told["messages"][0]["content"]["text"],
    }


WANTED = {
    "tools": ["room_join", "room_leave"],
    "called": {"sessions": []},
    "resources": True,
    "page": "# agents-room",
    "prompts": ["join-and-work", "review-drift", "hand-over"],
    "told": True,
}


def test_the_inspector_works_over_http(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with WebServer(home) as server:
        key = key_of(home, "default")
        assert seen([f"{server.url}/mcp", "--header", f"Authorization: Bearer {key}"]) == WANTED


def test_the_inspector_works_over_stdio(tmp_path: Path) -> None:
    variables = {"AGENTS_ROOM_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path.cwd())}
    settings = [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]
    assert seen([*settings, "--", sys.executable, "-m", "agentsroom", "mcp"]) == WANTED
