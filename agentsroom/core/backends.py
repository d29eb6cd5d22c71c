"""What differs between SQLite and PostgreSQL below the unit of work: one class each, the same few answers.

How a connection is set up, how a write transaction begins (and that writes come one at a time), how the schema's
version is told, how the event table is guarded, how a backup is made. Two more seams stand
elsewhere: core/wake.py and rooms/search.py.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine, QueuePool, create_engine, event, make_url

from agentsroom.core.errors import AgentsRoomError, StoreBusy, StoreUnavailable
from agentsroom.core.files import whole_file
from agentsroom.core.settings import Settings, make_home

NOTIFY_CHANNEL = "agents_room"

_POOL: dict[str, Any] = {"pool_size": 20, "pool_reset_on_return": None}
"""The unit of work ends each transaction itself."""

Sleep = Callable[[float], None]


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
        """Held around each write transaction; raises StoreBusy, naming the holder, after that time."""
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
    if settings.database_path is not None:
        return SqliteBackend(settings.database_path, settings, sleep)
    return PostgresBackend(settings)


class SqliteBackend:
    """One file in WAL mode. Writers queue on a lock file, fairer than SQLite's own lock under load."""

    def __init__(self, path: Path, settings: Settings, sleep: Sleep) -> None:
        self.path = path
        self._settings = settings
        self._identity: tuple[int, int] | None = None
        self.lock = WriteLock(path.with_name(path.name + ".lock"), sleep)

    def engine(self) -> Engine:
        try:
            make_home(self._settings)
        except OSError as error:
            raise self._unusable(error) from error
        # Without a file in the address the default is a pool that closes connections in use, past its size in threads.
        if not self.path.exists():
            self._create()
        self._identity = self._identity_now()
        engine = create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, isolation_level="AUTOCOMMIT", **_POOL
        )
        event.listen(engine, "connect", self._set_up)
        return engine

    def _connect(self) -> sqlite3.Connection:
        mode = "rw"
        if not os.access(self.path.parent, os.W_OK):
            mode = "ro" if self.path.with_name(self.path.name + "-wal").exists() else "ro&immutable=1"
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self.translate(error) or error from error

    def close(self) -> None:
        self.lock.close()

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
        connection.execute(f"PRAGMA busy_timeout={self._settings.busy_s * 1_000}")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        # without it INSERT OR REPLACE deletes rows unseen by the triggers that guard events
        connection.execute("PRAGMA recursive_triggers=ON")
        connection.execute("PRAGMA foreign_keys=ON")

    def write_lock(self, patience_s: float) -> contextlib.AbstractContextManager[None]:
        return self.lock.held(patience_s)

    def begin_read(self, cursor: Any) -> None:
        cursor.execute("BEGIN")

    def begin_write(self, cursor: Any, _patience_s: float) -> None:
        cursor.execute("BEGIN IMMEDIATE")

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
            return StoreBusy(
                f"The store {self.path} stayed locked for {self._settings.busy_s} s.", retry_after=1
            )
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


class WriteLock:
    """The lock that every writing process of a store takes: `<store>.lock`, which names its last holder.

    Who wants it first takes the turn, `<store>.lock.turn`: so a process that writes without a pause can't take the
    lock again before the one that waits for it. Where the file system knows no flock, SQLite's own busy time-out
    is all there is: `works` is then False, and doctor tells it.
    """

    NEXT_S = 0.0002
    """Between two tries of the one whose turn it is; nobody else tries then."""
    QUEUE_S = 0.002
    """Between two tries to get the turn."""

    def __init__(self, path: Path, sleep: Sleep) -> None:
        self.works = True
        self._lock = LockFile(path)
        self._turn = LockFile(path.with_name(path.name + ".turn"))
        self._sleep = sleep

    def close(self) -> None:
        self._lock.close()
        self._turn.close()

    @contextlib.contextmanager
    def held(self, patience_s: float) -> Iterator[None]:
        """Raises StoreBusy, naming the holder, when it is not to be had in that time."""
        if not self.works:
            yield
            return
        self._acquire(patience_s)
        try:
            yield
        finally:
            if self.works:
                self._lock.release()

    def _acquire(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        try:
            if not self._take(self._turn, self.QUEUE_S, deadline):
                raise self._busy(patience_s)
            try:
                if not self._take(self._lock, self.NEXT_S, deadline):
                    raise self._busy(patience_s)
                self._lock.sign()
            finally:
                self._turn.release()
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            self.works = False

    def _take(self, file: "LockFile", pause_s: float, deadline: float) -> bool:
        while not file.try_take():
            if time.monotonic() >= deadline:
                return False
            self._sleep(pause_s)
        return True

    def _busy(self, patience_s: float) -> StoreBusy:
        holder = self._lock.signature()
        return StoreBusy(
            f"Process {holder} held the store's write lock for {patience_s:g} s; nothing was written.",
            hint="Try again; if it goes on, look at that process.",
            holder=holder,
            retry_after=1,
        )


class LockFile:
    """A file to flock: opened after any fork (one descriptor a process), never unlinked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._opened_by = -1

    def try_take(self) -> bool:
        """Whether the lock was free and is ours now. Raises StoreUnavailable, or OSError where flock is unknown."""
        try:
            fcntl.flock(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def sign(self) -> None:
        """Writes the holder's process id into the file; on a full disk it stays unsigned."""
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, b"%-20d\n" % os.getpid(), 0)

    def signature(self) -> str:
        """The process id of the last holder."""
        return os.pread(self._open(), 32, 0).decode(errors="replace").strip() or "unknown"

    def close(self) -> None:
        """Gives the descriptor back; the next use opens the file again."""
        if self._opened_by == os.getpid():
            os.close(self._descriptor)
        self._opened_by = -1

    def _open(self) -> int:
        if self._opened_by != os.getpid():
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreUnavailable(
                    f"The store's lock file {self._path} can't be opened: {error.strerror}.",
                    hint="Reads go on; give this user the right to write to the folder.",
                    retry_after=10,
                ) from error
            self._opened_by = os.getpid()
        return self._descriptor


class PostgresBackend:
    """A PostgreSQL database; an advisory lock makes write transactions, and so event ids, come in commit order."""

    LOCK_KEY = 0x6167_726D  # "agrm": any number of our own

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def engine(self) -> Engine:
        return create_engine(
            self._settings.database_url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, **_POOL
        )

    def close(self) -> None:
        pass

    def check_in_place(self) -> None:
        pass  # a server keeps its databases

    def write_lock(self, _patience_s: float) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()  # begin_write waits

    def begin_read(self, cursor: Any) -> None:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def begin_write(self, cursor: Any, patience_s: float) -> None:
        cursor.execute("BEGIN")
        cursor.execute(f"SET LOCAL lock_timeout = {max(1, round(patience_s * 1_000))}")
        cursor.execute(f"SELECT pg_advisory_xact_lock({self.LOCK_KEY})")

    def announce(self, cursor: Any) -> None:
        cursor.execute(f"NOTIFY {NOTIFY_CHANNEL}")

    def schema_version(self, cursor: Any) -> int:
        if cursor.execute("SELECT to_regclass('schema_version')").fetchone()[0] is None:
            return 0
        return int(cursor.execute("SELECT version FROM schema_version").fetchone()[0])

    def set_schema_version(self, cursor: Any, version: int) -> None:
        cursor.execute("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)")
        cursor.execute("DELETE FROM schema_version")
        cursor.execute("INSERT INTO schema_version VALUES (%s)", (version,))

    def guard_events(self, cursor: Any) -> None:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION events_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$"
        )
        cursor.execute(
            "CREATE OR REPLACE TRIGGER events_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
            "FOR EACH STATEMENT EXECUTE FUNCTION events_refuse()"
        )

    def unguard_events(self, cursor: Any) -> None:
        cursor.execute("DROP TRIGGER IF EXISTS events_refuse ON events")

    def backup(self, target: Path) -> None:
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreUnavailable("pg_dump is not on the PATH; it makes the backup of a PostgreSQL store.")
        url = make_url(self._settings.database_url).set(drivername="postgresql")
        environment = {**os.environ, "PGPASSWORD": url.password or ""}  # a command line is seen by every user
        address = url.set(password=None).render_as_string()
        with whole_file(target) as partial:
            command = [program, "--format=custom", f"--file={partial}", address]
            made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise StoreUnavailable(f"pg_dump made no backup: {made.stderr.strip()}")

    def translate(self, error: Exception) -> AgentsRoomError | None:
        store = self._settings.store_name
        if isinstance(error, ImportError):
            text = f"The store {store} needs psycopg, which is not installed."
            return StoreUnavailable(text, hint="pip install 'agents-room[postgres]'")
        if not hasattr(error, "sqlstate"):
            return None  # none of the driver's
        state = error.sqlstate
        if state == "55P03":
            return StoreBusy(f"The store {store} stayed locked by another process.", retry_after=1)
        if state is None or state[:2] in ("08", "53", "57") or state == "25006":  # None: no answer at all
            return StoreUnavailable(
                f"The store {store} can't be reached or written now: {error}", retry_after=5
            )
        return None
