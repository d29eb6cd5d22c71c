"""Liveness: judged from real processes, their environments, pids and start times."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from agentsroom.core import platform
from agentsroom.rooms.harnesses import has_key
from agentsroom.rooms.liveness import GONE, START_TOLERANCE_MS, UNKNOWN, Identity, Judgement, Scan, judge
from tests.support.stores import Seat, Store

HERE = "here"
SCAN = Scan(
    HERE,
    keys={"key-of-the-chat": 70},
    started_at={70: 5_000, 71: 9_000},
    unreadable=frozenset(),
    is_blind=False,
)


@contextmanager
def process(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until it is killed or its input ends; it has printed, so its environment is its own."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env={**os.environ, **environment}, stdin=pipe, stdout=pipe) as started:
        assert started.stdout is not None
        started.stdout.readline()
        try:
            yield started
        finally:
            started.kill()


def liveness(store: Store, seat: Seat) -> tuple[str, int | None]:
    found = store.call("room_who", store.admin())["sessions"]
    told = next(one for one in found if one["session_id"] == seat.id)
    return told["liveness"], told["matched_pid"]


@pytest.mark.rule("R48", "R52")
def test_a_session_lives_as_long_as_a_process_has_its_key(store: Store) -> None:
    key = str(uuid.uuid4())
    with process(SOME_HARNESS_ID=key) as harness:
        seat = store.join(harness_key=key, pid=2**31 - 1)
        assert liveness(store, seat) == ("alive", harness.pid)
        harness.kill()
        harness.wait()
        assert liveness(store, seat) == ("gone", None)
    with process(ANOTHER_NAME=key) as restarted:
        assert liveness(store, seat) == ("alive", restarted.pid)


@pytest.mark.rule("R48")
def test_no_guess_at_a_value_of_an_environment_is_confirmed(store: Store) -> None:
    with process(A_PASSWORD="guessable-word"):
        guess = store.join(store.agent(), harness_key="guessable-word")
        assert liveness(store, guess) == ("unknown", None)


@pytest.mark.rule("R48")
def test_a_part_of_a_value_is_no_key(store: Store) -> None:
    key = str(uuid.uuid4())
    with process(SOME_HARNESS_ID=f"{key}-2"):
        assert liveness(store, store.join(harness_key=key)) == ("gone", None)


@pytest.mark.rule("R53")
def test_a_session_without_a_key_lives_as_long_as_its_process(store: Store) -> None:
    with process() as harness:
        seat = store.join(store.local(pid=harness.pid))
        assert liveness(store, seat) == ("alive", harness.pid)
        harness.kill()
        harness.wait()
        assert liveness(store, seat) == ("gone", None)


@pytest.mark.rule("R53")
def test_a_later_process_with_the_same_pid_is_not_the_session() -> None:
    with process() as harness:
        started_at = platform.process_started_at(harness.pid)
        assert started_at is not None
        earlier = Identity(None, HERE, harness.pid, started_at - 60_000)
        itself = replace(SCAN, started_at=platform.scan_processes((), has_key).started_at)
        assert judge(earlier, itself) == GONE
        assert judge(earlier._replace(pid_started_at=started_at), itself) == Judgement("alive", harness.pid)


@pytest.mark.rule("R53")
def test_a_start_time_may_be_told_a_second_off() -> None:
    told = Identity(None, HERE, 71, 9_000 + START_TOLERANCE_MS)
    assert judge(told, SCAN) == Judgement("alive", 71)
    assert judge(told._replace(pid_started_at=9_001 + START_TOLERANCE_MS), SCAN) == GONE
    assert judge(told._replace(pid_started_at=None), SCAN) == GONE


@pytest.mark.rule("R49")
def test_without_a_pid_nothing_is_known(store: Store) -> None:
    assert liveness(store, store.join(store.agent(), host=store.runtime.machine.host)) == ("unknown", None)
    assert judge(Identity("another-key", HERE, None, None), SCAN) == UNKNOWN
    assert judge(Identity("key-of-the-chat", HERE, None, None), SCAN) == Judgement("alive", 70)


@pytest.mark.rule("R50")
def test_of_another_host_nothing_is_known(store: Store) -> None:
    elsewhere = store.join(store.agent(), host="elsewhere", pid=os.getpid())
    nowhere = store.join(store.agent(), pid=os.getpid(), harness_key=str(uuid.uuid4()))
    assert liveness(store, elsewhere) == ("unknown", None)
    assert liveness(store, nowhere) == ("unknown", None)
    assert judge(Identity("key-of-the-chat", "elsewhere", 5, 5), SCAN) == Judgement("alive", 70)


@pytest.mark.rule("R51")
def test_an_environment_that_can_not_be_read_may_hold_the_key() -> None:
    keyed = Identity("another-key", HERE, 70, 5_000)
    assert judge(keyed, SCAN) == GONE
    assert judge(keyed, replace(SCAN, unreadable=frozenset({70}))) == UNKNOWN
    assert judge(keyed, replace(SCAN, is_blind=True)) == UNKNOWN
    assert judge(keyed._replace(pid=None), replace(SCAN, is_blind=True)) == UNKNOWN


@pytest.mark.rule("R51")
def test_a_stranger_that_hides_its_environment_hides_no_session() -> None:
    hidden = replace(SCAN, unreadable=frozenset({1, 99}))
    assert judge(Identity("another-key", HERE, 70, 5_000), hidden) == GONE
    assert judge(Identity(None, HERE, 70, 5_000), hidden) == Judgement("alive", 70)


@pytest.mark.rule("R52")
def test_a_key_that_nobody_has_is_gone_even_if_the_pid_runs(store: Store) -> None:
    assert liveness(store, store.join(harness_key=str(uuid.uuid4()))) == ("gone", None)


@pytest.mark.rule("R54")
def test_all_sessions_of_an_answer_are_judged_from_one_scan(store: Store) -> None:
    keys = [str(uuid.uuid4()) for _ in range(3)]
    with process(A=keys[0]) as first, process(B=keys[1]) as second:
        seats = [store.join(harness_key=key) for key in keys]
        scan = platform.scan_processes(keys, has_key)
        assert scan.keys == {keys[0]: first.pid, keys[1]: second.pid}
        machine = store.runtime.machine
        found = store.call("room_who", store.admin())["sessions"]
        told = {one["session_id"]: (one["liveness"], one["matched_pid"]) for one in found}
        assert [told[seat.id] for seat in seats] == [
            ("alive", first.pid),
            ("alive", second.pid),
            ("gone", None),
        ]
        assert machine.host == platform.host_name()


def test_processes_that_end_during_the_scan_are_left_out() -> None:
    with process() as short:
        short.kill()
        os.waitid(os.P_PID, short.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        for keys in ([], ["some-key-of-nobody"]):
            scan = platform.scan_processes(keys, has_key)
            assert short.pid not in scan.started_at
            assert short.pid not in scan.unreadable


def test_who_waits_for_a_process_that_is_gone_is_told_so() -> None:
    with process() as short:
        short.kill()
        short.wait()
        with pytest.raises(ProcessLookupError):
            platform.exit_descriptor(short.pid)
