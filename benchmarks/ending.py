"""How long a server takes to end when it is told to, with a crowd of clients."""

import signal
import tempfile
import time
from pathlib import Path

from benchmarks import Row
from tests.support.crowd import crowd
from tests.support.server import WebServer

RUNS = 5
STREAMS = 1_000
IDLE = 100
END_S = 10


def rows() -> list[Row]:
    """Every row that this module measures."""
    taken = [_end_s() for _ in range(RUNS)]
    what = f"SIGTERM with {STREAMS:,} streams and {IDLE} idle keep-alive connections"
    return [Row(what, "< 0.5 s", "s", taken, "to the end of the process; every stream had its proper end")]


def _end_s() -> float:
    with tempfile.TemporaryDirectory() as folder, WebServer(Path(folder) / "home") as server:
        with crowd(server, STREAMS, IDLE) as clients:
            begin = time.perf_counter()
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(END_S)
            took = time.perf_counter() - begin
            assert clients.streams_with_a_proper_end() == STREAMS
        return took
