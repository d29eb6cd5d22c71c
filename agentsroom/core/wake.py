"""How processes of one store wake each other after a commit: a datagram on SQLite, NOTIFY on PostgreSQL.

A wake carries nothing; who is woken reads the event table. Nobody polls.
"""

import contextlib
import hashlib
import itertools
import logging
import os
import selectors
import socket
import threading
import time
from pathlib import Path
from typing import Any, Protocol

from agentsroom.core.errors import StoreUnavailable
from agentsroom.core.postgres import NOTIFY_CHANNEL
from agentsroom.core.settings import Settings

_log = logging.getLogger(__name__)

_TICK_NS = 1_000_000_000
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
    """Where the wake sockets of a store stand: run/ in the home.

    A store that stands elsewhere, or too deep for a socket's name, has a private folder that every process of this
    user finds by the store's path, whatever its environment.
    """
    store = settings.database_path
    folder = settings.home_path / "run"
    is_at_home = store is None or store.parent == settings.home_path
    if is_at_home and len(os.fsencode(folder / "4194304.sock")) <= _LONGEST_SOCKET_PATH:
        return folder
    digest = hashlib.sha256(os.fsencode(store or folder)).hexdigest()[:16]
    return Path("/tmp") / f"agents-room-{os.getuid()}-{digest}"


class DatagramWake:
    """A Unix datagram socket a process, `run/<pid>.sock`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._socket: socket.socket | None = None
        self._own_end: socket.socket | None = None
        self._inner: socket.socket | None = None
        self._others = _Sockets(folder)
        self._selector: selectors.BaseSelector | None = None
        self._closed = False

    def listen(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._folder.lstat().st_uid != os.getuid():
                raise PermissionError(f"{self._folder} belongs to another user")
            self._socket = self._bound()
        except OSError as error:
            text = f"No wake-ups reach this process: {self._folder}: {error.strerror or error}."
            raise StoreUnavailable(text, hint="agents-room doctor", retry_after=10) from error
        self._own_end, self._inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._others.own = self._socket.getsockname()
        self._selector = selectors.DefaultSelector()
        for one in (self._socket, self._inner):
            one.setblocking(False)
            self._selector.register(one, selectors.EVENT_READ, one)

    def _bound(self) -> socket.socket:
        path = self._folder / f"{os.getpid()}.sock"
        path.unlink(missing_ok=True)  # left by a killed process that had our number
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            ours.bind(str(path))
            path.chmod(0o600)
        except OSError:
            ours.close()
            raise
        return ours

    def wait(self) -> bool:
        assert self._selector is not None
        for key, _ in self._selector.select():  # select alone takes no descriptor above 1,023
            _drain(key.data)
        if self._closed:
            self._selector.close()
            for ours in (self._socket, self._inner, self._own_end):
                if ours is not None:
                    ours.close()
        return not self._closed

    def poke(self) -> None:
        """What keeps it from waking the others is logged: the commit that it tells of stands."""
        self._poke_itself()
        try:
            if paths := self._others.paths():
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
        self._poke_itself()
        own.unlink(missing_ok=True)

    def _poke_itself(self) -> None:
        """Needs no name in the folder, which somebody may have removed."""
        if self._own_end is not None:
            with contextlib.suppress(OSError):  # full, so it is awake; or closed
                self._own_end.send(b"1", socket.MSG_DONTWAIT)


class _Sockets:
    """The sockets of those who listen; the folder is listed again only when it changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.own = ""
        """Left out: who has it wakes itself another way."""
        self._listed_for = -1
        self._paths: list[str] = []

    def paths(self) -> list[str]:
        """Raises FileNotFoundError where nobody ever listened."""
        changed_at = os.stat(self._folder).st_mtime_ns
        if changed_at != self._listed_for:
            now = time.time_ns()
            self._paths = [
                one.path
                for one in os.scandir(self._folder)
                if one.name.endswith(".sock") and one.path != self.own
            ]
            # What is made within the same tick of the file system's clock leaves no other time.
            self._listed_for = changed_at if now - changed_at > _TICK_NS else -1
        return self._paths


def _drain(ours: socket.socket) -> None:
    """Takes what came; a wake says nothing."""
    with contextlib.suppress(BlockingIOError):
        while True:
            ours.recv(16)


class NotifyWake:
    """LISTEN on a connection of its own; the NOTIFY goes out with the commit itself (core/postgres.py)."""

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
