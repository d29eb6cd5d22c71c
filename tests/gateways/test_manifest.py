"""The five manifests: that they keep their formats, where they are read, and what the command does with files."""

import contextlib
import errno
import json
import os
import re
import resource
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from agentsroom.core.errors import InvalidArgument, NotWritable
from agentsroom.core.product import DESCRIPTION, LICENCE, NAME, VERSION
from agentsroom.core.settings import PREFIX, Settings
from agentsroom.gateways.manifest import overview
from agentsroom.gateways.manifest.files import write_release
from agentsroom.gateways.manifest.released import (
    AUTHOR,
    PUBLISHER_META,
    PYTHON,
    RELEASED,
    release_of,
)
from agentsroom.gateways.manifest.served import SERVED, name_at
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.manifests import BASE, ROOT, RUNNING, ask, check, client_of, printed, run, served
from tests.support.stdio import StdioServer
from tests.support.stores import Json, Store

REPOSITORY = "https://github.com/Some-One/agents-room"
ASKED = {f"{PREFIX}{name}" for name in ("HOME", "TEAM", "AGENT")}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FILES = ["server.json", "manifest.json"]


def both(folder: Path) -> dict[str, Json]:
    """What the two files hold; nothing else is in the folder."""
    assert sorted(one.name for one in folder.iterdir()) == sorted(FILES)
    return {name: json.loads((folder / name).read_bytes()) for name in FILES}


@pytest.mark.parametrize("kind", list(SERVED))
def test_each_is_served_with_its_media_type_and_only_sent_again_when_it_changed(
    kind: str, sqlite_store: Store
) -> None:
    client, place = client_of(sqlite_store), SERVED[kind].place
    answer = ask(client, place)
    assert answer.headers["Content-Type"] == SERVED[kind].media_type
    assert answer.headers["Cache-Control"] == "private, no-cache"
    again = ask(client, place, If_None_Match=answer.headers["ETag"])
    assert (again.status_code, again.data) == (304, b"")
    other = ask(client_of(sqlite_store, url="https://other.example"), place)
    assert other.headers["ETag"] != answer.headers["ETag"]


@pytest.mark.parametrize("kind", list(SERVED))
def test_none_is_for_strangers(kind: str, sqlite_store: Store) -> None:
    answer = client_of(sqlite_store).get(SERVED[kind].place, base_url=BASE)
    assert answer.status_code == 401
    assert DESCRIPTION not in answer.text


@pytest.mark.parametrize(
    ("changes", "headers", "base"),
    [
        ({}, {}, BASE),
        ({}, {"Host": "localhost:8765"}, "http://localhost:8765"),
        ({"url": "https://rooms.example.org"}, {}, "https://rooms.example.org"),
        ({"url": "https://rooms.example.org/"}, {}, "https://rooms.example.org"),
        ({"url": "https://example.org/rooms/"}, {}, "https://example.org/rooms"),
        ({"proxies": 1}, {"X_Forwarded_Host": "localhost:8765"}, "http://localhost:8765"),
    ],
)
def test_addresses_are_those_that_clients_reach(
    sqlite_store: Store, changes: dict[str, Any], headers: dict[str, str], base: str
) -> None:
    client = client_of(sqlite_store, **changes)
    assert served(client, "tools", **headers)["endpoint"] == f"{base}/mcp"
    assert served(client, "server-card", **headers)["remotes"][0]["url"] == f"{base}/mcp"
    assert served(client, "ai-catalog", **headers)["entries"][0]["url"] == f"{base}/mcp/server-card"


@pytest.mark.parametrize(
    ("base", "name"),
    [
        ("https://rooms.example.org", "org.example.rooms/agents-room"),
        ("https://Rooms.Example.org:8443/path", "org.example.rooms/agents-room"),
        ("https://example.org.", "org.example/agents-room"),
        ("http://my_box:8765", "my-box/agents-room"),
        ("http://localhost:8765", "localhost/agents-room"),
        ("http://127.0.0.1:8765", "localhost/agents-room"),
        ("http://192.168.1.5", "localhost/agents-room"),
        ("http://[::1]:8765", "localhost/agents-room"),
    ],
)
def test_a_server_has_its_hosts_name_in_reverse_and_an_address_has_none(base: str, name: str) -> None:
    assert name_at(base) == name


@pytest.mark.parametrize("changes", [{}, {"auth": "off"}, {"url": "https://rooms.example.org"}])
def test_the_card_keeps_its_format(sqlite_store: Store, changes: dict[str, str]) -> None:
    card = served(client_of(sqlite_store, **changes), "server-card")
    check(card, "server-card-v1.schema.json", closed=("ServerCard", "Remote", "KeyValueInput", "Input"))


def test_the_card_asks_for_a_key_as_a_secret_where_one_is_needed(sqlite_store: Store) -> None:
    client = client_of(sqlite_store)
    [header] = served(client, "server-card")["remotes"][0]["headers"]
    assert (header["name"], header["value"]) == ("Authorization", "Bearer {key}")
    assert header["isSecret"] is header["isRequired"] is header["variables"]["key"]["isSecret"] is True
    assert served(client, "tools")["authentication"]["required"] is True
    unguarded = client_of(sqlite_store, auth="off")
    assert "headers" not in served(unguarded, "server-card")["remotes"][0]
    assert served(unguarded, "tools")["authentication"]["required"] is False


def test_the_catalog_keeps_its_format_and_leads_to_the_card(sqlite_store: Store) -> None:
    """AI Catalog 0.9, "Top-Level Structure", "Catalog Entry" and "Version Format": nobody publishes a schema of it."""
    client = client_of(sqlite_store, url="https://rooms.example.org")
    catalog = served(client, "ai-catalog")
    assert set(catalog) == {"specVersion", "host", "entries"}
    assert re.fullmatch(r"\d+\.\d+", catalog["specVersion"])
    assert set(catalog["host"]) == {"displayName"}
    [entry] = catalog["entries"]
    assert set(entry) == {"identifier", "type", "url"}
    assert entry["identifier"] == "urn:air:rooms.example.org:mcp:agents-room"
    assert entry["type"] == "application/mcp-server-card+json"
    answer = ask(client, entry["url"].removeprefix("https://rooms.example.org"))
    assert answer.mimetype == entry["type"]


@pytest.mark.parametrize("options", [(), ("--repository", REPOSITORY)])
def test_server_json_keeps_its_format(options: tuple[str, ...]) -> None:
    closed = ("ServerDetail", "Package", "Repository", "KeyValueInput", "LocalTransport", "RemoteTransport")
    check(printed("server.json", *options), "server-2025-12-11.schema.json", (*closed, "PositionalArgument"))


@pytest.mark.parametrize("options", [(), ("--repository", REPOSITORY)])
def test_the_manifest_of_a_bundle_keeps_its_format(options: tuple[str, ...]) -> None:
    """Its schema knows every key of it already."""
    document = printed("mcpb", *options)
    check(document, "mcpb-manifest-0.4.schema.json")
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


def test_without_a_kind_the_command_lists_the_five(sqlite_store: Store) -> None:
    listed = json.loads(run("--json").stdout)
    assert [one["name"] for one in listed] == [one.name for one in overview()]
    assert all(one["name"] in run().stdout for one in listed)
    client = client_of(sqlite_store)
    for place in (one["where"].removeprefix("GET ") for one in listed if one["where"].startswith("GET ")):
        assert ask(client, place).status_code == 200


@pytest.mark.parametrize("folder", ["", "new/and/deeper"])
def test_both_files_are_written_whole_and_readable_by_others(folder: str, tmp_path: Path) -> None:
    target = tmp_path / folder
    result = run("--write", str(target), "--repository", REPOSITORY)
    assert result.exit_code == 0
    assert result.stderr == ""
    found = both(target)
    assert found["server.json"] == printed("server.json", "--repository", REPOSITORY)
    assert found["manifest.json"] == printed("mcpb", "--repository", REPOSITORY)
    for name in FILES:
        size = (target / name).stat().st_size
        assert f"{target / name} is written ({size:,} bytes)." in result.stdout
        assert (target / name).stat().st_mode & 0o777 == 0o644


def test_a_name_that_nobody_can_publish_is_told(tmp_path: Path) -> None:
    result = run("--write", str(tmp_path))
    assert result.exit_code == 0
    assert "--repository or --name" in result.stderr
    assert run("mcpb", "--write", str(tmp_path)).stderr == ""


def test_one_of_the_two_may_be_named(tmp_path: Path) -> None:
    assert run("mcpb", "--write", str(tmp_path)).exit_code == 0
    assert [one.name for one in tmp_path.iterdir()] == ["manifest.json"]


def test_our_own_files_are_replaced_whoever_published_them(tmp_path: Path) -> None:
    assert run("--write", str(tmp_path), "--name", "com.example/agents-room").exit_code == 0
    assert run("--write", str(tmp_path), "--repository", REPOSITORY).exit_code == 0
    assert both(tmp_path)["server.json"]["name"] == "io.github.Some-One/agents-room"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"no JSON",
        b"\xff",
        b"[" * 100,
        b'{"name": "agents-room"}',
        b'{"name": "other", "manifest_version": "0.4"}',
        b'{"name": "io.github.x/other", "$schema": "x"}',
        b'{"name": "agents-room", "manifest_version": "0.4", "$schema": "x"}',
    ],
)
def test_a_file_that_is_not_ours_stays_and_neither_is_written(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    result = run("--write", str(tmp_path), "--repository", REPOSITORY)
    assert result.exit_code == 5
    assert str(tmp_path / name) in result.stderr
    assert "--force" in result.stderr
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [(name, content)]
    assert run("--write", str(tmp_path), "--repository", REPOSITORY, "--force").exit_code == 0
    assert both(tmp_path)["server.json"]["name"] == "io.github.Some-One/agents-room"


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_place_of_a_file_is_never_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    result = run("--write", str(tmp_path), "--force")
    assert result.exit_code == 5
    assert str(tmp_path / name) in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = run("--write", str(tmp_path / "file"))
    assert result.exit_code == 5
    assert f"{tmp_path / 'file'} can't be written to" in result.stderr


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Every longer file fails to be written, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("writable", [0, 1])
def test_when_one_file_can_not_be_written_neither_changes(writable: int, tmp_path: Path) -> None:
    release = release_of(make_registry(Settings(), Machine()), None, "com.example/agents-room")
    sizes = list(write_release(tmp_path, RELEASED.values(), release, force=False).values())
    assert sizes[0] < sizes[1], "so that a limit lets the first through alone"
    before = both(tmp_path)
    other = release_of(release.registry, None, "com.example.others/agents-room")
    with files_up_to(sizes[1] - 1 if writable else 10), pytest.raises(NotWritable) as caught:
        write_release(tmp_path, RELEASED.values(), other, force=False)
    assert os.strerror(errno.EFBIG) in caught.value.message
    assert both(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("unknown",),
        ("tools", "--write", "new"),
        ("server-card", "--repository", REPOSITORY),
        ("ai-catalog", "--name", "com.example/x"),
        ("--force",),
        ("server.json", "--force"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(("Usage:", "Error:"))
    assert list(tmp_path.iterdir()) == []


def test_the_token_of_the_server_stands_in_none(sqlite_store: Store) -> None:
    client = client_of(sqlite_store)
    assert not any(RUNNING.token in json.dumps(served(client, kind)) for kind in SERVED)
