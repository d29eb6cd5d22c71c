"""A runtime that is loaded behind the first answer."""

import signal
import threading
from pathlib import Path

import pytest

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.settings import Settings
from agentsroom.gateways.lazy_runtime import ENDING, LazyRuntime, without


def loaded(home: Path, agent: str = "default") -> LazyRuntime:
    lazy = LazyRuntime(Settings(home=str(home), agent=agent))
    lazy.load()
    lazy.load()
    return lazy


def test_it_is_loaded_once_and_knows_its_tools(tmp_path: Path) -> None:
    lazy = loaded(tmp_path)
    assert lazy.runtime is lazy.runtime
    names = [tool and tool.name for tool in map(lazy.tool, ("msg_wait", "no_such_tool"))]
    assert names == ["msg_wait", None]
    assert lazy.caller() is lazy.caller()
    assert lazy.caller().kind == "local"
    lazy.close()


def test_what_keeps_it_from_being_opened_is_told_when_it_is_needed(tmp_path: Path) -> None:
    lazy = loaded(tmp_path, agent="nobody")
    with pytest.raises(AgentsRoomError):
        lazy.caller()
    lazy.close()


def test_what_was_never_loaded_is_closed_at_once(tmp_path: Path) -> None:
    LazyRuntime(Settings(home=str(tmp_path))).close()
    assert list(tmp_path.iterdir()) == []


def test_a_thread_that_starts_there_leaves_signals_to_the_main_thread() -> None:
    blocked: list[set[int]] = []
    thread = threading.Thread(target=lambda: blocked.append(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    with without(ENDING):
        thread.start()
    thread.join()
    assert set(ENDING) <= blocked[0]
    assert not set(ENDING) & signal.pthread_sigmask(signal.SIG_BLOCK, ())
