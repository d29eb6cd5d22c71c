"""Where a server's writes run: on the hub while nothing keeps them waiting, else on a native thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gevent
import pytest
from gevent.event import Event

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


def another_process(database: Database) -> WriteLock:
    """What another process holds while it writes: the lock by a descriptor of its own."""
    path = database.settings.database_path
    assert path is not None
    return WriteLock(path.with_name(path.name + ".lock"), gevent.sleep)


def test_a_write_that_need_not_wait_runs_where_it_is_asked_for(make: Callable[..., Database]) -> None:
    assert make().write(where) == threading.get_native_id()


def test_a_write_that_syncs_the_disk_runs_elsewhere(make: Callable[..., Database]) -> None:
    assert make(sync="full").write(where) != threading.get_native_id()


def test_a_write_that_fills_the_log_runs_elsewhere_and_then_the_log_is_small_again(
    make: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "WAL_PAGES", 50)
    monkeypatch.setattr(sqlite, "_SMALL_LOG", 40 * 4_096)
    database = make()
    here = threading.get_native_id()
    threads = [
        database.write(lambda work: (work.emit("tick", "home", text="x" * 20_000), where(work))[1])
        for _ in range(60)
    ]
    first = next(number for number, thread in enumerate(threads) if thread != here)
    assert here in threads[first:], "it was small again"
    assert 0 < threads.count(here) < len(threads)


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
