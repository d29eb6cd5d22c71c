"""`agents-room watch` beside a real server: messages as they come, also over a restart; how it ends, and when it can't begin."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import PATIENCE_S
from tests.support.server import WebServer
from tests.support.stdio import StdioServer


class Watching:
    """The command as a process; its standard error is read beside."""

    def __init__(self, home: Path, *arguments: str) -> None:
        environment = {**os.environ, "AGENTS_ROOM_HOME": str(home), "PYTHONPATH": str(Path.cwd())}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentsroom", "watch", *arguments],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.errors = ""
        self._says_more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._says_more:
                self.errors += line
                self._says_more.notify_all()

    def wait_for(self, text: str) -> None:
        """Until it has said so to standard error."""
        with self._says_more:
            assert self._says_more.wait_for(lambda: text in self.errors, PATIENCE_S), self.errors

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors
        return line.removesuffix("\n")

    def body(self) -> str:
        """Of the next message, with --json."""
        found: str = json.loads(self.line())["body"]
        return found

    def end(self, number: int = signal.SIGINT) -> int:
        """Its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return code

    def __enter__(self) -> "Watching":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.wait()


class Agent:
    """A stdio process that joined the room `front`; it needs no server."""

    def __init__(self, process: StdioServer) -> None:
        process.initialize()
        self._process = process
        self._id = process.call("room_join", room="front", label="ada")["session_id"]

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._process.call(tool, session_id=self._id, **arguments)
        return answer

    def say(self, body: str) -> int:
        message: int = self("msg_send", to="*", body=body)["message_id"]
        return message


@pytest.fixture
def ada(home: Path, tmp_path: Path) -> Iterator[Agent]:
    folder = tmp_path / "ada"
    folder.mkdir()
    with StdioServer(home, folder) as process:
        yield Agent(process)


def test_messages_are_printed_as_they_come_and_ctrl_c_ends_it_quietly(
    home: Path, server: WebServer, ada: Agent
) -> None:
    assert server.url
    first = ada.say("before")
    with Watching(home, "front") as watching:
        assert watching.line().startswith(f"{first}  ada to *  20")
        assert watching.line() == "  before"
        second = ada.say("now [bold]x[/bold]")
        assert watching.line().startswith(f"{second}  ada to *  20")
        assert watching.line() == "  now [bold]x[/bold]"
        assert watching.end() == 0
        assert watching.errors == ""


def test_a_restart_of_the_server_loses_and_doubles_nothing(home: Path, ada: Agent) -> None:
    said = [ada.say("before")]
    with WebServer(home) as first, Watching(home, "shared:front", "--json") as watching:
        assert first.url
        assert watching.body() == "before"
        ada.say("with the first server")
        assert watching.body() == "with the first server"
        first.process.terminate()
        assert first.end() == 0
        watching.wait_for("Not watching now")
        said.append(ada.say("with none"))
        with WebServer(home) as second:
            assert second.running["token"]
            watching.wait_for("Watching again.")
            said.append(ada.say("with the second server"))
            assert [watching.body() for _ in range(2)] == ["with none", "with the second server"]
            assert watching.end() == 0


def test_a_server_that_was_killed_is_waited_for(home: Path, ada: Agent) -> None:
    ada.say("one")
    with WebServer(home) as first, Watching(home, "front", "--json") as watching:
        assert watching.body() == "one"
        first.process.kill()
        watching.wait_for("Not watching now")
        ada.say("two")
        with WebServer(home):
            assert watching.body() == "two"
            assert watching.end() == 0


def test_a_watch_begins_after_a_message(home: Path, server: WebServer, ada: Agent) -> None:
    assert server.url
    first, *_ = [ada.say(body) for body in ("one", "two", "three")]
    with Watching(home, "front", "--json", "--since", str(first)) as watching:
        assert [watching.body() for _ in range(2)] == ["two", "three"]


def test_without_a_server_it_says_how_to_start_one(home: Path) -> None:
    with Watching(home, "front") as watching:
        assert watching.wait() == 4
    assert f"No server runs on {home}." in watching.errors
    assert f"AGENTS_ROOM_HOME={home}" in watching.errors
    assert "serve" in watching.errors
    assert "Traceback" not in watching.errors


@pytest.mark.parametrize("room", ["nowhere", "shared:x/../y", " "])
def test_a_room_that_is_none_is_told_and_ends_it(home: Path, server: WebServer, room: str) -> None:
    assert server.url
    with Watching(home, room) as watching:
        assert watching.wait() in (2, 5)
    assert "room:" in watching.errors
    assert "Traceback" not in watching.errors


def test_who_reads_no_more_ends_it(home: Path, server: WebServer, ada: Agent) -> None:
    assert server.url
    with Watching(home, "front") as watching:
        ada.say("read")
        watching.line()
        assert watching.process.stdout is not None
        watching.process.stdout.close()
        ada.say("not read")
        watching.process.wait(PATIENCE_S)
        assert "Traceback" not in watching.errors
