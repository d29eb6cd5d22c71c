"""What `watch` prints of a room: its history first, each message once, in its order, whatever the stream goes through."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentsroom.core.sse import SseEvent
from agentsroom.gateways.event_stream import Client, NotUnderstood
from agentsroom.gateways.watch import DEFAULT_LAST, Watch
from tests.support.stores import Seat, Store

READY = SseEvent("ready", "{}", "1")
RESYNC = SseEvent("resync", "{}", "9")
HEARTBEAT = SseEvent("heartbeat", "{}", "9")


@dataclass
class Served(Client):
    """A client whose tools run on the store, and whose stream is what the test says."""

    store: Store
    script: Callable[[], Iterator[SseEvent]] = field(default=lambda: iter(()))
    paths: list[str] = field(default_factory=list)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        return json.dumps(self.store.call(tool, self.store.admin(), **arguments)).encode()

    def follow(self, path: str) -> Iterator[SseEvent]:
        self.paths.append(path)
        return self.script()


@pytest.fixture
def ada(sqlite_store: Store) -> Seat:
    return sqlite_store.join(room="front", label="ada")


@pytest.fixture
def client(sqlite_store: Store) -> Served:
    return Served(sqlite_store)


def sent(ada: Seat, *bodies: str) -> list[int]:
    return [ada.send("*", body)["message_id"] for body in bodies]


def told(ada: Seat, message_id: int) -> SseEvent:
    """As the stream tells of a message."""
    [found] = [one for one in ada("room_history", limit=200)["messages"] if one["message_id"] == message_id]
    return SseEvent("message", json.dumps(found), "9")


def bodies(watch: Watch) -> list[str]:
    return [message.body for message in watch.messages()]


@pytest.mark.parametrize(
    ("since", "last", "expected"),
    [
        (None, None, range(5, 5 + DEFAULT_LAST)),
        (None, 3, range(12, 15)),
        (None, 0, range(0)),
        (None, 100, range(15)),
        (3, None, range(4, 15)),
        (3, 2, range(13, 15)),
        (14, 5, range(0)),
    ],
)
def test_it_begins_with_the_newest_of_what_is_asked_for(
    client: Served, ada: Seat, since: int | None, last: int | None, expected: range
) -> None:
    ids = sent(ada, *map(str, range(15)))
    watch = Watch(client, "front", None if since is None else ids[since], last)
    assert bodies(watch) == [str(number) for number in expected]


def test_a_history_of_many_pages_is_read_whole(client: Served, ada: Seat) -> None:
    sent(ada, *map(str, range(401)))
    assert bodies(Watch(client, "front", since=0)) == [str(number) for number in range(401)]
    assert bodies(Watch(client, "front", last=350)) == [str(number) for number in range(51, 401)]


def test_what_comes_before_the_stream_begins_is_neither_lost_nor_doubled(client: Served, ada: Seat) -> None:
    def script() -> Iterator[SseEvent]:
        early, late = sent(ada, "before the stream", "in both")
        yield READY
        yield HEARTBEAT
        yield told(ada, late)
        yield told(ada, sent(ada, "in the stream alone")[0])
        assert early < late

    sent(ada, "old")
    client.script = script
    assert bodies(Watch(client, "front", last=1)) == [
        "old",
        "before the stream",
        "in both",
        "in the stream alone",
    ]


def test_the_history_is_read_again_after_a_resync_and_not_after_each_connection(
    client: Served, ada: Seat
) -> None:
    def script() -> Iterator[SseEvent]:
        yield READY
        first = sent(ada, "first")[0]
        yield told(ada, first)
        yield READY
        yield told(ada, first)
        lost = sent(ada, "lost by the stream", "and this")
        yield RESYNC
        yield told(ada, lost[1])
        yield told(ada, sent(ada, "later")[0])

    client.script = script
    assert bodies(Watch(client, "front", last=0)) == ["first", "lost by the stream", "and this", "later"]


def test_a_resync_prints_nothing_of_a_history_that_was_not_asked_for(client: Served, ada: Seat) -> None:
    sent(ada, "old", "older")
    client.script = lambda: iter([READY, RESYNC])
    assert bodies(Watch(client, "front", last=0)) == []


def test_a_room_is_named_as_everywhere(client: Served, sqlite_store: Store) -> None:
    odd = "a/b ?#é"
    sqlite_store.join(room=odd).send("*", "here")
    assert bodies(Watch(client, odd)) == ["here"]
    assert client.paths == ["/api/rooms/a%2Fb%20%3F%23%C3%A9/stream"]


def test_what_this_release_does_not_read_is_told(client: Served, ada: Seat) -> None:
    sent(ada, "old")
    client.script = lambda: iter([READY, SseEvent("message", '{"message_id": "x"}', "1")])
    with pytest.raises(NotUnderstood, match="message_id"):
        bodies(Watch(client, "front"))
