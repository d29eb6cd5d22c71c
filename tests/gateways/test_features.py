"""What the product offers an MCP client: resources, prompts, completion, changes; on a real store."""

import json
from typing import Any

import pytest

from agentsroom.core.errors import AgentsRoomError, InvalidArgument, NotFound
from agentsroom.core.feed import RESYNC, CallFeed, FeedEvent
from agentsroom.core.principals import Principal
from agentsroom.gateways.features import RuntimeFeatures, news
from agentsroom.gateways.jsonrpc import Request
from agentsroom.gateways.offers import Exchange
from agentsroom.gateways.rpc import CAPABILITIES
from agentsroom.gateways.subscriptions import ListChanged, ResourceUpdated, Subscriptions
from agentsroom.gateways.wiki import wiki_pages
from tests.support.stores import Store

FRONT = "agents-room://rooms/shared%3Afront/history"
EXCHANGE = Exchange(Request(1, "prompts/get", {}, b""), {})


def offered(store: Store, caller: Principal | None = None) -> RuntimeFeatures:
    who = caller or store.agent()
    return RuntimeFeatures(store.runtime, lambda: who, CallFeed(store.runtime.feed))


def event(kind: str, team: str = "home", **data: Any) -> FeedEvent:
    return FeedEvent(1, 0, kind, team, data)


def test_an_agent_is_offered_the_histories_of_its_rooms_and_the_wiki(store: Store) -> None:
    store.join(store.agent(), room="front")
    store.join(store.add_agent("other"), room="back")
    uris = [one["uri"] for one in offered(store).resources()]
    assert FRONT in uris
    assert "agents-room://wiki/Home" in uris
    assert not [uri for uri in uris if "back" in uri]
    assert len(uris) == len(set(uris)) == 1 + len(wiki_pages())


def test_an_operator_is_offered_every_room_of_the_team(store: Store) -> None:
    store.join(store.agent(), room="front")
    store.join(store.add_agent("other"), room="back")
    names = [one["name"] for one in offered(store, store.admin()).resources()]
    assert {"shared:front", "shared:back"} <= set(names)


def test_a_history_is_what_the_tool_gives(store: Store) -> None:
    seat = store.join(store.agent(), room="front")
    seat.send("*", "hello")
    contents = offered(store).read_resource(FRONT)
    assert [(one["uri"], one["mimeType"]) for one in contents] == [(FRONT, "application/json")]
    assert json.loads(contents[0]["text"]) == seat("room_history", room="front", limit=50)


def test_a_page_of_the_wiki_is_read_as_it_is_shipped(store: Store) -> None:
    (page,) = offered(store).read_resource("agents-room://wiki/Glossary")
    assert page["text"] == wiki_pages()["Glossary"].path.read_text()
    assert page["mimeType"] == "text/markdown"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "agents-room://rooms//history",
        "agents-room://rooms/shared:attic/history",
        "agents-room://rooms/shared%3Aback/history",
        "agents-room://rooms/a/b/history",
        "agents-room://rooms/%FF/history",
        "agents-room://rooms/%00/history",
        "agents-room://rooms/history",
        "agents-room://wiki/../README",
        "agents-room://wiki/..%2F..%2FREADME",
        "agents-room://wiki/home",
        "file:///etc/passwd",
        "agents-room://rooms/\ud800/history",
    ],
)
def test_what_is_no_resource_of_the_caller_is_not_there(store: Store, uri: str) -> None:
    store.join(store.add_agent("other"), room="back")
    for look in (offered(store).read_resource, offered(store).canonical):
        with pytest.raises(AgentsRoomError) as caught:
            look(uri)
        assert caught.value.status < 500


def test_a_uri_has_one_canonical_form(store: Store) -> None:
    store.join(store.agent(), room="front")
    assert offered(store).canonical("agents-room://rooms/shared:front/history") == FRONT


@pytest.mark.parametrize("template", ["rooms/{room}/history", "wiki/{page}"])
def test_templates_are_told(store: Store, template: str) -> None:
    assert f"agents-room://{template}" in [one["uriTemplate"] for one in offered(store).resource_templates()]


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [
        ("join-and-work", {"task": "Mend the parser"}, "Task: Mend the parser"),
        ("join-and-work", {"task": "x", "room": "front"}, "extra_rooms ['front']"),
        ("review-drift", {}, "drift_check"),
        ("review-drift", {"session": "abc", "path": "a.py"}, "Files: a.py"),
        ("hand-over", {"to": "beta"}, "msg_send to beta"),
        ("hand-over", {"to": "beta", "notes": "the {braces} stay"}, "the {braces} stay"),
    ],
)
def test_a_prompt_says_what_is_to_be_done(
    store: Store, name: str, arguments: dict[str, str], word: str
) -> None:
    (message,) = offered(store).get_prompt(name, arguments, EXCHANGE)["messages"]
    assert message["role"] == "user"
    assert word in message["content"]["text"]


def test_prompts_name_only_tools_that_exist(store: Store) -> None:
    known = {tool.name for tool in store.runtime.registry} | {"extra_rooms", "session_id"}
    for prompt in store.runtime.prompts:
        text = prompt.render({one.name: "x" for one in prompt.arguments})
        assert {word.strip(".,;:()") for word in text.split() if "_" in word} <= known


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("hand-over", {}, "to"),
        ("hand-over", {"to": "  "}, "to"),
        ("hand-over", {"to": "x", "colour": "red"}, "colour"),
        ("join-and-work", {"task": "a\x00b"}, "task"),
        ("join-and-work", {"task": "\ud800"}, "task"),
        ("join-and-work", {"task": "x" * 65_537}, "task"),
    ],
)
def test_a_prompt_refuses_arguments_that_are_none(
    store: Store, name: str, arguments: dict[str, str], problem: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        offered(store).get_prompt(name, arguments, EXCHANGE)
    assert [one["argument"] for one in caught.value.data["problems"]] == [problem]


def test_an_unknown_prompt_is_told_which_there_are(store: Store) -> None:
    with pytest.raises(NotFound) as caught:
        offered(store).get_prompt("none", {}, EXCHANGE)
    assert "hand-over" in str(caught.value.hint)


@pytest.mark.parametrize("beginning", ["", "fr", "shared:fr"])
def test_rooms_are_completed_by_either_part_of_their_name(store: Store, beginning: str) -> None:
    store.join(store.agent(), room="front")
    store.join(store.add_agent("other"), room="fringe")
    prompt = {"type": "ref/prompt", "name": "join-and-work"}
    template = {"type": "ref/resource", "uri": "agents-room://rooms/{room}/history"}
    assert offered(store).complete(prompt, "room", beginning) == ["shared:front"]
    assert offered(store).complete(template, "room", beginning) == ["shared:front"]


def test_sessions_are_completed_by_id_and_label(store: Store) -> None:
    seat = store.join(store.agent(), room="front", label="painter")
    store.join(store.agent(), room="front", label="gone")("room_leave")
    prompt = {"type": "ref/prompt", "name": "hand-over"}
    for beginning in ("pain", seat.id[:6], ""):
        assert offered(store).complete(prompt, "to", beginning) == [seat.id]
    assert offered(store).complete(prompt, "to", "gone") == []


def test_pages_are_completed(store: Store) -> None:
    template = {"type": "ref/resource", "uri": "agents-room://wiki/{page}"}
    assert offered(store).complete(template, "page", "Glo") == ["Glossary"]


def test_an_argument_without_completion_has_no_values(store: Store) -> None:
    assert offered(store).complete({"type": "ref/prompt", "name": "hand-over"}, "notes", "x") == []


@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        ({"type": "ref/prompt", "name": "none"}, "to"),
        ({"type": "ref/prompt", "name": "hand-over"}, "colour"),
        ({"type": "ref/resource", "uri": "agents-room://rooms/{name}"}, "name"),
        ({"type": "ref/resource", "uri": "agents-room://wiki/{page}"}, "room"),
        ({"type": "ref/other"}, "to"),
        ({"type": "ref/prompt", "name": 5}, "to"),
    ],
)
def test_what_can_not_be_completed_is_told(store: Store, ref: dict[str, Any], argument: str) -> None:
    with pytest.raises(NotFound):
        offered(store).complete(ref, argument, "")


def test_a_message_updates_the_histories_of_its_rooms_for_its_team(store: Store) -> None:
    sent: dict[str, Any] = {
        "message": 1,
        "sender": "s",
        "recipients": [],
        "rooms": ["shared:front", "repo:app"],
    }
    updated = [ResourceUpdated(FRONT), ResourceUpdated("agents-room://rooms/repo%3Aapp/history")]
    assert offered(store).changes(event("message_sent", **sent)) == updated
    assert offered(store).changes(event("message_sent", team="foes", **sent)) == []


def test_who_comes_or_goes_changes_the_list_of_resources(store: Store) -> None:
    assert offered(store).changes(event("session_joined", session="s", rooms=[])) == [
        ListChanged("resources")
    ]
    assert offered(store).changes(event("lease_claimed")) == []


def test_after_a_gap_everything_that_a_client_wants_is_told(store: Store) -> None:
    subscriptions = Subscriptions.to_every_list(CAPABILITIES)
    subscriptions.add(FRONT, "as-the-client-wrote-it")
    told = [json.loads(one) for one in news(RESYNC, subscriptions, offered(store))]
    assert [one["method"] for one in told] == [
        "notifications/resources/list_changed",
        "notifications/resources/updated",
    ]
    assert told[1]["params"] == {"uri": "as-the-client-wrote-it"}
