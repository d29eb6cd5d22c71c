"""Over HTTP: tools/call msg_send at /mcp in both eras, against the official SDK's server that writes the same rows.

Theirs runs without sessions: in one session it takes no two requests of the same id at a time. Run as a program with a
store's path, a port and the sessions, it is that other server.
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from agentsroom.access import service as access
from benchmarks import Row
from benchmarks.in_process import BODY, Bench, raw_sender
from benchmarks.load import post, rate
from benchmarks.stdio import Sent

RUNS = 5
SENDS = 1_000
CONNECTIONS = 16
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def rows() -> list[Row]:
    """Every row that this module measures."""
    found: dict[str, list[float]] = {"2026": [], "2025": []}
    for _ in range(RUNS):
        for era, ratio in _ratios().items():
            found[era].append(ratio)
    note = (
        f"{SENDS:,} sends a run over {CONNECTIONS} kept connections, key checked, arguments validated; theirs (JSON "
        "answers) checks no key and writes the same rows unvalidated, by the driver alone"
    )
    return [
        Row(f"/mcp tools/call msg_send, {era}", "≥ 2", "× the SDK's server", ratios, note)
        for era, ratios in found.items()
    ]


def _ratios() -> dict[str, float]:
    """Both eras, ours and theirs one after another on the same store."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        sender = bench.sessions[0]
        key = bench.runtime.database.write(lambda work: access.rotate_key(work, "default")).key
        bench.runtime.close()
        with _ours(folder) as port, _theirs(folder, bench.sessions) as other:
            return {
                era: _rate(port, era, sender, key) / _rate(other, era, sender, key)
                for era in ("2026", "2025")
            }


def _rate(port: int, era: str, session_id: str, key: str) -> float:
    request = mcp_request(port, era, session_id, key)
    rate(port, request, connections=CONNECTIONS, requests=SENDS // 10, good='"recipients":3')
    return rate(port, request, connections=CONNECTIONS, requests=SENDS, good='"recipients":3')


def mcp_request(port: int, era: str, session_id: str, key: str) -> bytes:
    """A call of msg_send to all, as it goes over the wire; the older era opens a session for it."""
    arguments = {"session_id": session_id, "to": "*", "subject": "wire", "body": BODY}
    params: dict[str, Any] = {"name": "msg_send", "arguments": arguments}
    headers = {"Authorization": f"Bearer {key}"}
    if era == "2026":
        params["_meta"] = META
        headers |= {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "msg_send"}
    else:
        headers |= {"MCP_Protocol_Version": "2025-11-25", **_session(port, key)}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return post("/mcp", port, body, **headers)


def _session(port: int, key: str) -> dict[str, str]:
    """The header of a new legacy session, if the server has such."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "b", "version": "1"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", "/mcp", body, headers)
        given = connection.getresponse().headers["MCP-Session-Id"]
        return {"MCP_Session_Id": given} if given else {}


@contextmanager
def _ours(home: str) -> Iterator[int]:
    with _started([sys.executable, "app.py"], home, "Ctrl+C"):
        running = json.loads((Path(home) / "serve.json").read_text())
        yield running["port"]


@contextmanager
def _theirs(home: str, sessions: list[str]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.mcp_http", str(Path(home) / "room.db"), str(port), *sessions]
    with _started(command, home, "started"):
        while not _answers(port):
            time.sleep(0.05)
        yield port


def _answers(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextmanager
def _started(command: list[str], home: str, ready: str) -> Iterator[None]:
    """The program, from the line on that says that it is ready."""
    environment = {
        **os.environ,
        "AGENTS_ROOM_HOME": home,
        "AGENTS_ROOM_PORT": "0",
        "AGENTS_ROOM_MAX_CALLS": "0",
    }
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, stdout=pipe, stderr=both, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            assert any(ready in line for line in process.stdout), f"{command} did not start"
            yield
        finally:
            process.terminate()
            process.stdout.read()


def serve_peer(path: Path, port: int, sessions: list[str]) -> None:
    """The SDK's own server with one tool that writes what msg_send writes."""
    send = raw_sender(path, sessions)
    server = MCPServer("peer", log_level="WARNING")

    @server.tool()
    async def msg_send(session_id: str, to: str, subject: str, body: str) -> Sent:
        assert (session_id, to, subject, body) == (sessions[0], "*", "wire", BODY)
        send()
        return {"message_id": 1, "recipients": len(sessions) - 1}

    print("started", flush=True)
    server.run("streamable-http", port=port, json_response=True, stateless_http=True)


if __name__ == "__main__":
    serve_peer(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
