"""Watches the store's folder, so that a commit is seen whose writer died before it poked anybody."""

import logging
from collections.abc import Callable
from pathlib import Path

import gevent
from gevent.event import Event
from gevent.monkey import get_original
from watchfiles._rust_notify import RustNotify

_logger = logging.getLogger(__name__)

_UNWATCHED = "the store's folder is not watched; wake-ups still come from its writers"
_GROUP_MS, _STEP_MS, _POLL_MS = 200, 20, 200


class _Stop:
    """What the native thread asks; no gevent object may be touched from there."""

    asked = False

    def is_set(self) -> bool:
        return self.asked


def watch_store(path: Path, poke: Callable[[], None], *, polling: bool) -> Callable[[], None]:
    """Calls `poke` after each change of the store's file or of its log; gives a function that stops that."""
    try:
        notify = RustNotify([str(path.parent)], False, polling, _POLL_MS, False, False)
    except (OSError, RuntimeError):  # such as the system's limit of watches
        _logger.exception(_UNWATCHED)
        return lambda: None
    names = {str(path), f"{path}-wal"}
    stop, changed = _Stop(), Event()
    woken = gevent.get_hub().loop.async_()
    woken.start(changed.set)

    def look() -> None:  # in a native thread
        while True:
            try:
                batch = notify.watch(_GROUP_MS, _STEP_MS, 0, stop)
            except (OSError, RuntimeError):
                _logger.exception(_UNWATCHED)
                return
            if not isinstance(batch, set):
                return
            if any(name in names for _, name in batch):
                woken.send()

    def follow() -> None:
        while changed.wait():
            changed.clear()
            poke()

    get_original("_thread", "start_new_thread")(look, ())
    follower = gevent.spawn(follow)

    def end() -> None:
        stop.asked = True
        follower.kill()
        woken.stop()

    return end
