"""Many processes at once on one store: one owner a path, no lock error, nothing lost."""

import time
from collections import Counter
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any

from agentsroom.core.settings import Settings
from tests.support.processes import FORK, PATIENCE_S, Agent, running
from tests.support.stores import Store

CLAIMERS = 32
ROUNDS = 100
WRITERS = 8
WRITING_S = 5.0


def _claim_in_rounds(number: int, settings: Settings, start: Barrier, answers: "SimpleQueue[Any]") -> None:
    agent = Agent(settings, f"claimer-{number}")
    for turn in range(ROUNDS):
        start.wait(PATIENCE_S)
        claimed = agent("lease_claim", path="contested.py")
        answers.put((turn, agent.id, claimed["ok"], claimed["holder"]))
        start.wait(PATIENCE_S)
        if claimed["ok"]:
            agent("lease_release", path="contested.py")


def test_of_32_processes_on_one_path_exactly_one_owns_it_in_each_of_100_rounds(sqlite_store: Store) -> None:
    start, answers = FORK.Barrier(CLAIMERS), FORK.SimpleQueue()
    with running(CLAIMERS, _claim_in_rounds, sqlite_store.settings, start, answers):
        told = [answers.get() for _ in range(CLAIMERS * ROUNDS)]
    owners = {turn: session for turn, session, ok, _ in told if ok}
    assert Counter(turn for turn, _, ok, _ in told if ok) == dict.fromkeys(range(ROUNDS), 1)
    assert all(holder == owners[turn] for turn, _, _, holder in told)


def _send_for_a_while(number: int, settings: Settings, start: Barrier, answers: "SimpleQueue[Any]") -> None:
    agent = Agent(settings, f"writer-{number}")
    start.wait(PATIENCE_S)
    end = time.monotonic() + WRITING_S
    sent = []
    while time.monotonic() < end:
        sent.append(agent("msg_send", to="*", body=f"{number}")["message_id"])
    answers.put(sent)


def test_writers_at_once_meet_no_lock_error_and_lose_nothing(sqlite_store: Store) -> None:
    start, answers = FORK.Barrier(WRITERS), FORK.SimpleQueue()
    with running(WRITERS, _send_for_a_while, sqlite_store.settings, start, answers):
        sent = [message for _ in range(WRITERS) for message in answers.get()]
    stored = sqlite_store.rows("messages")
    deliveries = Counter(row[0] for row in sqlite_store.rows("deliveries"))
    assert sorted(sent) == sorted(row[0] for row in stored)
    assert deliveries == dict.fromkeys(sent, WRITERS - 1)
