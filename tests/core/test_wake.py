"""Waking: a poke reaches every listening process of the store, a dead one's socket is removed, nobody waits for it."""

import os
import signal
import socket
import tempfile
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


def test_a_home_with_a_long_path_gets_a_private_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "/" + "long/" * 30
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        far = run_folder(Settings(home=long))
        assert run_folder(Settings(home="/h")) == Path("/h/run")
        assert far.parent == Path(short)
        assert far != run_folder(Settings(home=long + "longer"))
        wake = DatagramWake(far)
        wake.listen()
        assert far.stat().st_mode & 0o777 == 0o700
        wake.close()
        assert wake.wait() is False
    monkeypatch.setenv("XDG_RUNTIME_DIR", long)
    assert not str(run_folder(Settings(home=long))).startswith(long)
