"""A call that waits, on a thread of its own, from the moment on at which it listens."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from agentsroom.core.feed import Feed

T = TypeVar("T")

PATIENCE_S = 25.0


class Waiting(Generic[T]):
    """Begins the call; returns once it has subscribed to the feed."""

    def __init__(self, feed: Feed, call: Callable[[], T]) -> None:
        self._answers: list[T] = []
        before = feed.subscribers
        self._thread = threading.Thread(target=lambda: self._answers.append(call()))
        self._thread.start()
        deadline = time.monotonic() + PATIENCE_S
        while feed.subscribers == before:
            assert time.monotonic() < deadline
            self._thread.join(0.001)

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def answer(self) -> T:
        """What the call gave, which must come well before its time is over."""
        self._thread.join(PATIENCE_S / 2)
        assert self.has_ended
        return self._answers[0]
