"""Over stdio: msg_send by the official SDK's client against the SDK's own server, and the start of `mcp`.

Run as a program with a store's path and its sessions, it is that other server.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from benchmarks import Row
from benchmarks.in_process import BODY, Bench, raw_sender

RUNS = 5
SENDS = 500
TURNS = 10
STARTS = 10
OURS = [sys.executable, "-m", "agentsroom", "mcp"]
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"1"}}}\n'
)


def rows() -> list[Row]:
    """Every row that this module measures."""
    return [*(_sends(mode, era) for mode, era in (("2026-07-28", "2026"), ("legacy", "2025"))), _start()]


def _sends(mode: str, era: str) -> Row:
    ratios = [_send_ratio(mode) for _ in range(RUNS)]
    note = f"{SENDS} sends a run, one after another; theirs writes the same rows unvalidated, by the driver alone"
    return Row(
        f"stdio tools/call msg_send by the SDK's client, {era}", "≥ 1.5", "× the SDK's server", ratios, note
    )


def _send_ratio(mode: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.runtime.close()
        peer = [sys.executable, "-m", "benchmarks.stdio", str(Path(folder) / "room.db"), *bench.sessions]
        return asyncio.run(_compare(_client(OURS, folder, mode), _client(peer, folder, mode), bench.sessions))


def _client(command: list[str], home: str, mode: str) -> Client:
    environment = {**os.environ, "AGENTS_ROOM_HOME": home}
    return Client(StdioServerParameters(command=command[0], args=command[1:], env=environment), mode=mode)


async def _compare(ours: Client, theirs: Client, sessions: list[str]) -> float:
    """How many times as long theirs takes; both in turns, so that the machine's moods hit both."""
    arguments = {"session_id": sessions[0], "to": "*", "subject": "wire", "body": BODY}

    async def seconds(client: Client) -> float:
        begin = time.perf_counter()
        for _ in range(SENDS // TURNS):
            result = await client.call_tool("msg_send", arguments)
            assert result.structured_content is not None
            assert result.structured_content["recipients"] == len(sessions) - 1
        return time.perf_counter() - begin

    async with ours, theirs:
        await seconds(ours)
        await seconds(theirs)
        taken = [(await seconds(ours), await seconds(theirs)) for _ in range(TURNS)]
    return sum(one for _, one in taken) / sum(one for one, _ in taken)


def _start() -> Row:
    times = [_start_ms() for _ in range(STARTS)]
    return Row("`mcp`, whole process to its answer to initialize", "< 300 ms", "ms", times)


def _start_ms() -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "AGENTS_ROOM_HOME": folder}
        begin = time.perf_counter()
        pipe = subprocess.PIPE
        with subprocess.Popen(OURS, stdin=pipe, stdout=pipe, env=environment) as process:
            answer, took = _first_line(process, begin)
        assert b'"protocolVersion"' in answer
    return took * 1_000


def _first_line(process: subprocess.Popen[bytes], begin: float) -> tuple[bytes, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(INITIALIZE)
    process.stdin.flush()
    answer = process.stdout.readline()
    took = time.perf_counter() - begin
    process.stdin.close()
    return answer, took


class Sent(TypedDict):
    """What msg_send answers."""

    message_id: int
    recipients: int


def serve_peer(path: Path, sessions: list[str]) -> None:
    """The SDK's own server with one tool that writes what msg_send writes."""
    send = raw_sender(path, sessions)
    server = MCPServer("peer", log_level="WARNING")

    @server.tool()
    async def msg_send(session_id: str, to: str, subject: str, body: str) -> Sent:
        assert (session_id, to, subject, body) == (sessions[0], "*", "wire", BODY)
        send()
        return {"message_id": 1, "recipients": len(sessions) - 1}

    server.run()


if __name__ == "__main__":
    serve_peer(Path(sys.argv[1]), sys.argv[2:])
