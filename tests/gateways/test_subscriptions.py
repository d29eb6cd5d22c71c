"""What one client wants to be told of: how much it may want, and what it is told."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentsroom.gateways import subscriptions
from agentsroom.gateways.subscriptions import ListChanged, ResourceUpdated, Subscriptions


def told(wishes: Subscriptions, *uris: str) -> list[str]:
    return [json.loads(one)["params"]["uri"] for one in wishes.notifications(map(ResourceUpdated, uris))]


def test_a_resource_is_told_by_the_name_that_the_client_used() -> None:
    wishes = Subscriptions()
    wishes.add("a:one", "A:One")
    wishes.add("a:one", "a:ONE")
    assert told(wishes, "a:one", "a:two") == ["a:ONE"]
    wishes.forget("A:One")
    assert told(wishes, "a:one") == ["a:ONE"], "that was not how it asked last"
    wishes.forget("a:ONE")
    assert told(wishes, "a:one") == []


def test_the_wish_that_is_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST_URIS", 2)
    wishes = Subscriptions()
    for uri in ("a", "b", "a", "c"):
        wishes.add(uri, uri)
    assert told(wishes, "a", "b", "c") == ["a", "c"], "a was wished again after b"


def test_of_a_long_list_of_wishes_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST_URIS", 2)
    assert Subscriptions.listening(1, {"resourceSubscriptions": ["a", 5, "b", "c"]}, {}).wished == ("a", "b")


def test_wishes_of_many_threads_are_all_kept() -> None:
    wishes = Subscriptions()
    uris = [f"test://{number}" for number in range(800)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wishes.add, uris, uris))
    assert told(wishes, *uris) == uris


def test_a_list_is_told_of_where_it_is_wished() -> None:
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {"listChanged": True}}
    wishes = Subscriptions.listening("L", {"toolsListChanged": True, "promptsListChanged": 1}, capabilities)
    changes = [ListChanged("tools"), ListChanged("prompts"), ListChanged("resources")]
    assert [json.loads(one)["method"] for one in wishes.notifications(changes)] == [
        "notifications/tools/list_changed"
    ]
