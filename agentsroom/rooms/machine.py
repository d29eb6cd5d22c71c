"""What the rooms ask of this machine: its name, its files, which sessions' processes run, and which wait here."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from agentsroom.core import platform
from agentsroom.core.errors import InvalidArgument
from agentsroom.core.text import is_utf8
from agentsroom.rooms.drift import ABSENT
from agentsroom.rooms.harnesses import has_key
from agentsroom.rooms.liveness import Identity, Judgement, Scan, judge
from agentsroom.rooms.paths import FileSystem, Lexical
from agentsroom.rooms.store.sessions import SessionRow

_SCAN_LIFE_S = 2.0
_MOST_KNOWN = 1_000


class Machine:
    """The machine that this process runs on."""

    def __init__(self) -> None:
        self.host = platform.host_name()
        self._files: FileSystem = platform.LocalFiles()
        self._last_scan: Scan | None = None
        self._scanned_for: frozenset[Identity] = frozenset()
        self._scanned_at = 0.0
        self._waits: list[str] = []
        self._guard = threading.Lock()

    def files_of(self, session: SessionRow) -> FileSystem:
        """This machine's files for its own sessions; of another host nothing is known."""
        return self._files if self.is_host_of(session) else Lexical()

    def real_folder(self, path: str) -> str | None:
        """The folder with its links resolved; None where its name is no UTF-8, which no JSON could carry."""
        found = self._files.real_path(path)
        return found if is_utf8(found) else None

    def is_host_of(self, session: SessionRow) -> bool:
        return session.host == self.host

    def hash_of(self, path: str) -> str:
        """SHA-256 of the file's content in hex, or `absent`.

        Raises InvalidArgument for a folder, a device, or a file that can't be read.
        """
        try:
            return platform.sha256_of(path) or ABSENT
        except platform.NotAFile as error:
            raise InvalidArgument({"path": f"{path} {error}"}) from None
        except OSError as error:
            raise InvalidArgument({"path": f"{path} can't be read: {error.strerror}"}) from None

    def liveness_of(self, sessions: Iterable[SessionRow], *, fresh: bool = True) -> dict[str, Judgement]:
        """Each session's id → whether its process runs; all judged from one scan.

        Not fresh: the scan may be up to two seconds old, for where nothing is decided by it. A process that it was
        not made for has one of its own: it may have started since.
        """
        identities = {one.id: _identity(one) for one in sessions}
        scan = self._scan(frozenset(identities.values()), fresh)
        return {session_id: judge(identity, scan) for session_id, identity in identities.items()}

    @contextmanager
    def waiting(self, session_id: str) -> Iterator[None]:
        """The session waits for mail in this process meanwhile."""
        with self._guard:
            self._waits.append(session_id)
        try:
            yield
        finally:
            with self._guard:
                self._waits.remove(session_id)

    def who_waits(self) -> frozenset[str]:
        """The sessions that wait for mail in this process now; of waits in others nothing is known."""
        with self._guard:
            return frozenset(self._waits)

    def _scan(self, wanted: frozenset[Identity], fresh: bool) -> Scan:
        now = time.monotonic()
        recent = now - self._scanned_at < _SCAN_LIFE_S and wanted <= self._scanned_for
        if fresh or not recent or self._last_scan is None:
            known = self._scanned_for if len(self._scanned_for) < _MOST_KNOWN else frozenset()
            looked_for = known | wanted  # so that who asks in turn shares a scan
            keys = (one.harness_key for one in looked_for if one.harness_key)
            scan = Scan(self.host, *platform.scan_processes(keys, has_key))
            # Only now: another thread takes what is told here for what the last scan has seen.
            self._last_scan, self._scanned_for, self._scanned_at = scan, looked_for, now
            return scan
        return self._last_scan


def _identity(session: SessionRow) -> Identity:
    return Identity(session.harness_key, session.host, session.pid, session.pid_started_at)
