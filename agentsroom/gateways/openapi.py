"""The JSON API as OpenAPI 3.1: from the registry one operation a tool, with the schemas that MCP lists, and the stream."""

from typing import Any

from agentsroom.core.product import DESCRIPTION, LICENCE, TITLE, VERSION
from agentsroom.core.tools import Registry, Tool
from agentsroom.gateways.statuses import STATUSES, Status

_OF_THE_API = {status: one for status, one in STATUSES.items() if one.is_of_the_api}
"""Every status but 200 that an operation may answer with."""
_HEADERS = {
    "Allow": ("The methods that the address takes.", "string"),
    "Retry-After": ("After how many seconds another try is worth it.", "integer"),
    "WWW-Authenticate": ("How to authenticate.", "string"),
}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "description": "What happened; more names and values may stand beside these.",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "names the error for a program"},
                "message": {"type": "string", "description": "what happened"},
                "hint": {"type": "string", "description": "what to do about it"},
            },
        }
    },
}
STREAM_PATH = "/api/rooms/{room}/stream"
"""Where a program follows a room (gateways/room_stream.py)."""
_CALLERS: list[dict[str, list[str]]] = [{"key": []}, {"cookie": [], "csrf": []}]


def openapi(registry: Registry, url: str, cookie: str) -> dict[str, Any]:
    """The document. `url`: where the server is reached; `cookie`: what its login cookie is called."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "summary": DESCRIPTION,
            "version": VERSION,
            "license": {"name": LICENCE, "identifier": LICENCE},
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": url}],
        "security": _CALLERS,
        "tags": [{"name": name} for name in dict.fromkeys(tool.toolset for tool in registry)],
        "paths": {
            **{path_of(tool): {"post": _operation(registry, tool)} for tool in registry},
            STREAM_PATH: {"get": _stream()},
        },
        "components": {
            "schemas": {"Error": _ERROR},
            "headers": {
                name: {"description": text, "schema": {"type": kind}}
                for name, (text, kind) in _HEADERS.items()
            },
            "responses": {one.name: _response(one) for one in _OF_THE_API.values()},
            "securitySchemes": _security(cookie),
        },
    }


def path_of(tool: Tool) -> str:
    """Where the tool is called."""
    return f"/api/tools/{tool.name}"


def _operation(registry: Registry, tool: Tool) -> dict[str, Any]:
    return {
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "tags": [tool.toolset],
        "requestBody": {"required": True, "content": _json(registry.schema(tool))},
        "responses": {
            "200": {"description": "The result.", "content": _json(registry.output_schema(tool))},
            **_refusals(),
        },
    }


def _stream() -> dict[str, Any]:
    known = "The id of the last event that the client knows: the stream begins after it. Without it, now."
    return {
        "operationId": "room_stream",
        "summary": "Follow a room",
        "description": "A room's messages as they come, as server-sent events: ready, message (data: a message as "
        "room_history gives it, in JSON), heartbeat, and resync, after which room_history has what was missed.",
        "tags": ["rooms"],
        "parameters": [
            _parameter("room", "path", "The room's name, percent-encoded.", required=True),
            _parameter("Last-Event-ID", "header", known),
            _parameter("since", "query", "The same, where a client can't send the header."),
        ],
        "responses": {
            "200": {
                "description": "The stream, which goes on until the client hangs up.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **_refusals(),
        },
    }


def _parameter(name: str, place: str, text: str, *, required: bool = False) -> dict[str, Any]:
    schema = {"type": "string"}
    return {"name": name, "in": place, "description": text, "required": required, "schema": schema}


def _refusals() -> dict[str, Any]:
    """Every status but 200."""
    return {
        str(status): {"$ref": f"#/components/responses/{one.name}"} for status, one in _OF_THE_API.items()
    }


def _response(status: Status) -> dict[str, Any]:
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in status.headers}
    return {
        "description": status.meaning,
        **({"headers": headers} if headers else {}),
        "content": _json({"$ref": "#/components/schemas/Error"}),
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _security(cookie: str) -> dict[str, Any]:
    return {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An agent's key, or the token of serve.json.",
        },
        "cookie": {"type": "apiKey", "in": "cookie", "name": cookie, "description": "A browser's login."},
        "csrf": {
            "type": "apiKey",
            "in": "header",
            "name": "X-CSRFToken",
            "description": "The csrf_token of a page of the same login; needed with the cookie.",
        },
    }
