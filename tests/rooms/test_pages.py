"""The pages of the rooms, as they are rendered: what they show, in which order, and what they say when empty."""

import re
from html.parser import HTMLParser

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.dialects import sqlite

from agentsroom.core.database import Reading
from agentsroom.core.html import dom_id
from agentsroom.core.query import Query
from agentsroom.factory import create_app
from agentsroom.gateways.running import Running
from agentsroom.rooms.addresses import room_url
from agentsroom.rooms.service import history_view, room_view, rooms_view
from agentsroom.rooms.service.history_view import PAGE_SIZE
from agentsroom.rooms.service.rooms import get_named
from agentsroom.rooms.service.shown import span, tile
from agentsroom.rooms.store import pages as queries
from agentsroom.rooms.store.pages import MOST_COUNTED, MOST_IDS
from agentsroom.rooms.timeline import DEFAULT_SPAN
from tests.support.stores import Seat, Store

BASE = "http://127.0.0.1:8765"
RUNNING = Running(url=BASE, port=8765, pid=1, instance_id="i", token="t")
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


class Text(HTMLParser):
    """The words of a page, in order, a space between two elements; and the id of each element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value and tag != "symbol"]

    def __contains__(self, words: str) -> bool:
        return words in " ".join(self.words)


class Pages:
    """The admin's browser, without JavaScript."""

    def __init__(self, app: Flask) -> None:
        self._client: FlaskClient = app.test_client()

    def html(self, path: str, status: int = 200) -> str:
        headers = {"Authorization": f"Bearer {RUNNING.token}", "Accept": "text/html"}
        response = self._client.get(path, base_url=BASE, headers=headers)
        assert response.status_code == status, response.text
        return response.text

    def text(self, path: str, status: int = 200) -> Text:
        return Text(self.html(path, status))

    def part(self, path: str, id: str) -> Text:
        """The element of that id, which must be a list item, article, table row or section."""
        found = re.search(rf'<(li|article|tr|section)\b[^>]*\bid="{id}".*?</\1>', self.html(path), re.DOTALL)
        assert found is not None, id
        return Text(found[0])


@pytest.fixture
def pages(sqlite_store: Store) -> Pages:
    return Pages(create_app(sqlite_store.settings, sqlite_store.runtime, RUNNING))


@pytest.fixture
def pair(sqlite_store: Store) -> tuple[Seat, Seat]:
    """Two sessions in shared:front."""
    ada = sqlite_store.join(label="ada-one", room="front", harness="codex", autonomy="hold")
    return ada, sqlite_store.join(label="bob", room="front")


def test_no_room_yet_says_what_to_paste(pages: Pages) -> None:
    page = pages.text("/rooms")
    assert "No agent has joined a room" in page
    assert "agents-room mcp" in page


def test_rooms_are_listed_by_kind_with_what_happens_in_them(
    pages: Pages, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, _ = pair
    ada.send("*", "Line one\nLine two")
    ada.claim("notes.md")
    page = pages.text("/rooms")
    kinds = [word for word in page.words if word in ("Repositories", "Shared", "Folders")]
    assert kinds == ["Shared", "Folders"]
    line = pages.part("/rooms", "room-shared-front")
    assert "2 alive of 2" in line
    assert "Line one ada-one ·" in line
    assert line.words[-2:] == ["1", "unread"]
    assert "1" in line.words[line.words.index("ada-one") :]
    assert f"room-dir-{sqlite_store.folder.name}" in page.ids


def test_a_room_shows_its_history_oldest_first_with_each_delivery(
    pages: Pages, pair: tuple[Seat, Seat]
) -> None:
    ada, bob = pair
    first = ada.send("*", "May I?\n  indented", subject="A question")["message_id"]
    bob.receive()
    bob.send(ada.id, "You may", reply_to=first)
    page = pages.text("/rooms/shared:front")
    assert page.words.index("May") < page.words.index("You")
    assert "May I?<br>  indented" in pages.html("/rooms/shared:front"), "line breaks stay"
    shown = pages.part("/rooms/shared:front", f"message-{first}")
    assert "ada-one to *" in shown
    assert "A question" in shown
    assert "bob read 17:46" in shown
    reply = pages.part("/rooms/shared:front", f"message-{first + 1}")
    assert f"bob replies to {first} to ada-one" in reply, "a session is called by its label"
    assert "ada-one stored" in reply


def test_a_room_shows_who_is_here_and_who_holds_what(pages: Pages, pair: tuple[Seat, Seat]) -> None:
    ada, _ = pair
    ada.claim("agentsroom/feed.py", ttl_s=600)
    here = pages.part("/rooms/shared:front", f"session-{ada.id}")
    assert "ada-one codex · hold · seen 0 s alive" in here
    lease = pages.part("/rooms/shared:front", "lease-1")
    assert "agentsroom/feed.py ada-one · exclusive 10 min left" in lease


def test_a_message_whose_time_is_over_has_expired(
    pages: Pages, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, _ = pair
    message = ada.send("*", ttl_s=60)["message_id"]
    sqlite_store.clock.forward(61)
    assert "bob expired" in pages.part("/rooms/shared:front", f"message-{message}")


def test_a_room_without_messages_says_how_to_write(pages: Pages, pair: tuple[Seat, Seat]) -> None:
    assert pair
    page = pages.text("/rooms/shared:front")
    assert "Nobody has written here yet" in page
    assert "agents-room send '*'" in page
    assert "Nobody holds a path" in page


def test_a_room_that_everybody_left_says_how_to_come_in(pages: Pages, pair: tuple[Seat, Seat]) -> None:
    for seat in pair:
        seat("room_leave")
    assert "agents-room join --room shared:front" in pages.text("/rooms/shared:front")


def test_an_unknown_room_is_told(pages: Pages) -> None:
    told = pages.text("/rooms/shared:nowhere", 404)
    assert "No room of the team home is called" in told
    assert "start from the rooms" in told
    assert "room_" not in told


@pytest.mark.parametrize("before", ["", "x", "-1", "9" * 16])
def test_a_bad_page_of_the_history_is_refused(pages: Pages, pair: tuple[Seat, Seat], before: str) -> None:
    assert pair
    assert "a message's id is taken" in pages.text(f"/rooms/shared:front?before={before}", 422)


def test_the_history_is_paged_and_a_day_begins_where_it_does(
    pages: Pages, pair: tuple[Seat, Seat], sqlite_store: Store
) -> None:
    ada, _ = pair
    ids = [ada.send("*", f"m{number}")["message_id"] for number in range(PAGE_SIZE)]
    sqlite_store.clock.forward(24 * 3_600)
    ids += [ada.send("*", f"m{number}")["message_id"] for number in range(PAGE_SIZE, PAGE_SIZE + 2)]
    newest = pages.text("/rooms/shared:front")
    assert shown_ids(newest) == ids[2:]
    assert "Sunday, 17 March 2030" in newest
    assert "Monday, 18 March 2030" in newest
    assert "Older messages" in newest
    assert f"?before={ids[2]}" in pages.html("/rooms/shared:front")
    older = pages.text(f"/rooms/shared:front?before={ids[2]}")
    assert shown_ids(older) == ids[:2]
    assert "To the newest messages" in older
    assert "Older messages" not in older


def shown_ids(page: Text) -> list[int]:
    return [int(one.removeprefix("message-")) for one in page.ids if one.startswith("message-")]


def test_what_strangers_write_is_text(pages: Pages, sqlite_store: Store) -> None:
    seat = sqlite_store.join(label=HOSTILE[:80], room=HOSTILE, tags=[HOSTILE], harness=HOSTILE)
    sqlite_store.join(label=HOSTILE, room=HOSTILE)
    seat.send("*", HOSTILE, subject=HOSTILE)
    seat.claim(HOSTILE.replace("/", ""))
    for path in ("/rooms", room_url(f"shared:{HOSTILE}")):
        html = pages.html(path)
        assert "<img" not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html
        page = Text(html)
        assert len(set(page.ids)) == len(page.ids)
        assert all(re.fullmatch(r"[A-Za-z][\w-]*", one) for one in page.ids)


@pytest.mark.parametrize("name", ["a/b", "a//b", "a?b#c", "ä ö", "%2F", "100%", "a/../b"])
def test_every_name_has_an_address(pages: Pages, sqlite_store: Store, name: str) -> None:
    sqlite_store.join(room=name)
    html = pages.html("/rooms")
    address = room_url(f"shared:{name}")
    assert f'href="{address}"' in html
    assert " ".join(f"shared:{name}".split()) in pages.text(address)


def test_ids_are_safe_selectors_and_differ_when_names_do() -> None:
    names = ["app-one", "app_one", "app.one", "app one", "app_5f_one", "äpp", "app:one"]
    ids = [dom_id("room", name) for name in names]
    assert len(set(ids)) == len(names)
    assert all(re.fullmatch(r"room-[A-Za-z0-9_-]+", one) for one in ids)


@pytest.mark.parametrize(
    ("name", "letters"),
    [("bench-sqlite", "bs"), ("docs", "do"), ("x", "x"), ("日本語", "日本"), ("--", "--")],
)
def test_two_letters_stand_for_a_session(name: str, letters: str) -> None:
    assert tile(name) == letters


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_200, "2 h"), (86_400, "1 day"), (200_000, "2 days")],
)
def test_spans_are_said_in_whole_units(seconds: int, words: str) -> None:
    assert span(seconds * 1_000) == words


def test_unread_and_last_messages_are_told_by_room(store: Store) -> None:
    ada, bob, far = store.join(room="front"), store.join(room="front"), store.join(room="back")
    for seat in (ada, bob, far):
        seat("room_leave_room", room=f"dir:{store.folder.name}")
    ada.send("*", "first")
    ada.send(bob.id, "second", ttl_s=60)
    far.send(far.id, "alone")
    assert told(store) == {"shared:front": (2, "second"), "shared:back": (1, "alone")}
    store.clock.forward(61)
    assert told(store) == {"shared:front": (1, "second"), "shared:back": (1, "alone")}
    bob.receive()
    assert told(store) == {"shared:front": (0, "second"), "shared:back": (1, "alone")}


def told(store: Store) -> dict[str, tuple[int, str]]:
    """Each room that has messages → how many deliveries are unread, and the last message."""
    sight = store.runtime.database.read(lambda work: rooms_view.look(work, "home"))
    names = {room.id: room.name for room in sight.rooms}
    return {names[room]: (sight.unread.get(room, 0), last.body) for room, last in sight.last.items()}


def test_no_page_of_another_team_is_counted(store: Store) -> None:
    stranger = store.join(store.add_agent("stranger", "others"), room="front")
    stranger.send(stranger.id)
    sight = store.runtime.database.read(lambda work: rooms_view.look(work, "home"))
    assert (sight.rooms, sight.unread, sight.last) == ([], {}, {})


def test_messages_are_found_by_their_ids_in_their_room_alone(store: Store) -> None:
    ada, far = store.join(room="front"), store.join(room="back")
    far("room_leave_room", room=f"dir:{store.folder.name}")
    here, there = ada.send(ada.id)["message_id"], far.send(far.id)["message_id"]

    def found(work: Reading) -> list[int]:
        room = get_named(work, "home", "shared:front")
        return [one.id for one in history_view.some_messages(work, room, [there, here, 10**6])]

    assert store.runtime.database.read(found) == [here]


QUERIES = {name: one for name, one in vars(queries).items() if isinstance(one, Query)}
PARAMETERS = {
    **dict.fromkeys(
        ("room", "now", "most", "message", "first", "limit", *(f"id_{number}" for number in range(MOST_IDS))),
        1,
    ),
    "team": "home",
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_no_query_of_the_pages_goes_through_a_table_that_only_grows(
    sqlite_store: Store, query: Query
) -> None:
    sql, parameters = query.on(sqlite.dialect(paramstyle="qmark"), PARAMETERS)
    with sqlite_store.runtime.database.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", tuple(parameters)).all()
    scanned = [
        row[3] for row in plan if re.match(r"SCAN (deliveries|messages|message_rooms|sessions)\b", row[3])
    ]
    assert [one for one in scanned if not one.endswith("ix_deliveries_unread")] == []


def test_what_every_event_looks_up_costs_the_same_however_long_the_history(
    sqlite_store: Store, pair: tuple[Seat, Seat]
) -> None:
    ada, bob = pair
    costs = []
    for _ in range(2):
        add_read_messages(sqlite_store, ada, bob, MOST_COUNTED)
        ada.send("*")
        bob.receive(limit=1)
        costs.append(cost_of_a_look(sqlite_store))
    assert costs[0] == costs[1]


def add_read_messages(store: Store, sender: Seat, recipient: Seat, count: int) -> None:
    """To shared:front, without the work of sending them."""
    statements = {
        "INSERT INTO messages (team_id, sender_id, selector, subject, body, created_at) "
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) "
        "SELECT 'home', ?, '*', '', 'x', 1 FROM numbers": (count, sender.id),
        "INSERT INTO message_rooms (room_id, message_id) "
        "SELECT rooms.id, messages.id FROM rooms, messages "
        "WHERE rooms.name = ? AND messages.id NOT IN (SELECT message_id FROM deliveries)": ("shared:front",),
        "INSERT INTO deliveries (message_id, recipient_id, state, state_at) "
        "SELECT id, ?, 'read', 1 FROM messages WHERE id NOT IN (SELECT message_id FROM deliveries)": (
            recipient.id,
        ),
    }
    with store.runtime.database.engine.connect() as connection:
        for sql, parameters in statements.items():
            connection.exec_driver_sql(sql, parameters)


def cost_of_a_look(store: Store) -> int:
    """Steps of SQLite's machine for what the open pages look up at every event."""
    steps: list[None] = []

    def look(work: Reading) -> None:
        work.cursor.connection.set_progress_handler(lambda: steps.append(None), 1)
        rooms_view.look(work, "home")
        room_view.present(work, get_named(work, "home", "shared:front"), DEFAULT_SPAN)
        work.cursor.connection.set_progress_handler(None, 1)

    store.runtime.database.read(look)
    return len(steps)
