"""JSON Schemas of msgspec structs, short enough for an agent's context, and the same in words for its errors."""

import functools
import json
from typing import Any

import msgspec

_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "an object",
    "boolean": "true or false",
}


def in_words(schema: dict[str, Any]) -> str:
    """The schema in words: `a whole number from 1 to 200, or null,`."""
    options = schema.get("anyOf", [schema])
    kinds = {kind for one in options for kind in kinds_of(one)}
    words = [_option_in_words(one) for one in options if one.get("type") != "null"]
    return " or ".join(words) + (", or null," if "null" in kinds else "")


def kinds_of(schema: dict[str, Any]) -> list[str]:
    """The types that it names; an enum with null in it takes `null`."""
    kinds = schema.get("type", [])
    return (
        [kinds] if isinstance(kinds, str) else [*kinds, *(["null"] if None in schema.get("enum", ()) else [])]
    )


def _option_in_words(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"] if one is not None)
    text = " or ".join(_WORDS[kind] for kind in kinds_of(schema) if kind != "null")
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        text += f" from {least:,} to {most:,}"
    elif least is not None:
        text += f" of at least {least:,}"
    if "maxLength" in schema:
        text += f" of up to {schema['maxLength']:,} characters"
    return f"{text} that matches {schema['pattern']}" if "pattern" in schema else text


@functools.cache
def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """msgspec's schema without references and titles, `anyOf … null` folded; its root is an object."""
    found = msgspec.json.schema(struct)
    schema: dict[str, Any] = _compact(found, found.get("$defs", {}))
    return schema


def shallow(schema: dict[str, Any]) -> dict[str, Any]:
    """An object or a list of objects without what they hold, and without what is said of it."""
    kept = {
        key: value for key, value in schema.items() if key not in ("properties", "required", "description")
    }
    return {**kept, "items": shallow(kept["items"])} if "items" in kept else kept


def _compact(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_compact(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
        return {**_compact(definitions[schema["$ref"].rpartition("/")[2]], definitions), **beside}
    kept = {
        key: {name: _compact(one, definitions) for name, one in value.items()}
        if key == "properties"
        else _compact(value, definitions)
        for key, value in schema.items()
        if key not in ("$defs", "title") and not (key == "default" and value is None) and value != []
    }
    return _fold_null(_one_kind_each(kept))


def _one_kind_each(schema: dict[str, Any]) -> dict[str, Any]:
    """An enum of texts and numbers as one of each: generators of clients take no mixed one."""
    values = schema.get("enum", ())
    texts = [one for one in values if isinstance(one, str)]
    numbers = [one for one in values if isinstance(one, int)]
    if not texts or not numbers:
        return schema
    rest = {key: value for key, value in schema.items() if key != "enum"}
    return {**rest, "anyOf": [{"type": "string", "enum": texts}, {"type": "integer", "enum": numbers}]}


def _fold_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.get("anyOf")
    if options is None or len(options) != 2 or options[1] != {"type": "null"}:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    first = options[0]
    if "anyOf" in first:
        return {**first, **rest, "anyOf": [*first["anyOf"], options[1]]}
    if "enum" in first:
        return {**first, **rest, "enum": [*first["enum"], None]}
    return {**first, **rest, "type": [first["type"], "null"]}
