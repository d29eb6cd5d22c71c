"""What differs between SQLite and PostgreSQL below the unit of work: what each of the two classes answers.

How a connection is set up, how a write transaction begins (and that writes come one at a time), how the schema's
version is told, how the event table is guarded, how a backup is made. Two more seams stand elsewhere: core/wake.py
and rooms/search.py.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine

from agentsroom.core.errors import AgentsRoomError
from agentsroom.core.lockfile import Sleep
from agentsroom.core.settings import Settings

POOL: dict[str, Any] = {"pool_size": 20, "pool_use_lifo": True, "pool_reset_on_return": None}
"""Of every engine: the unit of work ends each transaction itself."""


class Backend(Protocol):
    """One kind of database."""

    def engine(self) -> Engine:
        """An engine whose connections are in autocommit: the unit of work says BEGIN and COMMIT itself."""
        ...

    def close(self) -> None:
        """Gives back what it holds besides the engine."""
        ...

    def check_in_place(self) -> None:
        """Raises StoreUnavailable when what is open is not what stands at the store's address any more."""
        ...

    def write_lock(self, patience_s: float, /) -> contextlib.AbstractContextManager[None]:
        """Held around each write transaction; raises StoreBusy, naming the holder, after that time, 0 s included."""
        ...

    def give_up(self) -> None:
        """The process ends: who waits for the write lock, or will, gets StoreBusy at once."""
        ...

    def commits_at_once(self) -> bool:
        """Whether a commit that comes now waits for no disk and no other machine."""
        ...

    def begin_read(self, cursor: Any) -> None:
        """Opens a transaction whose queries all see the same moment."""
        ...

    def begin_write(self, cursor: Any, patience_s: float, /) -> None:
        """Opens a transaction that no other write overlaps."""
        ...

    def announce(self, cursor: Any) -> None:
        """Wakes the other processes with the commit, where the database itself can."""
        ...

    def schema_version(self, cursor: Any) -> int:
        """The number of the newest migration that ran; 0 for an empty store."""
        ...

    def set_schema_version(self, cursor: Any, version: int) -> None: ...

    def guard_events(self, cursor: Any) -> None:
        """Makes the database refuse UPDATE, DELETE and REPLACE on events."""
        ...

    def unguard_events(self, cursor: Any) -> None:
        """Lifts the guard until guard_events, inside the same transaction."""
        ...

    def backup(self, target: Path) -> None:
        """Copies the store, whole and consistent, while others go on writing."""
        ...

    def translate(self, error: Exception) -> AgentsRoomError | None:
        """Our error for one of the driver's that a caller can act on."""
        ...


def backend_for(settings: Settings, sleep: Sleep = time.sleep) -> Backend:
    """The backend of the settings' store; `sleep` waits for the write lock without a gevent hub."""
    from agentsroom.core.postgres import PostgresBackend
    from agentsroom.core.sqlite import SqliteBackend

    if settings.database_path is not None:
        return SqliteBackend(settings.database_path, settings, sleep)
    return PostgresBackend(settings)
