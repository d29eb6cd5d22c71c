"""`agents-room agent create` and `agent key`: the key as text, as JSON, and alone for a variable."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agentsroom.access import service as access
from agentsroom.cli import cli
from agentsroom.core.errors import Unauthenticated
from agentsroom.core.settings import Settings
from agentsroom.rooms.errors import SessionLeft
from tests.support.stores import opened


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["agent", *arguments], env={"AGENTS_ROOM_HOME": str(home)})


def keys_that_work(home: Path, *keys: str) -> list[bool]:

    def works(key: str) -> bool:
        try:
            store.runtime.database.read(lambda work: access.agent_of_key(work, key))
        except Unauthenticated:
            return False
        return True

    with opened(Settings(home=str(home)), home) as store:
        return [works(key) for key in keys]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_key_is_printed_as_a_line_for_a_shell(home: Path) -> None:
    created = run(home, "create", "mara")
    assert created.exit_code == 0, created.output
    [line] = [line for line in created.stdout.splitlines() if line.startswith("  ")]
    assert line.startswith("  export AGENTS_ROOM_KEY=agt_")


@pytest.mark.parametrize("words", [("create", "mara"), ("key", "default")])
def test_a_key_can_be_had_alone_and_as_json(home: Path, words: tuple[str, str]) -> None:
    alone = run(home, *words, "--get", "key").stdout.removesuffix("\n")
    told = json.loads(run(home, "key", words[1], "--json").stdout)
    assert (
        told["agent_id"]
        == words[1]
        == run(home, "key", words[1], "--json", "--get", "agent_id").stdout.strip()
    )
    assert alone.startswith("agt_")
    last = run(home, "key", words[1], "--get", "key").stdout.strip()
    assert keys_that_work(home, alone, told["key"], last) == [False, False, True]


def test_a_key_of_one_agent_ends_none_of_another(home: Path) -> None:
    first = run(home, "key", "default", "--get", "key").stdout.strip()
    second = run(home, "create", "mara", "--get", "key").stdout.strip()
    assert keys_that_work(home, first, second) == [True, True]


def test_an_id_that_is_in_use_is_told_with_the_way_to_its_new_key(home: Path) -> None:
    refused = run(home, "create", "default", "--get", "key")
    assert (refused.exit_code, refused.stdout) == (5, "")
    assert "agents-room agent key ID" in refused.stderr


def test_a_deleted_agent_s_sessions_leave_and_its_id_is_told_to_be_used_up(home: Path) -> None:
    run(home, "create", "mara")
    with opened(Settings(home=str(home)), home) as store:
        seat = store.join(store.agent("mara"), room="front")
        deleted = run(home, "delete", "mara", "--yes")
        assert "sessions have left" in deleted.stdout
        with pytest.raises(SessionLeft):
            seat("msg_unread")
    assert "never given again" in run(home, "create", "mara").stderr
