"""`agents-room doctor`: what it finds, and that each fix is one."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentsroom.cli import cli
from agentsroom.core.settings import Settings
from tests.support.stores import opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def made(home: Path) -> None:
    """Makes the store."""
    with opened(Settings(home=str(home)), home) as store:
        store.join()


def findings(home: Path, what: str, **variables: str) -> list[dict[str, Any]]:
    """What doctor says about one thing; its exit code agrees."""
    done = CliRunner().invoke(
        cli, ["doctor", "--json"], env={"AGENTS_ROOM_HOME": str(home), **variables}, catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert done.exit_code == (5 if any(one["state"] == "fault" for one in found) else 0)
    return [one for one in found if one["what"] == what]


def test_a_home_that_is_not_there_yet_is_made_by_the_first_command(home: Path) -> None:
    [store] = findings(home, "store")
    assert (store["state"], store["fix"]) == ("hint", "agents-room join")
    assert not home.exists()


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/agents-room", "link"])
def test_a_home_that_can_not_be_made_is_a_fault(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.iterdir())
    [store] = findings(tmp_path / place, "store")
    assert store["state"] == "fault"
    assert str(tmp_path / place) in store["finding"]
    assert "AGENTS_ROOM_HOME" in store["fix"]
    assert sorted(tmp_path.iterdir()) == before


def test_a_damaged_store_has_another_fix_than_doctor(home: Path) -> None:
    home.mkdir()
    (home / "room.db").write_bytes(b"no database" * 1_000)
    [store] = findings(home, "store")
    assert store["state"] == "fault"
    assert "backup" in store["fix"]
    assert "doctor" not in store["fix"]


@pytest.mark.parametrize(
    ("variable", "words"), [("AGENTS_ROOM_AGENT", "No agent"), ("AGENTS_ROOM_TEAM", "No team")]
)
def test_an_agent_or_team_of_nobody_is_a_fault(home: Path, variable: str, words: str) -> None:
    made(home)
    assert findings(home, "agent") == []
    [agent] = findings(home, "agent", **{variable: "ghost"})
    assert agent["state"] == "fault"
    assert f"{variable}=ghost" in agent["finding"]
    assert words in agent["finding"]
    assert agent["fix"]


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("AGENTS_ROOM_PROT", "set AGENTS_ROOM_PORT instead"),
        ("AGENTS_ROOM_COLOUR", "unset AGENTS_ROOM_COLOUR"),
    ],
)
def test_a_variable_that_is_no_setting_is_a_fault(home: Path, name: str, fix: str) -> None:
    faults = findings(home, "settings", **{name: "1"})
    assert fix in [one["fix"] for one in faults]
