"""What an open page of the rooms is sent of each event: regions that it has, each message once, in few queries."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as hook

from agentsroom.core.database import Writing
from agentsroom.core.feed import FeedEvent, events_after, last_event_id
from agentsroom.core.html import Partial
from agentsroom.core.principals import Principal
from agentsroom.factory import create_app
from agentsroom.rooms.live import Parts, RoomLive, RoomsLive
from agentsroom.rooms.regions import Region
from agentsroom.rooms.service import rooms
from agentsroom.rooms.service.history_view import PAGE_SIZE, Wanted
from agentsroom.rooms.store.pages import MOST_IDS
from agentsroom.rooms.timeline import DEFAULT_SPAN
from tests.support.stores import Seat, Store

TEMPLATES = Path(__file__).parents[2] / "templates"
NEWEST = Wanted()
ID = re.compile(r'\bid="([^"]+)"')


class Watch:
    """The open page of shared:front, sent each event once."""

    def __init__(self, store: Store, wanted: Wanted = NEWEST) -> None:
        self._store = store
        app = create_app(store.settings, store.runtime)

        def render(template: str, **variables: Any) -> str:
            return app.jinja_env.get_template(template).render(**variables)

        parts = Parts(store.runtime.database, store.runtime.machine, render)
        self.all_rooms = RoomsLive(parts, store.admin())
        self.room = RoomLive(parts, store.admin(), "shared:front", wanted, DEFAULT_SPAN)
        self._seen = store.runtime.database.read(last_event_id)

    def new_events(self) -> list[FeedEvent]:
        events = self._store.runtime.database.read(lambda work: events_after(work, self._seen))
        self._seen = events[-1].id
        return [event for event in events if self.room.wants(event)]

    def sees(self) -> dict[str, Partial]:
        """What happened since the last look changes of the room's page: target → change."""
        change = self.room.changes(self.new_events())
        assert change is not None
        partials = change.partials
        assert len({one.target for one in partials}) == len(partials)
        return {one.target: one for one in partials}


@pytest.fixture
def pair(sqlite_store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front."""
    ada = sqlite_store.join(label="ada", room="front")
    return ada, sqlite_store.join(label="bob", room="front")


@pytest.fixture
def watch(sqlite_store: Store, pair: tuple[Seat, Seat]) -> Watch:
    assert pair
    return Watch(sqlite_store)


def parts_of(partials: list[Partial]) -> dict[str, str]:
    return {one.target: one.html for one in partials}


@contextmanager
def queries_of(store: Store) -> Iterator[list[str]]:
    """Grows with each query that the store is asked."""
    asked: list[str] = []

    def trace(connection: Any, *_: object) -> None:
        connection.set_trace_callback(lambda sql: asked.append(sql) if "SELECT" in sql else None)

    hook.listen(store.runtime.database.engine, "checkout", trace)
    yield asked
    hook.remove(store.runtime.database.engine, "checkout", trace)


def steer(store: Store, act: Callable[[Writing, Principal, str], object]) -> None:
    """Pauses or resumes shared:front."""
    store.runtime.database.write(lambda work: act(work, store.admin(), "front"))


def test_each_region_stands_in_a_page_and_is_sent(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, bob = pair
    pages = [*watch.all_rooms.whole().partials, *watch.room.whole().partials]  # the room is empty yet
    sent = [one for one in pages if one.html]
    for act in (
        lambda: ada.send("*"),
        bob.receive,
        lambda: bob.claim("a.py"),
        lambda: bob("room_leave"),
        lambda: steer(sqlite_store, rooms.pause),
    ):
        act()
        sent += watch.sees().values()
        pages += watch.room.whole().partials
    standing = {one for page in pages for one in ID.findall(page.html)}
    regions = {one.target for one in sent if not one.target.startswith("message-")}
    assert regions == set(Region) - {Region.COMPOSE_PROBLEM}, "which the answer to the form alone brings"
    assert {one.target for one in sent} <= standing
    for one in sent:
        if one.swap == "outerMorph":
            assert ID.findall(one.html)[0] == one.target, "it takes the place of the element with its id"


def test_the_templates_take_the_ids_of_regions_from_one_place() -> None:
    for path in TEMPLATES.rglob("*.html"):
        written = set(re.findall(r'(?:\bid="|href="#)([\w-]+)"', path.read_text()))
        assert not written & set(Region), path.name


def test_a_message_is_appended_once_and_read_messages_are_shown_again(
    watch: Watch, pair: tuple[Seat, Seat]
) -> None:
    ada, bob = pair
    first = ada.send("*", "one")["message_id"]
    bob.receive()
    seen = watch.sees()
    assert "one" in seen[Region.HISTORY].html
    assert f"message-{first}" not in seen, "what is appended is as it is now"
    assert seen[Region.NO_MESSAGES].swap == "delete"
    second = ada.send("*", "two")["message_id"]
    assert watch.sees()[Region.HISTORY].html.count("<article") == 1
    bob.receive()
    assert 'data-state="read"' in watch.sees()[f"message-{second}"].html


def test_a_day_is_marked_where_a_message_is_appended_alone(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, bob = pair
    ada.send("*")
    assert 'class="day"' in watch.sees()[Region.HISTORY].html
    sqlite_store.clock.forward(24 * 3_600)
    ids = [ada.send("*")["message_id"] for _ in range(2)]
    assert watch.sees()[Region.HISTORY].html.count('class="day"') == 1
    bob.receive()
    assert 'class="day"' not in watch.sees()[f"message-{ids[0]}"].html


def test_what_happens_in_another_room_changes_the_list_of_rooms_alone(
    watch: Watch, sqlite_store: Store
) -> None:
    one, other = sqlite_store.join(room="back"), sqlite_store.join(room="back")
    one("room_leave_room", room=f"dir:{sqlite_store.folder.name}")
    watch.new_events()
    one.send("*", "elsewhere")
    assert set(watch.sees()) == {Region.SUMMARY, Region.ROOM_LIST}
    other.receive()
    assert set(watch.sees()) == {Region.SUMMARY, Region.ROOM_LIST}


def test_an_event_of_many_messages_asks_no_more_than_one_of_one(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, bob = pair
    asked: dict[int, int] = {}
    for count in (1, 50):
        for _ in range(count):
            ada.send("*")
        watch.new_events()
        bob.receive(limit=count)
        events = watch.new_events()
        with queries_of(sqlite_store) as queries:
            change = watch.room.changes(events)
        assert change is not None
        assert sum(one.target.startswith("message-") for one in change.partials) == count
        asked[count] = len(queries)
    assert asked[1] == asked[50]


def test_a_room_of_many_asks_no_more_than_one_of_few(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    asked = []
    for _ in range(2):
        pair[0].send("*")
        events = watch.new_events()
        with queries_of(sqlite_store) as queries:
            watch.room.changes(events)
        asked.append(len(queries))
        for _ in range(5):
            sqlite_store.join(room="front")
        watch.new_events()
    assert asked[0] == asked[1]


def test_many_messages_at_once_have_the_main_part_read_again(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, _ = pair
    for _ in range(MOST_IDS + 1):
        ada.send("*", ttl_s=60)
    watch.new_events()
    sqlite_store.clock.forward(61)
    ada("msg_unread")
    assert watch.room.changes(watch.new_events()) is None
    later = ada.send("*")["message_id"]
    whole = watch.room.whole()
    assert f'id="message-{later}"' in parts_of(whole.partials)[Region.HISTORY]
    assert whole.last_event == watch.new_events()[-1].id, "so the later message is not sent once more"


def test_messages_that_are_pruned_are_gone_from_every_page(
    watch: Watch, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    pair[0].send("*")
    watch.new_events()
    number = sqlite_store.runtime.database.write(lambda work: work.emit("messages_pruned", "home", count=1))
    pruned = FeedEvent(number, 0, "messages_pruned", "home", {"count": 1})
    assert watch.all_rooms.wants(pruned)
    assert watch.room.wants(pruned)
    assert watch.room.changes([pruned]) is None


def test_an_older_page_takes_no_new_messages(sqlite_store: Store, pair: tuple[Seat, Seat]) -> None:
    ada, bob = pair
    ada.send("*")
    second = ada.send("*")["message_id"]
    older = Watch(sqlite_store, Wanted(before=second))
    bob.receive()
    ada.send("*")
    assert set(older.sees()) == {
        Region.SUMMARY,
        Region.ROOM_LIST,
        f"message-{second - 1}",
        f"message-{second}",
    }


def test_a_page_that_is_read_again_shows_what_it_showed_before(
    sqlite_store: Store, pair: tuple[Seat, Seat]
) -> None:
    ada, _ = pair
    ids = [ada.send("*")["message_id"] for _ in range(PAGE_SIZE + 10)]
    again = Watch(sqlite_store, Wanted(shown_from=ids[3]))
    history = parts_of(again.room.whole().partials)[Region.HISTORY]
    assert history.count("<article") == PAGE_SIZE + 7
    assert f"before={ids[3]}" in history
    everything = Watch(sqlite_store, Wanted(shown_from=ids[0]))
    assert "before=" not in parts_of(everything.room.whole().partials)[Region.HISTORY]
