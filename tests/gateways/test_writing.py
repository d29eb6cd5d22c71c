"""Where a server's writes run: on the hub while nothing keeps them waiting, else on a native thread."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event
from greenlet import greenlet, settrace

from agentsroom.core import sqlite
from agentsroom.core.backends import backend_for
from agentsroom.core.database import Database, Writing
from agentsroom.core.errors import Conflict, StoreBusy
from agentsroom.core.lockfile import WriteLock
from agentsroom.core.settings import Settings
from agentsroom.gateways.writing import Writer

PATIENCE_S = 20


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Database]]:
    """A store as a server has it, its schema made."""
    made: list[tuple[Database, Writer]] = []

    def database(**settings: Any) -> Database:
        chosen = Settings(home=str(tmp_path), **settings)
        backend = backend_for(chosen)
        writer = Writer(backend)
        found = Database(chosen, backend=backend, run=writer)
        made.append((found, writer))
        _ = found.engine
        return found

    yield database
    for database_made, writer in made:
        database_made.close()
        writer.close()


def where(_work: Writing) -> int:
    """The thread that writes."""
    return threading.get_native_id()


def path_of(database: Database) -> Path:
    path = database.settings.database_path
    assert path is not None
    return path


def another_process(database: Database) -> WriteLock:
    """What another process holds while it writes: the lock by a descriptor of its own."""
    path = path_of(database)
    return WriteLock(path.with_name(path.name + ".lock"), gevent.sleep)


def test_a_write_that_need_not_wait_runs_where_it_is_asked_for(make: Callable[..., Database]) -> None:
    assert make().write(where) == threading.get_native_id()


def test_a_write_that_syncs_the_disk_runs_elsewhere(make: Callable[..., Database]) -> None:
    assert make(sync="full").write(where) != threading.get_native_id()


def test_a_log_that_went_with_the_last_connection_has_no_room(make: Callable[..., Database]) -> None:
    database = make()
    here = threading.get_native_id()
    assert database.write(where) == here
    database.engine.dispose()  # the last connection takes the log with it
    assert database.write(where) != here
    database.write(lambda work: work.emit("tick", "home"))  # begins another
    assert database.write(where) == here


def test_a_write_that_fills_the_log_runs_elsewhere_and_then_the_log_is_small_again(
    make: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAL_PAGES", 50)
    monkeypatch.setattr(sqlite, "_MOST_OF_A_WRITE", 10)
    database = make()
    here = threading.get_native_id()
    threads = [
        database.write(lambda work: (work.emit("tick", "home", text="x" * 20_000), where(work))[1])
        for _ in range(60)
    ]
    first = next(number for number, thread in enumerate(threads) if thread != here)
    assert here in threads[first:], "it was small again"
    assert 0 < threads.count(here) < len(threads)


def test_a_write_that_fills_the_log_after_all_leaves_the_disk_to_the_next(
    make: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = make()
    here = threading.get_native_id()
    before = path_of(database).stat().st_size
    pages = path_of(database).with_name("room.db-wal").stat().st_size // 4_096
    monkeypatch.setattr(sqlite, "WAL_PAGES", pages + 20)
    monkeypatch.setattr(sqlite, "_MOST_OF_A_WRITE", 0)
    assert database.write(lambda work: (work.emit("big", "home", text="x" * 500_000), where(work))[1]) == here
    assert path_of(database).stat().st_size == before
    assert database.write(lambda work: (work.emit("tick", "home"), where(work))[1]) != here
    assert path_of(database).stat().st_size > before


def test_the_first_write_into_an_empty_log_runs_elsewhere(make: Callable[..., Database]) -> None:
    """SQLite syncs the head of a log that begins."""
    database = make()
    here = threading.get_native_id()

    def tick() -> int:
        return database.write(lambda work: (work.emit("tick", "home"), where(work))[1])

    assert tick() == here
    with closing(sqlite3.connect(path_of(database))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert tick() != here
    assert tick() == here


def test_of_many_that_wait_each_is_woken_for_its_own_turn(make: Callable[..., Database]) -> None:
    database = make(sync="full")
    switches = 0

    def count(_event: str, greenlets: tuple[greenlet, greenlet]) -> None:
        nonlocal switches
        switches += greenlets[1] in writers

    writers = [gevent.spawn(database.write, lambda work: work.emit("tick", "home")) for _ in range(100)]
    before = settrace(count)
    try:
        gevent.joinall(writers, timeout=PATIENCE_S, raise_error=True)
    finally:
        settrace(before)
    assert 100 <= switches < 1_000


def test_who_has_less_patience_waits_no_longer_for_its_turn(make: Callable[..., Database]) -> None:
    database = make()
    with closing(another_process(database)) as lock:
        with lock.held(1):
            patient = gevent.spawn(database.write, where)
            gevent.sleep(0)
            with pytest.raises(StoreBusy):
                database.write(where, patience_s=0.01)
            assert not patient.dead
        assert patient.get(timeout=PATIENCE_S) != threading.get_native_id()


def test_while_another_process_writes_others_go_on_and_the_order_stays(make: Callable[..., Database]) -> None:
    database = make()
    done: list[int] = []
    went_on = Event()

    def write(number: int) -> None:
        thread = database.write(where)
        done.append(number)
        assert (thread != threading.get_native_id()) is (number == 0), "the first alone had to wait"

    with closing(another_process(database)) as lock, lock.held(1):
        writers = [gevent.spawn(write, number) for number in range(5)]
        gevent.spawn_later(0.01, went_on.set)
        assert went_on.wait(PATIENCE_S)
        assert done == []
    gevent.joinall(writers, timeout=PATIENCE_S, raise_error=True)
    assert done == list(range(5))


def test_who_waits_in_vain_is_told_who_writes(make: Callable[..., Database]) -> None:
    database = make(busy_s=1)
    with closing(another_process(database)) as lock, lock.held(1), pytest.raises(StoreBusy) as busy:
        database.write(where)
    assert busy.value.data["holder"].isdigit()
    assert database.write(where) == threading.get_native_id()


@pytest.mark.parametrize("sync", ["normal", "full"])
def test_what_a_write_raises_reaches_its_caller_and_it_ran_once(
    make: Callable[..., Database], sync: str
) -> None:
    ran: list[int] = []

    def fails(work: Writing) -> None:
        ran.append(work.emit("tick", "home"))
        raise Conflict("No.")

    with pytest.raises(Conflict):
        make(sync=sync).write(fails)
    assert len(ran) == 1
