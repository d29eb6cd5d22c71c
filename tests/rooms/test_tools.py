"""What every tool of the rooms has in common: strict arguments, limits, errors that name what is wrong."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentsroom.core.errors import InvalidArgument
from agentsroom.core.schemas import schema_of
from tests.support.stores import Seat, Store

SMALLEST: dict[str, dict[str, Any]] = {
    "room_join": {},
    "room_leave_room": {"room": "front"},
    "room_who": {},
    "msg_send": {"to": "*", "body": "x"},
    "msg_recv": {},
    "msg_wait": {"timeout_s": 0},
    "msg_ack": {"message_id": 1},
    "msg_unread": {},
    "msg_sent": {},
    "room_history": {},
    "msg_search": {"query": "x"},
    "why": {"message_id": 1},
    "lease_claim": {"path": "a.py"},
    "lease_renew": {"path": "a.py"},
    "lease_release": {"path": "a.py"},
    "lease_check": {"path": "a.py"},
    "lease_list": {},
    "note_read": {"path": "a.py"},
    "drift_check": {"path": "a.py"},
    "room_set_autonomy_cap": {"autonomy": "wake"},
    "room_leave": {},
}
"""The smallest good call of each tool, besides session_id."""


@pytest.fixture
def seat(sqlite_store: Store) -> Seat:
    """A session of shared:front that sent itself the message 1 and holds a.py."""
    made = sqlite_store.join(room="front")
    assert made.send(made.id)["message_id"] == 1
    made.claim("a.py")
    return made


def arguments_of(seat: Seat, tool: str) -> dict[str, Any]:
    return SMALLEST[tool] | ({} if tool == "room_join" else {"session_id": seat.id})


def refusal(seat: Seat, tool: str, arguments: dict[str, Any]) -> InvalidArgument:
    """What a bad call is told; it changes nothing, and a good call works after it."""
    before = seat.store.everything()
    with pytest.raises(InvalidArgument) as caught:
        seat.store.call(tool, seat.caller, **arguments)
    assert seat.store.everything() == before
    assert isinstance(seat("msg_unread")["count"], int)
    return caught.value


def test_every_tool_of_the_rooms_is_tried_here(seat: Seat) -> None:
    assert {tool.name for tool in seat.store.runtime.registry if tool.toolset == "rooms"} == set(SMALLEST)


@pytest.mark.parametrize("tool", SMALLEST)
def test_the_smallest_call_of_each_tool_works(seat: Seat, tool: str) -> None:
    assert isinstance(seat.store.call(tool, seat.caller, **arguments_of(seat, tool)), dict)


@pytest.mark.parametrize("tool", SMALLEST)
def test_each_field_of_an_answer_says_what_it_is_but_not_to_agents(seat: Seat, tool: str) -> None:
    registry = seat.store.runtime.registry
    assert "description" not in json.dumps(registry.output_schema(registry.get(tool))["properties"])
    waiting = [schema_of(registry.get(tool).result)]
    for schema in waiting:
        for one in schema["properties"].values():
            assert one["description"], one
            waiting += [part for part in (one, one.get("items", {})) if "properties" in part]


@pytest.mark.rule("R133")
@pytest.mark.parametrize("tool", SMALLEST)
def test_null_is_as_if_the_argument_were_not_given(seat: Seat, tool: str) -> None:
    schema = seat.store.runtime.registry.schema(seat.store.runtime.registry.get(tool))
    optional = {name: None for name in schema["properties"] if name not in schema.get("required", ())}
    assert isinstance(seat.store.call(tool, seat.caller, **optional | arguments_of(seat, tool)), dict)


@pytest.mark.rule("R134", "R140")
@pytest.mark.parametrize("tool", SMALLEST)
def test_an_unknown_argument_is_named(seat: Seat, tool: str) -> None:
    error = refusal(seat, tool, arguments_of(seat, tool) | {"dry_run": True})
    assert [one["argument"] for one in error.data["problems"]] == ["dry_run"]


@pytest.mark.rule("R134", "R140")
@pytest.mark.parametrize("tool", SMALLEST)
def test_each_missing_argument_is_named(seat: Seat, tool: str) -> None:
    required = set(
        seat.store.runtime.registry.schema(seat.store.runtime.registry.get(tool)).get("required", ())
    )
    if required:
        error = refusal(seat, tool, {})
        assert {one["argument"] for one in error.data["problems"]} == required


@pytest.mark.rule("R134", "R140")
@pytest.mark.parametrize("wrong", [[7], {"a": 1}, True, 1e18, -1, 0, 0.5, "", "null", "\ud800", "a\u0007b"])
@pytest.mark.parametrize("tool", SMALLEST)
def test_decoder_and_published_schema_refuse_the_same_values(seat: Seat, tool: str, wrong: object) -> None:
    """A wrong value for each argument in turn: what the schema refuses, the decoder does, and names it."""
    registry = seat.store.runtime.registry
    schema = registry.schema(registry.get(tool))
    for name, one in schema["properties"].items():
        given = arguments_of(seat, tool) | {name: wrong}
        fits = Draft202012Validator(one).is_valid(wrong) and wrong not in ("\ud800", "a\u0007b")
        refused = problems(seat, tool, given)
        assert refused == ([] if fits else [name]), f"{name}={wrong!r}"


def problems(seat: Seat, tool: str, arguments: dict[str, Any]) -> list[str]:
    """The arguments that the decoder refuses."""
    registry = seat.store.runtime.registry
    try:
        registry.decode(registry.get(tool), json.dumps(arguments).encode())
    except InvalidArgument as error:
        return [problem["argument"] for problem in error.data["problems"]]
    return []


@pytest.mark.rule("R134")
def test_an_error_tells_every_problem_what_came_and_what_is_taken(seat: Seat) -> None:
    error = refusal(seat, "msg_recv", {"session_id": 7, "limit": 201, "more": 1})
    assert len(error.data["problems"]) == 3
    for text in ("session_id: 7 came", "text", "limit: 201 came", "1 to 200", "more: is no argument"):
        assert text in error.message


@pytest.mark.rule("R135")
@pytest.mark.parametrize(
    ("tool", "argument", "most", "unit"),
    [
        ("msg_send", "body", 65_536, "b"),
        ("msg_send", "body", 32_768, "\u044f"),
        ("msg_send", "subject", 200, "\u044f"),
        ("room_join", "label", 80, "\u044f"),
        ("room_join", "tags", 64, "\u044f"),
    ],
)
def test_a_text_is_taken_up_to_its_limit(seat: Seat, tool: str, argument: str, most: int, unit: str) -> None:
    def value(size: int) -> object:
        return [unit * size] if argument == "tags" else unit * size

    assert seat.store.call(tool, seat.caller, **arguments_of(seat, tool) | {argument: value(most)})
    error = refusal(seat, tool, arguments_of(seat, tool) | {argument: value(most + 1)})
    assert argument in error.message


@pytest.mark.rule("R135")
def test_tags_and_times_have_limits_too(seat: Seat) -> None:
    tags = [f"t{number}" for number in range(33)]
    assert seat.store.join(tags=tags[:32]).id
    assert "tags" in refusal(seat, "room_join", {"tags": tags}).message
    assert seat.send("*", ttl_s=2_592_000)["message_id"]
    assert "ttl_s" in refusal(seat, "msg_send", arguments_of(seat, "msg_send") | {"ttl_s": 2_592_001}).message


@pytest.mark.rule("R136")
@pytest.mark.parametrize(
    "character", ["\u0000", "\u0008", "\r", "\u001b", "\u007f", "\u0085", "\u009b", "\udfff"]
)
@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("msg_send", "body"),
        ("msg_send", "subject"),
        ("msg_send", "to"),
        ("msg_search", "query"),
        ("room_join", "label"),
        ("room_join", "tags"),
        ("room_join", "extra_rooms"),
        ("room_join", "cwd"),
        ("room_join", "harness"),
        ("lease_claim", "path"),
    ],
)
def test_no_text_holds_control_characters_or_half_a_character(
    seat: Seat, tool: str, argument: str, character: str
) -> None:
    text = f"/a{character}b"
    value: object = [text] if argument in ("tags", "extra_rooms") else text
    error = refusal(seat, tool, arguments_of(seat, tool) | {argument: value})
    assert [one["argument"] for one in error.data["problems"]] == [argument]


@pytest.mark.rule("R137")
def test_a_whole_number_may_be_written_with_a_point(seat: Seat) -> None:
    assert seat("msg_recv", limit=10.0)["more"] is False
    assert seat.send("*", ttl_s=2.0)["message_id"]
    registry = seat.store.runtime.registry
    schema = registry.schema(registry.get("msg_recv"))
    assert Draft202012Validator(schema).is_valid({"session_id": seat.id, "limit": 10.0})
    assert not Draft202012Validator(schema).is_valid({"session_id": seat.id, "limit": 10.5})


def test_what_may_be_broken_off_changes_nothing(seat: Seat) -> None:
    """A call that waits ends when its client hangs up."""
    assert [tool.name for tool in seat.store.runtime.registry if tool.waits and not tool.read_only] == []
