"""The stdio server as a process: its lines, its threads and its ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsroom.core.lockfile import WriteLock
from agentsroom.gateways import jsonrpc
from agentsroom.gateways.mcp_stdio import MOST_LASTING
from agentsroom.gateways.standard_streams import LONGEST_LINE
from tests.support.stdio import INITIALIZE, META, PATIENCE_S, SERVER, StdioServer

Start = Callable[..., StdioServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers of one home, each in its own folder; ends them after the test."""
    started: list[StdioServer] = []

    def start(command: list[str] | None = None, **settings: str) -> StdioServer:
        folder = tmp_path / f"work-{len(started)}"
        folder.mkdir()
        server = StdioServer(tmp_path / "home", folder, command, **settings)
        started.append(server)
        return server

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture
def server(start: Start) -> StdioServer:
    """One that has answered initialize."""
    server = start()
    server.initialize()
    return server


def joined(server: StdioServer, **arguments: Any) -> str:
    session_id: str = server.call("room_join", room="shared:test", **arguments)["session_id"]
    return session_id


def wait_for_mail(server: StdioServer, session_id: str, id: int) -> None:
    arguments = {"session_id": session_id, "timeout_s": 25}
    server.send_message("tools/call", {"name": "msg_wait", "arguments": arguments}, id)


def test_initialize_ping_and_discover_are_answered_without_a_store(start: Start, tmp_path: Path) -> None:
    server = start()
    assert server.ask("ping")["result"] == {}
    assert server.ask("server/discover", {"_meta": META})["result"]["supportedVersions"] == ["2026-07-28"]
    assert server.initialize()["protocolVersion"] == "2025-11-25"
    server.close_input()
    assert server.exit_status() == 0
    assert not (tmp_path / "home").exists()


def test_a_modern_client_needs_no_initialize(start: Start) -> None:
    server = start()
    params = {"name": "room_join", "arguments": {}, "_meta": META}
    result = server.ask("tools/call", params)["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["session_id"]


def test_lines_may_end_in_crlf_and_blank_ones_are_nothing(server: StdioServer) -> None:
    server.send(b'\n\r\n  \t\n  {"jsonrpc":"2.0","id":1,"method":"ping"}  \r\n')
    assert server.message() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_line_of_the_greatest_length_is_read_and_a_longer_one_is_refused(server: StdioServer) -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}'
    fill = b"x" * (LONGEST_LINE - len(frame) + 2)
    server.send(frame % fill + b"\n")
    assert server.message()["result"] == {}
    server.send(frame % (fill + b"x") + b"\n")
    refused = server.message()
    assert (refused["id"], refused["error"]["code"]) == (None, jsonrpc.INVALID_REQUEST)
    server.send(frame % (fill * 3) + b"\n")
    assert server.message()["error"]["code"] == jsonrpc.INVALID_REQUEST
    assert server.ask("ping")["result"] == {}


def test_nothing_but_messages_reaches_stdout(start: Start) -> None:
    code = (
        "import atexit, os, sys, logging\n"
        "from agentsroom.gateways.mcp_stdio import serve_stdio\n"
        "atexit.register(lambda: (print('a stray print'), os.system('echo a stray child'), os.write(1, b'raw')))\n"
        "sys.exit(serve_stdio())"
    )
    server = start([sys.executable, "-c", code])
    server.initialize()
    server.call("room_join")
    server.close_input()
    assert server.rest() == []
    assert server.exit_status() == 0
    for stray in ("a stray print", "a stray child", "raw"):
        assert stray in server.errors()


def test_a_wait_holds_up_neither_ping_nor_another_call(server: StdioServer) -> None:
    session_id = joined(server)
    wait_for_mail(server, session_id, 1)
    assert server.ask("ping")["result"] == {}
    assert server.call("msg_unread", session_id=session_id) == {"count": 0}
    server.send_message(
        "tools/call",
        {"name": "msg_send", "arguments": {"session_id": session_id, "to": session_id, "body": "hello"}},
        2,
    )
    replies = {reply["id"]: reply["result"] for reply in (server.message(), server.message())}
    assert replies[1]["structuredContent"]["messages"][0]["body"] == "hello"
    assert replies[2]["structuredContent"]["recipients"] == 1


def test_a_wait_ends_when_another_process_sends(server: StdioServer, start: Start) -> None:
    other = start()
    other.initialize()
    session_id, sender = joined(server), joined(other)
    wait_for_mail(server, session_id, 1)
    other.call("msg_send", session_id=sender, to=session_id, body="over here")
    assert server.message()["result"]["structuredContent"]["messages"][0]["body"] == "over here"


def test_cancelled_waits_end_without_a_reply(server: StdioServer) -> None:
    session_id = joined(server)
    for batch in range(3):
        numbers = range(batch * 10, batch * 10 + 10)
        for number in numbers:
            wait_for_mail(server, session_id, number)
        assert server.call("msg_unread", session_id=session_id) == {"count": 0}
        for number in numbers:
            server.send_message("notifications/cancelled", {"requestId": number, "reason": "enough"})
    assert server.call("msg_unread", session_id=session_id) == {"count": 0}


def test_one_wait_too_many_is_refused_and_holds_up_nobody(server: StdioServer) -> None:
    session_id = joined(server)
    wishes: dict[str, Any] = {"notifications": {}, "_meta": META}
    for number in range(MOST_LASTING - 1):
        wait_for_mail(server, session_id, number)
    for name in ("last", "too many"):
        server.send_message("subscriptions/listen", wishes, name)
    told = [server.message() for _ in range(2)]
    assert [one.get("id") for one in told if "error" in one] == ["too many"]
    assert "notifications/subscriptions/acknowledged" in [one.get("method") for one in told]
    wait_for_mail(server, session_id, -1)
    assert server.message()["error"]["data"]["code"] == "too_many_requests"
    assert server.call("msg_unread", session_id=session_id) == {"count": 0}
    server.send_message("notifications/cancelled", {"requestId": 0})
    server.send_message("notifications/cancelled", {"requestId": "last"})


def test_an_id_under_way_is_taken_by_no_other_call(server: StdioServer) -> None:
    session_id = joined(server)
    wait_for_mail(server, session_id, 7)
    assert server.call("msg_unread", session_id=session_id) == {"count": 0}
    server.send_message("ping", {}, 7)
    assert server.message()["error"]["code"] == jsonrpc.INVALID_REQUEST
    server.send_message("notifications/cancelled", {"requestId": 7})
    server.call("msg_send", session_id=session_id, to=session_id, body="nobody waits")
    assert server.call("msg_unread", session_id=session_id) == {"count": 1}


def test_who_unsubscribes_at_once_is_told_of_nothing(server: StdioServer) -> None:
    session_id = joined(server)
    uri = {"uri": "agents-room://rooms/test/history"}
    server.send_message("resources/subscribe", uri, 1)
    server.send_message("resources/unsubscribe", uri, 2)
    assert [server.message()["id"] for _ in range(2)] == [1, 2]
    server.call("msg_send", session_id=session_id, to="*", body="for nobody")
    server.close_input()
    assert server.rest() == []


def test_a_call_that_is_cancelled_before_it_began_does_nothing(server: StdioServer, tmp_path: Path) -> None:
    """Another process writes, so that the first send waits and the second can't have begun."""
    session_id = joined(server)
    lock = WriteLock(tmp_path / "home" / "room.db.lock", time.sleep)
    with lock.held(1):
        for number, body in ((1, "first"), (2, "never")):
            arguments = {"session_id": session_id, "to": session_id, "body": body}
            server.send_message("tools/call", {"name": "msg_send", "arguments": arguments}, number)
        server.send_message("notifications/cancelled", {"requestId": 2})
        assert server.ask("ping")["result"] == {}
    lock.close()
    assert server.message()["id"] == 1
    found = server.call("msg_recv", session_id=session_id)["messages"]
    assert [one["body"] for one in found] == ["first"]


def test_a_cancellation_of_another_type_of_id_or_of_nothing_changes_nothing(server: StdioServer) -> None:
    session_id = joined(server)
    wait_for_mail(server, session_id, 1)
    server.send_message("notifications/cancelled", {"requestId": "1"})
    server.send_message("notifications/cancelled", {"requestId": 99})
    server.send_message("notifications/cancelled")
    server.send_message(
        "tools/call",
        {"name": "msg_send", "arguments": {"session_id": session_id, "to": session_id, "body": "hello"}},
        2,
    )
    assert {server.message()["id"], server.message()["id"]} == {1, 2}


def test_calls_that_change_something_keep_their_order(server: StdioServer) -> None:
    session_id = joined(server)
    for number in range(20):
        arguments = {"session_id": session_id, "to": session_id, "body": str(number)}
        server.send_message("tools/call", {"name": "msg_send", "arguments": arguments}, number)
    assert [server.message()["id"] for _ in range(20)] == list(range(20))
    messages = server.call("msg_recv", session_id=session_id)["messages"]
    assert [one["body"] for one in messages] == [str(number) for number in range(20)]


def test_what_was_asked_before_the_input_ended_is_still_answered(start: Start) -> None:
    server = start()
    server.send_message("initialize", INITIALIZE, 1)
    server.send_message("tools/call", {"name": "room_join", "arguments": {}}, 2)
    server.send_message("tools/list", {}, 3)
    server.close_input()
    assert [json.loads(line)["id"] for line in server.rest()] == [1, 2, 3]
    assert server.exit_status() == 0


def half_a_line(server: StdioServer) -> None:
    server.send(b'{"jsonrpc":"2.0","id":1')
    server.close_input()


END: dict[str, Callable[[StdioServer], None]] = {
    "eof": lambda server: server.close_input(),
    "half a line": half_a_line,
    "sigterm": lambda server: server.process.send_signal(signal.SIGTERM),
    "sigint": lambda server: server.process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("end", END.values(), ids=END)
def test_it_ends_at_once_and_cleanly_though_a_call_waits(
    server: StdioServer, tmp_path: Path, end: Callable[[StdioServer], None]
) -> None:
    wait_for_mail(server, joined(server), 1)
    assert server.ask("ping")["result"] == {}
    end(server)
    assert server.process.wait(10) == 0
    assert server.errors() == ""
    assert list((tmp_path / "home").glob("run/*.sock")) == []


def test_a_client_that_reads_no_more_ends_it_quietly(tmp_path: Path) -> None:
    environment = {**os.environ, "AGENTS_ROOM_HOME": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(SERVER, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == b""


def test_a_bad_setting_is_told_on_stderr(start: Start) -> None:
    server = start(AGENTS_ROOM_PORT="many")
    assert server.rest() == []
    assert server.exit_status() == 2
    assert "AGENTS_ROOM_PORT=many" in server.errors()


def test_a_store_that_cannot_be_opened_is_told_to_the_caller(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    server = start(AGENTS_ROOM_DB=str(tmp_path / "file" / "room.db"))
    server.initialize()
    result = server.ask("tools/call", {"name": "room_who", "arguments": {}})["result"]
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["code"] == "store_unavailable"
    assert server.ask("tools/list")["result"]["tools"]


def test_a_team_that_is_not_there_is_told_to_the_caller(start: Start) -> None:
    server = start(AGENTS_ROOM_TEAM="nobody")
    server.initialize()
    result = server.ask("tools/call", {"name": "room_join", "arguments": {}})["result"]
    assert result["isError"] is True
    assert "nobody" in json.loads(result["content"][0]["text"])["message"]


def test_an_unknown_set_of_tools_is_told_with_the_known_ones(start: Start) -> None:
    server = start(AGENTS_ROOM_TOOLS="romms")
    assert server.rest() == []
    assert server.exit_status() == 2
    assert "sets of tools are rooms" in server.errors()


def test_the_list_of_tools_is_short_since_it_is_part_of_every_agents_context(start: Start) -> None:
    server = start()
    server.initialize()
    listed = server.ask("tools/list")["result"]["tools"]
    assert len(json.dumps(listed, separators=(",", ":")).encode()) <= 16_000


def history_of(room: str) -> str:
    return f"agents-room://rooms/shared%3A{room}/history"


def test_a_legacy_client_that_subscribed_is_told_of_a_message_in_its_room(start: Start) -> None:
    server, other = start(), start()
    server.initialize()
    other.initialize()
    joined(server)
    sender = joined(other)
    assert server.ask("resources/subscribe", {"uri": history_of("test")})["result"] == {}
    other.call("msg_send", session_id=sender, to="*", body="news")
    assert server.message() == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"uri": history_of("test")},
    }


def test_a_modern_client_listens_until_it_cancels(start: Start) -> None:
    server, other = start(), start()
    other.initialize()
    server.initialize()
    joined(server)
    sender = joined(other)
    wishes = {"resourceSubscriptions": [history_of("test")]}
    server.send_message("subscriptions/listen", {"notifications": wishes, "_meta": META}, "L")
    tag = {"io.modelcontextprotocol/subscriptionId": "L"}
    told = server.message()
    assert told["method"] == "notifications/subscriptions/acknowledged"
    assert told["params"] == {"notifications": wishes, "_meta": tag}
    other.call("msg_send", session_id=sender, to="*", body="news")
    told = server.message()
    assert (told["method"], told["params"]) == (
        "notifications/resources/updated",
        {"uri": history_of("test"), "_meta": tag},
    )
    server.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}\n')
    assert server.ask("ping")["result"] == {}
    other.call("msg_send", session_id=sender, to="*", body="more")
    server.close_input()
    assert server.rest() == []


def test_a_listener_is_answered_when_the_server_ends(start: Start) -> None:
    server = start()
    server.send_message("subscriptions/listen", {"notifications": {}, "_meta": META}, "L")
    assert server.message()["method"] == "notifications/subscriptions/acknowledged"
    server.close_input()
    last = json.loads(server.rest()[-1])
    assert (last["id"], last["result"]["resultType"]) == ("L", "complete")
    assert server.exit_status() == 0
