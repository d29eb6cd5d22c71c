"""Reads tests/cases/*.jsonl: its shorthands for long inputs, and its classes of errors in our codes."""

import json
from pathlib import Path
from typing import Any

from tests.support.stores import Json

FOLDER = Path(__file__).parents[1] / "cases"

CODES = {
    name: name
    for name in (
        "parse_error",
        "invalid_argument",
        "unknown_session",
        "unknown_recipient",
        "unknown_message",
        "unknown_room",
        "unknown_tool",
        "not_found",
        "forbidden",
        "not_your_session",
        "conflict",
        "session_left",
        "not_recipient",
        "not_in_room",
        "no_shared_room",
        "room_required",
        "lease_ended",
        "not_holder",
    )
}
"""A class of the files → the code of our error: they are the same words."""

_STATUSES = {
    "parse_error": [400],
    "invalid_argument": [413, 422],
    "forbidden": [403],
    "not_your_session": [403],
    "unknown_session": [404],
    "unknown_recipient": [404],
    "unknown_message": [404],
    "unknown_room": [404],
    "unknown_tool": [404],
    "not_found": [404],
}


def statuses_of(code: str) -> list[int]:
    """The statuses of the JSON API that fit the code; those that the files leave to us are conflicts."""
    return _STATUSES.get(code, [409])


def read(name: str) -> list[Json]:
    """The cases of a file, in its order."""
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def written_out(value: Any) -> Any:
    """The value with `$repeat`, `$list`, `$prefix`, `$upper` and `$concat` carried out."""
    if isinstance(value, list):
        return [written_out(one) for one in value]
    if not isinstance(value, dict):
        return value
    given = {key: written_out(one) for key, one in value.items()}
    match given:
        case {"$repeat": [text, count]}:
            return text * count
        case {"$list": [text, count]}:
            return [text.replace("{i}", str(number)) for number in range(count)]
        case {"$prefix": [text, count]}:
            return text[:count]
        case {"$upper": text}:
            return text.upper()
        case {"$concat": parts}:
            return "".join(parts)
        case _:
            return given


def filled_in(value: Any, names: dict[str, Any]) -> Any:
    """The value with each text that is one of the names replaced by what it stands for."""
    if isinstance(value, list):
        return [filled_in(one, names) for one in value]
    if isinstance(value, dict):
        return {key: filled_in(one, names) for key, one in value.items()}
    return names.get(value, value) if isinstance(value, str) else value


def any_of(expected: Any) -> list[Any]:
    """An outcome that is a list means any of its values."""
    return expected if isinstance(expected, list) else [expected]
