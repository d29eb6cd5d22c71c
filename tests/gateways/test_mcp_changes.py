"""Where a stream of changes begins, and how its messages look."""

import pytest

from agentsroom.core.feed import QUEUE_SIZE, RESYNC
from agentsroom.gateways.mcp_changes import missed_since, sse
from tests.support.stores import Store


def emit(store: Store, count: int) -> int:
    """The newest event's id."""
    return store.runtime.database.write(lambda work: [work.emit("tick", "home") for _ in range(count)])[-1]


def test_what_was_missed_is_told_in_order(store: Store) -> None:
    last = emit(store, 3)
    assert [one.id for one in missed_since(store.runtime.database, last - 2)] == [last - 1, last]
    assert missed_since(store.runtime.database, last) == []


def test_an_event_that_never_was_stands_for_everything(store: Store) -> None:
    assert missed_since(store.runtime.database, emit(store, 1) + 1) == [RESYNC]


@pytest.mark.parametrize(("more", "is_whole"), [(-1, True), (0, False), (1, False)])
def test_too_many_are_not_told_one_by_one(store: Store, more: int, is_whole: bool) -> None:
    before = emit(store, 1)
    emit(store, QUEUE_SIZE + more)
    found = missed_since(store.runtime.database, before)
    assert (len(found) == QUEUE_SIZE + more) if is_whole else (found == [RESYNC])


def test_a_message_may_say_where_the_stream_stands() -> None:
    assert sse(b"{}", 7) == b"event: message\nid: 7\ndata: {}\n\n"
    assert sse(b"{}") == b"event: message\ndata: {}\n\n"
