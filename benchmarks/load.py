"""A load generator for HTTP: sends one request again and again over kept connections, as a process of its own.

As a program it takes a port, the number of connections, how many requests in all and a text that each good answer
holds; the request, whole, comes on its standard input. It prints the requests a second.
"""

import re
import selectors
import socket
import subprocess
import sys
import time

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_PATIENCE_S = 120


def rate(port: int, request: bytes, *, connections: int, requests: int, good: str) -> float:
    """Answers a second; an answer that is not good ends the run."""
    command = [sys.executable, "-m", "benchmarks.load", str(port), str(connections), str(requests), good]
    found = subprocess.run(command, input=request, capture_output=True, check=True, timeout=_PATIENCE_S)
    return float(found.stdout)


def post(path: str, port: int, body: bytes, **headers: str) -> bytes:
    """A POST as it goes over the wire; `Mcp_Name` is the header Mcp-Name."""
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class _Connection:
    """One connection: sends, reads the answer whole, sends again."""

    def __init__(self, port: int, request: bytes, good: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request
        self._good = good
        self._came = b""

    def send(self) -> None:
        self.socket.sendall(self._request)

    def read(self) -> bool:
        """Whether the answer is there, whole and good."""
        piece = self.socket.recv(65_536)
        if not piece:
            raise ConnectionError("The server hung up.")
        self._came += piece
        head, end, body = self._came.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or length is None or len(body) < int(length[1]):
            return False
        if not head.startswith(b"HTTP/1.1 200") or self._good not in body:
            raise ValueError(self._came.decode())
        self._came = b""
        return True


def _run(port: int, connections: int, requests: int, good: bytes, request: bytes) -> float:
    with selectors.DefaultSelector() as ready:
        for _ in range(connections):
            connection = _Connection(port, request, good)
            ready.register(connection.socket, selectors.EVENT_READ, connection)
        begin = time.perf_counter()
        for key in ready.get_map().values():
            key.data.send()
        sent, answered = connections, 0
        while answered < requests:
            for key, _ in ready.select():
                if key.data.read():
                    answered += 1
                    if sent < requests:
                        key.data.send()
                        sent += 1
        taken = time.perf_counter() - begin
        for key in list(ready.get_map().values()):
            key.data.socket.close()
    return requests / taken


if __name__ == "__main__":
    _port, _connections, _requests, _good = sys.argv[1:]
    print(_run(int(_port), int(_connections), int(_requests), _good.encode(), sys.stdin.buffer.read()))
