"""A connection that sends what it is told, byte for byte, and reads answers one after the other."""

import contextlib
import fcntl
import json
import select
import socket
import termios
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.support.server import PATIENCE_S, WebServer


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def code(self) -> str:
        """The code of the error object."""
        found: str = json.loads(self.body)["error"]["code"]
        return found


class Raw:
    """Use it in a `with`."""

    def __init__(self, server: WebServer) -> None:
        port = server.running["port"]
        self.host = f"127.0.0.1:{port}".encode()
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self._file = self._socket.makefile("rb")

    def send(self, data: bytes) -> None:
        """`$HOST` stands for the server's own Host, also in an address."""
        self._socket.sendall(data.replace(b"$HOST", self.host))

    def send_what_is_taken(self, data: bytes) -> None:
        """The same, of which the server may take only a part before it hangs up."""
        with contextlib.suppress(OSError):
            self.send(data)

    def ask(self, data: bytes) -> Answer:
        self.send(data)
        return self.answer(has_body=not data.startswith(b"HEAD "))

    def answer(self, *, has_body: bool = True) -> Answer:
        """The next answer; of a stream its first message."""
        first = self._file.readline().split()
        assert first, "the connection was closed without an answer"
        headers: dict[str, str] = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode("latin-1").partition(": ")
            headers[name.lower()] = value
        status = int(first[1])
        return Answer(status, headers, self._body(headers) if has_body and status not in (204, 304) else b"")

    def _body(self, headers: dict[str, str]) -> bytes:
        """As long as the headers or the chunks say, or, where neither does, as there is."""
        if headers.get("content-type", "").startswith("text/event-stream"):
            lines = iter(self._file.readline, b"\n")
            return b"".join(lines)
        if headers.get("transfer-encoding") == "chunked":
            return b"".join(self._chunks())
        length = headers.get("content-length")
        return self._file.read(int(length) if length else -1)

    def _chunks(self) -> Iterator[bytes]:
        """Fewer, where the server breaks off."""
        while size := int(self._file.readline() or b"0", 16):
            yield self._file.read(size)
            self._file.readline()
        self._file.readline()

    def finish(self) -> None:
        """Says that nothing more comes."""
        self._socket.shutdown(socket.SHUT_WR)

    def unread(self) -> int:
        """How many bytes have come and were not read; waits for the first."""
        select.select([self._socket], [], [], PATIENCE_S)
        size = array("i", [0])
        fcntl.ioctl(self._socket, termios.FIONREAD, size)
        return size[0]

    def status(self) -> int:
        """Of the next answer, of which nothing else is read."""
        return int(self._file.readline().split()[1])

    def is_closed(self) -> bool:
        """Whether nothing more comes; waits for the end."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()
        self._socket.close()
