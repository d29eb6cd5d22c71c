"""Viewers of one page: each is told every change once, from outside of its stream where it takes it at once."""

from collections.abc import Hashable, Sequence

import pytest

from agentsroom.core.feed import RESYNC, FeedEvent
from agentsroom.gateways.permits import ENDS_ACCESS
from agentsroom.gateways.viewers import MOST_WAITING, Audience, Sent, Told, Viewer
from tests.support.processes import PATIENCE_S
from tests.support.stores import Store


class Shown:
    """A page that wants events of one kind."""

    key: Hashable = "shown"

    def wants(self, event: FeedEvent) -> bool:
        return event.kind == "shown"


def told(*ids: int) -> Told:
    return Told(ids[0] - 1, ids[-1], ",".join(map(str, ids)).encode())


def tell(events: Sequence[FeedEvent]) -> Told | None:
    return Told(2**63, 0, b"again") if RESYNC in events else told(*(event.id for event in events))


class Client:
    """What a viewer's client takes at once; `takes` answers for it."""

    def __init__(self) -> None:
        self.takes: Sent = "all"
        self.pieces: list[bytes] = []

    def __call__(self, piece: bytes) -> Sent:
        if self.takes != "none":
            self.pieces.append(piece)
        return self.takes


def idle(client: Client) -> Viewer:
    """A viewer whose stream waits for the next change."""
    viewer = Viewer(0, client)
    viewer._is_idle = True
    return viewer


def test_a_stream_that_waits_is_told_from_outside() -> None:
    client = Client()
    viewer = idle(client)
    viewer.tell(told(1, 2))
    viewer.tell(told(3))
    assert (client.pieces, viewer.seen, viewer.next(0)) == ([b"1,2", b"3"], 3, None)


def test_what_a_client_takes_in_part_is_finished_by_its_stream_before_anything_else() -> None:
    client = Client()
    viewer = idle(client)
    client.takes = "some"
    viewer.tell(told(1))
    viewer.tell(told(2))
    assert client.pieces == [b"1"]
    assert [viewer.next(0) for _ in range(3)] == ["flush", told(2), None]


def test_what_a_client_does_not_take_waits_for_its_stream() -> None:
    client = Client()
    viewer = idle(client)
    client.takes = "none"
    viewer.tell(told(1))
    assert (client.pieces, viewer.seen, viewer.next(0)) == ([], 0, told(1))


def test_a_message_of_which_the_page_knows_a_part_is_left_to_the_stream() -> None:
    client = Client()
    viewer = idle(client)
    viewer.tell(told(1, 2))
    viewer.tell(told(2, 3))
    assert (client.pieces, viewer.next(0)) == ([b"1,2"], told(2, 3))


def test_a_stream_that_is_busy_is_told_nothing_from_outside() -> None:
    client = Client()
    viewer = Viewer(0, client)
    viewer.tell(told(1))
    viewer.tell(told(2))
    assert client.pieces == []
    assert [viewer.next(0) for _ in range(3)] == [told(1), told(2), None]


def test_who_takes_too_little_is_left_behind_but_not_out_of_what_counts() -> None:
    viewer = Viewer(0)
    viewer.say("check")
    for number in range(1, MOST_WAITING + 2):
        viewer.tell(told(number))
    found = [viewer.next(0) for _ in range(4)]
    assert found == ["behind", "check", told(MOST_WAITING), told(MOST_WAITING + 1)]


@pytest.fixture
def audience(sqlite_store: Store) -> Audience:
    return Audience(sqlite_store.runtime.feed)


def emit(store: Store, kind: str = "shown") -> int:
    return store.runtime.database.write(lambda work: work.emit(kind, "home"))


def test_viewers_of_one_page_share_what_they_are_told(audience: Audience, sqlite_store: Store) -> None:
    viewers = [Viewer(0), Viewer(0)]
    for viewer in viewers:
        audience.join(Shown(), viewer, tell)
    assert sqlite_store.runtime.feed.subscribers == 1
    emit(sqlite_store, "other")
    number = emit(sqlite_store)
    assert [viewer.next(PATIENCE_S) for viewer in viewers] == [told(number)] * 2
    audience.leave(Shown.key, viewers[0])
    later = emit(sqlite_store)
    assert viewers[1].next(PATIENCE_S) == told(later)
    assert viewers[0].next(0) is None
    audience.leave(Shown.key, viewers[1])
    audience.join(Shown(), viewers[0], tell)
    assert viewers[0].next(0) is None, "who comes back is told nothing twice"


@pytest.mark.parametrize("kind", sorted(ENDS_ACCESS))
def test_after_what_may_end_access_each_viewer_asks(
    audience: Audience, sqlite_store: Store, kind: str
) -> None:
    viewer = Viewer(0)
    audience.join(Shown(), viewer, tell)
    emit(sqlite_store, kind)
    assert viewer.next(PATIENCE_S) == "check"


def test_the_end_of_the_feed_is_the_end_of_every_stream(audience: Audience, sqlite_store: Store) -> None:
    viewer = Viewer(0)
    audience.join(Shown(), viewer, tell)
    sqlite_store.runtime.feed.close()
    assert viewer.next(PATIENCE_S) == "end"


def test_a_change_that_fails_is_read_again(audience: Audience, sqlite_store: Store) -> None:
    def fails(events: Sequence[FeedEvent]) -> Told | None:
        if RESYNC not in events:
            raise ValueError("no")
        return tell(events)

    viewer = Viewer(0)
    audience.join(Shown(), viewer, fails)
    emit(sqlite_store)
    found = viewer.next(PATIENCE_S)
    assert isinstance(found, Told)
    assert found.data == b"again"
