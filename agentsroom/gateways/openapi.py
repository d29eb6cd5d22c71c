"""The JSON API as OpenAPI 3.1, made from the registry: one operation a tool, with the schemas that MCP lists."""

from typing import Any, NamedTuple

from agentsroom.core.product import DESCRIPTION, LICENCE, TITLE, VERSION
from agentsroom.core.tools import Registry, Tool


class Status(NamedTuple):
    """A status of an error."""

    name: str
    """Of the component that describes it."""
    meaning: str
    headers: tuple[str, ...] = ()


STATUSES = {
    400: Status("BadRequest", "The body is not the JSON that is read here, or a CSRF token is missing."),
    401: Status("Unauthenticated", "No key, or one that is not valid any more.", ("WWW-Authenticate",)),
    403: Status("Forbidden", "The caller may not do this, or the Host or Origin is none of ours."),
    404: Status("NotFound", "No such tool, session, message, room or recipient."),
    405: Status("MethodNotAllowed", "The address takes another method.", ("Allow",)),
    408: Status("TooSlow", "The request did not come in time."),
    409: Status("Conflict", "The call contradicts the state of things, which the code names."),
    413: Status("TooLarge", "The body is bigger than what is taken."),
    414: Status("AddressTooLong", "The request's first line is longer than what is taken."),
    415: Status("NotJson", "The Content-Type is not application/json."),
    422: Status("InvalidArgument", "Arguments are not what the tool takes; `problems` names each."),
    429: Status("TooManyRequests", "Too many in a short time, or at once.", ("Retry-After",)),
    431: Status("HeadersTooLarge", "The headers are more than what is taken."),
    500: Status("Internal", "Something broke in the server; nothing was half-written."),
    503: Status("Unavailable", "The store can't be used now, or the server stops.", ("Retry-After",)),
}
"""Every status but 200 that an operation may answer with, and what it means."""

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
        "paths": {path_of(tool): {"post": _operation(registry, tool)} for tool in registry},
        "components": {
            "schemas": {"Error": _ERROR},
            "headers": {
                name: {"description": text, "schema": {"type": kind}}
                for name, (text, kind) in _HEADERS.items()
            },
            "responses": {one.name: _response(one) for one in STATUSES.values()},
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
            **{
                str(status): {"$ref": f"#/components/responses/{one.name}"}
                for status, one in STATUSES.items()
            },
        },
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
