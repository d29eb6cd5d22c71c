"""Waking: a poke reaches every listening process of the store, a dead one's socket is removed, nobody waits for it."""

import os
import shutil
import signal
import socket
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from agentsroom.core.settings import Settings
from agentsroom.core.wake import DatagramWake, run_folder, wake_for
from tests.support.processes import FORK, PATIENCE_S, running
from tests.support.stores import Store


def _tell_when_woken(_number: int, folder: Path, told: Connection) -> None:
    wake = DatagramWake(folder)
    wake.listen()
    told.send("listening")
    told.send(wake.wait())


def test_a_poke_reaches_another_process(tmp_path: Path) -> None:
    told, telling = FORK.Pipe(duplex=False)
    with running(1, _tell_when_woken, tmp_path / "run", telling):
        assert told.recv() == "listening"
        DatagramWake(tmp_path / "run").poke()
        assert told.poll(PATIENCE_S)
        assert told.recv() is True


def test_the_socket_of_a_killed_process_is_removed_by_the_next_poke(tmp_path: Path) -> None:
    told, telling = FORK.Pipe(duplex=False)
    with running(1, _tell_when_woken, tmp_path / "run", telling) as (process,):
        assert told.recv() == "listening"
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    assert len(list((tmp_path / "run").iterdir())) == 1
    DatagramWake(tmp_path / "run").poke()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_poke_waits_for_no_process_that_does_not_listen(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    deaf.bind(str(folder / "1.sock"))
    wake = DatagramWake(folder)
    for _ in range(1_000):
        wake.poke()
    assert deaf.recv(16) == b"1"
    deaf.close()


def test_pokes_before_a_wait_end_it_once(tmp_path: Path) -> None:
    wake = DatagramWake(tmp_path / "run")
    wake.listen()
    for _ in range(5):
        wake.poke()
    assert wake.wait() is True
    threading.Timer(0.05, wake.close).start()
    assert wake.wait() is False


@pytest.mark.parametrize("kind", ["sqlite_store", "postgres_store"])
def test_closing_ends_a_wait(request: pytest.FixtureRequest, kind: str) -> None:
    store: Store = request.getfixturevalue(kind)
    wake = wake_for(store.settings)
    wake.listen()
    ended: list[bool] = []
    waiter = threading.Thread(target=lambda: ended.append(wake.wait()))
    waiter.start()
    wake.close()
    waiter.join(PATIENCE_S)
    assert ended == [False]


def test_the_folder_is_found_by_the_store_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two homes of one store, or one home in two environments, would not wake each other."""
    long = "/" + "long/" * 30
    assert run_folder(Settings(home="/h")) == Path("/h/run")
    assert run_folder(Settings(home="/a", db="/s/room.db")) == run_folder(
        Settings(home="/b", db="/s/room.db")
    )
    found = run_folder(Settings(home=long))
    assert found != run_folder(Settings(home=long + "longer"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/elsewhere")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert run_folder(Settings(home=long)) == found


def test_the_private_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    wake = DatagramWake(tmp_path / "run")
    wake.listen()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    wake.close()
    assert wake.wait() is False


def test_a_process_wakes_itself_although_somebody_removed_the_folder(tmp_path: Path) -> None:
    wake = DatagramWake(tmp_path / "run")
    wake.listen()
    shutil.rmtree(tmp_path / "run")
    wake.poke()
    assert wake.wait() is True
    wake.close()
    assert wake.wait() is False


def test_a_restart_of_postgresql_does_not_make_a_wait_deaf(postgres_store: Store) -> None:
    """The connection that listens is cut, as a restart does; what is written afterwards still wakes."""
    feed = postgres_store.runtime.feed
    with feed.subscribe(lambda event: event.kind == "after") as subscription:
        with postgres_store.runtime.database.engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        postgres_store.runtime.database.write(lambda work: work.emit("after", "home"))
        assert subscription.next(PATIENCE_S) is not None
