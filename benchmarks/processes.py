"""Across processes: claims of one path by 32 at once, and how long a commit takes to wake a wait elsewhere."""

import multiprocessing
import os
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

from agentsroom.core.errors import StoreBusy
from benchmarks import Row
from benchmarks.in_process import Bench

_FORK = multiprocessing.get_context("fork")
CLAIMERS = 32
CLAIMS = 50
WAKES = 300


def rows() -> list[Row]:
    """Every row that this module measures."""
    return [*_claims(), _beside_a_hot_writer(), *_wakes()]


def _claims() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        Bench(Path(folder)).runtime.close()
        start, answers = _FORK.Barrier(CLAIMERS), _FORK.SimpleQueue()
        processes = [_FORK.Process(target=_claim, args=(folder, start, answers)) for _ in range(CLAIMERS)]
        for process in processes:
            process.start()
        told = [answers.get() for _ in range(CLAIMERS)]
        for process in processes:
            process.join()
    times = sorted(one for each, _ in told for one in each)
    errors = sum(count for _, count in told)
    p50 = statistics.median(times) * 1_000
    p99 = times[int(len(times) * 0.99)] * 1_000
    return [
        Row(
            "lease_claim, 32 processes on one path, p99",
            "< 150 ms",
            "ms",
            [p99],
            f"{len(times):,} claims without a pause on {os.cpu_count()} cores; p50 {p50:.1f} ms",
        ),
        Row("the same, lock errors", "0", "errors", [errors]),
    ]


def _beside_a_hot_writer() -> Row:
    """What a process that writes now and then waits beside one that writes without a pause."""
    with tempfile.TemporaryDirectory() as folder:
        Bench(Path(folder)).runtime.close()
        stop = _FORK.Event()
        hot = _FORK.Process(target=_hammer, args=(folder, stop))
        hot.start()
        bench = Bench(Path(folder))
        send = bench.sender()
        times = []
        for _ in range(WAKES):
            begin = time.perf_counter()
            send()
            times.append((time.perf_counter() - begin) * 1_000)
            time.sleep(0.003)
        stop.set()
        hot.join()
        bench.runtime.close()
    times.sort()
    note = f"p50 {times[len(times) // 2]:.1f} ms, max {times[-1]:.1f} ms of {len(times)}"
    return Row("msg_send beside a process that sends without a pause, p99", "told", "ms", [times[-4]], note)


def _hammer(folder: str, stop: Event) -> None:
    send = Bench(Path(folder)).sender()
    while not stop.is_set():
        send()
    os._exit(0)


def _claim(folder: str, start: Barrier, answers: "SimpleQueue[Any]") -> None:
    bench = Bench(Path(folder))
    start.wait(60)
    times, errors = [], 0
    for _ in range(CLAIMS):
        begin = time.perf_counter()
        try:
            bench("lease_claim", session_id=bench.sessions[0], path="contested.py")
        except StoreBusy:
            errors += 1
        times.append(time.perf_counter() - begin)
    answers.put((times, errors))


def _wakes() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        told, telling = _FORK.Pipe(duplex=False)
        waiter = _FORK.Process(target=_wait, args=(folder, telling))
        waiter.start()
        session = told.recv()
        committed = _commits_of(bench)
        delays = []
        for _ in range(WAKES):
            assert told.recv() == "waiting"
            time.sleep(0.002)  # until it truly waits
            bench("msg_send", session_id=bench.sessions[0], to=session, body="x")
            delays.append((told.recv() - committed[-1]) * 1_000)
        waiter.join()
        bench.runtime.close()
    delays.sort()
    return [
        Row(
            "commit in one process → msg_wait answers in another, p50",
            "< 3 ms",
            "ms",
            [statistics.median(delays)],
        ),
        Row("the same, p99", "< 10 ms", "ms", [delays[int(len(delays) * 0.99)]]),
    ]


def _commits_of(bench: Bench) -> list[float]:
    """Grows by the moment of each commit, right before the others are woken."""
    moments: list[float] = []
    poke = bench.runtime.database.publish

    def publish() -> None:
        moments.append(time.perf_counter())
        poke()

    bench.runtime.database.publish = publish
    return moments


def _wait(folder: str, telling: Connection) -> None:
    bench = Bench(Path(folder))
    session = bench.sessions[0]
    telling.send(session)
    cursor = 0
    for _ in range(WAKES):
        telling.send("waiting")
        cursor = bench("msg_wait", session_id=session, after=cursor)["cursor"]
        telling.send(time.perf_counter())
    os._exit(0)
