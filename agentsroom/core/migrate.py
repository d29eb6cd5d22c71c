"""Brings a store to this release's schema: Alembic's migrations, once, whoever opens it first."""

import datetime
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine

from agentsroom.core.backends import Backend
from agentsroom.core.sqlite import SqliteBackend

_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(engine: Engine, backend: Backend, patience_s: float, target: str = "head") -> int:
    """Runs what is missing up to `target` in one transaction; the schema's version afterwards.

    Any number of processes may call it at once: the write lock lets one do the work, the others find it done. An
    older store is copied beside itself first.
    """
    with backend.write_lock(patience_s), engine.connect() as connection:
        cursor: Any = connection.connection.cursor()
        found = backend.schema_version(cursor)
        newest = newest_version()
        if found >= newest:
            return found
        if isinstance(backend, SqliteBackend):
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.fetchall()  # until its answer is taken the file stays locked, and a copy would wait for ever
            if found > 0:
                backend.backup(_backup_path(backend.path, found))
        _upgrade(connection, cursor, backend, target, patience_s)
        return backend.schema_version(cursor)


def newest_version() -> int:
    """The number of the newest migration script."""
    return max(int(path.name[:4]) for path in (_SCRIPTS / "versions").glob("[0-9]*.py"))


def _upgrade(connection: Connection, cursor: Any, backend: Backend, target: str, patience_s: float) -> None:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    with connection.begin():
        backend.begin_write(cursor, patience_s)
        command.upgrade(config, target)
        backend.set_schema_version(cursor, newest_version() if target == "head" else int(target))
        backend.guard_events(cursor)  # each migration may have remade the table, which drops its triggers


def _backup_path(store: Path, version: int) -> Path:
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return store.with_name(f"{store.name}.schema-{version}.{moment}.backup")
