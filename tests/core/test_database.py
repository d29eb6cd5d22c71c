"""Units of work: all or nothing, one writer at a time, an error that says what to do."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select

from agentsroom.core.database import SCHEMA_VERSION, Database, Reading, Writing
from agentsroom.core.errors import (
    Conflict,
    NotWritable,
    StoreBusy,
    StoreTooNew,
    StoreUnavailable,
    StoreUpgraded,
)
from agentsroom.core.lockfile import LockFile
from agentsroom.core.models import Event
from agentsroom.core.query import Query
from agentsroom.core.settings import load_settings

_COUNT = Query(select(func.count()).select_from(Event))


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    database = Database(
        load_settings({"AGENTS_ROOM_HOME": str(tmp_path / "home"), "AGENTS_ROOM_BUSY_S": "1"})
    )
    yield database
    database.close()


def _events(database: Database) -> int:
    return int(database.read(lambda work: work.value(_COUNT)))


def _path(database: Database) -> Path:
    path = database.settings.database_path
    assert path is not None
    return path


def test_a_write_that_fails_leaves_nothing_and_publishes_nothing(sqlite_database: Database) -> None:
    published: list[int] = []
    sqlite_database.publish = lambda: published.append(1)

    def act(work: Writing) -> None:
        work.emit("kept_not", "home")
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        sqlite_database.write(act)
    assert _events(sqlite_database) == 0
    assert published == []
    sqlite_database.write(lambda work: work.emit("kept", "home"))
    assert _events(sqlite_database) == 1
    assert published == [1]


def test_a_write_without_events_publishes_nothing(sqlite_database: Database) -> None:
    published: list[int] = []
    sqlite_database.publish = lambda: published.append(1)
    sqlite_database.write(lambda _: None)
    assert published == []


def test_the_store_and_its_home_are_for_their_owner_alone(sqlite_database: Database) -> None:
    sqlite_database.write(lambda work: work.emit("first", "home"))
    path = _path(sqlite_database)
    names = {one.name: one.stat().st_mode & 0o777 for one in path.parent.iterdir() if one.is_file()}
    assert set(names.values()) == {0o600}, names
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_store_that_stays_locked_is_an_error_that_names_the_holder(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    lock = _path(sqlite_database).with_name("room.db.lock")
    program = (
        "import fcntl,os,sys; f=os.open(sys.argv[1],os.O_RDWR); fcntl.flock(f,fcntl.LOCK_EX);"
        "os.pwrite(f,b'%-20d\\n'%os.getpid(),0); print('held',flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match=f"Process {holder.pid} ") as caught:
            sqlite_database.write(lambda _: None)
        assert caught.value.data["holder"] == str(holder.pid)
        assert _events(sqlite_database) == 0
        holder.communicate()
    sqlite_database.write(lambda _: None)


def test_a_foreign_lock_on_the_file_itself_becomes_store_busy(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    foreign = sqlite3.connect(_path(sqlite_database), isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="Another program"):
        sqlite_database.write(lambda _: None)
    foreign.execute("ROLLBACK")
    foreign.close()
    sqlite_database.write(lambda _: None)


def test_a_killed_holder_leaves_the_lock_free(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    lock = _path(sqlite_database).with_name("room.db.lock")
    program = "import fcntl,os,sys,time; f=os.open(sys.argv[1],os.O_RDWR); fcntl.flock(f,fcntl.LOCK_EX); print(1,flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.kill()
    sqlite_database.write(lambda work: work.emit("after", "home"))
    assert _events(sqlite_database) == 1


def test_a_newer_store_is_refused_when_opened_and_read(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    sqlite_database.close()
    connection = sqlite3.connect(_path(sqlite_database))
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreTooNew, match=f"schema {SCHEMA_VERSION + 1}"):
        _events(sqlite_database)


def test_a_process_that_lived_through_an_upgrade_writes_nothing_more(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    connection = sqlite3.connect(_path(sqlite_database))
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.close()
    with pytest.raises(StoreUpgraded, match="restart me"):
        sqlite_database.write(lambda work: work.emit("too_late", "home"))
    assert _events(sqlite_database) == 0


def test_a_damaged_store_is_told_and_not_replaced(sqlite_database: Database) -> None:
    path = _path(sqlite_database)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database, but somebody's text" * 100)
    with pytest.raises(StoreUnavailable, match="damaged"):
        _events(sqlite_database)
    assert path.read_bytes().startswith(b"this is no database")


def test_a_folder_that_cannot_be_made_is_told() -> None:
    database = Database(
        load_settings({"AGENTS_ROOM_HOME": "/proc/none", "AGENTS_ROOM_DB": "/proc/none/room.db"})
    )
    with pytest.raises(StoreUnavailable, match="/proc/none"):
        database.write(lambda _: None)


def test_a_read_sees_one_moment(sqlite_database: Database) -> None:
    sqlite_database.write(lambda work: work.emit("one", "home"))
    other = Database(sqlite_database.settings)

    def look(work: Reading) -> tuple[int, int]:
        first = int(work.value(_COUNT))
        other.write(lambda writing: writing.emit("two", "home"))
        return first, int(work.value(_COUNT))

    assert sqlite_database.read(look) == (1, 1)
    assert _events(sqlite_database) == 2
    other.close()


def test_a_backup_is_whole_and_opens(sqlite_database: Database, tmp_path: Path) -> None:
    sqlite_database.write(lambda work: work.emit("one", "home"))
    target = tmp_path / "copy.db"
    assert sqlite_database.backup(target) == target.stat().st_size
    copy = Database(load_settings({"AGENTS_ROOM_DB": str(target)}))
    assert _events(copy) == 1
    copy.close()
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_after_a_fork_the_child_takes_a_lock_of_its_own(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    sqlite_database.close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sqlite_database.write(lambda work: work.emit("child", "home"))
            code = 0
        finally:
            os._exit(code)
    sqlite_database.write(lambda work: work.emit("parent", "home"))
    assert os.waitpid(child, 0)[1] == 0
    assert _events(sqlite_database) == 2


def test_a_store_that_was_removed_or_replaced_is_told_and_not_written(sqlite_database: Database) -> None:
    sqlite_database.write(lambda work: work.emit("kept", "home"))
    path = _path(sqlite_database)
    path.rename(path.with_name("moved.db"))
    for act in (_events, lambda database: database.write(lambda work: work.emit("lost", "home"))):
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            act(sqlite_database)
    assert not path.exists()


def test_calls_of_one_process_wait_for_each_other_no_longer_than_told(sqlite_database: Database) -> None:
    """A stuck writer elsewhere costs every caller the same time, not one after another."""
    sqlite_database.write(lambda _: None)
    lock = LockFile(_path(sqlite_database).with_name("room.db.lock"))
    assert lock.try_take()
    begin = time.monotonic()

    def refused(_number: int) -> bool:
        with pytest.raises(StoreBusy):
            sqlite_database.write(lambda _: None)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(refused, range(8)))
    assert time.monotonic() - begin < 8 * sqlite_database.settings.busy_s / 2
    lock.release()


def test_a_backup_replaces_no_device_and_not_the_store(sqlite_database: Database) -> None:
    sqlite_database.write(lambda _: None)
    with pytest.raises(Conflict, match="the store itself"):
        sqlite_database.backup(_path(sqlite_database))
    with pytest.raises(NotWritable, match="no file"):
        sqlite_database.backup(_path(sqlite_database).parent)
