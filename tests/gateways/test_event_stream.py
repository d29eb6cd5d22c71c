"""Our own client: it comes back after whatever broke, where it was, at the right time, and ends when it is refused."""

import json
from collections.abc import Callable
from itertools import islice

import pytest

from agentsroom.core.errors import AgentsRoomError, Conflict, Forbidden, NotFound, Unauthenticated
from agentsroom.core.sse import MOST_EVENT
from agentsroom.gateways.event_stream import (
    DELAYS_S,
    LONGEST_S,
    SILENCE_S,
    Address,
    Client,
    NotUnderstood,
    Patience,
)
from tests.support.scripted import STREAM, Scripted, Silent, answer

ONE = STREAM + b"id: 1\ndata: one\n\n"
TWO = STREAM + b"id: 2\ndata: two\n\n"


class Waits:
    """Passes the time of the waits, and keeps how long each was."""

    def __init__(self, most: int = 20, chance: float = 0.5) -> None:
        self.slept: list[float] = []
        self.told: list[str | None] = []
        self._most = most
        self.patience = Patience(self._sleep, lambda: chance, self.told.append)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == self._most:
            raise EnoughError


class EnoughError(Exception):
    """The test has seen enough waits."""


def client_of(server: Scripted, waits: Waits | None = None, silence_s: float = SILENCE_S) -> Client:
    return Client(lambda: server.address, (waits or Waits()).patience, silence_s)


def read(client: Client, count: int) -> list[str]:
    """The texts of the first events."""
    return [event.data for event in islice(client.follow("/stream"), count)]


def waits_without_a_server(count: int, chance: float = 0.5) -> list[float]:
    waits = Waits(count, chance)
    with pytest.raises(EnoughError):
        read(Client(lambda: None, waits.patience), 1)
    return waits.slept


def test_it_asks_for_a_stream_and_says_who_it_is() -> None:
    with Scripted([ONE]) as server:
        assert read(client_of(server), 1) == ["one"]
        port = server.address.port
    [asked] = server.asked
    assert asked[""] == "GET /stream HTTP/1.1"
    assert asked["authorization"] == "Bearer token"
    assert asked["accept"] == "text/event-stream"
    assert asked["host"] == f"127.0.0.1:{port}"
    assert "last-event-id" not in asked


@pytest.mark.parametrize(
    "broken",
    [
        ONE,
        ONE + b"data: half",
        STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        + b"12\r\nid: 1\ndata: one\n\n\r\n3\r\nda",
        STREAM.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        + b"12\r\nid: 1\ndata: one\n\n\r\n0\r\n\r\n",
    ],
    ids=["closed", "in an event", "in a chunk", "ended"],
)
def test_it_comes_back_where_it_was(broken: bytes) -> None:
    waits = Waits()
    with Scripted([broken, TWO]) as server:
        assert read(client_of(server, waits), 2) == ["one", "two"]
    assert [one.get("last-event-id") for one in server.asked] == [None, "1"]
    assert waits.slept == [1.0]


def test_an_id_holds_over_connections_that_tell_none_and_may_be_any_text() -> None:
    named = STREAM + "id: ü☃\ndata: one\n\n".encode()
    plain = STREAM + b"data: two\n\n"
    with Scripted([named, plain, TWO]) as server:
        assert read(client_of(server), 3) == ["one", "two", "two"]
    told = [one.get("last-event-id", "").encode("latin-1").decode() for one in server.asked]
    assert told == ["", "ü☃", "ü☃"]


def test_it_waits_longer_from_try_to_try() -> None:
    assert waits_without_a_server(7) == [1, 2, 5, 10, 30, 30, 30]


@pytest.mark.parametrize(("chance", "factor"), [(0, 0.75), (1, 1.25)])
def test_no_two_clients_wait_alike(chance: float, factor: float) -> None:
    assert waits_without_a_server(5, chance) == [delay * factor for delay in DELAYS_S]


def test_an_event_makes_the_next_wait_a_short_one() -> None:
    waits = Waits()
    with Scripted([answer(503), answer(503), ONE, answer(503), TWO]) as server:
        assert read(client_of(server, waits), 2) == ["one", "two"]
    assert waits.slept == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("retry", "least", "most"), [(b"7000", 7, 10.5), (b"0", 1, 1), (b"9" * 30, LONGEST_S, LONGEST_S * 1.5)]
)
def test_it_stays_away_for_as_long_as_the_server_says(retry: bytes, least: float, most: float) -> None:
    waits = Waits()
    with Scripted([STREAM + b"retry: " + retry + b"\ndata: one\n\n", ONE, TWO]) as server:
        assert read(client_of(server, waits), 3) == ["one", "one", "two"]
    assert all(least <= slept <= most for slept in waits.slept)
    assert len(waits.slept) == 2, "and it keeps to that"


@pytest.mark.parametrize("silent", [Silent(b""), Silent(STREAM), Silent(ONE + b": alive\n\nda")])
def test_silence_ends_a_connection(silent: Silent) -> None:
    with Scripted([silent, TWO]) as server:
        assert read(client_of(server, silence_s=0.05), 1 + silent.count(b"one"))[-1] == "two"


def test_the_silence_is_three_heartbeats() -> None:
    assert SILENCE_S == 45


@pytest.mark.parametrize("status", [408, 429, 500, 503])
@pytest.mark.parametrize(("after", "least"), [("12", 12), ("soon", 1)])
def test_a_server_that_can_not_answer_now_is_asked_again(status: int, after: str, least: float) -> None:
    waits = Waits()
    with Scripted([answer(status, b"", f"Retry-After: {after}"), ONE]) as server:
        assert read(client_of(server, waits), 1) == ["one"]
    assert waits.slept[0] >= least


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (422, NotUnderstood),
        (302, NotUnderstood),
        (204, NotUnderstood),
    ],
)
@pytest.mark.parametrize("act", [lambda client: read(client, 1), lambda client: client.ask("x", {})])
def test_a_refusal_ends_it_with_what_the_server_says(
    status: int, kind: type[AgentsRoomError], act: Callable[[Client], object]
) -> None:
    told = json.dumps({"error": {"code": "c", "message": "Not you.", "hint": "Go."}}).encode()
    body = b"" if status == 204 else told
    waits = Waits()
    with Scripted([ONE, answer(status, body)]) as server:
        read(client_of(server), 1)
        with pytest.raises(kind) as refused:
            act(client_of(server, waits))
    assert waits.slept == []
    if body:
        assert (refused.value.message, refused.value.hint) == ("Not you.", "Go.")


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error": "no"}', b"\xff"])
def test_a_refusal_of_another_server_is_told_by_its_status(body: bytes) -> None:
    with Scripted([answer(404, body)]) as server, pytest.raises(NotFound, match="404"):
        read(client_of(server), 1)


def test_a_server_that_started_again_is_asked_with_its_own_token() -> None:
    """It may stand where the old one stood, which its serve.json does not say yet."""
    with Scripted([answer(401), ONE]) as server:
        tokens = iter(["old", "new", "new"])
        client = Client(lambda: server.address._replace(token=next(tokens)), Waits().patience)
        assert read(client, 1) == ["one"]
    assert [one["authorization"] for one in server.asked] == ["Bearer old", "Bearer new"]


def test_a_server_that_is_away_is_looked_for() -> None:
    waits = Waits()
    with Scripted([ONE]) as server:
        found: list[Address | None] = [None, Address("127.0.0.1", 1, "token"), server.address]
        places = iter(found)
        assert read(Client(lambda: next(places), waits.patience), 1) == ["one"]
    assert waits.slept == [1, 2]
    assert waits.told == ["No server is there.", None], "one line for each outage, and one for its end"


@pytest.mark.parametrize(
    "given",
    [
        answer(200, b"<html>", "Content-Type: text/html"),
        STREAM + b"data: " + b"x" * MOST_EVENT,
    ],
    ids=["no stream", "too long"],
)
def test_what_is_no_stream_of_ours_ends_it(given: bytes) -> None:
    with Scripted([given]) as server, pytest.raises(NotUnderstood):
        read(client_of(server), 1)


def test_a_question_is_repeated_until_it_is_answered() -> None:
    waits = Waits()
    answers = [Silent(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), answer(503), answer(200, b'{"a":1}')]
    with Scripted(answers) as server:
        assert client_of(server, waits, silence_s=0.05).ask("room_history", {"room": "x"}) == b'{"a":1}'
    assert [one[""] for one in server.asked] == ["POST /api/tools/room_history HTTP/1.1"] * 3
    assert waits.slept == [1, 2]
