"""Many threads that do one thing at the same moment, each through one of several openings of the store."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agentsroom.runtime import Runtime
from tests.support.stores import Seat, Store

T = TypeVar("T")


def at_once(store: Store, count: int, act: Callable[[Store, int], T], runtimes: int = 4) -> list[T]:
    """What `act` gives for each number, all begun together; what one of them raises is raised here."""
    opened = [Runtime(store.settings, clock=store.clock) for _ in range(runtimes)]
    stores = [Store(store.settings, store.clock, one, store.folder) for one in opened]
    start = threading.Barrier(count)

    def run(number: int) -> T:
        start.wait()
        return act(stores[number % runtimes], number)

    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(run, range(count)))
    finally:
        for runtime in opened:
            runtime.close()


def through(store: Store, seat: Seat) -> Seat:
    """The same session, its calls going through another opening of the store."""
    return Seat(store, seat.caller, seat.id, seat.joined)
