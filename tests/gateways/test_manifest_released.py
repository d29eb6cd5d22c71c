"""The two manifests of a release: their formats, whose they are, what a host starts by them."""

import json
import re
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.product import DESCRIPTION, LICENCE, NAME, VERSION
from agentsroom.core.settings import PREFIX, Settings
from agentsroom.gateways.manifest.released import AUTHOR, PUBLISHER_META, PYTHON, RELEASED, release_of
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.manifests import REPOSITORY, ROOT, client_of, misfits, printed, run, served
from tests.support.stdio import StdioServer
from tests.support.stores import Store

ASKED = {f"{PREFIX}{name}" for name in ("HOME", "TEAM", "AGENT")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("options", [(), ("--repository", REPOSITORY)])
def test_server_json_keeps_its_format(options: tuple[str, ...]) -> None:
    closed = ("ServerDetail", "Package", "Repository", "KeyValueInput", "LocalTransport", "RemoteTransport")
    document = printed("server.json", *options)
    assert misfits(document, "server-2025-12-11.schema.json", (*closed, "PositionalArgument")) == []


@pytest.mark.parametrize("options", [(), ("--repository", REPOSITORY)])
def test_the_manifest_of_a_bundle_keeps_its_format(options: tuple[str, ...]) -> None:
    """Its schema knows every key of it already."""
    document = printed("mcpb", *options)
    assert misfits(document, "mcpb-manifest-0.4.schema.json") == []
    assert document["manifest_version"] == "0.4"


@pytest.mark.parametrize(
    ("options", "name", "repository"),
    [
        ((), "localhost/agents-room", None),
        (
            ("--repository", REPOSITORY),
            "io.github.Some-One/agents-room",
            {"url": REPOSITORY, "source": "github"},
        ),
        (
            ("--repository", "https://gitlab.com/a/b/agents-room/", "--name", "com.example/rooms"),
            "com.example/rooms",
            {"url": "https://gitlab.com/a/b/agents-room/", "source": "gitlab"},
        ),
        (
            ("--repository", "https://git.example.org:8443/a"),
            "localhost/agents-room",
            {"url": "https://git.example.org:8443/a", "source": "git.example.org"},
        ),
    ],
)
def test_server_json_tells_whose_it_is(
    options: tuple[str, ...], name: str, repository: dict[str, str] | None
) -> None:
    document = printed("server.json", *options)
    assert (document["name"], document.get("repository")) == (name, repository)
    git = {"type": "git", "url": repository["url"]} if repository else None
    assert printed("mcpb", *options).get("repository") == git


@pytest.mark.parametrize(
    "options",
    [
        ("--repository", "github.com/some-one/agents-room"),
        ("--repository", "http://github.com/some-one/agents-room"),
        ("--repository", "https://user:secret@github.com/some-one/agents-room"),
        ("--repository", "https://github.com/some-one/agents-room?tab=x"),
        ("--repository", "https://github.com/"),
        ("--repository", ""),
        ("--name", "agents-room"),
        ("--name", "io.github.me/agents/room"),
        ("--name", "io.github.mé/agents-room"),
        ("--name", "a/" + "b" * 100),
        ("--name", ""),
    ],
)
def test_an_address_or_a_name_that_no_registry_takes_is_refused(
    options: tuple[str, str], tmp_path: Path
) -> None:
    result = run("--write", str(tmp_path / "new"), *options)
    assert result.exit_code == 2
    assert options[0] in result.stderr
    assert "or the like is taken" in result.stderr
    assert not (tmp_path / "new").exists()


def test_both_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidArgument) as caught:
        release_of(make_registry(Settings(), Machine()), "x", "y")
    assert [one["argument"] for one in caught.value.data["problems"]] == ["--repository", "--name"]


def test_all_tell_the_product_as_the_package_does(sqlite_store: Store) -> None:
    client = client_of(sqlite_store)
    assert {key: PROJECT[key] for key in ("name", "description", "license", "requires-python")} == {
        "name": NAME,
        "description": DESCRIPTION,
        "license": LICENCE,
        "requires-python": PYTHON,
    }
    assert PROJECT["authors"] == [{"name": AUTHOR}]
    assert list(PROJECT["scripts"]) == [NAME]
    for document in (
        *(served(client, kind) for kind in ("tools", "server-card")),
        *(printed(kind) for kind in RELEASED),
    ):
        assert (document["description"], document["version"]) == (DESCRIPTION, VERSION)


def test_the_package_is_started_as_stdio_mcp_with_three_settings() -> None:
    [package] = printed("server.json")["packages"]
    assert [one["value"] for one in package["packageArguments"]] == ["mcp"]
    asked = {one["name"]: one["default"] for one in package["environmentVariables"]}
    defaults = {f"{PREFIX}{one.name.upper()}": one.default for one in fields(Settings)}
    assert asked == {name: defaults[name] for name in ASKED}


def test_the_address_of_a_remote_has_one_variable_and_is_safe() -> None:
    [remote] = printed("server.json")["remotes"]
    assert remote["url"].startswith("https://")
    assert re.findall(r"{(\w+)}", remote["url"]) == list(remote["variables"])
    assert remote["headers"][0]["isSecret"] is True


def test_what_the_registry_keeps_beside_its_own_fields_stays_under_its_limit() -> None:
    meta = printed("server.json")["_meta"]
    assert list(meta) == [PUBLISHER_META]
    assert len(json.dumps(meta[PUBLISHER_META]).encode()) <= 4_096


def test_the_settings_of_the_publisher_do_not_get_into_a_release() -> None:
    other = {
        "AGENTS_ROOM_HOME": "/elsewhere",
        "AGENTS_ROOM_TEAM": "x",
        "AGENTS_ROOM_URL": "https://x.example",
    }
    for kind in RELEASED:
        assert printed(kind, **other) == printed(kind)


def test_a_bundle_starts_the_server_with_what_its_user_chose(tmp_path: Path) -> None:
    """As its host does it, but for uv: `uv run --project` makes the environment that the tests have already."""
    document = printed("mcpb")
    config = document["server"]["mcp_config"]
    assert (config["command"], config["args"][:2]) == ("uv", ["run", "--project"])
    program, *arguments = config["args"][3:]
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    chosen = {name: one["default"] for name, one in document["user_config"].items()}
    variables = {
        name: re.sub(r"\$\{user_config\.(\w+)\}", lambda found: chosen[found[1]], text).replace(
            "${HOME}", str(tmp_path)
        )
        for name, text in config["env"].items()
    }
    assert set(variables) == ASKED
    with StdioServer(tmp_path / "unused", tmp_path, command, **variables) as server:
        assert server.initialize()["serverInfo"]["name"] == document["name"]
        assert server.call("room_join")["session_id"]
    assert (tmp_path / ".agents-room" / "room.db").exists()


def test_the_entry_point_of_a_bundle_serves_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / printed("mcpb")["server"]["entry_point"])]
    with StdioServer(tmp_path / "home", tmp_path, command) as server:
        assert server.initialize()["serverInfo"]["name"] == NAME
