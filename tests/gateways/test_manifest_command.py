"""`agents-room manifest`: the list, and the files that it writes."""

import contextlib
import errno
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsroom.core.errors import NotWritable
from agentsroom.core.settings import Settings
from agentsroom.gateways.manifest import overview
from agentsroom.gateways.manifest.files import write_release
from agentsroom.gateways.manifest.released import RELEASED, release_of
from agentsroom.rooms.machine import Machine
from agentsroom.runtime import make_registry
from tests.support.manifests import REPOSITORY, ask, client_of, printed, run
from tests.support.stores import Json, Store

FILES = ["server.json", "manifest.json"]


def both(folder: Path) -> dict[str, Json]:
    """What the two files hold; nothing else is in the folder."""
    assert sorted(one.name for one in folder.iterdir()) == sorted(FILES)
    return {name: json.loads((folder / name).read_bytes()) for name in FILES}


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
