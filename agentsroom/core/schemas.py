"""JSON Schemas of msgspec structs, short enough for an agent's context, and the same in words for its errors."""

import functools
import json
from typing import Any

import msgspec


def in_words(schema: dict[str, Any]) -> str:
    """The schema in words: `a whole number from 1 to 200, or null`."""
    if "enum" in schema:
        return " or ".join(json.dumps(one) for one in schema["enum"])
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", ["value"])
    words = {"integer": "a whole number", "string": "text", "array": "a list", "boolean": "true or false"}
    text = " or ".join(words.get(kind, kind) for kind in kinds if kind != "null")
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        text += f" from {least:,} to {most:,}"
    elif least is not None:
        text += f" of at least {least:,}"
    if "pattern" in schema:
        text += f" that matches {schema['pattern']}"
    return text + (", or null," if "null" in kinds else "")


@functools.cache
def schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """msgspec's schema without references and titles, `anyOf … null` folded; its root is an object."""
    found = msgspec.json.schema(struct)
    schema: dict[str, Any] = _compact(found, found.get("$defs", {}))
    return schema


def shallow(schema: dict[str, Any]) -> dict[str, Any]:
    """An object or a list of objects without what they hold."""
    kept = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    return {**kept, "items": shallow(kept["items"])} if "items" in kept else kept


def _compact(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_compact(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _compact(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    kept = {
        key: {name: _compact(one, definitions) for name, one in value.items()}
        if key == "properties"
        else _compact(value, definitions)
        for key, value in schema.items()
        if key not in ("$defs", "title") and not (key == "default" and value is None) and value != []
    }
    return _fold_null(kept)


def _fold_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = schema.get("anyOf")
    if options is None or len(options) != 2 or options[1] != {"type": "null"}:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    first = options[0]
    if "enum" in first:
        return {**first, **rest, "enum": [*first["enum"], None]}
    return {**first, **rest, "type": [first["type"], "null"]}
