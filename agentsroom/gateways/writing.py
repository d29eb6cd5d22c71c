"""Where a server's writes run: on the hub while nothing keeps them waiting, else on a native thread of their own.

For a process whose standard library is patched by gevent. A write takes less than a millisecond, and handing it to
another thread costs more than that; but one that waits for a lock or for the disk would stop every stream.
"""

import time
from typing import Any

from gevent.lock import BoundedSemaphore
from gevent.threadpool import ThreadPool

from agentsroom.core.backends import Backend
from agentsroom.core.database import Unit, busy_with_own_calls
from agentsroom.core.errors import StoreBusy


class Writer:
    """Runs the writes of a Database (its `run`), one after another, in the order in which they came."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._thread = ThreadPool(1)
        self._turn = BoundedSemaphore()
        """Whose write runs has it; it wakes one that waits, not all of them."""

    def __call__(self, unit: Unit, deadline: float) -> Any:
        """Raises StoreBusy where the turn does not come in time, and what the unit raises."""
        if not self._turn.acquire(timeout=max(0, deadline - time.monotonic())):
            raise busy_with_own_calls()
        try:
            return self._run(unit)
        finally:
            self._turn.release()

    def _run(self, unit: Unit) -> Any:
        if self._backend.commits_at_once():
            try:
                return unit(may_wait=False)
            except StoreBusy:  # another process writes
                pass
        return self._hand_over(unit)

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
