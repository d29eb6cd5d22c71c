"""A room's stream of a real server: how it ends, what it tells until then, and what a reader that reads nothing costs."""

import signal
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import pytest

from agentsroom.access import service as access
from agentsroom.core.settings import Settings
from agentsroom.core.sse import SseEvent, SseParser
from tests.support.server import PATIENCE_S, WebServer
from tests.support.stores import Seat, Store, opened


class Reader:
    """A stream of the default agent's, past its `ready`."""

    def __init__(self, server: WebServer, secret: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.running["port"], timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {secret}"}
        self._connection.request("GET", "/api/rooms/front/stream", headers=headers)
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200, self._answer.read()
        self._sent = self._events()
        assert next(self._sent).name == "ready"

    def _events(self) -> Iterator[SseEvent]:
        parser = SseParser()
        while chunk := self._answer.read1(65_536):
            yield from parser.feed(chunk)

    def next(self) -> SseEvent | None:
        """None at the proper end: a stream that breaks off raises."""
        return next(self._sent, None)

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


@pytest.fixture
def store(server: WebServer) -> Iterator[Store]:
    """Another process's opening of the server's store."""
    with opened(Settings(home=str(server.home)), server.home) as found:
        yield found


@pytest.fixture
def ada(store: Store) -> Seat:
    return store.join(room="front", label="ada")


def test_it_ends_when_its_key_is_revoked(server: WebServer, store: Store, ada: Seat) -> None:
    with (
        closing(Reader(server, server.key)) as reader,
        closing(Reader(server, server.running["token"])) as other,
    ):
        ada.send("*", "for both")
        assert (told := reader.next()) is not None
        assert "for both" in told.data
        store.runtime.database.write(lambda work: access.revoke_keys(work, "default"))
        ada.send("*", "for one")
        assert reader.next() is None
        assert [event.name for event in (other.next(), other.next()) if event] == ["message", "message"]


def test_it_ends_properly_with_the_server(server: WebServer, ada: Seat) -> None:
    assert ada.id
    with closing(Reader(server, server.key)) as reader:
        server.process.send_signal(signal.SIGTERM)
        assert reader.next() is None
        assert server.end() == 0
    assert "Traceback" not in server.output


def test_a_reader_that_reads_nothing_is_told_to_read_again(server: WebServer, ada: Seat) -> None:
    """Its socket is full, then its queue, which is all that it costs; others are told all the same."""
    sent = 1_600
    with (
        closing(Reader(server, server.key)) as slow,
        closing(Reader(server, server.running["token"])) as other,
    ):
        for number in range(sent):
            ada.send("*", f"{number} " + "x" * 8_000)
            assert (told := other.next()) is not None
            assert told.name == "message"
        names: list[str] = []
        while not names or names[-1] != "resync":
            event = slow.next()
            assert event is not None
            names.append(event.name)
        assert 0 < len(names) - 1 < sent
        ada.send("*", "after it")
        while (event := slow.next()) is not None and "after it" not in event.data:
            assert event.name in ("message", "resync")
        assert event is not None
