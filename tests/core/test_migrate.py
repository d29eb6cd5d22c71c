"""Migrations: run once whoever opens the store first, after a copy of an older one, and equal to the models."""

import concurrent.futures
import contextlib
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from agentsroom.core.backends import backend_for
from agentsroom.core.database import SCHEMA_VERSION
from agentsroom.core.migrate import migrate, newest_version
from agentsroom.core.models import Base
from agentsroom.core.settings import Settings
from agentsroom.core.sqlite import SqliteBackend
from tests.support.stores import Store

OPEN_AND_WRITE = """
import sys
from agentsroom.core.settings import Settings
from agentsroom.runtime import Runtime
runtime = Runtime(Settings(home=sys.argv[1]))
sys.stdin.read()  # all begin together, when their input is closed
print(runtime.database.write(lambda work: work.emit("opened", "home")))
"""


def _settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path / "home"))


def _old_store(settings: Settings) -> Path:
    """A store of the schema before this one, with a row to keep."""
    backend = backend_for(settings)
    engine = backend.engine()
    assert migrate(engine, backend, 10, target=f"{SCHEMA_VERSION - 1:04d}") == SCHEMA_VERSION - 1
    engine.dispose()
    assert isinstance(backend, SqliteBackend)
    with contextlib.closing(sqlite3.connect(backend.path)) as connection:
        connection.execute("INSERT INTO teams (id, name, created_at) VALUES ('kept', 'Kept', 0)")
        connection.commit()
    return backend.path


def _open_in_ten_processes(settings: Settings) -> list[int]:
    command = [sys.executable, "-c", OPEN_AND_WRITE, settings.home]
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(10)
    ]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        outputs = list(pool.map(lambda process: process.communicate("", timeout=60), processes))
    assert [process.returncode for process in processes] == [0] * 10, [error for _, error in outputs]
    return sorted(int(output) for output, _ in outputs)


def _query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_the_constant_is_the_newest_script() -> None:
    assert newest_version() == SCHEMA_VERSION


def test_ten_processes_open_a_fresh_store_at_once_and_none_fails(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    assert _open_in_ten_processes(settings) == list(range(1, 11))
    assert settings.database_path is not None
    assert _query(settings.database_path, "SELECT id FROM teams") == [("home",)]
    assert not list(tmp_path.glob("home/*.backup"))


def test_ten_processes_open_an_old_store_at_once_and_it_is_migrated_once(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    path = _old_store(settings)
    assert _open_in_ten_processes(settings) == list(range(1, 11))
    assert _query(path, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert _query(path, "SELECT id FROM teams ORDER BY id") == [("home",), ("kept",)]
    (copy,) = tmp_path.glob("home/*.backup")
    assert _query(copy, "PRAGMA user_version") == [(SCHEMA_VERSION - 1,)]
    assert _query(copy, "SELECT id FROM teams ORDER BY id") == [("home",), ("kept",)]
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_migration_that_fails_leaves_the_old_store(tmp_path: Path) -> None:
    settings = _settings(tmp_path)
    path = _old_store(settings)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE INDEX ix_events_kind_id ON events (at)")
    backend = backend_for(settings)
    engine = backend.engine()
    with pytest.raises(Exception, match="ix_events_kind_id already exists"):
        migrate(engine, backend, 10)
    engine.dispose()
    assert _query(path, "PRAGMA user_version") == [(SCHEMA_VERSION - 1,)]
    [(kept,)] = _query(path, "SELECT sql FROM sqlite_master WHERE name = 'ix_events_kind_id'")
    assert "(at)" in str(kept)


def test_the_migrated_schema_is_that_of_the_models(store: Store) -> None:
    with store.runtime.database.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        differences = [one for one in compare_metadata(context, Base.metadata) if "fts" not in str(one)]
    own = [one for one in differences if "schema_version" not in str(one)]
    assert own == []


def test_the_kept_file_of_each_released_schema_opens(tmp_path: Path) -> None:
    kept = sorted((Path(__file__).parents[1] / "fixtures").glob("schema-*.db"))
    assert kept[-1].name == f"schema-{SCHEMA_VERSION}.db"
    for file in kept:
        path = Path(shutil.copy(file, tmp_path))
        settings = Settings(home=str(tmp_path / "home"), db=str(path))
        backend = backend_for(settings)
        engine = backend.engine()
        assert migrate(engine, backend, 10) == SCHEMA_VERSION
        engine.dispose()
        assert _query(path, "SELECT body FROM messages") == [("Kept for every later release.",)]
