"""A thousand streams and a hundred idle connections when the server is told to stop."""

import signal
from pathlib import Path

from tests.support.crowd import crowd
from tests.support.server import WebServer

STREAMS = 1_000
IDLE = 100
END_S = 5


def test_every_stream_ends_properly_and_nobody_holds_the_server_up(tmp_path: Path) -> None:
    with WebServer(tmp_path / "home") as server, crowd(server, STREAMS, IDLE) as clients:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(END_S) == 0
        assert clients.streams_with_a_proper_end() == STREAMS
        assert clients.idle_that_were_closed() == IDLE
        assert "Traceback" not in server.output
