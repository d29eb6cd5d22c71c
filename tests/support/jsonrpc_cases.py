"""The cases of tests/cases/jsonrpc.jsonl, and what each of their words says of a reply."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.cases import read

Json = dict[str, Any]


def cases_of(*eras: str, areas: tuple[str, ...] = ("rooms", "transport")) -> list[Json]:
    return [case for case in read("jsonrpc.jsonl") if case["era"] in eras and case["area"] in areas]


def judge_reply(expect: Json, reply: Json) -> set[str]:
    """Judges one reply; the words that it knows."""
    error, result = reply.get("error", {}), reply.get("result", {})
    text = result.get("content", [{}])[0].get("text", "null")
    judged: dict[str, Callable[[Any], bool]] = {
        "result": lambda wanted: ("result" in reply) is wanted,
        "error": lambda wanted: error["code"] in (wanted if isinstance(wanted, list) else [wanted]),
        "id": lambda wanted: (reply["id"], type(reply["id"])) == (wanted, type(wanted)),
        "equals": lambda wanted: result == wanted,
        "has": lambda wanted: wanted.items() <= result.items(),
        "has_key": lambda wanted: set([wanted] if isinstance(wanted, str) else wanted) <= set(result),
        "data_has": lambda wanted: set(wanted) <= set(error["data"]),
        "isError": lambda wanted: result["isError"] is wanted,
        "no_structured": lambda wanted: ("structuredContent" not in result) is wanted,
        "structured": lambda wanted: isinstance(result["structuredContent"], dict) is wanted,
        "text_copy": lambda wanted: (json.loads(text) == result["structuredContent"]) is wanted,
        "error_text": lambda wanted: ({"code", "message"} <= set(json.loads(text))) is wanted,
        "error_code": lambda wanted: json.loads(text)["code"] == wanted,
    }
    for word in judged.keys() & expect.keys():
        assert judged[word](expect[word]), f"{word}: {reply}"
    return set(judged)
