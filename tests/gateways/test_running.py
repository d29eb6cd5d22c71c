"""How this program is called from a shell, and which store a line for a shell means."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsroom.core.settings import Settings
from agentsroom.gateways.running import own_command, shell_line, variables_of

OURS = Path(sys.executable).with_name("agents-room")


def test_it_is_called_by_its_path_where_no_shell_would_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert own_command() == shlex.quote(str(OURS))


def test_it_is_called_by_its_path_where_only_an_activated_environment_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", str(OURS.parent))
    assert own_command() == shlex.quote(str(OURS))


def test_it_is_called_by_its_path_where_the_name_is_anothers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "agents-room"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command() == shlex.quote(str(OURS))


def test_it_is_called_by_its_name_where_every_shell_finds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "agents-room").symlink_to(OURS)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command() == "agents-room"


@pytest.mark.parametrize(
    ("changes", "variables"),
    [
        ({}, {}),
        ({"home": "/some where"}, {"AGENTS_ROOM_HOME": "/some where"}),
        ({"db": "/a/b.db"}, {"AGENTS_ROOM_DB": "/a/b.db"}),
        ({"db": "postgresql+psycopg://me:secret@host/db"}, {}),
    ],
)
def test_a_line_for_a_shell_means_the_same_store(changes: dict[str, Any], variables: dict[str, str]) -> None:
    settings = Settings(**changes)
    assert variables_of(settings) == variables
    words = shlex.split(shell_line(settings, "agent", "key", "a b"))
    assert words[: len(variables)] == [f"{name}={text}" for name, text in variables.items()]
    assert words[-3:] == ["agent", "key", "a b"]
