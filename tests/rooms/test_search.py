"""Search: every word, any punctuation, only what the asker may see; the same on both databases."""

import string

import pytest

from agentsroom.core.errors import InvalidArgument
from tests.support.stores import Seat, Store


def found(seat: Seat, query: str, **arguments: object) -> list[str]:
    return [one["body"] for one in seat("msg_search", query=query, **arguments)["messages"]]


@pytest.mark.rule("R96")
def test_every_word_must_be_there_in_subject_or_body_newest_first(store: Store) -> None:
    seat = store.join()
    seat.send("*", "the DOOR is open", subject="hinge")
    seat.send("*", "the window is open")
    seat.send("*", "door and window")
    assert found(seat, "open") == ["the window is open", "the DOOR is open"]
    assert found(seat, "Door OPEN") == ["the DOOR is open"]
    assert found(seat, "hinge door") == ["the DOOR is open"]
    assert found(seat, "door hinge chimney") == []
    assert found(seat, "doo") == []
    assert found(seat, "the", limit=1) == ["the window is open"]


@pytest.mark.rule("R96")
@pytest.mark.parametrize(
    ("body", "query"),
    [
        ("see src/wire.go, line 7", "wire.go"),
        ("see src/wire.go, line 7", "src"),
        ("see src/wire.go, line 7", "wire"),
        ("done in POL-358!", "358"),
        ("done in POL-358!", "POL-358"),
        ("mail mara@example.org today", "example"),
        ("call snake_case_name", "case"),
        ("https://code.example.org/door.git", "door"),
        ("\u0434\u0432\u0435\u0440\u044c open", "\u0434\u0432\u0435\u0440\u044c"),
        ("a,b;c", "c a"),
        ("it's", "it's"),
    ],
)
def test_punctuation_parts_words(store: Store, body: str, query: str) -> None:
    seat = store.join()
    seat.send("*", "something else")
    seat.send("*", body)
    assert found(seat, query) == [body]


@pytest.mark.rule("R97")
@pytest.mark.parametrize(
    "query", [*string.punctuation, "NEAR(", "a AND", "OR", "NOT x", '"', '""', "x:*", "-x", "a^2", "\\", "%s"]
)
def test_any_punctuation_is_safe(store: Store, query: str) -> None:
    seat = store.join()
    seat.send("*", "the door is open")
    assert found(seat, query) == []
    assert found(seat, f"door {query}") in ([], ["the door is open"])


@pytest.mark.rule("R97")
@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_an_empty_query_is_refused(store: Store, query: str) -> None:
    with pytest.raises(InvalidArgument, match="query"):
        store.join()("msg_search", query=query)


@pytest.mark.rule("R96", "R12")
def test_only_rooms_of_the_asker_are_searched(store: Store) -> None:
    mara = store.add_agent("mara")
    here = store.join(store.agent(), room="front", extra_rooms=["desk"])
    there = store.join(mara, room="attic")
    here.send("*", "door in front and desk")
    there.send("*", "door in the attic")
    assert found(here, "door") == ["door in front and desk"]
    assert found(here, "door", room="desk") == ["door in front and desk"]
    assert [one["body"] for one in store.call("msg_search", mara, query="door")["messages"]] == [
        "door in the attic"
    ]
    assert len(store.call("msg_search", store.admin(), query="door")["messages"]) == 2
    assert store.call("msg_search", store.add_agent("nils"), query="door") == {"messages": []}
