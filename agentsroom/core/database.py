"""The store of a home and its units of work: whoever changes or reads something does it inside one of them.

Only a unit of work begins and commits. A write runs whole inside one immediate transaction, publishes its events
after the commit, and never spans a wait.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, bindparam, insert

from agentsroom.core.backends import Backend, backend_for
from agentsroom.core.clock import Clock, SystemClock
from agentsroom.core.errors import AgentsRoomError, Conflict, StoreBusy, StoreTooNew, StoreUpgraded
from agentsroom.core.ids import Ids, random_session_id
from agentsroom.core.models import Event
from agentsroom.core.query import Query
from agentsroom.core.settings import Settings

T = TypeVar("T")


class Unit(Protocol):
    """A whole write. Without leave to wait it raises StoreBusy at once where another process writes."""

    def __call__(self, *, may_wait: bool) -> Any: ...


Run = Callable[[Unit, float], Any]
"""Runs a write to its end and gives its result, on whichever thread.

Others' writes are waited for until that `time.monotonic()`; then it raises StoreBusy.
"""

_MOMENT_S = 0.001
"""For so long whoever may wait does, also when the deadline is over."""
SCHEMA_VERSION = 4
"""The newest migration in core/migrations/versions."""

_INSERT_EVENT = Query(
    insert(Event)
    .values(at=bindparam("at"), kind=bindparam("kind"), team_id=bindparam("team_id"), data=bindparam("data"))
    .returning(Event.id)
)


class Reading:
    """A unit of work that only reads; every query in it sees the same moment of the store."""

    def __init__(self, connection: Connection, now: int, settings: Settings) -> None:
        self.now = now
        self.settings = settings
        self._dialect = connection.dialect
        self._cursor: Any = connection.connection.cursor()

    @property
    def dialect_name(self) -> str:
        """`sqlite` or `postgresql`, for the seams."""
        return self._dialect.name

    @property
    def cursor(self) -> Any:
        """The driver's cursor, for the seams alone (transactions, the guard, full-text search)."""
        return self._cursor

    def rows(self, query: Query, **given: Any) -> list[tuple[Any, ...]]:
        """Every row of the answer."""
        sql, parameters = query.on(self._dialect, given)
        self._cursor.execute(sql, parameters)
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def row(self, query: Query, **given: Any) -> tuple[Any, ...] | None:
        """The first row of the answer, or None when there is none."""
        sql, parameters = query.on(self._dialect, given)
        self._cursor.execute(sql, parameters)
        row: tuple[Any, ...] | None = self._cursor.fetchone()
        return row

    def value(self, query: Query, **given: Any) -> Any:
        """The one value of an answer that always has a row, such as a count."""
        row = self.row(query, **given)
        assert row is not None
        return row[0]


class Writing(Reading):
    """A unit of work that changes the store; events emitted in it are published after its commit."""

    def __init__(self, connection: Connection, now: int, settings: Settings, ids: Ids) -> None:
        super().__init__(connection, now, settings)
        self.new_session_id = ids
        self.last_event: int | None = None

    def run(self, query: Query, **given: Any) -> int:
        """Executes a change; how many rows it touched."""
        sql, parameters = query.on(self._dialect, given)
        self._cursor.execute(sql, parameters)
        return int(self._cursor.rowcount)

    def run_each(self, query: Query, given: list[dict[str, Any]]) -> None:
        """Executes a change once for each of `given`."""
        bound = [query.on(self._dialect, one) for one in given]
        if bound:
            self._cursor.executemany(bound[0][0], [parameters for _, parameters in bound])

    def emit(self, kind: str, team_id: str, **data: Any) -> int:
        """Appends an event to the feed; its id."""
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        row = self.row(_INSERT_EVENT, at=self.now, kind=kind, team_id=team_id, data=text)
        assert row is not None
        self.last_event = int(row[0])
        return self.last_event


class Database:
    """The store, opened and at the schema of this release.

    `publish` is called after each commit that emitted events.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        ids: Ids = random_session_id,
        backend: Backend | None = None,
        run: Run | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock or SystemClock()
        self.backend = backend or backend_for(settings)
        self.publish: Callable[[], None] = lambda: None
        self._ids = ids
        self._run: Run = run or _run_here
        self._one_writer = threading.Lock()
        self._opening = threading.Lock()
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """The engine of a store whose schema is this release's; opens (and migrates) it the first time.

        Raises StoreTooNew, StoreBusy or StoreUnavailable.
        """
        with self._opening:  # several threads may be the first
            if self._engine is None:
                self._engine = self._open()
            else:
                self.backend.check_in_place()
            return self._engine

    def _open(self) -> Engine:
        with self._translated():
            engine = self.backend.engine()
            try:
                self._bring_up_to_date(engine)
            except BaseException:
                engine.dispose()
                raise
            return engine

    def _bring_up_to_date(self, engine: Engine) -> None:
        with engine.connect() as connection:
            version = self.backend.schema_version(connection.connection.cursor())
        if version > SCHEMA_VERSION:
            raise StoreTooNew(
                f"The store {self.settings.store_name} has schema {version}; this release knows {SCHEMA_VERSION}.",
                hint="Use the newer agents-room, or restore the backup that it made before it upgraded the store.",
            )
        if version < SCHEMA_VERSION:
            from agentsroom.core.migrate import migrate  # Alembic takes long to import and is seldom needed

            migrate(engine, self.backend, self.settings.busy_s)

    def read(self, act: Callable[[Reading], T]) -> T:
        """What `act` answers inside one reading unit of work."""
        with self._translated(), self.engine.connect() as connection:
            work = Reading(connection, self.clock.now(), self.settings)
            self.backend.begin_read(work.cursor)
            try:
                return act(work)
            finally:
                work.cursor.execute("ROLLBACK")

    def glance(self, act: Callable[[Reading], T]) -> T:
        """What `act` answers from one query alone, which needs no transaction around it."""
        with self._translated(), self.engine.connect() as connection:
            return act(Reading(connection, self.clock.now(), self.settings))

    def write(self, act: Callable[[Writing], T], *, patience_s: float | None = None) -> T:
        """What `act` answers inside one writing unit of work; commits when it ends well, else nothing happened.

        Waits for the others' writes for `patience_s`, or as long as AGENTS_ROOM_BUSY_S says; then StoreBusy.
        """
        engine = self.engine
        deadline = time.monotonic() + (patience_s or self.settings.busy_s)

        def unit(*, may_wait: bool) -> tuple[T, int | None]:
            def left() -> float:
                return max(_MOMENT_S, deadline - time.monotonic()) if may_wait else 0

            with self._my_turn(left()), self._translated(), self.backend.write_lock(left()):
                return self._write(engine, act, left())

        result, last_event = self._run(unit, deadline)
        if last_event is not None:
            self.publish()
        answer: T = result
        return answer

    @contextlib.contextmanager
    def _my_turn(self, patience_s: float) -> Iterator[None]:
        """One write of this process at a time. Raises StoreBusy after that time."""
        if not self._one_writer.acquire(timeout=patience_s):
            raise busy_with_own_calls()
        try:
            yield
        finally:
            self._one_writer.release()

    def _write(self, engine: Engine, act: Callable[[Writing], T], patience_s: float) -> tuple[T, int | None]:
        with engine.connect() as connection:
            work = Writing(connection, self.clock.now(), self.settings, self._ids)
            try:
                self.backend.begin_write(work.cursor, patience_s)
                if self.backend.schema_version(work.cursor) != SCHEMA_VERSION:
                    raise StoreUpgraded(
                        "The store was upgraded while this process ran: restart me.",
                        hint="Restart this process with the newer agents-room.",
                    )
                result = act(work)
                if work.last_event is not None:
                    self.backend.announce(work.cursor)
                work.cursor.execute("COMMIT")
            except BaseException:
                self._roll_back(connection, work)
                raise
            return result, work.last_event

    def _roll_back(self, connection: Connection, work: Writing) -> None:
        try:
            work.cursor.execute("ROLLBACK")
        except connection.dialect.loaded_dbapi.Error:  # none was open, or the connection is dead
            connection.invalidate()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AgentsRoomError:
            raise
        except Exception as error:
            ours = self.backend.translate(getattr(error, "orig", None) or error)
            if ours is None:
                raise
            raise ours from error

    def check(self) -> str:
        """`ok`, or what the database says is damaged (SQLite's quick_check)."""
        if self.settings.database_path is None:
            return "ok"
        with self._translated(), self.engine.connect() as connection:
            return str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())

    def backup(self, target: Path) -> int:
        """Copies the store, whole, to a file of its owner alone; the copy's size in bytes."""
        _ = self.engine
        store = self.settings.database_path
        if store is not None and target.exists() and target.samefile(store):
            raise Conflict(f"{target} is the store itself.")
        with self._translated():
            self.backend.backup(target)
        return target.stat().st_size

    def close(self) -> None:
        """Gives every connection back; the store can be opened again."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None
        self.backend.close()


def busy_with_own_calls() -> StoreBusy:
    """The turn to write did not come in time, and no other process kept it."""
    text = "Other calls of this process had the turn to write all the time; nothing was written."
    return StoreBusy(text, holder=str(os.getpid()), retry_after=1)


def _run_here(unit: Unit, _deadline: float) -> Any:
    return unit(may_wait=True)
