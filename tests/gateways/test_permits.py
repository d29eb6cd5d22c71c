"""Leave to keep a request open: who has it, what ends it, and how much of it there is."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient
from htmx_flask import Htmx
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from agentsroom.access import service as access
from agentsroom.access.pages import login_pages
from agentsroom.access.routes import PROGRAMS, allow
from agentsroom.core.errors import TooManyRequests, Unauthenticated
from agentsroom.core.feed import CLOSED, RESYNC, FeedEvent
from agentsroom.gateways.auth import Gate
from agentsroom.gateways.errors import render_errors
from agentsroom.gateways.permits import ENDS_ACCESS, Permit, Permits, PermittedFeed
from agentsroom.runtime import Runtime
from tests.support.stores import Store
from tests.support.web import RUNNING, agent_key, bearer, browser_of, log_in


class Holder:
    """Who opened a stream; counts how often that was looked up."""

    def __init__(self) -> None:
        self.is_let_in = True
        self.asked = 0

    def look(self) -> bool:
        self.asked += 1
        return self.is_let_in

    def permit(self) -> Permit:
        return Permits(1).open("holder", self.look)


class Told:
    """A subscription of one who wants `message_sent`."""

    def __init__(self, store: Store, holder: Holder, size: int = 10) -> None:
        feed = PermittedFeed(store.runtime.feed, holder.permit())
        self.subscription = feed.subscribe(lambda event: event.kind == "message_sent", size)
        self._holder = holder
        holder.asked = 0

    def of(self, *kinds: str) -> list[FeedEvent | None]:
        """What comes of these events; None stands for silence."""
        for kind in kinds:
            self.subscription.offer(FeedEvent(1, 0, kind, "home", {}))
        assert self._holder.asked == 0, "whoever offers an event must not wait for the store"
        return [self.subscription.next(0) for _ in kinds]


SENT = FeedEvent(1, 0, "message_sent", "home", {})


@pytest.mark.parametrize("kind", sorted(ENDS_ACCESS))
def test_it_ends_with_the_event_that_ended_access(sqlite_store: Store, kind: str) -> None:
    holder = Holder()
    told = Told(sqlite_store, holder)
    assert told.of(kind, "message_sent") == [SENT, None], "it was another's key"
    holder.asked, holder.is_let_in = 0, False
    assert told.of("message_sent", kind) == [SENT, CLOSED]


def test_it_ends_when_the_event_may_be_among_those_that_were_missed(sqlite_store: Store) -> None:
    holder = Holder()
    told = Told(sqlite_store, holder, size=1)
    assert told.of("message_sent", "message_sent") == [RESYNC, None]
    holder.asked, holder.is_let_in = 0, False
    assert told.of("message_sent", "message_sent") == [CLOSED, None]


def test_it_does_not_begin_when_access_ended_just_before(sqlite_store: Store) -> None:
    holder = Holder()
    holder.is_let_in = False
    with pytest.raises(Unauthenticated):
        Told(sqlite_store, holder)
    assert sqlite_store.runtime.feed.subscribers == 0


def test_other_events_ask_the_store_nothing(sqlite_store: Store) -> None:
    holder = Holder()
    assert Told(sqlite_store, holder).of(*["message_sent"] * 3) == [SENT] * 3
    assert holder.asked == 0


def test_one_holder_has_so_many_at_a_time_and_no_more() -> None:
    permits = Permits(2)
    first, _ = (permits.open("ada", bool) for _ in range(2))
    with pytest.raises(TooManyRequests, match="2 streams and waiting calls are open") as refused:
        permits.open("ada", bool)
    assert refused.value.data["retry_after"] > 0
    permits.open("bob", bool)
    first.close()
    first.close()
    permits.open("ada", bool)
    with pytest.raises(TooManyRequests):
        permits.open("ada", bool)


ENDED_S = 1.0


@pytest.fixture
def streaming(sqlite_store: Store) -> FlaskClient:
    """Of an app with one stream: it says `open`, then `on` after each event of another's end, `late` in silence."""
    app = Flask(__name__)
    app.secret_key = "secret"
    limiter = FixedWindowRateLimiter(MemoryStorage())
    gate = Gate(sqlite_store.settings, RUNNING.port, RUNNING.token, sqlite_store.runtime.database, limiter)
    Htmx(app)
    gate.guard(app)
    render_errors(app)

    @app.get("/live")
    @allow("admin", "agent")
    def live() -> Response:
        feed = PermittedFeed(sqlite_store.runtime.feed, gate.give_permit(PROGRAMS))
        subscription = feed.subscribe(lambda event: event.kind in ENDS_ACCESS)

        def pieces() -> Iterator[bytes]:
            yield b"open"
            while (seen := subscription.next(ENDED_S)) is not CLOSED:
                yield b"on" if seen else b"late"

        return Response(pieces())

    app.register_blueprint(login_pages(sqlite_store.runtime.database, RUNNING.token, lambda view: view))
    return browser_of(app)


def opened(client: FlaskClient, headers: dict[str, str]) -> Iterator[bytes]:
    pieces = client.get("/live", headers=headers).iter_encoded()
    assert next(pieces) == b"open"
    return pieces


@pytest.mark.parametrize("by", ["rotate", "revoke", "delete"])
def test_a_stream_ends_with_the_key_that_opened_it_and_no_other_does(
    streaming: FlaskClient, sqlite_store: Store, by: str
) -> None:
    for name in ("ada", "bob"):
        sqlite_store.add_agent(name)
    ended = opened(streaming, bearer(agent_key(sqlite_store, "ada")))
    others = [opened(streaming, bearer(secret)) for secret in (agent_key(sqlite_store, "bob"), RUNNING.token)]
    act = {"rotate": access.rotate_key, "revoke": access.revoke_keys, "delete": access.delete_agent}[by]
    with closing(Runtime(sqlite_store.settings)) as elsewhere:
        elsewhere.database.write(lambda work: act(work, "ada"))
    assert next(ended, None) is None
    assert [next(other) for other in others] == [b"on", b"on"]


def test_a_stream_ends_with_the_login_that_opened_it(streaming: FlaskClient, sqlite_store: Store) -> None:
    log_in(streaming, sqlite_store)
    ended = opened(streaming, {})
    other = opened(streaming, bearer(RUNNING.token))
    [(login_id,)] = sqlite_store.columns("browser_logins", "id")
    with closing(Runtime(sqlite_store.settings)) as elsewhere:
        elsewhere.database.write(lambda work: access.log_out(work, login_id))
    assert next(ended, None) is None
    assert next(other) == b"on"
