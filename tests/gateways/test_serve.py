"""The real server as a process: how it starts, that it is the only one of its home, and how it ends."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from ipaddress import IPv4Address
from pathlib import Path

import httpx2
import pytest

from agentsroom.core.lockfile import WriteLock
from agentsroom.core.settings import Settings
from agentsroom.gateways.running import running_server
from tests.support.mcp_http import McpClient
from tests.support.server import APP, PATIENCE_S, Connection, WebServer
from tests.support.stores import Store, opened

END_S = 5.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def second_try(home: Path, **settings: str) -> tuple[int, str]:
    """Exit code and words of a server that can't start."""
    environment = {**os.environ, "AGENTS_ROOM_HOME": str(home), "AGENTS_ROOM_PORT": "0", **settings}
    done = subprocess.run(
        APP, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout + done.stderr


def ends_in_time(server: WebServer, number: signal.Signals = signal.SIGTERM) -> int:
    began = time.monotonic()
    server.process.send_signal(number)
    code = server.end()
    assert time.monotonic() - began < END_S
    return code


def test_the_first_start_shows_the_key_once_and_each_start_a_login_link(home: Path) -> None:
    with WebServer(home) as server:
        assert server.output.count("AGENTS_ROOM_KEY=agt_") == 1
        entry = json.loads(next(line for line in server.output.splitlines() if "mcpServers" in line))
        assert entry["mcpServers"]["agents-room"]["args"] == ["mcp"]
        assert entry["mcpServers"]["agents-room"]["env"] == {"AGENTS_ROOM_HOME": str(home)}
        first = server.link
    with WebServer(home) as server:
        assert "agt_" not in server.output
        assert "Keys that worked before go on working" in server.output
        assert "agents-room agent key default" in server.output
        assert server.link != first
        with server.connect() as connection:
            assert connection.get("/healthz") == (200, b'{"status":"ok"}\n')


def test_a_line_of_the_greeting_does_what_it_says_in_any_shell(home: Path, tmp_path: Path) -> None:
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def paste(server: WebServer) -> str:
        [line] = [line for line in server.output.splitlines() if "export " in line]
        script = f'{line}\necho "$AGENTS_ROOM_KEY"'
        done = subprocess.run(
            ["sh", "-c", script], env=bare, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    with WebServer(home) as server:
        first = paste(server)
        assert first == server.key
        assert may_ask(server, first)
    with WebServer(home) as server:
        second = paste(server)
        assert (may_ask(server, first), may_ask(server, second)) == (False, True)


def may_ask(server: WebServer, key: str) -> bool:
    address = f"{server.url}/api/openapi.json"
    return httpx2.get(address, headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_serve_json_tells_where_it_runs_and_goes_with_it(home: Path) -> None:
    with WebServer(home) as server:
        running = server.running
        assert set(running) == {"url", "port", "pid", "instance_id", "token"}
        assert running["pid"] == server.process.pid
        assert running["url"] == f"http://127.0.0.1:{running['port']}"
        for name in ("serve.json", "secret", "serve.lock", "room.db"):
            assert (home / name).stat().st_mode & 0o777 == 0o600, name
        assert ends_in_time(server) == 0
    assert not (home / "serve.json").exists()
    assert running_server(Settings(home=str(home))) is None


def test_the_second_server_of_a_home_names_the_first_and_exits(home: Path) -> None:
    with WebServer(home) as first:
        code, words = second_try(home)
        assert code == 5
        assert str(first.process.pid) in words
        assert first.url in words
        with first.connect() as connection:
            assert connection.get("/rooms")[0] == 200


def test_a_taken_port_is_told(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, words = second_try(home, AGENTS_ROOM_PORT=str(port))
    assert code == 5
    assert f"127.0.0.1:{port}" in words
    assert "AGENTS_ROOM_PORT" in words
    assert "Traceback" not in words


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_this_machines_is_told(home: Path, host: str) -> None:
    code, words = second_try(home, AGENTS_ROOM_HOST=host)
    assert code == 5
    assert "AGENTS_ROOM_HOST" in words
    assert "AGENTS_ROOM_PORT" not in words


def test_a_variable_that_is_no_setting_is_told(home: Path) -> None:
    with WebServer(home, AGENTS_ROOM_PROT="1", AGENTS_ROOM_COLOUR="red") as server:
        assert "AGENTS_ROOM_PROT is set" in server.output
        assert "did you mean AGENTS_ROOM_PORT?" in server.output
        assert "AGENTS_ROOM_COLOUR is set, and no setting is called so.\n" in server.output


def test_a_server_of_every_address_is_greeted_by_one_that_works(home: Path) -> None:
    every = str(IPv4Address(0))
    with WebServer(home, AGENTS_ROOM_HOST=every) as server:
        assert every not in server.output
        assert server.link.startswith(f"http://127.0.0.1:{server.running['port']}/login/")
        assert f"AGENTS_ROOM_URL=http://NAME:{server.running['port']}" in server.output
        assert "foreign_host" in server.output
        assert may_ask(server, server.key)


def test_a_server_without_authentication_says_what_that_means(home: Path) -> None:
    with WebServer(home, AGENTS_ROOM_AUTH="off") as server:
        assert (
            "AGENTS_ROOM_AUTH=off: every program and every user of this machine is the admin" in server.output
        )
    with WebServer(home) as server:
        assert "is the admin" not in server.output


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/agents-room"])
def test_a_home_that_can_not_be_made_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    code, words = second_try(tmp_path / place)
    assert (code, words.count("\n")) == (4, 2), words
    assert f"The home {tmp_path / place} can't be made" in words
    assert "AGENTS_ROOM_HOME" in words


def test_a_killed_server_leaves_nothing_that_hinders_the_next(home: Path) -> None:
    with WebServer(home) as killed:
        stale = killed.running
        assert ends_in_time(killed, signal.SIGKILL) == -signal.SIGKILL
    assert json.loads((home / "serve.json").read_text()) == stale
    with WebServer(home) as server:
        assert server.running["pid"] == server.process.pid
        assert server.running["instance_id"] != stale["instance_id"]
        assert server.running["token"] != stale["token"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_time_with_open_streams_and_idle_connections(home: Path, number: signal.Signals) -> None:
    with WebServer(home) as server, server.connect() as idle, server.connect() as stream:
        assert idle.get("/rooms")[0] == 200
        open_stream(stream)
        with socket.create_connection(("127.0.0.1", server.running["port"])):  # says nothing at all
            assert ends_in_time(server, number) == 0
        assert stream.rest().endswith(b"0\r\n\r\n"), "the stream has its proper end"
        assert idle.rest() == b""
        assert "Traceback" not in server.output


def open_stream(connection: Connection, page: str = "/rooms") -> None:
    status, headers = connection.ask(f"/live?page={page}&since=0")
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["connection"] == "close"
    assert headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in headers
    assert (connection.chunk() or b"").startswith(b"event: ready\n")


def test_a_tab_that_is_gone_is_freed_at_once(home: Path) -> None:
    with WebServer(home) as server:
        before = sockets_of(server)
        stream = server.connect()
        open_stream(stream)
        assert sockets_of(server) == before + 1
        stream.close()
        deadline = time.monotonic() + 2
        while sockets_of(server) > before:
            assert time.monotonic() < deadline


def sockets_of(server: WebServer) -> int:
    folder = Path(f"/proc/{server.process.pid}/fd")
    found = 0
    for one in list(folder.iterdir()):
        with contextlib.suppress(FileNotFoundError):  # closed while we looked
            found += os.readlink(one).startswith("socket:")
    return found


def test_a_crowd_of_connections_leaves_the_server_the_files_that_it_needs(home: Path) -> None:
    command = ["bash", "-c", f"ulimit -n 260 && exec {APP[0]} {APP[1]}"]
    with WebServer(home, command) as server, server.connect() as browser, ExitStack() as crowd:
        assert browser.get("/rooms")[0] == 200
        for _ in range(300):
            crowd.enter_context(socket.create_connection(("127.0.0.1", server.running["port"])))
        assert browser.get("/rooms")[0] == 200, "who was let in keeps the connection"
        with server.connect() as late:
            assert late.get("/rooms")[0] == 200, "who only waits makes room"
        with opened(Settings(home=str(home)), home) as writer:
            writer.join(room="busy")
        assert b"busy" in browser.get("/rooms")[1]
        crowd.close()
        assert "Too many open files" not in server.output


def test_the_store_is_checked_before_there_is_anything_that_answers(home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = [APP[0], "-m", "tests.support.traced_server"]
    with WebServer(home, command, AGENTS_ROOM_TEST_TRACE=str(trace)):
        before, made, after = trace.read_text().partition("-- the app is made")
    assert made
    assert "quick_check" in before
    assert "quick_check" not in after


def test_damage_is_told_and_the_rest_is_served(home: Path) -> None:
    with WebServer(home):
        pass
    with sqlite3.connect(home / "room.db") as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'ix_sessions_team_id'")
    connection.close()
    with WebServer(home) as server, server.connect() as browser:
        assert "The store is damaged" in server.output
        assert "Restore a backup" in server.output
        assert browser.get("/rooms")[0] == 200


def test_an_idle_server_with_an_open_page_asks_the_store_nothing(home: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = [APP[0], "-m", "tests.support.traced_server"]
    with (
        WebServer(home, command, AGENTS_ROOM_TEST_TRACE=str(trace)) as server,
        server.connect() as connection,
        server.connect() as stream,
    ):
        assert connection.get("/rooms")[0] == 200
        open_stream(stream)
        while stream.chunk(timeout_s=1) is not None:
            pass  # what the page missed, and what its own look-up woke
        asked = trace.read_text()
        assert "SELECT" in asked
        assert stream.chunk(timeout_s=3) is None
        assert trace.read_text() == asked


def test_it_serves_a_store_on_postgresql(postgres_store: Store) -> None:
    settings = postgres_store.settings
    with (
        WebServer(settings.home_path, AGENTS_ROOM_DB=settings.database_url) as server,
        server.connect() as stream,
    ):
        open_stream(stream)
        postgres_store.join(room="far")
        while b"far" not in (piece := stream.chunk() or b""):
            assert piece, "the stream ended"
        assert ends_in_time(server) == 0


def test_a_commit_is_shown_whose_writer_died_before_it_told_anybody(home: Path, tmp_path: Path) -> None:
    with WebServer(home) as server, server.connect() as stream:
        open_stream(stream)
        settings = Settings(home=str(home))
        with opened(settings, tmp_path) as writer:
            writer.runtime.database.publish = lambda: None
            writer.join(room="quiet")
        while b"quiet" not in (piece := stream.chunk() or b""):
            assert piece, "the stream ended"


def test_while_another_process_writes_no_read_and_no_stream_is_held_up(home: Path) -> None:
    lock = WriteLock(home / "room.db.lock", time.sleep)
    with WebServer(home) as server, ExitStack() as opened:
        client, other = (McpClient(server, server.key) for _ in range(2))
        session = other.call("room_join", room="back")["session_id"]
        page, reader = (opened.enter_context(server.connect()) for _ in range(2))
        assert page.ask("/live?page=/rooms&since=999999999")[0] == 200
        assert b"ready" in (page.chunk() or b"")
        assert b"front" not in (page.chunk() or b"")
        with lock.held(1):
            joining = threading.Thread(target=client.call, args=("room_join",), kwargs={"room": "front"})
            joining.start()
            for _ in range(50):
                assert reader.get("/healthz")[0] == 200, "the write waits, the read does not"
            assert other.call("room_history", session_id=session)["messages"] == []
            assert joining.is_alive()
        joining.join(PATIENCE_S)
        assert b"front" in (page.chunk() or b"")
    lock.close()


def test_calls_that_wait_for_another_process_are_answered_when_the_server_stops(home: Path) -> None:
    lock = WriteLock(home / "room.db.lock", time.sleep)
    with WebServer(home) as server, ThreadPoolExecutor(3) as pool:
        client = McpClient(server, server.key)
        with lock.held(1), server.connect() as reader:
            joining = [pool.submit(client.modern, "tools/call", JOIN) for _ in range(3)]
            for _ in range(50):
                assert reader.get("/healthz")[0] == 200
            assert ends_in_time(server) == 0
        errors = [one.result(PATIENCE_S).message()["result"] for one in joining]
    assert all(one["isError"] and "store_busy" in one["content"][0]["text"] for one in errors)
    lock.close()


def test_while_a_program_of_others_has_the_store_locked_reads_go_on(home: Path) -> None:
    with WebServer(home, AGENTS_ROOM_BUSY_S="2") as server, ThreadPoolExecutor(4) as pool:
        client = McpClient(server, server.key)
        session_id = client.call("room_join", room="front")["session_id"]
        with contextlib.closing(sqlite3.connect(home / "room.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            joining = [pool.submit(client.modern, "tools/call", JOIN) for _ in range(4)]
            assert client.call("msg_unread", session_id=session_id) == {"count": 0}
            assert not any(one.done() for one in joining), "they wait longer than a read does"
            answers = [one.result(PATIENCE_S).message()["result"] for one in joining]
    assert all("store_busy" in one["content"][0]["text"] for one in answers)


JOIN = {"name": "room_join", "arguments": {"room": "front"}}
