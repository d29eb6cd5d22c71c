"""A room's stream: its messages as room_history gives them, from where the client stands, for who may see the room."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from agentsroom.access import service as access
from agentsroom.core.feed import QUEUE_SIZE, RESYNC, FeedEvent
from agentsroom.core.principals import Principal
from agentsroom.core.sse import SseEvent, SseParser
from agentsroom.gateways.room_stream import RoomStream, Start
from agentsroom.rooms.following import FollowedRoom
from agentsroom.rooms.store.messages import delete_messages_before
from tests.support.stores import Json, Seat, Store
from tests.support.web import RUNNING, agent_key, app_of, bearer, browser_of, error_of

FRONT = "/api/rooms/shared:front/stream"


class Reader:
    """One client of a stream, past its `ready`."""

    def __init__(self, answer: TestResponse) -> None:
        assert (answer.status_code, answer.mimetype) == (200, "text/event-stream"), answer.text
        self._answer = answer
        self._sent = self._events()
        self.ready = next(self._sent)
        assert self.ready.name == "ready"

    def _events(self) -> Iterator[SseEvent]:
        parser = SseParser()
        for chunk in self._answer.iter_encoded():
            yield from parser.feed(chunk)

    def next(self) -> SseEvent:
        return next(self._sent)

    def message(self) -> Any:
        """The message that comes next."""
        event = self.next()
        assert event.name == "message"
        return json.loads(event.data)

    def is_over(self) -> bool:
        return next(self._sent, None) is None

    def close(self) -> None:
        self._answer.close()


@pytest.fixture
def app(store: Store) -> Flask:
    return app_of(store)


def follow(app: Flask, path: str = FRONT, secret: str = RUNNING.token, **headers: str) -> Reader:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reader(browser_of(app).get(path, headers={**bearer(secret), **named}))


@pytest.fixture
def ada(store: Store) -> Seat:
    return store.join(room="front", label="ada")


def last_event(store: Store) -> int:
    """The newest event's id."""
    newest: int = max(store.columns("events", "id"))[0]
    return newest


def newest_message(seat: Seat) -> Json:
    """As room_history gives it."""
    found: Json = seat("room_history", limit=1)["messages"][0]
    return found


def test_a_message_comes_as_room_history_gives_it(store: Store, app: Flask, ada: Seat) -> None:
    with closing(follow(app)) as reader:
        first = ada.send("*", "Who has\nfeed.py?\u2028", subject="s", ttl_s=60)
        sent_at = last_event(store)
        event = reader.next()
        assert (event.name, event.id) == ("message", str(sent_at))
        assert json.loads(event.data) == newest_message(ada)
        ada.send("*", "again", reply_to=first["message_id"])
        assert reader.message() == newest_message(ada)


@pytest.mark.usefixtures("ada")
def test_it_begins_with_what_server_and_which_room_it_is(store: Store, app: Flask) -> None:
    with closing(follow(app, "/api/rooms/front/stream")) as reader:
        told = json.loads(reader.ready.data)
        assert told["room"] == "shared:front"
        assert told["instanceId"] == RUNNING.instance_id
        assert told["buildId"]
        assert reader.ready.id == str(last_event(store))


def test_messages_of_other_rooms_and_other_events_are_not_told(app: Flask, store: Store, ada: Seat) -> None:
    with closing(follow(app)) as reader:
        store.join(room="back").send("*", "elsewhere")
        ada("msg_recv")
        ada.send("*", "here")
        assert reader.message()["body"] == "here"


@pytest.mark.parametrize("by", ["header", "query"])
def test_who_comes_back_is_told_what_it_missed_once(app: Flask, ada: Seat, by: str) -> None:
    with closing(follow(app)) as reader:
        ada.send("*", "one")
        known = reader.next().id
    ada.send("*", "two")
    ada.send("*", "three")
    path, headers = (FRONT, {"Last_Event_ID": known}) if by == "header" else (f"{FRONT}?since={known}", {})
    with closing(follow(app, path, **headers)) as reader:
        assert reader.ready.id == known
        ada.send("*", "four")
        assert [reader.message()["body"] for _ in range(3)] == ["two", "three", "four"]


@pytest.mark.parametrize("known", ["9" * 15, "9" * 30, "-1", "abc"])
def test_who_knows_an_event_that_never_was_reads_again(
    store: Store, app: Flask, ada: Seat, known: str
) -> None:
    ada.send("*", "in the history")
    with closing(follow(app, Last_Event_ID=known)) as reader:
        assert reader.ready.id == ""
        resync = reader.next()
        assert (resync.name, resync.id) == ("resync", str(last_event(store)))
        ada.send("*", "after it")
        assert reader.message()["body"] == "after it"


@pytest.mark.usefixtures("ada")
def test_who_was_away_for_long_reads_again(store: Store, app: Flask) -> None:
    known = str(last_event(store))
    store.runtime.database.write(lambda work: [work.emit("tick", "home") for _ in range(QUEUE_SIZE)])
    with closing(follow(app, Last_Event_ID=known)) as reader:
        assert reader.next().name == "resync"


def stream_of(store: Store, caller: Principal | None = None, quiet_s: float = 60) -> RoomStream:
    room = FollowedRoom(store.runtime.database, caller or store.admin(), "front")
    start = Start(last_event(store), [])
    return RoomStream(store.runtime.database, room, start, lambda *_: (b"a message",), {}, quiet_s)


@pytest.mark.usefixtures("ada")
def test_who_is_too_slow_reads_again_and_then_goes_on(store: Store) -> None:
    stream = stream_of(store)
    with store.runtime.feed.subscribe(lambda event: event.kind == "message_sent", size=2) as subscription:
        sent = stream.run(subscription)
        assert b"ready" in next(sent)
        messages = [
            FeedEvent(number, 0, "message_sent", "home", {"message": 1, "rooms": ["shared:front"]})
            for number in range(last_event(store) + 1, last_event(store) + 4)
        ]
        store.runtime.database.write(lambda work: [work.emit("tick", "back") for _ in messages])
        for message in messages:
            subscription.offer(message)
        assert next(sent).startswith(b"event: resync\n"), "one bounded queue is all that a slow reader costs"
        subscription.offer(messages[-1])
        subscription.offer(messages[-1]._replace(id=last_event(store) + 1))
        assert next(sent) == b"a message"
        assert subscription.next(0) is None, "what the history has was not told again"


@pytest.mark.usefixtures("ada")
def test_silence_is_filled_with_heartbeats(store: Store) -> None:
    stream = stream_of(store, quiet_s=0)
    with store.runtime.feed.subscribe(lambda _: False) as subscription:
        sent = stream.run(subscription)
        assert [next(sent) for _ in range(3)][1:] == [b"event: heartbeat\ndata: {}\n\n"] * 2


def test_a_message_that_was_removed_is_not_told(store: Store, app: Flask, ada: Seat) -> None:
    known = str(last_event(store))
    ada.send("*", "removed")
    store.clock.forward(1)
    store.runtime.database.write(lambda work: delete_messages_before(work, work.now))
    ada.send("*", "kept")
    with closing(follow(app, Last_Event_ID=known)) as reader:
        assert reader.message()["body"] == "kept"


def test_an_agent_follows_the_rooms_that_its_sessions_are_in(store: Store, app: Flask, ada: Seat) -> None:
    key = agent_key(store)
    store.add_agent("mara")
    other = agent_key(store, "mara")
    with closing(follow(app, secret=key)) as reader:
        ada.send("*", "hello")
        assert reader.message()["body"] == "hello"
    refused = browser_of(app).get(FRONT, headers=bearer(other))
    assert (refused.status_code, error_of(refused)) == (409, "not_in_room")


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("path", ["/api/rooms/nowhere/stream", "/api/rooms/shared:front//stream"])
def test_a_room_that_is_none_is_told(app: Flask, path: str) -> None:
    refused = browser_of(app).get(path, headers=bearer(RUNNING.token))
    assert (refused.status_code, error_of(refused)) == (404, "unknown_room")


@pytest.mark.parametrize(("tool", "given"), [("room_leave", {}), ("room_leave_room", {"room": "front"})])
def test_it_ends_when_the_agents_last_session_leaves_the_room(
    store: Store, app: Flask, ada: Seat, tool: str, given: dict[str, str]
) -> None:
    second = store.join(room="front")
    speaker = store.join(store.local(agent=store.add_agent("mara").agent_id), room="front")
    with closing(follow(app, secret=agent_key(store))) as reader, closing(follow(app)) as admin:
        ada(tool, **given)
        speaker.send("*", "one is here still")
        assert reader.message()["body"] == "one is here still"
        second(tool, **given)
        speaker.send("*", "nobody is here")
        assert reader.is_over()
        assert [admin.message()["body"] for _ in range(2)][1] == "nobody is here"


def test_it_ends_when_the_leaving_may_be_among_what_was_missed(store: Store) -> None:
    caller = store.add_agent("mara")
    mara = store.join(store.local(agent="mara"), room="front")
    stream = stream_of(store, caller)
    with store.runtime.feed.subscribe(lambda event: event is RESYNC) as subscription:
        sent = stream.run(subscription)
        assert b"ready" in next(sent)
        mara("room_leave")
        subscription.offer(RESYNC)
        assert next(sent, None) is None


def test_it_ends_when_its_key_is_revoked(store: Store, app: Flask, ada: Seat) -> None:
    with closing(follow(app, secret=agent_key(store))) as reader:
        store.runtime.database.write(lambda work: access.revoke_keys(work, "default"))
        ada.send("*", "not for it")
        assert reader.is_over()


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_stream_that_nobody_reads_is_given_up(store: Store, app: Flask, method: str) -> None:
    answer = browser_of(app).open(FRONT, method=method, headers=bearer(RUNNING.token))
    assert answer.mimetype == "text/event-stream"
    answer.close()
    assert store.runtime.feed.subscribers == 0
