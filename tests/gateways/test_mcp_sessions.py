"""Sessions of legacy clients: whose they are, how many there may be, and what ends in them."""

from concurrent.futures import Future
from typing import Any

import pytest

from agentsroom.gateways import mcp_sessions
from agentsroom.gateways.jsonrpc import Refused
from agentsroom.gateways.mcp_sessions import HttpSession, HttpSessions, SessionMissing, SessionUnknown


class Kept:
    """Sessions by name, in one holder; each says when it ended."""

    def __init__(self) -> None:
        self.sessions = HttpSessions()
        self.ended: list[str] = []

    def open(self, owner: str, name: str, *, streams: bool = False) -> HttpSession:
        session = HttpSession(owner, id=name)
        session.begin(1, lambda: self.ended.append(name))
        if streams:
            session.begin_stream(lambda: None)
        self.sessions.keep(session)
        return session


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """At most three sessions of one key, and five in all."""
    monkeypatch.setattr(mcp_sessions, "MOST_OF_ONE", 3)
    monkeypatch.setattr(mcp_sessions, "MOST_SESSIONS", 5)
    return Kept()


def test_a_session_is_known_to_its_key_alone(kept: Kept) -> None:
    session = kept.open("ada", "one")
    assert kept.sessions.get("one", "ada") is session
    for name, owner in (("one", "bob"), ("two", "ada"), ("", "ada")):
        with pytest.raises(SessionUnknown):
            kept.sessions.get(name, owner)
    with pytest.raises(SessionMissing):
        kept.sessions.get(None, "ada")


def test_of_one_key_the_one_that_was_silent_for_longest_makes_room(kept: Kept) -> None:
    for name in ("one", "two", "three"):
        kept.open("ada", name)
    kept.sessions.get("one", "ada")
    kept.open("ada", "four")
    assert kept.ended == ["two"]
    kept.sessions.keep(kept.sessions.get("four", "ada"))
    assert kept.ended == ["two"], "it is no new one"


def test_one_that_holds_its_stream_is_silent_but_there(kept: Kept) -> None:
    kept.open("ada", "one", streams=True)
    for name in ("two", "three", "four"):
        kept.open("ada", name, streams=True)
    assert kept.ended == ["one"], "where all have streams, one of them goes"
    kept.open("ada", "five")
    kept.open("ada", "six")
    assert kept.ended == ["one", "two", "five"]


def test_in_all_the_key_with_most_sessions_makes_room(kept: Kept) -> None:
    kept.open("ada", "old")
    for name in ("one", "two", "three"):
        kept.open("bob", name)
    kept.open("cyd", "other")
    kept.open("dan", "new")
    assert kept.ended == ["one"]


def test_an_id_is_of_one_call_at_a_time() -> None:
    session = HttpSession("ada")
    ended: list[Any] = []
    session.begin(1, lambda: ended.append(1))
    session.begin("1", lambda: ended.append("1"))
    for look in (session.check_unused, lambda one: session.begin(one, lambda: None)):
        with pytest.raises(Refused):
            look(1)
    session.cancel(1)
    session.cancel(2)
    assert ended == [1]
    session.finish(1)
    session.check_unused(1)
    session.cancel(1)
    assert ended == [1]


def test_an_answer_comes_once() -> None:
    session = HttpSession("ada")
    asked: Future[Any] = session.expect("ask-1")
    for other in ("ask-2", 1, None):
        session.settle(other, {})
    assert not asked.done()
    session.settle("ask-1", {"it": "is"})
    session.settle("ask-1", None)
    assert asked.result(0) == {"it": "is"}


def test_a_stream_ends_the_one_before_and_forgets_itself_alone() -> None:
    session = HttpSession("ada")
    ended: list[str] = []

    def first() -> None:
        ended.append("first")

    def second() -> None:
        ended.append("second")

    session.begin_stream(first)
    session.begin_stream(second)
    assert ended == ["first"]
    session.finish_stream(first)
    assert session.has_stream
    session.finish_stream(second)
    assert not session.has_stream
    session.end()
    assert ended == ["first"]
