"""The store as a PostgreSQL database (core/backends.py says what it answers)."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, make_url

from agentsroom.core.backends import POOL
from agentsroom.core.errors import AgentsRoomError, StoreBusy, StoreUnavailable
from agentsroom.core.files import whole_file
from agentsroom.core.settings import Settings

NOTIFY_CHANNEL = "agents_room"


class PostgresBackend:
    """A PostgreSQL database; an advisory lock makes write transactions, and so event ids, come in commit order."""

    LOCK_KEY = 0x6167_726D  # "agrm": any number of our own

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def engine(self) -> Engine:
        return create_engine(
            self._settings.database_url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, **POOL
        )

    def close(self) -> None:
        pass

    def check_in_place(self) -> None:
        pass  # a server keeps its databases

    def write_lock(self, _patience_s: float) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()  # begin_write waits

    def give_up(self) -> None:
        pass  # the database server ends what waits with its connection

    def commits_at_once(self) -> bool:
        return False

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
