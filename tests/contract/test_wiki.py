"""The wiki against the code: tables fresh, links there, examples that run, every word of the registry explained."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.settings import Settings
from agentsroom.core.tools import Tool
from agentsroom.gateways.commands import PLACES
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.server import WebServer
from tests.support.wiki_tables import errors, subclasses

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "wiki").glob("*.md"), *ROOT.glob("README.md")])
EXAMPLES = [
    (page.name, number, block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL))
]
SERVED = [
    (page.name, block)
    for page in PAGES
    for block in re.findall(r"```console serving\n(.*?)```", page.read_text(), re.DOTALL)
]
"""Those that speak to a server, with the key of its first start in AGENTS_ROOM_KEY."""


def test_tables_are_what_the_code_gives() -> None:
    command = [str(Path(sys.executable).with_name("cog")), "--check", *map(str, PAGES)]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text()
    headings = {
        one.name: {_anchor(line) for line in re.findall(r"^#+ (.*)$", one.read_text(), re.MULTILINE)}
        for one in PAGES
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path)
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in headings[file.name], f"{page.name} links to {target}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(("page", "number", "block"), EXAMPLES, ids=lambda value: str(value)[:20])
def test_every_console_example_runs(page: str, number: int, block: str, tmp_path: Path) -> None:
    lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AGENTS_ROOM_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
    }
    script = "set -euo pipefail\n" + "\n".join(lines)
    command = ["bash", "-c", script]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{page}, example {number + 1}:\n{ran.stdout}{ran.stderr}"


def test_the_console_examples_of_a_page_run_one_after_the_other(tmp_path: Path) -> None:
    pages = {page for page, _, _ in EXAMPLES}
    for name in sorted(pages):
        folder = tmp_path / name
        folder.mkdir()
        block = "".join(block for page, _, block in EXAMPLES if page == name)
        test_every_console_example_runs(name, 0, block, folder)


@pytest.mark.parametrize(("page", "block"), SERVED, ids=lambda value: str(value)[:20])
def test_every_example_with_a_server_gives_what_it_shows(page: str, block: str, tmp_path: Path) -> None:
    with WebServer(tmp_path / "home") as server:
        script = block.replace("http://127.0.0.1:8765", server.url)
        lines = [line.removeprefix("$ ") for line in script.splitlines() if line.startswith("$ ")]
        ran = subprocess.run(
            ["bash", "-c", "set -euo pipefail\n" + "\n".join(lines)],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "AGENTS_ROOM_KEY": server.key},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, f"{page}:\n{ran.stdout}{ran.stderr}"
    shown = [line for line in block.splitlines() if not line.startswith("$ ")]
    assert [_without_ids(line) for line in ran.stdout.splitlines()] == [_without_ids(line) for line in shown]


def _without_ids(line: str) -> Any:
    """The JSON of the line; every session's id is the same."""
    return json.loads(re.sub(r"\b[0-9a-f]{16}\b", "0" * 16, line))


def test_each_tool_is_one_command_of_the_cli_and_each_such_command_a_tool() -> None:
    assert list(PLACES) == [tool.name for tool in make_registry(Settings(), Machine())]
    assert len({place.words for place in PLACES.values()}) == len(PLACES)


@pytest.mark.parametrize("tool", list(make_registry(Settings(), Machine())), ids=lambda tool: tool.name)
def test_the_help_of_a_command_names_every_argument_of_its_tool(tool: Tool) -> None:
    registry = make_registry(Settings(), Machine())
    words = PLACES[tool.name].words
    command = [sys.executable, "-m", "agentsroom", *words, "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    flat = " ".join(text.split())
    assert " ".join(tool.description.split()) in flat
    for name in registry.schema(tool)["properties"]:
        typed = name.upper() in text
        flag = "--session" if name == "session_id" else "--" + name.removesuffix("_s").replace("_", "-")
        assert typed or flag in text or flag.removesuffix("s") in text, (
            f"{name} is not in the help of {words}"
        )


def test_each_error_has_a_code_of_its_own_and_says_what_happened() -> None:
    found = list(subclasses(AgentsRoomError))
    assert len({one.code for one in found}) == len(found)
    assert all(one.__doc__ and one.status in range(400, 600) for one in found)


def test_what_mcp_refuses_with_is_told_with_its_status() -> None:
    section = (
        (ROOT / "wiki" / "MCP.md").read_text().partition("## When /mcp refuses")[2].partition("\n## ")[0]
    )
    rows = re.findall(r"^\| ([\d, ]+) \| .* \| (.+) \|$", section, re.MULTILINE)
    known = errors()
    told = {code: statuses for statuses, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    assert {
        code: str(known[code][0]) in statuses.split(", ") for code, statuses in told.items()
    } == dict.fromkeys(told, True)
    assert {"session_missing", "session_unknown", "not_acceptable"} < set(told)


def test_each_module_of_the_gateways_has_its_place_on_the_page_of_the_architecture() -> None:
    page = (ROOT / "wiki" / "Architecture.md").read_text()
    gateways = ROOT / "agentsroom" / "gateways"
    modules = {
        one.stem for one in gateways.iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()
    }
    assert {one for one in modules if f"`{one}`" not in page} == {"__init__"}
