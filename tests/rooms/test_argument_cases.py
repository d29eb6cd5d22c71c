"""Every case of tests/cases/arguments.jsonl that is about rooms: through the registry on both databases, and over HTTP."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cases import CODES, any_of, filled_in, read, statuses_of, written_out
from tests.support.stores import Json, Store
from tests.support.ways import WAYS
from tests.support.world import GIVEN, World

CASES = [case for case in read("arguments.jsonl") if case["area"] == "rooms"]
ONLY_LOCAL = "the caller is a local stdio process"
RUNS = [
    pytest.param(database, way, case, id=f"{case['id']}-{way}-{database}")
    for database, way in (
        ("sqlite", "service"),
        ("postgresql", "service"),
        ("sqlite", "api"),
        ("sqlite", "mcp"),
    )
    for case in CASES
    if way == "service" or ONLY_LOCAL not in case["given"]
]


@pytest.mark.parametrize(("store", "way", "case"), RUNS, indirect=["store"])
def test_argument_case(store: Store, way: str, case: Json) -> None:
    world = World(store, WAYS[way](store))
    world.arrange(case)
    names = world.placeholders()
    raw = raw_arguments(world, case, names)
    expect = expectation(world, case, raw)
    if "error" in expect:
        judge_error(world, case["tool"], raw, expect, names)
    else:
        status, answer = world.way.call(case["tool"], raw, world.caller)
        assert status == 200, answer
        for word, wanted in expect.get("result", {}).items():
            check = "same_body" if word == "check" else word
            assert JUDGED[check](world, answer, filled_in(wanted, names)), (word, wanted, answer)


def raw_arguments(world: World, case: Json, names: dict[str, Any]) -> bytes:
    """The arguments as JSON text, every stand-in replaced."""
    if "arguments_raw" in case:
        text: str = case["arguments_raw"]
        return text.replace("$A", str(names["$A"])).encode()
    own = world.way.seat("A", world.top / "alpha")[1] if case["tool"] == "room_join" else {}
    given = own | written_out(filled_in(case["arguments"], names))
    for name in ("path", "cwd"):
        if isinstance(given.get(name), str) and given[name].startswith("/w/"):
            given[name] = str(world.top) + given[name].removeprefix("/w")
    return json.dumps(given).encode()


def expectation(world: World, case: Json, raw: bytes) -> Json:
    """What must come; `as_schema`: what the published schema says of the arguments."""
    expect: Json = case["expect"]
    if "as_schema" not in expect:
        return expect
    registry = world.store.runtime.registry
    fits = Draft202012Validator(registry.schema(registry.get(case["tool"]))).is_valid(json.loads(raw))
    return {"ok": True} if fits else {"error": "invalid_argument", "names": []}


def judge_error(world: World, tool: str, raw: bytes, expect: Json, names: dict[str, Any]) -> None:
    """The right error, nothing half-written, and the next good call works."""
    before = world.store.everything()
    status, answer = world.way.call(tool, raw, world.caller)
    error = answer["error"]
    classes = any_of(expect["error"])
    assert error["code"] in [CODES[one] for one in classes], error
    assert all(str(filled_in(name, names)) in error["message"] for name in expect["names"]), error
    assert status in any_of(expect.get("status", statuses_of(error["code"])))
    assert world.store.everything() == before
    assert world.seats["A"]("msg_unread")["count"] >= 0
    assert world.seats["A"].send("*", "the next good call")["message_id"]


def same_body(world: World, _answer: Json, _wanted: object) -> bool:
    """`msg_recv of B gives the very same body`."""
    sent = world.seats["A"]("room_history")["messages"][0]["body"]
    return bool(sent) and sent in world.seats["B"].bodies()


def state_after(world: World, _answer: Json, wanted: object) -> bool:
    """The state of A's delivery of $M."""
    told = world.seats["A"]("why", message_id=world.names["$M"])["recipients"]
    return [one["state"] for one in told] == [wanted]


def reason(_world: World, answer: Json, wanted: object) -> bool:
    """Of a refused claim, or of the one recipient that why tells of."""
    told = answer["recipients"][0] if "recipients" in answer else answer
    return bool(told["reason"] == wanted)


def equal(word: str) -> Callable[[World, Json, object], bool]:
    return lambda _world, answer, wanted: bool(answer[word] == wanted)


JUDGED: dict[str, Callable[[World, Json, Any], bool]] = {
    **{
        word: equal(word)
        for word in (
            "recipients",
            "autonomy",
            "session_id",
            "ok",
            "holder",
            "severity",
            "changed",
            "hash",
            "free",
            "message_id",
        )
    },
    "warning": lambda _, answer, wanted: (
        bool(answer["warning"]) and (wanted is True or wanted in answer["warning"])
    ),
    "rooms_have": lambda _, answer, wanted: wanted in answer["rooms"],
    "once": lambda _, answer, wanted: (len(set(answer["rooms"])) == len(answer["rooms"])) is wanted,
    "rooms_count_shared": lambda _, answer, wanted: (
        wanted == len([room for room in answer["rooms"] if room.startswith("shared:")])
    ),
    "reason": reason,
    "state_after": state_after,
    "same_body": same_body,
}
"""A word of `result` → how it is judged."""


def test_no_case_and_nothing_that_a_case_needs_is_left_out() -> None:
    assert len(CASES) == 222
    assert {text for case in CASES for text in case["given"]} == set(GIVEN)
