"""Over HTTP: msg_send by kept connections with a key, against the same rows written by bare sqlite3 in the same file."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import Row
from benchmarks.in_process import BODY, SENDS, Bench, raw_sender, seconds_each

RUNS = 5
SECONDS = 4
CLIENTS = (1, 16, 64)
GOAL_AT = 16
WRK = """
wrk.method = "POST"
wrk.body = %s
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("sent %%d failed %%d us %%d\\n", summary.requests, failed, summary.duration))
end
"""


def rows() -> list[Row]:
    """Every row that this module measures. Raises FileNotFoundError without wrk."""
    if shutil.which("wrk") is None:
        raise FileNotFoundError("wrk makes the load: apt-get install wrk")
    return [_sends(clients) for clients in CLIENTS]


def _sends(clients: int) -> Row:
    ratios = [_send_ratio(clients) for _ in range(RUNS)]
    what = "msg_send to 3 recipients over HTTP, keep-alive, key checked, arguments validated"
    note = f"load by wrk, one thread, {SECONDS} s a run; raw as above, after it"
    goal = "≥ 0.20" if clients == GOAL_AT else "told"
    return Row(f"{what}, c = {clients}", goal, "× raw sqlite3", ratios, note)


def _send_ratio(clients: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        bench = Bench(home)
        bench.runtime.close()
        arguments = {"session_id": bench.sessions[0], "to": "*", "subject": "wire", "body": BODY}
        with served(home) as (url, key):
            _load(f"{url}/api/tools/msg_send", key, arguments, clients, 1)  # to warm up
            each = _load(f"{url}/api/tools/msg_send", key, arguments, clients, SECONDS)
        return seconds_each(raw_sender(home / "room.db", bench.sessions), SENDS) / each


@contextmanager
def served(home: Path) -> Iterator[tuple[str, str]]:
    """A server on the home: its address, and the key of the default agent."""
    environment = {"AGENTS_ROOM_HOME": str(home), "AGENTS_ROOM_PORT": "0", "AGENTS_ROOM_MAX_CALLS": "0"}
    process = subprocess.Popen([sys.executable, "app.py"], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        output = ""
        for line in process.stdout:
            output += line
            if line.startswith("Ctrl+C"):
                break
        key = re.search(r"AGENTS_ROOM_KEY=(\S+)", output)
        assert key is not None, output
        yield json.loads((home / "serve.json").read_text())["url"], key[1]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _load(url: str, key: str, arguments: dict[str, str], clients: int, seconds: int) -> float:
    """The time of one call, of all clients together."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK % (json.dumps(json.dumps(arguments)), key))
        script.flush()
        command = ["wrk", "--threads=1", f"--connections={clients}", f"--duration={seconds}s"]
        output = subprocess.check_output([*command, f"--script={script.name}", url], text=True)
    found = re.search(r"sent (\d+) failed (\d+) us (\d+)", output)
    assert found is not None, output
    sent, failed, microseconds = map(int, found.groups())
    assert failed == 0, output
    return microseconds / 1_000_000 / sent
