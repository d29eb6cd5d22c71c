"""Many processes of one store: forked from this one after its imports, so that a hundred start in a second."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkContext, ForkProcess
from typing import Any

import msgspec

from agentsroom.core.principals import LocalProcess, Principal, this_process
from agentsroom.core.settings import Settings
from agentsroom.runtime import Runtime

FORK: ForkContext = multiprocessing.get_context("fork")
PATIENCE_S = 60.0


class Agent:
    """One process's session, on a runtime of its own."""

    def __init__(self, settings: Settings, label: str) -> None:
        self.runtime = Runtime(settings)
        here = this_process()
        process = LocalProcess({}, os.getpid(), settings.home, here.host)
        self.caller = Principal("local", "home", "default", process)
        self.id: str = self("room_join", label=label)["session_id"]

    def __call__(self, tool: str, **arguments: Any) -> Any:
        """The tool's answer as JSON values; the session is given unless it joins."""
        given = arguments if tool == "room_join" else {"session_id": self.id, **arguments}
        result = self.runtime.call(tool, msgspec.json.encode(given), self.caller)
        return msgspec.to_builtins(result)


@contextmanager
def running(count: int, act: Callable[..., None], *arguments: Any) -> Iterator[list[ForkProcess]]:
    """`count` processes that run `act(number, *arguments)`; none of them outlives the block."""
    processes = [FORK.Process(target=act, args=(number, *arguments)) for number in range(count)]
    for process in processes:
        process.start()
    try:
        yield processes
    finally:
        for process in processes:
            if process.is_alive():
                os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
            process.close()
