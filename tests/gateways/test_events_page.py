"""/events: what the log's page says of each event, its filters, pages, search, live rows and export."""

import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import QueuePool

from agentsroom.core.feed import FeedEvent, events_after, last_event_id
from agentsroom.factory import create_app
from agentsroom.gateways import event_search
from agentsroom.gateways.event_search import EventSearch, Wanted
from agentsroom.gateways.events_page import EventsLive, Region
from agentsroom.runtime import make_event_kinds
from tests.support.stores import Json, Store
from tests.support.web import PAGE, agent_key, app_of, bearer, browser_of, error_of, log_in

TOKEN = "Ab1" * 14 + "x"
"""Has the form of a token of ours."""


@pytest.fixture
def admin(app: Flask, sqlite_store: Store) -> FlaskClient:
    """A browser that is logged in: row 1."""
    client = browser_of(app)
    log_in(client, sqlite_store)
    return client


def fill(store: Store, count: int, kind: str = "room_resumed") -> None:
    store.runtime.database.write(
        lambda work: [work.emit(kind, "home", room=f"shared:room-{number}") for number in range(count)]
    )


def shown(client: FlaskClient, address: str = "/events") -> list[int]:
    """The rows of the page from the top."""
    response = client.get(address, headers=PAGE)
    assert response.status_code == 200, response.text
    return [int(number) for number in re.findall(r'id="event-(\d+)"', response.text)]


def link(client: FlaskClient, address: str, name: str) -> str | None:
    """Where a link of the pager leads."""
    found = re.search(rf'<a class="button"([^>]*)>\s*{name}\s*</a>', client.get(address, headers=PAGE).text)
    assert found is not None
    href = re.search(r'href="([^"]*)"', found[1])
    return None if href is None else href[1].replace("&amp;", "&")


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


def test_only_the_operator_sees_the_log(client: FlaskClient, sqlite_store: Store) -> None:
    key = agent_key(sqlite_store)
    for address in ("/events", "/events/export"):
        assert client.get(address, headers=PAGE).status_code in (302, 401)
        assert client.get(address, headers=bearer(key)).status_code == 403
        assert client.post(address).status_code in (401, 405)


def test_a_row_says_who_did_what_and_keeps_apart_what_strangers_wrote(
    admin: FlaskClient, sqlite_store: Store
) -> None:
    ada = sqlite_store.join(label="<i>ada</i>", room="front")
    bob = sqlite_store.join(label="bob", room="front")
    ada.send(bob.id)
    page = admin.get("/events?kind=messages", headers=PAGE).text
    assert "message 1 to bob in shared:front" in text_of(page)
    assert "<bdi>&lt;i&gt;ada&lt;/i&gt;</bdi>" in page
    assert "<i>ada" not in page


def test_times_of_another_day_name_it(admin: FlaskClient, sqlite_store: Store) -> None:
    fill(sqlite_store, 1)
    sqlite_store.clock.forward(24 * 3_600)
    fill(sqlite_store, 1)
    times = re.findall(r'data-form="moment">([^<]+)<', admin.get("/events", headers=PAGE).text)
    assert times == ["17:46:40", "17 Mar 2030, 17:46:40", "17 Mar 2030, 17:46:40"]


def test_pages_hold_each_row_once_and_lead_both_ways(admin: FlaskClient, sqlite_store: Store) -> None:
    fill(sqlite_store, 129)
    assert shown(admin) == list(range(130, 70, -1))
    assert link(admin, "/events", "Newer") is None
    older = link(admin, "/events", "Older")
    assert older == "/events?before=71"
    assert shown(admin, older) == list(range(70, 10, -1))
    oldest = link(admin, older, "Older")
    assert oldest == "/events?before=11"
    assert shown(admin, oldest) == list(range(10, 0, -1))
    assert link(admin, oldest, "Older") is None
    assert link(admin, oldest, "Newer") == older
    assert link(admin, older, "Newer") == "/events?before=131"
    assert shown(admin, "/events?before=131") == shown(admin)
    assert link(admin, "/events?before=131", "Newer") is None
    assert link(admin, "/events?before=100", "Newer") == "/events"


def test_a_group_is_paged_by_itself(admin: FlaskClient, sqlite_store: Store) -> None:
    for _ in range(70):
        fill(sqlite_store, 2)
        fill(sqlite_store, 1, "team_deleted")
        fill(sqlite_store, 1, "cap_set")
    rows = shown(admin, "/events?kind=rooms")
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == 60
    older = link(admin, "/events?kind=rooms", "Older")
    assert older == f"/events?kind=rooms&before={rows[-1]}"
    assert shown(admin, older)[0] == next(n for n in range(rows[-1] - 1, 0, -1) if (n - 2) % 4 != 2)
    assert link(admin, older, "Newer") == f"/events?kind=rooms&before={rows[0] + 1}"
    assert len(shown(admin, "/events?kind=access")) == 60


def test_words_are_looked_for_in_kind_who_data_and_labels(admin: FlaskClient, sqlite_store: Store) -> None:
    ada = sqlite_store.join(label="Ада", room="front")
    ada.claim("src/feed.py")
    ada.claim('src/"odd".py')
    lease = len(shown(admin)) - 1
    for words in ("feed.py", "FEED lease", "ада feed", "claimed shared:front feed"):
        assert shown(admin, f"/events?q={words}") == [lease], words
    assert shown(admin, '/events?q="odd"') == [lease + 1]
    assert shown(admin, "/events?q=operator") == [1]
    assert shown(admin, "/events?q=ада&kind=sessions") == [2]
    assert shown(admin, "/events?q=feed+nowhere") == []


def test_a_request_looks_through_so_many_rows_and_says_which(
    admin: FlaskClient, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "A_LOOK", 10)
    monkeypatch.setattr(event_search, "MOST_LOOKED_THROUGH", 50)
    fill(sqlite_store, 119)
    page = admin.get("/events?q=room-3", headers=PAGE).text
    assert "Rows 120 to 71 looked through." in text_of(page)
    assert "Nothing found yet" in page
    further = link(admin, "/events?q=room-3", "Go on")
    assert further == "/events?q=room-3&before=71"
    assert shown(admin, further) == list(range(41, 31, -1))
    assert "Rows 70 to 21 looked through." in text_of(admin.get(further, headers=PAGE).text)
    last = link(admin, further, "Go on")
    assert last == "/events?q=room-3&before=21"
    assert shown(admin, last) == [5]
    assert link(admin, last, "Go on") is None
    assert link(admin, last, "Newest") == "/events?q=room-3"


def test_a_page_full_of_matches_goes_on_below_its_last_row(admin: FlaskClient, sqlite_store: Store) -> None:
    fill(sqlite_store, 100)
    assert shown(admin, "/events?q=shared") == list(range(101, 41, -1))
    assert link(admin, "/events?q=shared", "Go on") == "/events?q=shared&before=42"
    assert shown(admin, "/events?q=shared&before=42") == list(range(41, 1, -1))


@pytest.mark.parametrize(
    "query", ["kind=nope", "before=x", "before=-1", "before=²", f"before={'9' * 19}", f"q={'x' * 201}"]
)
def test_a_wrong_address_is_refused(admin: FlaskClient, query: str) -> None:
    for address in ("/events", "/events/export"):
        response = admin.get(f"{address}?{query}")
        assert response.status_code == 422
        assert error_of(response) == "invalid_argument"


def test_what_is_not_there_is_said_with_a_way_on(admin: FlaskClient) -> None:
    assert "No such event" in admin.get("/events?kind=leases", headers=PAGE).text
    page = admin.get("/events?q=nothing", headers=PAGE).text
    assert "Nothing found" in page
    assert 'href="/events"' in page


def test_no_token_is_shown_or_exported(admin: FlaskClient, sqlite_store: Store) -> None:
    ada = sqlite_store.join(label=f"ada {TOKEN}", room="front")
    ada.claim(f"{TOKEN}/login/index.html")
    sqlite_store.runtime.database.write(
        lambda work: work.emit("later", "home", **{TOKEN: f"Bearer {TOKEN[:20]}"})
    )
    for address in ("/events", "/events?q=ada", "/events/export"):
        text = admin.get(address, headers=PAGE).text
        assert TOKEN not in text
        assert "[hidden]/login/index.html" in text, "what is no secret stays"
    assert TOKEN[:20] not in admin.get("/events/export").text


def exported(client: FlaskClient, query: str = "") -> list[Json]:
    return [json.loads(line) for line in client.get(f"/events/export{query}").data.split(b"\n")[:-1]]


def test_the_export_is_the_whole_log_oldest_first(
    admin: FlaskClient, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "A_PIECE", 10)
    fill(sqlite_store, 35)
    lines = exported(admin)
    assert [line["id"] for line in lines] == list(range(1, 37))
    assert lines[1] == {
        "id": 2,
        "at": "2030-03-17T17:46:40.000Z",
        "kind": "room_resumed",
        "team": "home",
        "data": {"room": "shared:room-0"},
    }
    response = admin.get("/events/export")
    assert response.mimetype == "application/x-ndjson"
    assert response.headers["Content-Disposition"] == "attachment; filename=events-2030-03-17.jsonl"
    assert [line["id"] for line in exported(admin, "?kind=rooms&q=room-3")] == [5, 32, 33, 34, 35, 36]


def test_a_line_of_the_export_is_one_line_to_every_reader(admin: FlaskClient, sqlite_store: Store) -> None:
    odd = "a\u2028b\u2029c\x85d\ne"
    sqlite_store.runtime.database.write(lambda work: work.emit("later", "home", text=odd))
    text = admin.get("/events/export").text
    assert len(text.splitlines()) == text.count("\n") == 2
    assert json.loads(text.splitlines()[1])["data"] == {"text": odd}


def test_an_export_holds_no_transaction_and_ends_where_it_began(sqlite_store: Store) -> None:
    database = sqlite_store.runtime.database
    fill(sqlite_store, 2_500)
    pieces = EventSearch(database, make_event_kinds()).matching_upwards(Wanted())
    first = next(pieces)
    assert isinstance(database.engine.pool, QueuePool)
    assert database.engine.pool.checkedout() == 0
    fill(sqlite_store, 1_000)
    rest = [event for piece in pieces for event in piece]
    assert len(first) + len(rest) == 2_500


class Watch:
    """The open page of an address, sent each event once."""

    def __init__(self, store: Store, wanted: Wanted) -> None:
        self._store = store
        app = create_app(store.settings, store.runtime)

        def render(template: str, **variables: Any) -> str:
            return app.jinja_env.get_template(template).render(**variables)

        self.page = EventsLive(store.runtime.database, make_event_kinds(), render, wanted)
        self._seen = store.runtime.database.read(last_event_id)

    def new_events(self) -> list[FeedEvent]:
        events = self._store.runtime.database.read(lambda work: events_after(work, self._seen))
        self._seen = events[-1].id
        return [event for event in events if self.page.wants(event)]

    def sees(self) -> list[tuple[str, str]] | None:
        """Targets and swaps of what the page is sent; None: it reads itself again."""
        change = self.page.changes(self.new_events())
        return change and [(one.target, one.swap) for one in change.partials]


def test_the_newest_page_takes_rows_on_top_in_their_order(sqlite_store: Store) -> None:
    fill(sqlite_store, 1)
    watch = Watch(sqlite_store, Wanted())
    fill(sqlite_store, 2)
    change = watch.page.changes(watch.new_events())
    assert change is not None
    rows = [one.html for one in change.partials if (one.target, one.swap) == (Region.ROWS, "prepend")]
    assert [re.findall(r'id="event-(\d+)"', row) for row in rows] == [["2"], ["3"]]
    assert change.last_event == 3
    assert {one.target for one in change.partials} == set(Region) - {Region.BODY}


def test_a_filtered_page_is_sent_only_what_fits(sqlite_store: Store) -> None:
    ada = sqlite_store.join(label="ada")
    watch = Watch(sqlite_store, Wanted(words="ada lease_claimed"))
    ada.send("*")
    assert watch.sees() == [(Region.SUMMARY, "outerMorph")]
    ada.claim("a.py")
    sees = watch.sees()
    assert sees is not None
    assert (Region.ROWS, "prepend") in sees


def test_an_older_page_only_counts(sqlite_store: Store) -> None:
    fill(sqlite_store, 5)
    watch = Watch(sqlite_store, Wanted(before=3))
    fill(sqlite_store, 2)
    assert watch.sees() == [(Region.SUMMARY, "outerMorph"), (Region.NEW, "append")]


def test_more_than_a_page_at_once_is_read_again(sqlite_store: Store) -> None:
    watch = Watch(sqlite_store, Wanted())
    fill(sqlite_store, event_search.PAGE)
    assert watch.sees() is not None
    fill(sqlite_store, event_search.PAGE + 1)
    assert watch.sees() is None
    whole = watch.page.whole()
    assert [(one.target, one.swap) for one in whole.partials] == [
        (Region.SUMMARY, "outerMorph"),
        (Region.BODY, "outerMorph"),
    ]
    assert whole.last_event == 2 * event_search.PAGE + 1


def test_each_target_of_the_stream_stands_in_the_page(admin: FlaskClient, sqlite_store: Store) -> None:
    fill(sqlite_store, 1)
    pages = admin.get("/events", headers=PAGE).text + admin.get("/events?q=nothing", headers=PAGE).text
    assert {one for one in Region if f'id="{one}"' not in pages} == set()


def test_both_databases_page_filter_and_search_alike(store: Store) -> None:
    ada = store.join(label="ada")
    for number in range(70):
        ada.claim(f"{number}.py", mode="shared")
    fill(store, 10)
    client = browser_of(app_of(store))
    log_in(client, store)
    assert len(shown(client, "/events?kind=leases")) == 60
    older = link(client, "/events?kind=leases", "Older")
    assert older is not None
    assert len(shown(client, older)) == 10
    assert len(shown(client, "/events?q=ada+7.py")) == 7
    assert [line["kind"] for line in exported(client, "?kind=rooms")] == ["room_resumed"] * 10
