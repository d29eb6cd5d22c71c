"""A runtime that is imported behind the first answer, since that takes longer than a harness likes to wait."""

import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from agentsroom.core.errors import UnknownTool
from agentsroom.core.principals import Principal, this_process
from agentsroom.core.settings import Settings

if TYPE_CHECKING:
    from agentsroom.core.tools import Tool
    from agentsroom.runtime import Runtime

ENDING = (signal.SIGTERM, signal.SIGINT)
"""The signals that end a stdio server."""


class LazyRuntime:
    """The runtime and who we are; the main thread lets it `load`, any other one waits for it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loader = ThreadPoolExecutor(1, "load")
        self._loading: Future[Runtime] | None = None
        self._caller: Principal | None = None
        self._guard = threading.Lock()

    def load(self) -> None:
        """Begins to import the runtime, once."""
        if self._loading is None:
            with without(ENDING):
                self._loading = self._loader.submit(self._make_runtime)

    def _make_runtime(self) -> "Runtime":
        from agentsroom.runtime import Runtime

        return Runtime(self._settings)

    @property
    def runtime(self) -> "Runtime":
        assert self._loading is not None
        return self._loading.result()

    def tool(self, name: str) -> "Tool | None":
        """None also where nothing tells: calling it will say what is wrong."""
        assert self._loading is not None
        if self._loading.exception() is None:
            with suppress(UnknownTool):
                return self.runtime.registry.get(name)
        return None

    def caller(self) -> Principal:
        """Raises NotFound or Conflict, and what keeps the store from being opened."""
        with self._guard:
            if self._caller is None:
                self._caller = self.runtime.local_principal(this_process())
            return self._caller

    def close(self) -> None:
        if self._loading is not None and self._loading.done() and self._loading.exception() is None:
            self.runtime.close()


@contextmanager
def without(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Around the start of a thread, which inherits it: a signal must reach the main thread, to break off what it waits for."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
