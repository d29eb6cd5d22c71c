"""Where a server's writes run: on the hub while nothing keeps them waiting, else on a native thread of their own.

For a process whose standard library is patched by gevent. A write takes less than a millisecond, and handing it to
another thread costs more than that; but one that waits for a lock or for the disk would stop every stream.
"""

from typing import Any

from gevent.event import Event
from gevent.threadpool import ThreadPool

from agentsroom.core.backends import Backend
from agentsroom.core.database import Unit
from agentsroom.core.errors import StoreBusy


class Writer:
    """Runs the writes of a Database (its `run`), one after another."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._thread = ThreadPool(1)
        self._is_idle = Event()
        """Whether the thread is; nobody writes on the hub meanwhile, and who waited is served in turn."""
        self._is_idle.set()

    def __call__(self, unit: Unit) -> Any:
        while not self._is_idle.is_set():
            self._is_idle.wait()
        if self._backend.commits_at_once():
            try:
                return unit(may_wait=False)
            except StoreBusy:  # another process writes
                pass
        self._is_idle.clear()
        try:
            return self._hand_over(unit)
        finally:
            self._is_idle.set()

    def _hand_over(self, unit: Unit) -> Any:
        """Runs the unit on the native thread while other greenlets go on; raises what it raises."""

        def act() -> tuple[Any, BaseException | None]:
            try:
                return unit(may_wait=True), None
            except BaseException as error:  # gevent would print it there; the caller raises it again
                return None, error

        result, error = self._thread.apply(act)
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        self._thread.kill()
