"""The store as one SQLite file in WAL mode (core/backends.py says what it answers)."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, QueuePool, create_engine, event

from agentsroom.core.backends import POOL
from agentsroom.core.errors import AgentsRoomError, StoreBusy, StoreUnavailable
from agentsroom.core.files import whole_file
from agentsroom.core.lockfile import Sleep, WriteLock
from agentsroom.core.settings import Settings, make_home

WAL_PAGES = 4_000
"""A write-ahead log of about 16 MB before it goes into the file: a send dirties a dozen pages, mostly the same ones."""
_MOST_OF_A_WRITE = 200
"""Pages that an ordinary write adds to the log at most."""


class _Connection(sqlite3.Connection):
    """One that knows whether its commits checkpoint a full log."""

    checkpoints = True


class SqliteBackend:
    """One file in WAL mode. Writers queue on a lock file, fairer than SQLite's own lock under load."""

    def __init__(self, path: Path, settings: Settings, sleep: Sleep) -> None:
        self.path = path
        self._log = _Log(f"{path}-wal")
        self._settings = settings
        self._busy_ms = settings.busy_s * 1_000
        self._identity: tuple[int, int] | None = None
        self.lock = WriteLock(path.with_name(path.name + ".lock"), sleep)

    def engine(self) -> Engine:
        make_home(self._settings)
        # Without a file in the address the default is a pool that closes connections in use, past its size in threads.
        if not self.path.exists():
            self._create()
        self._identity = self._identity_now()
        engine = create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, isolation_level="AUTOCOMMIT", **POOL
        )
        event.listen(engine, "connect", self._set_up)
        return engine

    def _connect(self) -> sqlite3.Connection:
        mode = "rw"
        if not os.access(self.path.parent, os.W_OK):
            mode = "ro" if self.path.with_name(self.path.name + "-wal").exists() else "ro&immutable=1"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            return sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False, factory=_Connection
            )
        except sqlite3.Error as error:
            raise self.translate(error) or error from error

    def close(self) -> None:
        self.lock.close()
        self._log.close()

    def check_in_place(self) -> None:
        if self._identity_now() != self._identity:
            raise StoreUnavailable(
                f"The store {self.path} was removed or replaced while this process had it open.",
                hint="Restart this process; what stands at that path now is another store.",
            )

    def _identity_now(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _create(self) -> None:
        """An empty file for its owner alone; -wal and -shm take its rights."""
        try:
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StoreUnavailable:
        text = f"The store {self.path} can't be made: {error.strerror} ({error.filename})."
        return StoreUnavailable(
            text, hint="AGENTS_ROOM_HOME names the folder where it stands.", retry_after=10
        )

    def _set_up(self, connection: sqlite3.Connection, _record: object) -> None:
        synchronous = "FULL" if self._settings.sync == "full" else "NORMAL"
        connection.execute(f"PRAGMA busy_timeout={self._busy_ms}")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        # without it INSERT OR REPLACE deletes rows unseen by the triggers that guard events
        connection.execute("PRAGMA recursive_triggers=ON")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")

    def write_lock(self, patience_s: float) -> contextlib.AbstractContextManager[None]:
        return self.lock.held(patience_s)

    def give_up(self) -> None:
        self.lock.is_given_up = True

    def commits_at_once(self) -> bool:
        """Neither fsync at each commit, nor the checkpoint of a full log, nor the fsync with which one begins anew."""
        return self.lock.works and self._settings.sync != "full" and self._log.has_room()

    def begin_read(self, cursor: Any) -> None:
        cursor.execute("BEGIN")

    def begin_write(self, cursor: Any, patience_s: float) -> None:
        """Who may not wait leaves the checkpoint to a later write, however much this one adds to the log."""
        checkpoints = patience_s > 0
        if cursor.connection.checkpoints is not checkpoints:
            cursor.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES if checkpoints else 0}")
            cursor.connection.checkpoints = checkpoints
        if patience_s > self._settings.busy_s - 1:  # what the connection waits anyway
            cursor.execute("BEGIN IMMEDIATE")
            return
        # No lock file keeps a program of others away.
        cursor.execute(f"PRAGMA busy_timeout={round(patience_s * 1_000)}")
        try:
            cursor.execute("BEGIN IMMEDIATE")
        finally:
            cursor.execute(f"PRAGMA busy_timeout={self._busy_ms}")

    def announce(self, cursor: Any) -> None:
        pass  # the datagram goes out after the commit (core/wake.py)

    def schema_version(self, cursor: Any) -> int:
        return int(cursor.execute("PRAGMA user_version").fetchone()[0])

    def set_schema_version(self, cursor: Any, version: int) -> None:
        cursor.execute(f"PRAGMA user_version={version:d}")

    def guard_events(self, cursor: Any) -> None:
        for act in ("UPDATE", "DELETE"):
            cursor.execute(
                f"CREATE TRIGGER IF NOT EXISTS events_refuse_{act.lower()} BEFORE {act} ON events "
                "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
            )

    def unguard_events(self, cursor: Any) -> None:
        for act in ("update", "delete"):
            cursor.execute(f"DROP TRIGGER IF EXISTS events_refuse_{act}")

    def backup(self, target: Path) -> None:
        with (
            whole_file(target) as partial,
            contextlib.closing(self._connect()) as source,
            contextlib.closing(sqlite3.connect(partial)) as copy,
        ):
            source.backup(copy)

    def translate(self, error: Exception) -> AgentsRoomError | None:
        if not isinstance(error, sqlite3.Error):
            return None
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreBusy(f"Another program has the store {self.path} locked.", retry_after=1)
        if reason := _sqlite_trouble(name, error):
            return StoreUnavailable(
                f"The store {self.path} {reason}.", hint="agents-room doctor", retry_after=10
            )
        return None


def _sqlite_trouble(name: str, error: Exception) -> str | None:
    if name == "SQLITE_FULL":
        return "could not be written: the disk is full"
    if name.startswith("SQLITE_READONLY"):
        return "can be read, not written: it or its folder is read-only"
    if name.startswith("SQLITE_CANTOPEN"):
        return "can't be opened: is its folder there, and may this user write to it?"
    if name.startswith("SQLITE_IOERR"):
        return f"could not be read or written: the disk answered with an error ({name})"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is damaged ({error}); restore a backup of it"
    return None


class _Log:
    """The write-ahead log of a store, as far as its file tells (sqlite.org/fileformat2.html, 4.1).

    The index beside it tells more, but whoever closes that file takes away the locks that SQLite has on it.
    """

    _HEAD, _FRAME = 32, 24

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def has_room(self) -> bool:
        """Whether it has begun, and an ordinary write does not fill it: a place near its end is none of this log's yet."""
        try:
            if self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink == 0:
                self.close()  # SQLite removed it with the store's last connection
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            head = os.pread(self._descriptor, self._HEAD, 0)
            page_bytes = int.from_bytes(head[8:12])
            place = self._HEAD + (WAL_PAGES - _MOST_OF_A_WRITE) * (self._FRAME + page_bytes)
            frame = os.pread(self._descriptor, self._FRAME, place)
        except OSError:
            return False
        salts = head[16:24]  # which each log has of its own
        return len(head) == self._HEAD and frame[8:16] != salts

    def close(self) -> None:
        """The next look opens the file again."""
        descriptor, self._descriptor = (
            self._descriptor,
            -1,
        )  # else two threads might close what is another's by then
        if descriptor >= 0:
            os.close(descriptor)
