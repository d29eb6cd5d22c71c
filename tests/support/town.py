"""A home that looks lived in, made through the services at a time that stands still: every state that a page can show."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import update

from agentsroom.core.clock import DAY, HOUR, SECOND
from agentsroom.core.settings import Settings
from agentsroom.rooms.models import Delivery
from agentsroom.rooms.service import overseer, rooms
from agentsroom.rooms.service.sending import Draft
from tests.support.git import repository
from tests.support.stores import Seat, Store, opened

NOW = round(datetime(2026, 11, 30, 14, 2, tzinfo=UTC).timestamp()) * SECOND
"""When the town is looked at; support/still_server.py keeps it."""
MINUTE = 60 * SECOND
BUSY, PAUSED, QUIET, LONG, UNHEARD = (
    "repo:harbour",
    "shared:release-0.9",
    "shared:hand-over",
    "shared:night-watch",
    "shared:attic",
)
"""Rooms: with everything in it; paused; where nothing was written; with many messages; where nobody is."""
MANY = 150
WIDE = "observatory-of-the-northern-harbour-and-its-lighthouses"

_NOTES = """The writers meet at one lock, taken before BEGIN IMMEDIATE. What I measured on this disk, three times each:

| writers | slowest | p99 |
|---|---|---|
| 10 | 41 ms | 12 ms |
| 30 | 138 ms | 52 ms |

1. Without the lock two of thirty gave up after 1,031 ms.
2. With `synchronous=FULL` a write costs 4 ms more; see <https://example.org/notes/write-lock>.

```
diff --git a/harbour/feed.py b/harbour/feed.py
@@ -40,6 +40,7 @@ class Feed:
     def close(self) -> None:
         self._is_open = False
+        self._queue.put_nowait(CLOSED)  # who waits at the far end of a line that is much longer than any page is wide
         for one in self._subscriptions:
```

> Ten readers that never read cost ten bounded queues, and nothing else.

*The next run takes the night*; its table goes to `wiki/Speed.md`.
"""


class Town:
    """The sessions by name, and the messages that a page can be about."""

    def __init__(self, store: Store, gone_pid: int) -> None:
        self.store = store
        self.top = repository(store.folder / "harbour")
        self.seats: dict[str, Seat] = {}
        self.asked = 0
        """A message that has an answer, and that one has not read."""
        self.long = 0
        """A message whose body is cut at first."""
        self._gone_pid = gone_pid

    def found(self) -> None:
        """Yesterday evening and today, in order."""
        self._settle()
        self._yesterday()
        self._morning()
        self._claims()
        self._elsewhere()
        self._afternoon()

    def _at(self, clock: str, days_before: int = 0) -> None:
        hours, minutes = map(int, clock.split(":"))
        self.store.clock.at = NOW - NOW % DAY - days_before * DAY + hours * HOUR + minutes * MINUTE

    def _join(
        self, label: str, harness: str, level: str, *others: str, pid: int | None = None, **more: object
    ) -> None:
        local = self.store.local(cwd=self.top, pid=pid)
        given = {"label": label, "harness": harness, "autonomy": level, "extra_rooms": list(others), **more}
        self.seats[label] = self.store.join(local, **given)

    def _settle(self) -> None:
        self._at("21:30", 1)
        self._join("wire-refactor", "claude-code", "hold")
        self._join("ui-board", "claude-code", "hold")
        self._join("docs-ja", "codex", "notify", tags=["docs", "review"])
        self._join("device-bridge", "cursor", "wake")
        self._join("bench-sqlite", "gemini", "notify", pid=self._gone_pid)
        far = self.store.add_agent("nightly")
        self.seats["flaky-hunt"] = self.store.join(
            far, label="flaky-hunt", harness="opencode", repo_url="https://example.org/harbour.git",
            cwd="/srv/harbour", host="build-7", tags=["review"],
        )  # fmt: skip
        self._stranger("last-one", "attic")
        self.seats["last-one"]("room_leave")

    def _send(self, sender: str, to: str, subject: str, body: str, **more: object) -> int:
        to = self.seats[to].id if to in self.seats else to
        message: int = self.seats[sender].send(to, body, subject=subject, **more)["message_id"]
        return message

    def _read(self, *readers: str, acked: tuple[int, ...] = ()) -> None:
        for reader in readers:
            self.seats[reader].receive()
            for message in acked:
                self.seats[reader]("msg_ack", message_id=message)

    def _yesterday(self) -> None:
        self._at("22:41", 1)
        lock = self._send(
            "bench-sqlite", "*", "Write lock: flock before BEGIN IMMEDIATE",
            "Under a hot peer SQLite’s own lock starves us: 1,031 ms at worst, 138 ms with the flock. "
            "I take it in every process, stdio included.", ttl_s=3600,
        )  # fmt: skip
        self._at("22:50", 1)
        self._read("wire-refactor", "docs-ja", acked=(lock,))
        self._read("ui-board", "device-bridge")

    def _morning(self) -> None:
        self._at("07:30")
        self._stranger("first-watch", "night-watch")
        self._stranger("second-watch", "night-watch")
        self._at("08:04")
        self.long = self._send("device-bridge", "*", "Numbers of the write lock", _NOTES)
        self._read("wire-refactor", acked=(self.long,))
        for number in range(MANY):
            self._at(f"{8 + (number + 5) // 60:02}:{(number + 5) % 60:02}")
            who, other = ("first-watch", "second-watch")[:: 1 if number % 2 else -1]
            self._send(
                who,
                "*" if number % 3 else other,
                "",
                f"Round {number + 1}: all lamps burn, wind from the north.",
            )

    def _claims(self) -> None:
        """When, who, which path, and until when; the last ones are still held."""
        for clock, who, path, arguments in sorted(
            (
                *(("11:02", "ui-board", "templates/board/", {}), ("12:16", "ui-board", "templates/board/", None)),
                *(("11:08", "docs-ja", "harbour/feed.py", {}), ("11:42", "docs-ja", "harbour/feed.py", None)),
                *(("11:24", "device-bridge", "harbour/channel.py", {}), ("11:53", "device-bridge", "harbour/channel.py", None)),
                *(("11:38", "docs-ja", "wiki/Rooms.md", {}), ("12:01", "docs-ja", "wiki/Rooms.md", None)),
                *(("12:07", "ui-board", "harbour/channel.py", {}), ("12:46", "ui-board", "harbour/channel.py", None)),
                *(("12:54", "docs-ja", "wiki/Rooms.md", {}), ("13:06", "docs-ja", "wiki/Rooms.md", None)),
                ("11:58", "bench-sqlite", "harbour/feed.py", {"ttl_s": 7_800}),
                ("12:41", "ui-board", "templates/board/", {"mode": "shared", "ttl_s": 5_400}),
                ("12:50", "docs-ja", "templates/board/", {"mode": "shared", "ttl_s": 5_400}),
            ),
            key=lambda step: step[0],
        ):  # fmt: skip
            self._at(clock)
            tool = "lease_release" if arguments is None else "lease_claim"
            self.seats[who](tool, path=path, **({} if arguments is None else {"ttl_s": 7_200, **arguments}))

    def _afternoon(self) -> None:
        self._at("13:18")
        self.asked = self._send(
            "wire-refactor", "file:harbour/*.py", "I need feed.py for ten minutes",
            "The channel’s writer has to close its queue before the feed does. I would change `Feed.close()` and "
            "nothing else. May I have the lease, or do you do it?",
        )  # fmt: skip
        self._signal(self.asked, "bench-sqlite", "offered")
        self._at("13:19")
        self.seats["wire-refactor"].claim("harbour/channel.py", ttl_s=3_000)
        self._at("13:24")
        answer = self._send(
            "docs-ja", "wire-refactor", "",
            "I gave feed.py back at 11:42.\n\nリースは解放済みです。どうぞ進めてください。", reply_to=self.asked,
        )  # fmt: skip
        self._at("13:25")
        self._read("wire-refactor", acked=(answer,))
        self._at("13:52")
        told = self._write(
            BUSY, self.seats["wire-refactor"].id,
            "bench-sqlite is gone. Its lease ends at 14:08; take the file then, and run the fault tests before you hand "
            "it on.", self.asked,
        )  # fmt: skip
        self._signal(told, "wire-refactor", "accepted")
        self._at("13:59")
        self.seats["device-bridge"]("room_who")
        self._at("14:01")
        ready = self._send("ui-board", "tag:review", "304 is ready to be looked at", "")
        self._signal(ready, "flaky-hunt", "undeliverable")
        self._at("14:02")
        self.seats["wire-refactor"]("room_who")

    def _signal(self, message: int, recipient: str, state: str) -> None:
        """As a lever leaves it; no part of the product pulls one yet."""
        moved = update(Delivery).where(
            Delivery.message_id == message, Delivery.recipient_id == self.seats[recipient].id
        )
        with self.store.runtime.database.engine.begin() as connection:
            assert (
                connection.execute(moved.values(state=state, state_at=self.store.clock.now())).rowcount == 1
            )

    def _write(self, room: str, to: str, body: str, reply_to: int | None = None) -> int:
        """A message of the overseer."""
        runtime = self.store.runtime
        draft = Draft(to, "", body, reply_to, None)
        sent = overseer.write_to_room(runtime.database, runtime.machine, self.store.admin(), room, draft)
        return sent.message_id

    def _elsewhere(self) -> None:
        """Rooms of sessions that are in no other."""
        self._at("13:07")
        self._stranger("tide-table", "hand-over")
        self._stranger("lamp-keeper", "release-0.9", cwd="/srv/lamps")
        self._stranger("pilot", "release-0.9")
        self._stranger(WIDE, WIDE)
        self._at("13:10")
        self._send("lamp-keeper", "pilot", "Soak", "The soak runs since noon; 40 minutes are left.")
        self._at("13:30")
        self._write(PAUSED, "*", "Freeze: nobody merges until the soak has run.")
        database, admin = self.store.runtime.database, self.store.admin()
        database.write(lambda work: rooms.pause(work, admin, PAUSED))
        self._at("13:41")
        self._send("lamp-keeper", "*", "", "Then I mend the lamps in the meantime.")

    def _stranger(self, label: str, room: str, **own: str) -> None:
        """Over HTTP, of another machine."""
        self.seats[label] = self.store.join(self.store.agent(), label=label, room=room, **own)


@contextmanager
def lived_in(home: Path, folder: Path) -> Iterator[Town]:
    """The town; its sessions live while the `with` block lasts, but for one that is gone."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as leaving:
        try:
            with opened(Settings(home=str(home)), folder) as store:
                town = Town(store, leaving.pid)
                town.found()
        finally:
            leaving.communicate(b"\n")
    yield town
