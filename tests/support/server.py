"""The real web server as a process, with a home of its own, and a client that speaks to it over a socket."""

import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE_S = 60
APP = [sys.executable, "app.py"]


class WebServer:
    """One process; use it in a `with`, which ends it. Port 0 unless the settings say otherwise."""

    def __init__(self, home: Path, command: list[str] | None = None, **settings: str) -> None:
        self.home = home
        environment = {
            **os.environ,
            "AGENTS_ROOM_HOME": str(home),
            "AGENTS_ROOM_PORT": "0",
            "PYTHONPATH": str(Path.cwd()),
            **settings,
        }
        self.process = subprocess.Popen(
            command or APP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self.output = ""
        self._has_said_more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._has_said_more:
                self.output += line
                self._has_said_more.notify_all()

    def wait_for(self, text: str) -> None:
        """Until it has printed the text."""
        with self._has_said_more:
            assert self._has_said_more.wait_for(lambda: text in self.output, PATIENCE_S), self.output

    def __enter__(self) -> "WebServer":
        self.wait_for("Ctrl+C")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.end()

    def end(self) -> int:
        """Waits until it has ended by itself; its exit code."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    @property
    def running(self) -> dict[str, Any]:
        """What serve.json says."""
        found: dict[str, Any] = json.loads((self.home / "serve.json").read_text())
        return found

    @property
    def url(self) -> str:
        url: str = self.running["url"]
        return url

    @property
    def link(self) -> str:
        """The login link that it printed."""
        found = re.search(r"http\S+/login/\S+", self.output)
        assert found is not None, self.output
        return found[0]

    @property
    def key(self) -> str:
        """The default agent's, which the first start of a home prints."""
        found = re.search(r"AGENTS_ROOM_KEY=(agt_\S+)", self.output)
        assert found is not None, self.output
        return found[1]

    def connect(self) -> "Connection":
        return Connection(self.running)


class Connection:
    """One connection to the server, kept alive, with the admin's token."""

    def __init__(self, running: dict[str, Any]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", running["port"]), PATIENCE_S)
        self._buffer = b""
        self._host = f"127.0.0.1:{running['port']}"
        self._token = running["token"]

    def ask(self, path: str, **headers: str) -> tuple[int, dict[str, str]]:
        """Sends a GET; status and headers of the answer, whose body is left unread."""
        lines = [f"GET {path} HTTP/1.1", f"Host: {self._host}", f"Authorization: Bearer {self._token}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        first, *rest = self._until(b"\r\n\r\n").decode().split("\r\n")
        pairs = [line.partition(": ") for line in rest if line]
        return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and whole body."""
        status, headers = self.ask(path)
        return status, self._exactly(int(headers["content-length"]))

    def chunk(self, timeout_s: float = PATIENCE_S) -> bytes | None:
        """The next piece of a stream: b"" at its proper end, None when nothing came in time."""
        if not self._buffer and not select.select([self._socket], [], [], timeout_s)[0]:
            return None
        size = int(self._until(b"\r\n"), 16)
        return self._exactly(size + 2)[:-2]

    def rest(self) -> bytes:
        """What still comes until the server closes the connection."""
        while self._read():
            pass
        return self._buffer

    def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            assert self._read(), self._buffer
        found, self._buffer = self._buffer.split(end, 1)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            assert self._read(), self._buffer
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def _read(self) -> bool:
        """Whether more came; False at the end."""
        try:
            piece = self._socket.recv(65_536)
        except ConnectionResetError:
            return False
        self._buffer += piece
        return bool(piece)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
