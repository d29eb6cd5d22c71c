"""In process: msg_send against the same rows written by bare sqlite3, and how reads grow with the store."""

import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentsroom.core.principals import Principal, this_process
from agentsroom.core.settings import load_settings
from agentsroom.runtime import Runtime
from benchmarks import Row

RUNS = 5
SENDS = 1_000
SIZES = (1_000, 10_000, 100_000)
BODY = "The wire format changed: please read src/wire.go before you go on. " * 3


def rows() -> list[Row]:
    """Every row that this module measures."""
    return [_sends(), *_reads()]


class _Room:
    """A fresh store with a sender and three recipients in one room."""

    def __init__(self, folder: Path) -> None:
        self.runtime = Runtime(load_settings({"AGENTS_ROOM_HOME": str(folder)}))
        self.caller: Principal = self.runtime.local_principal(this_process())
        self.sessions = [
            json.loads(self.call("room_join", cwd=str(folder), label=f"bench-{number}"))["session_id"]
            for number in range(4)
        ]

    def call(self, tool: str, **arguments: object) -> bytes:
        import msgspec

        return msgspec.json.encode(self.runtime.call(tool, json.dumps(arguments).encode(), self.caller))


def _sends() -> Row:
    ratios = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            room = _Room(Path(folder))
            raw = json.dumps(
                {"session_id": room.sessions[0], "to": "*", "subject": "wire", "body": BODY}
            ).encode()
            ours = _seconds_each(lambda: room.runtime.call("msg_send", raw, room.caller), SENDS)  # noqa: B023
            room.runtime.close()
            theirs = _seconds_each(_raw_send(Path(folder) / "room.db", room.sessions), SENDS)
        ratios.append(theirs / ours)
    return Row("msg_send to 3 recipients, in process", "≥ 0.45", "× raw sqlite3", ratios)


def _raw_send(path: Path, sessions: list[str]) -> Callable[[], None]:
    """The same rows, events and indexes, by the driver alone."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    sender, *recipients = sessions
    room_id = connection.execute("SELECT id FROM rooms").fetchone()[0]

    def send() -> None:
        now = time.time_ns() // 1_000_000
        connection.execute("BEGIN IMMEDIATE")
        message_id = connection.execute(
            "INSERT INTO messages (team_id, sender_id, selector, subject, body, created_at) "
            "VALUES ('home', ?, '*', 'wire', ?, ?)",
            (sender, BODY, now),
        ).lastrowid
        connection.executemany(
            "INSERT INTO deliveries (message_id, recipient_id, state, state_at) VALUES (?, ?, 'stored', ?)",
            [(message_id, recipient, now) for recipient in recipients],
        )
        connection.execute("INSERT INTO message_rooms (room_id, message_id) VALUES (?, ?)", (room_id, message_id))
        data = json.dumps({"message": message_id, "sender": sender, "recipients": recipients})
        connection.execute(
            "INSERT INTO events (at, kind, team_id, data) VALUES (?, 'message_sent', 'home', ?)", (now, data)
        )
        connection.execute("COMMIT")

    return send


def _seconds_each(act: Callable[[], object], times: int) -> float:
    for _ in range(times // 10):
        act()
    begin = time.perf_counter()
    for _ in range(times):
        act()
    return (time.perf_counter() - begin) / times


def _reads() -> list[Row]:
    return []


__all__ = ["rows", "shutil"]
