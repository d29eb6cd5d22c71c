"""In process: msg_send against the same rows written by bare sqlite3, and pages of reads as the store grows."""

import json
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from agentsroom.core.principals import LocalProcess, Principal, this_process
from agentsroom.core.settings import Settings
from agentsroom.core.sqlite import WAL_PAGES
from agentsroom.runtime import Runtime
from benchmarks import Row

RUNS = 5
SENDS = 1_000
SIZES = (1_000, 100_000, 1_000_000)
PAGES = 200
BODY = "The wire format changed: please read src/wire.go before you go on. " * 3


class Bench:
    """A fresh store with a sender and three recipients in one room."""

    def __init__(self, folder: Path) -> None:
        self.runtime = Runtime(Settings(home=str(folder)))
        here = this_process()
        self.caller = Principal(
            "local", "home", "default", LocalProcess({}, here.pid, str(folder), here.host)
        )
        self.sessions = [self("room_join", label=f"bench-{number}")["session_id"] for number in range(4)]

    def __call__(self, tool: str, **arguments: Any) -> Any:
        return msgspec.to_builtins(self.runtime.call(tool, json.dumps(arguments).encode(), self.caller))

    def sender(self) -> Callable[[], object]:
        """One msg_send to the three, from the arguments' bytes to the result."""
        arguments = {"session_id": self.sessions[0], "to": "*", "subject": "wire", "body": BODY}
        raw = json.dumps(arguments).encode()
        return lambda: self.runtime.call("msg_send", raw, self.caller)


def rows() -> list[Row]:
    """Every row that this module measures."""
    return [_sends(), *_pages()]


def _sends() -> Row:
    ratios = [_send_ratio() for _ in range(RUNS)]
    note = (
        f"{SENDS:,} sends a run; raw: the same rows, events and indexes by the driver alone, in the same file"
    )
    return Row("msg_send to 3 recipients, in process", "≥ 0.45", "× raw sqlite3", ratios, note)


def _send_ratio() -> float:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        ours = seconds_each(bench.sender(), SENDS)
        bench.runtime.close()
        theirs = seconds_each(raw_sender(Path(folder) / "room.db", bench.sessions), SENDS)
    return theirs / ours


def raw_sender(path: Path, sessions: list[str]) -> Callable[[], None]:
    """The same rows, events and indexes, by the driver alone."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
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
        connection.execute(
            "INSERT INTO message_rooms (room_id, message_id) VALUES (?, ?)", (room_id, message_id)
        )
        data = json.dumps({"message": message_id, "sender": sender, "recipients": recipients})
        connection.execute(
            "INSERT INTO events (at, kind, team_id, data) VALUES (?, 'message_sent', 'home', ?)", (now, data)
        )
        connection.execute("COMMIT")

    return send


def seconds_each(act: Callable[[], object], times: int) -> float:
    """The mean time of one, after a tenth of them to warm up."""
    for _ in range(times // 10):
        act()
    begin = time.perf_counter()
    for _ in range(times):
        act()
    return (time.perf_counter() - begin) / times


def _pages() -> list[Row]:
    figures: dict[tuple[str, int], float] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder))
            _fill(Path(folder) / "room.db", bench.sessions, size)
            for tool in ("msg_sent", "room_history"):
                page = partial(bench, tool, session_id=bench.sessions[0], limit=100)
                figures[tool, size] = seconds_each(page, PAGES) * 1_000
            bench.runtime.close()
    return [
        Row(
            f"{tool}, page of 100 with states, {size:,} messages",
            "< 5 ms, flat",
            "ms",
            [figures[tool, size]],
            "with the write that shows that the session lives",
        )
        for tool in ("msg_sent", "room_history")
        for size in SIZES
    ]


def _fill(path: Path, sessions: list[str], size: int) -> None:
    """So many messages to three recipients, all read but the last hundred."""
    connection = sqlite3.connect(path)
    sender, *recipients = sessions
    room_id = connection.execute("SELECT id FROM rooms").fetchone()[0]
    connection.execute("PRAGMA synchronous=OFF")
    connection.executemany(
        "INSERT INTO messages (id, team_id, sender_id, selector, subject, body, created_at) "
        "VALUES (?, 'home', ?, '*', 'wire', ?, ?)",
        ((number, sender, BODY, number) for number in range(1, size + 1)),
    )
    connection.executemany(
        "INSERT INTO deliveries (message_id, recipient_id, state, state_at) VALUES (?, ?, ?, ?)",
        (
            (number, recipient, "read" if number <= size - 100 else "stored", number)
            for number in range(1, size + 1)
            for recipient in recipients
        ),
    )
    connection.execute(
        "INSERT INTO message_rooms (room_id, message_id) SELECT ?, id FROM messages", (room_id,)
    )
    connection.commit()
    connection.close()
