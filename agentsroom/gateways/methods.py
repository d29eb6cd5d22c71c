"""The methods that MCP has in both eras: how their params are checked, and how what is offered becomes a result."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from agentsroom.core.errors import AgentsRoomError, UnknownTool
from agentsroom.core.tools import Registry
from agentsroom.gateways.jsonrpc import INVALID_PARAMS, Refused, Request, object_in, whole_text
from agentsroom.gateways.offers import Act, Exchange, Features

Hints = dict[str, Any]

CACHED: Hints = {"ttlMs": 60_000, "cacheScope": "private"}
"""How long a modern client may reuse what changes with a release only; never another caller's."""
NOT_CACHED: Hints = {"ttlMs": 0, "cacheScope": "private"}
"""The hints of what may change at any moment."""
MOST_COMPLETIONS = 100
_LONGEST_URI = 8_192


class Method(NamedTuple):
    """One method."""

    check: Callable[[Request], object]
    """Raises Refused where the request can't be right, whatever the server offers."""
    act: Act
    hints: Hints
    """What a modern client is told about keeping the result."""


def text_in(request: Request, name: str) -> str:
    """The parameter. Raises Refused."""
    found = request.params.get(name)
    if not isinstance(found, str):
        raise Refused(INVALID_PARAMS, f"{request.method} needs {name}, a text.")
    return found


def uri_in(request: Request) -> str:
    """The resource that the request names. Raises Refused."""
    uri = text_in(request, "uri")
    if len(uri) > _LONGEST_URI:
        raise Refused(INVALID_PARAMS, f"A URI of more than {_LONGEST_URI:,} characters names nothing here.")
    return uri


def _check_list(request: Request) -> None:
    if request.params.get("cursor") is not None:
        raise Refused(INVALID_PARAMS, "We gave no such cursor: the list has one page.")


def _check_call(request: Request) -> None:
    text_in(request, "name")
    if not isinstance(request.params.get("arguments"), dict | None):
        raise Refused(INVALID_PARAMS, "A tool's arguments are an object.")


def _check_prompt(request: Request) -> None:
    text_in(request, "name")
    arguments = request.params.get("arguments")
    if not isinstance(arguments, dict | None) or not all(
        isinstance(one, str) for one in (arguments or {}).values()
    ):
        raise Refused(INVALID_PARAMS, "A prompt's arguments are an object of texts.")


def _check_completion(request: Request) -> None:
    argument = object_in(request.params, "argument")
    if not isinstance(request.params.get("ref"), dict):
        raise Refused(INVALID_PARAMS, "completion/complete needs ref, an object.")
    if not isinstance(argument.get("name"), str) or not isinstance(argument.get("value"), str):
        raise Refused(INVALID_PARAMS, "completion/complete needs argument, an object with name and value.")


@contextmanager
def mended_by_the_client(**data: str) -> Iterator[None]:
    """What the client can mend is a refusal of its params (SEP-2164 for resources)."""
    try:
        yield
    except AgentsRoomError as error:
        if error.status >= 500:
            raise
        told = {name: whole_text(text) for name, text in data.items()}
        raise Refused(INVALID_PARAMS, error.message, {**error.as_json(), **told}) from None


def _list_tools(_request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    return {"tools": msgspec.Raw(features.tools())}


def _list_resources(_request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    return {"resources": features.resources()}


def _list_templates(_request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    return {"resourceTemplates": features.resource_templates()}


def _list_prompts(_request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    return {"prompts": features.prompts()}


def _read_resource(request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    uri = request.params["uri"]
    with mended_by_the_client(uri=uri):
        return {"contents": features.read_resource(uri)}


def _get_prompt(request: Request, features: Features, exchange: Exchange) -> dict[str, Any]:
    with mended_by_the_client():
        return features.get_prompt(request.params["name"], request.params.get("arguments") or {}, exchange)


def _complete(request: Request, features: Features, _exchange: Exchange) -> dict[str, Any]:
    argument = request.params["argument"]
    with mended_by_the_client():
        values = features.complete(request.params["ref"], argument["name"], argument["value"])
    shown = values[:MOST_COMPLETIONS]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}


def _call_tool(request: Request, features: Features, exchange: Exchange) -> dict[str, Any]:
    try:
        return features.call_tool(request.params["name"], _arguments(request), exchange)
    except UnknownTool as error:
        raise Refused(INVALID_PARAMS, error.message) from None
    except AgentsRoomError as error:
        text = json.dumps(error.as_json(), ensure_ascii=False)
        return {"content": [{"type": "text", "text": whole_text(text)}], "isError": True}


METHODS = {
    "tools/list": Method(_check_list, _list_tools, CACHED),
    "tools/call": Method(_check_call, _call_tool, {}),
    "resources/list": Method(_check_list, _list_resources, NOT_CACHED),
    "resources/templates/list": Method(_check_list, _list_templates, CACHED),
    "resources/read": Method(uri_in, _read_resource, NOT_CACHED),
    "prompts/list": Method(_check_list, _list_prompts, CACHED),
    "prompts/get": Method(_check_prompt, _get_prompt, {}),
    "completion/complete": Method(_check_completion, _complete, {}),
}


def tool_result(found: bytes) -> dict[str, Any]:
    """The CallToolResult of a result that is a JSON object: structured, and the same as text."""
    content = [{"type": "text", "text": found.decode()}]
    return {"content": content, "structuredContent": msgspec.Raw(found), "isError": False}


class _RawParams(msgspec.Struct):
    arguments: msgspec.Raw


class _RawCall(msgspec.Struct):
    params: _RawParams


def _arguments(request: Request) -> bytes:
    """The tool's arguments as they came: numbers keep their form, and the tool decodes them strictly."""
    given = request.params.get("arguments")
    if given is None:
        return b"{}"
    try:
        return bytes(msgspec.json.decode(request.raw, type=_RawCall).params.arguments)
    except msgspec.DecodeError:  # a lone surrogate, which the tool is to refuse by the argument's name
        return json.dumps(given).encode()


def describe_tools(registry: Registry) -> bytes:
    """The tools that a client is shown as a JSON list, for tools/list."""
    return msgspec.json.encode(
        [
            {
                "name": tool.name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": registry.schema(tool),
                "outputSchema": registry.output_schema(tool),
                "annotations": tool.annotations,
            }
            for tool in registry.shown()
        ]
    )
