"""Arguments are decoded strictly, every problem is told at once, and the published schema agrees."""

import json
from dataclasses import replace
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from msgspec import Meta

from agentsroom.core.errors import InvalidArgument, UnknownTool
from agentsroom.core.settings import Settings
from agentsroom.core.text import counted
from agentsroom.core.tools import Arguments, Limit, Registry, Result, Tool, limit


class _Arguments(Arguments):
    name: Annotated[str, Meta(extra=limit("max_subject", "characters"))]
    count: Annotated[int, Meta(ge=1, le=200)] | None = None
    tags: (
        Annotated[
            list[Annotated[str, Meta(extra=limit("max_tag", "characters"))]],
            Meta(extra=limit("max_tags", "items")),
        ]
        | None
    ) = None


class _Choices(Arguments):
    level: Literal["low", "high", 0, 1]
    perhaps: Annotated[Literal["low", 0], Meta(description="of something")] | None = None
    mode: Literal["a", "b"] | None = None
    seconds: Annotated[float, Meta(ge=0, le=25)] | None = None


class _Result(Result):
    name: str


TOOL = Tool(
    name="greet",
    title="Greet",
    description="Greets.",
    arguments=_Arguments,
    result=_Result,
    function=lambda _call, arguments: _Result(name=arguments.name),
    toolset="test",
)
REGISTRY = Registry((TOOL,), Settings(max_subject=10, max_tag=3, max_tags=2))


def _problems(raw: bytes) -> dict[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        REGISTRY.decode(TOOL, raw)
    return {one["argument"]: one["problem"] for one in caught.value.data["problems"]}


def test_every_problem_is_told_at_once_with_what_came_and_what_is_taken() -> None:
    problems = _problems(b'{"count":"3","nom":1}')
    assert problems["count"] == '"3" came; a whole number from 1 to 200, or null, is taken'
    assert problems["nom"] == "is no argument of greet, which takes name, count, tags"
    assert problems["name"].startswith("is missing; text of up to 10 characters is needed")


@pytest.mark.parametrize(
    ("raw", "argument"),
    [
        (b'{"name":null}', "name"),
        (b'{"name":"a","count":0}', "count"),
        (b'{"name":"a","count":201}', "count"),
        (b'{"name":"a","count":true}', "count"),
        (b'{"name":"a","count":1.5}', "count"),
        (b'{"name":"a","count":1e18}', "count"),
        (b'{"name":"a","tags":"x"}', "tags"),
        (b'{"name":"a","tags":[null]}', "tags"),
        (b'{"name":"a","tags":["a","b","c"]}', "tags"),
        (b'{"name":"a","tags":["long"]}', "tags"),
        (b'{"name":"elevenchars"}', "name"),
        (b'{"name":"a\\u0000"}', "name"),
        (b'{"name":"a\\u0085"}', "name"),
        (b'{"name":"a\\ud800"}', "name"),
        (b'{"name":"a","tags":["\\u001b"]}', "tags"),
    ],
)
def test_a_bad_argument_is_named(raw: bytes, argument: str) -> None:
    assert list(_problems(raw)) == [argument]


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"1", b"null"])
def test_arguments_that_are_no_object_are_refused(raw: bytes) -> None:
    assert list(_problems(raw)) == ["arguments"]


def test_one_of_a_thing_is_not_told_as_several() -> None:
    assert Limit("max_tags", "items").problem(["a", "b"], Settings(max_tags=1)) == (
        "2 items came; at most 1 item is taken"
    )
    assert (
        _problems(b'{"name":"elevenchars"}')["name"] == "11 characters came; at most 10 characters are taken"
    )
    assert [counted(number, "key") for number in (0, 1, 2_000)] == ["0 keys", "1 key", "2,000 keys"]
    assert counted(2, "delivery", "deliveries") == "2 deliveries"


def test_a_whole_float_is_a_whole_number_as_in_json_schema() -> None:
    decoded: Any = REGISTRY.decode(TOOL, b'{"name":"a","count":10.0}')
    assert decoded.count == 10


def test_null_means_absent() -> None:
    decoded: Any = REGISTRY.decode(TOOL, b'{"name":"a","count":null,"tags":null}')
    assert (decoded.count, decoded.tags) == (None, None)


def test_the_schema_is_an_object_and_carries_the_bounds_of_the_settings() -> None:
    schema = REGISTRY.schema(TOOL)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["properties"]["name"]["maxLength"] == 10
    assert schema["properties"]["tags"]["maxItems"] == 2
    assert schema["properties"]["tags"]["items"]["maxLength"] == 3
    assert schema["properties"]["count"] == {"type": ["integer", "null"], "minimum": 1, "maximum": 200}


def test_texts_and_numbers_to_choose_from_stand_apart_in_the_schema() -> None:
    tool = replace(TOOL, name="choose", arguments=_Choices)
    schema = REGISTRY.schema(tool)
    texts = {"type": "string", "enum": ["high", "low"]}
    assert schema["properties"]["level"] == {"anyOf": [texts, {"type": "integer", "enum": [0, 1]}]}
    perhaps = schema["properties"]["perhaps"]
    assert [one["type"] for one in perhaps["anyOf"]] == ["string", "integer", "null"]
    assert perhaps["description"] == "of something"
    for value in ("low", 0, 1.0):
        assert jsonschema.Draft202012Validator(schema).is_valid({"level": value, "perhaps": None})
        decoded: Any = REGISTRY.decode(tool, json.dumps({"level": value}).encode())
        assert decoded.level == value
    with pytest.raises(InvalidArgument) as caught:
        REGISTRY.decode(tool, b'{"level":2,"perhaps":"x","mode":1,"seconds":26}')
    assert [one["problem"] for one in caught.value.data["problems"]] == [
        '2 came; "high" or "low" or 0 or 1 is taken',
        '"x" came; "low" or 0, or null, is taken',
        '1 came; "a" or "b", or null, is taken',
        "26 came; a number from 0 to 25, or null, is taken",
    ]


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(UnknownTool, match='"hug"'):
        REGISTRY.get("hug")
