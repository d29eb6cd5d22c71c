"""One viewer's stream: it begins where the page ended, repeats nothing, and says all again after a gap."""

from collections.abc import Hashable, Iterator, Sequence

import pytest

from agentsroom.core.database import Writing
from agentsroom.core.feed import QUEUE_SIZE, FeedEvent, last_event_id
from agentsroom.core.html import Partial
from agentsroom.factory import create_app
from agentsroom.gateways.live import Once, Stream
from agentsroom.gateways.permits import ENDS_ACCESS, Permits, PermittedSubscription
from agentsroom.gateways.running import Running
from tests.support.stores import Store

RUNNING = Running(url="http://127.0.0.1:8765", port=8765, pid=1, instance_id="i", token="t")
READY = b"event: ready\ndata: {}\n\n"


class CountingPage:
    """Shows the ids of events of its kind, and counts how often it was rendered."""

    key: Hashable = "page"

    def __init__(self, store: Store) -> None:
        self._store = store
        self.rendered = 0
        self.says_all = False

    def wants(self, event: FeedEvent) -> bool:
        return event.kind == "shown"

    def changes(self, events: Sequence[FeedEvent]) -> tuple[list[Partial], int]:
        self.rendered += 1
        if self.says_all:
            return self.whole()
        return [Partial("list", "append", ",".join(str(event.id) for event in events))], events[-1].id

    def whole(self) -> tuple[list[Partial], int]:
        last = self._store.runtime.database.read(last_event_id)
        return [Partial("main", "outerMorph", "all\nof it")], last


class Viewer:
    """A stream and its subscription."""

    def __init__(self, store: Store, page: CountingPage, since: int, once: Once | None = None) -> None:
        stream = Stream(page, store.runtime.database, since, once or Once(), b"{}")
        self.may_look = True
        permit = Permits(1).open("viewer", lambda: self.may_look)
        self.subscription = PermittedSubscription(page.wants, store.runtime.feed, QUEUE_SIZE, permit)
        self._sent: Iterator[bytes] = stream.run(self.subscription)
        assert next(self._sent) == READY

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
    viewer = Viewer(sqlite_store, page, known.id)
    assert viewer.sees() == appended(first, second)
    viewer.subscription.offer(second)  # the feed read it too
    later = happen(sqlite_store)
    viewer.subscription.offer(later)
    assert viewer.sees() == appended(later)


def test_what_waits_in_the_queue_is_sent_at_once(sqlite_store: Store, page: CountingPage) -> None:
    viewer = Viewer(sqlite_store, page, 0)
    events = [happen(sqlite_store) for _ in range(3)]
    assert viewer.sees() == appended(*events)


@pytest.mark.parametrize("since", [10**6, 2**63 - 1])
def test_a_viewer_of_another_store_is_sent_everything(
    sqlite_store: Store, page: CountingPage, since: int
) -> None:
    last = happen(sqlite_store)
    assert Viewer(sqlite_store, page, since).sees() == everything(last.id)


def test_a_viewer_who_was_away_for_long_is_sent_everything(sqlite_store: Store, page: CountingPage) -> None:
    def unit(work: Writing) -> int:
        return [work.emit("shown", "home") for _ in range(QUEUE_SIZE)][-1]

    last = sqlite_store.runtime.database.write(unit)
    assert Viewer(sqlite_store, page, 0).sees() == everything(last)


def test_a_viewer_who_is_too_slow_is_sent_everything_and_then_goes_on(
    sqlite_store: Store, page: CountingPage
) -> None:
    viewer = Viewer(sqlite_store, page, 0)
    events = [happen(sqlite_store) for _ in range(QUEUE_SIZE + 2)]
    assert viewer.sees() == everything(events[-1].id)
    for event in events:
        viewer.subscription.offer(event)
    assert viewer.sees() == everything(events[-1].id), "the queue ran over"
    viewer.subscription.offer(events[-1])
    later = happen(sqlite_store)
    viewer.subscription.offer(later)
    assert viewer.sees() == appended(later)


def test_a_change_is_rendered_once_for_all_viewers(sqlite_store: Store, page: CountingPage) -> None:
    once = Once()
    viewers = [Viewer(sqlite_store, page, 0, once) for _ in range(5)]
    event = happen(sqlite_store)
    assert [viewer.sees() for viewer in viewers] == [appended(event)] * 5
    assert page.rendered == 1


def test_a_page_that_says_more_than_the_event_repeats_none_of_it(
    sqlite_store: Store, page: CountingPage
) -> None:
    viewer = Viewer(sqlite_store, page, 0)
    first = happen(sqlite_store)
    assert viewer.sees() == appended(first)
    second, third = happen(sqlite_store), happen(sqlite_store)
    page.says_all = True
    viewer.subscription.offer(second)
    assert viewer.sees() == everything(third.id)
    page.says_all = False
    viewer.subscription.offer(third)
    fourth = happen(sqlite_store)
    viewer.subscription.offer(fourth)
    assert viewer.sees() == appended(fourth)


def test_silence_is_filled_with_heartbeats(sqlite_store: Store, page: CountingPage) -> None:
    stream = Stream(page, sqlite_store.runtime.database, 0, Once(), b"{}", heartbeat_s=0)
    with sqlite_store.runtime.feed.subscribe(page.wants) as subscription:
        sent = stream.run(subscription)
        assert [next(sent) for _ in range(2)] == [READY, b"event: heartbeat\ndata: {}\n\n"]


@pytest.mark.parametrize("kind", sorted(ENDS_ACCESS))
@pytest.mark.parametrize("may_look", [True, False])
def test_it_ends_when_the_viewer_may_no_longer_look(
    sqlite_store: Store, page: CountingPage, may_look: bool, kind: str
) -> None:
    viewer = Viewer(sqlite_store, page, 0)
    first, ended = happen(sqlite_store), happen(sqlite_store, kind)
    assert viewer.sees() == appended(first)
    viewer.may_look = may_look
    viewer.subscription.offer(ended)
    later = happen(sqlite_store)
    viewer.subscription.offer(later)
    if may_look:
        assert viewer.sees() == appended(later)
    else:
        assert viewer.is_over()


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
