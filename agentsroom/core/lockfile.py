"""The lock on which every writing process of an SQLite store queues: fairer than SQLite's own under load."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agentsroom.core.errors import StoreBusy, StoreUnavailable

Sleep = Callable[[float], None]
"""Waits without a gevent hub, in whichever thread."""


class WriteLock:
    """The lock that every writing process of a store takes: `<store>.lock`, which names its last holder.

    Who wants it first takes the turn, `<store>.lock.turn`: so a process that writes without a pause can't take the
    lock again before the one that waits for it. Where the file system knows no flock, SQLite's own busy time-out
    is all there is: `works` is then False, and doctor tells it.
    """

    NEXT_S = 0.0002
    """Between two tries of the one whose turn it is; nobody else tries then."""
    QUEUE_S = 0.002
    """Between two tries to get the turn."""

    def __init__(self, path: Path, sleep: Sleep) -> None:
        self.works = True
        self.is_given_up = False
        """Whether nobody waits for it any more."""
        self._lock = LockFile(path)
        self._turn = LockFile(path.with_name(path.name + ".turn"))
        self._sleep = sleep

    def close(self) -> None:
        self._lock.close()
        self._turn.close()

    @contextlib.contextmanager
    def held(self, patience_s: float) -> Iterator[None]:
        """Raises StoreBusy, naming the holder, when it is not to be had in that time or nobody waits any more."""
        if not self.works:
            yield
            return
        self._acquire(patience_s)
        try:
            yield
        finally:
            if self.works:
                self._lock.release()

    def _acquire(self, patience_s: float) -> None:
        began = time.monotonic()
        deadline = began + patience_s
        try:
            if not self._take(self._turn, self.QUEUE_S, deadline):
                raise self._busy(began)
            try:
                if not self._take(self._lock, self.NEXT_S, deadline):
                    raise self._busy(began)
                self._lock.sign()
            finally:
                self._turn.release()
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            self.works = False

    def _take(self, file: "LockFile", pause_s: float, deadline: float) -> bool:
        while not file.try_take():
            if self.is_given_up or time.monotonic() >= deadline:
                return False
            self._sleep(pause_s)
        return True

    def _busy(self, began: float) -> StoreBusy:
        """What is told whoever has waited since `began` (`time.monotonic()`)."""
        holder = self._lock.signature()
        waited_s = time.monotonic() - began
        return StoreBusy(
            f"Process {holder} held the store's write lock for {waited_s:.1f} s; nothing was written.",
            hint="Try again; if it goes on, look at that process.",
            holder=holder,
            retry_after=1,
        )


class LockFile:
    """A file to flock: opened after any fork (one descriptor a process), never unlinked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._opened_by = -1

    def try_take(self) -> bool:
        """Whether the lock was free and is ours now. Raises StoreUnavailable, or OSError where flock is unknown."""
        try:
            fcntl.flock(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def sign(self) -> None:
        """Writes the holder's process id into the file, unless it stands there; on a full disk it stays unsigned."""
        ours = b"%-20d\n" % os.getpid()
        with contextlib.suppress(OSError):
            if os.pread(self._descriptor, len(ours), 0) != ours:
                os.pwrite(self._descriptor, ours, 0)

    def signature(self) -> str:
        """The process id of the last holder."""
        return os.pread(self._open(), 32, 0).decode(errors="replace").strip() or "unknown"

    def close(self) -> None:
        """Gives the descriptor back; the next use opens the file again."""
        opened_by, self._opened_by = self._opened_by, -1
        if opened_by == os.getpid():
            os.close(self._descriptor)

    def _open(self) -> int:
        if self._opened_by != os.getpid():
            try:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreUnavailable(
                    f"The store's lock file {self._path} can't be opened: {error.strerror}.",
                    hint="Reads go on; give this user the right to write to the folder.",
                    retry_after=10,
                ) from error
            self._opened_by = os.getpid()
        return self._descriptor
