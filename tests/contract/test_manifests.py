"""What each of the five manifests says of a tool is what the live tools/list says: none missing, none more, in its order."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsroom import cli
from agentsroom.gateways.manifest import overview
from agentsroom.gateways.manifest.released import PUBLISHER_META, RELEASED
from agentsroom.gateways.manifest.served import SERVED
from tests.support.manifests import client_of, printed, served
from tests.support.mcp_http import McpClient, key_of
from tests.support.server import WebServer
from tests.support.stdio import META, StdioServer
from tests.support.stores import Json, Store
from tests.support.web import BASE

KINDS = [one.name for one in overview()]
SAID: dict[str, Callable[[Json], list[Json]]] = {
    "tools": lambda document: document["tools"],
    "server-card": lambda _: [],
    "ai-catalog": lambda _: [],
    "server.json": lambda document: [{"name": one} for one in document["_meta"][PUBLISHER_META]["tools"]],
    "mcpb": lambda document: document["tools"],
}
"""Where each kind speaks of tools; a card leaves them to the live list, and a catalog to the card."""


@pytest.fixture(scope="module", params=["stdio, 2025", "stdio, 2026", "HTTP, 2025", "HTTP, 2026"])
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """The tools that a client is shown, by either door and in either era."""
    folder = tmp_path_factory.mktemp("live")
    door, era = request.param.split(", ")
    told = _over_stdio(folder, era) if door == "stdio" else _over_http(folder, era)
    tools: list[Json] = told["result"]["tools"]
    return tools


def _over_stdio(folder: Path, era: str) -> Any:
    with StdioServer(folder / "home", folder) as server:
        if era == "2025":
            server.initialize()
        return server.ask("tools/list", {} if era == "2025" else {"_meta": META})


def _over_http(folder: Path, era: str) -> Any:
    with WebServer(folder / "home") as server:
        client = McpClient(server, key_of(folder / "home", "default"))
        if era == "2025":
            client.initialize()
            return client.legacy("tools/list").message()
        return client.modern("tools/list").message()


def given(kind: str, store: Store) -> Json:
    """The manifest as its readers get it."""
    return served(client_of(store), kind) if kind in SERVED else printed(kind)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def texts(value: Any) -> Iterator[str]:
    """Every key and every text in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from texts(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_manifest_says_of_a_tool_is_what_the_live_list_says(
    kind: str, live: list[Json], sqlite_store: Store
) -> None:
    said = SAID[kind](given(kind, sqlite_store))
    if said:
        told = [{key: tool.get(key) for key in one} for one, tool in zip(said, live, strict=True)]
        assert canonical(said) == canonical(told)


@pytest.mark.parametrize("kind", KINDS)
def test_a_manifest_names_every_tool_or_none(kind: str, live: list[Json], sqlite_store: Store) -> None:
    document = given(kind, sqlite_store)
    names = {tool["name"] for tool in live}
    assert names
    found = names & set(texts(document))
    assert found == (names if SAID[kind](document) else set())


def test_the_tool_manifest_says_all_that_the_live_list_says(live: list[Json], sqlite_store: Store) -> None:
    document = given("tools", sqlite_store)
    assert canonical(document["tools"]) == canonical(live)


def test_what_is_said_beside_the_tools_is_what_a_client_is_told(sqlite_store: Store, tmp_path: Path) -> None:
    with StdioServer(tmp_path / "home", tmp_path) as server:
        told = server.initialize()
        versions = server.ask("server/discover", {"_meta": META})["result"]["supportedVersions"]
    document, card = given("tools", sqlite_store), given("server-card", sqlite_store)
    info = told["serverInfo"]
    assert {key: document[key] for key in info} == info
    assert (document["capabilities"], document["instructions"]) == (
        told["capabilities"],
        told["instructions"],
    )
    assert (card["title"], card["version"]) == (info["title"], info["version"])
    for said in (document["protocol_versions"], card["remotes"][0]["supportedProtocolVersions"]):
        assert {*versions, told["protocolVersion"]} <= set(said)


@pytest.mark.parametrize("kind", list(SERVED))
def test_the_command_prints_what_the_server_gives(kind: str, sqlite_store: Store, tmp_path: Path) -> None:
    assert printed(kind, AGENTS_ROOM_HOME=str(tmp_path), AGENTS_ROOM_URL=BASE) == given(kind, sqlite_store)


def test_the_five_are_the_same_everywhere() -> None:
    choices = next(one for one in cli.manifest.params if one.name == "kind").type
    assert list(getattr(choices, "choices", ())) == KINDS == [*SERVED, *RELEASED] == list(SAID)
