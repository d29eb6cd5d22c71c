"""A real stdio server as a process, and a client that sends it lines and waits for what comes back."""

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE_S = 20
"""Under the 25 s of a wait: what comes only when a wait is over is too late."""
SERVER = [sys.executable, "-m", "agentsroom.gateways.mcp_stdio"]
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "probe", "version": "1"},
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class StdioServer:
    """One process; use it in a `with`, which ends it."""

    def __init__(self, home: Path, cwd: Path, command: list[str] | None = None, **settings: str) -> None:
        environment = {**os.environ, "AGENTS_ROOM_HOME": str(home), "PYTHONPATH": str(Path.cwd()), **settings}
        self._errors = (cwd / f"stderr-{id(self)}").open("w+")
        self.process = subprocess.Popen(
            command or SERVER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=cwd,
            env=environment,
        )
        self._ids = itertools.count(1_000)
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, raw: bytes) -> None:
        """Writes bytes to its input as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send_message(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> None:
        """Sends a request, or a notification where no id is given."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.send(json.dumps(message if id is None else {**message, "id": id}).encode() + b"\n")

    def line(self) -> bytes:
        """The next line of its output; b"" at its end."""
        return self._lines.get(timeout=PATIENCE_S)

    def message(self) -> Any:
        """The next message that it sends."""
        return json.loads(self.line())

    def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Sends a request; its reply, which must be the next message."""
        number = next(self._ids)
        self.send_message(method, params, number)
        reply = self.message()
        assert reply["id"] == number, reply
        return reply

    def initialize(self) -> Any:
        return self.ask("initialize", INITIALIZE)["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured result of a tool that must succeed."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result["isError"], result
        return result["structuredContent"]

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def rest(self) -> list[bytes]:
        """What it still sends until its output ends."""
        return list(iter(self.line, b""))

    def exit_status(self) -> int:
        return self.process.wait(PATIENCE_S)

    def errors(self) -> str:
        """What it has written to stderr."""
        self._errors.seek(0)
        return self._errors.read()

    def __enter__(self) -> "StdioServer":
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(PATIENCE_S)
            self.process.stdout.close()
            self._errors.close()
