"""How processes of one store wake each other after a commit: a datagram on SQLite, NOTIFY on PostgreSQL.

A wake carries nothing; who is woken reads the event table. Nobody polls.
"""

import contextlib
import hashlib
import itertools
import logging
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol

from agentsroom.core.backends import NOTIFY_CHANNEL
from agentsroom.core.settings import Settings

_log = logging.getLogger(__name__)

_LONGEST_SOCKET_PATH = 100  # bytes; AF_UNIX takes 107


class Wake(Protocol):
    """One process's end of it."""

    def listen(self) -> None:
        """From now on pokes of others reach this process; to be called before the first read of the feed."""
        ...

    def wait(self) -> bool:
        """Blocks until somebody poked; False once it is closed."""
        ...

    def poke(self) -> None:
        """After a commit: wakes every listening process of the store, this one too."""
        ...

    def close(self) -> None: ...


def wake_for(settings: Settings) -> Wake:
    """The wake of the settings' store."""
    if settings.database_path is not None:
        return DatagramWake(run_folder(settings))
    return NotifyWake(settings)


def run_folder(settings: Settings) -> Path:
    """Where the wake sockets stand: run/ in the home, or a private folder where that path is too long."""
    folder = settings.home_path / "run"
    name = f"agents-room-{os.getuid()}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}"
    elsewhere = (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir())
    for chosen in (folder, *(Path(base) / name for base in elsewhere if base)):
        if len(os.fsencode(chosen / "4194304.sock")) <= _LONGEST_SOCKET_PATH:
            return chosen
    return folder


class DatagramWake:
    """A Unix datagram socket a process, `run/<pid>.sock`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._closed = False

    def listen(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{self._folder} belongs to another user")
        path = self._folder / f"{os.getpid()}.sock"
        path.unlink(missing_ok=True)  # left by a killed process that had our number
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            ours.bind(str(path))
            path.chmod(0o600)
        except OSError:
            ours.close()
            raise
        self._socket = ours

    def wait(self) -> bool:
        assert self._socket is not None
        self._socket.recv(16)
        self._drain(self._socket)
        if self._closed:
            self._socket.close()
        return not self._closed

    def _drain(self, ours: socket.socket) -> None:
        ours.setblocking(False)
        try:
            while True:
                ours.recv(16)
        except BlockingIOError:
            pass
        finally:
            ours.setblocking(True)

    def poke(self) -> None:
        """What keeps it from waking the others is logged: the commit that it tells of stands."""
        try:
            paths = [one.path for one in os.scandir(self._folder) if one.name.endswith(".sock")]
            if paths:
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                    sender.setblocking(False)
                    for path in paths:
                        self._poke_one(sender, path)
        except FileNotFoundError:
            pass  # nobody listens
        except OSError:
            _log.warning("the other processes could not be woken", exc_info=True)

    def _poke_one(self, sender: socket.socket, path: str) -> None:
        try:
            sender.sendto(b"1", path)
        except BlockingIOError:
            pass  # its queue is full, so it is awake
        except (ConnectionRefusedError, FileNotFoundError):
            Path(path).unlink(missing_ok=True)
        except PermissionError:
            pass  # another user's process on a shared store

    def close(self) -> None:
        if self._socket is None or self._closed:
            return
        self._closed = True
        own = Path(self._socket.getsockname())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"1", str(own))
        own.unlink(missing_ok=True)


class NotifyWake:
    """LISTEN on a connection of its own; the NOTIFY goes out with the commit itself (core/backends.py)."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.database_url.replace("postgresql+psycopg://", "postgresql://")
        self._listener: Any = None
        self._told_to_close = threading.Event()

    @property
    def _closed(self) -> bool:
        return self._told_to_close.is_set()

    def _connect(self) -> Any:
        import psycopg  # an optional extra

        return psycopg.connect(self._url, autocommit=True)

    def listen(self) -> None:
        self._listener = self._connect()
        self._listener.execute(f"LISTEN {NOTIFY_CHANNEL}")

    def wait(self) -> bool:
        """A lost connection is made again, for as long as it takes; what was missed meanwhile is read then."""
        import psycopg

        try:
            for _ in self._listener.notifies(stop_after=1):
                pass
        except psycopg.OperationalError:
            if not self._closed:
                self._listen_again()
        if self._closed:
            self._listener.close()
        return not self._closed

    def _listen_again(self) -> None:
        import psycopg

        pauses = itertools.chain((0.1, 0.5, 1.0, 2.0), itertools.repeat(5.0))
        is_connected = False
        while not is_connected and not self._told_to_close.wait(next(pauses)):
            try:
                self.listen()
                is_connected = True
            except psycopg.OperationalError:
                _log.warning("the database's notices can't be heard; trying again")

    def poke(self) -> None:
        pass

    def close(self) -> None:
        if self._listener is None or self._closed:
            return
        self._told_to_close.set()
        with contextlib.suppress(Exception), self._connect() as connection:
            connection.execute(f"NOTIFY {NOTIFY_CHANNEL}")
