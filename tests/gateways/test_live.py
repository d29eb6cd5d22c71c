"""One viewer's stream: it begins where the page ended, repeats nothing, and says all again after a gap."""

from collections.abc import Hashable, Sequence

import pytest

from agentsroom.core.database import Writing
from agentsroom.core.feed import QUEUE_SIZE, FeedEvent, last_event_id
from agentsroom.core.html import Change, Partial
from agentsroom.factory import create_app
from agentsroom.gateways.live import Stream, Teller
from agentsroom.gateways.running import Running
from agentsroom.gateways.viewers import MOST_WAITING, Viewer
from tests.support.stores import Store

RUNNING = Running(url="http://127.0.0.1:8765", port=8765, pid=1, instance_id="i", token="t")
READY = b"event: ready\ndata: {}\n\n"
RESYNC = "event: resync\ndata: {}\n\n"


class CountingPage:
    """Shows the ids of events of its kind, and counts how often it was rendered."""

    key: Hashable = "page"

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rendered = 0
        self.says_all = False
        self.gives_up = False

    def wants(self, event: FeedEvent) -> bool:
        return event.kind == "shown"

    def changes(self, events: Sequence[FeedEvent]) -> Change | None:
        self.rendered += 1
        if self.gives_up:
            return None
        if self.says_all:
            return self.whole()
        ids = ",".join(str(event.id) for event in events)
        return Change([Partial("list", "append", ids)], events[-1].id)

    def whole(self) -> Change:
        last = self._store.runtime.database.read(last_event_id)
        return Change([Partial("main", "outerMorph", "all\nof it")], last)


class Watcher:
    """One stream of the page, told of events by the test."""

    def __init__(self, store: Store, page: CountingPage, since: int, teller: Teller | None = None) -> None:
        self.may_look = True
        self.viewer = Viewer(since)
        self._page = page
        self._teller = teller or Teller(store.runtime.database)
        self._sent = Stream(page, self.viewer, self._teller, b"{}").run(lambda: self.may_look)
        assert next(self._sent) == READY

    def is_told(self, *events: FeedEvent) -> None:
        told = self._teller.tell(self._page, events)
        assert told is not None
        self.viewer.tell(told)

    def sees(self) -> str:
        return next(self._sent).decode()

    def is_over(self) -> bool:
        return next(self._sent, None) is None


@pytest.fixture
def page(sqlite_store: Store) -> CountingPage:
    return CountingPage(sqlite_store)


def happen(store: Store, kind: str = "shown") -> FeedEvent:
    """An event in the store."""
    number = store.runtime.database.write(lambda work: work.emit(kind, "home"))
    return FeedEvent(number, store.clock.now(), kind, "home", {})


def appended(*events: FeedEvent) -> str:
    ids = ",".join(str(event.id) for event in events)
    return f'id: {events[-1].id}\ndata: <hx-partial hx-target="#list" hx-swap="append">{ids}</hx-partial>\n\n'


def everything(last: int) -> str:
    text = '<hx-partial hx-target="#main" hx-swap="outerMorph">all\ndata: of it</hx-partial>'
    return f"id: {last}\ndata: {text}\n\n"


def test_it_begins_with_what_the_page_missed_and_repeats_none_of_it(
    sqlite_store: Store, page: CountingPage
) -> None:
    known, first, _, second = (happen(sqlite_store, kind) for kind in ("shown", "shown", "other", "shown"))
    watcher = Watcher(sqlite_store, page, known.id)
    assert watcher.sees() == appended(first, second)
    watcher.is_told(second)  # the feed read it too
    later = happen(sqlite_store)
    watcher.is_told(later)
    assert watcher.sees() == appended(later)


def test_what_waits_in_the_queue_is_sent_at_once(sqlite_store: Store, page: CountingPage) -> None:
    watcher = Watcher(sqlite_store, page, 0)
    events = [happen(sqlite_store) for _ in range(3)]
    assert watcher.sees() == appended(*events)


@pytest.mark.parametrize("since", [10**6, 2**63 - 1])
def test_a_viewer_of_another_store_reads_the_page_again(
    sqlite_store: Store, page: CountingPage, since: int
) -> None:
    happen(sqlite_store)
    assert Watcher(sqlite_store, page, since).sees() == RESYNC


def test_a_viewer_who_was_away_for_long_reads_the_page_again(sqlite_store: Store, page: CountingPage) -> None:
    def unit(work: Writing) -> int:
        return [work.emit("shown", "home") for _ in range(QUEUE_SIZE)][-1]

    sqlite_store.runtime.database.write(unit)
    assert Watcher(sqlite_store, page, 0).sees() == RESYNC


def test_what_is_too_much_for_a_change_is_read_again(sqlite_store: Store, page: CountingPage) -> None:
    watcher = Watcher(sqlite_store, page, 0)
    page.gives_up = True
    happen(sqlite_store)
    assert watcher.sees() == RESYNC
    page.gives_up = False
    later = happen(sqlite_store)
    watcher.is_told(later)
    assert watcher.sees() == appended(later)


def test_a_viewer_who_is_too_slow_reads_the_page_again_and_then_goes_on(
    sqlite_store: Store, page: CountingPage
) -> None:
    first = happen(sqlite_store)
    watcher = Watcher(sqlite_store, page, 0)
    assert watcher.sees() == appended(first)
    for _ in range(MOST_WAITING + 1):
        watcher.is_told(happen(sqlite_store))
    assert watcher.sees() == RESYNC
    later = happen(sqlite_store)
    watcher.is_told(later)
    assert watcher.sees() == appended(later), "the last that waited is known by then"


def test_a_message_of_which_the_page_knows_a_part_is_read_again(
    sqlite_store: Store, page: CountingPage
) -> None:
    known, later = happen(sqlite_store), happen(sqlite_store)
    watcher = Watcher(sqlite_store, page, known.id)
    assert watcher.sees() == appended(later)
    last = happen(sqlite_store)
    watcher.is_told(later, last)
    assert watcher.sees() == RESYNC


def test_a_change_is_rendered_once_for_all_viewers(sqlite_store: Store, page: CountingPage) -> None:
    teller = Teller(sqlite_store.runtime.database)
    watchers = [Watcher(sqlite_store, page, 0, teller) for _ in range(5)]
    event = happen(sqlite_store)
    assert [watcher.sees() for watcher in watchers] == [appended(event)] * 5
    assert page.rendered == 1


def test_a_page_that_says_more_than_the_event_repeats_none_of_it(
    sqlite_store: Store, page: CountingPage
) -> None:
    watcher = Watcher(sqlite_store, page, 0)
    first = happen(sqlite_store)
    assert watcher.sees() == appended(first)
    second, third = happen(sqlite_store), happen(sqlite_store)
    page.says_all = True
    watcher.is_told(second)
    assert watcher.sees() == everything(third.id)
    page.says_all = False
    watcher.is_told(third)
    fourth = happen(sqlite_store)
    watcher.is_told(fourth)
    assert watcher.sees() == appended(fourth)


def test_silence_is_filled_with_heartbeats(sqlite_store: Store, page: CountingPage) -> None:
    teller = Teller(sqlite_store.runtime.database)
    sent = Stream(page, Viewer(0), teller, b"{}", heartbeat_s=0).run(lambda: True)
    assert [next(sent) for _ in range(2)] == [READY, b"event: heartbeat\ndata: {}\n\n"]


@pytest.mark.parametrize("may_look", [True, False])
def test_it_ends_when_the_viewer_may_no_longer_look(
    sqlite_store: Store, page: CountingPage, may_look: bool
) -> None:
    watcher = Watcher(sqlite_store, page, 0)
    first = happen(sqlite_store)
    assert watcher.sees() == appended(first)
    watcher.may_look = may_look
    watcher.viewer.say("check")
    later = happen(sqlite_store)
    watcher.is_told(later)
    if may_look:
        assert watcher.sees() == appended(later)
    else:
        assert watcher.is_over()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_stream_that_nobody_reads_is_given_up(sqlite_store: Store, method: str) -> None:
    client = create_app(sqlite_store.settings, sqlite_store.runtime, RUNNING).test_client()
    headers = {"Authorization": f"Bearer {RUNNING.token}"}
    response = client.open("/live?page=/rooms&since=0", method=method, base_url=RUNNING.url, headers=headers)
    assert response.mimetype == "text/event-stream"
    response.close()
    assert sqlite_store.runtime.feed.subscribers == 0


@pytest.mark.parametrize(
    "page", ["", "/healthz", "/nothing", "/rooms/shared:nowhere", "/login", "//evil", "/rooms/%00"]
)
def test_a_page_without_a_stream_is_told(store: Store, page: str) -> None:
    client = create_app(store.settings, store.runtime, RUNNING).test_client()
    headers = {"Authorization": f"Bearer {RUNNING.token}"}
    response = client.get("/live", query_string={"page": page}, base_url=RUNNING.url, headers=headers)
    assert response.status_code == 404


def test_the_main_part_comes_with_the_stream_that_goes_on_from_there(
    sqlite_store: Store,
) -> None:
    sqlite_store.join(room="front")
    last = sqlite_store.runtime.database.read(last_event_id)
    client = create_app(sqlite_store.settings, sqlite_store.runtime, RUNNING).test_client()
    response = client.get(
        "/live/main",
        query_string={"page": "/rooms/shared:front?span=1h"},
        base_url=RUNNING.url,
        headers={"Authorization": f"Bearer {RUNNING.token}"},
    )
    assert response.status_code == 200
    address = f"/live?page=%2Frooms%2Fshared%3Afront%3Fspan%3D1h&amp;since={last}"
    assert f'hx-sse:connect="{address}"' in response.text
    assert response.text.endswith("</hx-partial>")
    assert "csrf" not in response.text
