"""kill -9 in the middle of sends: each message is whole or absent, none that was acknowledged is lost."""

import os
import random
import signal
import time
from multiprocessing.connection import Connection

from agentsroom.core.settings import Settings
from tests.support.processes import FORK, PATIENCE_S, Agent, running
from tests.support.stores import Store

KILLS = 20
RECIPIENTS = 3


def _send_until_killed(_number: int, settings: Settings, acknowledged: Connection) -> None:
    agent = Agent(settings, "sender")
    while True:
        sent = agent("msg_send", to="tag:reader", subject="s", body="b" * 2_000)
        acknowledged.send(sent["message_id"])


def _killed_while_sending(settings: Settings, chance: random.Random) -> list[int]:
    """Ids of the messages that the killed process had the acknowledgement of."""
    receiving, sending = FORK.Pipe(duplex=False)
    acknowledged: list[int] = []
    with running(1, _send_until_killed, settings, sending) as (process,):
        sending.close()
        assert receiving.poll(PATIENCE_S)
        end = time.monotonic() + chance.uniform(0, 0.05)
        while (left := end - time.monotonic()) > 0 and receiving.poll(left):
            acknowledged.append(receiving.recv())
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        try:
            while True:
                acknowledged.append(receiving.recv())
        except EOFError:
            pass
    receiving.close()
    return acknowledged


def test_a_sender_killed_at_any_moment_leaves_only_whole_messages(sqlite_store: Store) -> None:
    for number in range(RECIPIENTS):
        sqlite_store.join(label=f"reader-{number}", tags=["reader"], cwd=sqlite_store.settings.home)
    chance = random.Random(os.getpid())
    acknowledged: list[int] = []
    for _ in range(KILLS):
        acknowledged += _killed_while_sending(sqlite_store.settings, chance)
    assert len(acknowledged) > KILLS
    assert sqlite_store.runtime.database.check() == "ok"
    stored = {row[0] for row in sqlite_store.rows("messages")}
    assert set(acknowledged) <= stored
    assert len(stored) <= len(acknowledged) + KILLS  # at most the one in hand each time
    delivered = [row[0] for row in sqlite_store.rows("deliveries")]
    assert sorted(delivered) == sorted(list(stored) * RECIPIENTS)
    assert {row[1] for row in sqlite_store.rows("message_rooms")} == stored
    told = [row for row in sqlite_store.rows("events") if row[2] == "message_sent"]
    assert len(told) == len(stored)
