"""CPU time of the server for one msg_send over HTTP, all its threads together: it holds on a machine that others use."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks import Row
from benchmarks.in_process import BODY, Bench
from benchmarks.load import post, rate
from benchmarks.mcp_http import CONNECTIONS, mcp_request
from benchmarks.over_http import served

RUNS = 5
SENDS = 2_000


def rows() -> list[Row]:
    """Every row that this module measures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bench = Bench(home)
        bench.runtime.close()
        with served(home) as (_, key):
            running = json.loads((home / "serve.json").read_text())
            return list(_rows(running["port"], psutil.Process(running["pid"]), bench.sessions[0], key))


def _rows(port: int, server: psutil.Process, sender: str, key: str) -> Iterator[Row]:
    arguments = {"session_id": sender, "to": "*", "subject": "wire", "body": BODY}
    requests = {
        "/api": post(
            "/api/tools/msg_send", port, json.dumps(arguments).encode(), Authorization=f"Bearer {key}"
        ),
        "/mcp, 2026": mcp_request(port, "2026", sender, key),
        "/mcp, 2025": mcp_request(port, "2025", sender, key),
    }
    note = f"user and system, every thread; {SENDS:,} sends a run over {CONNECTIONS} kept connections"
    for door, request in requests.items():
        _cpu_ms(port, server, request)  # to warm up
        figures = [_cpu_ms(port, server, request) for _ in range(RUNS)]
        yield Row(f"CPU time of the server for one msg_send, {door}", "told", "ms", figures, note)


def _cpu_ms(port: int, server: psutil.Process, request: bytes) -> float:
    before = server.cpu_times()
    rate(port, request, connections=CONNECTIONS, requests=SENDS, good='"recipients":3')
    after = server.cpu_times()
    return (after.user - before.user + after.system - before.system) * 1_000 / SENDS
