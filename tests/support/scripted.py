"""A server over a real socket that answers each connection as it was told to, and keeps what it was asked."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from agentsroom.gateways.event_stream import Address

PATIENCE_S = 30
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n"


def answer(status: int, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Silent(bytes):
    """Bytes after which the connection stays open, and nothing more comes."""


class Scripted:
    """Gives one of the answers to each connection, in their order."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self.asked: list[dict[str, str]] = []
        """The headers of each request, with its line as ''."""
        self._answers = answers
        self._silent: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE_S)
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self._listener.getsockname()[1], "token")

    def _run(self) -> None:
        for given in self._answers:
            try:
                taken, _ = self._listener.accept()
            except OSError:  # the test is over
                return
            self.asked.append(dict(self._head_of(taken)))
            with contextlib.suppress(ConnectionError):
                taken.sendall(given)
            if isinstance(given, Silent):
                self._silent.append(taken)
            else:
                taken.close()

    def _head_of(self, taken: socket.socket) -> Iterator[tuple[str, str]]:
        with taken.makefile("rb") as lines:
            yield "", lines.readline().decode().strip()
            size = 0
            while line := lines.readline().decode("latin-1").strip():
                name, _, value = line.partition(": ")
                yield name.lower(), value
                size = int(value) if name.lower() == "content-length" else size
            lines.read(size)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE_S)
        for one in self._silent:
            one.close()
